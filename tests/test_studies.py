"""Studies: every variant and seed is trained once, a stopped study goes on, and what it found is written down."""

from __future__ import annotations

import json

import pytest
import torch

from vitlib.data.dataset import Dataset
from vitlib.data.drawn10 import DRAWN10_CLASSES, load_drawn10
from vitlib.studies.runner import STUDIES, report, run_study
from vitlib.train.recipe import recipe

TINY = {
    "epochs": 1,
    "batch_size": 8,
    "model.embed_dim": 12,
    "model.depth": 1,
    "model.num_heads": 3,
    "model.patch_size": 8,
    "precision": "fp32",
}


@pytest.fixture(scope="module")
def data() -> Dataset:
    images, labels = load_drawn10("train", n=60)
    return Dataset(images, labels, DRAWN10_CLASSES, "Drawn-10", "drawn10")


def run(data, out, **more):
    return run_study("stems", data, n_val=20, out=out, device="cpu", progress=False, **{**TINY, **more})


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("scale", ["quick", "full"])
def test_every_variant_is_a_model_that_can_be_built(name, scale):
    study = STUDIES[name]
    shared = study.full if scale == "full" else {}
    built = [recipe(study.base, **{**shared, **own}) for own in study.variants.values()]
    assert len({str(one) for one in built}) == len(built) > 1
    assert study.question.endswith("?")


def test_results_hold_every_run_and_its_summary(data, tmp_path):
    result = run(data, tmp_path, seeds=(0, 1))
    assert result["finished"]
    assert [(r["seed"], r["variant"]) for r in result["runs"]] == [
        (s, v) for s in (0, 1) for v in STUDIES["stems"].variants
    ]
    assert result == json.loads((tmp_path / "stems.json").read_text())
    for variant, summary in result["summary"].items():
        scores = [r["final"]["val_accuracy"] for r in result["runs"] if r["variant"] == variant]
        assert summary["n"] == 2 and summary["mean"] == pytest.approx(sum(scores) / 2)
        assert summary["sd"] == pytest.approx(torch.tensor(scores, dtype=torch.float64).std().item())
    assert (result["n_train"], result["n_val"], result["dataset"]) == (40, 20, "Drawn-10")


def test_a_stopped_study_goes_on_and_skips_what_is_finished(data, tmp_path):
    stopped = run(data, tmp_path, budget_minutes=0.0)
    assert not stopped["finished"] and stopped["runs"] == [] and stopped["summary"] == {}
    first = run(data, tmp_path, seeds=(0,))
    assert first["finished"] and first["summary"]["conv"]["sd"] is None
    both = run(data, tmp_path, seeds=(0, 1))
    assert both["runs"][:3] == first["runs"]  # seconds and all: they were not trained again
    assert len(both["runs"]) == 6


def test_the_report_is_a_table_of_what_was_found(data, tmp_path):
    result = run(data, tmp_path, seeds=(0,))
    text = report("stems", tmp_path)
    for variant, summary in result["summary"].items():
        assert f"| {variant} | {summary['mean']:.2%} | one seed | 1 |" in text
    assert "Drawn-10" in text and "20 held-out images" in text


@pytest.mark.errors
def test_a_study_without_results_says_so(tmp_path):
    with pytest.raises(ValueError, match="no results called 'no-such-study'"):
        report("no-such-study", tmp_path)


@pytest.mark.errors
@pytest.mark.parametrize(
    "call, message",
    [
        (dict(name="stem"), "unknown study 'stem'; choose one of positions"),
        (dict(scale="half"), "quick or full, got 'half'"),
        (dict(seeds=()), "one or more different numbers"),
        (dict(seeds=(1, 1)), r"got \(1, 1\)"),
        (dict(layers=3), "unknown recipe field 'layers'"),
    ],
)
def test_refusals(data, tmp_path, call, message):
    with pytest.raises(ValueError, match=message):
        run_study(**{"name": "stems", **call}, data=data, n_val=20, out=tmp_path, progress=False)


@pytest.mark.errors
def test_more_held_out_images_than_there_are(data, tmp_path):
    with pytest.raises(ValueError, match="60"):
        run_study("stems", data, n_val=60, out=tmp_path, progress=False)
