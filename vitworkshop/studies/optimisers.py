"""Muon or AdamW, at equal core-time, when training is longer? After Jordan et al. 2024 (chapter 10).

A step of Muon costs a few percent more, so AdamW has nine epochs where Muon has eight: a little more time, not less.
"""

from __future__ import annotations

from vitworkshop.studies import learned
from vitworkshop.studies.study import at_rates

_ADAMW = (0.0005, 0.001, 0.002, 0.004, 0.008)
_NAMES = at_rates("AdamW", _ADAMW)

STUDY = learned.study(
    question="Muon or AdamW, at equal core-time, when training is longer?",
    variants=learned.at_every_rate({"Muon": {"epochs": 8}})
    | {
        name: {"optimizer": "adamw", "epochs": 9, "lr": rate}
        for name, rate in zip(_NAMES, _ADAMW, strict=True)
    }
    | learned.PIXELS,
    claims=(
        learned.claim(
            "Muon is ahead of AdamW, at equal core-time, in runs nearly twice as long",
            "Jordan et al. 2024",
            "Muon",
            "AdamW",
            rates=_ADAMW,
        ),
    ),
    source="not in the paper",
)
