"""In which language `vl.check` and `vl.hint` answer: English as it is written, or Chinese from a catalogue of messages.

A reply is `Said("expected {n} numbers, got {got}", n=2, got=1)`, a message with its values, which may be replies. It is
its English text, which is compared and sorted; `say` has it in the language that was chosen. The catalogue,
`vitworkshop/words/zh.po`, is kept by `python -m page.catalogue update`, which reads the literals that stand in such
calls, and the hints and known mistakes of each exercise.
"""

from __future__ import annotations

import sys
from typing import Any

from vitlib.checks import check_choice
from vitworkshop.words import CHOSEN as _CHOSEN
from vitworkshop.words import exchange, table

__all__ = ["language"]


def language(name: str | None = None) -> str:
    """The language of `vl.check`, `vl.hint`, `vl.explore` and figures' labels: "en" at first, or `name`, "en" or "zh".

    Raises:
        ValueError: If it is another name.

    Source: every chapter's exercises, from chapter 01 on.
    """
    if name is not None:
        check_choice("name", name, ("en", "zh"))
        _CHOSEN["language"] = name
        _listen()
    return _CHOSEN["language"]


def _listen() -> None:
    """Has a notebook show drawings and tables with their labels in the language that is chosen then."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    for end in (getattr(shell, each, None) for each in ("display_pub", "displayhook")):
        if end is not None and hasattr(end, "register_hook"):
            # that there is one, however often this is called
            end.unregister_hook(_shown)
            end.register_hook(_shown)


def _shown(message: dict[str, Any]) -> dict[str, Any]:
    """What a notebook is about to show, with its labels in the language."""
    data = message.get("content", {}).get("data", {})
    if language() != "en":
        exchange(data, language())
    return message


class Said(str):
    """What is said, in English; it keeps its message and the values, for other languages."""

    message: str
    values: dict[str, Any]

    def __new__(cls, message: str, **values: Any) -> Said:
        said = super().__new__(cls, message.format(**values) if values else message)
        said.message, said.values = message, values
        return said


def say(text: str, **values: Any) -> str:
    """A text, or a message with its values, in the language that was chosen; in English if it is not translated."""
    return said_in(language(), Said(text, **values) if values else text)


def said_in(name: str, text: str) -> str:
    """A text in this language."""
    said = text if isinstance(text, Said) else Said(text)
    if name == "en":
        return said
    words = table(name).get(said.message, said.message)
    values = {
        k: said_in(name, v) if isinstance(v, Said) else v
        for k, v in said.values.items()
    }
    return words.format(**values) if values else words
