"""The page of claims: every study stands on it once, and what it says follows from the committed runs."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest

from vitlib.evidence import RESULTS, load_results
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.report import EDGE, TURNS, turns

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
    assert sorted(named) == sorted([*STUDIES, "rule", "example", "tally"])


@pytest.mark.parametrize("name", COMMITTED)
def test_verdicts_are_judged_from_the_runs_and_the_log_is_named(name):
    text = claims.claims_of(name)
    expected = [(claim, found) for study, claim, found in JUDGED if study == name]
    for (claim, found), (says, got, verdict) in zip(expected, rows(text), strict=True):
        assert says.lower().startswith(claim.says.lower()) and f"*{claim.source}*" in says
        assert says.endswith(f"(not counted: {claim.aside})" if claim.aside else "*")
        assert verdict.startswith(f"**{found['verdict']}**")
        assert (EDGE in verdict) == ("at_edge" in found) and (TURNS in verdict) == turns(
            claim, load_results(name)
        )
        if "se" in found:
            assert f"{found['first']} against {found['second']}" in got and got.endswith(
                f"{found['n']} seeds"
            )
            assert f"margin\u202f{claim.margin * (100 if 'points' in got else 1):g}, " in got
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
    *_, waiting, everything = rows(claims.tally())
    assert waiting[1:] == everything[1:]


def test_an_unfinished_study_says_how_much_is_there():
    result = load_results("positions")
    assert "Unfinished" not in claims.about("positions", result)
    short = result | {"finished": False, "runs": result["runs"][:4]}
    assert "Unfinished: 4 of 15 runs." in claims.about("positions", short)


def test_the_tally_counts_each_claim_once():
    counted = list(zip(*([int(cell) for cell in row[1:]] for row in rows(claims.tally())), strict=True))
    assert all(sum(row[:-1]) == row[-1] for row in counted)
    all_claims = [claim for study in STUDIES.values() for claim in study.claims]
    sources = [claim.source for claim in all_claims if not claim.aside]
    papers, ours = (sum(source.startswith(whose) for source in sources) for whose in (PAPERS, "ours"))
    aside = len(all_claims) - len(sources)
    assert [row[-1] for row in counted] == [papers, len(sources) - papers - ours, ours, aside] and aside
    for column, verdict in enumerate(("agrees", "smaller", "differs", "open")):
        assert sum(row[column] for row in counted) == [found["verdict"] for *_, found in JUDGED].count(
            verdict
        )


def test_what_is_undecided_is_the_papers_and_open():
    shown = [row[0] for row in rows(claims.undecided())]
    assert shown == [
        f"{claims.sentence(claim)}, `{name}`"
        for name, claim, found in JUDGED
        if found["verdict"] == "open" and claim.source.startswith(PAPERS) and not claim.aside
    ]


def test_the_rule_is_shown_by_the_rule():
    shown = rows(claims.rule())
    assert len(shown) == len(claims.EXAMPLES)
    assert {verdict for row in shown for verdict in row[1:]} == {"agrees", "smaller", "differs", "open"}
    worked = claims.example()
    first = next(found for name, claim, found in JUDGED if name == next(iter(STUDIES)))
    assert f"**{first['verdict']}**" in worked and f"{100 * first['difference']:.2f} points" in worked


def test_a_row_that_is_not_counted_has_its_reason():
    """Few-shot accuracy and shapes that a ridge regression on the pixels beats."""
    data = load_results("data-size")
    few = {
        name: [run["final"]["few_shot_accuracy"] for run in data["runs"] if run["variant"] == name]
        for name in data["summary"]
    }
    mean = {name: statistics.fmean(values) for name, values in few.items()}
    for claim in STUDIES["data-size"].claims:
        beaten = claim.metric.startswith("few") and all(
            mean[name] < mean["pixels, 500 images"] for name in claim.first + claim.second
        )
        assert bool(claim.aside) == beaten
    ridge, shapes = data["summary"]["pixels, 45,000 images"]["mean"], load_results("shape")["summary"]
    for claim in STUDIES["shape"].claims:
        best = [max(shapes[name]["mean"] for name in side) for side in (claim.first, claim.second)]
        assert bool(claim.aside) == (min(best) < ridge)


@pytest.mark.errors
def test_a_wrong_name_is_refused():
    with pytest.raises(
        ValueError, match="no study 'position'; there are rule, example, tally, undecided, positions, pooling"
    ):
        claims.claims_of("position")
