"""Which positions, if any, each at its own learning rate? Table 8 (chapter 03), on models that have learned."""

from __future__ import annotations

from vitworkshop.studies import learned
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.families import run_family
from vitworkshop.studies.study import Study

_KINDS = {"none": "none", "learned": "learned", "waves": "sincos2d", "relative": "relative", "rotary": "rope"}


def _equal(says: str, source: str, kind: str) -> Claim:
    one, other = learned.side(kind), learned.side("learned")
    return Claim(says, source, one, other, margin=learned.MARGIN, kind="equal")


STUDY = Study(
    question="Which positions, if any, each at its own learning rate?",
    variants=learned.at_every_rate({name: {"model.pos_embed": kind} for name, kind in _KINDS.items()})
    | learned.PIXELS,
    claims=(
        Claim(
            "having positions matters (+2.8 points of 5-shot accuracy), once both have learned",
            "Table 8",
            learned.side("learned"),
            learned.side("none"),
            margin=learned.MARGIN,
        ),
        _equal("fixed waves in two dimensions do as well as a learned table", "ours, after Table 8", "waves"),
        _equal("relative positions do as well as a learned table", "Table 8", "relative"),
        _equal("rotary positions do as well as a learned table", "ours, after Table 8", "rotary"),
    ),
    base=learned.BASE,
    n_train=learned.N_TRAIN,
    seeds=learned.SEEDS,
    choosing=learned.CHOOSING,
    source="Table 8",
    run=run_family,
)
