"""What the book's code says in other languages than English: catalogues, kept by `python -m page.catalogue update`.

Labels that notebooks draw and print are part of outputs that all languages share: they are exchanged when the pages of
another language are composed, and in a reader's notebook when it shows them (`vl.language`).
"""

from __future__ import annotations

import gettext
import re
from functools import cache
from html import escape, unescape
from pathlib import Path

__all__ = ["CHOSEN", "FOLDER", "catalogue", "exchange", "table"]

CHOSEN = {"language": "en"}  # by `vl.language`
# zh.po, which people write; zh.mo, which is read; what scripts say of it, zh-scripts.mo, and figures, zh-figures.mo
FOLDER = Path(__file__).parent
# what may be a label in an SVG, and in a cell of a table, without what makes it lean
LABEL = re.compile(
    r"(?<=>)[^<>]+(?=</(?:text|tspan)>|<tspan)"
    r"|(?:(?<=\| )|(?<=\| \*))[^ |*\n][^|*\n]*(?=\*? \|)"
)


@cache
def catalogue(name: str) -> gettext.GNUTranslations:
    """A compiled catalogue."""
    with (FOLDER / f"{name}.mo").open("rb") as file:
        return gettext.GNUTranslations(file)


@cache
def table(name: str) -> dict[str, str]:
    """English -> another language, of each message that has a translation; where it counts, by the singular."""
    if name == "en":
        return {}
    known = vars(catalogue(name))["_catalog"]
    words = {key if isinstance(key, str) else key[0]: known[key] for key in known}
    return {english: said for english, said in words.items() if english}


@cache
def label(found: str, language: str) -> str:
    """A label in a language, or as it is; whole labels first."""
    text, known = " ".join(unescape(found).split()), table(f"{language}-figures")
    for english in [text, *(each for each in known if "{" in each)]:
        pattern = re.sub(r"\\{(\w)\\}", r"(?P<\1>.+?)", re.escape(english))
        if english in known and (fields := re.fullmatch(pattern, text)):
            return escape(known[english].format(**fields.groupdict()), quote=False)
    return found


def exchange(data: dict[str, str], language: str) -> None:
    """Has the drawings and tables that a cell gave out say their labels in a language."""
    for kind in {"image/svg+xml", "text/markdown"} & data.keys():
        data[kind] = LABEL.sub(lambda one: label(one[0], language), data[kind])
