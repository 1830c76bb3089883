"""Grades a folder of submissions: students' code runs in the sandbox, the verdict is made here, from data."""

from __future__ import annotations

import hashlib
import json
import queue
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from classroom.homework import Homework, Task, homework, source
from classroom.sandbox import Ran, Sandbox
from classroom.submissions import Submission, find
from vitlib.checks import check_between, check_value
from vitlib.files import printable, write_json
from vitworkshop.exercises.answers import Outcome, plain
from vitworkshop.exercises.engine import Exercise, Verdict, judge_outcomes

_ONE = threading.Lock()  # references share PyTorch's random numbers, so one verdict is made at a time


@dataclass
class Result:
    """How one task of one student fared; `points` is None where a person gives them."""

    points: int | None
    kind: str  # right, named, told, waiting, error; stopped, missing; words
    says: str = ""
    answer: str = ""  # in words


def grade(folder: Path, number: int, out: Path, seed: int | None = None, jobs: int = 2) -> dict[str, Any]:
    """Grade a homework of all students; what was graded before and is unchanged is not graded again.

    Args:
        folder: Of submissions: one notebook or one folder a student.
        number: Of the homework.
        out: Where what is known of each student is kept.
        seed: Draws the hidden arguments; None takes that of the last time, or else a secret one.
        jobs: How many students at a time.

    Returns:
        "results" (of each student, of each task), "problems" (of each student), "slugs", "open_still": what the
        system could not forbid.

    Raises:
        ValueError: If an argument is wrong.
    """
    work = homework(number)
    check_between("jobs", jobs, 1, 64)
    if out.resolve().is_relative_to(folder.resolve()):
        raise ValueError(
            f"expected a folder beside the submissions for --out, got {out}; it would count as one"
        )
    submissions = find(folder)
    state = out / "state.json"
    known = json.loads(state.read_text(encoding="utf-8")) if state.exists() else {"open_still": []}
    seed = known.get("seed", secrets.randbelow(2**63)) if seed is None else seed
    check_value("seed", seed, int)
    check_between("seed", seed, 0, 2**63 - 1)
    exercises = {key: task.hidden(seed) for key, task in work.tasks.items() if task.exercise}
    about = hashlib.sha256(f"{seed} {source(number).read_text(encoding='utf-8')}".encode()).hexdigest()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rooms: queue.Queue[Sandbox] = queue.Queue()
    results: dict[str, dict[str, Result]] = {}

    def one(submission: Submission) -> dict[str, Result]:
        kept = out / "students" / f"{submission.slug}-{number}.json"
        mark = hashlib.sha256(f"{about}{submission.digest}{submission.problem}".encode()).hexdigest()
        if (before := _kept(kept, mark)) is not None:
            return before
        room = rooms.get()
        try:
            found = {key: _graded(submission, work, key, exercises.get(key), room) for key in work.tasks}
        finally:
            rooms.put(room)
        write_json(kept, {"mark": mark, "results": {key: asdict(result) for key, result in found.items()}})
        return found

    made = [Sandbox() for _ in range(min(jobs, len(submissions)))]
    for room in made:
        rooms.put(room)
    write_json(state, known | {"seed": seed})
    pool = ThreadPoolExecutor(len(made))
    try:
        tasks = {pool.submit(one, submission): submission for submission in submissions}
        for done in tqdm(as_completed(tasks), total=len(tasks), desc=f"homework {number}"):
            results[tasks[done].student] = done.result()
    finally:
        pool.shutdown(cancel_futures=True)
        for room in made:
            room.close()
        torch.set_num_threads(threads)
    open_still = next((room.open_still for room in made if room.open_still is not None), known["open_still"])
    write_json(state, {"seed": seed, "open_still": open_still})
    return {
        "results": {each.student: results[each.student] for each in submissions},
        "problems": {each.student: each.problem for each in submissions},
        "slugs": {each.student: each.slug for each in submissions},
        "open_still": open_still,
    }


def _kept(file: Path, mark: str) -> dict[str, Result] | None:
    try:
        known = json.loads(file.read_text())
        return {k: Result(**v) for k, v in known["results"].items()} if known["mark"] == mark else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _graded(
    submission: Submission, work: Homework, key: str, exercise: Exercise | None, room: Sandbox
) -> Result:
    task = work.tasks[key]
    if exercise is None:
        answer = submission.words(work.number, key)
        return Result(None, "words", answer=answer) if answer else Result(0, "waiting", "not answered")
    code = submission.code(work.number, key, task.name)
    if not code:
        says = submission.problem or f"no cell begins with  # task {key}, and none defines {task.name}"
        return Result(0, "missing", says)
    ran = room.run(code, task.name, exercise.cases)
    with _ONE:
        verdict = judged(task, exercise, ran)
    says = "not answered" if verdict.kind == "waiting" else verdict.says
    return Result(task.points if verdict.kind == "right" else 0, verdict.kind, says)


def judged(task: Task, exercise: Exercise, ran: Ran) -> Verdict:
    """The verdict on what a process sent; nothing in it is trusted to have any form."""
    head, *frames = ran.values or [{}]
    if ran.why:
        return Verdict("stopped", ran.why)
    try:
        failed = [
            printable(f"cell {int(n)}: {error:.40}: {says:.160}") for n, error, says in head["failed"][:3]
        ]
        if head["there"] is not True:
            return Verdict("error", "; ".join([f"there is no function {task.name}", *failed]))
        got = [_outcome(frame) for frame in frames]
        verdict = judge_outcomes(exercise, got) if len(got) == len(exercise.cases) else None
    except Exception:  # what came is no answer: not a reason to stop
        verdict = None
    return verdict or Verdict("told", "what it returns cannot be compared: tensors and numbers are asked for")


def _outcome(frame: dict[str, Any]) -> Outcome:
    words = {name: printable(f"{frame[name]:.160}") for name in ("error", "says", "where")}
    changed, printed = int(frame["changed"]), frame["printed"] is True
    return Outcome(plain(frame["value"]), words["error"], words["says"], words["where"], changed, printed)
