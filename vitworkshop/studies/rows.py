"""The rows of a study's file, refused by their names where they are not what was run."""

from __future__ import annotations

import json
from pathlib import Path

from vitlib.evidence import RESULTS
from vitlib.files import read_json
from vitworkshop.studies.claim import way_of
from vitworkshop.studies.registry import find
from vitworkshop.studies.study import Study

AGAIN = "delete the file, and run the study again"


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
    """Refuse rows that are of no variant, or of one that was another when its rate was chosen.

    Raises:
        ValueError: It names the first such row.
    """
    for row in rows:
        (name, seed), wrong = trial_of(row), ""
        if name not in study.variants:
            wrong = "is of no variant of this study"
        elif study.choosing is None:
            continue
        elif row["changes"] != as_json(own := study.variants[name]):
            wrong = f"was not run with {own}"
        if wrong:
            raise ValueError(f"{where}: the row '{name}, seed {seed}' {wrong}; {AGAIN}")


def as_json(value: dict) -> dict:
    """As it comes back from a JSON file: tuples become lists."""
    return json.loads(json.dumps(value))


def read_study(name: str, folder: str | Path | None = None) -> dict:
    """A study's file of results, from the book's own for None, its rows checked; see `check_rows`."""
    study, path = find(name), Path(folder or RESULTS) / f"{name}.json"
    result = read_json(path, AGAIN)
    if "runs" not in result:
        raise ValueError(f"{path} is of no study; {AGAIN}")
    check_rows(result["runs"], study, path)
    return result
