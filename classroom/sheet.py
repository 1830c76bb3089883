"""Tables as spreadsheets write them, in whatever language, and as they may read them."""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass
class Sheet:
    """What a file holds, and how it is written."""

    columns: list[str]
    rows: list[dict[str, str]]  # each with its "row" in the file
    delimiter: str
    encoding: str


def read_sheet(path: Path, needed: Iterable[str]) -> Sheet:
    """A table with commas, semicolons or tabs, in UTF-8, UTF-16 or cp1252; refuses what lacks a column."""
    raw = path.read_bytes()
    encoding = next(
        (name for mark, name in MARKS.items() if raw.startswith(mark)), "utf-8"
    )
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        encoding = "cp1252"
        text = raw.decode(encoding, errors="replace")
    text = re.sub(r"^sep=.\r?\n", "", text.lstrip("\ufeff"))
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    head, *lines = list(
        csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    ) or [[]]
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
            rows.append(
                {
                    **dict.fromkeys(columns, ""),
                    **dict(zip(columns, plain, strict=False)),
                    "row": str(number),
                }
            )
    return Sheet(columns, rows, delimiter, encoding)


def table(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> bytes:
    """A table that no spreadsheet takes for a formula."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows(map(_written, row) for row in rows)
    return file.getvalue().encode("utf-8-sig", errors="replace")


def _written(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:g}"
    text = "" if cell is None else str(cell).replace("\0", "")
    return f"'{text}" if text.startswith(FORMULA) else text
