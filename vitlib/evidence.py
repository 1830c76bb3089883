"""Results: where they come from, and how they are read and written."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["RESULTS", "load_results", "write_atomic", "write_json"]


RESULTS = Path(__file__).parent / "results"


def write_atomic(path: str | Path, content: bytes | Callable[[Path], object]) -> Path:
    """Write a file so that a reader finds the old one or the new one, never half of it.

    Args:
        path: Where the file goes; its folder is made if needed.
        content: The bytes, or a function that writes them to the path it is given.

    Returns:
        The path. On any failure, Ctrl-C included, the old file stays and nothing else is left.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    os.close(handle)
    try:
        if callable(content):
            content(Path(name))
        else:
            Path(name).write_bytes(content)
        with open(name, "rb+") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp makes files only the owner can read
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
    return path


def write_json(path: str | Path, value: object) -> Path:
    """Write `value` to `path` as indented JSON, atomically."""
    return write_atomic(path, (json.dumps(value, indent=1) + "\n").encode())


def load_results(name: str) -> dict:
    """The committed results of one run or study, by name.

    Raises:
        ValueError: If there are no results of that name, or their file is damaged.

    Source: chapter 09.
    """
    path = RESULTS / f"{name}.json"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in RESULTS.glob("*.json"))) or "none yet"
        raise ValueError(f"no results called {name!r}; there are: {known}")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}); reinstall vitlib, or run the study again") from error
