"""Tables as spreadsheets write them, in whatever language, and as they may read them."""

import codecs
import contextlib
import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OLD = ("gb18030", "big5", "shift_jis", "cp1252")
# in cp1252: what no language of Europe writes, three such letters in a row or two that touch no other
STRANGE = re.compile(
    r"[^\x00-\x7f€–—‘’“”„…]{3}|(?<![a-zA-Z])[^\x00-\x7f€–—‘’“”„…]{2}(?![a-zA-Z])"
)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass
class Sheet:
    """What a file holds, and how it is written."""

    columns: list[str]  # in small letters
    heads: list[str]  # as they stand there
    rows: list[dict[str, str]]  # each with its "row" in the file
    delimiter: str


def read_sheet(
    path: Path, needed: Iterable[str] = (), known: Iterable[str] = ()
) -> Sheet:
    """A table with commas, semicolons or tabs, in whatever letters; refuses what lacks a column.

    Where several kinds of letters could be meant, it is those in which names that are `known` stand there.
    """
    raw = path.read_bytes()
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = raw.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        text = _decoded(raw, path, known)
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


def _decoded(raw: bytes, path: Path, known: Iterable[str]) -> str:
    """The text of a file in an encoding of before Unicode."""
    texts = {}
    for name in OLD:
        with contextlib.suppress(UnicodeDecodeError):
            texts[name] = raw.decode(name)
    parts = {*re.findall(r"[^\W\d_a-zA-Z]+", " ".join(known))}
    fits = {name: sum(part in text for part in parts) for name, text in texts.items()}
    best = [name for name in fits if fits[name] == max(fits.values())]
    if "cp1252" in best and not any([*fits.values(), STRANGE.search(texts["cp1252"])]):
        best = ["cp1252"]
    if len(best) != 1:
        got = f"letters of several kinds ({', '.join(best)})"
        raise ValueError(f"expected {path} in UTF-8, got {got}; save it as CSV UTF-8")
    return texts[best[0]]


def table(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> bytes:
    """A table that no spreadsheet takes for a formula."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows(map(_written, row) for row in rows)
    return file.getvalue().encode("utf-8-sig", errors="replace")


def _written(cell: Any) -> str:
    text = str(cell).replace("\0", "")
    return f"'{text}" if text.startswith(FORMULA) else text
