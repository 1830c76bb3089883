"""The runner: in which order it runs, what it refuses, and what it does beside other runners and after being killed."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from filelock import FileLock
from toys import DATA, VARIANTS, calls, only, row, run_toy, toy

from vitlib.data.dataset import load_dataset
from vitlib.files import lock, read_json, write_json
from vitworkshop.cli import main
from vitworkshop.studies import plan as plans
from vitworkshop.studies import runner
from vitworkshop.studies.plan import make_plans
from vitworkshop.studies.registry import STUDIES, folders
from vitworkshop.studies.runner import run_studies, run_study
from vitworkshop.studies.study import QUICK

ROOT = Path(__file__).resolve().parents[2]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")


@pytest.fixture
def one(monkeypatch):
    """The study `stems` is a toy."""
    monkeypatch.setitem(STUDIES, "stems", toy())


@pytest.fixture
def two():
    """All studies there are: two toys, the second in the paper, the first not."""
    with only(
        papers=toy(seeds=(0, 1)), ours=toy(source="not in the paper", seeds=(5,))
    ):
        yield


def run(out, **more):
    return run_study("stems", DATA, out, **{"seeds": (0, 1), "progress": False, **more})


def test_every_first_seed_comes_before_any_second_in_all_studies(tmp_path, two):
    order = []

    def note(study, variant, seed, job):
        order.append((job.out.name, variant, seed))
        return run_toy(study, variant, seed, job)

    for name, study in STUDIES.items():
        STUDIES[name] = replace(study, run=note)
    results = run_studies(folders(None, tmp_path), lambda _: DATA, progress=False)
    assert order == [
        *[("study-papers", variant, 0) for variant in VARIANTS],
        *[("study-ours", variant, 5) for variant in VARIANTS],
        *[("study-papers", variant, 1) for variant in VARIANTS],
    ]
    assert list(results) == ["papers", "ours"] and all(
        result["finished"] for result in results.values()
    )
    assert (tmp_path / "study-ours" / "ours.json").exists()


def test_data_are_read_and_divided_once_for_all_studies(tmp_path, two):
    STUDIES.update(third=toy(holdout=True), fourth=toy(holdout=True, n_train=15))
    read = []
    plans = make_plans(
        dict.fromkeys(STUDIES, tmp_path), lambda kind: (read.append(kind), DATA)[1]
    )
    jobs = {plan.name: plan.job for plan in plans}
    assert read == ["auto"] and jobs["ours"].data is jobs["papers"].data is DATA
    # a tenth of all is held out
    assert len(jobs["third"].data) == 18 and len(jobs["fourth"].data) == 13
    assert len(jobs["fourth"].val) == 2


def test_a_budget_stops_between_runs_and_the_same_call_goes_on(
    tmp_path, one, monkeypatch
):
    def slow(study, variant, seed, job):
        assert job.left > 0
        # the time is over when this run is
        monkeypatch.setattr(runner.time, "time", lambda: 1e12)
        return run_toy(study, variant, seed, job)

    monkeypatch.setitem(STUDIES, "stems", toy(run=slow))
    first = run(tmp_path, budget_minutes=5.0)
    assert (
        calls(tmp_path) == [("a", 0)]
        and not first["finished"]
        and len(first["runs"]) == 1
    )
    monkeypatch.undo()
    monkeypatch.setitem(STUDIES, "stems", toy())
    last = run(tmp_path)
    assert (
        calls(tmp_path) == [("a", 0), ("b", 0), ("a", 1), ("b", 1)] and last["finished"]
    )
    assert run(tmp_path) == last and len(calls(tmp_path)) == 4


def test_a_run_that_stops_in_the_middle_is_not_kept(tmp_path, one, monkeypatch):
    monkeypatch.setitem(STUDIES, "stems", toy(run=lambda *args: None))
    with lock(
        tmp_path / "a-s0"
    ):  # what another runner has in hand is not waited for then
        result = run(tmp_path)
    assert result["runs"] == [] and not list(tmp_path.glob("*/rows.json"))


def test_a_run_that_diverges_does_not_keep_the_others_from_running(
    tmp_path, one, monkeypatch
):
    def diverge(study, variant, seed, job):
        if variant == "a":
            raise FloatingPointError("the loss became nan")
        return run_toy(study, variant, seed, job)

    monkeypatch.setitem(STUDIES, "stems", toy(run=diverge))
    with pytest.raises(
        FloatingPointError,
        match="stems: a, seed 0: the loss became nan; stems: a, seed 1",
    ):
        run(tmp_path)
    result = read_json(tmp_path / "stems.json", "")
    assert [(one["variant"], one["seed"]) for one in result["runs"]] == [
        ("b", 0),
        ("b", 1),
    ]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """No wish to see no bars."""
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    # a notebook shows bars, too
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    return Terminal()


def test_progress_is_a_line_a_run_and_a_bar_on_a_terminal(
    tmp_path, one, terminal, capsys
):
    with contextlib.redirect_stderr(terminal):
        run(tmp_path, progress=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "stems: a, seed 0: 9.70% (1 of 4 runs)" and len(lines) == 4
    assert "stems: 100%" in terminal.getvalue() and "4/4" in terminal.getvalue()
    with contextlib.redirect_stderr(io.StringIO()) as file:  # no terminal, no bar
        run(tmp_path / "two", progress=True)
        run(tmp_path / "three", progress=False)
    assert file.getvalue() == "" and len(capsys.readouterr().out.splitlines()) == 4


def test_lines_stand_above_the_bar(tmp_path, one, terminal):
    """On one terminal: the bar is taken away before a line, and shown again after it."""
    with contextlib.redirect_stderr(terminal), contextlib.redirect_stdout(terminal):
        run(tmp_path, seeds=(0,), progress=True)
    lines = [line.split("\r") for line in terminal.getvalue().split("\n")]
    for variant, (*before, said) in zip("ab", lines, strict=False):
        assert said.startswith(f"stems: {variant}, seed 0: ") and not before[-1].strip()
        assert any(shown.startswith("stems: ") for shown in before)
    assert "2/2" in lines[2][-1]


@pytest.mark.errors
def test_a_disk_without_locks_says_so(tmp_path, monkeypatch):
    def fail(self, timeout):
        raise NotImplementedError

    monkeypatch.setattr(FileLock, "acquire", fail)
    with pytest.raises(
        OSError, match="is on a disk without locks; take a folder on another with --out"
    ):
        lock(tmp_path)


def test_what_another_runner_has_in_hand_is_left_to_it_and_waited_for(
    tmp_path, one, monkeypatch, capsys
):
    """It finishes one run, and dies with the other."""
    monkeypatch.setattr(runner, "WAIT", 0.05)
    about = make_plans({"stems": tmp_path}, lambda _: DATA, seeds=(0,))[0].identity("a")
    locks = {
        name: FileLock(tmp_path / f"{name}-s0" / ".lock", thread_local=False)
        for name in VARIANTS
    }
    for name, held in locks.items():
        (tmp_path / f"{name}-s0").mkdir()
        held.acquire()

    def other():
        while calls(tmp_path) != [("a", 1), ("b", 1)]:
            time.sleep(0.02)
        write_json(
            tmp_path / "a-s0" / "rows.json",
            {"about": about, "rows": [row("a", 0, 0.5)]},
        )
        for held in locks.values():
            held.release()

    thread = threading.Thread(target=other)
    thread.start()
    result = run(tmp_path, progress=True)
    thread.join()
    assert calls(tmp_path) == [("a", 1), ("b", 1), ("b", 0)]
    assert result["finished"] and result["runs"][0]["final"] == {"val_accuracy": 0.5}
    assert (
        "waiting for 2 runs that another runner has in hand" in capsys.readouterr().out
    )


def test_a_budget_ends_the_waiting(tmp_path, one):
    (tmp_path / "a-s0").mkdir()
    with FileLock(tmp_path / "a-s0" / ".lock"):
        result = run(tmp_path, seeds=(0,), budget_minutes=0.05)
    assert not result["finished"] and calls(tmp_path) == [("b", 0)]


BESIDE = """
import sys, time
from pathlib import Path
import toys
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.runner import run_study

def slow(study, variant, seed, job):
    time.sleep(0.1)
    return toys.run_toy(study, variant, seed, job)

STUDIES["stems"] = toys.toy(run=slow, variants={name: {} for name in "abcdef"}, claims=())
me, out = sys.argv[1], Path(sys.argv[2])
(out / f"ready-{me}").touch()
while len(list(out.glob("ready-*"))) < 2:
    time.sleep(0.01)
result = run_study("stems", toys.DATA, out=out, seeds=(0, 1), progress=False)
print(result["finished"], len(result["runs"]))
"""


def start(code: str, *words: object) -> subprocess.Popen:
    """A Python of its own, with one thread, that finds vitlib and the tests."""
    paths = os.pathsep.join(
        str(ROOT / folder) for folder in (".", "tests", "tests/studies")
    )
    env = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)


@pytest.mark.slow
def test_two_runners_on_one_folder_do_every_run_once(tmp_path):
    both = [start(BESIDE, me, tmp_path) for me in (1, 2)]
    said = [process.communicate()[0] for process in both]
    assert said == ["True 12\n"] * 2
    assert sorted(calls(tmp_path)) == sorted(
        (variant, seed) for seed in (0, 1) for variant in "abcdef"
    )
    assert len(read_json(tmp_path / "stems.json", "")["runs"]) == 12


TINY = {
    "epochs": 2,
    "batch_size": 8,
    "model.embed_dim": 12,
    "model.depth": 1,
    "model.patch_size": 8,
}
# trains as below, but hangs at some moment, and says so
KILLED = """
import sys, time
import torch
import test_runner
from vitlib.train import loop
from vitworkshop.studies import plan as plans

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
    write, key = plans.write_json, "rows" if moment == "before a run is kept" else "runs"
    plans.write_json = lambda path, found: hang() if found.get(key) else write(path, found)
test_runner.train(out)
"""


def train(out) -> dict:
    """A study that trains."""
    torch.set_num_threads(1)
    data = load_dataset("drawn10", n=40)
    return run_study(
        "stems",
        data,
        out,
        n_val=8,
        seeds=(0,),
        device="cpu",
        progress=False,
        changes=TINY,
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[dict, Path]:
    """The study, never interrupted, and its folder."""
    before, folder = torch.get_num_threads(), tmp_path_factory.mktemp("whole")
    yield train(folder), folder
    torch.set_num_threads(before)


def without_clock(result: dict) -> list[dict]:
    """The runs without the times they took."""
    clock = ("seconds", "seal")
    return [
        {key: value for key, value in run.items() if key not in clock}
        for run in result["runs"]
    ]


@pytest.mark.sampled(4)
@POSIX
@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        ("in the middle of a run", 1),
        ("before a run is kept", 0),
        ("before the results are written", 1),
    ],
)
def test_a_killed_runner_loses_and_repeats_nothing(tmp_path, whole, moment, kept):
    process = start(KILLED, moment, tmp_path)
    assert process.stdout.readline() == "now\n"
    process.kill()
    process.wait()
    finished = {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in tmp_path.glob("*/rows.json")
    }
    logs = {path: read_json(path, "") for path in tmp_path.glob("*/log.json")}
    assert len(finished) == kept and len(logs) == (
        2 if moment == "in the middle of a run" else 1
    )
    result = train(tmp_path)
    assert without_clock(result) == without_clock(whole[0]) and result["finished"]
    assert result["summary"] == whole[0]["summary"]
    for path, before in finished.items():
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    for (
        path,
        log,
    ) in logs.items():  # every epoch that was done is done once, its clock tells
        assert read_json(path, "")["epochs"][: len(log["epochs"])] == log["epochs"]
    for path in whole[1].glob("*/checkpoint.pt"):
        there = torch.load(path)["model"]
        here = torch.load(tmp_path / path.relative_to(whole[1]))["model"]
        assert all(torch.equal(here[name], value) for name, value in there.items())


def hang(study, variant, seed, job):
    (job.out / f"began-{variant}").touch()
    time.sleep(3600)


def die(study, variant, seed, job):
    os._exit(9)


ORPHANS = """
import sys
import test_runner, toys
from vitworkshop.studies.registry import STUDIES

if __name__ == "__main__":
    STUDIES["stems"] = toys.toy(run=test_runner.hang)
    test_runner.run(sys.argv[1], jobs=2)
"""


@pytest.mark.sampled(4)
@POSIX
@pytest.mark.slow
def test_a_killed_runner_takes_its_processes_along(tmp_path):
    process = start(ORPHANS, tmp_path)
    while len(list(tmp_path.glob("began-*"))) < 2:
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait()
    for variant in VARIANTS:
        FileLock(tmp_path / f"{variant}-s0" / ".lock").acquire()


@pytest.mark.slow
def test_a_killed_process_of_the_pool_is_told(tmp_path, one, monkeypatch):
    monkeypatch.setitem(STUDIES, "stems", toy(run=die))
    with pytest.raises(
        ChildProcessError, match="killed in the middle .* goes on, with --jobs below 2"
    ):
        run(tmp_path, jobs=2)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"budget_minutes": float("nan")},
            "budget_minutes must be above 0, got nan; leave it out to run to the end",
        ),
        ({"seeds": ()}, "one or more different numbers"),
        ({"seeds": (2, 2)}, r"one or more different numbers, got \(2, 2\)"),
        ({"changes": {"epochs": 3}}, "follows no recipe"),
    ],
)
def test_what_cannot_be_run_is_refused(tmp_path, one, more, message):
    with pytest.raises(ValueError, match=message):
        run(tmp_path, **more)


@pytest.mark.errors
def test_a_folder_of_another_study_is_refused_and_stays(tmp_path, one):
    run(tmp_path, seeds=(0,))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    with pytest.raises(
        ValueError,
        match="holds the study 'stems'; give 'positions' a folder of its own",
    ):
        run_study("positions", DATA, tmp_path, n_val=2)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*.json")}


def test_all_studies_from_the_command_line(tmp_path, two, capsys):
    words = [
        "study",
        "run",
        "--all",
        "--data",
        "drawn10",
        "--limit",
        "20",
        "--out",
        str(tmp_path),
    ]
    assert main([*words, "--budget-minutes", "1e-9"]) == 0
    said = capsys.readouterr().out
    assert "the budget is used up; the same command goes on" in said
    assert main([*words, "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert "used up" not in said
    assert main(["study", "board", "--out", str(tmp_path)]) == 0
    assert "| claim |" in capsys.readouterr().out


def test_the_caller_has_the_last_word_on_the_precision(tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "pick_precision", lambda *_: "picked")
    with only(ours=toy(base=replace(QUICK, precision="auto"))):
        for changes, precision in (({}, "picked"), ({"precision": "bf16"}, "bf16")):
            (plan,) = make_plans({"ours": tmp_path}, lambda _: DATA, changes=changes)
            assert plan.header["precision"] == precision
