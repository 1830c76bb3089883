"""CLS or the mean of the patches, each at its own learning rate? Figure 9 (chapter 07), on models that have learned.

The rate of each is chosen on a seed of its own, and five others judge. 22 runs took 76 minutes on one thread, beside
other work.
"""

from __future__ import annotations

from vitworkshop.studies import learned

_WAYS = {"CLS": {"model.global_pool": "token"}, "GAP": {"model.global_pool": "avg"}}

STUDY = learned.study(
    question="CLS or the mean of the patches, each at its own learning rate?",
    variants=learned.at_every_rate(_WAYS) | learned.PIXELS,
    claims=(
        learned.claim(
            "CLS and GAP do equally well, each at its own learning rate, once both have learned",
            "Figure 9",
            "CLS",
            "GAP",
            kind="equal",
        ),
    ),
    source="Figure 9",
)
