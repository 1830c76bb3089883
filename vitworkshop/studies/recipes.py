"""Plain, paper and modern with equal budgets, each with its own learning rate and augmentation (chapter 09).

How far do the plain, the paper's and the modern recipe get with the same model, images and epochs?

The smallest and the largest rate were run later, on another machine of the same kind, because the best rates
of plain and of paper had been at an edge.

- the modern recipe is ahead of the plain one: open, -1.6 ± 0.9 points (standard error, n = 3); about 38 seeds
  would decide.
- the modern recipe is ahead of the paper's: open, -0.3 ± 0.5 points (standard error, n = 3); about 14 seeds
  would decide.
- the paper's recipe is ahead of the plain one: open, -1.3 ± 0.9 points (standard error, n = 3); about 40
  seeds would decide.

51 runs on CIFAR-10 (JPEG q75) with 3 seeds took 231 minutes: `python -m vitlib study run recipes --data
cifar10 --threads 1 --jobs 1 --from results --out runs/edges`
"""

from __future__ import annotations

from vitlib.train.recipe import RECIPES, STRONG, recipe
from vitworkshop.studies.study import QUICK, Claim, Study

# plain had its best at 0.0005 and paper at 0.002, of three: one more on each side
_RATES = (0.00025, 0.0005, 0.001, 0.002, 0.004)
# what all have alike
_SHARED = ("model", "epochs", "batch_size", "seed", "name", "data", "precision", "muon_lr", "patch_drop_off")
_AUGMENTED = {  # how hard the modern recipe's pictures are changed, at its own learning rate
    "no RandAugment": {"randaugment": 0},
    "strong": STRONG,
}


def _changes(name: str) -> dict:
    theirs = {key: value for key, value in vars(RECIPES[name]).items() if key not in _SHARED}
    return theirs | {"model.drop_rate": vars(RECIPES[name].model)["drop_rate"]}


_VARIANTS = {
    f"{name}, lr={rate:g}": _changes(name) | {"lr": rate}
    for name in ("plain", "paper", "modern")
    for rate in _RATES
} | {f"modern, {what}": _changes("modern") | changes for what, changes in _AUGMENTED.items()}


def _ahead(first: str, second: str, says: str) -> Claim:
    first_side, second_side = (
        tuple(name for name in _VARIANTS if name.startswith(side)) for side in (first, second)
    )
    return Claim(says, "ours", first_side, second_side, margin=0.01)


STUDY = Study(
    question="How far do the plain, the paper's and the modern recipe get with the same model, images and epochs?",
    variants=_VARIANTS,
    claims=(
        _ahead("modern", "plain", "the modern recipe is ahead of the plain one"),
        _ahead("modern", "paper", "the modern recipe is ahead of the paper's"),
        _ahead("paper", "plain", "the paper's recipe is ahead of the plain one"),
    ),
    base=recipe("plain", model=QUICK.model, epochs=12, precision="fp32", **{"model.patch_size": 8}),
    n_train=15_000,  # 5,000 of them held out
    source="Table 3, made small",
)
