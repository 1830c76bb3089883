"""The rows of a study's file: each sealed, and refused by its name where it is not what was run."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

from vitlib.evidence import RESULTS
from vitlib.files import read_json
from vitworkshop.studies.registry import find
from vitworkshop.studies.study import Study

AGAIN = "delete the file, and run the study again"


def seal(row: dict) -> dict:
    """A row with the checksum of what it holds."""
    text = json.dumps({key: part for key, part in row.items() if key != "seal"})
    return {**row, "seal": hashlib.sha256(text.encode()).hexdigest()[:12]}


def name_of(row: dict) -> str:
    """How a row is called in an error."""
    return f"{row.get('run', row.get('variant'))}, seed {row.get('seed')}"


def machine(hardware: str) -> str:
    """What `describe_hardware` says, without the threads."""
    return hardware.rpartition(", ")[0] or hardware


def block(variant: str, seed: int, study: Study) -> tuple[str, int]:
    """What is compared with one another: all ways with a seed that judges; with one that chooses, a way's rates."""
    return variant.rpartition(", lr=")[0] if seed in study.choosing else "", seed


def check_rows(rows: list[dict], study: Study, metric: str, where: object) -> None:
    """Refuse rows that were edited, belong to no variant, stand twice, lack their number or share no machine.

    Raises:
        ValueError: It names the first such row. What a study whose seeds choose compares ran on one machine.
    """
    seen, first = set(), {}  # of what is compared: where it ran first
    for row in rows:
        wrong, name = "", row.get("run", row.get("variant"))
        if "seal" in row and seal(row) != row:
            wrong = "was changed after it was written"
        elif name not in study.variants:
            wrong = "is of no variant of this study"
        elif (row["variant"], row["seed"]) in seen:
            wrong = "stands there twice"
        elif not isinstance(row["final"].get(metric), int | float):
            wrong = f"has no {metric}"
        elif study.choosing and row.get("changes") != json.loads(
            json.dumps(study.variants[name])
        ):
            wrong = f"was run with {row.get('changes')}, the variant is {study.variants[name]}"
        elif study.choosing:
            there = first.setdefault(block(name, row["seed"], study), row["hardware"])
            if machine(there) != machine(row["hardware"]):
                wrong = f"ran on {row['hardware']}, the rest of its seed on {there}"
        if wrong:
            raise ValueError(f"{where}: the row {name_of(row)!r} {wrong}; {AGAIN}")
        seen.add((row["variant"], row["seed"]))


def read_study(name: str, folder: str | Path | None = None) -> dict:
    """A study's file of results, from the book's own for None, its rows checked; see `check_rows`."""
    study, path = find(name), Path(folder or RESULTS) / f"{name}.json"
    if not path.is_file():
        raise ValueError(
            f"there is no {path}; run the study: python -m vitlib study run {name}"
        )
    try:
        result = read_json(path, AGAIN)
    except ValueError:
        changed = ""
        with contextlib.suppress(
            ValueError, KeyError, TypeError, AttributeError
        ):  # if they can be read
            rows = json.loads(path.read_text(encoding="utf-8"))["runs"]
            changed = next(
                (name_of(row) for row in rows if row.get("seal") != seal(row)["seal"]),
                "",
            )
        if not changed:
            raise
        raise ValueError(
            f"{path}: the row {changed!r} was changed after it was written; {AGAIN}"
        ) from None
    if missing := {"runs", "metric", "dataset"} - result.keys():
        raise ValueError(
            f"{path} is of no study: it has no {', '.join(sorted(missing))}; {AGAIN}"
        )
    check_rows(result["runs"], study, result["metric"], path)
    return result
