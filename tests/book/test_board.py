"""The board and the runs: every study stands on its page once, and what is said follows from the committed runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vitlib.evidence import RESULTS
from vitworkshop.studies.board import all_rows, whole
from vitworkshop.studies.registry import CHAPTERS, PLAN, STUDIES

claims = pytest.importorskip("page.claims")
BOOK = Path(__file__).resolve().parents[2] / "book"
WHOLE = [name for name in STUDIES if whole(name)]


def rows(text: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    return [
        line.strip("| ").split(" | ")
        for line in text.splitlines()
        if line.startswith("| ")
    ][2:]


def named(page: str) -> list[str]:
    """What a page asks the directive for."""
    return re.findall(
        r"^```\{claims\} (\S+)$", (BOOK / page).read_text(encoding="utf-8"), re.M
    )


def test_every_study_stands_with_its_chapter_once():
    assert named("claims.md") == ["board", "rule", "example", "tally"] and named(
        "not-shown.md"
    ) == ["missing"]
    text = (BOOK / "runs.md").read_text(encoding="utf-8")
    parts = dict(
        re.findall(r"^## Chapter (\d\d): [^\n]+\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    )
    assert {
        chapter: re.findall(r"\{claims\} (\S+)", part)
        for chapter, part in parts.items()
    } == {
        chapter: [name for name in names.split() if STUDIES[name].claims]
        for chapter, names in CHAPTERS.items()
    }


def test_a_chapter_that_reads_a_study_has_it_on_the_page_of_the_runs():
    for path in BOOK.glob("*.ipynb"):
        read = set(
            re.findall(
                r"load_results\(\\\"([a-z-]+)\\\"\)", path.read_text(encoding="utf-8")
            )
        )
        assert read & STUDIES.keys() <= set(WHOLE), (
            "no page reads a study that is not whole"
        )


@pytest.mark.parametrize("name", WHOLE)
def test_the_runs_of_a_study_tell_each_claim_and_where_the_log_is(name):
    text = claims.study(name)
    *found, last = (
        [row for row in all_rows() if row.study == name],
        text.splitlines()[-1],
    )
    table = [row for row in rows(text) if len(row) == 4 and "**" in row[2]]
    for row, (says, got, verdict, lacks) in zip(found[0], table, strict=True):
        assert says.lower().startswith(row.claim.says.lower()) and says.endswith(
            f"*{row.claim.source}*"
        )
        assert verdict == claims.told(row) and verdict.endswith(
            f"**{row.found['verdict']}**"
        )
        assert (lacks == "yes") == (not row.lacks)
        if "se" in row.found:
            assert (
                f"margin\u202f{row.claim.margin * (100 if 'points' in got else 1):g}, "
                in got
            )
            assert "\u202f±\u202f" in got and " points" not in got, (
                "a number stays with its sign and unit"
            )
    (place,) = re.findall(r"<(.+?)>", last)
    assert (BOOK / place).resolve() == RESULTS / f"{name}.json"
    assert (
        f"`python -m vitlib study run {name}`" in last
        and STUDIES[name].question in text
    )


def test_what_is_not_whole_says_so_and_has_its_price(monkeypatch):
    monkeypatch.setattr(claims, "whole", lambda name: None)
    assert claims.study("shape").endswith(
        "Not run to its end yet: `python -m vitlib study run shape`"
    )
    assert [row[0].split("`")[1] for row in rows(claims.missing())] == [*PLAN]
    monkeypatch.setattr(claims, "whole", lambda name: {})
    assert claims.missing() == "Everything that was planned has been run."


def test_the_tally_counts_each_claim_once():
    counted = [[int(cell) for cell in row[1:]] for row in rows(claims.tally())]
    found = list(all_rows())
    for lines, some in (
        (counted[:3], [row for row in found if not row.lacks]),
        (counted[3:], found),
    ):
        verdicts = [row.found["verdict"] for row in some]
        assert [sum(column) for column in zip(*lines, strict=True)] == [
            verdicts.count(each) for each in ("agrees", "differs", "open")
        ]


def test_the_board_shows_what_is_admitted_and_the_rule_is_shown_by_the_rule():
    admitted = [row for row in all_rows() if not row.lacks]
    assert [row[3] for row in rows(claims.board())] == [
        claims.told(row) for row in admitted
    ]
    shown = rows(claims.rule())
    assert len(shown) == len(claims.EXAMPLES)
    assert {row[1] for row in shown} == {"matters", "does not matter", "open"}
    assert {verdict for row in shown for verdict in row[2:]} == {
        "agrees",
        "differs",
        "open",
    }
    found = admitted[0].found
    assert (
        f"**{found['verdict']}**" in claims.example()
        and f"{100 * found['difference']:.2f} points" in claims.example()
    )


@pytest.mark.errors
def test_a_wrong_name_is_refused():
    with pytest.raises(
        ValueError,
        match="no study 'position'; there are rule, example, board, tally, missing, stems",
    ):
        claims.study("position")
