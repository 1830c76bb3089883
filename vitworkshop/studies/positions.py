"""Which kind of position embedding? The paper's Table 8 (chapter 03).

Does a ViT need positions, and which kind?

- having positions matters (+2.8 points of 5-shot accuracy, .61382 to .64206): agrees, +2.3 ± 0.4 points
  (standard error, n = 3).
- 2-D positions bring nothing over 1-D (.64001 against .64206): open, +0.9 ± 0.8 points (standard error, n =
  3); about 28 seeds would decide.
- relative positions do as well as absolute ones (.64032 against .64206): differs, -1.3 ± 0.1 points
  (standard error, n = 3).

15 runs on CIFAR-10 (JPEG q75) with 3 seeds took 97 minutes: `python -m vitlib study run positions --data
cifar10 --threads 1`
"""

from __future__ import annotations

from vitworkshop.studies.study import Claim, Study

_KINDS = ("learned", "learned2d", "sincos2d", "relative")

STUDY = Study(
    question="Does a ViT need positions, and which kind?",
    variants={kind: {"model.pos_embed": kind} for kind in ("none", *_KINDS)},
    claims=(
        Claim(
            "having positions matters (+2.8 points of 5-shot accuracy, .61382 to .64206)",
            "Table 8",
            ("learned",),
            ("none",),
            margin=0.01,
        ),
        Claim(
            "2-D positions bring nothing over 1-D (.64001 against .64206)",
            "Table 8",
            ("learned2d",),
            ("learned",),
            margin=0.01,
            kind="equal",
        ),
        Claim(
            "relative positions do as well as absolute ones (.64032 against .64206)",
            "Table 8",
            ("relative",),
            ("learned",),
            margin=0.01,
            kind="equal",
        ),
    ),
    n_train=25_000,  # 5,000 of them held out
    source="Table 8",
)
