"""Studies: every variant and seed is trained once, a stopped study goes on, and what it found is written down."""

from __future__ import annotations

import importlib
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from vitlib.data.dataset import Dataset
from vitlib.data.drawn10 import DRAWN10_CLASSES, load_drawn10
from vitlib.evidence import RESULTS, load_results, read_json
from vitlib.train.recipe import recipe
from vitworkshop.studies import mirroring, norm_order, position_start, residuals
from vitworkshop.studies.runner import STUDIES, report, run_study, tell
from vitworkshop.studies.study import (
    QUICK,
    Claim,
    Job,
    draw_images,
    multiply_epochs,
    train_longer,
    train_variant,
)

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
def test_every_variant_is_a_model_that_can_be_built(data, name, scale):
    study = STUDIES[name]
    shared = study.full if scale == "full" else {}
    assert study.question.endswith("?") and len(study.variants) > 1
    runs = getattr(study.run, "func", study.run)
    if runs in (train_variant, train_longer):
        variants = study.variants
        if runs is train_longer:
            job = Job(data, None, Path(), scale, shared, "cpu", None, False)
            variants = {name: multiply_epochs(study, name, job).variants[name] for name in variants}
        built = [recipe(study.base or QUICK, **{**shared, **own}) for own in variants.values()]
        assert len({str(one) for one in built}) == len(built)


@pytest.mark.parametrize("n", [1, 7, 39, 40])
def test_fewer_images_are_drawn_by_the_seed_and_repeated(data, n):
    some = replace(data, images=data.images[:40], labels=torch.arange(40), classes=())
    drawn = draw_images(some, n, seed=3)
    assert len(drawn) == 40 and torch.equal(drawn.images, some.images[drawn.labels])
    counts = torch.bincount(drawn.labels, minlength=40)
    assert (counts > 0).sum() == n and counts.max() - counts[counts > 0].min() <= 1
    more, other = draw_images(some, min(n + 5, 40), seed=3), draw_images(some, n, seed=4)
    assert set(drawn.labels.tolist()) <= set(more.labels.tolist())
    assert not torch.equal(drawn.labels, other.labels)
    assert draw_images(some, None, seed=3) is some


def test_a_variant_may_see_fewer_images_in_as_many_steps(data, tmp_path, monkeypatch):
    study = replace(STUDIES["stems"], variants={"all": {}, "few": {"n_train": 9}}, claims=())
    monkeypatch.setitem(STUDIES, "stems", study)
    result = run(data, tmp_path, seeds=(0,))
    assert [row["changes"] for row in result["runs"]] == [{}, {"n_train": 9}]
    both = [torch.load(tmp_path / f"{name}-s0" / "checkpoint.pt") for name in ("all", "few")]
    assert both[0]["step"] == both[1]["step"] == 5
    assert both[0]["identity"]["data"]["checksum"] != both[1]["identity"]["data"]["checksum"]


@pytest.mark.errors
def test_more_training_images_than_there_are(data):
    with pytest.raises(ValueError, match="expected n_train from 1 to 60 training images, got 61"):
        draw_images(data, 61, seed=0)


def test_results_hold_every_run_and_its_summary(data, tmp_path):
    result = run(data, tmp_path, seeds=(0, 1))
    assert result["finished"]
    assert [(r["seed"], r["variant"]) for r in result["runs"]] == [
        (s, v) for s in (0, 1) for v in STUDIES["stems"].variants
    ]
    assert result == read_json(tmp_path / "stems.json", "")
    for variant, summary in result["summary"].items():
        scores = [r["final"]["val_accuracy"] for r in result["runs"] if r["variant"] == variant]
        assert summary["n"] == 2 and summary["mean"] == pytest.approx(sum(scores) / 2)
        assert summary["sd"] == pytest.approx(torch.tensor(scores, dtype=torch.float64).std().item())
    assert (result["n_train"], result["n_val"], result["dataset"]) == (40, 20, "Drawn-10")


def test_a_stopped_study_goes_on_and_skips_what_is_finished(data, tmp_path):
    stopped = run(data, tmp_path, budget_minutes=1e-9)
    assert not stopped["finished"] and stopped["runs"] == [] and stopped["summary"] == {}
    first = run(data, tmp_path, seeds=(0,))
    assert first["finished"] and first["summary"]["conv"]["sd"] is None
    both = run(data, tmp_path, seeds=(0, 1))
    assert both["runs"][:3] == first["runs"]  # seconds and all: they were not trained again
    assert len(both["runs"]) == 6


def test_several_runs_at_once_find_the_same(data, tmp_path):
    """In processes of their own, with the same weights; what one of them had finished is not run again."""
    one = run(data, tmp_path / "one", seeds=(0, 1))
    first = run(data, tmp_path / "two", seeds=(0,))
    two = run(data, tmp_path / "two", seeds=(0, 1), jobs=2)
    assert two["finished"] and two["runs"][:3] == first["runs"]
    assert [run["final"] for run in two["runs"]] == [run["final"] for run in one["runs"]]
    assert two["summary"] == one["summary"]
    late = run(data, tmp_path / "late", seeds=(0,), jobs=2, budget_minutes=1e-9)
    assert not late["finished"] and late["runs"] == []


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
        (dict(jobs=0), "expected jobs from 1 to 64, got 0"),
        (dict(seeds=()), "one or more different numbers"),
        (dict(seeds=(1, 1)), r"got \(1, 1\)"),
        (dict(layers=3), "unknown recipe field 'layers'"),
        ({"model.patch_embed": "conv"}, "varies model.patch_embed itself"),
        (dict(name="norm-order", lr=1.0), "follows no recipe"),
    ],
)
def test_refusals(data, tmp_path, call, message):
    with pytest.raises(ValueError, match=message):
        run_study(**{"name": "stems", **call}, data=data, n_val=20, out=tmp_path, progress=False)


@pytest.mark.errors
def test_more_held_out_images_than_there_are(data, tmp_path):
    with pytest.raises(ValueError, match="60"):
        run_study("stems", data, n_val=60, out=tmp_path, progress=False)


# ------------------------------------------------------------------------------------------------------ claims

COMMITTED = [path.stem for path in sorted(RESULTS.glob("*.json")) if path.stem in STUDIES]
HEADER = ("name", "command", "vitlib_version", "torch_version", "dataset", "hardware", "precision")


def runs_of(**scores) -> list[dict]:
    """Runs of variants by their scores, seed by seed."""
    return [
        {"variant": name, "seed": seed, "final": {"val_accuracy": score}}
        for name, values in scores.items()
        for seed, score in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("first", "second", "kind", "verdict"),
    [
        ([0.62, 0.63, 0.62], [0.60, 0.61, 0.60], "ahead", "agrees"),
        ([0.60, 0.61, 0.60], [0.60, 0.61, 0.60], "ahead", "differs"),
        ([0.60, 0.66, 0.58], [0.60, 0.61, 0.60], "ahead", "open"),
        ([0.605, 0.615, 0.604], [0.60, 0.61, 0.60], "ahead", "differs"),  # a difference too small to matter
        ([0.601, 0.611, 0.602], [0.60, 0.61, 0.60], "equal", "agrees"),
        ([0.64, 0.65, 0.64], [0.60, 0.61, 0.60], "equal", "differs"),
        ([0.60, 0.66, 0.58], [0.60, 0.61, 0.60], "equal", "open"),
        ([0.601, 0.611, 0.602], [0.60, 0.61, 0.60], "apart", "differs"),
        ([0.64, 0.65, 0.64], [0.60, 0.61, 0.60], "apart", "agrees"),
        ([0.60, 0.61, 0.60], [0.64, 0.65, 0.64], "apart", "agrees"),  # on either side
        ([0.60, 0.66, 0.58], [0.60, 0.61, 0.60], "apart", "open"),
        ([0.9, 0.91], [0.1, 0.11], "apart", "open"),
        ([0.9], [0.1], "ahead", "open"),  # one seed decides nothing
        ([0.9, 0.91], [0.1, 0.11], "ahead", "open"),  # nor do two
        ([0.9, 0.9, 0.9], [], "ahead", "open"),
    ],
)
def test_a_claim_is_judged_by_its_rule(first, second, kind, verdict):
    claim = Claim("", "", ("a",), ("b",), margin=0.01, kind=kind)
    assert claim.judge(runs_of(a=first, b=second))["verdict"] == verdict


def test_one_shared_seed_has_a_difference_and_decides_nothing():
    found = Claim("", "", ("a",), ("b",), margin=0.01).judge(runs_of(a=[0.9], b=[0.1, 0.2]))
    assert found["difference"] == pytest.approx(0.8) and found["n"] == 1
    assert found["verdict"] == "open" and "se" not in found and "interval" not in found


def test_what_is_open_says_how_many_seeds_would_decide():
    claim = Claim("", "", ("a",), ("b",), margin=0.01)
    found = claim.judge(runs_of(a=[0.62, 0.58, 0.60, 0.64], b=[0.60] * 4))
    assert found["verdict"] == "open" and found["interval"][0] < 0 < 0.01 < found["interval"][1]
    spread = torch.tensor([0.02, -0.02, 0.0, 0.04]).std().item()
    assert found["seeds"] == math.ceil((2 * 1.96 * spread / 0.01) ** 2) == 103
    assert claim.judge(runs_of(a=[0.9, 0.9], b=[0.1, 0.1]))["seeds"] == 3
    assert "seeds" not in claim.judge(runs_of(a=[0.9] * 3, b=[0.1] * 3))


def test_a_side_is_read_by_its_best_variant_and_pairs_go_by_seed():
    claim = Claim("", "", ("a", "c"), ("b",), margin=0.01)
    found = claim.judge(runs_of(a=[0.5, 0.5, 0.5], c=[0.7, 0.6, 0.8], b=[0.6, 0.5, 0.69]))
    assert (found["first"], found["second"], found["n"]) == ("c", "b", 3)
    assert found["difference"] == pytest.approx(0.31 / 3)
    assert found["se"] == pytest.approx(0.01 / 3)  # of 0.10, 0.10 and 0.11; unpaired it would be 0.08
    assert found["interval"][0] == pytest.approx(0.31 / 3 - 4.3027 * 0.01 / 3, abs=1e-5)


def test_what_is_learned_by_heart_is_read_at_the_last_twenty_steps(monkeypatch, tmp_path):
    monkeypatch.setattr(norm_order, "learn_by_heart", lambda *args: list(range(120)))
    data = Dataset(*load_drawn10("train", 8), DRAWN10_CLASSES, "Drawn-10")
    job = Job(data, None, tmp_path, "quick", {}, "cpu", None, False)
    study = STUDIES["norm-order"]
    (row,) = study.run(study, "pre lr=0.002 init=xavier", 0, job)
    assert row["final"]["train_loss"] == 109.5 and 0 <= row["final"]["train_accuracy"] <= 1


OWN = [path for path in sorted(RESULTS.glob("*.json")) if path.stem != "paper"]  # which holds others' numbers


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_every_result_has_the_one_header(path):
    result = read_json(path, "")  # which compares the checksum
    assert '"checksum"' in path.read_text(encoding="utf-8"), (
        "no number is typed by hand: write_json writes it"
    )
    wrong = [key for key in HEADER if not (isinstance(result.get(key), str) and result[key])]
    assert not wrong and result["name"] == path.stem


@pytest.mark.parametrize("name", COMMITTED)
def test_what_a_committed_study_says_follows_from_its_runs(name):
    study, result = STUDIES[name], load_results(name)
    assert (result["question"], result["metric"]) == (study.question, study.metric)
    assert result["verdicts"] == json.loads(
        json.dumps({c.says: c.judge(result["runs"]) for c in study.claims})
    )
    for variant, summary in result["summary"].items():
        scores = [run["final"][study.metric] for run in result["runs"] if run["variant"] == variant]
        assert summary["n"] == len(scores) and summary["mean"] == pytest.approx(
            sum(scores) / len(scores), abs=6e-5
        )
    known = {claim.metric for claim in study.claims} | {study.metric}
    assert all(metric in run["final"] for metric in known for run in result["runs"])
    assert report(name).count("\n| ") == len(result["summary"]) + 1


@pytest.mark.parametrize("name", STUDIES)
def test_claims_name_variants_there_are(name):
    study = STUDIES[name]
    for claim in study.claims if study.metric != "accuracy" else ():
        assert {*claim.first, *claim.second} <= study.variants.keys()
        assert claim.kind in ("ahead", "equal", "apart") and claim.margin > 0 and claim.source
    assert "" not in (says := [claim.says for claim in study.claims]) and len(set(says)) == len(says)


def test_learning_by_heart_is_a_study_like_the_others(tmp_path, monkeypatch):
    images, labels = load_drawn10("train", n=70)
    data = Dataset(images, labels, DRAWN10_CLASSES, "Drawn-10", "drawn10")
    two = dict(list(norm_order.STUDY.variants.items())[:2])
    monkeypatch.setitem(STUDIES, "norm-order", replace(norm_order.STUDY, variants=two))
    monkeypatch.setattr(norm_order, "SHAPE", replace(norm_order.SHAPE, depth=1, embed_dim=16))
    result = run_study("norm-order", data, seeds=(0,), out=tmp_path, progress=False)
    assert result["finished"] and len(result["runs"]) == 2 and result["n_train"] == 64
    assert "| post lr=0.002 init=xavier |" in report("norm-order", tmp_path)
    few = Dataset(images[:50], labels[:50])
    assert run_study("norm-order", few, seeds=(0,), out=tmp_path / "few", progress=False)["n_train"] == 50


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_says_what_it_found(name):
    """Its docstring holds question, verdicts, number of seeds, cost and command, as the file of results has them."""
    said = " ".join(importlib.import_module(f"vitworkshop.studies.{name.replace('-', '_')}").__doc__.split())
    found = (
        tell(load_results(name)) if name in COMMITTED else f"Not run yet: `python -m vitlib study run {name}`"
    )
    assert STUDIES[name].question in said
    assert said.endswith(" ".join(found.split())), f"end the docstring with:\n{found}"


def test_blocks_without_residuals_run_and_replace_the_stream(data, tmp_path, monkeypatch):
    shape = replace(norm_order.SHAPE, depth=1, embed_dim=16)
    monkeypatch.setattr(norm_order, "SHAPE", shape)
    monkeypatch.setattr(residuals, "SHAPE", shape)
    monkeypatch.setattr(residuals, "LENGTHS", (20, 21, 22))
    metric = replace(residuals.STUDY, metric="train_loss_22", claims=())
    monkeypatch.setitem(STUDIES, "residuals", metric)
    result = run_study("residuals", data, seeds=(0,), out=tmp_path, progress=False)
    assert [run["variant"] for run in result["runs"]] == list(metric.variants) and result["finished"]
    block = residuals.NoResidualBlock(16, 2, 32)
    torch.nn.init.zeros_(block.mlp.fc2.weight)
    torch.nn.init.zeros_(block.mlp.fc2.bias)
    assert not block(torch.randn(1, 5, 16)).any()


def test_mirror_images_are_compared_and_learning_them_is_a_study(data, tmp_path):
    grid = (4, 8)
    table = torch.randn(4, 4, 16)
    mirrored = torch.cat([table, table.flip(1)], dim=1)  # (rows, columns, D): alike left to right
    assert mirroring.likeness(mirrored.flatten(0, 1), grid)["left_right"] == 1
    assert abs(mirroring.likeness(mirrored.flatten(0, 1), grid)["upside_down"]) < 0.5
    upside = mirrored.permute(1, 0, 2)  # columns for rows
    assert mirroring.likeness(upside.flatten(0, 1), grid[::-1])["upside_down"] == 1
    slow = [
        torch.cosine_similarity(table[r, c], table[r, 3 - c], dim=0) for r in range(4) for c in (0, 3)
    ]  # 0 and 3 are three apart, 1 and 2 are neighbours
    found = mirroring.likeness(table.flatten(0, 1), (4, 4))
    assert found["left_right"] == pytest.approx(sum(slow).item() / 8, abs=1e-4)
    tiny = {key: value for key, value in TINY.items() if key != "precision"}
    result = run_study("mirroring", data, n_val=20, out=tmp_path, seeds=(0,), progress=False, **tiny)
    assert result["finished"] and {"left_right", "upside_down"} <= result["runs"][0]["final"].keys()


def test_positions_start_as_long_as_they_should(data, tmp_path, monkeypatch):
    for kind in ("waves", "noise"):
        waves = position_start.sincos_2d((4, 4), 48)
        for size, length in (
            ("quiet", 0.02 * 48**0.5),
            ("loud", (waves - waves.mean(0)).square().sum(1).mean().sqrt()),
        ):
            table = position_start.start(kind, size, (4, 4), 48)
            assert table.mean(0).abs().max() < 1e-6
            assert table.square().sum(1).mean().sqrt().item() == pytest.approx(float(length))
    two = ("waves, loud, fixed", "noise, quiet, trained")
    study = replace(
        position_start.STUDY, variants={name: position_start.STUDY.variants[name] for name in two}
    )
    monkeypatch.setitem(STUDIES, "position-start", study)
    small = {"epochs": 1, "batch_size": 8, "model.depth": 1}
    result = run_study("position-start", data, n_val=20, seeds=(0,), out=tmp_path, progress=False, **small)
    assert result["finished"] and [run["variant"] for run in result["runs"]] == list(two)
    fixed = torch.load(tmp_path / "waves-loud-fixed-s0" / "checkpoint.pt")["model"]["pos_embed"][0, 1:]
    torch.testing.assert_close(fixed, position_start.start("waves", "loud", (4, 4), 48))


def test_a_study_that_trains_nothing_goes_on_too(data, tmp_path, monkeypatch):
    calls = []

    def run(study, variant, seed, job):
        calls.append(variant)
        return [{"variant": variant, "seed": seed, "seconds": 1.0, "final": {"train_loss": 1.0}}]

    monkeypatch.setitem(
        STUDIES, "norm-order", replace(norm_order.STUDY, variants={"a": {}, "b": {}}, claims=(), run=run)
    )
    first = run_study("norm-order", data, seeds=(0,), out=tmp_path, progress=False)
    stopped = run_study("norm-order", data, seeds=(0, 1), out=tmp_path, progress=False, budget_minutes=1e-9)
    assert stopped["runs"] == first["runs"] and not stopped["finished"] and calls == ["a", "b"]
    assert run_study("norm-order", data, seeds=(0, 1), out=tmp_path, progress=False)["finished"]
    assert calls == ["a", "b", "a", "b"]


def test_a_data_set_of_ones_own_can_be_studied(tmp_path):
    images, labels = load_drawn10("train", n=60)
    assert run(Dataset(images, labels), tmp_path, seeds=(0,))["dataset"] == ""
