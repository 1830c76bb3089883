"""Smaller patches or more depth, at equal compute? Figure 8 (chapter 12), on models that have learned.

The base has patches of 8 pixels; half the patch side costs 4.1 times its multiply-accumulates, and so does a depth of
17 (to within 1 %).
"""

from __future__ import annotations

from vitworkshop.studies import learned
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.families import run_family
from vitworkshop.studies.study import Study

_WAYS = {
    "base": {"model.patch_size": 8},
    "patch 4": {"model.patch_size": 4},
    "17 deep": {"model.patch_size": 8, "model.depth": 17},
}


def _ahead(says: str, first: str, second: str) -> Claim:
    return Claim(says, "Figure 8", learned.side(first), learned.side(second), margin=learned.MARGIN)


STUDY = Study(
    question="Smaller patches or more depth, at equal compute?",
    variants=learned.at_every_rate(_WAYS) | learned.PIXELS,
    claims=(
        _ahead(
            "half the patch side helps, with no more parameters, once both have learned", "patch 4", "base"
        ),
        _ahead("four times the depth helps, once both have learned", "17 deep", "base"),
        _ahead(
            "at equal compute depth helps more than smaller patches, once both have learned",
            "17 deep",
            "patch 4",
        ),
    ),
    base=learned.BASE,
    n_train=learned.N_TRAIN,
    seeds=learned.SEEDS,
    choosing=learned.CHOOSING,
    source="Figure 8",
    run=run_family,
)
