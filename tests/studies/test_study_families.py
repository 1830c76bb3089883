"""ViT, ResNet, hybrid and pixels as studies compare them, and the study of the size of the training set."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import vitlib as vl
from vitlib.train.recipe import recipe
from vitworkshop.studies import data_size, families
from vitworkshop.studies.families import FAMILIES, Pixels
from vitworkshop.studies.registry import STUDIES

# what makes each family tiny
TINY = {
    "ViT": {"model.embed_dim": 12, "model.depth": 1},
    "ResNet": {"model.widths": [32, 32], "model.depths": [1, 1]},
}


def test_the_families_cost_about_the_same():
    cfgs = [recipe(families.BASE, **changes).model for changes in FAMILIES.values()]
    assert [vl.count_macs(cfg) for cfg in cfgs] == [5_531_328, 7_322_112, 6_525_632]
    assert [vl.count_parameters(vl.build_model(cfg)) for cfg in cfgs] == [
        320_554,
        267_546,
        334_354,
    ]


@given(st.integers(3, 30), st.integers(2, 4))
def test_ridge_has_the_least_squares(n, classes):
    """Beside a least-squares solver, the decay written as rows of its own; the bias does not decay."""
    torch.manual_seed(n)
    images = torch.randint(0, 256, (n, 3, 2, 2), dtype=torch.uint8)
    labels = torch.randint(0, classes, (n,))
    x = vl.normalize(images).flatten(1).double()
    y = 2 * nn.functional.one_hot(labels, classes).double() - 1
    centred = x - x.mean(0)
    size = centred.square().sum() / min(x.shape)
    rows = torch.cat([centred, size.sqrt() * torch.eye(12)])
    wanted = torch.cat([y - y.mean(0), torch.zeros(12, classes)])
    expected = centred @ torch.linalg.lstsq(rows, wanted).solution + y.mean(0)
    found = Pixels(images, labels, classes)(vl.normalize(images))
    torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.sampled(3)
def test_shuffled_pixels_change_nothing_for_the_pixels(data):
    order = torch.randperm(32 * 32)
    mixed = data.images.flatten(2)[:, :, order].unflatten(2, (32, 32))
    plain, shuffled = (
        Pixels(images[:40], data.labels[:40], 10) for images in (data.images, mixed)
    )
    logits = [
        model(vl.normalize(images[40:]))
        for model, images in ((plain, data.images), (shuffled, mixed))
    ]
    torch.testing.assert_close(*logits, rtol=1e-3, atol=1e-3)
    assert vl.evaluate(plain, data.images[:40], data.labels[:40])["accuracy"] > 0.9


@pytest.mark.sampled(4)
@pytest.mark.slow
def test_the_study_of_sizes_runs(run, monkeypatch):
    sizes = {500: 10, 45_000: 40}
    variants = {
        name: own
        | {"n_train": sizes[own["n_train"]]}
        | TINY.get(name.split(",")[0], {})
        for name, own in data_size.STUDY.variants.items()
        if own.get("lr") != 0.003
    }
    base = recipe(families.BASE, epochs=1, batch_size=16)
    study = replace(data_size.STUDY, variants=variants, base=base)
    monkeypatch.setitem(STUDIES, "data-size", study)
    rows = run("data-size")["runs"]
    assert {row["variant"]: row["changes"] for row in rows} == variants
    for row in rows:
        assert row["final"].keys() == {"val_accuracy", "val_loss"}
