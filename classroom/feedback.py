"""A student's page: points, what the computer and a person say of each task, and where to read on."""

from __future__ import annotations

import inspect
from html import escape

from classroom.grade import Row
from classroom.homework import Homework
from classroom.look import LOOK

STYLE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse}td,th{padding:.3rem .8rem .3rem 0;text-align:left;vertical-align:top}
pre{white-space:pre-wrap;border-left:3px solid #8888;padding-left:1rem}body{overflow-wrap:anywhere}
h2{break-after:avoid}</style>"""


def page(work: Homework, row: Row, references: bool) -> str:
    """One student's page; all that a student or a teacher wrote is escaped."""
    most, title = (
        sum(task.points for task in work.tasks.values()),
        f"Homework {work.number}: {escape(work.title)}",
    )
    parts = [f"{STYLE}<title>{title}</title><h1>{title}</h1><p>{escape(row.name)}</p>"]
    still = [key for key, result in row.results.items() if result.points is None]
    parts.append(
        f"<p><strong>{row.total:g} of {most} points</strong>{', without ' * bool(still)}{', '.join(still)}</p>"
    )
    for said in (row.problem, row.late, f"{row.penalty:g} points for it" if row.penalty else "", row.comment):
        parts.append(f"<p><strong>{escape(said)}</strong></p>" if said else "")
    for key, result in row.results.items():
        task, (chapter, section) = work.tasks[key], LOOK.get(key, ("", ""))
        points = "still to be read" if result.points is None else f"{result.points:g} of {task.points}"
        parts.append(f"<h2>{key} {escape(task.title)}: {points}</h2>")
        says = {"right": "Right.", "words": ""}.get(result.kind, f"Not yet: {result.says}")
        parts.append(f"<p>{escape(says)}</p>" if says else "")
        if result.left_out:
            parts.append(f"<p>Lines that failed and were left out: {escape(result.left_out)}</p>")
        parts.append(f"<pre>{escape(result.answer)}</pre>" if result.answer else "")
        parts.append(f"<p>Your teacher: {escape(result.comment)}</p>" if result.comment else "")
        if task.rubric and result.answer and result.points is not None:
            parts.append(f"<p>What earns which points. {escape(task.rubric)}</p>")
        if task.exercise and result.kind == "waiting":  # a hint to begin with says nothing of a mistake
            parts.append(f"<p>To begin: {escape(task.exercise.hints[0])}</p>")
        if section and result.points != task.points:
            parts.append(f"<p>Read chapter {chapter}, “{escape(section)}”.</p>")
        if references and task.exercise:
            source = escape(inspect.getsource(task.exercise.reference))
            parts.append(f"<details><summary>An answer</summary><pre>{source}</pre></details>")
    return "\n".join(filter(None, parts))
