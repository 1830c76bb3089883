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
def labels(language: str) -> list[tuple[re.Pattern, str]]:
    """What notebooks draw and print, and what it is in a language; whole labels first."""
    said = sorted(table(f"{language}-figures").items(), key=lambda each: "{" in each[0])
    field = re.compile(r"\\{(\w)\\}")
    return [
        (re.compile(field.sub(r"(?P<\1>.+?)", re.escape(english))), words)
        for english, words in said
    ]


def exchange(data: dict[str, str], language: str) -> None:
    """Has the drawings and tables that a cell gave out say their labels in a language."""

    def label(found: re.Match) -> str:
        text = " ".join(unescape(found[0]).split())
        said = (
            escape(words.format(**fields.groupdict()), quote=False)
            for pattern, words in labels(language)
            if (fields := pattern.fullmatch(text))
        )
        return next(said, found[0])

    for kind in {"image/svg+xml", "text/markdown"} & data.keys():
        data[kind] = LABEL.sub(label, data[kind])


def setup(app) -> None:
    """Chooses the language of the pages."""
    CHOSEN["language"] = app.config.language.split("_")[0]
