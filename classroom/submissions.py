"""What students handed in: whatever lies in the folder is found, read as data and cut into what belongs to a task."""

import contextlib
import hashlib
import io
import itertools
import json
import os
import re
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from classroom.names import CANVAS, ENDING, shown, whose
from vitlib.files import printable

# bytes and so on of a notebook; files a student
MOST, CELLS, BRACKETS, FILES = 20_000_000, 2_000, 500_000, 50
TASKS = re.compile(r"^[^\w\n]*+(?:task |answer )?(\d)\.\d\b", re.M | re.I)
NOTEBOOK = re.compile(r"\.ipynb(\.txt|\.json)?$", re.I)
HIDDEN = re.compile(r"(^|[/\\])(\.|__MACOSX)")  # made by a computer
Cell = tuple[str, str]  # its kind, its text


@dataclass
class Submission:
    """What one student handed in."""

    key: str  # an id; of whom nobody knows, its name in the folder
    paths: list[Path]  # the later ones last
    digest: str = ""
    date: float = 0.0  # when the newest of its files was written
    problem: str = ""
    several: bool = False  # notebooks with tasks of it
    cells: list[Cell] = field(default_factory=list)

    def read(self, homework: int) -> None:
        """Read the notebook that has most of a homework's tasks, the newest of them; say what else is there."""
        best, last, several, others, problems, odd = -1, "", 0, set(), [], []
        for name, raw in itertools.chain(
            *(pieces(path, NOTEBOOK) for path in self.paths)
        ):
            try:
                cells = _cells(raw)
            except ValueError as error:
                alone = [shown(path.name) for path in self.paths] == [name]
                where = "" if alone else f"{name}: "
                problems += [f"{where}{error}"] if str(error) else []
                odd += [] if str(error) else [name]
                continue
            text = "\n".join(text for _, text in cells)
            tasks = TASKS.findall(text)
            others |= {*tasks}
            if (count := tasks.count(str(homework))) >= best:
                best, self.cells, last = count, cells, name
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
                f"no notebook{', but ' if odd else ''}{', '.join(odd[:3])}: hand in the .ipynb"
            )
        self.problem = printable("; ".join(problems))[:1000]


def find(
    folder: Path, people: dict[str, str]
) -> tuple[list[Submission], dict[str, str]]:
    """What each of `people`, ids with names, handed in: folders, notebooks, zips and files of Python in a folder.

    What nobody of them handed in comes after it, by its own name; and why what else lies there is no submission.
    """
    there, paths, left_out = entries(folder), [], {}
    owners = whose([path.name for path in there], people)
    for path in there:
        if HIDDEN.search(path.name):
            left_out[shown(path.name)] = "hidden, made by a computer"
        elif (
            ENDING.search(path.name)
            or path.is_dir()
            or path.is_symlink()
            or owners[path.name]
            and people
        ):
            paths.append(path)
        else:
            left_out[shown(path.name)] = "no notebook, folder or zip"
    if not paths:
        raise ValueError(
            f"expected notebooks (.ipynb) or a folder for each student in {folder}, got none"
        )
    found: dict[str, Submission] = {}
    for path in sorted(paths, key=_order):
        for key in owners[path.name] or [shown(path.name)]:
            found.setdefault(key, Submission(key, [])).paths.append(path)
    for each in found.values():
        digest, dates = hashlib.sha256(), [0.0]
        for path in each.paths:
            dates += map(_date, _files(path))
            for name, raw in pieces(path, NOTEBOOK):
                digest.update(name.encode(errors="surrogatepass") + b"\0")
                digest.update(raw if isinstance(raw, bytes) else raw.encode())
        each.digest, each.date = digest.hexdigest(), max(dates)
    order = [*people, *sorted(found)]
    return sorted(found.values(), key=lambda each: order.index(each.key)), left_out


def entries(folder: Path) -> list[Path]:
    """What lies in a folder of submissions."""
    if not folder.is_dir():
        raise ValueError(
            f"expected a folder of submissions or a platform's zip, got {folder}; give the one they are in"
        )
    return sorted(folder.iterdir())


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Path]:
    """A folder of submissions as it is; a platform's zip as a folder, for a while."""
    if path.suffix.lower() != ".zip" or not path.is_file():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="class-") as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                for info in archive.infolist():
                    parts = [
                        part for part in info.filename.split("/") if part.strip(".")
                    ]
                    made = Path(folder, *parts)
                    if not info.is_dir():
                        made.parent.mkdir(parents=True, exist_ok=True)
                        made.write_bytes(archive.open(info).read(MOST + 1))
                        with contextlib.suppress(ValueError):  # a zip may have no date
                            when = datetime(*info.date_time).timestamp()
                            os.utime(made, (when, when))
        except (zipfile.BadZipFile, RuntimeError) as error:
            raise ValueError(
                f"expected a platform's zip, got {path} ({error}); download it again"
            ) from None
        yield Path(folder)


def _order(path: Path) -> tuple[int, float, str]:
    """Of two files of one student the later comes last: by Canvas's number, else by its date."""
    by = CANVAS.fullmatch(path.name)
    return int(by["order"]) if by else 0, _date(path), path.name


def _date(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.lstat().st_mtime
    return 0.0


def _files(path: Path) -> list[Path]:
    """The files in what was handed in: notebooks and zips last, the newest of them at the end."""
    if path.is_symlink() or not path.is_dir():
        return [path]
    files = [Path(top, name) for top, _, names in os.walk(path) for name in names]
    files = [file for file in files if not HIDDEN.search(str(file.relative_to(path)))]
    return sorted(
        files, key=lambda file: (bool(ENDING.search(file.name)), _date(file), file)
    )


def pieces(path: Path, wanted: re.Pattern) -> Iterator[tuple[str, bytes | str]]:
    """Names and bytes of the files `wanted` in what was handed in, the newest last; of others why not, or nothing."""
    files = _files(path)
    for file in files[-FILES:]:
        try:
            if file.suffix.lower() == ".zip":
                yield from _unzipped(_read_plain(file), wanted)
            else:
                looked_at = wanted.search(file.name) or file.is_symlink()
                yield shown(file.name), _read_plain(file) if looked_at else ""
        except ValueError as error:
            yield shown(file.name), str(error)
        except OSError:
            yield shown(file.name), "cannot be read"
    if len(files) > FILES and ENDING.search(files[-FILES - 1].name):
        yield "a folder", f"{len(files)} files, only {FILES} are looked at"


def _unzipped(raw: bytes, wanted: re.Pattern) -> Iterator[tuple[str, bytes | str]]:
    """What `pieces` gives, of a zip: nothing is written to the disk, and only so much is taken out of it."""
    end = raw.rfind(b"PK\5\6") % (len(raw) + 1)
    if (
        int.from_bytes(raw[end + 12 : end + 16], "little") > 200_000
        or b"PK\6\7" in raw[-66_000:]
    ):
        raise ValueError(
            "expected a zip of some files, got more: hand in the .ipynb alone"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            order = lambda info: (
                bool(wanted.search(info.filename)),
                info.date_time,
                info.filename,
            )
            for info in sorted(archive.infolist(), key=order)[-FILES:]:
                name = shown(info.filename)
                if info.is_dir() or HIDDEN.search(name):
                    continue
                if not wanted.search(name):
                    yield (
                        name,
                        "a zip in a zip is not opened"
                        if name.casefold().endswith(".zip")
                        else "",
                    )
                elif info.compress_type not in (
                    zipfile.ZIP_STORED,
                    zipfile.ZIP_DEFLATED,
                ):
                    yield name, "packed in an unusual way: hand in the .ipynb alone"
                else:
                    with archive.open(info) as file:
                        yield name, _limited(file.read(MOST + 1))
    except ValueError:
        raise
    except Exception as error:  # whatever a damaged or encrypted archive leads to
        raise ValueError(
            f"the zip cannot be opened ({error}): hand in the .ipynb alone"
        ) from None


def _read_plain(path: Path) -> bytes:
    """A file's bytes; refuses links, pipes, devices and what is too large."""
    if path.is_symlink():
        raise ValueError(
            "expected a file, got a symbolic link: hand in the file itself"
        )
    number = os.open(
        path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    )
    with os.fdopen(number, "rb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise ValueError(
                "expected a file, got something else: hand in the file itself"
            )
        return _limited(file.read(MOST + 1))


def _limited(raw: bytes) -> bytes:
    if len(raw) > MOST:
        raise ValueError(
            f"expected at most {MOST / 1e6:g} MB, got more: clear its outputs"
        )
    return raw


def _cells(raw: bytes | str) -> list[Cell]:
    """A notebook's cells; words are why there is none."""
    if isinstance(raw, str):
        raise ValueError(raw)
    if (
        raw.count(b"[") + raw.count(b"{") > BRACKETS
        or raw.count(b'"cell_type"') > CELLS
    ):
        raise ValueError(
            f"expected at most {CELLS} cells, and outputs to match, got more: clear its outputs"
        )
    try:
        cells = json.loads(raw)["cells"]
    except (TypeError, KeyError):
        cells = None
    except (ValueError, RecursionError):
        raise ValueError(
            "not a notebook: download it as .ipynb and hand it in again"
        ) from None
    if not isinstance(cells, list):
        raise ValueError(
            "not a notebook of version 4: open it in Jupyter, save it and hand it in again"
        )
    found = []
    for cell in (cell if isinstance(cell, dict) else {} for cell in cells):
        source = cell.get("source")
        text = "".join(map(str, source)) if isinstance(source, list) else source
        found.append(
            (str(cell.get("cell_type")), text if isinstance(text, str) else "")
        )
    return found
