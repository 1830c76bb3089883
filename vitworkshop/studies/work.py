"""Does runs: in turn, or several at once in processes of their own; each is done by one process, and kept by it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from threading import Thread

import torch

from vitlib.evidence import write_json
from vitworkshop.studies.kept import ROWS, Taken, alone, read_rows
from vitworkshop.studies.plan import Place, Plan
from vitworkshop.studies.study import Job, Study

__all__ = ["work"]

WAIT = 1.0  # seconds between two looks at runs that another runner has in hand
Task = tuple[Plan, Place]


def work(
    todo: list[Task], jobs: int, deadline: float | None, progress: bool = True
) -> Iterator[tuple[Plan, Place, list[dict]]]:
    """Each run that ends in time, with its rows, as it ends; what another runner has in hand is waited for.

    Args:
        todo: The runs, in their order.
        jobs: How many at once.
        deadline: When to stop, as `time.time` has it, or None.
        progress: Whether to say what is waited for.

    Raises:
        FloatingPointError: At the end, if a run's loss was no longer a number.
        ChildProcessError: If a process of the pool was killed.
    """
    failed, over, waiting = [], False, 0
    with _pool(jobs) as pool:
        while todo and not over:
            taken = []
            for (plan, place), outcome in _outcomes(todo, pool, deadline):
                try:
                    rows = outcome()
                except Taken:
                    taken.append((plan, place))
                    continue
                except FloatingPointError as error:  # this run will never end, others will
                    failed.append(f"{plan.name}: {place[0]}, seed {place[1]}: {error}")
                    continue
                if over := rows is None:
                    break
                yield plan, place, rows
            if taken and not over:
                if progress and len(taken) != waiting:
                    print(f"waiting for {len(taken)} runs that another runner has in hand", flush=True)
                waiting = len(taken)
                time.sleep(WAIT)
            todo = taken
    if failed:
        raise FloatingPointError("; ".join(failed))


def _outcomes(
    todo: list[Task], pool: Executor | None, deadline: float | None
) -> Iterator[tuple[Task, Callable[[], list[dict] | None]]]:
    """Each run with what gives its rows: here when that is called, or in the pool, as they end."""
    calls = [
        (task, partial(_one, plan.study, place, plan.job, plan.about(place[0]), plan.usual, deadline))
        for task in todo
        for plan, place in [task]
    ]
    if pool is None:
        yield from calls
        return
    futures = {pool.submit(call): task for task, call in calls}
    for future in as_completed(futures):
        yield futures[future], future.result


def _one(
    study: Study, place: Place, job: Job, about: dict, usual: dict, deadline: float | None
) -> list[dict] | None:
    """The rows of one run, which are kept before anybody hears of them; None if the time was over.

    Raises:
        Taken: If another runner is at it.
    """
    left = None if deadline is None else (deadline - time.time()) / 60
    if left is not None and left <= 0:
        return None
    folder = job.folder(*place)
    with alone(folder):
        rows = read_rows(folder / ROWS, about, usual)  # another runner may have finished it meanwhile
        if rows is None and (rows := study.run(study, *place, replace(job, left=left))) is not None:
            write_json(folder / ROWS, {"about": about, "rows": rows})
        return rows


@contextlib.contextmanager
def _pool(jobs: int) -> Iterator[Executor | None]:
    """Processes for `jobs` runs at once, None for one; after Ctrl-C, which all of them hear, no run is begun."""
    if jobs == 1:
        yield None
        return
    threads = max(1, torch.get_num_threads() // jobs)
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (threads,))
    try:
        yield pool
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a process was killed in the middle of a run, perhaps for want of memory; the same command goes on, "
            f"with --jobs below {jobs} if that was it"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(threads: int) -> None:
    """Set a process of the pool up: its share of the threads, and to end when the runner is killed."""

    def follow(parent: BaseProcess) -> None:
        parent.join()
        os._exit(1)

    torch.set_num_threads(threads)
    if parent := parent_process():
        Thread(target=follow, args=(parent,), daemon=True).start()
