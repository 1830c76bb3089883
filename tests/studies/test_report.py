"""What studies found, told: the board of all claims follows from the runs, in the book's results and in a folder."""

from __future__ import annotations

import json

import pytest
from toys import DATA, only, toy

from vitlib.evidence import RESULTS, load_results
from vitlib.files import read_json
from vitworkshop.studies import report as reports
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.registry import STUDIES, by_worth, find, folders
from vitworkshop.studies.report import VERDICTS, board, report, tell, verdicts
from vitworkshop.studies.runner import run_study
from vitworkshop.studies.study import QUICK

COMMITTED = [name for name in STUDIES if (RESULTS / f"{name}.json").exists()]


def cells(lines: list[str]) -> list[list[str]]:
    """The rows of a table, without its head."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:] if line.startswith("| ")
    ]


@pytest.fixture
def stems():
    """No study but a toy of this name."""
    with only(stems=toy()):
        yield


def test_the_board_has_a_row_for_every_claim_and_its_verdict_follows_from_the_runs():
    rows = cells(board())
    assert len(rows) == sum(len(study.claims) for study in STUDIES.values())
    assert all(len(row) == 7 for row in rows)
    expected = []
    for name in by_worth():
        for claim in STUDIES[name].claims:
            verdict = "not run yet"
            if name in COMMITTED:
                verdict = claim.judge(load_results(name)["runs"])["verdict"]
            expected.append((claim.says, claim.source, verdict, name))
    found = [(row[0], row[1], row[3].split(" (")[0], row[5].removesuffix(" *")) for row in rows]
    assert found == expected


def test_the_board_of_a_folder(tmp_path, stems):
    assert cells(board(tmp_path)) == [["b is ahead", "Table 1", "", "not run yet", "", "stems", ""]]
    folder = folders(None, tmp_path)["stems"]
    run_study("stems", DATA, folder, seeds=(0,), progress=False)
    row = ["b is ahead", "Table 1", "b against a: +0.1 points, one seed", "open", "1", "stems", "toys, quick"]
    assert cells(board(tmp_path)) == [row]
    for seeds, verdict in (((0, 1), "open (about 3 seeds would decide)"), ((0, 1, 2), "agrees")):
        run_study("stems", DATA, folder, seeds=seeds, progress=False)
        (row,) = cells(board(tmp_path))
        assert row[2:5] == [
            "b against a: +0.1 ± 0.0 points; [+0.1, +0.1], margin 0.05",
            verdict,
            str(len(seeds)),
        ]


def test_a_verdict_is_of_the_rule_as_it_is(tmp_path, stems):
    """The file's own verdict may be older than the rule."""
    folder = tmp_path / "study-stems"
    run_study("stems", DATA, folder, seeds=(0, 1, 2), progress=False)
    path = folder / "stems.json"
    path.write_text(json.dumps(read_json(path, "") | {"verdicts": {"b is ahead": {"verdict": "differs"}}}))
    assert cells(board(tmp_path))[0][3] == "agrees"
    strict = Claim("b is | ahead", "Table 1", "b", "a", margin=0.5)
    STUDIES["stems"] = toy(claims=(strict,))
    assert "+0.1 ± 0.0 points; [+0.1, +0.1], margin 50 | smaller |" in board(tmp_path)[2]
    assert board(tmp_path)[2].startswith("| b is &#124; ahead | Table 1 | b against a: +0.1")


def test_a_result_is_told_in_sentences(monkeypatch):
    said = tell(load_results("norm-order"))
    assert said == (
        "- post-norm at the highest rate is left with more loss than pre-norm: agrees, +2.20 ± 0.01 (standard error, "
        "n = 12).\n- a warm-up takes loss away from post-norm at 0.001: agrees, +0.45 ± 0.12 (standard error, n = 12)."
        "\n\n240 runs on Drawn-10 with 12 seeds took 31 minutes: `python -m vitlib study run norm-order --threads 1`"
    )
    assert "about 13 seeds would decide" in tell(load_results("pooling"))
    assert ": agrees, +3.0 ± 0.7 points (standard error, n = 3).\n" in tell(load_results("stems"))
    monkeypatch.setattr(reports, "base_changes", lambda result: "epochs was 4, now 6")
    one = load_results("norm-order") | {"verdicts": {}, "runs": load_results("norm-order")["runs"][:1]}
    assert tell(one).startswith("1 runs on Drawn-10 with 1 seed took 31 minutes")
    assert tell(one).endswith("\nThey were run before the study became what it is now: epochs was 4, now 6.")


def test_a_study_that_changed_since_is_marked(tmp_path, stems, monkeypatch):
    STUDIES["stems"] = toy(base=QUICK)
    run_study("stems", DATA, tmp_path / "study-stems", seeds=(0,), progress=False)
    assert cells(board(tmp_path))[0][5] == "stems" and not board(tmp_path)[-1].startswith("\\*")
    monkeypatch.setattr(reports, "base_changes", lambda result: "epochs was 4, now 6")
    assert cells(board(tmp_path))[0][5] == "stems *" and board(tmp_path)[-1].startswith("\\* run before")


def test_a_field_that_a_result_lacks_was_at_its_default(monkeypatch):
    result = load_results("recipes")
    now = reports.base_changes(result)
    assert "erasing" not in now and "cutmix" not in now and "mask_token" not in now
    for place in (result["base"], result["base"]["model"]):
        place.pop("cutmix", None), place.pop("mask_token", None)
    assert reports.base_changes(result) == now
    result["base"]["crop"] += 1
    assert "crop was 1, now 0" in reports.base_changes(result)


def test_the_papers_questions_come_first():
    names = by_worth()
    assert sorted(names) == sorted(STUDIES)
    ours = [STUDIES[name].source.startswith("not in the paper") for name in names]
    assert ours == sorted(ours) and True in ours and False in ours
    assert [name for name in STUDIES if name in names[:3]] == names[:3]  # else as they stand


def test_where_runs_go():
    assert {name: str(path) for name, path in folders("stems").items()} == {"stems": "runs/study-stems"}
    assert {name: str(path) for name, path in folders("stems", "x").items()} == {"stems": "x"}
    assert [str(path) for path in folders(None, "x").values()] == [f"x/study-{name}" for name in by_worth()]


@pytest.mark.errors
def test_an_unknown_study_is_refused():
    with pytest.raises(ValueError, match="unknown study 'stem'; choose one of positions, pooling"):
        find("stem")


def test_verdicts_are_the_boards():
    """A chapter's table says of each claim what the board says."""
    rows = verdicts("transfer")
    assert len(rows) == len(STUDIES["transfer"].claims) and len(rows[0]) == len(VERDICTS)
    those = [row for row in cells(board()) if row[5] == "transfer"]
    for (says, got, seeds, verdict), row in zip(rows, those, strict=True):
        assert (says, seeds) == (row[0], row[4]) and row[2].startswith(f"{got}; [")
        word, _, edge = verdict.removeprefix("**").partition("**")
        assert (
            row[3].startswith(word) and edge.removeprefix(", ") in row[3] and ("edge" in row[3]) == bool(edge)
        )


@pytest.mark.errors
def test_a_folder_without_results_is_not_replaced_by_the_books_own(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ValueError, match="no results called 'stems'; there are: none yet"):
            report("stems", folder)
    (tmp_path / "stems.json").write_text('{"name": "stems"}')
    with pytest.raises(ValueError, match="stems.json in .* is of no study; give another folder with --out"):
        report("stems", tmp_path)
    with pytest.raises(ValueError, match="there is no folder .*none; take that of a study run --all"):
        board(tmp_path / "none")
