"""In which language `vl.check` and `vl.hint` answer: English as it is written, or Chinese from the files in `zh`.

`zh/ch05.json` holds the texts of chapter 05, `zh/told.json` those that are said in any. A key is the English text of
the source, with {} for each field of an f-string; its value may name the fields, {1} before {0}. Fields are said, too.
The first that fits is taken, so what joins sentences stands there before what is within one.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from vitlib.checks import check_choice
from vitworkshop.words import CHOSEN as _CHOSEN

__all__ = ["language"]

ZH = Path(__file__).with_name("zh")


def language(name: str | None = None) -> str:
    """The language of `vl.check`, `vl.hint` and `vl.explore`: "en" at first, or the `name` given here, "en" or "zh".

    Raises:
        ValueError: If it is another name.

    Source: every chapter's exercises, from chapter 01 on.
    """
    if name is not None:
        check_choice("name", name, ("en", "zh"))
        _CHOSEN["language"] = name
    return _CHOSEN["language"]


@cache
def texts() -> tuple[dict[str, str], list[tuple[re.Pattern, str]]]:
    """English -> Chinese: whole texts, and those with fields as patterns."""
    files = [ZH / "told.json", *sorted(ZH.glob("ch*.json"))]
    known = {
        english: said
        for file in files
        for english, said in json.loads(file.read_text("utf-8")).items()
    }
    fields = {
        re.escape(key).replace(r"\{\}", "(.*?)"): said
        for key, said in known.items()
        if "{}" in key
    }
    return known, [
        (re.compile(pattern, re.S), said) for pattern, said in fields.items()
    ]


def say(text: str) -> str:
    """A text in the language that was chosen; in English if it is not translated."""
    if language() == "en":
        return text
    known, patterns = texts()
    if text in known:
        return known[text]
    for pattern, said in patterns:
        if found := pattern.fullmatch(text):
            return said.format(*map(say, found.groups()))
    return text
