"""Guesses and answers on a page: where a cell waits for values or words, a field with *Check* and *Show*.

A cell that does nothing but wait becomes its field; one that shows something keeps its code, and the field follows.
Asked for are the names that the cell sets to None; functions stay with the notebook, and so does what only Python can
judge. By data beside the field (`vitworkshop/exercises/data.py`), which are no secret, `book/_static/guess/guess.js`
answers as `vl.check` does. Without scripts a fold holds the answer. What only a notebook needs is left out of what
cells printed: "waiting for your guess", and versions. Where there are no cells, the directive ``guess`` holds one.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from page.address import chapters
from page.edition import BOOK
from page.exercises import CALL, ancestors, fold, follow
from page.search import is_output
from page.words import t
from vitworkshop.exercises import engine
from vitworkshop.exercises.answers import plain, words
from vitworkshop.exercises.data import data_of, has_data, kind_of, nested, parts_of

NOTEBOOKS = re.compile(r"^(.*: waiting for your \w+|vitlib \d.*\btorch \d.*)\n?", re.M)
# what a field need not say
SAID = re.compile(r"\b(your guess|(run it )?before the next cell)\b[,;]? *")
PLAIN = 'autocomplete="off" autocapitalize="off" spellcheck="false"'
FIELD = """<form class="guess"><fieldset><legend>{legend}</legend>{rows}
<p><button>{check}</button> <button type="button">{show}</button></p><p role="status"></p></fieldset>
<script type="application/json">{data}</script></form>
<details class="guess"><summary>{summary}</summary><p>{answer}</p></details>
"""
# of inputs, in letters; others are wide
SIZES = {
    "a number": 9,
    "True or False": 9,
    "a word": 14,
}


# What a cell asks for


def unset(value: ast.expr, line: int) -> dict[str, int] | None:
    """The lines of what a cell sets to None, by its parts: "", or a dict's keys; None if it is anything else."""
    if isinstance(value, ast.Constant) and value.value is None:
        return {"": line}
    if isinstance(value, ast.Tuple):
        return {"": line} if all(unset(each, line) for each in value.elts) else None
    if isinstance(value, ast.Dict):
        pairs = [
            (ast.literal_eval(k), v)
            for k, v in zip(value.keys, value.values, strict=True)
            if k
        ]
    elif isinstance(value, ast.Call) and ast.unparse(value.func) == "dict":
        pairs = [(pair.arg, pair.value) for pair in value.keywords]
    else:
        return None
    return (
        {name: each.lineno for name, each in pairs}
        if all(unset(each, 0) for _, each in pairs)
        else None
    )


def is_check(node: ast.AST | None) -> bool:
    """Whether a node is a call of `vl.check`."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "vl.check"


def question(code: str) -> tuple[str, dict[str, tuple[int, str]], bool] | None:
    """What a cell asks for: the exercise, of each part the line and the name there, whether the cell does no more.

    None if it asks for nothing, or for something that it makes itself.
    """
    names, more = {}, False
    for each in (body := ast.parse(code).body):
        lines = unset(each.value, each.lineno) if isinstance(each, ast.Assign) else None
        for name in (
            ast.walk(ast.Module(each.targets, []))
            if isinstance(each, ast.Assign) and lines
            else ()
        ):
            if isinstance(name, ast.Name):
                names[name.id] = lines
        more |= not lines and not is_check(getattr(each, "value", None))
    for each in body:
        if is_check(call := getattr(each, "value", None)):
            number, *answer = call.args
            given = [("", value) for value in answer] + [
                (str(a.arg), a.value) for a in call.keywords
            ]
            ids = [(part, getattr(value, "id", "")) for part, value in given]
            if ids and all(name in names for _, name in ids):
                asked = {
                    part or key: (line, name)
                    for part, name in ids
                    for key, line in names[name].items()
                }
                return ast.literal_eval(number), asked, not more
    return None


# How it stands on the page


def shown(value: Any) -> str:
    """A right value as one would type it."""
    if (right := words(value, value)) is not None:
        return (
            value
            if isinstance(right, str)
            else ", ".join(sorted(value) if isinstance(value, set) else value)
        )

    def written(x: Any) -> str:
        if isinstance(x, list):
            return f"[{', '.join(map(written, x))}]"
        if isinstance(x, bool):
            return str(x)
        return f"{x:.0f}" if x % 1 == 0 or abs(x) >= 1000 else f"{x:.4g}"

    return written(nested(plain(value))).replace("-0,", "0,")


def notes(asked: dict[str, tuple[int, str]], code: str) -> dict[int, str]:
    """What the cell says at each line that sets parts to None, by the parts' names on the page."""
    lines, found = code.split("\n"), {}
    for at in dict.fromkeys(line for line, _ in asked.values()):
        more = itertools.takewhile(
            lambda line: line.lstrip().startswith("#"), lines[at:]
        )
        said = [lines[at - 1].partition("#")[2], *(line.strip(" #") for line in more)]
        note = SAID.sub("", " ".join(said))
        for part, (line, variable) in asked.items():
            if line == at:
                note = re.sub(rf"\b{variable}\b", part, note)
        found[at] = note.strip(" ,;:")
    return found


def said() -> Iterator[str]:
    """What cells ask for, in chapters and on pages: names of parts, and notes beside them."""
    cells = [
        "".join(cell["source"])
        for path in chapters()
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    for path in sorted(BOOK.glob("*.md")):
        cells += re.findall(
            r"^```\{guess\}\n(.*?)^```", path.read_text("utf-8"), re.M | re.S
        )
    for code in cells:
        if CALL.search(code) and (found := question(code)):
            number, asked, _ = found
            if any(has_data(engine.find(number), part) for part in asked):
                yield from notes(asked, code).values()
                yield from (part for part in asked if " " in part)


def field(number: str, asked: dict[str, tuple[int, str]], code: str) -> nodes.raw:
    """The field of an exercise: a row for each line of the cell that sets parts to None, with what it says there."""
    exercise, rows = engine.find(number), []
    want, guess = parts_of(exercise.value), exercise.guess
    name = t("your guess") if guess else t("your answer")
    here = [part for part in asked if has_data(exercise, part)]
    for at, note in notes(asked, code).items():
        row = ""
        for part in (part for part, (line, _) in asked.items() if line == at):
            size = (
                f'size="{SIZES[kind]}"'
                if (kind := kind_of(want[part])) in SIZES
                else 'class="wide"'
            )
            label = escape(t(part)) or f'<span class="visually-hidden">{name}</span>'
            put = (
                f'<input name="{escape(part)}" {size} {PLAIN}>'
                if part in here
                else t("(in the notebook)")
            )
            row += f"<label>{label} {put}</label> "
        rows.append(f"<p>{row}<span>{escape(t(note))}</span></p>")
    says = t("; ").join(f"{t(part)} {shown(want[part])}".strip() for part in here)
    answer = (
        t("{says}. The solution says why.", says=says)
        if number[3:].isdigit()
        else t("{says}. What follows says why.", says=says)
    )
    look = (
        t("{number}: your guess, then look", number=number)
        if guess
        else t("{number}: your answer, then look", number=number)
    )
    data = json.dumps(
        data_of(exercise, here),
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    )
    about = {
        "legend": t("{number}, {name}", number=number, name=name),
        "rows": "".join(rows),
        "check": t("Check"),
        "show": t("Show"),
        "summary": look,
        "answer": escape(answer),
    }
    return nodes.raw(
        "", FIELD.format(data=data.replace("<", "\\u003c"), **about), format="html"
    )


class Guess(SphinxDirective):
    """The hints and the field of a cell on a page that has no cells; the content is the cell."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        code = "\n".join(self.content)
        number, asked, _ = question(code)
        follow(self.env, number)
        return [fold(number), field(number, asked, code)]


def quieten(block: nodes.literal_block) -> None:
    """Takes the lines that only a notebook needs from what a cell printed, and the block if nothing is left."""
    if (text := NOTEBOOKS.sub("", block.astext())).strip():
        block[:], block.rawsource = [nodes.Text(text)], text
    elif len(block.parent) > 1:
        block.parent.remove(block)
    else:
        block.parent.parent.remove(block.parent)


def add_fields(app, doctree) -> None:
    """Puts a field where a cell waits for values or words, and quietens all cells."""
    for cell in [
        each for each in doctree.findall(nodes.container) if "cell" in each["classes"]
    ]:
        blocks = [
            (block, any(map(is_output, ancestors(block))))
            for block in cell.findall(nodes.literal_block)
        ]
        for block in [
            block
            for block, printed in blocks
            if printed and NOTEBOOKS.search(block.astext())
        ]:
            quieten(block)
        code = "".join(block.astext() for block, printed in blocks if not printed)
        if not CALL.search(code) or not (found := question(code)):
            continue
        number, asked, alone = found
        judged = [has_data(engine.find(number), part) for part in asked]
        if any(judged):
            cell.parent.insert(cell.parent.index(cell) + 1, field(number, asked, code))
        if all(judged) and alone:
            cell.parent.remove(cell)


def add_script(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Gives the script that judges to the pages that have fields."""
    if '<form class="guess">' in context.get("body", ""):
        app.add_js_file("guess/guess.js", defer="defer")


def setup(app) -> None:
    """Fields come after the hints, which look for the cells and make a page follow its entries."""
    app.add_directive("guess", Guess)
    app.connect("doctree-read", add_fields, priority=600)
    app.connect("html-page-context", add_script)
