"""What Python that writes pages says, in the language of the pages: `t("It is {is}.", is=is)`, with plain literals.

Labels that notebooks draw and print are baked into outputs that all languages share: they are exchanged when the pages
of another language are composed. The catalogue is kept by `page/catalogue.py`.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape, unescape

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from vitworkshop.words import FOLDER, table

# a text in an SVG, and one in a cell of a table, without what makes it lean
DRAWN = re.compile(r"(?<=>)[^<>]*[A-Za-z][^<>]*(?=</(?:text|tspan)>|<tspan)")
CELL = re.compile(r"(?:(?<=\| )|(?<=\| \*))[^ |*\n][^|*\n]*(?=\*? \|)")

known: dict[str, str] = {}  # English -> the language of the pages that are built


def speak(language: str) -> None:
    """Chooses the language of the pages, "en" or "zh"."""
    known.clear()
    if language != "en":
        known.update(table(language))


def t(text: str, **fields: object) -> str:
    """A text in the language of the pages, with its fields filled in."""
    said = known.get(text, text)
    return said.format(**fields) if fields else said


def read(language: str = "zh") -> Catalog:
    """A language's catalogue."""
    with (FOLDER / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


@cache
def labels(language: str) -> list[tuple[re.Pattern, str]]:
    """What notebooks draw and print, whole labels first, and how another language says it."""
    found = [
        (re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(one.id))), one)
        for one in sorted(read(language), key=lambda one: str(one.id).count("{"))
        if "figures" in dict(one.locations)
    ]
    return [(pattern, str(one.string)) for pattern, one in found if one.string]


def label(text: str, language: str = "zh") -> str:
    """A label of a drawing or a table in another language, or as it is."""
    said = (
        said.format(**found.groupdict()) if "{" in said else said
        for pattern, said in labels(language)
        if (found := pattern.fullmatch(text))
    )
    return next(said, text)


def exchange(data: dict[str, str]) -> None:
    """Exchanges the labels in what a cell gave out: those of drawings, and of tables."""

    def drawn(found: re.Match) -> str:
        return escape(label(" ".join(unescape(found[0]).split())), quote=False)

    ways = {"image/svg+xml": (DRAWN, drawn)}
    ways["text/markdown"] = (CELL, lambda found: label(found[0]))
    for kind in ways.keys() & data.keys():
        data[kind] = re.sub(*ways[kind], data[kind])
