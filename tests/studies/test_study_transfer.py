"""The study of transfer: one pre-training a seed, shared by what begins with it; stopped, it goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from vitlib.data.dataset import Dataset, load_dataset
from vitlib.data.drawn10 import DRAWN10_CLASSES
from vitlib.train.recipe import recipe
from vitworkshop.studies import transfer
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.report import judged_in
from vitworkshop.studies.study import Job

SMALL = {"epochs": 1, "batch_size": 64, "model.embed_dim": 12, "model.depth": 1}


@pytest.fixture(autouse=True)
def small(monkeypatch, one_thread):
    for name, value in (("PICTURES", 24), ("DRAWS", 2), ("PASSES", 2), ("SOURCE", 40)):
        monkeypatch.setattr(transfer, name, value)


@pytest.fixture
def data() -> Dataset:
    return load_dataset("drawn10", n=120)


@pytest.mark.sampled(4)
def test_every_row_that_a_claim_names_is_run(run, tmp_path):
    result = run("transfer", **SMALL)
    assert result["finished"]
    runs = {run["variant"]: run for run in result["runs"]}
    assert len(runs) == len(result["runs"])
    found = judged_in("transfer", result).values()
    assert all(one["first"] and one["second"] for one in found)
    assert all(0 <= run["final"]["accuracy"] <= 1 for run in runs.values())

    def of(name: str) -> dict:
        folder = f"{name.replace(':', '').replace(' ', '-').replace(',', '')}-s0"
        return torch.load(tmp_path / folder / "checkpoint.pt")["identity"]

    starts = {name: of(name).get("start") for name in runs if "lr=" in name}
    zero = "six classes: zero head"
    # one pre-training, one head
    assert starts[f"{zero}, lr=0.01"] == starts[f"{zero}, lr=0.03"]
    others = (f"{zero}, 48 px, lr=0.01", "Drawn-10: zero head, lr=0.01")
    assert len({starts[name] for name in (f"{zero}, lr=0.01", *others)}) == 3
    assert all(
        (start is None) == name.startswith("scratch") for name, start in starts.items()
    )

    sizes = {name: of(name)["data"]["n"] for name in starts}
    assert sizes["scratch: 32 px, lr=0.001"] == 24
    for source in ("six classes", "Drawn-10"):
        assert of(f"{source}: pre-training")["data"]["n"] == 40
    tuned, fresh = (
        of(name)["recipe"] for name in (f"{zero}, lr=0.03", "scratch: 32 px, lr=0.001")
    )
    equal = (
        "epochs batch_size crop flip randaugment mixup ema_decay precision seed model"
    )
    assert [tuned[key] for key in equal.split()] == [
        fresh[key] for key in equal.split()
    ]
    assert (tuned["optimizer"], fresh["optimizer"]) == ("sgd", "adamw")
    assert [
        of(f"scratch: {size} px, lr=0.001")["recipe"]["crop"] for size in (32, 48)
    ] == [4, 6]  # an eighth
    # as many pictures as the source's one pass over 40 and the task's two passes over 24, in all
    assert of("scratch: long, lr=0.001")["recipe"]["epochs"] == round(1 * 40 / 24) + 2


@pytest.mark.slow
def test_stopped_in_the_middle_it_goes_on_to_the_same_rows(data, tmp_path):
    train, val = data.hold_out(40)
    study = STUDIES["transfer"]
    base = recipe(study.base, data="drawn10", **SMALL)
    job = Job(base, train, val, tmp_path / "a")
    whole = transfer._run(study, "Drawn-10", 0, job)
    late, calls = replace(job, out=tmp_path / "b", deadline=0.0), 0
    while (rows := transfer._run(study, "Drawn-10", 0, late)) is None and calls < 20:
        calls += 1
    assert calls == 4  # rates
    assert [(row["variant"], row["final"]) for row in rows] == [
        (row["variant"], row["final"]) for row in whole
    ]


def test_classes_are_taken_out_and_counted_from_0(data):
    known, task = transfer.of_classes(data, 0, 6), transfer.of_classes(data, 6)
    assert known.classes + task.classes == DRAWN10_CLASSES and len(known) + len(
        task
    ) == len(data)
    assert sorted(task.labels.unique().tolist()) == [0, 1, 2, 3]
    assert torch.equal(task.images, data.images[data.labels >= 6])
    assert torch.equal(task.labels, data.labels[data.labels >= 6] - 6)


def test_a_probe_is_the_mean_of_several_draws():
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(40) % 4
    x = torch.eye(4)[y] + 0.3 * torch.randn(40, 4, generator=generator)
    found = transfer.probe(x, y, x, y, seed=0)
    assert (
        found.keys() == {"5-shot", "probe"}
        and 0.5 < found["5-shot"] < 1
        and found["probe"] > 0.85
    )
    assert found["5-shot"] != transfer.probe(x, y, x, y, seed=1)["5-shot"]
