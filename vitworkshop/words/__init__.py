"""What scripts and exercises say in other languages than English: catalogues, kept by `python -m page.words update`."""

from __future__ import annotations

import gettext
from functools import cache
from pathlib import Path

__all__ = ["FOLDER", "table"]

# zh.po, which people write; zh.mo, which is read; zh.js.mo, what of it scripts say
FOLDER = Path(__file__).parent


@cache
def table(language: str, ending: str = "") -> dict[str, str]:
    """English -> another language, of each message that has a translation; where it counts, by the singular."""
    with (FOLDER / f"{language}{ending}.mo").open("rb") as file:
        known = vars(gettext.GNUTranslations(file))["_catalog"]
    words = {key if isinstance(key, str) else key[0]: known[key] for key in known}
    return {english: said for english, said in words.items() if english}
