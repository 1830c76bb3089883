"""What the book's code says in other languages than English: catalogues, kept by `python -m page.catalogue update`."""

from __future__ import annotations

import gettext
from functools import cache
from pathlib import Path

__all__ = ["CHOSEN", "FOLDER", "catalogue", "table"]

CHOSEN = {"language": "en"}  # by `vl.language`
# zh.po, which people write; zh.mo, which is read; what scripts say of it, zh-scripts.mo, and figures, zh-figures.mo
FOLDER = Path(__file__).parent


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
