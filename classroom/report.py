"""What is read: a table of points, a page on the class, one for each student, and what is odd or has changed.

The pages speak the class's language; the tables, which programs read, are English, and so is what the command prints.
"""

from collections import Counter
from html import escape
from pathlib import Path

from classroom.grade import Graded, Row
from classroom.homework import Homework
from classroom.names import slug
from classroom.sheet import table
from vitlib.files import read_json, write_atomic, write_json
from vitworkshop.exercises.language import Said, language, say

FARED = {"right": Said("right"), "named": Said("wrong"), "told": Said("wrong"), "error": Said("failed"),
         "stopped": Said("stopped"), "ended": Said("ended"), "missing": Said("not found"),
         "waiting": Said("not answered"), "words": Said("in words"), "nothing": Said("absent"),
         "measured": Said("measured")}  # fmt: skip
STYLE = """<!doctype html><html lang="{}"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
pre{white-space:pre-wrap;border-left:3px solid #8888;padding-left:1rem}p,pre{overflow-wrap:anywhere}
h2{break-after:avoid}</style>"""


def _whole(head: str, parts: list[str]) -> str:
    """A page with its title."""
    style = STYLE.replace("{}", language(), 1)
    return "".join([style, _tags("title", head), _tags("h1", head), *parts])


def write_reports(
    out: Path, work: Homework, graded: Graded, odd: list[str]
) -> tuple[list[str], dict[str, str]]:
    """Write grades.csv, class.html and feedback/; what a teacher should know, and students' pages."""
    rows = graded.rows
    said: list[str] = [Said("{n} graded", n=len(rows))]
    if still := ", ".join(graded.open_still):
        said.append(
            Said(
                "this system cannot forbid students' code: {what}; grade on Linux, or where nothing of value is "
                "within reach",
                what=still,
            )
        )
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
            Said(
                "{n} answers of {m} students wait for you: see class.html",
                n=count,
                m=len(waits),
            )
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
        Said("the same code: {who}", who=", ".join(map(_who, some)))
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
        sums = " + ".join(f"{count} {say(how)}" for how, count in fared)
        head = f"{key} {say(task.title)}"
        parts.append(_list(head, [f"{sums} = {len(rows)}", say(task.rubric)]))
        for row, result in zip(rows, results, strict=True):
            if FARED[result.kind] == "wrong":
                mistakes[f"{key}: {result.says}"] += 1
            if result.answer or key in row.open or result.kind in ("error", "stopped"):
                says = f"{result.says} {result.again}".strip()
                about = f"{_who(row)}: {_points(row)[key] or say('open')} {says}"
                parts += [_tags("p", about), _tags("pre", result.answer)]
    wrong = [f"{count} × {what}" for what, count in mistakes.most_common()]
    parts.insert(0, _list(say("Mistakes, the commonest first"), wrong))
    parts.append(_list(say("Odd, or changed"), [*map(say, said)]))
    return _whole(say("{work}: {n} students", work=work.name, n=len(rows)), parts)


def _page(work: Homework, row: Row) -> str:
    """A student's page: points, what the computer and a person say of each task, and where to read on."""
    waits = [key for key, result in row.results.items() if result.points is None]
    total = say(
        "{n} of {most} points, without {tasks}, still to be read"
        if waits
        else "{n} of {most} points",
        n=f"{row.total:g}",
        most=work.points,
        tasks=say(", ").join(waits),
    )
    parts = [_tags("p", row.name, total, row.problem)]
    for key, result in row.results.items():
        task = work.tasks[key]
        chapter, _, section = task.read.partition(" ")
        got = _points(row)[key] or say("open")
        says = {"right": say("Right."), "words": "", "measured": result.says}
        also = [
            result.left_out
            and say(
                "Lines that failed and were left out: {says}", says=result.left_out
            ),
            result.comment and say("Your teacher: {says}", says=result.comment),
            say("Read in chapter {n}: {section}", n=chapter, section=Said(section))
            if section and result.points != task.points
            else "",
        ]
        title = say("{n} of {most}", n=got, most=task.points)
        parts += [
            _tags("h2", f"{key} {say(task.title)}{say(': ')}{title}"),
            _tags("pre", result.answer),
            _tags(
                "p",
                says.get(result.kind, say("Not yet: {says}", says=result.says)),
                *also,
            ),
        ]
    head = say("{called}: {title}", called=work.name, title=Said(work.title))
    return _whole(head, parts)
