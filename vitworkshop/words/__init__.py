"""What the book's code says in other languages than English: catalogues, kept by `python -m page.catalogue update`."""

from __future__ import annotations

import gettext
from functools import cache
from pathlib import Path

__all__ = ["CHOSEN", "FOLDER", "table"]

CHOSEN = {"language": "en"}  # by `vl.language`
FOLDER = Path(__file__).parent  # zh.po, which people write, and zh.mo, which is read


@cache
def table(language: str) -> dict[str, str]:
    """English -> another language, of each message that has a translation; where it counts, by the singular."""
    with (FOLDER / f"{language}.mo").open("rb") as file:
        known = vars(gettext.GNUTranslations(file))["_catalog"]
    words = {key if isinstance(key, str) else key[0]: known[key] for key in known}
    return {english: said for english, said in words.items() if english}
