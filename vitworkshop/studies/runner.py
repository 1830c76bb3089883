"""Runs studies: every variant with every seed, skipping what is finished, beside other runners or alone."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from filelock import Timeout
from tqdm import tqdm
from tqdm.contrib import DummyTqdmFile

from vitlib.checks import check_between, is_number
from vitlib.data.dataset import Dataset
from vitworkshop.studies.choosing import at_edge
from vitworkshop.studies.plan import Plan, Trial, make_plans
from vitworkshop.studies.registry import folders
from vitworkshop.studies.report import show

WAIT = 1.0  # seconds between two looks at trials that another runner has in hand


def run_studies(
    places: Mapping[str, Path],
    load: Callable[[str], Dataset],
    *,
    jobs: int = 1,
    budget_minutes: float | None = None,
    progress: bool = True,
    **how: Any,
) -> dict[str, dict]:
    """Run several studies as one, the most valuable first: all variants with a first seed before any with a second.

    Each finished trial is kept at once in a small file in its own folder. Several runners may share the folders: a
    trial is done by one of them, and all end when all are done. One that is killed loses its last minute at most.

    `jobs` is how many trials run at once, each in a process with its share of the threads. After `budget_minutes` it
    stops, and the same call goes on. For the rest see `make_plans`. A loss that is no longer a number
    raises FloatingPointError, after all other trials; a process that was killed, ChildProcessError.
    """
    check_between("jobs", jobs, 1, 64)
    if budget_minutes is not None and not (
        is_number(budget_minutes) and 0 < budget_minutes < float("inf")
    ):
        raise ValueError(
            f"budget_minutes must be above 0, got {budget_minutes!r}; leave it out to run to the end"
        )
    plans = make_plans(places, load, **how)
    deadline = None if budget_minutes is None else time.time() + 60 * budget_minutes
    for plan in plans:
        plan.job.deadline, plan.job.progress = deadline, progress and jobs == 1
        plan.write()
    with _bar(plans, progress) as bar:
        while todo := in_order(plans):
            for plan, (variant, seed), rows in _run_all(todo, jobs, progress):
                plan.done[variant, seed] = rows
                if progress and rows:
                    score = show(
                        rows[-1]["final"][plan.study.metric], plan.study.metric
                    )
                    count = f"{plan.finished} of {len(plan.trials)} runs"
                    print(
                        f"{plan.name}: {variant}, seed {seed}: {score} ({count})",
                        flush=True,
                    )
                plan.write()
                bar.total = sum(len(plan.trials) for plan in plans)
                bar.update(sum(plan.finished for plan in plans) - bar.n)
            if any(task[1] not in task[0].done for task in todo):  # the time is over
                break
    results = {plan.name: plan.write() for plan in plans}
    for plan in plans if progress else ():
        for variant in at_edge(plan.study, results[plan.name]["runs"]):
            print(
                f"{plan.name}: {variant} is the last of the rates that may be tried: no row rests on it"
            )
    return results


def in_order(plans: list[Plan]) -> list[tuple[Plan, Trial]]:
    """What is to be run next, as far as what is finished tells: every study's first seed, then every one's second."""
    todo = []
    for plan in plans:
        order = list(dict.fromkeys(seed for _, seed in plan.trials))
        left = [trial for trial in plan.trials if trial not in plan.done]
        plan.check_machine(left)
        todo += [(order.index(trial[1]), plan, trial) for trial in left]
    return [(plan, trial) for _, plan, trial in sorted(todo, key=lambda task: task[0])]


def run_study(
    name: str,
    data: Dataset,
    out: str | Path | None = None,
    *,
    n_val: int = 5000,
    **how: Any,
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
        pool = ProcessPoolExecutor(
            jobs, multiprocessing.get_context("spawn"), _begin, (threads,)
        )
    try:
        while todo:
            held = []  # by other runners
            outcomes = [
                (task, partial(replace(task[0], done={}).run, task[1])) for task in todo
            ]
            if pool:
                futures = {pool.submit(run): task for task, run in outcomes}
                outcomes = (
                    (futures[future], future.result) for future in as_completed(futures)
                )
            for (plan, trial), outcome in outcomes:
                try:
                    rows = outcome()
                except Timeout:
                    held.append((plan, trial))
                except (
                    FloatingPointError
                ) as error:  # this one will never end, others will
                    failed.append(f"{plan.name}: {trial[0]}, seed {trial[1]}: {error}")
                else:
                    if rows is None:  # the time is over
                        held.clear()
                        break
                    yield plan, trial, rows
            if progress and held and len(held) != waiting:
                print(
                    f"waiting for {len(held)} runs that another runner has in hand",
                    flush=True,
                )
            time.sleep(WAIT if held else 0)
            todo, waiting = held, len(held)
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a process was killed in the middle of a run, perhaps for want of memory; the same command goes on, "
            f"with --jobs below {jobs} if that was it"
        ) from error
    finally:
        if pool:
            # after Ctrl-C, which all processes hear, no trial is begun
            pool.shutdown(cancel_futures=True)
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
    total, done = (
        sum(len(plan.trials) for plan in plans),
        sum(plan.finished for plan in plans),
    )
    name = plans[0].name if len(plans) == 1 else f"{len(plans)} studies"
    with tqdm(total=total, initial=done, desc=name, unit="run", disable=hidden) as bar:
        above = not bar.disable and sys.stdout.isatty()
        lines: Any = DummyTqdmFile(sys.stderr) if above else sys.stdout
        with contextlib.redirect_stdout(lines):
            yield bar
