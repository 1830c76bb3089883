"""Where do positions enter? The paper's Table 8.

Does it matter whether positions are added once or before every block, from one table or many?

"Every" has a table of its own for each block, "shared" adds one table before each. The model, the 20,000 photographs
and the four epochs are those of the study `positions`, whose "none", 1-D and 2-D are here again. Accuracies count as
equal within two points, which is less than the paper's 2.8 for having positions at all.

- 1-D positions with a table for every block, the paper's worst, are ahead of none (.63964 against .61382): agrees, +3.8
  ± 0.6 points (standard error, n = 3).
- a 1-D table for every block does as well as one at the stem (.63964 against .64206): open, +2.4 ± 1.1 points (standard
  error, n = 3); about 15 seeds would decide.
- one 1-D table for all blocks does as well as one at the stem (.64292 against .64206): open, +2.3 ± 0.9 points
  (standard error, n = 3); about 10 seeds would decide.
- a 2-D table for every block does as well as one at the stem (.64046 against .64001): differs, +1.5 ± 0.2 points
  (standard error, n = 3).
- one 2-D table for all blocks does as well as one at the stem (.64022 against .64001): differs, +2.1 ± 0.4 points
  (standard error, n = 3).
- 2-D does as well as 1-D, each where it does best (.64046 against .64292): open, +0.3 ± 0.5 points (standard error, n =
  3); about 3 seeds would decide.

21 runs on CIFAR-10 (JPEG q75) with 3 seeds took 93 minutes: `python -m vitlib study run position-entry --data cifar10
--threads 1`
"""

from __future__ import annotations

from vitworkshop.studies.study import Claim, Study

_KINDS = {"1-D": "learned", "2-D": "learned2d"}
_PLACES = ("stem", "every", "shared")


def _places(kind: str) -> tuple[str, ...]:
    return tuple(f"{kind}, {place}" for place in _PLACES)


def _equal(says: str, first: tuple[str, ...], second: tuple[str, ...]) -> Claim:
    return Claim(says, "Table 8", first, second, margin=0.02, kind="equal")


STUDY = Study(
    question="Does it matter whether positions are added once or before every block, from one table or many?",
    variants={"none": {"model.pos_embed": "none"}}
    | {
        f"{name}, {place}": {"model.pos_embed": kind, "model.pos_at": place}
        for name, kind in _KINDS.items()
        for place in _PLACES
    },
    claims=(
        Claim(
            "1-D positions with a table for every block, the paper's worst, are ahead of none (.63964 against .61382)",
            "Table 8",
            ("1-D, every",),
            ("none",),
            margin=0.01,
        ),
        _equal(
            "a 1-D table for every block does as well as one at the stem (.63964 against .64206)",
            ("1-D, every",),
            ("1-D, stem",),
        ),
        _equal(
            "one 1-D table for all blocks does as well as one at the stem (.64292 against .64206)",
            ("1-D, shared",),
            ("1-D, stem",),
        ),
        _equal(
            "a 2-D table for every block does as well as one at the stem (.64046 against .64001)",
            ("2-D, every",),
            ("2-D, stem",),
        ),
        _equal(
            "one 2-D table for all blocks does as well as one at the stem (.64022 against .64001)",
            ("2-D, shared",),
            ("2-D, stem",),
        ),
        _equal(
            "2-D does as well as 1-D, each where it does best (.64046 against .64292)",
            _places("2-D"),
            _places("1-D"),
        ),
    ),
    n_train=25_000,  # 5,000 of them held out
    source="Table 8",
)
