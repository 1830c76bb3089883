"""Does a ViT need positions, and which kind? The paper's Table 8 (chapter 03).

15 runs took 97 minutes on one thread.
"""

from __future__ import annotations

from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import Study

_KINDS = ("learned", "learned2d", "sincos2d", "relative")


STUDY = Study(
    question="Does a ViT need positions, and which kind?",
    variants={kind: {"model.pos_embed": kind} for kind in ("none", *_KINDS)},
    claims=(
        Claim(
            "having positions matters (+2.8 points of 5-shot accuracy, .61382 to .64206)",
            "learned",
            "none",
        ),
        Claim(
            "2-D positions bring nothing over 1-D (.64001 against .64206)",
            "learned2d",
            "learned",
            kind="equal",
        ),
        Claim(
            "relative positions do as well as absolute ones (.64032 against .64206)",
            "relative",
            "learned",
            kind="equal",
        ),
    ),
    n_train=25_000,  # 5,000 of them held out
)
