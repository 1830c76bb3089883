"""Tables as spreadsheets write them, in whatever language, and as they may read them."""

from __future__ import annotations

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
    rows: list[dict[str, str]]
    delimiter: str = ","
    encoding: str = "utf-8"


def read_sheet(path: Path, needed: Iterable[str]) -> Sheet:
    """A table with commas, semicolons or tabs, in UTF-8, UTF-16 or cp1252.

    Raises:
        ValueError: If it lacks a column, or a row has more cells than the head.
    """
    raw = path.read_bytes()
    encoding = next((name for mark, name in MARKS.items() if raw.startswith(mark)), "")
    try:
        text = raw.decode(encoding or "utf-8").lstrip("\ufeff")
    except UnicodeDecodeError:
        text, encoding = raw.decode("cp1252", errors="replace"), "cp1252"
    text = re.sub(r"^sep=.\r?\n", "", text)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    head, *lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)) or [[]]
    columns = [name.strip().casefold() for name in head]
    if lacking := [name for name in needed if name not in columns]:
        raise ValueError(f"expected the columns {', '.join(needed)} in {path}, got {columns}; add {lacking}")
    for number, cells in enumerate(lines, 2):
        if any(cells[len(columns) :]):
            raise ValueError(
                f"expected {len(columns)} cells in row {number} of {path}, got {len(cells)}; put a cell that holds "
                f"{delimiter!r} in quotes"
            )
    rows = [
        {c: _read(cell) for c, cell in zip(columns, cells, strict=False)} for cells in lines if any(cells)
    ]
    return Sheet(columns, rows, delimiter, encoding or "utf-8")


def _read(cell: str) -> str:
    return (cell[1:] if cell[:1] == "'" and cell[1:].startswith(FORMULA) else cell).strip()


def table(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> bytes:
    """A table that no spreadsheet takes for a formula; where semicolons stand, decimals have commas."""
    file = io.StringIO()
    for row in rows:
        texts = [f"{cell:g}".replace(".", "," if delimiter == ";" else ".") if type(cell) is float else str(cell)
                 for cell in row]  # fmt: skip
        cells = [
            "'" + t if t.startswith(FORMULA) and type(c) is str else t
            for t, c in zip(texts, row, strict=True)
        ]
        csv.writer(file, delimiter=delimiter).writerow(cell.replace("\0", "") for cell in cells)
    return file.getvalue().encode("utf-8-sig", errors="replace")
