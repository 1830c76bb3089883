"""The study of masked pre-training: who is trained on what, from which weights, and how long."""

from __future__ import annotations

import pytest
import torch

import vitlib as vl
from vitworkshop.studies import masked, study

TINY = {"batch_size": 4, "model.embed_dim": 12, "model.depth": 1, "epochs": 2}


@pytest.fixture
def data() -> vl.Dataset:
    return vl.load_dataset("drawn10", n=90)


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


@pytest.mark.sampled(4)
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
