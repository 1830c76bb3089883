"""The study of compute: what each run cost, and families compared where they cost the same."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import vitlib as vl
from vitlib.train.recipe import recipe
from vitworkshop.studies import compute
from vitworkshop.studies.board import rows_of
from vitworkshop.studies.compute import AtEqualCompute, Frontier
from vitworkshop.studies.families import BASE
from vitworkshop.studies.registry import STUDIES


def runs(points: dict[str, tuple[float, list[float]]]) -> list[dict]:
    """Runs of variants by their compute and their accuracies, seed by seed."""
    return [
        {"variant": name, "seed": seed, "final": {"val_accuracy": score, "training_macs": cost}}
        for name, (cost, scores) in points.items()
        for seed, score in enumerate(scores)
    ]


def line(costs: list[float], start: float, slope: float, name: str) -> dict[str, tuple[float, list[float]]]:
    """A family whose accuracy grows with the logarithm of its compute."""
    return {
        f"{name}{i}": (cost, [start + slope * math.log10(cost) + 0.001 * seed for seed in range(3)])
        for i, cost in enumerate(costs)
    }


def claim(a: dict, b: dict, **options) -> AtEqualCompute:
    return AtEqualCompute("", "", tuple(a), tuple(b), margin=0.01, **options)


@given(st.floats(0, 1), st.floats(1e-3, 1e3))
def test_two_lines_differ_by_as_much_everywhere(share, unit):
    a = line([unit * cost for cost in (1.0, 20.0, 300.0)], 0.5, 0.05, "a")
    b = line([unit * cost for cost in (3.0, 30.0, 4000.0)], 0.47, 0.05, "b")
    found = claim(a, b, share=share).judge(runs(a | b))
    assert found["difference"] == pytest.approx(0.03) and found["verdict"] == "agrees" and found["n"] == 3
    assert found["training_macs"] == pytest.approx(unit * 3 ** (1 - share) * 300**share, rel=0.02, abs=0.5)
    other = claim(b, a, share=share).judge(runs(a | b))
    assert other["difference"] == pytest.approx(-0.03) and other["verdict"] == "differs"


def test_where_it_is_read_decides():
    """Two families that begin alike, of which only one grows."""
    a, b = line([1e3, 1e6], 0.5, 0.0, "a"), line([1e3, 1e6], 0.2, 0.1, "b")
    few, middle, many = (claim(b, a, share=share).judge(runs(a | b)) for share in (0.0, 0.5, 1.0))
    assert few["verdict"] == "differs" and few["difference"] == pytest.approx(0)  # ahead by nothing
    assert middle["difference"] == pytest.approx(0.2 + 0.1 * 4.5 - 0.5) and middle["verdict"] == "agrees"
    assert many["difference"] == pytest.approx(0.3)


def test_a_variant_that_a_cheaper_one_equals_is_not_on_the_frontier():
    points = {"a0": (1, [0.3, 0.3]), "a1": (4, [0.5, 0.5]), "a2": (8, [0.4, 0.5]), "a3": (16, [0.6, 0.6])}
    frontier = Frontier(runs(points), tuple(points), "val_accuracy")
    assert frontier.names == ["a0", "a1", "a3"]
    assert frontier.read(math.log(8)) == pytest.approx({0: 0.55, 1: 0.55})
    assert frontier.read(math.log(99)) == {0: 0.6, 1: 0.6}  # more compute than anything had: the last one's
    worse = runs({**points, "a3": (16, [0.1, 0.1])})
    kept = Frontier(worse, tuple(points), "val_accuracy")
    assert kept.names == ["a0", "a1"] and kept.most == math.log(16)


def test_seeds_are_paired_and_those_that_are_not_whole_are_left_out():
    a, b = line([1, 10], 0.5, 0.1, "a"), line([1, 10], 0.4, 0.1, "b")
    some = [run for run in runs(a | b) if (run["variant"], run["seed"]) != ("a1", 2)]
    found = claim(a, b).judge(some)
    assert found["n"] == 2 and found["frontiers"] == [["a0", "a1"], ["b0", "b1"]]
    assert (found["first"], found["second"]) == ("2 a0s", "2 b0s")  # a family is its names' first word
    assert claim(a, b).judge(runs(a)) == {"verdict": "open", "found": "open", "metric": "val_accuracy"}


def test_the_study_of_compute_runs(run, tmp_path, monkeypatch):
    tiny = {
        "ViT 48 wide, patch 8": {"model.embed_dim": 12, "model.depth": 1},
        "ResNet 64 wide, stride 2": {"model": "resnet", "model.widths": [32, 32], "model.depths": [1, 1]},
    }
    variants = {
        f"{name}, {epochs}": changes | {"epochs": epochs}
        for epochs in (1, 3)
        for name, changes in tiny.items()
    }
    sides = (tuple(name for name in variants if name.startswith(family)) for family in ("ViT", "ResNet"))
    base = recipe(BASE, batch_size=16)
    study = replace(compute.STUDY, variants=variants, base=base, claims=(AtEqualCompute("a", "b", *sides),))
    monkeypatch.setitem(STUDIES, "compute", study)
    result = run("compute", seeds=(0, 1))
    assert result["finished"] and len(result["runs"]) == 8
    for row in result["runs"]:
        macs = vl.count_macs(recipe(base, **variants[row["variant"]]).model)
        folder = tmp_path / f"{row['variant']}-s{row['seed']}".replace(" ", "-").replace(",", "")
        step = torch.load(folder / "checkpoint.pt")["step"]
        assert row["final"]["macs"] == macs and row["final"]["training_macs"] == 3 * macs * step * 16
    found = rows_of("compute", result)[0].found
    assert found["n"] == 2 and found["verdict"] == "open"
