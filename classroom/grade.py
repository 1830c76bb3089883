"""Grades a folder of submissions: students' code runs in the sandbox, the verdict is made here, from data."""

import contextlib
import hashlib
import math
import re
import secrets
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from classroom.answers import Answers, Found
from classroom.homework import Homework, Task, source
from classroom.names import digest, slug
from classroom.sandbox import STOPPED, Ran, Sandbox
from classroom.submissions import File, Submission, find
from vitlib.files import printable, read_json, write_json
from vitworkshop.exercises.answers import Outcome, plain, same
from vitworkshop.exercises.engine import Exercise, Verdict, judge_outcomes
from vitworkshop.exercises.language import Said, language, say

JOBS = 2  # students at a time
DEVICE = re.compile(r"CUDA|NVIDIA|MPS|\b(?:cuda|mps|xpu)\b")
UNCLEAR = {
    "ended": Said("another cell may have ended it"),
    "missing": Said("it cannot be run"),
    "waiting": Said("it returns nothing, and is no stub"),
}
# ways to a function that do not name it
ROUNDABOUT = (
    r"\b(?:getattr|getmembers|get_objects|vars|globals|attrgetter|methodcaller|exec|(?<!\.)eval|builtins|"
    r"import_module|pickle|CompilationUnit|(?<!def )__(?!init__|future__)\w+__)\b"
)
# what an error says, and says otherwise in the next run: an address, a folder
PASSING = re.compile(r"0x[0-9a-f]{6,}|(?<=task-)\w{8}")
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
    name: str = ""
    file: str = ""  # what was handed in is called
    same: str = ""  # a mark of its code, without remarks

    @property
    def total(self) -> float:
        """The points there are so far."""
        return sum(result.points or 0 for result in self.results.values())

    @property
    def points(self) -> float | None:
        """The points, where nothing waits for a person and something was handed in."""
        nothing = any(result.points is None for result in self.results.values())
        return None if nothing or self.open else self.total

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
    """What became of everything that was handed in; `open_still` is what the system could not forbid."""

    rows: list[Row]
    open_still: list[str]


def secret(out: Path) -> int:
    """The seed of what is hidden, drawn once for what is kept in a folder."""
    state = out / "state.json"
    if not state.exists():
        write_json(state, {"seed": secrets.randbelow(2**32)})
    return read_json(state, "delete it: all is graded anew")["seed"]


def grade(
    files: list[File], work: Homework, out: Path, people: Iterable[str], again: str
) -> Graded:
    """Grade a homework of `people`, by their ids; what `out` keeps is not graded again, but for one kind."""
    submissions = find(files, people)
    seed = secret(out)
    exercises = {
        key: task.hidden(seed) for key, task in work.tasks.items() if task.exercise
    }
    by = [source(work.number), *CODE]
    about = f"{seed} {language()}".encode() + b"".join(map(Path.read_bytes, by))

    def one(submission: Submission) -> Row:
        file = out / "students" / f"{slug(submission.key)}.json"
        names = str([file.name for file in submission.files])
        by_this = about + ascii(names).encode() + submission.digest.encode()
        mark = hashlib.sha256(by_this).hexdigest()
        # else it is graded once more
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            kept = read_json(file, "")
            results = kept["results"].items()
            kept["results"] = {key: Result(**result) for key, result in results}
            old = {result.kind for result in kept["results"].values()}
            if kept.pop("mark") == mark and again not in old:
                return Row(**kept)
        row = Row(submission.key, {}, file=submission.files[-1].top)
        room = rooms.pop()
        try:
            with _ONE:
                submission.read(work.number)
            row.problem = submission.problem
            answers = Answers(submission.cells, work)
            row.same = digest(answers.bare)
            for key, task in work.tasks.items():
                row.results[key] = _graded(
                    submission, answers, key, task, exercises.get(key), room
                )
            write_json(file, asdict(row) | {"mark": mark})
        except (OSError, MemoryError) as error:
            # costs this student alone, until the next run
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
    still = {what for room in rooms for what in room.open_still or ()}
    return Graded(rows, sorted(still))


def _graded(
    submission: Submission,
    answers: Answers,
    key: str,
    task: Task,
    exercise: Exercise | None,
    room: Sandbox,
) -> Result:
    if not submission.cells:
        why = submission.problem or say("it has no cells")
        return Result(None, "missing", why, digest=digest(submission.digest))
    if exercise is None:
        return _unjudged(answers.words(key), submission)
    found = answers.code(key, task.name, exercise.reference)
    if not found.cells:
        return _unjudged(found, submission)
    ran = room.run(found.cells, task.name, exercise.cases)
    with _ONE:
        verdict = judged(task, exercise, ran)
        right = parts(task, exercise, ran) if verdict.kind in ("named", "told") else []
    share = len(right) / len(task.parts) if right else verdict.kind == "right"
    result = Result(
        math.floor(2 * share * task.points) / 2,
        verdict.kind,
        "" if verdict.kind == "right" else say(verdict.says),
        digest=found.digest,
        left_out=left_out(ran),
    )
    if right:
        result.says += say(
            " (right: {parts})", parts=say(" and ").join(map(say, right))
        )
    odd = say(found.odd or UNCLEAR.get(verdict.kind, ""))
    if result.left_out and "NameError" in verdict.says:
        odd = odd or say("lines that failed may have given the name")
    if device := DEVICE.search(f"{verdict.says} {result.left_out}"):
        odd = say(
            "it asks for {device}, which is not where it was graded", device=device[0]
        )
    if odd and result.points != task.points:
        result.points, result.answer = None, found.shown
        result.says = f"{result.says}; {odd}".removeprefix("; ")
    elif result.points and task.forbidden:
        if used := re.search(f"{task.forbidden}|{ROUNDABOUT}", found.code):
            result.again = say(
                "look again: it was asked for without {used}", used=used[0]
            )
            result.answer = found.shown
    return result


def _unjudged(found: Found, submission: Submission) -> Result:
    """What a person reads; no points where there is nothing but a place left empty."""
    odd = found.odd
    if submission.several and not found.text:
        odd = odd or Said("nothing in the notebook that was read; there are others")
    if not found.text and not odd:
        return Result(0, "waiting", say("not answered"), digest=found.digest)
    kind = "missing" if odd else "words"
    mark = found.digest if found.text else digest(submission.digest)
    return Result(None, kind, say(odd), found.shown, mark)


def parts(task: Task, exercise: Exercise, ran: Ran) -> list[str]:
    """Which parts of a wrong answer are right in every call, where a task has parts."""
    right = []
    for part, name in enumerate(task.parts):
        with contextlib.suppress(Exception):  # it has no such part
            pairs = [*zip(map(_outcome, ran.values[1:]), exercise.wanted, strict=True)]
            fits = [
                same(plain(got.value)[part], plain(want.value)[part], exercise.tol)
                and not (got.error or got.changed)
                for got, want in pairs
            ]
            right += [name] if all(fits) else []
    return right


def left_out(ran: Ran) -> str:
    """The first three lines of the cells that failed; what came may have any form."""
    with contextlib.suppress(Exception):
        failed = [
            f"{f'cell {int(n)}, line {int(m)}: ' if n else ''}{error:.40}: {says:.160}"
            for n, m, error, says in ran.values[0]["failed"]
        ]
        return told("; ".join(failed[:3]))
    return ""


def judged(task: Task, exercise: Exercise, ran: Ran) -> Verdict:
    """The verdict on what a process sent; nothing in it is trusted to have any form."""
    if ran.why:
        return Verdict("stopped" if ran.why.endswith(STOPPED) else "ended", ran.why)
    try:
        if ran.values[0]["there"] is not True:
            says = Said("there is no function {name}", name=task.name)
            said = "; ".join(filter(None, [say(says), left_out(ran)]))
            return Verdict("missing", said)
        return judge_outcomes(exercise, [*map(_outcome, ran.values[1:])])
    except Exception:  # what came is no answer: not a reason to stop
        says = Said(
            "what it returns cannot be compared: tensors and numbers are asked for"
        )
        return Verdict("told", says)


def _outcome(frame: dict[str, Any]) -> Outcome:
    words = {name: told(f"{frame[name]:.160}") for name in ("error", "says", "where")}
    changed, printed = int(frame["changed"]), frame["printed"] is True
    # it is plain already; once more, and half precision would no longer be seen
    return Outcome(frame["value"], **words, changed=changed, printed=printed)


def told(text: str) -> str:
    # an error's words, the same in every run
    return printable(PASSING.sub("…", text))
