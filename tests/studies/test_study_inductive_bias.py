"""The study of inductive biases: what shifting and shuffling do to pictures, and how features are compared."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

import vitlib as vl
from vitlib.train.recipe import recipe
from vitworkshop.studies import inductive_bias
from vitworkshop.studies.families import Pixels
from vitworkshop.studies.inductive_bias import SHIFTS, VIEWS, look, shift, shuffle
from vitworkshop.studies.registry import STUDIES

seeds = st.integers(0, 99)


def numbered(n: int = 2, size: int = 16) -> torch.Tensor:
    return torch.arange(n * 3 * size * size, dtype=torch.float32).reshape(n, 3, size, size)


@given(st.sampled_from([1, 2, 4, 8]), seeds)
def test_shuffled_blocks_are_the_blocks_in_another_order_the_same_for_all(side, seed):
    images = numbered()
    mixed = shuffle(images, side, seed)
    before, after = (vl.patchify(part, side) for part in (images, mixed))
    order = [before[0, :, 0].tolist().index(first) for first in after[0, :, 0].tolist()]
    assert sorted(order) == list(range(len(order)))
    assert torch.equal(after, before[:, order])  # of the second picture, too, and each block whole
    assert torch.equal(mixed, shuffle(images, side, seed))


def test_orders_differ_by_seed_and_side_and_may_be_none():
    images = numbered(size=32)
    orders = [shuffle(images, side, seed) for side in (1, 8) for seed in (0, 1, 2)]
    assert len({tuple(mixed.flatten().tolist()) for mixed in orders}) == 6
    assert torch.equal(shuffle(images, 0, 0), images)


@given(st.integers(-8, 8), st.integers(-8, 8))
def test_a_shift_moves_pixels_and_mirrors_the_border(down, right):
    images = numbered()
    moved = shift(images, down, right)
    padded = F.pad(images, (8, 8, 8, 8), mode="reflect")
    assert torch.equal(moved, padded[:, :, 8 - down : 24 - down, 8 - right : 24 - right])
    if down >= 0 and right >= 0:
        assert torch.equal(moved[:, :, down:, right:], images[:, :, : 16 - down, : 16 - right])


@pytest.mark.parametrize("P", [4, 8])
def test_a_vit_on_shuffled_patches_is_a_vit_with_its_positions_renamed(P):
    """So what it learns from them is a question of luck alone."""
    torch.manual_seed(0)
    cfg = vl.ViTConfig(patch_size=P, embed_dim=12, depth=2, num_heads=2, global_pool="avg")
    model = vl.VisionTransformer(cfg).eval()
    images = torch.randn(2, 3, 32, 32)
    logits = model(images)
    places = torch.arange(cfg.num_patches, dtype=torch.float32).reshape(1, 1, *cfg.grid)
    pixels = F.interpolate(places, scale_factor=P)
    order = vl.patchify(shuffle(pixels, 8, seed=3), P)[0, :, 0].long()
    with torch.no_grad():
        model.pos_embed.weight[0, 1:] = model.pos_embed.weight[0, 1:][order].clone()
    torch.testing.assert_close(model(shuffle(images, 8, seed=3)), logits, rtol=1e-4, atol=1e-5)


def test_features_are_compared_as_a_slow_loop_does(data):
    model, view = Pixels(data.images[:30], data.labels[:30], 10), partial(shuffle, side=1, seed=0)
    found = look(model, data, view)
    here = vl.normalize(data.images).flatten(1)
    for by in (1, 8):
        cosines, right = [], 0
        for down, sideways in ((by, 0), (-by, 0), (0, by), (0, -by)):
            moved = shift(data.images, down, sideways)
            there = vl.normalize(moved).flatten(1)
            # one order for all changes no cosine
            cosines.append(F.cosine_similarity(here - here.mean(0), there - here.mean(0), dim=1))
            right += (model(vl.normalize(view(moved))).argmax(1) == data.labels).sum().item()
        whole = (model(vl.normalize(view(data.images))).argmax(1) == data.labels).sum().item()
        assert found[f"cosine_{by}"] == pytest.approx(torch.cat(cosines).mean().item(), abs=1e-4)
        assert found[f"kept_{by}"] == pytest.approx(right / 4 / whole, abs=1e-4)
    assert set(found) == {f"{name}_{by}" for name in ("kept", "cosine") for by in SHIFTS}
    assert found["cosine_1"] > found["cosine_4"] > found["cosine_8"]


def test_plain_pictures_are_the_same_wherever_they_are(data):
    plain = torch.arange(0, 250, 5, dtype=torch.uint8)[:, None, None, None].expand(50, 3, 32, 32)
    labels = torch.arange(50) % 10
    model = Pixels(data.images, data.labels, 10)
    found = look(model, vl.Dataset(plain, labels), partial(shuffle, side=0, seed=0))
    kept = {found[f"kept_{by}"] for by in SHIFTS}
    assert kept in ({1.0}, {0.0}) and {found[f"cosine_{by}"] for by in SHIFTS} == {1.0}


def test_pictures_are_shuffled_alike_for_training_and_for_judging(run, tmp_path, monkeypatch):
    study, small = inductive_bias.STUDY, {"model.embed_dim": 12, "model.depth": 1}
    tiny = {"ViT": small, "ResNet": {"model.widths": [32, 32], "model.depths": [1, 1]}, "hybrid": small}
    names = [f"{family}, {view}, lr=0.001" for view in VIEWS for family in ("ViT", "ResNet")]
    names += ["hybrid, patches shuffled, lr=0.001", "pixels, as they are"]
    variants = {name: study.variants[name] | tiny.get(name.partition(",")[0], {}) for name in names}
    base = recipe(study.base, epochs=1, batch_size=16)
    monkeypatch.setitem(STUDIES, "inductive-bias", replace(study, variants=variants, base=base))
    result = run("inductive-bias")
    assert result["finished"] and [row["variant"] for row in result["runs"]] == names
    for row in result["runs"]:
        assert {claim.metric for claim in study.claims} <= row["final"].keys()
        assert row["changes"] == variants[row["variant"]]
    folders = [f"{name}-s0".replace(" ", "-").replace(",", "") for name in names[:-1]]
    states = [torch.load(tmp_path / folder / "checkpoint.pt") for folder in folders]
    # one set of pictures for each view, the same for all models
    assert len({state["identity"]["data"]["checksum"] for state in states}) == 3
