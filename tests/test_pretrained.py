"""The committed evidence: each model loads, gives the accuracy its card states, and says how it was made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import vitlib as vl
from vitlib.evidence import RESULTS
from vitlib.model.costs import count_parameters

NAMES = vl.list_pretrained()
EXPECTED = {"cifar10-plain", "cifar10-modern", "cifar10-laptop", "drawn10-small", "drawn10-token"}
TOLERANCE = 0.002  # the cards' numbers belong to the float16 weights; other kernels may turn a few near ties
MB = 1_000_000
CARD = {
    "name": str,
    "command": str,
    "vitlib_version": str,
    "dataset": str,
    "hardware": str,
    "precision": str,
    "seed": int,
    "seconds": (int, float),
    "config": dict,
    "recipe": dict,
    "epochs": list,
    "final": dict,
}
every_model = pytest.mark.parametrize("name", sorted(EXPECTED | set(NAMES)))


@every_model
def test_the_card_says_how_it_was_made(name):
    model, card = vl.load_pretrained(name)
    for key, kind in CARD.items():
        assert isinstance(card[key], kind), key
    assert card["name"] == name and card["config"]["num_classes"] == 10
    assert card["command"].startswith("python -m vitlib train")
    assert not any(part in card["command"] for part in ("/tmp", "/work", "/home", "/root"))
    assert card["dataset"] == "Drawn-10" or card["dataset"].startswith("CIFAR-10")
    assert card["seconds"] > 0 and card["hardware"] and card["precision"] in ("fp32", "bf16")
    assert not model.training and card.get("parameters", count_parameters(model)) == count_parameters(model)


@every_model
def test_the_curves_are_whole(name):
    card = vl.load_pretrained(name)[1]
    epochs = card["epochs"]
    assert [entry["epoch"] for entry in epochs] == list(
        range(epochs[0]["epoch"], epochs[0]["epoch"] + len(epochs))
    )
    assert len(epochs) == card["recipe"]["epochs"]
    for entry in epochs:
        assert {"epoch", "lr", "train_loss", "images_per_s", "seconds"} <= set(entry)
        assert entry["lr"] >= 0 and 0 < entry["train_loss"] < 10 and entry["images_per_s"] > 0
        assert 0 <= entry.get("val_accuracy", 0) <= 1
    final = card["final"]
    assert 0.3 < final["test_accuracy"] <= 1 and final["test_loss"] > 0
    assert final["n_test"] == (2_000 if card["dataset"] == "Drawn-10" else 10_000)


@every_model
def test_the_accuracy_is_reproduced(name):
    model, card = vl.load_pretrained(name)
    if card["dataset"] == "Drawn-10":
        data = vl.load_dataset("drawn10", "test")
    elif vl.find_cifar10() is None:
        pytest.skip(f"{name}: CIFAR-10 is not at hand; python -m vitlib data cifar10 fetches it")
    else:
        data = vl.load_dataset("cifar10", "test")
        if data.label != card["dataset"]:
            pytest.skip(f"{name} was measured on {card['dataset']}, here lies {data.label}")
    scores = vl.evaluate(model, data.images, data.labels)
    assert scores["accuracy"] == pytest.approx(card["final"]["test_accuracy"], abs=TOLERANCE)
    assert scores["loss"] == pytest.approx(card["final"]["test_loss"], abs=0.01)


@every_model
def test_models_are_small(name):
    assert (RESULTS / f"{name}.safetensors").stat().st_size <= 12 * MB


def test_all_evidence_together_is_small():
    files = [Path(folder) / file for folder, _, files in os.walk(RESULTS) for file in files]
    assert sum(file.stat().st_size for file in files) < 25 * MB
    assert {file.suffix for file in files} <= {".json", ".safetensors"}
