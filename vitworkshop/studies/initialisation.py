"""Which initial deviation of the blocks' matrices gives a head start, and which the best finish? Chapter 08.

The paper's code uses Xavier's rule. 21 runs took 111 minutes on one thread.
"""

from __future__ import annotations

from vitlib.train.recipe import recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import QUICK, Study

_WIDTHS = {96: (0.02, 0.1, 0.5), 192: (0.02, 192**-0.5, 0.1, 0.5)}  # 96**-0.5 is 0.102


def _name(width: int, std: float) -> str:
    return f"{width} wide, {std:.3g}"


STUDY = Study(
    question="Which initial deviation of the blocks' matrices gives a head start, and which the best finish?",
    variants={
        _name(width, std): {"model.embed_dim": width, "model.init_std": std}
        for width, stds in _WIDTHS.items()
        for std in stds
    },
    claims=tuple(
        Claim(
            f"at width {width}, {std:.3g} is ahead of 0.02 after {when}",
            "ours",
            _name(width, std),
            _name(width, 0.02),
            metric=metric,
        )
        for width, stds in _WIDTHS.items()
        for std in stds[1:]
        for when, metric in (("the first epoch", "first_val_accuracy"), ("the last", "val_accuracy"))
    ),
    base=recipe(QUICK, **{"model.patch_size": 8}),
    n_train=25_000,  # 5,000 of them held out
    source="not in the paper; its code uses Xavier's rule",
)
