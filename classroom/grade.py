"""Grades a folder of submissions: students' code runs in the sandbox, the verdict is made here, from data."""

import contextlib
import hashlib
import math
import re
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from classroom.answers import Answers, Found
from classroom.homework import Task, homework, source
from classroom.names import slug
from classroom.sandbox import SECONDS, Ran, Sandbox
from classroom.submissions import Submission, find
from vitlib.checks import check_between
from vitlib.files import printable, read_json, write_json
from vitworkshop.exercises.answers import Outcome, outcome, plain, same
from vitworkshop.exercises.engine import Exercise, Verdict, judge_outcomes

JOBS = 2  # students at a time
TIMES = 30  # as much computing as the reference needs, where that is more than SECONDS
DEVICE = re.compile(r"CUDA|NVIDIA|MPS|\b(?:cuda|mps|xpu)\b")
# ways to a function that do not name it
ROUNDABOUT = (
    r"\b(?:getattr|getmembers|vars|globals|attrgetter|methodcaller|exec|eval|import_module|pickle|"
    r"CompilationUnit|__\w+__)\b"
)
CODE = sorted(Path(__file__).parent.glob("*.py"))  # by which it is graded
# references share PyTorch's random numbers, so one verdict is made at a time
_ONE = threading.Lock()


@dataclass
class Result:
    """How one task of one student fared; `points` is None where a person gives them."""

    points: float | None
    kind: str  # right, named, told, waiting, error; stopped, missing, nothing; words
    says: str = ""
    answer: str = ""  # in words
    digest: str = ""  # of the answer
    left_out: str = ""  # lines that failed
    comment: str = ""  # a person's
    again: str = ""  # why a person should look again


@dataclass
class Row:
    """One student in the tables."""

    key: str
    results: dict[str, Result]
    problem: str = ""
    date: float = 0.0
    name: str = ""
    file: str = ""  # what was handed in is called
    same: str = ""  # a mark of what the cells hold
    late: str = ""
    penalty: float = 0.0  # a person's, with its comment
    comment: str = ""

    @property
    def total(self) -> float:
        """The points there are so far."""
        return max(
            0.0,
            sum(result.points or 0 for result in self.results.values()) + self.penalty,
        )

    @property
    def points(self) -> float | None:
        """The points, where nothing waits for a person and something was handed in."""
        waits = any(result.points is None for result in self.results.values())
        return None if waits else self.total

    @property
    def open(self) -> list[str]:
        """The tasks that wait for a person."""
        return [
            key
            for key, result in self.results.items()
            if result.kind != "nothing" and (result.points is None or result.again)
        ]


@dataclass
class Graded:
    """What became of everything in a folder; `open_still` is what the system could not forbid."""

    rows: list[Row]
    left_out: dict[str, str]
    open_still: list[str]


def kept(out: Path, seed: int | None) -> dict[str, Any]:
    """What is kept of a class: the seed of what is hidden, as it is given, as the last time, or else a secret one."""
    state = out / "state.json"
    known = (
        read_json(state, "delete it, and give the old --seed if you know it")
        if state.exists()
        else {}
    )
    known["seed"] = (
        known.get("seed", secrets.randbelow(2**32)) if seed is None else seed
    )
    check_between("seed", known["seed"], 0, 2**63 - 1)
    write_json(state, known)
    return known


def grade(
    folder: Path,
    number: int,
    out: Path,
    seed: int | None = None,
    people: dict[str, str] | None = None,
    again: str = "",
) -> Graded:
    """Grade a homework of `people`, ids with names; what `out` keeps is not graded again, but for one kind."""
    work = homework(number)
    if out.resolve().is_relative_to(folder.resolve()):
        raise ValueError(
            f"expected --out beside the submissions, got {out}; it would count as one of them"
        )
    submissions, left_out = find(folder, people or {})
    known = kept(out, seed)
    exercises = {
        key: task.hidden(known["seed"])
        for key, task in work.tasks.items()
        if task.exercise
    }
    seconds = {key: _seconds(exercise) for key, exercise in exercises.items()}
    about = hashlib.sha256(
        b"".join(
            [
                str(known["seed"]).encode(),
                *map(Path.read_bytes, [source(number), *CODE]),
            ]
        )
    ).hexdigest()

    def one(submission: Submission) -> Row:
        file = out / "students" / f"{slug(submission.key)}-{number}.json"
        mark = hashlib.sha256(f"{about}{submission.digest}".encode()).hexdigest()
        name = submission.paths[-1].name
        row = Row(submission.key, {}, date=submission.date, file=name)
        with contextlib.suppress(
            OSError, ValueError, KeyError, TypeError
        ):  # else it is graded once more
            before = read_json(file, "")
            if before["mark"] == mark:
                row.results = {
                    key: Result(**result) for key, result in before["results"].items()
                }
                row.problem, row.same = before["problem"], before["same"]
                if again not in {result.kind for result in row.results.values()}:
                    return row
        room = rooms.pop()
        try:
            with _ONE:
                submission.read(number)
            row.problem, text = submission.problem, str(submission.cells)
            row.same = hashlib.sha256(text.encode(errors="replace")).hexdigest()
            answers = Answers(submission.cells, work)
            for key, task in work.tasks.items():
                row.results[key] = _graded(
                    submission,
                    answers,
                    key,
                    task,
                    exercises.get(key),
                    room,
                    seconds.get(key, 0),
                )
            results = {key: asdict(result) for key, result in row.results.items()}
            kept_ = {"problem": row.problem, "same": row.same}
            write_json(file, {"results": results, "mark": mark} | kept_)
        except (
            OSError,
            MemoryError,
        ) as error:  # costs this student alone, until the next run
            row.problem = printable(f"not graded, run again: {error}")
            row.results = {
                key: Result(None, "stopped", row.problem) for key in work.tasks
            }
        finally:
            submission.cells = []
            rooms.append(room)
        return row

    with contextlib.ExitStack() as stack:
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
        # started when needed
        rooms = [
            stack.enter_context(contextlib.closing(Sandbox())) for _ in range(JOBS)
        ]
        pool = stack.enter_context(ThreadPoolExecutor(JOBS))
        rows = [*tqdm(pool.map(one, submissions), work.name, len(submissions))]
    open_still = next(
        (r.open_still for r in rooms if r.open_still is not None),
        known.get("open_still", []),
    )
    write_json(out / "state.json", known | {"open_still": open_still})
    return Graded(rows, left_out, open_still)


def _seconds(exercise: Exercise) -> int:
    """How long students' code may compute for a task."""
    start = time.thread_time()
    for case in exercise.cases:
        outcome(exercise.run, exercise.reference, case)
    return max(SECONDS, math.ceil(TIMES * (time.thread_time() - start)))


def _graded(
    submission: Submission,
    answers: Answers,
    key: str,
    task: Task,
    exercise: Exercise | None,
    room: Sandbox,
    seconds: int,
) -> Result:
    if not submission.cells:
        return Result(None, "missing", submission.problem or "it has no cells")
    if exercise is None:
        return _unjudged(answers.words(key), submission)
    found = answers.code(key, task.name, exercise.reference)
    if not found.cells:
        return _unjudged(found, submission)
    ran = room.run(found.cells, task.name, exercise.cases, seconds)
    if "NameError" in str(ran.values) and found.later:  # of what stands below it
        ran = room.run(found.cells + found.later, task.name, exercise.cases, seconds)
    with _ONE:
        verdict = judged(task, exercise, ran)
        right = parts(task, exercise, ran) if verdict.kind in ("named", "told") else []
    share = len(right) / len(task.parts) if right else verdict.kind == "right"
    failed = left_out(ran)
    odd = found.odd or {
        "missing": "it cannot be run",
        "waiting": "it returns nothing, and is no stub",
    }.get(verdict.kind, "")
    if device := DEVICE.search(f"{verdict.says} {failed}"):
        odd = f"it asks for {device[0]}, which is not where it was graded"
    result = Result(
        math.floor(2 * share * task.points) / 2,
        verdict.kind,
        "" if verdict.kind == "right" else verdict.says,
        digest=found.digest,
        left_out=failed,
    )
    result.says += f" (right: {' and '.join(right)})" if right else ""
    if odd and result.points != task.points:
        result.points, result.answer = None, found.text
        result.says = f"{result.says}; {odd}".removeprefix("; ")
    elif result.points and task.forbidden:
        text = "\n".join(text for _, text in found.cells + found.later)
        if used := re.search(f"{task.forbidden}|{ROUNDABOUT}", text):
            result.again = f"look again: it was asked for without {used[0]}"
    return result


def _unjudged(found: Found, submission: Submission) -> Result:
    """What a person reads; no points where there is nothing but a place left empty."""
    kind, odd = "missing", found.odd
    if found.text and not odd:
        kind = "words"
    elif submission.several:
        odd = odd or "nothing in the notebook that was read; there are others"
    if not found.text and not odd:
        return Result(0, "waiting", "not answered", digest=found.digest)
    return Result(None, kind, odd, found.text, found.digest)


def parts(task: Task, exercise: Exercise, ran: Ran) -> list[str]:
    """Which parts of a wrong answer are right in every call, where a task has parts."""
    right = []
    for part, name in enumerate(task.parts):
        with contextlib.suppress(Exception):  # it has no such part
            pairs = [*zip(map(_outcome, ran.values[1:]), exercise.wanted, strict=True)]
            fits = [
                same(plain(g.value)[part], plain(w.value)[part], exercise.tol)
                for g, w in pairs
            ]
            right += (
                [name]
                if all(fits) and not any(g.error or g.changed for g, _ in pairs)
                else []
            )
    return right


def left_out(ran: Ran) -> str:
    """The lines of the cells that failed; what came may have any form."""
    with contextlib.suppress(Exception):
        lines = ran.values[0]["failed"]
        failed = [
            f"{f'cell {int(n)}, line {int(m)}: ' if n else ''}{error:.40}: {says:.160}"
            for n, m, error, says in lines
        ]
        return printable("; ".join(failed[:3])) + (
            f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
        )
    return ""


def judged(task: Task, exercise: Exercise, ran: Ran) -> Verdict:
    """The verdict on what a process sent; nothing in it is trusted to have any form."""
    head, *frames = ran.values or [{}]
    if ran.why:
        return Verdict("stopped", ran.why)
    try:
        if head["there"] is not True:
            return Verdict(
                "missing",
                f"there is no function {task.name}; {left_out(ran)}".rstrip("; "),
            )
        got = [_outcome(frame) for frame in frames]
        verdict = (
            judge_outcomes(exercise, got) if len(got) == len(exercise.cases) else None
        )
    except Exception:  # what came is no answer: not a reason to stop
        verdict = None
    return verdict or Verdict(
        "told", "what it returns cannot be compared: tensors and numbers are asked for"
    )


def _outcome(frame: dict[str, Any]) -> Outcome:
    words = {
        name: printable(f"{frame[name]:.160}") for name in ("error", "says", "where")
    }
    changed, printed = int(frame["changed"]), frame["printed"] is True
    # it is plain already; once more, and half precision would no longer be seen
    return Outcome(
        frame["value"],
        words["error"],
        words["says"],
        words["where"],
        changed,
        printed,
    )
