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
    delimiter: str
    encoding: str


def read_sheet(path: Path, needed: Iterable[str]) -> Sheet:
    """A table with commas, semicolons or tabs, in UTF-8, UTF-16 or cp1252; refuses what lacks a column."""
    raw = path.read_bytes()
    encoding = next((name for mark, name in MARKS.items() if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        encoding = "cp1252"
        text = raw.decode(encoding, errors="replace")
    text = re.sub(r"^sep=.\r?\n", "", text.lstrip("\ufeff"))
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    head, *lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)) or [[]]
    columns = [name.strip().casefold() for name in head]
    if not {*needed} <= {*columns}:
        names = ", ".join(needed)
        raise ValueError(f"expected the columns {names} in {path}, got {', '.join(columns)}; add them")
    for number, cells in enumerate(lines, 2):
        if any(cells[len(columns) :]):
            got = f"got {len(cells)}; put a cell that holds {delimiter!r} in quotes"
            raise ValueError(f"expected {len(columns)} cells in row {number} of {path}, {got}")
    width = [""] * len(columns)
    rows = [dict(zip(columns, map(_read, cells + width), strict=False)) for cells in lines if any(cells)]
    return Sheet(columns, rows, delimiter, encoding)


def _read(cell: str) -> str:
    return (cell[1:] if cell[:1] == "'" and cell[1:].startswith(FORMULA) else cell).strip()


def table(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> bytes:
    """A table that no spreadsheet takes for a formula."""
    file = io.StringIO()
    for row in rows:
        cells = [f"{c:g}" if isinstance(c, float) else _guarded(str(c)) for c in row]
        csv.writer(file, delimiter=delimiter).writerow(cells)
    return file.getvalue().encode("utf-8-sig", errors="replace")


def _guarded(text: str) -> str:
    return ("'" if text.startswith(FORMULA) else "") + text.replace("\0", "")
