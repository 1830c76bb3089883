"""Which positions, if any, each at its own learning rate? Table 8 (chapter 03), on models that have learned."""

from __future__ import annotations

from vitworkshop.studies import learned

_KINDS = {
    "none": "none",
    "learned": "learned",
    "waves": "sincos2d",
    "relative": "relative",
    "rotary": "rope",
}

STUDY = learned.study(
    question="Which positions, if any, each at its own learning rate?",
    variants=learned.at_every_rate(
        {name: {"model.pos_embed": kind} for name, kind in _KINDS.items()}
    )
    | learned.PIXELS,
    claims=(
        learned.claim(
            "having positions matters (+2.8 points of 5-shot accuracy), once both have learned",
            "Table 8",
            "learned",
            "none",
        ),
        learned.claim(
            "fixed waves in two dimensions do as well as a learned table",
            "ours, after Table 8",
            "waves",
            "learned",
            kind="equal",
        ),
        learned.claim(
            "relative positions do as well as a learned table",
            "Table 8",
            "relative",
            "learned",
            kind="equal",
        ),
        learned.claim(
            "rotary positions do as well as a learned table",
            "ours, after Table 8",
            "rotary",
            "learned",
            kind="equal",
        ),
    ),
    source="Table 8",
)
