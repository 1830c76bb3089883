"""Runs studies: every variant with every seed, skipping what is finished, beside other runners or alone."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from vitlib.checks import check_between, is_number
from vitlib.data.dataset import Dataset
from vitlib.device import pick_device
from vitlib.evidence import provenance
from vitlib.train.checkpoint import checksum
from vitlib.train.precision import pick_precision
from vitlib.train.recipe import recipe
from vitworkshop.studies.plan import Plan
from vitworkshop.studies.registry import STUDIES, find, folders
from vitworkshop.studies.report import board, report, show, tell
from vitworkshop.studies.study import Job
from vitworkshop.studies.work import work

# what finds and tells is here too: whoever uses studies needs this module alone
__all__ = ["STUDIES", "board", "find", "folders", "make_plans", "report", "run_plans", "run_study", "tell"]


def run_study(
    name: str,
    data: Dataset,
    *,
    scale: str = "quick",
    seeds: tuple[int, ...] | None = None,
    out: str | Path | None = None,
    n_val: int = 5000,
    device: str = "auto",
    budget_minutes: float | None = None,
    jobs: int = 1,
    progress: bool = True,
    start_from: str | Path | None = None,
    **changes,
) -> dict:
    """Run every variant with every seed, skipping what is finished, and write `<out>/<name>.json`.

    Each finished run is kept at once in a small file in its own folder. Several runners may share `out`: a run is done
    by one of them, and all of them end when all runs are done. One that is killed loses at most its last minute.

    Args:
        name: One of `STUDIES`.
        data: The training images; `n_val` of them are held out. The test set is not read.
        scale: "quick" (a laptop) or "full" (a GPU).
        seeds: Every variant is run with the first before any with the second; None takes the study's.
        out: Folder of the runs and of the results; None is `runs/study-<name>`.
        n_val: Images held out.
        device: "auto", "cpu", "cuda" or "mps".
        budget_minutes: Stop after this time; the same call goes on.
        jobs: Runs at once, each in a process with its share of the threads, all on the one device.
        progress: Whether to show bars and lines.
        start_from: A folder whose `<name>.json` has runs that count as finished, where they are the same as these;
            "results" is the book's own.
        **changes: Fields that every run changes, as for `recipe`.

    Returns:
        What the file holds: "runs", each with "variant", "changes", "seed" and "final"; "summary", mean, sd (over
        seeds) and n of each variant; "verdicts" of the study's claims; "finished" says whether all ran.

    Raises:
        ValueError: If the study or the scale is unknown, the data do not fit, or what the folder holds is damaged or
            of other runs; nothing is written then.
        FloatingPointError: After all other runs, if a loss was no longer a number.
    """
    plans = make_plans(
        folders(name, out),
        lambda _: data,
        scale=scale,
        seeds=seeds,
        n_val=n_val,
        device=device,
        changes=changes,
    )
    more = {"jobs": jobs, "budget_minutes": budget_minutes, "progress": progress, "start_from": start_from}
    return run_plans(plans, **more)[name]


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
    """Studies ready to run, with what of them is finished; nothing is written.

    Args:
        places: Name of a study -> folder of its runs.
        load: Gives the training images by the name of a data set.
        scale: "quick" or "full".
        seeds: None takes each study's.
        n_val: Images held out; None takes a tenth, 5,000 at most.
        device: "auto", "cpu", "cuda" or "mps".
        changes: Fields that every run changes, as for `recipe`.

    Raises:
        ValueError: If a study, the scale or a seed is unknown, the data do not fit, or a folder is not the study's.
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
        """The images to train on, those held out, and a checksum; made once for all studies that share them."""
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
        base = None if study.base is None else recipe(study.base, **shared)  # before any data are loaded
        train, val, crc = divide(study.data, study.n_train, study.holdout)
        shared, base = {"data": train.name, **shared}, base and replace(base, data=train.name)
        precision = "fp32" if base is None else base.precision
        if base is not None and precision == "auto":
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
            **({} if base is None else {"base": asdict(base)}),
        }
        job = Job(train, val, out, scale, shared, device, None, False)
        plans.append(Plan(name, study, job, header, study.seeds if seeds is None else tuple(seeds)))
    for plan in plans:
        plan.check_folder()
        plan.collect()
    return plans


def run_plans(
    plans: list[Plan],
    *,
    jobs: int = 1,
    budget_minutes: float | None = None,
    progress: bool = True,
    start_from: str | Path | None = None,
) -> dict[str, dict]:
    """Run several studies as one: every variant of all of them with its first seed, before any with its second.

    Args:
        plans: The studies, the most valuable first; of none, only the other arguments are checked.
        jobs: As for `run_study`.
        budget_minutes: For all of them together.
        progress: Whether to show bars and lines.
        start_from: As for `run_study`.

    Returns:
        Name -> what its file of results holds.

    Raises:
        ValueError: If a number is out of range, or the folder to start from is not there or damaged.
        FloatingPointError: After all other runs, if a loss was no longer a number.
    """
    check_between("jobs", jobs, 1, 64)
    if budget_minutes is not None and not (is_number(budget_minutes) and 0 < budget_minutes < float("inf")):
        raise ValueError(
            f"budget_minutes must be above 0, got {budget_minutes!r}; leave it out to run to the end"
        )
    if start_from is not None and start_from != "results" and not Path(start_from).is_dir():
        raise ValueError(f"there is no folder {start_from} to start from; 'results' takes the book's own")
    if not plans:
        return {}
    deadline = None if budget_minutes is None else time.time() + 60 * budget_minutes
    for plan in plans:
        plan.job.progress = progress and jobs == 1
        if start_from is not None and (said := plan.take(start_from)) and progress:
            print(said, flush=True)
        plan.write()
    todo = [(plan, place) for plan in plans for place in plan.places if place not in plan.done]
    todo.sort(key=lambda task: task[0].seeds.index(task[1][1]))  # else in their order
    with _bar(plans, progress) as bar:
        for plan, (variant, seed), rows in work(todo, jobs, deadline, progress):
            plan.done[variant, seed] = rows
            if progress and rows:
                score = show(rows[-1]["final"][plan.study.metric], plan.study.metric)
                count = f"{plan.finished} of {len(plan.places)} runs"
                print(f"{plan.name}: {variant}, seed {seed}: {score} ({count})", flush=True)
            plan.write()
            bar.update(sum(plan.finished for plan in plans) - bar.n)
    return {plan.name: plan.write() for plan in plans}


@contextlib.contextmanager
def _bar(plans: list[Plan], progress: bool) -> Iterator[Any]:
    """A bar over the runs, where there is a terminal; what is printed meanwhile stands above it."""
    from tqdm import tqdm

    hidden = not progress or not (sys.stderr.isatty() or "ipykernel" in sys.modules)
    total, done = sum(len(plan.places) for plan in plans), sum(plan.finished for plan in plans)
    name = plans[0].name if len(plans) == 1 else f"{len(plans)} studies"
    with tqdm(total=total, initial=done, desc=name, unit="run", disable=hidden) as bar:
        with contextlib.nullcontext() if bar.disable else contextlib.redirect_stdout(_Above(bar, sys.stdout)):
            yield bar


class _Above(io.TextIOBase):
    """What is printed, line by line, where no bar stands."""

    def __init__(self, bar: Any, out: Any) -> None:
        self.bar, self.out, self.line = bar, out, ""

    def write(self, text: str) -> int:
        *lines, self.line = (self.line + text).split("\n")
        if lines:
            with self.bar.external_write_mode(file=sys.stderr):  # takes all bars away, and shows them again
                self.out.write("\n".join([*lines, ""]))
                self.out.flush()
        return len(text)
