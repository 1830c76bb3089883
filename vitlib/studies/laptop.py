"""How far ten minutes on two cores go: accuracy against minutes for the laptop recipe (chapter 09).

What is the best held-out accuracy within ten minutes on two cores, and how does it grow?

Not run yet: `python -m vitlib study run laptop`
"""

from __future__ import annotations

from dataclasses import replace

from vitlib.studies.study import Claim, Study
from vitlib.train.recipe import RECIPES

STUDY = Study(
    question="What is the best held-out accuracy within ten minutes on two cores, and how does it grow?",
    variants={
        f"{epochs} epochs, {stem}": {"epochs": epochs, "model.patch_embed": stem}
        for epochs in (6, 10, 16)
        for stem in ("conv", "stem")
    },
    claims=(
        Claim(
            "a convolutional stem is ahead after sixteen epochs",
            "ours",
            ("16 epochs, stem",),
            ("16 epochs, conv",),
            margin=0.01,
        ),
    ),
    base=replace(RECIPES["laptop"], precision="fp32"),
    source="not in the paper",
)
