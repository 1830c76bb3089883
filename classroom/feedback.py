"""A student's page: points, what the computer and a person say of each task, and where to read on."""

import inspect
from html import escape

from classroom.grade import Row
from classroom.homework import Homework

STYLE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse;display:block;overflow-x:auto}td{padding:.3rem .8rem .3rem 0;vertical-align:top}
pre{white-space:pre-wrap;border-left:3px solid #8888;padding-left:1rem}p,pre{overflow-wrap:anywhere}
h2{break-after:avoid}</style>"""


def page(work: Homework, row: Row, references: bool) -> str:
    """One student's page; all that a student or a teacher wrote is escaped."""
    title = f"Homework {work.number}: {escape(work.title)}"
    parts = [f"{STYLE}<title>{title}</title><h1>{title}</h1>"]
    still = ", ".join(key for key, result in row.results.items() if result.points is None)
    total = f"{row.total:g} of {work.points} points{f', without {still}, still to be read' if still else ''}"
    penalty = f"{row.penalty:g} points. {row.comment}" if row.penalty or row.comment else ""
    parts += [f"<p>{escape(said)}</p>" for said in (row.name, total, row.problem, row.late, penalty) if said]
    for key, result in row.results.items():
        task = work.tasks[key]
        points = "still to be read" if result.points is None else f"{result.points:g} of {task.points}"
        points = points if task.points else "not graded"
        parts.append(f"<h2>{key} {escape(task.title)}: {points}</h2>")
        parts += [f"<pre>{escape(result.answer)}</pre>"] if result.answer else []
        says = {"right": "Right.", "words": ""}.get(result.kind, f"Not yet: {result.says}")
        hints = task.exercise.hints if task.exercise and result.kind == "waiting" else ()
        chapter, _, section = task.read.partition(" ")
        for head, text in (
            ("", says),
            ("Lines that failed and were left out: ", result.left_out),
            ("Your teacher: ", result.comment),
            ("What earns which points. ", task.rubric if result.answer and result.points is not None else ""),
            ("To begin: ", "".join(hints[:1])),  # which fits no mistake
            (f"Read in chapter {chapter}: ", section if result.points != task.points else ""),
        ):
            parts += [f"<p>{head}{escape(text)}</p>"] if text else []
        if references and task.exercise:
            source = escape(inspect.getsource(task.exercise.reference))
            parts.append(f"<p>A right answer:</p><pre>{source}</pre>")
    return "\n".join(parts)
