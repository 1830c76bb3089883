"""The study of shape: what is matched is matched."""

from __future__ import annotations

import pytest

import vitlib as vl
from vitlib.train.recipe import Recipe, recipe
from vitworkshop.studies import shape


def recipes(study) -> dict[str, Recipe]:
    return {name: recipe(study.base, **one) for name, one in study.variants.items()}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rate", shape._RATES)
def test_shapes_at_equal_compute_cost_the_same(rate):
    models = {
        name.split(", lr")[0]: one.model for name, one in recipes(shape.STUDY).items()
    }
    assert {
        one.lr for name, one in recipes(shape.STUDY).items() if f"lr={rate:g}" in name
    } == {rate}
    macs = {name: vl.count_macs(model) for name, model in models.items()}
    matched = [
        macs[name]
        for name in ("17 deep", "237 wide", "MLP 1512", "patch 4", "in proportion")
    ]
    assert max(matched) < 1.01 * min(matched)
    assert min(matched) / macs["base"] == pytest.approx(4.1, abs=0.03)
    doubled = [
        macs[name] / macs["base"]
        for name in ("MLP 384", "8 deep", "192 wide", "patch 4")
    ]
    assert (
        doubled == sorted(doubled)
        and 1.4 < doubled[0] < doubled[1] < 2 < doubled[2] < 3
    )
    hidden = {name: model.hidden_dim for name, model in models.items()}
    grown, base = models["in proportion"], models["base"]
    assert hidden.pop("in proportion") / hidden["base"] == pytest.approx(
        grown.embed_dim / base.embed_dim, rel=0.02
    )
    assert (
        hidden.pop("MLP 384") == 384
        and hidden.pop("MLP 1512") == 1512
        and set(hidden.values()) == {192}
    )
    assert {model.num_heads for model in models.values()} == {3}
    assert macs["base, longer"] == macs["base"]  # the same model, four times the images
