"""Studies: claims are judged by their rules, what is committed follows from its runs, and every variant can be run."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import vitlib as vl
from vitlib.data.dataset import load_dataset
from vitlib.evidence import RESULTS, load_results
from vitlib.files import read_json
from vitlib.train.objective import OBJECTIVES
from vitlib.train.recipe import recipe
from vitworkshop.studies import clinic, families, norm_order, residuals
from vitworkshop.studies import study as studies
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.report import judged, report
from vitworkshop.studies.rows import read_study
from vitworkshop.studies.study import Job, changes_of, draw_images

TRAINED = [name for name, study in STUDIES.items() if study.base]
COMMITTED = [name for name in STUDIES if (RESULTS / f"{name}.json").exists()]
TINY = {
    "epochs": 1,
    "batch_size": 8,
    "model.embed_dim": 12,
    "model.depth": 1,
    "model.patch_size": 8,
}


def few(monkeypatch, name: str, *variants: str, **more) -> None:
    """Leave these variants of a study, and no claims."""
    own = {variant: STUDIES[name].variants[variant] for variant in variants}
    monkeypatch.setitem(
        STUDIES, name, replace(STUDIES[name], variants=own, claims=(), **more)
    )


@pytest.mark.parametrize("name", COMMITTED)
def test_each_side_of_a_claim_was_run(name):
    found = judged(name)
    assert all("interval" in one and one["margin"] > 0 for one in found.values())
    for claim in STUDIES[name].claims:
        sides = (found[claim.says]["first"], found[claim.says]["second"])
        assert claim.kind in ("ahead", "equal") and sides[0] != sides[1]
    assert len(found) == len(STUDIES[name].claims)


HEADER = (
    "name",
    "command",
    "vitlib_version",
    "torch_version",
    "dataset",
    "hardware",
    "precision",
)
# which holds others' numbers
OWN = [path for path in sorted(RESULTS.glob("*.json")) if path.stem != "paper"]


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_every_result_has_the_one_header(path):
    result = read_json(path, "")  # which compares the checksum
    assert '"checksum"' in path.read_text(encoding="utf-8"), (
        "no number is typed by hand: write_json writes it"
    )
    wrong = [
        key for key in HEADER if not (isinstance(result.get(key), str) and result[key])
    ]
    assert not wrong and result["name"] == path.stem


@pytest.mark.parametrize("name", COMMITTED)
def test_what_a_committed_study_says_follows_from_its_runs(name):
    study, result = STUDIES[name], load_results(name)
    assert (result["question"], result["metric"]) == (study.question, study.metric)
    assert read_study(name) == result  # every row is sealed and of this study
    scores: dict[str, dict[int, float]] = {}
    for run in result["runs"]:
        assert run["seed"] not in scores.setdefault(run["variant"], {}), (
            "a run stands there twice"
        )
        scores[run["variant"]][run["seed"]] = run["final"][study.metric]
        assert {claim.metric for claim in study.claims} <= run["final"].keys()
        assert isinstance(run.get("epochs"), list) == (run["variant"] in study.curves)
    for of in scores.values():  # the seeds that chose a rate do not judge it
        of.pop(study.choosing, None)
    scores = {variant: of for variant, of in scores.items() if of}
    assert result["summary"].keys() == scores.keys()
    for variant, summary in result["summary"].items():
        values = torch.tensor([*scores[variant].values()], dtype=torch.float64)
        assert summary["n"] == len(values) and summary["mean"] == pytest.approx(
            values.mean().item(), abs=6e-5
        )
        if len(values) > 1:
            assert summary["sd"] == pytest.approx(values.std().item(), abs=6e-5)
    assert report(name).count("\n| ") == len(result["summary"]) + 1


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_says_what_it_asks_and_what_it_cost(name):
    said = " ".join(
        importlib.import_module(
            f"vitworkshop.studies.{name.replace('-', '_')}"
        ).__doc__.split()
    )
    assert STUDIES[name].question in said
    if name in COMMITTED:
        result = load_results(name)
        assert (
            f" {len(result['runs'])} runs took {result['seconds'] / 60:.0f} minutes"
            in said
        )


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", TRAINED)
def test_every_variant_asks_for_a_model_of_its_own(data, name, monkeypatch, tmp_path):
    """As the study's own code asks for it, up to its first training; or its pictures are its own."""
    study, asked = STUDIES[name], []

    def train(job, name, one, data, *args):
        pictures = data.label, str(data.images[0, 0, :2]), str(data.labels[:40])
        asked.append((one, pictures, any(args[1:])))  # whether it has a start
        return {"finished": False}

    monkeypatch.setattr(Job, "train", train)
    for module in (studies, families):
        monkeypatch.setattr(
            module, "draw_images", lambda data, n, seed: replace(data, label=str(n))
        )
    job = Job(study.base, data, data, tmp_path)
    trained = [
        one
        for one in study.variants
        if not one.startswith("pixels") and "training" not in one
    ]
    trained = [variant for variant in trained if not variant.endswith("untrained")]
    assert not any(study.run(study, variant, 0, job) for variant in trained)
    assert len(trained) == len(asked) == len(set(map(str, asked))) > 1
    recipes = [one for one, *_ in asked]
    with torch.device("meta"):
        kinds = {type(OBJECTIVES[one.objective](one).build()) for one in recipes}
    if name == "data-size":
        assert kinds == {vl.VisionTransformer, vl.ResNet}
        sides = {
            getattr(one.model, "patch_size", getattr(one.model, "stem_stride", 0))
            for one in recipes
        }
        assert sides == {8, 2}


def test_epochs_are_multiplied(data):
    own = {"a": {"times": 4, "lr": 0.1}, "b": {"times": 0.2}, "c": {}}
    study = replace(STUDIES["shape"], variants=own)
    for epochs, times in ((2, (8, 1)), (100, (400, 20))):
        job = Job(recipe(study.base, epochs=epochs), data, None, Path())
        changes = [changes_of(study, name, job) for name in study.variants]
        assert changes == [{"epochs": times[0], "lr": 0.1}, {"epochs": times[1]}, {}]
    assert study.variants["a"] == {"times": 4, "lr": 0.1}  # left as it was


@pytest.mark.parametrize("n", [1, 7, 39, 40])
def test_fewer_images_are_drawn_by_the_seed_and_repeated(data, n):
    some = replace(data, images=data.images[:40], labels=torch.arange(40), classes=())
    drawn = draw_images(some, n, seed=3)
    assert len(drawn) == 40 and torch.equal(drawn.images, some.images[drawn.labels])
    counts = torch.bincount(drawn.labels, minlength=40)
    assert (counts > 0).sum() == n and counts.max() - counts[counts > 0].min() <= 1
    more, other = (
        draw_images(some, min(n + 5, 40), seed=3),
        draw_images(some, n, seed=4),
    )
    assert set(drawn.labels.tolist()) <= set(more.labels.tolist())
    assert not torch.equal(drawn.labels, other.labels)
    assert draw_images(some, None, seed=3) is some


def test_a_variant_may_see_fewer_images_in_as_many_steps(run, tmp_path, monkeypatch):
    own = {"all": {}, "few": {"n_train": 9}}
    monkeypatch.setitem(
        STUDIES, "stems", replace(STUDIES["stems"], variants=own, claims=())
    )
    assert [row["changes"] for row in run("stems", **TINY)["runs"]] == [
        {},
        {"n_train": 9},
    ]
    both = [
        torch.load(tmp_path / f"{name}-s0" / "checkpoint.pt") for name in ("all", "few")
    ]
    assert both[0]["step"] == both[1]["step"] == 54 // 8
    assert (
        both[0]["identity"]["data"]["checksum"]
        != both[1]["identity"]["data"]["checksum"]
    )


@pytest.mark.errors
def test_more_images_than_there_are(data):
    with pytest.raises(
        ValueError, match="expected n_train from 1 to 60 training images, got 61"
    ):
        draw_images(data, 61, seed=0)


def test_what_is_learned_by_heart_is_read_at_the_last_twenty_steps(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(norm_order, "learn_by_heart", lambda *args: list(range(120)))
    job = Job(None, load_dataset("drawn10", n=8), None, tmp_path)
    study = STUDIES["norm-order"]
    (row,) = study.run(study, "pre lr=0.002 init=xavier", 0, job)
    assert (
        row["final"]["train_loss"] == 109.5 and 0 <= row["final"]["train_accuracy"] <= 1
    )


@pytest.mark.slow
def test_learning_by_heart_is_a_study_like_the_others(run, tmp_path, monkeypatch):
    few(monkeypatch, "norm-order", *list(norm_order.STUDY.variants)[:2])
    monkeypatch.setattr(
        norm_order, "SHAPE", replace(norm_order.SHAPE, depth=1, embed_dim=16)
    )
    result = run("norm-order")
    # of 64, if there were as many
    assert result["finished"] and len(result["runs"]) == 2 and result["n_train"] == 60
    assert "| post lr=0.002 init=xavier |" in report("norm-order", tmp_path)


def test_blocks_without_residuals_run_and_replace_the_stream(run, monkeypatch):
    shape = replace(norm_order.SHAPE, depth=1, embed_dim=16)
    monkeypatch.setattr(norm_order, "SHAPE", shape)
    monkeypatch.setattr(residuals, "SHAPE", shape)
    monkeypatch.setattr(residuals, "LENGTHS", (20, 21, 22))
    few(monkeypatch, "residuals", *residuals.STUDY.variants, metric="train_loss_22")
    result = run("residuals")
    assert [row["variant"] for row in result["runs"]] == list(
        residuals.STUDY.variants
    ) and result["finished"]
    block = residuals.NoResidualBlock(16, 2, 32)
    torch.nn.init.zeros_(block.mlp.fc2.weight)
    torch.nn.init.zeros_(block.mlp.fc2.bias)
    assert not block(torch.randn(1, 5, 16)).any()


def test_each_bug_of_the_clinic_replaces_one_part_and_its_run_is_read_on_the_last_quarter(
    run, monkeypatch
):
    monkeypatch.setattr(clinic, "STEPS", 2)
    result = run("clinic")
    assert result["finished"] and [row["variant"] for row in result["runs"]] == list(
        clinic.STUDY.variants
    )
    assert {claim.second for claim in clinic.STUDY.claims} == {
        case.name for case in clinic.BUGS.values()
    }
    healthy = vars(clinic.HEALTHY)
    for case in clinic.BUGS.values():
        # and the name
        assert (
            len([part for part, value in vars(case).items() if value != healthy[part]])
            == 2
        )
    images, labels = clinic.of_four_kinds(*vl.load_drawn10("train", n=60))
    assert len(labels) == 24 and labels.max() == 3 and labels.min() == 0
    seen = []
    model, losses = clinic.HEALTHY.train(
        images[:18], labels[:18], 2, watch=lambda s, model: seen.append(s)
    )
    right = (clinic.answers(model, images[18:]) == labels[18:]).double().mean().item()
    assert seen == [0, 1] and result["runs"][0]["final"]["val_accuracy"] == round(
        right, 4
    )
    # of twenty, if there were
    assert result["runs"][0]["final"]["train_loss"] == round(sum(losses) / 20, 4)
