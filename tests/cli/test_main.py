"""The command line: what it writes, what it says, and its exit codes."""

import json
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch

import vitlib as vl
from vitlib.data import dataset
from vitlib.files import read_json
from vitworkshop.cli import main, train
from vitworkshop.cli.options import settings
from vitworkshop.studies import runner
from vitworkshop.studies.registry import STUDIES

pytestmark = pytest.mark.usefixtures("one_thread")
TINY = "--set model.depth=1 model.embed_dim=12 model.num_heads=2"
SMALL = f"train --preset drawn10 --limit 200 --epochs 1 --batch-size 50 --threads 1 {TINY}".split()


@pytest.fixture(autouse=True)
def short_test_set(monkeypatch):
    """Reads 100 test images, and counts how often the test set is read."""
    reads, load = [], train.load_dataset

    def counted(name, split, n=None, root=None):
        reads.append(split)
        return load(name, split, 100 if split == "test" else n, root)

    monkeypatch.setattr(train, "load_dataset", counted)
    return reads


def test_train_writes_a_model_whose_card_tells_its_accuracy(
    tmp_path, capsys, short_test_set
):
    out = tmp_path / "run"
    assert main([*SMALL, "--out", str(out), "--holdout", "20"]) == 0
    assert short_test_set.count("test") == 1
    said = capsys.readouterr().out
    assert (
        "12 wide, 1 deep, 1 epochs of 180 images of Drawn-10" in said
        and "test accuracy" in said
    )
    files = {
        "checkpoint.pt",
        "log.json",
        ".lock",
        "drawn10.json",
        "drawn10.safetensors",
    }
    assert {p.name for p in out.iterdir()} == files
    model, card = vl.load_pretrained("drawn10", out)
    test = train.load_dataset("drawn10", "test")
    scores = vl.evaluate(model, test.images, test.labels)
    assert (
        card["final"]["test_accuracy"] == scores["accuracy"]
        and card["final"]["n_test"] == 100
    )
    assert card["final"]["test_loss"] == pytest.approx(scores["loss"], rel=1e-6)
    confusion = torch.tensor(card["final"]["confusion"])
    assert confusion.sum() == 100 and confusion.trace() == round(
        100 * scores["accuracy"]
    )
    name, share = card["final"]["commonest"]
    recalls = (
        f"{name} {n / row.sum():.0%}"
        for name, n, row in zip(
            card["classes"], confusion.diag(), confusion, strict=True
        )
    )
    assert (
        share == 0.1
        and f"\nalways saying {name}: 10.00%\nrecall: {', '.join(recalls)}\n" in said
    )
    for warning in card["final"]["warnings"]:
        assert f"\n{warning}\n" in said
    assert card["command"].startswith("python -m vitlib train --preset drawn10")
    assert card["dataset"] == "Drawn-10"
    assert (
        "val_accuracy" in card["epochs"][0]
        and card["recipe"]["model"]["embed_dim"] == 12
    )


def test_a_finished_run_does_not_read_the_test_set_again(
    tmp_path, capsys, short_test_set
):
    command = [*SMALL, "--out", str(tmp_path), "--holdout", "20"]
    assert main(command) == 0
    card = (tmp_path / "drawn10.json").read_text()
    accuracy = json.loads(card)["final"]["test_accuracy"]
    capsys.readouterr()
    assert main(command) == 0
    assert (
        short_test_set.count("test") == 1
        and (tmp_path / "drawn10.json").read_text() == card
    )
    assert (
        f"finished before, with a test accuracy of {accuracy:.2%}"
        in capsys.readouterr().out
    )
    assert main([*command, "--no-resume"]) == 0
    assert short_test_set.count("test") == 2  # trained anew, so read anew


def test_validate_never_reads_the_test_set(tmp_path, capsys, short_test_set):
    assert main([*SMALL, "--out", str(tmp_path), "--validate", "--name", "choice"]) == 0
    assert short_test_set == ["train"]
    assert "the test set was not read" in capsys.readouterr().out
    final = read_json(tmp_path / "choice.json", "")["final"]
    assert (
        final["n_val"] == sum(map(sum, final["confusion"])) == 20
        and "test_loss" not in final
    )


def test_a_masked_objective_reads_no_test_set_and_leaves_an_encoder(
    tmp_path, capsys, short_test_set
):
    # SMALL ends in --set
    words = [
        "objective=masked-pixels",
        "--out",
        str(tmp_path),
        "--name",
        "encoder",
    ]
    assert main([*SMALL, *words]) == 0
    assert short_test_set == ["train"] and "held-out r2 " in capsys.readouterr().out
    encoder, card = vl.load_pretrained("encoder", tmp_path)
    assert encoder.cfg.num_classes == 0 and encoder.cfg.mask_token
    assert {"val_r2", "val_constant", "val_neighbours", "n_val"} < card["final"].keys()


def test_a_budget_stops_and_the_same_command_goes_on(tmp_path, capsys):
    assert main([*SMALL, "--out", str(tmp_path), "--budget-minutes", "0"]) == 0
    assert "the same command goes on" in capsys.readouterr().out and not list(
        tmp_path.glob("*.safetensors")
    )
    assert main([*SMALL, "--out", str(tmp_path)]) == 0
    assert list(tmp_path.glob("*.safetensors"))


def test_a_study_runs_and_reports(tmp_path, capsys, monkeypatch):
    tiny = {"epochs": 1, "model.embed_dim": 12, "model.depth": 1}
    base = vl.recipe(STUDIES["stems"].base, **tiny, **{"model.patch_size": 8})
    few = replace(STUDIES["stems"], base=base, seeds=(0,))
    monkeypatch.setitem(STUDIES, "stems", few)
    data = vl.load_dataset("drawn10", n=60)
    monkeypatch.setattr(runner, "load_dataset", lambda name: data)
    words = f"study run stems --out {tmp_path}".split()
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "On one core the book's 9 runs" in said and ", 2 more runs" in said
    assert main(["study", "report", "stems", "--out", str(tmp_path)]) == 0
    assert "| stem | " in capsys.readouterr().out
    command = read_json(tmp_path / "stems.json", "")["command"]
    assert command == f"python -m vitlib {shlex.join(words)}"


@pytest.mark.errors
def test_cifar10_that_is_not_there_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VITLIB_DATA", str(tmp_path))
    monkeypatch.setattr(dataset, "find_cifar10", lambda root=None: None)
    assert main(["train", "--preset", "laptop", "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "python -m vitlib data cifar10" in error and error.count("\n") == 1


@pytest.mark.sampled(3)
@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_exits_130_and_tells_how_to_go_on(tmp_path, number):
    words = [
        sys.executable,
        "-m",
        "vitlib",
        *SMALL,
        "--epochs",
        "100000",
        "--out",
        tmp_path,
    ]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "checkpoint.pt").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(number)
    out, error = process.communicate()
    assert process.returncode == 130, error
    assert (
        "the same command or call goes on from there" in error
        and "Traceback" not in error
    )
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["step"] > 0


def test_words_of_set_become_what_they_say():
    said = ["a=true", "b=False", "c=none", "d=3", "e=0.5", "f=1e-3", "g=adamw"]
    told = {"a": True, "b": False, "c": None, "d": 3, "e": 0.5, "f": 1e-3, "g": "adamw"}
    found = settings(said, ())
    assert found == told and all(
        type(found[key]) is type(value) for key, value in told.items()
    )
