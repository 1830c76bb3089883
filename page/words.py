"""What Python that writes pages says, in the language of the pages: `t("It is {is}.", is=is)`, with plain literals.

The catalogues are kept by `page/catalogue.py`.
"""

from __future__ import annotations

from vitworkshop.words import CHOSEN, table


def t(text: str, **fields: object) -> str:
    """A text in the language of the pages, with its fields filled in."""
    said = table(CHOSEN["language"]).get(text, text)
    return said.format(**fields) if fields else said


def setup(app) -> None:
    """Chooses the language of the pages."""
    CHOSEN["language"] = app.config.language.split("_")[0]
