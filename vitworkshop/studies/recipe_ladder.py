"""What does each ingredient of a recipe bring, added in turn, and left out of all? Not in the paper (chapter 10).

From the plain recipe to the modern one, ingredient by ingredient: what does each bring when it is added, and what is
lost when it alone is left out?

Without decay AdamW is Adam, so decay comes first, coupled, and AdamW decouples it. All have the plain recipe's learning
rate, and an ingredient that wants another one is not shown at its best. EMA, the last step, is added and left out by
the same two variants. Four steps of the ladder are also trained four times as long: what a short budget has no use for,
a longer one may.

What was made small: 10,000 images of 32 pixels for 12 epochs or 48, a model of 0.3 million parameters, patches of 8.
Regularisation is made for longer training and larger models: what it costs here says little about those.

- adding decay helps: differs, -16.6 ± 1.0 points (standard error, n = 3).
- adding AdamW helps: agrees, +16.7 ± 1.3 points (standard error, n = 3).
- adding warm-up and cosine helps: open, +0.6 ± 0.8 points (standard error, n = 3); about 32 seeds would decide.
- adding crop helps: differs, -0.7 ± 0.2 points (standard error, n = 3).
- adding RandAugment helps: differs, -3.0 ± 0.3 points (standard error, n = 3).
- adding Mixup and CutMix helps: differs, -3.5 ± 0.4 points (standard error, n = 3).
- adding DropPath helps: open, -0.2 ± 0.6 points (standard error, n = 3); about 15 seeds would decide.
- adding label smoothing helps: open, +0.1 ± 0.5 points (standard error, n = 3); about 11 seeds would decide.
- adding EMA helps: differs, -0.1 ± 0.1 points (standard error, n = 3).
- leaving out decay alone costs accuracy: open, +0.2 ± 0.3 points (standard error, n = 3); about 5 seeds would decide.
- leaving out AdamW alone costs accuracy: agrees, +13.1 ± 0.4 points (standard error, n = 3).
- leaving out warm-up and cosine alone costs accuracy: differs, -2.1 ± 0.7 points (standard error, n = 3).
- leaving out crop alone costs accuracy: open, -0.4 ± 0.6 points (standard error, n = 3); about 18 seeds would decide.
- leaving out RandAugment alone costs accuracy: differs, -3.1 ± 0.2 points (standard error, n = 3).
- leaving out Mixup and CutMix alone costs accuracy: differs, -3.9 ± 0.3 points (standard error, n = 3).
- leaving out DropPath alone costs accuracy: differs, +0.1 ± 0.1 points (standard error, n = 3).
- leaving out label smoothing alone costs accuracy: open, +0.3 ± 0.3 points (standard error, n = 3); about 6 seeds would
  decide.
- RandAugment, Mixup and CutMix together help: differs, -6.5 ± 0.4 points (standard error, n = 3).
- RandAugment, Mixup and CutMix together help, four times as long: differs, -5.6 ± 0.2 points (standard error, n = 3).
- all together are ahead of the plain recipe: differs, -6.7 ± 0.8 points (standard error, n = 3).
- all together are ahead of the plain recipe, four times as long: agrees, +5.1 ± 0.1 points (standard error, n = 3).

66 runs on CIFAR-10 (JPEG q75) with 3 seeds took 269 minutes: `python -m vitlib study run recipe-ladder --data cifar10
--threads 1`
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from vitlib.train.recipe import RECIPES, STRONG, recipe
from vitworkshop.studies.study import QUICK, Claim, Study, train_longer

__all__ = ["INGREDIENTS", "STUDY"]

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


def _without(name: str) -> str:
    """The variant without one ingredient: for the last, the step of the ladder before it."""
    return f"without {name}" if name != _NAMES[-1] else f"up to {_NAMES[-2]}"


_LADDER = accumulate(INGREDIENTS.values(), dict.__or__, initial={})
_VARIANTS: dict[str, dict[str, Any]] = dict(
    zip(("plain", *(f"up to {name}" for name in _NAMES)), _LADDER, strict=True)
)
for _name in _NAMES[:-1]:
    _others = [changes for name, changes in INGREDIENTS.items() if name != _name]
    _VARIANTS[_without(_name)] = {field: value for changes in _others for field, value in changes.items()}
_LONG = ("plain", "up to crop", "up to Mixup and CutMix", _ALL)
_VARIANTS |= {f"{name}, four times as long": _VARIANTS[name] | {"times": 4} for name in _LONG}


def _together(says: str, first: str, second: str) -> tuple[Claim, ...]:
    """A claim on two steps of the ladder, and the same with four times the epochs."""
    return tuple(
        Claim(f"{says}{how}", "ours", (first + how,), (second + how,), margin=0.01)
        for how in ("", ", four times as long")
    )


STUDY = Study(
    question="From the plain recipe to the modern one, ingredient by ingredient: what does each bring when it is "
    "added, and what is lost when it alone is left out?",
    variants=_VARIANTS,
    claims=(
        *(
            Claim(f"adding {name} helps", "ours", (after,), (before,), margin=0.01)
            for name, before, after in zip(_NAMES, _VARIANTS, list(_VARIANTS)[1:], strict=False)
        ),
        *(
            Claim(f"leaving out {name} alone costs accuracy", "ours", (_ALL,), (_without(name),), margin=0.01)
            for name in _NAMES[:-1]
        ),
        *_together("RandAugment, Mixup and CutMix together help", _LONG[2], _LONG[1]),
        *_together("all together are ahead of the plain recipe", _ALL, "plain"),
    ),
    base=recipe("plain", model=QUICK.model, epochs=12, precision="fp32", **{"model.patch_size": 8}),
    full={"epochs": 60, "batch_size": 256, "precision": "bf16", "model.patch_size": 4},
    n_train=15_000,  # 5,000 of them held out
    source="not in the paper",
    run=train_longer,
)
