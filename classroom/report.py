"""What a teacher reads: tables, a page on the class, and what is odd or has changed since the last time."""

from collections import Counter
from datetime import datetime
from html import escape
from pathlib import Path

from classroom import hand, roster
from classroom.feedback import STYLE, page
from classroom.grade import Graded, Row
from classroom.homework import Homework
from classroom.names import slug
from classroom.sheet import table
from vitlib.files import read_json, write_atomic, write_json

FARED = {"right": "right", "named": "wrong", "told": "wrong", "error": "failed", "stopped": "stopped",
         "missing": "not found", "waiting": "not answered", "words": "in words", "nothing": "absent"}  # fmt: skip


def write_reports(
    out: Path,
    work: Homework,
    graded: Graded,
    people: dict,
    words: list[hand.Word],
    deadline: datetime | None = None,
    references: bool = False,
) -> list[str]:
    """Write grades.csv, diagnosis.csv, canvas.csv, moodle.csv, class.html and feedback/; what a teacher should know.

    Names of people and what stands in hand.csv are put into the rows; `references` shows right answers on the pages.
    """
    file, count, left = out / f"last-{work.number}.json", len(graded.rows), len(graded.left_out)
    last = read_json(file, "delete it") if file.exists() else {"points": {}, "seen": {}}
    odd = [f"{count + left} in the folder: {count} graded, {left} left out"]
    if still := ", ".join(graded.open_still):
        fix = "grade on Linux, or where nothing of value is within reach"
        odd.append(f"this system cannot forbid students' code: {still}; {fix}")
    odd += [f"left out, {why}: {name}" for name, why in graded.left_out.items()]
    odd += roster.apply(people, graded, work.tasks, deadline) + hand.apply(words, graded, last["seen"])
    for row in graded.rows:
        odd += [f"{row.key}: {said}" for said in (row.problem, row.late) if said]
        odd += [f"{row.key} {key}: {result.again}" for key, result in row.results.items() if result.again]
        write_atomic(out / "feedback" / f"{slug(row.key)}.html", page(work, row, references).encode())
    points = {row.key: _points(row) for row in graded.rows}
    odd += _changes(last["points"], points)
    _write_tables(out, work, graded.rows)
    write_atomic(out / "class.html", _class(work, graded, odd).encode())
    open_ = [[row.key, key, row.results[key].digest] for row in graded.rows for key in row.open]
    write_json(file, {"points": points, "seen": last["seen"], "open": open_})
    return odd


def _points(row: Row) -> dict[str, str]:
    shown = {key: "open" if r.points is None else f"{r.points:g}" for key, r in row.results.items()}
    return shown | {"total": f"{row.total:g}"}


def _changes(before: dict, now: dict) -> list[str]:
    """What other points somebody has than the last time, and who is new or there no more."""
    gone = [key for key in before if key not in now]
    found = [f"gone since the last time: {key}, {before[key]['total']} points" for key in gone]
    for key, new in now.items():
        old = before.get(key, new)
        found += [f"new: {key}"] if before and key not in before else []
        parts = [f"{part} {old.get(part)} → {new[part]}" for part in new if new[part] != old.get(part)]
        found += [f"changed: {key} {', '.join(parts)}"] if parts else []
    return found


def _write_tables(out: Path, work: Homework, rows: list[Row]) -> None:
    heads = [f"task {key}" for key in work.tasks]
    grades: list[list] = [["student", "id", "name", *heads, *"late penalty total of open problem".split()]]
    told: list[list] = ["student task points of kind says left-out words comment answer".split()]
    for row in rows:
        points = {key: "" if r.points is None else float(r.points) for key, r in row.results.items()}
        for key, r in row.results.items():
            of = [row.key, f"task {key}", points[key], work.tasks[key].points]
            told.append([*of, r.kind, r.says, r.left_out, r.answer, r.comment, r.digest])
        rest = [row.late, row.penalty or "", row.total, work.points, " ".join(row.open), row.problem]
        grades.append([row.key, row.id, row.name, *points.values(), *rest])
    write_atomic(out / "diagnosis.csv", table(told))
    write_atomic(out / "grades.csv", table(grades))
    write_gradebook(out, f"Homework {work.number}", work.points, rows)


def write_gradebook(out: Path, title: str, most: int, rows: list[Row]) -> None:
    """Write canvas.csv and moodle.csv, which a school's system imports."""
    canvas: list[list] = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title]]
    canvas.append(["    Points Possible", "", "", "", "", most])
    moodle: list[list] = [["ID number", "Full name", title, "Feedback"]]
    for row in rows:
        said = [f"{key}: {r.says or FARED[r.kind]}. {r.comment}".strip() for key, r in row.results.items()]
        canvas.append([row.name, "", row.id, "", "", row.total])
        moodle.append([row.id, row.name, row.total, " ".join([*said, row.comment]).strip()])
    write_atomic(out / "canvas.csv", table(canvas))
    write_atomic(out / "moodle.csv", table(moodle))


def _class(work: Homework, graded: Graded, odd: list[str]) -> str:
    """The class's page: the commonest mistakes, how each task fared, the answers in words, what is odd."""
    rows, title = graded.rows, f"Homework {work.number}"
    mean = sum(row.total for row in rows) / len(rows)
    parts = [f"{STYLE}<title>{title}</title><h1>{title}: {len(rows)} students</h1>"]
    parts.append(f"<p>{mean:.1f} of {work.points} points on average, without what is still to be read.</p>")
    wrong = Counter((k, r.says) for row in rows for k, r in row.results.items() if FARED[r.kind] == "wrong")
    parts += _list("Mistakes, the commonest first", [(n, *what) for what, n in wrong.most_common()])
    for key, task in work.tasks.items():
        fared = Counter(FARED[row.results[key].kind] for row in rows).most_common()
        sums = " + ".join(f"{count} {how}" for how, count in fared)
        parts.append(f"<h2>{key} {escape(task.title)}</h2><p>{sums} = {len(rows)}</p>")
        parts.append(f"<p>{escape(task.rubric)}</p>")
        read = [(f"{row.key}: {_points(row)[key]}", row.results[key].answer) for row in rows]
        parts += [f"<p>{escape(who)}</p><pre>{escape(answer)}</pre>" for who, answer in read if answer]
    told = [(row.key, k, r.says, FARED[r.kind]) for row in rows for k, r in row.results.items()]
    lines = [line[:3] for line in told if line[3] in ("stopped", "failed", "not found")]
    parts += _list("Failed, stopped or not found", lines)
    parts += _list("Odd, or changed", [(said,) for said in odd])
    return "\n".join(parts)


def _list(head: str, lines: list[tuple]) -> list[str]:
    cells = ("".join(f"<td>{escape(str(cell))}</td>" for cell in line) for line in lines)
    return [f"<h2>{head}</h2><table>", *(f"<tr>{line}</tr>" for line in cells), "</table>"]
