"""Smaller patches or more depth, at equal compute? Figure 8 (chapter 12), on models that have learned.

The base has patches of 8 pixels; half the patch side costs 4.1 times its multiply-accumulates, and so does a depth of
17 (to within 1 %).
"""

from __future__ import annotations

from vitworkshop.studies import learned

_WAYS = {
    "base": {"model.patch_size": 8},
    "patch 4": {"model.patch_size": 4},
    "17 deep": {"model.patch_size": 8, "model.depth": 17},
}

STUDY = learned.study(
    question="Smaller patches or more depth, at equal compute?",
    variants=learned.at_every_rate(_WAYS) | learned.PIXELS,
    claims=(
        learned.claim(
            "half the patch side helps, with no more parameters, once both have learned",
            "Figure 8",
            "patch 4",
            "base",
        ),
        learned.claim(
            "four times the depth helps, once both have learned",
            "Figure 8",
            "17 deep",
            "base",
        ),
        learned.claim(
            "at equal compute depth helps more than smaller patches, once both have learned",
            "Figure 8",
            "17 deep",
            "patch 4",
        ),
    ),
    source="Figure 8",
)
