"""The studies of where positions enter and of the patterns they learn: measures beside slow ones, tiny runs."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import vitlib as vl
from vitlib.data.dataset import Dataset
from vitlib.data.drawn10 import DRAWN10_CLASSES, load_drawn10
from vitlib.device import derive_seed
from vitworkshop.studies import position_entry, position_patterns, positions
from vitworkshop.studies.position_patterns import BEFORE, pattern
from vitworkshop.studies.runner import run_study

TINY = {"batch_size": 8, "model.embed_dim": 12, "model.depth": 2, "model.patch_size": 8, "device": "cpu"}


@pytest.fixture(scope="module")
def data() -> Dataset:
    images, labels = load_drawn10("train", n=36)
    return Dataset(images, labels, DRAWN10_CLASSES, "Drawn-10", "drawn10")


@given(st.integers(2, 5), st.integers(2, 5), st.integers(0, 9))
def test_patterns_beside_slow_ones(rows, cols, seed):
    table = torch.randn(rows * cols, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    centred = [row - table.mean(0) for row in table]
    cosines, distances = [], []
    for a, b in itertools.combinations(range(rows * cols), 2):
        cosines.append(torch.cosine_similarity(centred[a], centred[b], dim=0).item())
        distances.append(math.dist(divmod(a, cols), divmod(b, cols)))
    correlation = torch.corrcoef(torch.tensor([cosines, distances]))[0, 1].item()
    left = 0.0  # what rows and columns leave over
    for r in range(rows):
        for c in range(cols):
            row = sum(centred[r * cols + j] for j in range(cols)) / cols
            col = sum(centred[i * cols + c] for i in range(rows)) / rows
            left += (centred[r * cols + c] - row - col).square().sum().item()
    whole = sum(row.square().sum().item() for row in centred)
    found = pattern(table.float(), (rows, cols))
    assert found["distance_correlation"] == pytest.approx(correlation, abs=2e-4)
    assert found["row_column_share"] == pytest.approx(1 - left / whole, abs=2e-4)
    assert found["norm"] == pytest.approx((whole / (rows * cols)) ** 0.5, abs=2e-4)


def test_patterns_of_known_tables():
    grid = (8, 8)
    random = [pattern(torch.randn(64, 96), grid) for _ in range(20)]
    means = {name: sum(one[name] for one in random) / 20 for name in random[0]}
    assert means["distance_correlation"] == pytest.approx(0, abs=0.02)
    assert means["row_column_share"] == pytest.approx(14 / 63, abs=0.01)  # 7 + 7 of 63 degrees of freedom
    waves = pattern(vl.sincos_2d(grid, 96), grid)
    assert waves["distance_correlation"] < -0.7 and waves["row_column_share"] == 1
    table = torch.randn(64, 96)
    for same in (table + torch.randn(96), table.unflatten(0, grid).flip(1).flatten(0, 1)):
        assert pattern(same, grid) == pytest.approx(pattern(table, grid), abs=2e-4)
    louder = pattern(3 * table, grid)
    assert louder == pytest.approx(pattern(table, grid) | {"norm": louder["norm"]}, abs=2e-4)
    assert louder["norm"] == pytest.approx(3 * pattern(table, grid)["norm"], rel=1e-3)


def test_a_tiny_study_of_patterns(data, tmp_path):
    tiny = {**TINY, "epochs": 2, "seeds": (0,)}
    result = run_study("position-patterns", data, n_val=20, out=tmp_path, progress=False, **tiny)
    runs = {run["variant"]: run for run in result["runs"]}
    assert result["finished"] and list(runs) == list(position_patterns.STUDY.variants)
    lengths = {name: len(run.get("epochs", ())) for name, run in runs.items()}
    assert lengths == {name: 2 for name in runs} | {BEFORE: 0, "half as long": 1, "twice as long": 4}
    torch.manual_seed(derive_seed(0, "init"))
    cfg = vl.recipe(position_patterns.STUDY.base, **{k: v for k, v in TINY.items() if k != "device"}).model
    table = vl.VisionTransformer(cfg).pos_embed.table()[0, 1:].detach()
    start = pattern(table, (4, 4))
    assert start.items() <= runs[BEFORE]["final"].items()
    assert runs["base"]["final"]["norm"] != start["norm"]
    for run in runs.values():  # shuffled places: of the same length, in another pattern
        assert run["final"]["shuffled_row_column_share"] != run["final"]["row_column_share"]
        assert {"shuffled_distance_correlation", "distance_correlation"} <= run["final"].keys()
    assert result["summary"][BEFORE]["mean"] == start["distance_correlation"]
    again = run_study("position-patterns", data, n_val=20, out=tmp_path, progress=False, **tiny)
    assert again["runs"] == result["runs"]


def test_a_tiny_study_of_where_positions_enter(data, tmp_path):
    tiny = {**TINY, "epochs": 1, "seeds": (0, 1, 2)}
    result = run_study("position-entry", data, n_val=20, out=tmp_path, progress=False, **tiny)
    assert result["finished"] and len(result["runs"]) == 21 and len(result["verdicts"]) == 6
    parameters = {run["variant"]: run["parameters"] for run in result["runs"]}
    assert parameters["1-D, shared"] == parameters["1-D, stem"] == parameters["none"] + 17 * 12
    assert parameters["1-D, every"] == parameters["none"] + 2 * 17 * 12
    assert parameters["2-D, every"] == parameters["none"] + 2 * (1 + 4) * 12


def test_it_goes_on_where_the_study_of_kinds_stands():
    """Their three common variants are the same runs."""
    assert position_entry.STUDY.base == positions.STUDY.base
    assert position_entry.STUDY.n_train == positions.STUDY.n_train
    kinds = {"none": "none", "1-D, stem": "learned", "2-D, stem": "learned2d"}
    for ours, theirs in kinds.items():
        mine = vl.recipe(position_entry.STUDY.base, **position_entry.STUDY.variants[ours])
        assert mine == vl.recipe(positions.STUDY.base, **positions.STUDY.variants[theirs])
