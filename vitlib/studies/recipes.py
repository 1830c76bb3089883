"""Plain, paper and modern with equal budgets, each with its own learning rate and either pooling (chapter 09).

How far do the plain, the paper's and the modern recipe get with the same model, images and epochs?

Not run yet: `python -m vitlib study run recipes`
"""

from __future__ import annotations

from dataclasses import replace

from vitlib.studies.study import Claim, Study
from vitlib.train.recipe import RECIPES

_RATES = (0.0005, 0.001, 0.002)
_SHARED = (
    "model",
    "epochs",
    "batch_size",
    "seed",
    "name",
    "data",
    "precision",
)  # what every recipe has alike


def _changes(name: str) -> dict:
    theirs = {key: value for key, value in vars(RECIPES[name]).items() if key not in _SHARED}
    return theirs | {"model.drop_rate": RECIPES[name].model.drop_rate}


def _names(name: str) -> tuple[str, ...]:
    return tuple(f"{name}, {pool}, lr={rate:g}" for rate in _RATES for pool in ("token", "avg"))


STUDY = Study(
    question="How far do the plain, the paper's and the modern recipe get with the same model, images and epochs?",
    variants={
        **{
            f"{name}, {pool}, lr={rate:g}": _changes(name) | {"model.global_pool": pool, "lr": rate}
            for rate in _RATES
            for name in ("plain", "paper", "modern")
            for pool in ("token", "avg")
        },
        **{
            f"modern without {what}, avg, lr=0.002": _changes("modern")
            | {"model.global_pool": "avg", "lr": 0.002}
            | off
            for what, off in (
                ("RandAugment", {"randaugment": 0}),
                ("averaging", {"ema_decay": 0.0}),
                ("smoothing", {"label_smoothing": 0.0}),
                ("crops", {"crop": 0}),
            )
        },
    },
    claims=(
        Claim(
            "the modern recipe is ahead of the plain one",
            "ours",
            _names("modern"),
            _names("plain"),
            margin=0.01,
        ),
        Claim(
            "the modern recipe is ahead of the paper's",
            "ours",
            _names("modern"),
            _names("paper"),
            margin=0.01,
        ),
        Claim(
            "the paper's recipe is ahead of the plain one",
            "ours",
            _names("paper"),
            _names("plain"),
            margin=0.01,
        ),
    ),
    base=replace(RECIPES["plain"], epochs=12, precision="fp32"),
    source="Table 3, made small",
)
