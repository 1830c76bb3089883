"""CLS or the mean of the patches, each at its own learning rate? Figure 9 (chapter 07), on models that have learned."""

from __future__ import annotations

from vitworkshop.studies import learned
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.families import run_family
from vitworkshop.studies.study import Study

_WAYS = {"CLS": {"model.global_pool": "token"}, "GAP": {"model.global_pool": "avg"}}

STUDY = Study(
    question="CLS or the mean of the patches, each at its own learning rate?",
    variants=learned.at_every_rate(_WAYS) | learned.PIXELS,
    claims=(
        Claim(
            "CLS and GAP do equally well, each at its own learning rate, once both have learned",
            "Figure 9",
            learned.side("CLS"),
            learned.side("GAP"),
            margin=learned.MARGIN,
            kind="equal",
        ),
    ),
    base=learned.BASE,
    n_train=learned.N_TRAIN,
    seeds=learned.SEEDS,
    choosing=learned.CHOOSING,
    source="Figure 9",
    run=run_family,
)
