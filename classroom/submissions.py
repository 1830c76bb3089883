"""What students handed in: whatever lies in a folder or a zip is found, and read as data."""

import contextlib
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO

from classroom.names import CANVAS, digest, shown, whose
from vitlib.files import printable

# bytes and so on of a notebook; files a student, and in a zip
MOST, CELLS, BRACKETS, FILES, PACKED = 20_000_000, 2_000, 500_000, 50, 1_000
TASKS = re.compile(r"^[^\w\n]*+(?:task |answer )?(\d)\.\d\b", re.M | re.I)
NOTEBOOK = re.compile(r"\.ipynb(\.txt|\.json)?$", re.I)
ZIP = re.compile(r"\.zip$", re.I)
HIDDEN = re.compile(r"(^|[/\\])(\.(?!\.?[/\\])|__MACOSX)")  # made by a computer
Cell = tuple[str, str]  # its kind, its text


@dataclass
class File:
    """A file in a folder or a zip."""

    name: str  # with "/" between folders
    date: tuple[float, ...]
    open: Callable[[], contextlib.AbstractContextManager]

    @property
    def top(self) -> str:
        """The file or folder in which a student handed it in."""
        return self.name.partition("/")[0]

    def read(self) -> bytes:
        """Its bytes; refuses what is too large."""
        with self.open() as file:
            raw = file.read(MOST + 1)
        if len(raw) > MOST:
            raise ValueError(
                f"expected at most {MOST / 1e6:g} MB, got more: clear its outputs"
            )
        return raw


@dataclass
class Submission:
    """What one student handed in."""

    key: str  # an id; of whom nobody knows, its name in the folder
    files: list[File]  # the later ones last
    problem: str = ""
    several: bool = False  # notebooks with tasks of it
    cells: list[Cell] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """A mark of the bytes of its files."""
        mark = hashlib.sha256()
        for file in self.files:
            with contextlib.suppress(ValueError, OSError):
                mark.update(hashlib.sha256(file.read()).digest())
        return mark.hexdigest()

    def read(self, homework: int) -> None:
        """Read the notebook that has most of a homework's tasks, the newest of them; say what else is there."""
        best, last, several, others, problems = -1, "", 0, set(), []
        for file in pieces(self.files, NOTEBOOK):
            try:
                cells = _cells(file.read())
            except ValueError as error:
                problems.append(f"{shown(file.name)}: {error}")
                continue
            tasks = TASKS.findall("\n".join(text for _, text in cells))
            others |= {*tasks}
            if (count := tasks.count(str(homework))) >= best:
                best, self.cells, last = count, cells, shown(file.name)
            several += count > 0
        self.several = several > 1
        if self.several:
            problems.append(
                f"{several} notebooks have tasks of it, {last} is what was read"
            )
        if best == 0 and others:
            problems.append(
                f"it has the tasks of homework {', '.join(sorted(others))}, not of {homework}"
            )
        if best < 0 and not problems:
            problems.append(
                f"no notebook in {shown(self.files[-1].top)}: hand in the .ipynb"
            )
        self.problem = printable("; ".join(problems))[:1000]


def handed_in(path: Path) -> list[File]:
    """The files in a folder, or in a platform's zip."""
    if path.is_file() and ZIP.search(path.name):
        return _packed(path)
    if path.is_file() and path.suffix == ".ipynb":
        return [File(path.name, (path.lstat().st_mtime,), partial(_plain, path))]
    if not path.is_dir():
        raise ValueError(
            f"expected a folder of submissions, a platform's zip or a notebook, got {path}; give the one they are in"
        )
    return [
        File(
            each.relative_to(path).as_posix(),
            (each.lstat().st_mtime,),
            partial(_plain, each),
        )
        for each in path.rglob("*")
        if each.is_symlink() or not each.is_dir()
    ]


def find(files: list[File], people: Iterable[str]) -> list[Submission]:
    """What each of `people`, by their ids, handed in; what nobody of them did comes after it, by its own name."""
    there = [file for file in files if not HIDDEN.search(file.name)]
    owners = whose([file.top for file in there], people)
    found: dict[str, Submission] = {}
    for file in sorted(there, key=_order):
        for key in owners[file.top] or [shown(file.top)]:
            found.setdefault(key, Submission(key, [])).files.append(file)
    if not found:
        raise ValueError(
            "expected notebooks (.ipynb) or a folder for each student, got none; give the folder they are in"
        )
    order = dict.fromkeys([*people, *sorted(found)])
    return [found[key] for key in order if key in found]


def _order(file: File) -> tuple[int, tuple[float, ...], str]:
    """Of two files of one student the later comes last: by Canvas's number, else by its date."""
    by = CANVAS.fullmatch(file.name)
    return int(by["order"]) if by else 0, file.date, file.name


def pieces(files: list[File], wanted: re.Pattern) -> list[File]:
    """The files `wanted`, also those in zips that can be opened: so many at most, the newest last."""
    found = []
    for file in files:
        if not ZIP.search(file.name):
            found.append(file)
            continue
        with contextlib.suppress(ValueError, OSError):
            raw = file.read()
            # of so many entries the table alone would hold us up
            if raw.count(b"PK\1\2") < PACKED:
                found += sorted(_packed(io.BytesIO(raw)), key=_order)
    return [
        each
        for each in found
        if wanted.search(each.name) and not HIDDEN.search(each.name)
    ][-FILES:]


def _packed(source: Path | BinaryIO) -> list[File]:
    """The files in a zip; nothing is written to the disk."""
    with _opened(source) as archive:
        return [
            File(info.filename, info.date_time, partial(_taken, source, info))
            for info in archive.infolist()
            if not info.is_dir()
        ]


@contextlib.contextmanager
def _taken(source: Path | BinaryIO, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    with _opened(source) as archive, archive.open(info) as file:
        yield file


@contextlib.contextmanager
def _opened(source: Path | BinaryIO) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(source) as archive:
            yield archive
    except Exception as error:  # whatever a damaged or encrypted archive leads to
        raise ValueError(
            f"expected a zip, got one that cannot be opened ({error}); make or download it again"
        ) from None


def _plain(path: Path) -> BinaryIO:
    """A file; refuses links, pipes and devices."""
    if path.is_symlink() or not path.is_file():
        raise ValueError("expected a file, got a link or a device: hand in the file")
    return path.open("rb")


def _cells(raw: bytes) -> list[Cell]:
    """A notebook's cells."""
    if (
        raw.count(b"[") + raw.count(b"{") > BRACKETS
        or raw.count(b'"cell_type"') > CELLS
    ):
        raise ValueError(
            f"expected at most {CELLS} cells, and outputs to match, got more: clear its outputs"
        )
    try:
        cells = [*json.loads(raw)["cells"]]
    except (ValueError, RecursionError, TypeError, KeyError):
        raise ValueError(
            "not a notebook: open it in Jupyter, save it and hand in the .ipynb"
        ) from None
    found = []
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        source = cell.get("source")
        text = "".join(map(str, source)) if isinstance(source, list) else source
        text = text if isinstance(text, str) else ""
        if pictures := cell.get("attachments"):
            text += f"\n\n(attached: {digest(str(pictures))})"
        found.append((str(cell.get("cell_type")), text))
    return found
