"""The committed results, and what paired runs say."""

import pytest

import vitlib as vl
from vitlib import evidence
from vitlib.files import write_json


def test_load_results(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "RESULTS", tmp_path)
    write_json(tmp_path / "run.json", {"final": 1})
    assert vl.load_results("run") == {"final": 1}


@pytest.mark.errors
def test_load_results_lists_what_there_is(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "RESULTS", tmp_path)
    with pytest.raises(ValueError, match="no results called 'x'; there are: none yet"):
        vl.load_results("x")
    write_json(tmp_path / "run.json", {})
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(ValueError, match="list.json is damaged .*not a mapping"):
        vl.load_results("list")
    write_json(tmp_path.parent / "outside.json", {})
    for name in ("../outside", "x"):
        with pytest.raises(
            ValueError, match=f"no results called '{name}'; there are: list, run"
        ):
            vl.load_results(name)


def test_paired_differences_by_hand():
    first, second = {0: 0.5, 1: 0.7, 2: 0.6, 9: 0.9}, {2: 0.5, 1: 0.5, 0: 0.2, 8: 0.1}
    found = evidence.paired_difference(first, second)  # of seeds 0, 1, 2: 0.3, 0.2, 0.1
    assert found["n"] == 3 and found["difference"] == pytest.approx(0.2)
    assert found["se"] == pytest.approx(0.1 / 3**0.5)
    assert found["interval"] == pytest.approx(
        [0.2 - 4.302653 * found["se"], 0.2 + 4.302653 * found["se"]]
    )
    assert evidence.paired_difference({0: 1.0, 1: 2.0}, {0: 0.0, 1: 0.0})["n"] == 2
    assert evidence.paired_difference({0: 1.0}, {0: 0.0}) is None
    assert evidence.paired_difference({0: 1.0}, {1: 0.0}) is None


def test_a_summary_says_how_many_there_were():
    assert evidence.summarize([0.5]) == {"mean": 0.5, "sd": None, "n": 1}
    found = evidence.summarize([0.4, 0.6])
    assert found == {"mean": 0.5, "sd": pytest.approx(0.02**0.5), "n": 2}
