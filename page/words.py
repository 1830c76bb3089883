"""What Python that writes pages says, in the language of the pages: `t("It is {is}.", is=is)`, with plain literals.

Labels that notebooks draw and print are baked into outputs that all languages share: they are exchanged when the pages
of another language are composed. The catalogues are kept by `page/catalogue.py`.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape, unescape

from vitworkshop.words import CHOSEN, table

# what may be a label in an SVG, and in a cell of a table, without what makes it lean
LABEL = re.compile(
    r"(?<=>)[^<>]+(?=</(?:text|tspan)>|<tspan)"
    r"|(?:(?<=\| )|(?<=\| \*))[^ |*\n][^|*\n]*(?=\*? \|)"
)


def t(text: str, **fields: object) -> str:
    """A text in the language of the pages, with its fields filled in."""
    said = table(CHOSEN["language"]).get(text, text)
    return said.format(**fields) if fields else said


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


def setup(app) -> None:
    """Chooses the language of the pages."""
    CHOSEN["language"] = app.config.language.split("_")[0]
