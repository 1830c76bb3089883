"""Does it matter whether positions are added once or before every block, from one table or many? Table 8.

The paper's Appendix D.4 (chapter 03). "Every" has a table of its own for each block, "shared" adds one table before
each. The model, the 20,000 photographs and the four epochs are those of the study `positions`, whose "none", 1-D and
2-D are here again. Accuracies count as equal within two points, which is less than the paper's 2.8 for having positions
at all. 21 runs took 93 minutes on one thread.
"""

from __future__ import annotations

from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import Study

_KINDS = {"1-D": "learned", "2-D": "learned2d"}
_PLACES = ("stem", "every", "shared")


def _places(kind: str) -> tuple[str, ...]:
    return tuple(f"{kind}, {place}" for place in _PLACES)


def _equal(says: str, first: str | tuple[str, ...], second: str | tuple[str, ...]) -> Claim:
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
            "1-D, every",
            "none",
        ),
        *(
            _equal(f"{says} does as well as one at the stem ({theirs})", f"{kind}, {place}", f"{kind}, stem")
            for kind, place, says, theirs in (
                ("1-D", "every", "a 1-D table for every block", ".63964 against .64206"),
                ("1-D", "shared", "one 1-D table for all blocks", ".64292 against .64206"),
                ("2-D", "every", "a 2-D table for every block", ".64046 against .64001"),
                ("2-D", "shared", "one 2-D table for all blocks", ".64022 against .64001"),
            )
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
