"""Tables that a notebook shows as tables and a terminal as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["table"]

# begins so and is short, or is empty: "0.86 (epoch 12)"
NUMBER = re.compile(r"([-+−~±]?[\d.].{0,24}|[–-]?)$")


class Table(str):
    """Markdown that a notebook shows set."""

    def _repr_markdown_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<table of {self.count(chr(10)) - 1} rows>"


def table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table: the first column and columns with words on the left, columns of numbers on the right.

    Args:
        header: One name for each column; may be empty strings.
        rows: As many cells each; whatever `str` makes of them.

    Returns:
        The text, which a notebook shows as a table when it is a cell's last line.

    Raises:
        ValueError: If a row has more or fewer cells than the header.

    Source: chapter 02.
    """
    head, *body = (
        [str(cell).replace("|", "&#124;") for cell in row] for row in (header, *rows)
    )
    for i, row in enumerate(body):
        if len(row) != len(head):
            got = f"{len(row)} in row {i}"
            raise ValueError(
                f"expected {len(head)} cells in each row, as in the header, got {got}"
            )
    columns = zip(*body, strict=True) if body else ([""] for _ in head)
    rules = [
        "---:" if i and all(map(NUMBER.match, column)) else "---"
        for i, column in enumerate(columns)
    ]
    return Table("\n".join(f"| {' | '.join(row)} |" for row in (head, rules, *body)))
