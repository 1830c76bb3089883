"""Writes notebooks/, the chapters for who studies them; what was changed there stays as it is.

    python -m tools.notebooks           (or: make lab, which opens them, too; Chinese: LANGUAGES=zh)

notebooks/.written.json holds the digest of each chapter as it was written. One that still has it is renewed; beside any
other the new edition is laid as 05-attention.new.ipynb, and that is said. A file that is gone is written again; a new
edition that equals the chapter beside it goes. 00-start.ipynb has the list of chapters.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import nbformat

from page import edition
from page.address import ROOT, chapters
from page.map import plan
from tools.plain import plain, plain_notebook, tags, text_of
from vitlib.files import read_json, write_atomic, write_json

FOLDER = ROOT / "notebooks"


def digest(text: str) -> str:
    """By which a chapter is known again: its cells and what they printed, as opening it alone changes neither."""
    try:
        cells = nbformat.reads(text, 4).cells
    except ValueError:  # no notebook any more
        return text
    seen = [(each.cell_type, each.source, each.get("outputs")) for each in cells]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()


def held(path: Path) -> str:
    """The digest of a file."""
    return digest(path.read_text("utf-8", errors="replace"))


def places(path: Path) -> Iterator[Path]:
    """Where an edition may lie: its place, then 05-attention.new.ipynb, 05-attention.new2.ipynb and so on."""
    yield path
    for n in count(1):
        yield path.with_suffix(f".new{n if n > 1 else ''}.ipynb")


def renew(path: Path, text: str, written: dict[str, str]) -> Path | None:
    """Puts a chapter where nothing of the reader's is lost; where it lies now, None if it was there before."""
    new = digest(text)
    for place in places(path):
        there = held(place) if place.exists() else None
        known = written.get(place.name)
        # a new edition that is gone took the chapter's place, or was thrown away
        if new == there or (new == known and (there or place != path)):
            written[place.name] = new
            return None
        if there in (None, known):
            write_atomic(place, text.encode())
            written[place.name] = new
            return place


def tidy(path: Path, written: dict[str, str]) -> None:
    """Removes new editions of a chapter that equal it."""
    for new in path.parent.glob(f"{path.stem}.new*.ipynb"):
        if held(new) == held(path):
            new.unlink()
            written.pop(new.name, None)


def start(language: str) -> str:
    """The list of chapters, each of which leads to its notebook."""
    told = re.sub(r"\{doc\}`(.+?) <(\d\d-[\w-]+)>`", r"[\1](\2.ipynb)", plan(language))
    return f"# Patch by Patch\n\n{plain(told, '', language, 'intro', alone=False)}"


def editions(language: str) -> Iterator[tuple[str, dict]]:
    """What is written: names and notebooks."""
    for path in chapters():
        book = plain_notebook(edition.notebook(path, language), path.stem, language)
        book["cells"] = [
            each for each in book["cells"] if "colab-setup" not in tags(each)
        ]
        yield path.name, book
    said = {"cell_type": "markdown", "id": "start", "metadata": {}}
    yield "00-start.ipynb", book | {"cells": [said | {"source": start(language)}]}


def write(language: str, folder: Path) -> None:
    """Writes the chapters, and says which lie beside a reader's own."""
    folder.mkdir(exist_ok=True)
    record = folder / ".written.json"
    written = read_json(record, "delete it") if record.exists() else {}
    for name, book in editions(language):
        place = renew(folder / name, text_of(book), written)
        tidy(folder / name, written)
        if place and place.name != name:
            print(f"{name} has your changes and stays; its new edition: {place}")
    write_json(record, written)


if __name__ == "__main__":
    try:
        write(edition.languages()[-1], FOLDER)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    print(f"The chapters are in {FOLDER}.")
