"""Hints of exercises on the page: a fold above the first cell that checks one, with what `vl.hint` says.

They come from the entries in `vitworkshop/exercises`, in the language of the pages, and read without scripts; backticks
become code.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes

from page.chapters import details, summary
from page.words import t
from vitworkshop.exercises import engine
from vitworkshop.exercises.language import language, say
from vitworkshop.words import FOLDER

CALL = re.compile(r'\bvl\.check\("(\d\d\.\w)"')


def add_hints(app, doctree) -> None:
    """Puts the hints of each exercise of a page above its question cell; the page follows when an entry changes."""
    seen: set[str] = set()
    for block in list(doctree.findall(nodes.literal_block)):
        for number in CALL.findall(block.astext()):
            if number not in seen:
                seen.add(number)
                follow(app.env, number)
                cell = next(
                    each
                    for each in ancestors(block)
                    if "cell" in each.get("classes", ())
                )
                cell.parent.insert(cell.parent.index(cell), fold(number))


def follow(env, number: str) -> None:
    """Has the page that is read follow the entry of an exercise, and the catalogue."""
    env.note_dependency(str(Path(engine.__file__).with_name(f"ch{number[:2]}.py")))
    if language() != "en":
        env.note_dependency(str(FOLDER / f"{language()}.mo"))


def ancestors(node: nodes.Node):
    """What holds a node, from the inside out."""
    while node := node.parent:
        yield node


def fold(number: str) -> nodes.Element:
    """The hints of one exercise, folded."""
    items = nodes.enumerated_list(enumtype="arabic", prefix="", suffix=".")
    for hint in engine.find(number).hints:
        parts = enumerate(say(hint).split("`"))
        words = [
            nodes.literal("", text) if i % 2 else nodes.Text(text)
            for i, text in parts
            if text
        ]
        items += nodes.list_item("", nodes.paragraph("", "", *words))
    said = t("{n} hints, one after the other", n=len(items))
    return details("", summary("", said), items, classes=["hints"])


def setup(app) -> None:
    """Hints are put in while a page is read, so that search finds them and Sphinx knows what they depend on."""
    app.connect("doctree-read", add_hints)
