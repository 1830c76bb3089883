"""The page of claims: every study stands on it once, and what it says follows from the committed runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vitlib.evidence import RESULTS, load_results
from vitworkshop.studies.registry import STUDIES

claims = pytest.importorskip("page.claims")
BOOK = Path(__file__).resolve().parents[2] / "book"
COMMITTED = [name for name in STUDIES if (RESULTS / f"{name}.json").exists()]
JUDGED = [
    (name, claim, claim.judge(load_results(name)["runs"]))
    for name in COMMITTED
    for claim in STUDIES[name].claims
]

PAPERS = ("Figure", "Table", "Section", "Appendix")


def rows(text: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]


def test_every_study_is_on_the_board_once():
    named = re.findall(r"^```\{claims\} (\S+)$", (BOOK / "claims.md").read_text(encoding="utf-8"), re.M)
    assert sorted(named) == sorted([*STUDIES, "tally"])


@pytest.mark.parametrize("name", COMMITTED)
def test_verdicts_are_judged_from_the_runs_and_the_log_is_named(name):
    text = claims.claims_of(name)
    expected = [(claim, found) for study, claim, found in JUDGED if study == name]
    for (claim, found), (says, got, verdict) in zip(expected, rows(text), strict=True):
        assert says.lower().startswith(claim.says.lower()) and says.endswith(f"*{claim.source}*")
        assert verdict == f"**{found['verdict']}**"
        if "se" in found:
            assert f"{found['first']} against {found['second']}" in got and got.endswith(
                f"{found['n']} seeds"
            )
            assert "\u202f±\u202f" in got and " points" not in got, "a number stays with its sign and unit"
    last = text.splitlines()[-1]
    (place,) = re.findall(r"<(.+?)>", last)
    assert (BOOK / place).resolve() == RESULTS / f"{name}.json" and load_results(name)["dataset"] in last
    assert f"`python -m vitlib study run {name}`" in last


def test_what_was_not_run_says_so_and_lists_its_claims(monkeypatch):
    monkeypatch.setattr(claims, "result_of", lambda name: None)
    *_, last = lines = claims.claims_of("axial").splitlines()
    assert last == "Not run yet: `python -m vitlib study run axial`"
    assert sum(line.startswith("- ") for line in lines) == len(STUDIES["axial"].claims)
    assert [row[4] for row in rows(claims.tally())] == [row[5] for row in rows(claims.tally())]  # all wait


def test_an_unfinished_study_says_how_much_is_there():
    result = load_results("positions")
    assert "Unfinished" not in claims.about("positions", result)
    short = result | {"finished": False, "runs": result["runs"][:4]}
    assert "Unfinished: 4 of 15 runs." in claims.about("positions", short)


def test_the_tally_counts_each_claim_once():
    counted = [[int(cell) for cell in row[1:]] for row in rows(claims.tally())]
    assert all(sum(row[:-1]) == row[-1] for row in counted)
    sources = [claim.source for study in STUDIES.values() for claim in study.claims]
    papers, ours = sum(source.startswith(PAPERS) for source in sources), sources.count("ours")
    assert [row[-1] for row in counted] == [papers, len(sources) - papers - ours, ours]
    for column, verdict in enumerate(("agrees", "differs", "open")):
        assert sum(row[column] for row in counted) == [found["verdict"] for *_, found in JUDGED].count(
            verdict
        )


def test_what_is_undecided_is_the_papers_and_open():
    shown = [row[0] for row in rows(claims.undecided())]
    assert shown == [
        f"{claims.sentence(claim)}, `{name}`"
        for name, claim, found in JUDGED
        if found["verdict"] == "open" and claim.source.startswith(PAPERS)
    ]


@pytest.mark.errors
def test_a_wrong_name_is_refused():
    with pytest.raises(
        ValueError, match="no study 'position'; there are tally, undecided, positions, pooling"
    ):
        claims.claims_of("position")
