"""Files: written whole or not at all, read only if whole, held by one process; and names fit to be printed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path


def printable(text: str) -> str:
    """A name that somebody else gave, with "?" for what would move a terminal's cursor or change its colours."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def is_watched() -> bool:
    """Whether somebody sees a bar grow: at a terminal, or in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def lock(folder: Path, timeout: int = 0) -> contextlib.AbstractContextManager:
    """Hold a folder until the block ends, or the process does, however it ends; Timeout if another one holds it."""
    from filelock import FileLock

    folder.mkdir(parents=True, exist_ok=True)
    try:
        return FileLock(folder / ".lock").acquire(timeout=timeout)
    except NotImplementedError as error:
        raise OSError(
            f"{folder} is on a disk without locks; take a folder on another with --out"
        ) from error


def write_atomic(path: str | Path, content: bytes | Callable[[Path], object]) -> Path:
    """Write bytes, or what a function writes to the path it is given, so that no reader finds half of it.

    On any failure, Ctrl-C included, the old file stays and nothing else is left; what a killed process leaves,
    `<name>.part`, the next write replaces.
    """
    path = Path(path)
    if not path.name or "\0" in str(path) or path.is_dir():
        fix = "give a file's name in a folder"
        raise ValueError(
            f"expected the path of a file to write, got {str(path)!r}; {fix}"
        )
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(part)
        else:
            part.write_bytes(content)
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        # a disk that is full names no file
        error.filename = error.filename or str(path)
        raise
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
    return path


def write_json(path: str | Path, value: dict) -> Path:
    """Write `value` to `path` as JSON, atomically, with a "checksum" that `read_json` looks at."""
    return write_atomic(path, as_json(value))


def as_json(value: dict) -> bytes:
    """What `write_json` writes; refuses what JSON does not hold."""
    try:
        whole = json.loads(json.dumps({**value, "checksum": _checksum(value)}))
    except (TypeError, ValueError) as error:
        fix = "give numbers, strings, lists and dicts"
        raise ValueError(
            f"expected what JSON can hold, got other: {error}; {fix}"
        ) from error
    return _lines(whole, "\n").encode() + b"\n"


def _lines(value: dict | list, end: str) -> str:
    """JSON with a line for each entry; what holds no further lists or dicts stands on one."""
    inner = value.values() if isinstance(value, dict) else value
    if not any(isinstance(part, dict | list) for part in inner):
        return json.dumps(value)
    parts = [
        _lines(part, f"{end} ") if isinstance(part, dict | list) else json.dumps(part)
        for part in inner
    ]
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(key)}: {part}" for key, part in zip(value, parts, strict=True)
        ]
    first, last = json.dumps(type(value)())
    return f"{first}{end} {f',{end} '.join(parts)}{end}{last}"


def read_json(path: str | Path, fix: str) -> dict:
    """What `write_json` wrote to `path`, or a person, who gives no checksum; refuses what is damaged, with a `fix`."""
    try:
        found = {**json.loads(Path(path).read_text(encoding="utf-8"))}
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}); {fix}") from error
    if found.pop("checksum", known := _checksum(found)) != known:
        raise ValueError(
            f"{path} is damaged, or was changed by hand: its checksum is another's; {fix}"
        )
    return found


def _checksum(value: dict) -> str:
    """Of everything but a checksum, as JSON has it."""
    text = json.dumps({key: part for key, part in value.items() if key != "checksum"})
    return hashlib.sha256(text.encode()).hexdigest()
