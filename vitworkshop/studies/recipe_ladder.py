"""Each ingredient of a recipe, added in turn; not in the paper (chapter 10).

From the plain recipe to the modern one, ingredient by ingredient: what does each bring when it is added?

Without decay AdamW is Adam, so decay comes first, coupled, and AdamW decouples it. All have the plain recipe's learning
rate, and an ingredient that wants another one is not shown at its best. Four steps of the ladder are also trained four
times as long: what a short budget has no use for, a longer one may.

What was made small: 10,000 images of 32 pixels for 12 epochs or 48, a model of 0.3 million parameters, patches of 8.
Regularisation is made for longer training and larger models: what it costs here says little about those. 42 runs took
210 minutes on one thread.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from vitlib.train.recipe import RECIPES, STRONG, recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import QUICK, Study

_MODERN = vars(RECIPES["modern"])

#: What each ingredient changes in the recipe, in the order in which they are added.
INGREDIENTS: dict[str, dict[str, Any]] = {
    "decay": {"weight_decay": 0.05},
    "AdamW": {"optimizer": "adamw"},
    "warm-up and cosine": {"warmup": 0.05, "schedule": "cosine"},
    "crop": {"crop": 4},
    "RandAugment": {name: _MODERN[name] for name in ("randaugment", "magnitude")},
    "Mixup and CutMix": {name: STRONG[name] for name in ("mixup", "cutmix", "mix_off")},
    "DropPath": {"model.drop_path_rate": 0.1},
    "label smoothing": {"label_smoothing": 0.1},
    "EMA": {"ema_decay": 0.995},  # of 936 steps
}
_NAMES = list(INGREDIENTS)
_ALL = f"up to {_NAMES[-1]}"


_LADDER = accumulate(INGREDIENTS.values(), dict.__or__, initial={})
_VARIANTS: dict[str, dict[str, Any]] = dict(
    zip(("plain", *(f"up to {name}" for name in _NAMES)), _LADDER, strict=True)
)
_LONG = ("plain", "up to crop", "up to Mixup and CutMix", _ALL)
_VARIANTS |= {
    f"{name}, four times as long": _VARIANTS[name] | {"epochs": 48} for name in _LONG
}


STUDY = Study(
    question="From the plain recipe to the modern one, ingredient by ingredient: what does each bring when it is "
    "added?",
    variants=_VARIANTS,
    claims=(
        *(
            Claim(f"adding {name} helps", after, before)
            for name, before, after in zip(
                _NAMES, _VARIANTS, list(_VARIANTS)[1:], strict=False
            )
        ),
        *(
            Claim(f"{says}{how}", first + how, second + how)
            for says, first, second in (
                ("RandAugment, Mixup and CutMix together help", _LONG[2], _LONG[1]),
                ("all together are ahead of the plain recipe", _ALL, "plain"),
            )
            for how in ("", ", four times as long")
        ),
    ),
    base=recipe(
        "plain",
        model=QUICK.model,
        epochs=12,
        precision="fp32",
        **{"model.patch_size": 8},
    ),
    n_train=15_000,  # 5,000 of them held out
    curves=tuple(
        f"{name}, four times as long" for name in _LONG[:2]
    ),  # chapter 09 draws them
)
