"""One run of each committed study once more: it finds about what was found. Only by `pytest -m weekly`: it trains."""

import json
from dataclasses import fields, replace

import pytest

from vitlib.config import ViTConfig, fields_now
from vitlib.data.dataset import load_dataset
from vitlib.evidence import RESULTS, load_results
from vitlib.train.recipe import Recipe
from vitworkshop.studies import resolution
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.rows import trial_of
from vitworkshop.studies.runner import run_study

COMMITTED = [name for name in STUDIES if (RESULTS / f"{name}.json").exists()]
# another processor rounds otherwise, and a run then goes its own way
ACCURACY, LOSS = (
    0.03,
    0.15,
)


def smallest(result: dict) -> dict:
    """A row of the run that took the least time."""
    took: dict[tuple, float] = {}
    for row in result["runs"]:
        took[trial_of(row)] = took.get(trial_of(row), 0.0) + row.get("seconds", 0.0)
    least = min(took, key=lambda run: took[run])
    return next(row for row in result["runs"] if trial_of(row) == least)


def as_it_was(base: dict) -> Recipe:
    """A recipe from a file; what it has no word for is as it is by default."""
    base, model = fields_now("Recipe", base), fields_now("ViTConfig", base["model"])
    known = {field.name for field in fields(Recipe)}
    assert base.keys() <= known, "the file has fields that a recipe has no more"
    return Recipe(**{**base, "model": ViTConfig(**model)})


def small_study(name: str, result: dict, run: dict):
    """The study as it was when the file was written, with this one run in it."""
    study, (variant, seed) = STUDIES[name], trial_of(run)
    base = as_it_was(result["base"]) if "base" in result else None
    own, seeds = {variant: study.variants[variant]}, (seed,)
    return replace(
        study, variants=own, claims=(), base=base, seeds=seeds, choosing=None
    )


@pytest.mark.parametrize("name", COMMITTED)
def test_the_smallest_run_of_a_committed_study_can_be_made(name):
    """In every test run, so that the weekly one does not fail for another reason than its numbers."""
    result = load_results(name)
    run = smallest(result)
    study = small_study(name, result, run)
    assert len(study.variants) == 1 and study.metric in run["final"]
    json.dumps(study.variants)


@pytest.mark.weekly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", COMMITTED)
def test_a_committed_run_once_more(name, tmp_path, monkeypatch):
    result = load_results(name)
    run = smallest(result)
    labels = result["dataset"]
    kind = "drawn10" if "Drawn-10" in labels else "cifar10"
    try:
        data = load_dataset(kind, "train")
    except FileNotFoundError:
        pytest.skip("CIFAR-10 is not here")
    if data.label not in labels:
        pytest.skip(f"the data are {data.label}, those of the study are {labels}")
    monkeypatch.setitem(STUDIES, name, small_study(name, result, run))
    # there a run is long, and its first row needs none of it
    monkeypatch.setattr(resolution, "SIZES", {})
    again = run_study(name, lambda _: data, tmp_path, device="cpu", progress=False)
    key = run["variant"], run["seed"]
    (same,) = [row for row in again["runs"] if (row["variant"], row["seed"]) == key]
    metric = STUDIES[name].metric
    tolerance = ACCURACY if "accuracy" in metric else LOSS
    assert same["final"][metric] == pytest.approx(run["final"][metric], abs=tolerance)
