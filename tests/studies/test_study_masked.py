"""The study of masked pre-training: who is trained on what, from which weights, how long, and what a row says."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

import vitlib as vl
from vitlib.files import read_json
from vitlib.train import loop
from vitlib.train.recipe import recipe
from vitworkshop.studies import masked, study
from vitworkshop.studies.study import Job

TINY = {"batch_size": 4, "model.embed_dim": 12, "model.depth": 1, "epochs": 2}


@pytest.fixture
def data() -> vl.Dataset:
    return vl.load_dataset("drawn10", n=90)


@pytest.fixture(autouse=True)
def no_measuring(monkeypatch):
    # a quarter of a second for each run
    monkeypatch.setattr(loop, "matmul_peak", lambda *_: 1e12)


@pytest.fixture
def calls(monkeypatch) -> list[dict]:
    """What the study asks of the training loop, with the results."""
    found, train = [], study.train_model

    def spy(recipe, data, val, **options):
        log = train(recipe, data, val, **options)
        found.append({"recipe": recipe, "data": data, "log": log, **options})
        return log

    monkeypatch.setattr(study, "train_model", spy)
    return found


def test_every_variant_runs_and_its_row_holds_what_the_claims_read(
    run, tmp_path, calls
):
    result = run("masked", **{**TINY, "epochs": 1, "batch_size": 24})
    assert result["finished"] and list(result["summary"]) == list(masked.STUDY.variants)
    assert result == read_json(tmp_path / "masked.json", "")
    for row in result["runs"]:
        final, rates = (
            row["final"],
            [f"val_accuracy lr={rate:g}" for rate in masked.RATES],
        )
        assert final["val_accuracy"] == max(final[name] for name in rates)
        assert (
            final[f"val_accuracy lr={row['changes']['lr']:g}"] == final["val_accuracy"]
        )
        told = row["changes"].get("before", {}).get("objective", "none")
        assert (row["epochs"], bool(row["before"])) == (
            row["changes"]["times"],
            told != "none",
        )
    seconds = sum(call["log"]["seconds"] for call in calls)
    assert result["seconds"] == pytest.approx(seconds, abs=0.5)


def test_who_learns_what_from_whom(run, calls):
    run("masked", **TINY)
    by_name = {call["recipe"].name: call for call in calls}
    before = by_name["mean colour, before-s0"]
    fine = [call for name, call in by_name.items() if "lr=" in name]
    assert len(fine) == 6 and len(calls) == 7
    # 81 images are left to train on: nine with labels, seventy-two others, none of them held out
    pictures = [
        {x.numpy().tobytes() for x in call["data"].images} for call in (before, fine[0])
    ]
    assert [len(before["data"]), len(fine[0]["data"])] == [72, 9] and not pictures[
        0
    ] & pictures[1]
    assert all(
        torch.equal(call["data"].images, fine[0]["data"].images) for call in fine
    )
    assert (
        before["recipe"].objective == "masked-mean"
        and before["recipe"].mask_ratio == 0.5
    )

    def steps(call) -> int:
        return call["recipe"].epochs * (len(call["data"]) // 4)

    whole = by_name["from scratch, whole budget, lr=0.0005-s0"]
    assert steps(before) == 18 and steps(fine[0]) == 4 and steps(whole) == 5 * 4
    assert {call["recipe"].lr for call in fine} == set(masked.RATES)
    # from scratch nothing is given; else the encoder that was trained, below a head of zeros
    for call in fine:
        scratch = call["recipe"].name.startswith("from scratch")
        assert (call["start"] is None) == scratch and call[
            "recipe"
        ].objective == "classification"
    start = by_name["mean colour, lr=0.002-s0"]["start"]
    assert not start.head.weight.any() and not start.head.bias.any()
    for name, value in before["log"]["model"].encoder.state_dict().items():
        assert torch.equal(start.state_dict()[name], value)


@pytest.mark.parametrize("better", masked.RATES)
def test_a_run_is_read_at_its_better_rate_and_its_parts_share_the_minutes(
    data, tmp_path, monkeypatch, better
):
    now, told, ends = [5000.0], [], 9

    def pretend(recipe, data, val, *, budget_minutes, **options):
        told.append(budget_minutes)
        now[0] += 90.0
        score = 0.5 if recipe.lr == better else 0.4
        rows = [
            {"val_accuracy": 0.1, "val_loss": 2.0},
            {"val_accuracy": score, "val_loss": 1.0},
        ]
        known = {"seconds": 2.0, "hardware": "", "precision": "fp32", "parameters": 1}
        model = SimpleNamespace(encoder=vl.VisionTransformer(recipe.model))
        return {"epochs": rows, "model": model, "finished": len(told) < ends, **known}

    monkeypatch.setattr(study, "train_model", pretend)
    monkeypatch.setattr(study, "time", SimpleNamespace(time=lambda: now[0]))
    base = recipe(masked.STUDY.base, **TINY)
    job = Job(base, *data.hold_out(9), tmp_path, deadline=5600.0)
    for variant, runs in (("from scratch", 2), ("mean colour", 3)):
        (row,) = masked.STUDY.run(masked.STUDY, variant, 0, job)
        assert row["changes"]["lr"] == better and row["seconds"] == 2.0 * runs
        assert row["final"]["val_accuracy"] == row["epochs"][-1]["val_accuracy"] == 0.5
    assert told == [10.0, 8.5, 7.0, 5.5, 4.0]
    ends = 8  # the third from now
    assert (
        masked.STUDY.run(masked.STUDY, "mean colour", 0, job) is None and len(told) == 8
    )


def test_a_stopped_run_goes_on_to_the_same_row(data, tmp_path):
    train, val = data.hold_out(9)
    base = recipe(masked.STUDY.base, **{**TINY, "batch_size": 24})
    job = Job(base, train, val, tmp_path / "a", deadline=0.0)
    rounds = 0
    while (
        rows := masked.STUDY.run(masked.STUDY, "mean colour", 0, job)
    ) is None:  # a step at a time
        rounds += 1
    whole = replace(job, out=tmp_path / "b", deadline=None)
    assert rounds > 3 and len(rows) == 1
    assert (
        rows[0]["final"]
        == masked.STUDY.run(masked.STUDY, "mean colour", 0, whole)[0]["final"]
    )
