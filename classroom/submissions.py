"""What students handed in: notebooks are found, read as data and cut into what belongs to a task."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from classroom.homework.notebook import ANSWER
from vitlib.files import printable

MOST = 20_000_000  # bytes of a notebook
Cell = tuple[str, str]  # its kind, its text


@dataclass
class Submission:
    """What one student handed in."""

    student: str
    notebooks: list[list[Cell]] = field(default_factory=list)
    digest: str = ""
    problem: str = ""  # why something of it is not read

    @property
    def slug(self) -> str:
        """A name for files, whatever the student's is made of."""
        plain = re.sub(r"[^\w.-]", "_", self.student)[:60].strip(".")
        clash = "" if plain == self.student else f"-{hashlib.sha256(self.student.encode()).hexdigest()[:8]}"
        return plain + clash

    def cells(self, homework: int) -> list[Cell]:
        """The notebook that has most of a homework's tasks."""
        found = re.compile(rf"^[ \t]*(?:# task |{ANSWER}){homework}\.\d", re.M)
        return max(self.notebooks, key=lambda cells: sum(bool(found.search(c)) for _, c in cells), default=[])

    def code(self, homework: int, number: str, name: str) -> list[tuple[int, str]]:
        """The code cells, with their numbers, up to the last that has a task's line or else defines its function."""
        code = [(i, text) for i, (kind, text) in enumerate(self.cells(homework), 1) if kind == "code"]
        for found in (
            rf"^[ \t]*#[ \t]*task[ \t]+{re.escape(number)}\b",
            rf"^(?:def[ \t]+)?{name}\b[ \t]*[(=]",
        ):
            ends = [n for n, (_, text) in enumerate(code, 1) if re.search(found, text, re.M | re.I)]
            if ends:
                return [
                    (i, re.sub(r"^([ \t]*)[%!].*$", r"\1pass", text, flags=re.M))
                    for i, text in code[: ends[-1]]
                ]
        return []

    def words(self, homework: int, number: str) -> str:
        """The answer in words to a question."""
        for kind, text in reversed(self.cells(homework)):
            head, _, answer = text.partition("\n")
            if kind == "markdown" and head.strip().strip("#").strip() == f"Answer {number}":
                return "\n".join(map(printable, answer.strip().strip("…").strip()[:5000].split("\n")))
        return ""


def find(folder: Path) -> list[Submission]:
    """The submissions in a folder: one notebook or one folder a student.

    Raises:
        ValueError: If there is no such folder, or none in it.
    """
    if not folder.is_dir():
        raise ValueError(
            f"expected a folder of submissions, got {folder}; give the folder they were unpacked in"
        )
    entries = [path for path in sorted(folder.iterdir()) if not path.name.startswith((".", "__MACOSX"))]
    entries = [path for path in entries if path.is_symlink() or path.is_dir() or path.suffix == ".ipynb"]
    if not entries:
        raise ValueError(f"expected notebooks (.ipynb) or a folder for each student in {folder}, got none")
    stems = Counter(path.stem for path in entries)
    return [_read(path, path.stem if stems[path.stem] == 1 else path.name) for path in entries]


def _read(path: Path, student: str) -> Submission:
    found = Submission(printable(student))
    digest, problems = hashlib.sha256(), []
    for file in _files(path):
        try:
            raw = read_plain(file, MOST)
            digest.update(raw)
            found.notebooks.append(_cells(raw))
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{file.name}: {error if isinstance(error, ValueError) else 'cannot be read'}")
    found.digest = digest.hexdigest()
    found.problem = printable("; ".join(problems)) or ("" if found.notebooks else "no notebook")
    return found


def _files(path: Path) -> Iterator[Path]:
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    files = (Path(top, name) for top, _, names in os.walk(path) for name in sorted(names))
    for _, file in zip(range(50), (f for f in files if f.suffix == ".ipynb"), strict=False):
        if ".ipynb_checkpoints" not in file.parts:
            yield file


def read_plain(path: Path, most: int) -> bytes:
    """A file's bytes; refuses links, pipes, devices and what is too large."""
    if path.is_symlink():
        raise ValueError("expected a file, got a symbolic link: hand in the file itself")
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(number, "rb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise ValueError("expected a file, got something else: hand in the file itself")
        raw = file.read(most + 1)
    if len(raw) > most:
        raise ValueError(f"expected at most {most / 1e6:g} MB, got more: clear its outputs")
    return raw


def _cells(raw: bytes) -> list[Cell]:
    """A notebook's cells."""
    try:
        whole = json.loads(raw)
    except ValueError:
        raise ValueError("not a notebook: download it as .ipynb and hand it in again") from None
    cells = whole.get("cells") if isinstance(whole, dict) else None
    if not isinstance(cells, list):
        raise ValueError("not a notebook of version 4: open it in Jupyter, save it and hand it in again")
    found = []
    for cell in cells:
        source = cell.get("source") if isinstance(cell, dict) else None
        text = (
            source
            if isinstance(source, str)
            else "".join(map(str, source))
            if isinstance(source, list)
            else ""
        )
        found.append((str(cell.get("cell_type")) if isinstance(cell, dict) else "", text))
    return found
