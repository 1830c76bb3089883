"""Tables as spreadsheets write them, and as they may read them."""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass
class Sheet:
    """What a file holds, and how it is written."""

    columns: list[str]  # in small letters
    heads: list[str]  # as they stand there
    rows: list[dict[str, str]]  # each with its "row" in the file
    delimiter: str


def read_sheet(path: Path, needed: Iterable[str] = ()) -> Sheet:
    """A table in UTF-8 with commas, semicolons or tabs; refuses what lacks a column."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(
            f"expected {path} in UTF-8, got other letters; save it as CSV UTF-8"
        ) from None
    text = re.sub(r"^sep=.\r?\n", "", text)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    head = next(lines, [])
    columns, rows = [name.strip().casefold() for name in head], []
    if not {*needed} <= {*columns}:
        raise ValueError(
            f"expected the columns {', '.join(needed)} in {path}, got {', '.join(columns)}; add them"
        )
    for number, cells in enumerate(lines, 2):
        if any(cells[len(columns) :]):
            got = f"got {len(cells)}; put a cell that holds {delimiter!r} in quotes"
            raise ValueError(
                f"expected {len(columns)} cells in row {number} of {path}, {got}"
            )
        plain = [
            (cell.removeprefix("'") if cell[1:].startswith(FORMULA) else cell).strip()
            for cell in cells
        ]
        if any(plain):
            row = dict.fromkeys(columns, "") | dict(zip(columns, plain, strict=False))
            rows.append(row | {"row": str(number)})
    return Sheet(columns, head, rows, delimiter)


def table(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> bytes:
    """A table that no spreadsheet takes for a formula."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows(map(_written, row) for row in rows)
    return file.getvalue().encode("utf-8-sig", errors="replace")


def _written(cell: Any) -> str:
    text = str(cell).replace("\0", "")
    return f"'{text}" if text.startswith(FORMULA) else text
