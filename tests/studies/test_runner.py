"""The runner: in which order it runs, what it refuses, and that stopped or killed it goes on and repeats nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from filelock import FileLock, Timeout
from toys import DATA, calls, run_toy, toy

from vitlib.data.dataset import load_dataset
from vitlib.files import read_json
from vitlib.train.recipe import recipe
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.report import report
from vitworkshop.studies.runner import run_study
from vitworkshop.studies.study import QUICK

ROOT = Path(__file__).resolve().parents[2]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
ORDER = [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


@pytest.fixture
def one(monkeypatch):
    """The study `stems` is a toy."""

    def be(**more) -> None:
        monkeypatch.setitem(STUDIES, "stems", toy(**more))

    be()
    return be


def run(out, **more) -> dict:
    return run_study("stems", lambda _: DATA, out, **{"progress": False, **more})


def test_every_variant_is_run_with_one_seed_before_any_with_another(tmp_path, one):
    result = run(tmp_path)
    assert calls(tmp_path) == ORDER and result["finished"]
    assert read_json(tmp_path / "stems.json", "") == result
    assert [(each["variant"], each["seed"]) for each in result["runs"]] == ORDER
    assert result["summary"]["b"]["mean"] == pytest.approx(0.103)
    assert run(tmp_path) == result and calls(tmp_path) == ORDER


def test_a_run_that_diverges_does_not_keep_the_others_from_running(tmp_path, one):
    def diverge(study, variant, seed, job):
        if variant == "a":
            raise FloatingPointError("the loss became nan")
        return run_toy(study, variant, seed, job)

    one(run=diverge)
    said = "a, seed 0: the loss became nan; a, seed 1: the loss became nan"
    with pytest.raises(FloatingPointError, match=said):
        run(tmp_path)
    result = read_json(tmp_path / "stems.json", "")
    assert [(row["variant"], row["seed"]) for row in result["runs"]] == ORDER[1::2]
    assert not result["finished"]


def test_rows_of_other_names_say_whose_they_are(tmp_path, one):
    def two(*told):
        (row,) = run_toy(*told)
        return [
            row | {"variant": f"at {side}", "run": told[1], "changes": {"side": side}}
            for side in (24, 48)
        ]

    one(run=two, variants={"a": {}})
    rows = run(tmp_path)["runs"]
    assert [row["run"] for row in rows] == ["a"] * 4
    assert [row["changes"]["side"] for row in rows] == [24, 48, 24, 48]
    assert run(tmp_path)["runs"] == rows and len(calls(tmp_path)) == 2


@pytest.mark.errors
def test_what_another_machine_began_is_refused_where_runs_are_compared(tmp_path, one):
    def there(study, variant, seed, job):
        return [run_toy(study, variant, seed, job)[0] | {"hardware": "B, 1 of 2 cores"}]

    one(choosing=7, run=there, variants={"a": {}})
    run(tmp_path)
    one(choosing=7)
    with pytest.raises(ValueError, match="ran on B.*one seed stays on one machine"):
        run(tmp_path)
    one()  # no seed chooses
    assert run(tmp_path)["finished"]


@pytest.mark.errors
def test_runs_that_were_made_otherwise_are_refused_and_stay(tmp_path, one):
    one(base=QUICK)
    run(tmp_path)
    before = (tmp_path / "stems.json").read_bytes()
    one(base=replace(QUICK, lr=0.1))
    said = r"made otherwise \(base.lr was 0.002, now 0.1\); take another folder"
    with pytest.raises(ValueError, match=said):
        run(tmp_path)
    (tmp_path / "positions.json").write_bytes(before)
    with pytest.raises(ValueError, match="name was 'stems', now 'positions'"):
        run_study("positions", lambda _: DATA, tmp_path)
    assert (tmp_path / "stems.json").read_bytes() == before


@pytest.mark.errors
def test_a_folder_is_held_by_one_runner(tmp_path, one):
    with FileLock(tmp_path / ".lock"), pytest.raises(Timeout):
        run(tmp_path)


def test_what_was_found_is_told_in_a_table_and_in_sentences():
    said = report("minutes")
    assert "\n| Muon, lr=0.01 | 5" in said
    claim = "- Muon is ahead of AdamW, at equal core-minutes: same direction, +16.5"
    assert f"{claim} points [+1" in said and said.endswith("n = 3")


# trains as below, but hangs at some moment, and says so
KILLED = """
import sys, time
import test_runner
from vitlib.train import loop
from vitworkshop.studies import runner

moment, out = sys.argv[1:]

def hang(*args):
    print("now", flush=True)
    time.sleep(3600)

if moment == "in the middle of a run":
    loop.CHECKPOINT_SECONDS, step = 0.0, loop.Trainer.train_step

    def train_step(self, index):
        if self.recipe.model.patch_embed == "overlap" and self.step == 6:
            hang()
        step(self, index)

    loop.Trainer.train_step = train_step
else:
    write = runner.write_json
    runner.write_json = lambda path, found: hang() if found["runs"] else write(path, found)
test_runner.train(out)
"""


def train(out) -> dict:
    """A study that trains."""
    torch.set_num_threads(1)
    tiny = {
        "epochs": 2,
        "batch_size": 8,
        "model.embed_dim": 12,
        "model.depth": 1,
        "model.patch_size": 8,
    }
    base = recipe(STUDIES["stems"].base, **tiny)
    STUDIES["stems"] = replace(STUDIES["stems"], base=base, seeds=(0,))
    data = load_dataset("drawn10", n=40)
    return run_study("stems", lambda _: data, out, device="cpu", progress=False)


@pytest.mark.sampled(5)
@POSIX
@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "kept"),
    [("in the middle of a run", 1), ("before the results are written", 0)],
)
def test_a_killed_runner_loses_and_repeats_nothing(tmp_path, moment, kept, monkeypatch):
    """Without the times they took, its runs are those of one that was never interrupted."""
    paths = [str(ROOT / folder) for folder in (".", "tests", "tests/studies")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", KILLED, moment, str(tmp_path / "killed")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
    assert process.stdout.readline() == "now\n"
    process.kill()
    process.wait()
    path = tmp_path / "killed" / "stems.json"
    before = read_json(path, "")["runs"]
    assert len(before) == kept
    threads = torch.get_num_threads()
    monkeypatch.setitem(STUDIES, "stems", STUDIES["stems"])  # and after it as it was
    both = [train(tmp_path / name) for name in ("killed", "whole")]
    torch.set_num_threads(threads)
    assert both[0]["runs"][:kept] == before
    runs = [
        [{key: row[key] for key in row.keys() - {"seconds"}} for row in result["runs"]]
        for result in both
    ]
    assert runs[0] == runs[1] and both[0]["finished"]
