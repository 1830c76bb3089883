"""What is read: a teacher's tables, a page on the class, one for each student, and what is odd or has changed."""

import inspect
from collections import Counter
from datetime import datetime
from html import escape
from pathlib import Path

from classroom import hand, roster
from classroom.grade import Graded, Row
from classroom.homework import Homework
from classroom.names import slug
from classroom.sheet import table
from vitlib.files import read_json, write_atomic, write_json

FARED = {"right": "right", "named": "wrong", "told": "wrong", "error": "failed", "stopped": "stopped",
         "missing": "not found", "waiting": "not answered", "words": "in words", "nothing": "absent",
         "measured": "measured"}  # fmt: skip
STYLE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse;display:block;overflow-x:auto}td{padding:.3rem .8rem .3rem 0;vertical-align:top}
pre{white-space:pre-wrap;border-left:3px solid #8888;padding-left:1rem}p,pre{overflow-wrap:anywhere}
h2{break-after:avoid}</style>"""


def write_reports(
    out: Path,
    work: Homework,
    graded: Graded,
    people: dict[str, dict[str, str]],
    words: list[hand.Word],
    deadline: datetime | None = None,
    references: bool = False,
) -> tuple[list[str], dict[str, str]]:
    """Write grades.csv, diagnosis.csv, class.html and feedback/; what a teacher should know, and students' pages.

    Names of people and what stands in hand.csv are put into the rows; `references` shows right answers on the pages.
    """
    file, count, left = (
        out / f"last-{work.number}.json",
        len(graded.rows),
        len(graded.left_out),
    )
    last = read_json(file, "delete it") if file.exists() else {"points": {}, "seen": {}}
    odd = [f"{count} graded, {left} left out"]
    if still := ", ".join(graded.open_still):
        fix = "grade on Linux, or where nothing of value is within reach"
        odd.append(f"this system cannot forbid students' code: {still}; {fix}")
    odd += [f"left out, {why}: {name}" for name, why in graded.left_out.items()]
    odd += roster.apply(people, graded, work.tasks, deadline)
    odd += hand.apply(words, graded, last["seen"])
    pages = {}
    for row in graded.rows:
        odd += [f"{_who(row)}: {said}" for said in (row.problem, row.late) if said]
        odd += [
            f"{_who(row)} {key}: {result.again}"
            for key, result in row.results.items()
            if result.again
        ]
        pages[row.key] = _page(work, row, references)
        write_atomic(
            out / "feedback" / f"{slug(row.key)}.html", pages[row.key].encode()
        )
    odd += _identical(graded.rows)
    points = {row.key: _points(row) for row in graded.rows}
    odd += _changes(last["points"], points)
    waits = [row for row in graded.rows if row.open]
    if waits:
        count = sum(len(row.open) for row in waits)
        odd.append(
            f"{count} answers of {len(waits)} students wait for you: see class.html"
        )
    _write_tables(out, work, graded.rows)
    write_atomic(out / "class.html", _class(work, graded.rows, odd).encode())
    open_ = [
        {
            "student": row.key,
            "name": row.name,
            "task": f"task {key}",
            "answer": row.results[key].digest,
        }
        for row in waits
        for key in row.open
    ]
    write_json(file, {"points": points, "seen": last["seen"], "open": open_})
    return odd, pages


def _who(row: Row) -> str:
    return f"{row.key} {row.name}".strip()


def _identical(rows: list[Row]) -> list[str]:
    """Whose notebooks hold the same cells, if something in them was answered."""
    alike: dict[str, list[Row]] = {}
    for row in rows:
        if row.same and any(
            r.kind not in ("waiting", "missing") for r in row.results.values()
        ):
            alike.setdefault(row.same, []).append(row)
    # who handed in one file together is no news
    return [
        f"identical notebooks: {', '.join(map(_who, some))}"
        for some in alike.values()
        if len({row.file for row in some}) > 1
    ]


def _points(row: Row) -> dict[str, str]:
    shown = {
        key: "open" if r.points is None else f"{r.points:g}"
        for key, r in row.results.items()
    }
    return shown | {"total": f"{row.total:g}"}


def _changes(before: dict, now: dict) -> list[str]:
    """What other points somebody has than the last time, and who is new or there no more."""
    gone = [key for key in before if key not in now]
    found = [
        f"gone since the last time: {key}, {before[key]['total']} points"
        for key in gone
    ]
    for key, new in now.items() if before else ():
        old = before.get(key, new)
        parts = [
            f"{part} {old.get(part)} → {new[part]}"
            for part in new
            if new[part] != old.get(part)
        ]
        found += [f"new: {key}"] if key not in before else []
        found += [f"changed: {key} {', '.join(parts)}"] if parts else []
    return found


def _write_tables(out: Path, work: Homework, rows: list[Row]) -> None:
    """Those for a teacher."""
    heads = [f"task {key}" for key in work.tasks]
    grades: list[list] = [
        ["student", "name", *heads, *"late penalty total of open problem".split()]
    ]
    told: list[list] = [
        "student name task points of kind says left-out words comment answer".split()
    ]
    for row in rows:
        points = [
            None if r.points is None else float(r.points) for r in row.results.values()
        ]
        rest = [
            row.late,
            row.penalty or "",
            row.total,
            work.points,
            " ".join(row.open),
            row.problem,
        ]
        grades.append([row.key, row.name, *points, *rest])
        for got, (key, r) in zip(points, row.results.items(), strict=True):
            of = [row.key, row.name, f"task {key}", got, work.tasks[key].points]
            told.append(
                [*of, r.kind, r.says, r.left_out, r.answer, r.comment, r.digest]
            )
    write_atomic(out / "diagnosis.csv", table(told))
    write_atomic(out / "grades.csv", table(grades))


def _tags(name: str, *texts: str) -> str:
    """What there is to say, as HTML; all that a student or a teacher wrote is escaped."""
    return "".join(f"<{name}>{escape(text)}</{name}>\n" for text in texts if text)


def _table(head: str, lines: list[tuple]) -> str:
    rows = ("".join(f"<td>{escape(str(cell))}</td>" for cell in line) for line in lines)
    return "".join(
        [
            _tags("h2", head),
            "<table>",
            *(f"<tr>{row}</tr>\n" for row in rows),
            "</table>",
        ]
    )


def _class(work: Homework, rows: list[Row], odd: list[str]) -> str:
    """The class's page: the commonest mistakes, how each task fared, the answers in words, what is odd."""
    mean = sum(row.total for row in rows) / len(rows)
    told = [
        (_who(row), key, r.says, FARED[r.kind])
        for row in rows
        for key, r in row.results.items()
    ]
    wrong = Counter(line[1:3] for line in told if line[3] == "wrong")
    parts = [
        _tags(
            "p",
            f"{mean:.1f} of {work.points} points on average, without what is still to be read.",
        )
    ]
    parts += [
        _table(
            "Mistakes, the commonest first",
            [(n, *what) for what, n in wrong.most_common()],
        )
    ]
    for key, task in work.tasks.items():
        fared = Counter(line[3] for line in told if line[1] == key).most_common()
        sums = " + ".join(f"{count} {how}" for how, count in fared)
        parts += [
            _tags("h2", f"{key} {task.title}"),
            _tags("p", f"{sums} = {len(rows)}", task.rubric),
        ]
        for row in rows:
            if answer := row.results[key].answer:
                parts += [
                    _tags(
                        "p",
                        f"{_who(row)}: {_points(row)[key]} {r.says if (r := row.results[key]).kind != 'words' else ''}",
                    ),
                    _tags("pre", answer),
                ]
    lines = [line[:3] for line in told if line[3] in ("stopped", "failed", "not found")]
    parts += [
        _table("Failed, stopped or not found", lines),
        _table("Odd, or changed", [(said,) for said in odd]),
    ]
    head = f"{work.name}: {len(rows)} students"
    return "".join([STYLE, _tags("title", head), _tags("h1", head), *parts])


def _page(work: Homework, row: Row, references: bool) -> str:
    """A student's page: points, what the computer and a person say of each task, and where to read on."""
    still = ", ".join(
        key for key, result in row.results.items() if result.points is None
    )
    total = f"{row.total:g} of {work.points} points{f', without {still}, still to be read' if still else ''}"
    penalty = (
        f"{row.penalty:g} points. {row.comment}" if row.penalty or row.comment else ""
    )
    parts = [_tags("p", row.name, total, row.problem, row.late, penalty)]
    for key, result in row.results.items():
        task = work.tasks[key]
        points = (
            "still to be read"
            if result.points is None
            else f"{result.points:g} of {task.points}"
        )
        parts.append(
            _tags(
                "h2", f"{key} {task.title}: {points if task.points else 'not graded'}"
            )
        )
        says = {"right": "Right.", "words": "", "measured": result.says}.get(
            result.kind, f"Not yet: {result.says}"
        )
        hints = (
            task.exercise.hints if task.exercise and result.kind == "waiting" else ()
        )
        chapter, _, section = task.read.partition(" ")
        parts += [_tags("pre", result.answer), _tags("p", says)]
        for head, text in (
            ("Lines that failed and were left out:", result.left_out),
            ("Your teacher:", result.comment),
            (
                "What earns which points.",
                task.rubric if result.answer and result.points is not None else "",
            ),
            ("To begin:", "".join(hints[:1])),  # which fits no mistake
            (
                f"Read in chapter {chapter}:",
                section if result.points != task.points else "",
            ),
        ):
            parts += [_tags("p", f"{head} {text}")] if text else []
        if references and task.exercise:
            source = inspect.getsource(task.exercise.reference)
            parts += [_tags("p", "A right answer:"), _tags("pre", source)]
    head = f"{work.name}: {work.title}"
    return "".join([STYLE, _tags("title", head), _tags("h1", head), *parts])
