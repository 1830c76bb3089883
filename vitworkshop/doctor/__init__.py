"""What a good engineer tries before a long run: `vl.doctor` finds the usual bugs (Section 4.1).

case      what is looked at, on copies, and how a finding is written
model     checks of the model on one batch
training  checks of the recipe, the augmentation, the evaluation
doctor    all of them, in order
"""

from __future__ import annotations
