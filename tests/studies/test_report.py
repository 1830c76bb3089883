"""What studies found, told: the board of all claims follows from the runs, in the book's results and in a folder."""

from __future__ import annotations

import pytest

from vitlib.evidence import load_results
from vitworkshop.studies import budget
from vitworkshop.studies.board import board
from vitworkshop.studies.registry import PLAN, STUDIES, find, folders
from vitworkshop.studies.report import report, tell


def test_a_result_is_told_in_sentences():
    said = tell(load_results("norm-order"))
    first, second, _, last = said.splitlines()
    assert first == (
        "- post-norm at the highest rate is left with more loss than pre-norm: matters: agrees, +2.20 ± 0.01 (standard "
        "error, n = 12), [+2.178, +2.228], margin 0.1. Not on the board: no accuracy on pictures held out."
    )
    assert last == (
        "240 runs on Drawn-10 with 12 seeds took 31 minutes: `python -m vitlib study run norm-order --threads 1`"
    )
    assert (
        "matters: agrees, +16.5 ± 0.4 points (standard error, n = 3), [+14.95, +17.99], margin 1."
        in tell(load_results("minutes"))
    )


def test_where_runs_go():
    assert {name: str(path) for name, path in folders("stems").items()} == {
        "stems": "runs/study-stems"
    }
    assert {name: str(path) for name, path in folders("stems", "x").items()} == {
        "stems": "x"
    }
    assert [str(path) for path in folders(None, "x").values()] == [
        f"x/study-{name}" for name in PLAN
    ]


@pytest.mark.errors
def test_an_unknown_study_is_refused():
    with pytest.raises(
        ValueError, match="unknown study 'stem'; choose one of stems, places"
    ):
        find("stem")


def test_the_plan_is_within_its_budget_and_can_decide():
    prices = budget.prices()
    assert list(prices) == [*PLAN]
    assert sum(prices[name].core_minutes for name in PLAN) <= budget.ALL
    for one in prices.values():
        assert one.unit <= budget.UNIT and one.half_width <= one.margin
    assert all(
        len(STUDIES[name].seeds) >= 5 and STUDIES[name].choosing for name in PLAN
    )


@pytest.mark.errors
def test_a_folder_without_results_is_not_replaced_by_the_books_own(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ValueError, match="there is no .*stems.json; run the study"):
            report("stems", folder)
    (tmp_path / "stems.json").write_text('{"name": "stems"}')
    with pytest.raises(
        ValueError, match="stems.json is of no study: it has no dataset, metric, runs"
    ):
        report("stems", tmp_path)
    with pytest.raises(
        ValueError, match="there is no folder .*none; take that of a study run --all"
    ):
        board(tmp_path / "none")
