"""The study of transfer: one pre-training a seed, shared by what begins with it; stopped, it goes on."""

from __future__ import annotations

import pytest
import torch

from vitlib.data.dataset import Dataset, load_dataset
from vitlib.data.drawn10 import DRAWN10_CLASSES
from vitworkshop.studies import transfer
from vitworkshop.studies.report import judged_in

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
        folder = name.replace(":", "").replace(" ", "-").replace(",", "")
        path = tmp_path / f"{folder}-s0" / "checkpoint.pt"
        return torch.load(path)["identity"]

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


def test_classes_are_taken_out_and_counted_from_0(data):
    known, task = transfer.of_classes(data, 0, 6), transfer.of_classes(data, 6)
    assert known.classes + task.classes == DRAWN10_CLASSES and len(known) + len(
        task
    ) == len(data)
    assert sorted(task.labels.unique().tolist()) == [0, 1, 2, 3]
    assert torch.equal(task.images, data.images[data.labels >= 6])
    assert torch.equal(task.labels, data.labels[data.labels >= 6] - 6)
