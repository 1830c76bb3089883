"""Writes notebooks/, the chapters for who studies them; what was changed there stays as it is.

    python -m tools.notebooks           (or: make lab, which opens them, too; Chinese: LANGUAGES=zh)

notebooks/.written.json holds the digest of each chapter as it was written. One that still has it is renewed; beside any
other the new edition is laid as 05-attention.new.ipynb, and that is said. A file that is gone is written again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import nbformat

from page import edition
from page.address import ROOT, chapters
from tools.plain import plain_notebook, text_of
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


def places(path: Path) -> Iterator[Path]:
    """Where an edition may lie: its place, then 05-attention.new.ipynb, 05-attention.new2.ipynb and so on."""
    yield path
    for n in count(1):
        yield path.with_suffix(f".new{n if n > 1 else ''}.ipynb")


def renew(path: Path, text: str, written: dict[str, str]) -> Path | None:
    """Puts a chapter where nothing of the reader's is lost; where it lies now, None if it was there before."""
    new = digest(text)
    for place in places(path):
        there = None
        if place.exists():
            there = digest(place.read_text("utf-8", errors="replace"))
        if new in (there, there and written.get(place.name)):
            written[place.name] = new
            return None
        if there in (None, written.get(place.name)):
            write_atomic(place, text.encode())
            written[place.name] = new
            return place


def write(language: str, folder: Path) -> None:
    """Writes the chapters, and says which lie beside a reader's own."""
    folder.mkdir(exist_ok=True)
    record = folder / ".written.json"
    written = read_json(record, "delete it") if record.exists() else {}
    for path in chapters():
        book = plain_notebook(edition.notebook(path, language), path.stem, language)
        place = renew(folder / path.name, text_of(book), written)
        if place and place.name != path.name:
            print(f"{path.name} has your changes and stays; its new edition: {place}")
    write_json(record, written)


if __name__ == "__main__":
    try:
        write(edition.languages()[-1], FOLDER)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    print(f"The chapters are in {FOLDER}.")
