"""One long run of the best recipe: the model for photographs that chapters and pages show.

How far does a model of 460 thousand parameters get in sixty epochs?

Not run yet: `python -m vitlib study run longest`
"""

from __future__ import annotations

from dataclasses import replace

from vitlib.studies.study import Study
from vitlib.train.recipe import RECIPES

STUDY = Study(
    question="How far does a model of 460 thousand parameters get in sixty epochs?",
    variants={"modern": {}, "modern, stronger": {"randaugment": 2, "cutmix": 1.0, "mix_off": 0.3}},
    base=replace(RECIPES["modern"], epochs=60, precision="fp32"),
    seeds=(0,),
    source="not in the paper",
)
