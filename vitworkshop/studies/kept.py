"""What a finished run leaves in its folder: read again for the same run alone, written by one runner at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from vitlib.evidence import read_json
from vitlib.train.checkpoint import differences

__all__ = ["DELETE", "ROWS", "Taken", "alone", "plain", "read_rows"]

ROWS = "rows.json"  # in the folder of each finished run
DELETE = "delete it, and the same command goes on"


class Taken(Exception):
    """Another process is at work in this folder."""


@contextmanager
def alone(folder: Path, wait: bool = False) -> Iterator[None]:
    """Hold a folder until the block ends, or the process does, however it ends.

    Args:
        folder: Made if needed; its lock is the file `.lock`, which stays.
        wait: Whether to wait for another process that holds it.

    Raises:
        Taken: If another process holds it.
        OSError: If there can be no locks.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=-1 if wait else 0)
    except Timeout:
        raise Taken(str(folder)) from None
    except NotImplementedError as error:
        raise OSError(f"{folder} is on a disk without locks; take a folder on another with --out") from error
    try:
        yield
    finally:
        lock.release()


def plain(value: Any) -> Any:
    """As it comes back from a JSON file: tuples become lists."""
    return json.loads(json.dumps(value))


def read_rows(path: Path, about: dict, usual: dict) -> list[dict] | None:
    """The rows of a finished run; None if it is not finished.

    Args:
        path: Its file.
        about: What makes it this run.
        usual: What a part of that was before it had a name; see `differences`.

    Raises:
        ValueError: If the file is damaged or of another run.
    """
    if not path.is_file():
        return None
    kept = read_json(path, DELETE)
    if not isinstance(kept.get("about"), dict) or not isinstance(kept.get("rows"), list):
        raise ValueError(f"{path} is no file of a finished run; {DELETE}")
    if differs := list(differences(kept["about"], plain(about), usual)):
        raise ValueError(f"{path} is of another run ({'; '.join(differs)}); take another folder with --out")
    return kept["rows"]
