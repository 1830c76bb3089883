"""How far do the plain, the paper's and the modern recipe get with the same model, images and epochs? Table 3.

The paper's table, made small (chapter 09): equal budgets, each recipe with its own learning rate and augmentation. The
smallest and the largest rate were run later, on another machine of the same kind, because the best rates of plain and
of paper had been at an edge. 51 runs took 231 minutes on one thread.
"""

from __future__ import annotations

from vitlib.train.recipe import RECIPES, STRONG, recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import QUICK, Study, at_rates

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
    run: _changes(name) | {"lr": rate}
    for name in ("plain", "paper", "modern")
    for run, rate in zip(at_rates(name, _RATES), _RATES, strict=True)
} | {f"modern, {what}": _changes("modern") | changes for what, changes in _AUGMENTED.items()}


def _ahead(first: str, second: str, says: str) -> Claim:
    one, other = (tuple(name for name in _VARIANTS if name.startswith(side)) for side in (first, second))
    return Claim(says, "ours", one, other)


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
