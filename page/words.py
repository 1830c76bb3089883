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

# what may be a label in an SVG, and in a cell of a table, without what makes it lean
LABEL = re.compile(
    r"(?<=>)[^<>]+(?=</(?:text|tspan)>|<tspan)"
    r"|(?:(?<=\| )|(?<=\| \*))[^ |*\n][^|*\n]*(?=\*? \|)"
)

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
def labels() -> list[tuple[re.Pattern, str]]:
    """What notebooks draw and print, and its Chinese; whole labels first."""
    found = [one for one in read() if ("figures", None) in one.locations]
    return [
        (
            re.compile(re.sub(r"\\{(\w)\\}", r"(?P<\1>.+?)", re.escape(one.id))),
            one.string,
        )
        for one in sorted(found, key=lambda one: "{" in one.id)
        if one.string and not one.fuzzy
    ]


def label(found: re.Match) -> str:
    """A label in Chinese, or as it is."""
    text = " ".join(unescape(found[0]).split())
    said = (
        escape(said.format(**fields.groupdict()), quote=False)
        for pattern, said in labels()
        if (fields := pattern.fullmatch(text))
    )
    return next(said, found[0])


def exchange(data: dict[str, str]) -> None:
    """Has the drawings and tables that a cell gave out say their labels in Chinese."""
    for kind in {"image/svg+xml", "text/markdown"} & data.keys():
        data[kind] = LABEL.sub(label, data[kind])
