"""What is read: a table of points, a page on the class, one for each student, and what is odd or has changed."""

from collections import Counter
from html import escape
from pathlib import Path

from classroom.grade import Graded, Row
from classroom.homework import Homework
from classroom.names import slug
from classroom.sheet import table
from vitlib.files import read_json, write_atomic, write_json

FARED = {"right": "right", "named": "wrong", "told": "wrong", "error": "failed", "stopped": "stopped", "ended": "ended",
         "missing": "not found", "waiting": "not answered", "words": "in words", "nothing": "absent",
         "measured": "measured"}  # fmt: skip
STYLE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
pre{white-space:pre-wrap;border-left:3px solid #8888;padding-left:1rem}p,pre{overflow-wrap:anywhere}
h2{break-after:avoid}</style>"""


def write_reports(
    out: Path, work: Homework, graded: Graded, odd: list[str]
) -> tuple[list[str], dict[str, str]]:
    """Write grades.csv, class.html and feedback/; what a teacher should know, and students' pages."""
    rows = graded.rows
    said = [f"{len(rows)} graded"]
    if still := ", ".join(graded.open_still):
        fix = "grade on Linux, or where nothing of value is within reach"
        said.append(f"this system cannot forbid students' code: {still}; {fix}")
    said += odd
    pages = {}
    for row in rows:
        said += [f"{_who(row)}: {row.problem}"] if row.problem else []
        said += [
            f"{_who(row)} {key}: {result.again}"
            for key, result in row.results.items()
            if result.again
        ]
        pages[row.key] = page = _page(work, row)
        write_atomic(out / "feedback" / f"{slug(row.key)}.html", page.encode())
    said += _identical(rows)
    said += _changes(out / "last.json", rows)
    if waits := [row for row in rows if row.open]:
        count = sum(len(row.open) for row in waits)
        said.append(
            f"{count} answers of {len(waits)} students wait for you: see class.html"
        )
    heads = ["student", "name", *(f"task {key}" for key in work.tasks), "total", "open"]
    lines = [
        [row.key, row.name, *_points(row).values(), " ".join(row.open)] for row in rows
    ]
    write_atomic(out / "grades.csv", table([heads, *lines]))
    write_atomic(out / "class.html", _class(work, rows, said).encode())
    return said, pages


def _who(row: Row) -> str:
    return f"{row.key} {row.name}".strip()


def _identical(rows: list[Row]) -> list[str]:
    """Whose notebooks hold the same code, remarks apart, if a task was answered in it."""
    alike: dict[str, list[Row]] = {}
    for row in rows:
        kinds = {result.kind for result in row.results.values()}
        if row.same and kinds - {"waiting", "missing", "words"}:
            alike.setdefault(row.same, []).append(row)
    # who handed in one file together is no news
    return [
        f"the same code: {', '.join(map(_who, some))}"
        for some in alike.values()
        if len({row.file for row in some}) > 1
    ]


def _points(row: Row) -> dict[str, str]:
    shown = {
        key: "" if result.points is None else f"{result.points:g}"
        for key, result in row.results.items()
    }
    return shown | {"total": f"{row.total:g}"}


def _changes(file: Path, rows: list[Row]) -> list[str]:
    """What other points somebody has than the last time, of which a file tells."""
    now = {f"{row.key} {key}": x for row in rows for key, x in _points(row).items()}
    before = read_json(file, "delete it") if file.exists() else now
    write_json(file, now)
    return [
        f"changed: {what} {before.get(what, 'new') or 'open'} → {now.get(what, 'gone') or 'open'}"
        for what in before | now
        if before.get(what) != now.get(what)
    ]


def _tags(name: str, *texts: str) -> str:
    """What there is to say, as HTML; all that a student or a teacher wrote is escaped."""
    return "".join(f"<{name}>{escape(text)}</{name}>\n" for text in texts if text)


def _list(head: str, lines: list[str]) -> str:
    return _tags("h2", head) + _tags("p", *lines)


def _class(work: Homework, rows: list[Row], said: list[str]) -> str:
    """The class's page: the commonest mistakes, how each task fared, what waits to be read, what is odd."""
    mistakes: Counter[str] = Counter()
    parts = []
    for key, task in work.tasks.items():
        results = [row.results[key] for row in rows]
        fared = Counter(FARED[result.kind] for result in results).most_common()
        sums = " + ".join(f"{count} {how}" for how, count in fared)
        head = f"{key} {task.title}"
        parts.append(_list(head, [f"{sums} = {len(rows)}", task.rubric]))
        for row, result in zip(rows, results, strict=True):
            if FARED[result.kind] == "wrong":
                mistakes[f"{key}: {result.says}"] += 1
            if result.answer or key in row.open or result.kind in ("error", "stopped"):
                says = f"{result.says} {result.again}".strip()
                about = f"{_who(row)}: {_points(row)[key] or 'open'} {says}"
                parts += [_tags("p", about), _tags("pre", result.answer)]
    wrong = [f"{count} × {what}" for what, count in mistakes.most_common()]
    parts.insert(0, _list("Mistakes, the commonest first", wrong))
    parts.append(_list("Odd, or changed", said))
    head = f"{work.name}: {len(rows)} students"
    return "".join([STYLE, _tags("title", head), _tags("h1", head), *parts])


def _page(work: Homework, row: Row) -> str:
    """A student's page: points, what the computer and a person say of each task, and where to read on."""
    waits = [key for key, result in row.results.items() if result.points is None]
    still = f", without {', '.join(waits)}, still to be read" if waits else ""
    total = f"{row.total:g} of {work.points} points{still}"
    parts = [_tags("p", row.name, total, row.problem)]
    for key, result in row.results.items():
        task = work.tasks[key]
        chapter, _, section = task.read.partition(" ")
        points = f"{_points(row)[key] or 'open'} of {task.points}"
        says = {"right": "Right.", "words": "", "measured": result.says}
        also = {
            "Lines that failed and were left out": result.left_out,
            "Your teacher": result.comment,
            f"Read in chapter {chapter}": section
            if result.points != task.points
            else "",
        }
        parts += [
            _tags("h2", f"{key} {task.title}: {points}"),
            _tags("pre", result.answer),
            _tags("p", says.get(result.kind, f"Not yet: {result.says}")),
            _tags("p", *(f"{head}: {text}" for head, text in also.items() if text)),
        ]
    head = f"{work.name}: {work.title}"
    return "".join([STYLE, _tags("title", head), _tags("h1", head), *parts])
