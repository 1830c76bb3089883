"""What a core-minute buys: each ingredient of a cheaper training at equal time; not in the paper (chapter 10).

With the same minutes of one core, what do Muon, half of the patches, bfloat16 and a convolutional stem bring? The
largest rates were added when seed 0 had its best at the edge. 36 runs took 91 minutes, two at a time.
"""

from __future__ import annotations

from dataclasses import replace

from vitworkshop.studies.claim import Claim
from vitworkshop.studies.families import run_family
from vitworkshop.studies.study import QUICK, Study, at_rates

# Epochs that take about as long as five of Muon's on the machine of the runs (AMD EPYC, without AMX). A pilot had said
# three for the stem, a third less time than others took, and twelve for half of the patches, a third more: run again.
MUON = {"optimizer": "muon", "epochs": 5}
HALF = {"model.patch_drop_rate": 0.5, "patch_drop_off": 0.33}
# the largest of each was added when seed 0 had its best at the edge
RATES = (
    0.001,
    0.002,
    0.004,
    0.008,
)
MUON_RATES = (0.005, 0.01, 0.02, 0.04)
TRIED = {
    **at_rates("AdamW", {"epochs": 5}, RATES),
    **{f"Muon, lr={rate:g}": {**MUON, "muon_lr": rate} for rate in MUON_RATES},
    "Muon, stem": {**MUON, "muon_lr": 0.01, "model.patch_embed": "stem"},
    "Muon, bf16": {**MUON, "muon_lr": 0.01, "precision": "bf16", "epochs": 7},
    "Muon, half of the patches, bf16": {
        **MUON,
        "muon_lr": 0.01,
        **HALF,
        "precision": "bf16",
        "epochs": 9,
    },
    "pixels, ridge regression": {},  # the least that all must beat; in seconds
}


STUDY = Study(
    question="With the same minutes of one core, what do Muon, half of the patches, bfloat16 and a convolutional "
    "stem bring?",
    variants=TRIED,
    claims=(
        Claim(
            "Muon is ahead of AdamW, at equal core-minutes", "Muon, lr=*", "AdamW, lr=*"
        ),
        Claim(
            "a convolutional stem is ahead, at equal core-minutes",
            "Muon, stem",
            "Muon, lr=*",
        ),
        Claim(
            "bfloat16 is ahead on a CPU without AMX, at equal core-minutes",
            "Muon, bf16",
            "Muon, lr=*",
        ),
        Claim(
            "half of the patches for two thirds of the run are ahead, at equal core-minutes",
            "Muon, half of the patches, bf16",
            "Muon, bf16",
        ),
    ),
    base=replace(QUICK, warmup=0.1, label_smoothing=0.1),
    n_train=13_000,  # 5,000 of them held out
    run=run_family,
)
