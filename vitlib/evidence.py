"""Results: where they come from, how they are read and written, and what paired runs say."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path

import torch

import vitlib
from vitlib.checks import checked
from vitlib.device import describe_hardware

__all__ = ["load_results"]

RESULTS = Path(__file__).parent / "results"
COMMAND: ContextVar[str] = ContextVar("COMMAND", default="")  # the command line sets it, for the results


def provenance(dataset: str, device: torch.device, precision: str) -> dict[str, str]:
    """The header of a results file: what made it, from which data, where."""
    return {
        "command": COMMAND.get(),
        "vitlib_version": vitlib.__version__,
        "torch_version": str(torch.__version__),
        "dataset": dataset,
        "hardware": describe_hardware(device),
        "precision": precision,
    }


def summarize(values: Sequence[float]) -> dict:
    """Mean, standard deviation (None for one value) and number of values."""
    import statistics

    spread = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "sd": spread, "n": len(values)}


def paired_difference(first: Mapping[int, float], second: Mapping[int, float]) -> dict | None:
    """What the differences first - second (each seed -> score) say, paired by seed; None of fewer than two.

    "difference" is their mean, "se" its standard error, "interval" of 95 % (Student's t), "n" their number.
    """
    import statistics

    from scipy.stats import t

    differences = [first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())]
    if (n := len(differences)) < 2:
        return None
    mean, se = statistics.fmean(differences), statistics.stdev(differences) / n**0.5
    reach = float(t.ppf(0.975, n - 1)) * se
    return {"difference": mean, "se": se, "interval": [mean - reach, mean + reach], "n": n}


def seeds_to_reach(width: float, spread: float, least: int = 2) -> int:
    """About how many seeds make a 95 % interval (Student's t) narrower than `width`, if the spread stays as it is."""
    from scipy.stats import norm, t

    n = max(least, math.ceil((2 * norm.ppf(0.975) * spread / width) ** 2))  # t needs more, and never fewer
    while 2 * t.ppf(0.975, n - 1) * spread / n**0.5 >= width:
        n += 1
    return n


def write_atomic(path: str | Path, content: bytes | Callable[[Path], object]) -> Path:
    """Write bytes, or what a function writes to the path it is given, so that no reader finds half of it.

    On any failure, Ctrl-C included, the old file stays and nothing else is left; what a killed process leaves,
    `<name>.part`, the next write replaces.
    """
    path = Path(path)
    if not path.name or "\0" in str(path) or path.is_dir():
        raise ValueError(
            f"expected the path of a file to write, got {str(path)!r}; give a file's name in a folder"
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
        error.filename = error.filename or str(path)  # a disk that is full names no file
        raise
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
    return path


def write_json(path: str | Path, value: dict) -> Path:
    """Write `value` to `path` as indented JSON, atomically, with a "checksum" that `read_json` looks at."""
    return write_atomic(path, as_json(value))


def as_json(value: dict) -> bytes:
    """What `write_json` writes; refuses what JSON does not hold."""
    try:
        return json.dumps({**value, "checksum": _checksum(value)}, indent=1).encode() + b"\n"
    except (TypeError, ValueError) as error:
        fix = "give numbers, strings, lists and dicts"
        raise ValueError(f"expected what JSON can hold, got other: {error}; {fix}") from error


def read_json(path: str | Path, fix: str) -> dict:
    """What `write_json` wrote to `path`, or a person, who gives no checksum; refuses what is damaged, with a `fix`."""
    try:
        found = {**json.loads(Path(path).read_text(encoding="utf-8"))}
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}); {fix}") from error
    if found.pop("checksum", known := _checksum(found)) != known:
        raise ValueError(
            f"{path} is damaged, or was changed by hand: its checksum is of other contents; {fix}"
        )
    return found


def _checksum(value: dict) -> str:
    """Of everything but a checksum, as JSON has it."""
    text = json.dumps({key: part for key, part in value.items() if key != "checksum"})
    return hashlib.sha256(text.encode()).hexdigest()


@checked
def load_results(name: str, folder: str | Path | None = None) -> dict:
    """The results of one run or study, by name.

    Args:
        name: Of a file in the folder, without its ending.
        folder: Where to look; None takes the book's own results, inside the package.

    Raises:
        ValueError: If there are no results of that name, or their file is damaged.

    Source: chapter 09.
    """
    path = Path(folder or RESULTS) / f"{name}.json"
    if name not in (known := sorted(p.stem for p in Path(folder or RESULTS).glob("*.json"))):
        raise ValueError(f"no results called {name!r}; there are: {', '.join(known) or 'none yet'}")
    return read_json(path, "reinstall vitlib, or run the study again")
