"""The rows of a study's file: each sealed, and refused by its name where it is not what was run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from vitlib.evidence import RESULTS
from vitlib.files import read_json
from vitworkshop.studies.claim import way_of
from vitworkshop.studies.registry import find
from vitworkshop.studies.study import Study

AGAIN = "delete the file, and run the study again"


def seal(row: dict) -> dict:
    """A row with the checksum of what it holds."""
    text = json.dumps({key: part for key, part in row.items() if key != "seal"})
    return {**row, "seal": hashlib.sha256(text.encode()).hexdigest()[:12]}


def trial_of(row: dict) -> tuple[str, int]:
    """The variant and the seed of the run that gave a row; a run may give several, of other names."""
    return row.get("run", row["variant"]), row["seed"]


def block(trial: tuple[str, int], study: Study) -> tuple[str, int]:
    """What is compared with one another: all ways with a seed that judges; with the one that chooses, a way's rates."""
    variant, seed = trial
    return way_of(variant) if seed == study.choosing else "", seed


def machine(hardware: str) -> str:
    """What `describe_hardware` says, without the threads."""
    return hardware.rpartition(", ")[0] or hardware


def check_rows(rows: list[dict], study: Study, where: object) -> None:
    """Refuse rows that were edited, belong to no variant, stand twice, lack their number or share no machine.

    Raises:
        ValueError: It names the first such row. What a study whose seed chooses compares ran on one machine.
    """
    seen, first = set(), {}  # of what is compared: where it ran first
    for row in rows:
        trial = name, seed = trial_of(row)
        wrong, apart = "", study.choosing is not None
        if "seal" in row and seal(row) != row:
            wrong = "was changed after it was written"
        elif name not in study.variants:
            wrong = "is of no variant of this study"
        elif (row["variant"], seed) in seen:
            wrong = "stands there twice"
        elif not isinstance(row["final"].get(study.metric), int | float):
            wrong = f"has no {study.metric}"
        elif apart and row.get("changes") != as_json(own := study.variants[name]):
            wrong = f"was run with {row.get('changes')}, the variant is {own}"
        elif apart:
            there = first.setdefault(block(trial, study), row["hardware"])
            if machine(there) != machine(row["hardware"]):
                wrong = f"ran on {row['hardware']}, the rest of its seed on {there}"
        if wrong:
            raise ValueError(f"{where}: the row '{name}, seed {seed}' {wrong}; {AGAIN}")
        seen.add((row["variant"], seed))


def as_json(value: dict) -> dict:
    """As it comes back from a JSON file: tuples become lists."""
    return json.loads(json.dumps(value))


def read_study(name: str, folder: str | Path | None = None) -> dict:
    """A study's file of results, from the book's own for None, its rows checked; see `check_rows`."""
    path = Path(folder or RESULTS) / f"{name}.json"
    study = find(name)
    if not path.is_file():
        again = f"python -m vitlib study run {name}"
        raise ValueError(f"there is no {path}; run the study: {again}")
    result = read_json(path, AGAIN)
    if missing := {"runs", "metric", "dataset"} - result.keys():
        lacks = ", ".join(sorted(missing))
        raise ValueError(f"{path} is of no study: it has no {lacks}; {AGAIN}")
    check_rows(result["runs"], study, path)
    return result
