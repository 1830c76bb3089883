"""The studies of where positions enter and of the patterns they learn: measures beside slow ones, tiny runs."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import vitlib as vl
from vitlib.device import derive_seed
from vitworkshop.studies import position_patterns
from vitworkshop.studies.position_patterns import BEFORE, pattern

TINY = {"batch_size": 8, "model.embed_dim": 12, "model.depth": 2, "model.patch_size": 8}


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


def test_a_tiny_study_of_patterns(run):
    result = run("position-patterns", epochs=2, **TINY)
    runs = {row["variant"]: row for row in result["runs"]}
    assert result["finished"] and list(runs) == list(position_patterns.STUDY.variants)
    lengths = {name: len(row.get("epochs", ())) for name, row in runs.items()}
    assert lengths == {name: 2 for name in runs} | {BEFORE: 0, "half as long": 1, "twice as long": 4}
    torch.manual_seed(derive_seed(0, "init"))
    model = vl.VisionTransformer(vl.recipe(position_patterns.STUDY.base, **TINY).model)
    start = pattern(model.pos_embed.table()[0, 1:].detach(), (4, 4))
    assert start.items() <= runs[BEFORE]["final"].items()
    assert runs[BEFORE]["parameters"] == runs["base"]["parameters"]
    assert not start.items() <= runs["base"]["final"].items()
    for row in runs.values():  # shuffled places: of the same length, in another pattern
        assert row["final"]["shuffled_row_column_share"] != row["final"]["row_column_share"]
        assert {"shuffled_distance_correlation", "distance_correlation"} <= row["final"].keys()
    assert result["summary"][BEFORE]["mean"] == start["distance_correlation"]
