"""The study of how far and how evenly heads look: its measures beside slow ones, a tiny run."""

from __future__ import annotations

import math

import pytest
import torch

import vitlib as vl
from vitlib.device import derive_seed
from vitworkshop.studies import attention_reach
from vitworkshop.studies.attention_reach import UNTRAINED, reach

TINY = {"batch_size": 8, "model.embed_dim": 12, "model.depth": 2}


def test_measures_beside_slow_ones(data, monkeypatch):
    """Loops over images, queries and keys; batches of unequal size count as their images."""
    torch.manual_seed(0)
    cfg = vl.ViTConfig(img_size=32, patch_size=16, embed_dim=12, depth=2, num_heads=3, init_std=0.3)
    model = vl.VisionTransformer(cfg).eval()
    monkeypatch.setattr(attention_reach, "IMAGES", 7)
    monkeypatch.setattr(attention_reach, "BATCH", 5)
    found = reach(model, data)
    maps = model.attention_maps(vl.normalize(data.images[:7]))  # (L, B, h, T, T)
    bits, pixels = torch.zeros(2, 3), torch.zeros(2, 3)
    for layer, image, head in torch.cartesian_prod(
        torch.arange(2), torch.arange(7), torch.arange(3)
    ).tolist():
        for query, row in enumerate(maps[layer, image, head].tolist()):
            bits[layer, head] -= sum(p * math.log2(p) for p in row) / 5 / 7
            if query:
                here, keys = divmod(query - 1, 2), [divmod(j, 2) for j in range(4)]
                far = sum(p * 16 * math.dist(here, key) for p, key in zip(row[1:], keys, strict=True))
                pixels[layer, head] += far / sum(row[1:]) / 4 / 7
    shares = bits / math.log2(5)
    wanted = {"entropy": shares.mean(), "rise": pixels[1].mean() - pixels[0].mean()}
    wanted |= {
        "spread": pixels[0].max() - pixels[0].min(),
        "near": pixels[0].min(),
        "entropy_1": shares[1].mean(),
    }
    wanted |= {"distance_0": pixels[0].mean(), "distance_1_2": pixels[1, 2]}
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value.item(), abs=2e-4), name
    assert found["entropy"] < 0.999  # there is something to measure
    assert len(found) == 4 + 2 * 2 + 2 * 3


def test_a_tiny_study(data, run):
    result = run("attention-reach", epochs=1, **TINY)
    runs = {row["variant"]: row for row in result["runs"]}
    assert result["finished"] and list(runs) == list(attention_reach.STUDY.variants)
    for name, row in runs.items():
        epochs = 0 if name.endswith(UNTRAINED) else 2 if "twice" in name else 1
        assert len(row.get("epochs", ())) == epochs
    torch.manual_seed(derive_seed(0, "init"))
    start = vl.VisionTransformer(vl.recipe(attention_reach.STUDY.base, **TINY).model)
    untrained = runs["patch 4, untrained"]["final"]
    assert untrained == reach(start.eval(), data.hold_out(20)[1])
    assert runs["patch 4"]["final"]["distance_0_0"] != untrained["distance_0_0"]
    assert runs["patch 8"]["final"].keys() >= runs["patch 8, untrained"]["final"].keys()
