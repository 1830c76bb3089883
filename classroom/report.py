"""What a teacher and students read: tables, a page for each student, a page on the class."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from classroom.grade import Result
from classroom.homework import Homework
from vitlib.files import write_atomic

STYLE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse}td,th{padding:.3rem .8rem .3rem 0;text-align:left;vertical-align:top}
pre{white-space:pre-wrap;border-left:3px solid #8888;padding-left:1rem}</style>"""


def write_reports(out: Path, work: Homework, graded: dict[str, Any], roster: Path | None = None) -> None:
    """Write grades.csv, diagnosis.csv, canvas.csv, moodle.csv, class.html and feedback/.

    Points that a person has put into grades.csv are kept, and counted.

    Raises:
        ValueError: If the roster has other columns than submission, id and name.
    """
    results: dict[str, dict[str, Result]] = graded["results"]
    people, hand = _people(roster, list(results)), _hand(out / "grades.csv", work)
    for student, tasks in results.items():
        for key, result in tasks.items():
            if result.points is None:
                result.points = hand.get((student, key))
    totals = {s: sum(r.points or 0 for r in tasks.values()) for s, tasks in results.items()}
    most = sum(task.points for task in work.tasks.values())
    title = f"Homework {work.number}"
    rows: list[list[Any]] = [["student", "id", *work.tasks, "total", "of", "open", "problem"]]
    told: list[list[Any]] = [["student", "task", "points", "of", "kind", "says", "answer"]]
    canvas: list[list[Any]] = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title]]
    canvas.append(["    Points Possible", "", "", "", "", most])
    moodle: list[list[Any]] = [["ID number", "Full name", title, "Feedback"]]
    for student, tasks in results.items():
        still = [key for key, result in tasks.items() if result.points is None]
        points = [_shown(result.points) for result in tasks.values()]
        name, number = people[student]
        rows.append(
            [student, number, *points, totals[student], most, " ".join(still), graded["problems"][student]]
        )
        said = [f"{key}: {result.says or result.kind}" for key, result in tasks.items()]
        canvas.append([name, "", number, "", "", totals[student]])
        moodle.append([number, name, totals[student], "; ".join(said)])
        for key, r in tasks.items():
            told.append([student, key, _shown(r.points), work.tasks[key].points, r.kind, r.says, r.answer])
        page = _page(work, name, tasks, graded["problems"][student])
        write_atomic(out / "feedback" / f"{graded['slugs'][student]}.html", page.encode())
    for name, lines in (("diagnosis", told), ("canvas", canvas), ("moodle", moodle), ("grades", rows)):
        write_atomic(out / f"{name}.csv", table(lines))
    write_atomic(out / "class.html", _class(work, graded, totals, most).encode())


def _people(roster: Path | None, students: list[str]) -> dict[str, tuple[str, str]]:
    """Name and id of each student; by default both are the submission's name."""
    people = {student: (student, student) for student in students}
    if roster is not None:
        with open(roster, encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file)
            if not {"submission", "id", "name"} <= {*(table.fieldnames or ())}:
                raise ValueError(
                    f"expected the columns submission, id and name in {roster}, got {table.fieldnames}; add them"
                )
            known = {row["submission"]: (row["name"] or "", row["id"] or "") for row in table}
        people |= {student: known[student] for student in students if student in known}
    return people


def _hand(file: Path, work: Homework) -> dict[tuple[str, str], int]:
    """The points that a person has put into the last table."""
    if not file.exists():
        return {}
    found = {}
    with open(file, encoding="utf-8-sig", newline="") as table:
        for row in csv.DictReader(table):
            for key, task in work.tasks.items():
                text = (row.get(key) or "").strip() if task.rubric else ""
                if text and not (text.isdecimal() and int(text) <= task.points):
                    raise ValueError(
                        f"expected 0 to {task.points} points for {key} in {file}, got {text!r}; mend it"
                    )
                if text:
                    found[(row.get("student") or "").removeprefix("'"), key] = int(text)
    return found


def _shown(points: int | None) -> int | str:
    return "" if points is None else points


def table(rows: Iterable[Iterable[Any]]) -> bytes:
    """A table that no spreadsheet takes for a formula."""
    file = io.StringIO()
    for row in rows:
        cells = [str(cell).replace("\0", "") for cell in row]
        csv.writer(file).writerow(
            ["'" + c if c.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else c for c in cells]
        )
    return file.getvalue().encode("utf-8-sig", errors="replace")


def _page(work: Homework, name: str, tasks: dict[str, Result], problem: str) -> str:
    """One student's page; all that a student wrote is escaped."""
    parts = [
        f"{STYLE}<title>Homework {work.number}</title><h1>Homework {work.number}: {escape(work.title)}</h1>"
    ]
    parts.append(f"<p>{escape(name)}</p>" + (f"<p><strong>{escape(problem)}</strong></p>" if problem else ""))
    for key, result in tasks.items():
        task = work.tasks[key]
        points = "read by a person" if result.points is None else f"{result.points} of {task.points}"
        parts.append(f"<h2>{key} {escape(task.title)}: {points}</h2>")
        says = {"right": "Right.", "waiting": "Not answered.", "words": ""}.get(result.kind)
        parts.append(f"<p>{escape(f'Not yet: {result.says}' if says is None else says)}</p>")
        if task.exercise and result.kind not in ("right", "words"):
            parts.append(f"<p>A hint: {escape(task.exercise.hints[0])}</p>")
        if result.answer:
            parts.append(f"<pre>{escape(result.answer)}</pre>")
    return "\n".join(parts)


def _class(work: Homework, graded: dict[str, Any], totals: dict[str, int], most: int) -> str:
    """The class's page: how each task fared, the commonest mistakes, what was stopped or not read."""
    results: dict[str, dict[str, Result]] = graded["results"]
    mean = sum(totals.values()) / len(totals)
    parts = [
        f"{STYLE}<title>Homework {work.number}</title><h1>Homework {work.number}: {len(results)} students</h1>"
    ]
    parts.append(f"<p>{mean:.1f} of {most} points on average, without what is still to be read.</p>")
    if still := graded["open_still"]:
        parts.append(
            f"<p><strong>This system could not forbid students' code: {escape(', '.join(still))}. Grade on Linux, "
            "or where nothing of value is within reach.</strong></p>"
        )
    for key, task in work.tasks.items():
        fared = [tasks[key] for tasks in results.values()]
        if task.rubric:
            parts.append(f"<h2>{key} {escape(task.title)}</h2><p>Rubric. {escape(task.rubric)}</p>")
            continue
        right = sum(result.kind == "right" for result in fared)
        parts.append(f"<h2>{key} {escape(task.title)}: {right} right</h2><table>")
        wrong = Counter(r.says or r.kind for r in fared if r.kind in ("named", "told", "waiting"))
        parts += [f"<tr><td>{count}</td><td>{escape(says)}</td></tr>" for says, count in wrong.most_common(5)]
        parts.append("</table>")
    ended = [
        f"<tr><td>{escape(student)}</td><td>{key}</td><td>{escape(result.says)}</td></tr>"
        for student, tasks in results.items()
        for key, result in tasks.items()
        if result.kind in ("stopped", "error", "missing")
    ]
    return "\n".join([*parts, "<h2>Crashed, hung or not found</h2><table>", *ended, "</table>"])
