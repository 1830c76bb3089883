"""Runs a study: what is finished stands in its file of results and is not run again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from vitlib.data.dataset import Dataset, load_dataset
from vitlib.device import pick_device
from vitlib.evidence import provenance, summarize
from vitlib.files import lock, read_json, write_json
from vitlib.train.checkpoint import checksum, differences
from vitlib.train.recipe import default_fields
from vitworkshop.studies.choosing import trials
from vitworkshop.studies.claim import scores_of
from vitworkshop.studies.registry import find
from vitworkshop.studies.rows import (
    AGAIN,
    as_json,
    block,
    check_rows,
    machine,
    trial_of,
)
from vitworkshop.studies.study import Job, Study

SAME = ("name", "base", "n_train", "n_val", "data_checksum")  # of runs that go on


def folder_of(name: str, out: str | Path | None = None) -> Path:
    """Where a study's runs lie: `out`, or `runs/study-<name>`."""
    return Path(out or f"runs/study-{name}")


def run_study(
    name: str,
    load: Callable[[str], Dataset] | None = None,
    out: str | Path | None = None,
    *,
    device: str = "auto",
    progress: bool = True,
) -> dict:
    """Run a study, or go on with it, and return what its file of results holds, written after every run.

    Args:
        name: The study.
        load: Gives the training images by the name of a data set; None for `load_dataset`.
        out: The folder; see `folder_of`. The file of results alone is enough to go on from.
        device: "auto", "cpu", "cuda" or "mps", for studies that follow a recipe; others run on the CPU.
        progress: Whether to show bars and lines.

    Raises:
        FloatingPointError: If a loss was no longer a number, after all other runs.
        ValueError: If the folder holds runs of another kind, or of another machine where runs are compared.
    """
    study, folder = find(name), folder_of(name, out)
    header, job = prepare(name, study, load or load_dataset, folder, device, progress)
    with lock(folder):
        runs = begun(study, header, folder / f"{name}.json")
        failed = {}  # trial -> why
        while True:
            done = {*failed, *map(trial_of, runs)}
            left = [trial for trial in trials(study, runs) if trial not in done]
            result = header | result_of(study, runs, not (left or failed))
            write_json(folder / f"{name}.json", result)
            if not left:
                break
            variant, seed = trial = left[0]
            check_machine(study, runs, trial, header["hardware"])
            began = time.monotonic()
            try:
                rows = study.run(study, variant, seed, job)
            except FloatingPointError as error:  # this one will never end, others will
                failed[trial] = f"{variant}, seed {seed}: {error}"
                continue
            known = {
                "variant": variant,
                "changes": study.variants[variant],
                "seed": seed,
                "seconds": round((time.monotonic() - began) / len(rows), 2),
                "hardware": header["hardware"],
                "precision": header["precision"],
            }
            runs += [known | row for row in rows]
            if progress:
                print(
                    f"{name}: {variant}, seed {seed}: {rows[-1]['final']}, "
                    f"{len(left) - 1} more runs",
                    flush=True,
                )
    if failed:
        raise FloatingPointError("; ".join(failed.values()))
    return result


def prepare(
    name: str,
    study: Study,
    load: Callable[[str], Dataset],
    folder: Path,
    device: str = "auto",
    progress: bool = False,
) -> tuple[dict, Job]:
    """How a study's file of results begins, and what each of its runs is given."""
    data, val = study.sample() if study.sample else load(study.data), None
    held_out = min(5000, len(data) // 10)
    if study.n_train:
        n = study.n_train
        data = replace(data, images=data.images[:n], labels=data.labels[:n])
    if study.base and not study.sample:
        data, val = data.hold_out(held_out)
    base = study.base and replace(study.base, data=data.name)
    header = {
        "name": name,
        "question": study.question,
        "measure": study.measure,
        "metric": study.metric,
        **provenance(
            data.label,
            pick_device(device if base else "cpu"),
            base.precision if base else "fp32",
        ),
        "n_train": 0 if study.n_train == 0 or study.sample else len(data),
        "n_val": len(val) if val else 0,
        "data_checksum": checksum(data),
        **({"base": as_json(asdict(base))} if base else {}),
    }
    return header, Job(base, data, val, folder, device, progress)


def begun(study: Study, header: dict, path: Path) -> list[dict]:
    """The rows of a file of results that is there; ValueError if they were made otherwise."""
    if not path.is_file():
        return []
    result = read_json(path, AGAIN)
    known = {"base": default_fields(study.base)} if study.base else {}
    theirs, ours = ({key: what.get(key) for key in SAME} for what in (result, header))
    if differs := "; ".join(differences(theirs, ours, known)):
        other = "take another folder with --out"
        raise ValueError(f"{path} was made otherwise ({differs}); {other}")
    check_rows(result["runs"], study, path)
    return result["runs"]


def check_machine(
    study: Study, runs: list[dict], trial: tuple[str, int], here: str
) -> None:
    """Refuse to go on here with what another machine began, where runs are compared with one another."""
    for row in runs if study.choosing is not None else ():
        there = row["hardware"]
        alike = block(trial_of(row), study) == block(trial, study)
        if alike and machine(there) != machine(here):
            raise ValueError(
                f"{trial_of(row)} ran on {there}, this is {here}; one seed stays on one machine: "
                "go on there, or take another folder with --out"
            )


def result_of(study: Study, runs: list[dict], finished: bool) -> dict:
    """What follows from the rows; what all of them share stands once."""
    shared = {}
    for key in ("hardware", "precision", "dataset"):
        if parts := {run[key] for run in runs if key in run}:
            shared[key] = "; ".join(sorted(parts))
    scores = scores_of(runs, study.metric, study.choosing)
    return {
        **shared,
        "seconds": round(sum(run["seconds"] for run in runs), 1),
        "finished": finished,
        "runs": runs,
        "summary": {name: summarize([*of.values()]) for name, of in scores.items()},
    }
