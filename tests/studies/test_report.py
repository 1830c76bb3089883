"""What studies found, told: the board of all claims follows from the runs, in the book's results and in a folder."""

from __future__ import annotations

import pytest

from vitlib.evidence import load_results
from vitworkshop.studies import budget
from vitworkshop.studies import report as reports
from vitworkshop.studies.board import board, rows_of
from vitworkshop.studies.registry import BEYOND, PLAN, STUDIES, find, folders
from vitworkshop.studies.report import VERDICTS, report, tell, verdicts


def test_a_result_is_told_in_sentences(monkeypatch):
    said = tell(load_results("norm-order"))
    first, second, _, last = said.splitlines()
    assert first == (
        "- post-norm at the highest rate is left with more loss than pre-norm: matters: agrees, +2.20 ± 0.01 (standard "
        "error, n = 12), [+2.178, +2.228], margin 0.1. Not on the board: no accuracy on pictures held out."
    )
    assert last == (
        "240 runs on Drawn-10 with 12 seeds took 31 minutes: `python -m vitlib study run norm-order --threads 1`"
    )
    assert "matters: agrees, +16.5 ± 0.4 points (standard error, n = 3), [+14.95, +17.99], margin 1." in tell(
        load_results("minutes")
    )
    monkeypatch.setattr(reports, "base_changes", lambda result: "epochs was 4, now 6")
    one = load_results("norm-order") | {"runs": load_results("norm-order")["runs"][:1]}
    assert tell(one).endswith("\nThey were run before the study became what it is now: epochs was 4, now 6.")


def test_a_field_that_a_result_lacks_was_at_its_default(monkeypatch):
    result = load_results("masked")
    now = reports.base_changes(result)
    assert "erasing" not in now and "cutmix" not in now and "mask_token" not in now
    for place in (result["base"], result["base"]["model"]):
        place.pop("cutmix", None), place.pop("mask_token", None)
    assert reports.base_changes(result) == now
    result["base"]["crop"] += 1
    assert "crop was 5, now 4" in reports.base_changes(result)


def test_where_runs_go():
    assert {name: str(path) for name, path in folders("stems").items()} == {"stems": "runs/study-stems"}
    assert {name: str(path) for name, path in folders("stems", "x").items()} == {"stems": "x"}
    assert [str(path) for path in folders(None, "x").values()] == [f"x/study-{name}" for name in PLAN]


@pytest.mark.errors
def test_an_unknown_study_is_refused():
    with pytest.raises(ValueError, match="unknown study 'stem'; choose one of stems, places"):
        find("stem")


def test_the_verdicts_of_a_chapter_are_judged_from_its_runs():
    rows = verdicts("transfer")
    assert len(rows) == len(STUDIES["transfer"].claims) and len(rows[0]) == len(VERDICTS)
    for (says, got, seeds, verdict), row in zip(
        rows, rows_of("transfer", load_results("transfer")), strict=True
    ):
        assert (says, got, seeds) == (row.claim.says, row.measured, str(row.found["n"]))
        assert verdict == f"**{row.found['verdict']}**"


def test_the_plan_is_within_its_budget_and_can_decide():
    prices = budget.prices()
    assert list(prices) == [*PLAN, *BEYOND]
    assert sum(prices[name].core_minutes for name in PLAN) <= budget.ALL
    for one in prices.values():
        assert one.unit <= budget.UNIT and one.half_width <= one.margin
    assert all(len(STUDIES[name].seeds) >= 5 and STUDIES[name].choosing for name in PLAN)
    assert len(budget.table()) == len(prices) + 4


@pytest.mark.errors
def test_a_folder_without_results_is_not_replaced_by_the_books_own(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ValueError, match="there is no .*stems.json; run the study"):
            report("stems", folder)
    (tmp_path / "stems.json").write_text('{"name": "stems"}')
    with pytest.raises(ValueError, match="stems.json is of no study: it has no dataset, metric, runs"):
        report("stems", tmp_path)
    with pytest.raises(ValueError, match="there is no folder .*none; take that of a study run --all"):
        board(tmp_path / "none")
