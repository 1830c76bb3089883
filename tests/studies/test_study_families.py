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
from vitworkshop.studies.families import FAMILIES, Pixels, ridge, run_family
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.study import Job

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


@given(st.integers(3, 30), st.integers(1, 8), st.integers(2, 4), st.floats(0.01, 10))
def test_ridge_has_the_least_squares(n, width, classes, decay):
    """Beside a least-squares solver, the decay written as rows of its own; the bias does not decay."""
    torch.manual_seed(n)
    x, labels = torch.randn(n, width) + 2, torch.randint(0, classes, (n,))
    layer = ridge(x, labels, classes, decay)
    y = 2 * nn.functional.one_hot(labels, classes).double() - 1
    centred = x.double() - x.double().mean(0)
    size = decay * centred.square().sum() / min(n, width)
    rows = torch.cat([centred, size.sqrt() * torch.eye(width)])
    weight = torch.linalg.lstsq(
        rows, torch.cat([y - y.mean(0), torch.zeros(width, classes)])
    ).solution
    expected = centred @ weight + y.mean(0)
    torch.testing.assert_close(layer(x).double(), expected, rtol=1e-3, atol=1e-3)


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


@pytest.mark.slow
def test_the_study_of_sizes_runs(data, run, tmp_path, monkeypatch):
    sizes = {500: 10, 45_000: 40}
    variants = {
        name: {
            **own,
            "n_train": sizes[own["n_train"]],
            **TINY.get(name.partition(",")[0], {}),
        }
        for name, own in data_size.STUDY.variants.items()
        if own.get("lr") != 0.003
    }
    base = recipe(families.BASE, epochs=1, batch_size=16)
    monkeypatch.setitem(
        STUDIES, "data-size", replace(data_size.STUDY, variants=variants, base=base)
    )
    result = run("data-size")
    assert result["finished"] and [row["variant"] for row in result["runs"]] == list(
        variants
    )
    for row in result["runs"]:
        assert {"val_accuracy", "val_loss"} <= row["final"].keys()
        assert row["changes"]["n_train"] in (10, 40)
    job = Job(base, data, None, tmp_path)  # nothing is held out
    (row,) = run_family(STUDIES["data-size"], "pixels, 500 images", 1, job)
    assert row["changes"] == {"n_train": 10} and 0 < row["final"]["val_accuracy"] < 1


@pytest.mark.errors
def test_a_data_set_that_is_too_small_is_refused(run):
    with pytest.raises(
        ValueError, match="expected n_train from 1 to 54 training images, got 500"
    ):
        run("data-size")
