"""Grades a folder of submissions: students' code runs in the sandbox, the verdict is made here, from data."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import queue
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from classroom.homework import Homework, Task, homework
from classroom.look import PARTS
from classroom.names import slug
from classroom.sandbox import Ran, Sandbox
from classroom.submissions import Submission, find
from vitlib.checks import check_between, check_value
from vitlib.files import printable, read_json, write_json
from vitworkshop.exercises.answers import Outcome, plain, same
from vitworkshop.exercises.engine import Exercise, Verdict, judge_outcomes

_ONE = threading.Lock()  # references share PyTorch's random numbers, so one verdict is made at a time


@dataclass
class Result:
    """How one task of one student fared; `points` is None where a person gives them."""

    points: float | None
    kind: str  # right, named, told, waiting, error; stopped, missing, nothing; words
    says: str = ""
    answer: str = ""  # in words
    left_out: str = ""  # lines that were not run
    digest: str = ""  # of the answer, in letters
    comment: str = ""  # a person's
    again: str = ""  # why a person should look again


@dataclass
class Row:
    """One student in the tables."""

    key: str
    results: dict[str, Result]
    problem: str = ""
    date: float | None = None
    name: str = ""
    id: str = ""
    late: str = ""
    penalty: float = 0.0  # a person's, with its comment
    comment: str = ""

    @property
    def total(self) -> float:
        """The points there are so far."""
        return max(0.0, sum(result.points or 0 for result in self.results.values()) + self.penalty)


@dataclass
class Graded:
    """What became of everything in a folder."""

    rows: list[Row]
    left_out: dict[str, str]
    open_still: list[str]


def grade(folder: Path, number: int, out: Path, seed: int | None = None, jobs: int = 2) -> Graded:
    """Grade a homework of all students; what was graded before and is unchanged is not graded again.

    Args:
        folder: Of submissions: one notebook or one folder a student.
        number: Of the homework.
        out: Where what is known of each student is kept.
        seed: Draws the hidden arguments; None takes that of the last time, or else a secret one.
        jobs: How many students at a time.

    Raises:
        ValueError: If an argument is wrong.
    """
    work = homework(number)
    check_between("jobs", jobs, 1, 64)
    if out.resolve().is_relative_to(folder.resolve()):
        raise ValueError(
            f"expected a folder beside the submissions for --out, got {out}; it would count as one"
        )
    submissions, left_out = find(folder)
    state = out / "state.json"
    known = read_json(state, "delete it, and give the old --seed if you know it") if state.exists() else {}
    seed = known.get("seed", secrets.randbelow(2**63)) if seed is None else seed
    check_value("seed", seed, int)
    check_between("seed", seed, 0, 2**63 - 1)
    exercises = {key: task.hidden(seed) for key, task in work.tasks.items() if task.exercise}
    references = Path(__file__).parent / "homework" / f"h{number}.py"
    about = hashlib.sha256(f"{seed} {references.read_text(encoding='utf-8')}".encode()).hexdigest()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rooms: queue.Queue[Sandbox] = queue.Queue()
    made = [Sandbox() for _ in range(min(jobs, len(submissions)))]
    for room in made:
        rooms.put(room)

    def one(submission: Submission) -> Row:
        kept = out / "students" / f"{slug(submission.key)}-{number}.json"
        mark = hashlib.sha256(f"{about}{submission.digest}".encode()).hexdigest()
        if (before := _kept(kept, mark)) is not None:
            return Row(submission.key, *before, date=submission.date)
        room = rooms.get()
        try:
            with _ONE:
                submission.read(number)
            found = {key: _graded(submission, work, key, exercises.get(key), room) for key in work.tasks}
            parts = {key: asdict(result) for key, result in found.items()}
            write_json(kept, {"mark": mark, "results": parts, "problem": submission.problem})
        except (OSError, MemoryError) as error:  # costs this student alone, until the next run
            says = f"not graded, run again: {printable(str(error))}"
            found = {key: Result(0, "stopped", says) for key in work.tasks}
            submission.problem = says
        finally:
            submission.cells = []
            rooms.put(room)
        return Row(submission.key, found, submission.problem, submission.date)

    write_json(state, known | {"seed": seed})
    pool = ThreadPoolExecutor(len(made))
    try:
        tasks = [pool.submit(one, submission) for submission in submissions]
        for _ in tqdm(as_completed(tasks), total=len(tasks), desc=f"homework {number}"):
            pass
        rows = [task.result() for task in tasks]
    finally:
        pool.shutdown(cancel_futures=True)
        for room in made:
            room.close()
        torch.set_num_threads(threads)
    seen = (room.open_still for room in made if room.open_still is not None)
    open_still = next(seen, known.get("open_still", []))
    write_json(state, known | {"seed": seed, "open_still": open_still})
    return Graded(rows, left_out, open_still)


def _kept(file: Path, mark: str) -> tuple[dict[str, Result], str] | None:
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
        results = {k: Result(**v) for k, v in known["results"].items()}
        return (results, known["problem"]) if known["mark"] == mark else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def digest(text: str) -> str:
    """A short one, which no spreadsheet takes for a number or a date."""
    return "".join(
        chr(ord("a") + byte % 26) for byte in hashlib.sha256(text.encode(errors="replace")).digest()[:8]
    )


def _graded(
    submission: Submission, work: Homework, key: str, exercise: Exercise | None, room: Sandbox
) -> Result:
    task = work.tasks[key]
    if exercise is None:
        answer = submission.words(key)
        points, kind = (None, "words") if answer else (0, "waiting")
        return Result(points, kind, "" if answer else "not answered", answer, digest=digest(answer))
    code = submission.code(key, task.name)
    if not code:
        says = submission.problem or f"no cell begins with  # task {key}, and none defines {task.name}"
        return Result(0, "missing", says, digest=digest(""))
    ran = room.run(code, task.name, exercise.cases)
    with _ONE:
        verdict, share = judged(task, exercise, ran), 1.0
        if verdict.kind in ("named", "told"):
            share, more = share_of_parts(key, exercise, ran)
            verdict = Verdict(verdict.kind, verdict.says + more)
    points = math.floor(2 * share * task.points) / 2 if verdict.kind in ("right", "named", "told") else 0
    says = "not answered" if verdict.kind == "waiting" else verdict.says
    return Result(
        points, verdict.kind, says, left_out=left_out(ran), digest=digest("\n".join(t for _, t in code))
    )


def share_of_parts(key: str, exercise: Exercise, ran: Ran) -> tuple[float, str]:
    """Which share of a wrong answer's parts is right in every call, where a task has parts."""
    right = []
    for part, name in enumerate(PARTS.get(key, ())):
        with contextlib.suppress(Exception):  # it has no such part
            pairs = list(zip(map(_outcome, ran.values[1:]), exercise.wanted, strict=True))
            fits = (same(plain(g.value)[part], plain(w.value)[part], exercise.tol) for g, w in pairs)
            if all(fits) and not any(g.error or g.changed for g, _ in pairs):
                right.append(name)
    return len(right) / len(PARTS.get(key, "1")), f" (right: {' and '.join(right)})" if right else ""


def left_out(ran: Ran) -> str:
    """The lines of the cells that were not run, or ended with an error; what came may have any form."""
    with contextlib.suppress(Exception):
        failed = ran.values[0]["failed"]
        said = [printable(f"cell {int(n)}, {error:.60}: {says:.160}") for n, error, says in failed[:3]]
        return "; ".join(said) + (f"; and {len(failed) - 3} more" if len(failed) > 3 else "")
    return ""


def judged(task: Task, exercise: Exercise, ran: Ran) -> Verdict:
    """The verdict on what a process sent; nothing in it is trusted to have any form."""
    head, *frames = ran.values or [{}]
    if ran.why:
        return Verdict("stopped", ran.why)
    try:
        if head["there"] is not True:
            if ran.first:
                return Verdict("stopped", f"{ran.first}, before {task.name} was there")
            return Verdict(
                "error", "; ".join(filter(None, [f"there is no function {task.name}", left_out(ran)]))
            )
        got = [_outcome(frame) for frame in frames]
        verdict = judge_outcomes(exercise, got) if len(got) == len(exercise.cases) else None
    except Exception:  # what came is no answer: not a reason to stop
        verdict = None
    return verdict or Verdict("told", "what it returns cannot be compared: tensors and numbers are asked for")


def _outcome(frame: dict[str, Any]) -> Outcome:
    words = {name: printable(f"{frame[name]!s:.160}") for name in ("error", "says", "where")}
    changed, printed = int(frame["changed"]), frame["printed"] is True
    return Outcome(plain(frame["value"]), words["error"], words["says"], words["where"], changed, printed)
