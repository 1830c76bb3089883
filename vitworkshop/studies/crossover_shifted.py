"""The study `crossover` in a second setting: cells half a patch aside, so that each glyph lies across four patches.

How many different pictures is a family's bet worth, on a local pattern and on a relation, half a patch aside? Pictures
are 32 pixels a side here, 24 there; all else is equal. 116 runs took 105 minutes on one thread, beside other work.
"""

from __future__ import annotations

from vitworkshop.studies.crossover import PATCH, study

STUDY = study(PATCH // 2, ", half a patch aside")
