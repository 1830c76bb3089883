"""The studies of shape and of axial attention: what is matched is matched, and a tiny run has the format."""

from __future__ import annotations

from dataclasses import replace

import pytest

import vitlib as vl
from vitlib.data.dataset import Dataset
from vitlib.data.drawn10 import DRAWN10_CLASSES, load_drawn10
from vitlib.train.recipe import Recipe, recipe
from vitworkshop.studies import axial, shape
from vitworkshop.studies.runner import STUDIES, report, run_study
from vitworkshop.studies.study import Job, multiply_epochs


@pytest.fixture(scope="module")
def data() -> Dataset:
    images, labels = load_drawn10("train", n=36)
    return Dataset(images, labels, DRAWN10_CLASSES, "Drawn-10", "drawn10")


def recipes(study, scale: str) -> dict[str, Recipe]:
    changes = study.full if scale == "full" else {}
    own = {name: {k: v for k, v in one.items() if k != "times"} for name, one in study.variants.items()}
    return {name: recipe(study.base, **{**changes, **one}) for name, one in own.items()}


@pytest.mark.parametrize("scale", ["quick", "full"])
@pytest.mark.parametrize("rate", shape._RATES)
def test_shapes_at_equal_compute_cost_the_same(scale, rate):
    models = {name.split(", lr")[0]: one.model for name, one in recipes(shape.STUDY, scale).items()}
    assert {one.lr for name, one in recipes(shape.STUDY, scale).items() if f"lr={rate:g}" in name} == {rate}
    macs = {name: vl.count_macs(model) for name, model in models.items()}
    matched = [macs[name] for name in ("17 deep", "237 wide", "MLP 1512", "patch 4")]
    assert max(matched) < 1.01 * min(matched)
    assert min(matched) / macs["base"] == pytest.approx(4.1, abs=0.03)
    doubled = [macs[name] / macs["base"] for name in ("MLP 384", "8 deep", "192 wide", "patch 4")]
    assert doubled == sorted(doubled) and 1.4 < doubled[0] < doubled[1] < 2 < doubled[2] < 3
    hidden = {name: model.hidden_dim for name, model in models.items()}
    assert hidden.pop("MLP 384") == 384 and hidden.pop("MLP 1512") == 1512 and set(hidden.values()) == {192}
    assert {model.num_heads for model in models.values()} == {3}
    assert macs["base, longer"] == macs["base"]  # the same model, four times the images


def test_smaller_patches_need_no_more_parameters():
    sizes = {name: vl.VisionTransformer(one.model) for name, one in recipes(shape.STUDY, "quick").items()}
    small, base = (vl.count_parameters(sizes[f"{name}, lr=0.001"]) for name in ("patch 4", "base"))
    assert small < base


@pytest.mark.parametrize("scale", ["quick", "full"])
def test_axial_and_full_attention_are_matched(scale):
    macs = {name: vl.count_macs(one.model) for name, one in recipes(axial.STUDY, scale).items()}
    assert macs["axial, 4 deep"] == pytest.approx(macs["full, 7 deep"], rel=0.003)
    assert macs["axial, 2 deep"] == pytest.approx(0.88 * macs["full, 4 deep"], rel=0.005)
    assert macs["axial, 4 deep"] > 1.7 * macs["full, 4 deep"]


def test_epochs_are_multiplied_at_every_scale(tmp_path):
    study = replace(shape.STUDY, variants={"a": {"times": 4, "lr": 0.1}, "b": {"times": 0.2}, "c": {}})
    for changes, epochs in (({}, (8, 1, 2)), ({"epochs": 100}, (400, 20, 100))):
        data = Dataset(*load_drawn10("train", n=1))
        job = Job(data, None, tmp_path, "quick", changes, "cpu", None, False)
        own = {name: multiply_epochs(study, name, job).variants[name] for name in study.variants}
        assert tuple(one.pop("epochs") for one in own.values()) == epochs
        assert own == {"a": {"lr": 0.1}, "b": {}, "c": {}}
    assert study.variants["a"] == {"times": 4, "lr": 0.1}  # left as it was


def test_a_tiny_study_of_shape(data, tmp_path, monkeypatch):
    one_rate = {name: own for name, own in shape.STUDY.variants.items() if "0.002" in name}
    monkeypatch.setitem(STUDIES, "shape", replace(shape.STUDY, variants=one_rate))
    tiny = {"epochs": 1, "batch_size": 8, "model.img_size": 32, "seeds": (0,)}
    result = run_study("shape", data, n_val=20, out=tmp_path, device="cpu", progress=False, **tiny)
    assert result["finished"] and result["n_train"] == 16
    assert [run["variant"] for run in result["runs"]] == list(one_rate)
    for run, one in zip(
        result["runs"], recipes(replace(shape.STUDY, variants=one_rate), "quick").values(), strict=True
    ):
        assert run["final"]["million_macs"] == round(vl.count_macs(one.model) / 1e6, 3)
        assert len(run["epochs"]) == (4 if "longer" in run["variant"] else 1)
    assert {claim["verdict"] for claim in result["verdicts"].values()} == {"open"}  # one seed decides nothing
    assert "17 deep, lr=0.002" in report("shape", tmp_path)


def test_a_tiny_study_of_axial_attention(data, tmp_path):
    tiny = {"epochs": 1, "batch_size": 8, "model.embed_dim": 12, "model.patch_size": 8, "seeds": (0, 1, 2)}
    result = run_study("axial", data, n_val=20, out=tmp_path, device="cpu", progress=False, **tiny)
    assert result["finished"] and len(result["runs"]) == 12
    cost = {run["variant"]: run["final"]["million_macs"] for run in result["runs"]}
    costs_more = next(v for says, v in result["verdicts"].items() if "costs more" in says)
    assert costs_more["difference"] == pytest.approx(cost["axial, 4 deep"] - cost["full, 4 deep"])
    assert costs_more["se"] == 0 and costs_more["metric"] == "million_macs"
    again = run_study("axial", data, n_val=20, out=tmp_path, device="cpu", progress=False, **tiny)
    assert again["runs"] == result["runs"]  # seconds and all
