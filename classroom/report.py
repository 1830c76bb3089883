"""What a teacher reads: tables, a page on the class, and what is odd or has changed since the last time."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

from classroom import hand, roster
from classroom.feedback import STYLE, page
from classroom.grade import Graded
from classroom.homework import Homework
from classroom.names import slug
from classroom.sheet import Sheet, table
from vitlib.files import read_json, write_atomic, write_json

FARED = {  # each kind of verdict, in words
    "right": "right", "named": "wrong", "told": "wrong", "error": "failed", "stopped": "stopped",
    "missing": "not found", "waiting": "not answered", "words": "in words", "nothing": "nothing handed in",
}  # fmt: skip


def write_reports(
    out: Path,
    work: Homework,
    graded: Graded,
    people: Sheet | None = None,
    words: tuple[list[hand.Word], str] = ([], ""),
    deadline: datetime | None = None,
    references: bool = False,
) -> list[str]:
    """Write grades.csv, diagnosis.csv, canvas.csv, moodle.csv, class.html and feedback/; what a teacher should know.

    Args:
        out: The folder.
        work: The homework.
        graded: What became of the submissions; names, and what a person says, are put into it.
        people: The roster.
        words: What stands in hand.csv, and between its cells.
        deadline: After which a submission is late.
        references: Whether pages show right answers.
    """
    file = out / f"last-{work.number}.json"
    last = read_json(file, "delete it") if file.exists() else {"points": {}, "seen": {}}
    entries = len(graded.rows)
    odd = [
        f"{len(graded.left_out) + entries} in the folder: {entries} graded, {len(graded.left_out)} left out"
    ]
    odd += [f"left out, {why}: {name}" for name, why in graded.left_out.items()]
    odd += roster.apply(people, graded, work.tasks, deadline)
    odd += hand.apply(words[0], graded, last["seen"], work.number)
    open_ = [
        (row, key) for row in graded.rows for key, r in row.results.items() if r.points is None or r.again
    ]
    for row in graded.rows:
        odd += [
            f"{row.key}: {said}" for said in (row.problem, row.late) if said and said != "nothing handed in"
        ]
        odd += [f"{row.key} {key}: {r.again}" for key, r in row.results.items() if r.again]
    points = {row.key: _points(row) for row in graded.rows}
    odd += _changes(last["points"], points)
    delimiter = people.delimiter if people else words[1] or ","
    _write_tables(out, work, graded, delimiter)
    for row in graded.rows:
        write_atomic(out / "feedback" / f"{slug(row.key)}.html", page(work, row, references).encode())
    write_atomic(out / "class.html", _class(work, graded, odd).encode())
    wanted = [[row.key, key, row.results[key].digest] for row, key in open_]
    write_json(file, {"points": points, "seen": last["seen"], "open": wanted, "delimiter": delimiter})
    return odd


def _points(row: Any) -> dict[str, str]:
    shown = {key: "open" if r.points is None else f"{r.points:g}" for key, r in row.results.items()}
    return shown | {"total": f"{row.total:g}"}


def _changes(before: dict, now: dict) -> list[str]:
    """What other points somebody has than the last time, and who is there no more."""
    found = [
        f"gone since the last time: {key}, {old['total']} points"
        for key, old in before.items()
        if key not in now
    ]
    for key, new in now.items():
        old = before.get(key, new)
        found += [
            f"changed: {key} {part} {old.get(part)} → {new[part]}"
            for part in new
            if old.get(part) != new[part]
        ]
    return found + [f"new: {key}" for key in now if before and key not in before]


def _write_tables(out: Path, work: Homework, graded: Graded, delimiter: str) -> None:
    most = sum(task.points for task in work.tasks.values())
    title = f"Homework {work.number}"
    heads = [f"task {key}" for key in work.tasks]
    rows: list[list[Any]] = [
        ["student", "id", "name", *heads, "late", "penalty", "total", "of", "open", "problem"]
    ]
    told: list[list[Any]] = [
        ["student", "task", "points", "of", "kind", "says", "left out", "answer", "comment", "digest"]
    ]
    canvas: list[list[Any]] = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title]]
    canvas.append(["    Points Possible", "", "", "", "", most])
    moodle: list[list[Any]] = [["ID number", "Full name", title, "Feedback"]]
    for row in graded.rows:
        points = ["" if r.points is None else float(r.points) for r in row.results.values()]
        still = " ".join(key for key, r in row.results.items() if r.points is None or r.again)
        rest = [row.late, row.penalty or "", row.total, most, still, row.problem]
        rows.append([row.key, row.id, row.name, *points, *rest])
        said = [
            f"{key}: {r.says or FARED[r.kind]}{f' ({r.comment})' * bool(r.comment)}"
            for key, r in row.results.items()
        ]
        canvas.append([row.name, "", row.id, "", "", row.total])
        moodle.append([row.id, row.name, row.total, "; ".join(said)])
        for (key, r), n in zip(row.results.items(), points, strict=True):
            of = work.tasks[key].points
            told.append(
                [row.key, f"task {key}", n, of, r.kind, r.says, r.left_out, r.answer, r.comment, r.digest]
            )
    for name, lines in (("diagnosis", told), ("grades", rows)):
        write_atomic(out / f"{name}.csv", table(lines, delimiter))
    for name, lines in (("canvas", canvas), ("moodle", moodle)):
        write_atomic(out / f"{name}.csv", table(lines))


def _class(work: Homework, graded: Graded, odd: list[str]) -> str:
    """The class's page: the commonest mistakes, how each task fared, the answers in words, what is odd, all points."""
    rows, most = graded.rows, sum(task.points for task in work.tasks.values())
    mean = sum(row.total for row in rows) / len(rows)
    parts = [
        f"{STYLE}<title>Homework {work.number}</title><h1>Homework {work.number}: {len(rows)} students</h1>"
    ]
    parts.append(f"<p>{mean:.1f} of {most} points on average, without what is still to be read.</p>")
    if still := graded.open_still:
        parts.append(
            f"<p><strong>This system could not forbid students' code: {escape(', '.join(still))}. Grade on Linux, "
            "or where nothing of value is within reach.</strong></p>"
        )
    wrong = Counter((k, r.says) for row in rows for k, r in row.results.items() if FARED[r.kind] == "wrong")
    parts += [
        "<h2>Mistakes, the commonest first</h2><table>",
        *(_line(n, *what) for what, n in wrong.most_common(40)),
    ]
    parts.append(f"</table>{f'<p>And {len(wrong) - 40} others.</p>' if len(wrong) > 40 else ''}")
    for key, task in work.tasks.items():
        fared = Counter(FARED[row.results[key].kind] for row in rows)
        sums = " + ".join(f"{count} {how}" for how, count in fared.most_common())
        parts.append(f"<h2>{key} {escape(task.title)}</h2><p>{sums} = {len(rows)}</p>")
        parts.append(f"<p>What earns which points. {escape(task.rubric)}</p>" if task.rubric else "")
        parts += [
            f"<p>{escape(row.key)}: {_points(row)[key]}</p><pre>{escape(row.results[key].answer)}</pre>"
            for row in rows
            if row.results[key].answer
        ]
    ended = [
        (row, k, r)
        for row in rows
        for k, r in row.results.items()
        if r.kind in ("stopped", "error", "missing")
    ]
    parts += ["<h2>What failed, was stopped or not found</h2><table>"]
    parts += [_line(row.key, key, result.says) for row, key, result in ended]
    parts += [
        "</table><h2>What is odd, and what has changed</h2>",
        *(f"<p>{escape(said)}</p>" for said in odd),
    ]
    parts += ["<h2>All points</h2><table>", _line("", "", *work.tasks, "total", "")]
    parts += [_line(row.key, row.name, *_points(row).values(), row.late) for row in rows]
    return "\n".join([*filter(None, parts), "</table>"])


def _line(*cells: Any) -> str:
    return f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in cells)}</tr>"
