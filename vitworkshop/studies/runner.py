"""Runs studies: every variant with every seed, skipping what is finished, beside other runners or alone."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from filelock import Timeout
from tqdm import tqdm
from tqdm.contrib import DummyTqdmFile

from vitlib.checks import check_between, is_number
from vitlib.data.dataset import Dataset
from vitlib.device import pick_device
from vitlib.evidence import RESULTS, provenance, summarize
from vitlib.files import lock, read_json, write_json
from vitlib.train.checkpoint import checksum, differences
from vitlib.train.precision import pick_precision
from vitlib.train.recipe import default_fields, recipe
from vitworkshop.studies.registry import STUDIES, find, folders
from vitworkshop.studies.report import show
from vitworkshop.studies.study import Job, Study

ROWS = "rows.json"  # in the folder of each finished trial
DELETE = "delete it, and the same command goes on"
WAIT = 1.0  # seconds between two looks at trials that another runner has in hand
Trial = tuple[str, int]  # variant and seed


@dataclass
class Plan:
    """A study as it is to be run here: with these data, scale and seeds, in this folder; and what of it is finished."""

    name: str
    study: Study
    job: Job  # what every trial is given
    header: dict  # how the file of results begins
    seeds: tuple[int, ...]  # those that were asked for
    done: dict[Trial, list[dict]] = field(default_factory=dict)  # the rows of finished trials, of any seed

    @property
    def trials(self) -> list[Trial]:
        """Every variant with the first seed, then every one with the second."""
        return [(variant, seed) for seed in self.seeds for variant in self.study.variants]

    @property
    def finished(self) -> int:
        """How many of these trials are finished."""
        return sum(trial in self.done for trial in self.trials)

    @property
    def path(self) -> Path:
        """Its file of results."""
        return self.job.out / f"{self.name}.json"

    def identity(self, variant: str) -> dict:
        """What makes a trial this one, besides its seed; a finished one counts if it has the same."""
        same = {"study": self.name, "scale": self.header["scale"], "base": self.header.get("base")}
        data = [self.header["dataset"], self.header["data_checksum"]]
        return as_json({**same, "data": data, "variant": self.study.variants[variant]})

    @property
    def defaults(self) -> dict:
        """What a part of an identity was before it had a name: a field's default, in a variant the base's value."""
        base = self.header.get("base") or {}
        fields = default_fields(self.study.base) if self.study.base else {}
        flat = fields | base | {f"model.{key}": value for key, value in base.get("model", {}).items()}
        return as_json({"study": self.name, "base": fields, "variant": flat})

    def mismatch(self, result: dict) -> str:
        """What a file of results has otherwise, in words; "" where its runs count here."""
        keys = ["name", "scale", "base", "n_train", "n_val"]
        if "data_checksum" in result:
            keys.append("data_checksum")
        elif self.study.n_train != 0:  # an older file; where nothing is trained, each row names its data
            keys.append("dataset")
        theirs, ours = ({key: what.get(key) for key in keys} for what in (result, as_json(self.header)))
        return "; ".join(differences(theirs, ours, self.defaults))

    def run(self, trial: Trial) -> list[dict] | None:
        """The rows of a trial, kept before anybody hears of them; None if the time was over before its end."""
        if self.job.left is not None and self.job.left <= 0:
            return None
        path, identity = self.job.folder(*trial) / ROWS, self.identity(trial[0])
        with lock(path.parent):
            if path.is_file():  # another runner has finished it meanwhile
                return read_rows(path, identity, self.defaults)
            rows = self.study.run(self.study, *trial, self.job)
            if rows is not None:
                write_json(path, {"about": identity, "rows": rows})
            return rows

    def collect(self) -> None:
        """Read what is finished in the folder, by whichever runner and with whichever seeds."""
        names = {
            self.job.folder(variant, 0).name.removesuffix("-s0"): variant for variant in self.study.variants
        }
        for path in sorted(self.job.out.glob(f"*/{ROWS}")):
            name, _, seed = path.parent.name.rpartition("-s")
            if name in names and seed.isdecimal() and (trial := (names[name], int(seed))) not in self.done:
                self.done[trial] = read_rows(path, self.identity(trial[0]), self.defaults)

    def import_results(self, folder: str | Path) -> str:
        """Keep here the finished runs of another file of results, and say how many, or why none."""
        path = (RESULTS if folder == "results" else Path(folder)) / f"{self.name}.json"
        if not path.exists():
            return f"{self.name}: there is no {path} to go on from"
        result = read_json(path, DELETE)
        if differs := self.mismatch(result):
            return f"{self.name}: nothing is taken from {path}, which was made otherwise ({differs})"
        shared = {key: result[key] for key in ("hardware", "precision")}  # there they stand once, for all
        theirs: dict[Trial, list[dict]] = {}
        for row in result["runs"]:
            theirs.setdefault((row.get("run", row["variant"]), row["seed"]), []).append(shared | row)
        for (variant, seed), rows in theirs.items():
            if variant not in self.study.variants:
                continue
            identity, here = self.identity(variant), self.job.folder(variant, seed) / ROWS
            changes = rows[0].get("changes", identity["variant"])  # an older file says it in each row
            changes = result.get("variants", {}).get(variant, changes)
            if not any(differences(changes, identity["variant"], self.defaults["variant"])):
                with contextlib.suppress(Timeout), lock(here.parent):  # another runner may be at it, or was
                    if not here.exists():
                        write_json(here, {"about": identity, "rows": rows})
        self.collect()
        count = f"{len(theirs.keys() & self.done)} of {len(theirs)} runs"
        return f"{self.name}: {count} in {path} count as finished"

    def write(self) -> dict:
        """Write what is known so far, by all runners in this folder."""
        with lock(self.job.out, timeout=-1):
            self.collect()
            result = self.result()
            write_json(self.path, result)
        return result

    def result(self) -> dict:
        """What the file of results holds; what all runs share stands once, in the header."""
        seeds = dict.fromkeys([*self.seeds, *sorted(seed for _, seed in self.done)])
        runs = [
            row if row["variant"] == variant else {**row, "run": variant}
            for seed in seeds
            for variant in self.study.variants
            for row in self.done.get((variant, seed), [])
        ]
        shared, scores = {}, {}
        for key in ("hardware", "precision", "dataset"):
            parts = {part for run in runs if key in run for part in run[key].split("; ")}
            shared[key] = "; ".join(sorted(parts)) or self.header[key]
        for run in runs:
            scores.setdefault(run["variant"], []).append(run["final"][self.study.metric])
        return {
            **self.header,
            **shared,
            "seconds": round(sum(run["seconds"] for run in runs), 1),
            "finished": self.finished == len(self.trials),
            "variants": as_json(self.study.variants),
            "runs": [{k: v for k, v in run.items() if k not in ("hardware", "precision")} for run in runs],
            "summary": {variant: summarize(values) for variant, values in scores.items()},
            "verdicts": {claim.says: claim.judge(runs) for claim in self.study.claims},
        }


def read_rows(path: Path, identity: dict, defaults: dict) -> list[dict]:
    """The rows of a finished trial; ValueError if the file is damaged or of another one (see `Plan.defaults`)."""
    found = read_json(path, DELETE)
    if not isinstance(found.get("about"), dict) or not isinstance(found.get("rows"), list):
        raise ValueError(f"{path} is no file of a finished run; {DELETE}")
    if differs := "; ".join(differences(found["about"], identity, defaults)):
        raise ValueError(f"{path} is of another run ({differs}); take another folder with --out")
    return found["rows"]


def as_json(value: Any) -> Any:
    """As it comes back from a JSON file: tuples become lists."""
    return json.loads(json.dumps(value))


def make_plans(
    places: Mapping[str, Path],
    load: Callable[[str], Dataset],
    *,
    scale: str = "quick",
    seeds: tuple[int, ...] | None = None,
    n_val: int | None = None,
    device: str = "auto",
    changes: dict | None = None,
) -> list[Plan]:
    """Studies (name -> folder) ready to run, with what of them is finished; nothing is written.

    `load` gives the training images by the name of a data set; `n_val` of them are held out, or a tenth, 5,000 at most.
    `changes` are fields that every trial changes, as for `recipe`.
    """
    if scale not in ("quick", "full"):
        raise ValueError(f"scale must be quick or full, got {scale!r}")
    if seeds is not None and (not seeds or len(set(seeds)) != len(seeds)):
        raise ValueError(f"seeds must be one or more different numbers, got {tuple(seeds)}")
    for seed in seeds or ():
        check_between("seeds", seed, 0, 2**32 - 1)
    where, changes, load, plans = pick_device(device), changes or {}, cache(load), []

    @cache
    def divide(kind: str, first: int | None, holdout: bool) -> tuple[Dataset, Dataset | None, int]:
        """The images to train on, those held out, and a checksum: once for all studies that share them."""
        data = whole = load(kind)
        if first:
            data = replace(data, images=data.images[:first], labels=data.labels[:first])
        held_out = min(5000, len(whole) // 10) if n_val is None else n_val
        train, val = data.hold_out(held_out) if holdout else (data, None)
        return train, val, checksum(train)

    for name, out in places.items():
        study = find(name)
        if study.base is None and changes:
            raise ValueError(
                f"study {name!r} follows no recipe, so nothing of one can be changed, got {sorted(changes)}"
            )
        if own := sorted({key for variant in study.variants.values() for key in variant} & set(changes)):
            raise ValueError(
                f"study {name!r} varies {', '.join(own)} itself; change something else, or write a study"
            )
        shared = {**(study.full if scale == "full" else {}), **changes}
        base = study.base and recipe(study.base, **shared)  # before any data are loaded
        train, val, crc = divide(study.data, study.n_train, study.holdout)
        shared, base = {"data": train.name, **shared}, base and replace(base, data=train.name)
        precision = base.precision if base else "fp32"
        if base and precision == "auto":
            precision = pick_precision(where, base.model)
        header = {
            "name": name,
            "question": study.question,
            "source": study.source,
            "scale": scale,
            "measure": study.measure,
            "metric": study.metric,
            **provenance(train.label, where, precision),
            "n_train": 0 if study.n_train == 0 else len(train),
            "n_val": len(val) if val else 0,
            "data_checksum": crc,
            **({"base": asdict(base)} if base else {}),
        }
        job = Job(train, val, out, scale, shared, device, None, False)
        plan = Plan(name, study, job, header, study.seeds if seeds is None else tuple(seeds))
        if others := [other for other in STUDIES if other != name and (out / f"{other}.json").exists()]:
            raise ValueError(
                f"{out} holds the study {others[0]!r}; give {name!r} a folder of its own with --out"
            )
        if plan.path.exists() and (differs := plan.mismatch(read_json(plan.path, DELETE))):
            raise ValueError(f"{plan.path} was made otherwise ({differs}); take another folder with --out")
        plan.collect()
        plans.append(plan)
    return plans


def run_studies(
    places: Mapping[str, Path],
    load: Callable[[str], Dataset],
    *,
    jobs: int = 1,
    budget_minutes: float | None = None,
    progress: bool = True,
    start_from: str | Path | None = None,
    **how: Any,
) -> dict[str, dict]:
    """Run several studies as one, the most valuable first: all variants with a first seed before any with a second.

    Each finished trial is kept at once in a small file in its own folder. Several runners may share the folders: a
    trial is done by one of them, and all end when all are done. One that is killed loses its last minute at most.

    `jobs` is how many trials run at once, each in a process with its share of the threads. After `budget_minutes` it
    stops, and the same call goes on. `start_from` is a folder of results whose runs count as finished where they are
    the same as these; "results" is the book's own. For the rest see `make_plans`. A loss that is no longer a number
    raises FloatingPointError, after all other trials; a process that was killed, ChildProcessError.
    """
    check_between("jobs", jobs, 1, 64)
    if budget_minutes is not None and not (is_number(budget_minutes) and 0 < budget_minutes < float("inf")):
        raise ValueError(
            f"budget_minutes must be above 0, got {budget_minutes!r}; leave it out to run to the end"
        )
    if start_from is not None and start_from != "results" and not Path(start_from).is_dir():
        raise ValueError(f"there is no folder {start_from} to start from; 'results' takes the book's own")
    plans = make_plans(places, load, **how)
    deadline = None if budget_minutes is None else time.time() + 60 * budget_minutes
    for plan in plans:
        plan.job.deadline, plan.job.progress = deadline, progress and jobs == 1
        if start_from is not None:
            said = plan.import_results(start_from)
            if progress:
                print(said, flush=True)
        plan.write()
    todo = [(plan, trial) for plan in plans for trial in plan.trials if trial not in plan.done]
    todo.sort(key=lambda task: task[0].seeds.index(task[1][1]))  # else in their order
    with _bar(plans, progress) as bar:
        for plan, (variant, seed), rows in _run_all(todo, jobs, progress):
            plan.done[variant, seed] = rows
            if progress and rows:
                score = show(rows[-1]["final"][plan.study.metric], plan.study.metric)
                count = f"{plan.finished} of {len(plan.trials)} runs"
                print(f"{plan.name}: {variant}, seed {seed}: {score} ({count})", flush=True)
            plan.write()
            bar.update(sum(plan.finished for plan in plans) - bar.n)
    return {plan.name: plan.write() for plan in plans}


def run_study(
    name: str, data: Dataset, out: str | Path | None = None, *, n_val: int = 5000, **how: Any
) -> dict:
    """Run one study on these training images and return what its file of results holds; see `run_studies`."""
    return run_studies(folders(name, out), lambda _: data, n_val=n_val, **how)[name]


def _run_all(
    todo: list[tuple[Plan, Trial]], jobs: int, progress: bool
) -> Iterator[tuple[Plan, Trial, list[dict]]]:
    """Each trial that ends in time, with its rows, as it ends; what another runner has in hand is waited for."""
    pool, failed, waiting = None, [], 0
    if jobs > 1:
        threads = max(1, torch.get_num_threads() // jobs)
        pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin, (threads,))
    try:
        while todo:
            held = []  # by other runners
            outcomes = [(task, partial(replace(task[0], done={}).run, task[1])) for task in todo]
            if pool:
                futures = {pool.submit(run): task for task, run in outcomes}
                outcomes = ((futures[future], future.result) for future in as_completed(futures))
            for (plan, trial), outcome in outcomes:
                try:
                    rows = outcome()
                except Timeout:
                    held.append((plan, trial))
                except FloatingPointError as error:  # this one will never end, others will
                    failed.append(f"{plan.name}: {trial[0]}, seed {trial[1]}: {error}")
                else:
                    if rows is None:  # the time is over
                        held.clear()
                        break
                    yield plan, trial, rows
            if progress and held and len(held) != waiting:
                print(f"waiting for {len(held)} runs that another runner has in hand", flush=True)
            time.sleep(WAIT if held else 0)
            todo, waiting = held, len(held)
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a process was killed in the middle of a run, perhaps for want of memory; the same command goes on, "
            f"with --jobs below {jobs} if that was it"
        ) from error
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C, which all processes hear, no trial is begun
    if failed:
        raise FloatingPointError("; ".join(failed))


def _begin(threads: int) -> None:
    """Set a process of the pool up: its share of the threads, and to end when the runner is killed."""

    def follow() -> None:
        if parent := multiprocessing.parent_process():
            parent.join()
            os._exit(1)

    torch.set_num_threads(threads)
    threading.Thread(target=follow, daemon=True).start()


@contextlib.contextmanager
def _bar(plans: list[Plan], progress: bool) -> Iterator[tqdm]:
    """A bar over the trials, where there is a terminal; what is printed meanwhile stands above it."""
    hidden = not progress or not (sys.stderr.isatty() or "ipykernel" in sys.modules)
    total, done = sum(len(plan.trials) for plan in plans), sum(plan.finished for plan in plans)
    name = plans[0].name if len(plans) == 1 else f"{len(plans)} studies"
    with tqdm(total=total, initial=done, desc=name, unit="run", disable=hidden) as bar:
        above = not bar.disable and sys.stdout.isatty()
        lines: Any = DummyTqdmFile(sys.stderr) if above else sys.stdout
        with contextlib.redirect_stdout(lines):
            yield bar
