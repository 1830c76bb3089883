"""A study as it is to be run here, what of it is finished, and its file of results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from vitlib.checks import check_between
from vitlib.data.dataset import Dataset
from vitlib.device import pick_device
from vitlib.evidence import provenance, summarize
from vitlib.files import lock, read_json, write_json
from vitlib.train.checkpoint import checksum, differences
from vitlib.train.precision import pick_precision
from vitlib.train.recipe import default_fields, recipe
from vitworkshop.studies.choosing import trials
from vitworkshop.studies.registry import STUDIES, find
from vitworkshop.studies.rows import block, check_rows, machine, seal
from vitworkshop.studies.study import Job, Study

SHARED = ("hardware", "precision")  # of a row: what stands once in a file of results
ROWS = "rows.json"  # in the folder of each finished trial
DELETE = "delete it, and the same command goes on"
Trial = tuple[str, int]  # variant and seed


@dataclass
class Plan:
    """A study as it is to be run here: with these data and seeds, in this folder; and what of it is finished."""

    name: str
    study: Study
    job: Job  # what every trial is given
    header: dict  # how the file of results begins
    seeds: tuple[int, ...]  # those that were asked for
    # the rows of finished trials, of any seed
    done: dict[Trial, list[dict]] = field(default_factory=dict)

    @property
    def trials(self) -> list[Trial]:
        """Every variant with the first seed, then every one with the second; see `choosing.trials`."""
        return trials(
            self.study, self.seeds, [row for rows in self.done.values() for row in rows]
        )

    @property
    def finished(self) -> int:
        """How many of these trials are finished."""
        return sum(trial in self.done for trial in self.trials)

    @property
    def path(self) -> Path:
        """Its file of results."""
        return self.job.out / f"{self.name}.json"

    def identity(self, variant: str) -> dict:
        """What makes a trial this one, besides its seed; a finished one counts if it has the same."""
        same = {
            "study": self.name,
            "scale": self.header["scale"],
            "base": self.header.get("base"),
        }
        data = [self.header["dataset"], self.header["data_checksum"]]
        return as_json({**same, "data": data, "variant": self.study.variants[variant]})

    @property
    def defaults(self) -> dict:
        """What a part of an identity was before it had a name: a field's default, in a variant the base's value."""
        base = self.header.get("base") or {}
        fields = default_fields(self.study.base) if self.study.base else {}
        flat = (
            fields
            | base
            | {f"model.{key}": value for key, value in base.get("model", {}).items()}
        )
        return as_json({"study": self.name, "base": fields, "variant": flat})

    def mismatch(self, result: dict) -> str:
        """What a file of results has otherwise, in words; "" where its runs count here."""
        keys = ("name", "scale", "base", "n_train", "n_val", "data_checksum")
        theirs, ours = (
            {key: what.get(key) for key in keys}
            for what in (result, as_json(self.header))
        )
        return "; ".join(differences(theirs, ours, self.defaults))

    def run(self, trial: Trial) -> list[dict] | None:
        """The rows of a trial, kept before anybody hears of them; None if the time was over before its end."""
        if self.job.left is not None and self.job.left <= 0:
            return None
        path, identity = self.job.folder(*trial) / ROWS, self.identity(trial[0])
        with lock(path.parent):
            if path.is_file():  # another runner has finished it meanwhile
                return read_rows(path, identity, self.defaults)
            rows = self.study.run(self.study, *trial, self.job)
            if rows is not None:
                write_json(path, {"about": identity, "rows": rows})
            return rows

    def check_machine(self, todo: list[Trial]) -> None:
        """Refuse to go on here with what another machine began, where runs are compared with one another."""
        here, blocks = (
            self.header["hardware"],
            {block(*trial, self.study) for trial in todo},
        )
        for (variant, seed), rows in self.done.items() if self.study.choosing else ():
            there = rows[0]["hardware"]
            if block(variant, seed, self.study) in blocks and machine(there) != machine(
                here
            ):
                raise ValueError(
                    f"{self.name}: the row {f'{variant}, seed {seed}'!r} ran on {there}, and this is {here}; one seed "
                    f"stays on one machine: go on there, or take another folder with --out"
                )

    def collect(self) -> None:
        """Read what is finished in the folder, by whichever runner and with whichever seeds."""
        names = {
            self.job.folder(variant, 0).name.removesuffix("-s0"): variant
            for variant in self.study.variants
        }
        for path in sorted(self.job.out.glob(f"*/{ROWS}")):
            name, _, seed = path.parent.name.rpartition("-s")
            if (
                name in names
                and seed.isdecimal()
                and (trial := (names[name], int(seed))) not in self.done
            ):
                self.done[trial] = read_rows(
                    path, self.identity(trial[0]), self.defaults
                )

    def written(self, result: dict) -> dict[Trial, list[dict]]:
        """The rows of the file of results, by the trial that gave them: with it alone a study goes on elsewhere."""
        found: dict[Trial, list[dict]] = {}
        check_rows(result["runs"], self.study, self.study.metric, self.path)
        shared = {key: result[key] for key in SHARED}
        for row in result["runs"]:
            own = {key: part for key, part in row.items() if key not in ("seal", "run")}
            own |= {key: part for key, part in shared.items() if key not in row}
            found.setdefault((row.get("run", row["variant"]), row["seed"]), []).append(
                own
            )
        return found

    def write(self) -> dict:
        """Write what is known so far, by all runners in this folder."""
        with lock(self.job.out, timeout=-1):
            self.collect()
            result = self.result()
            write_json(self.path, result)
        return result

    def short(self, row: dict) -> dict:
        """A row with the number of its epochs in place of their log, unless its curve is to be kept."""
        logs = [key for key in ("epochs", "before") if isinstance(row.get(key), list)]
        return (
            row
            if row["variant"] in self.study.curves
            else {**row, **{key: len(row[key]) for key in logs}}
        )

    def result(self) -> dict:
        """What the file of results holds; what all runs share stands once, in the header."""
        seeds = dict.fromkeys(
            [*self.study.choosing, *self.seeds, *sorted(seed for _, seed in self.done)]
        )
        runs = [
            row if row["variant"] == variant else {**row, "run": variant}
            for seed in seeds
            for variant in self.study.variants
            for row in self.done.get((variant, seed), [])
        ]
        # which machine a seed has is told where that matters
        hidden = () if self.study.choosing else SHARED
        shared, scores = {}, {}
        for key in ("hardware", "precision", "dataset"):
            parts = {
                part for run in runs if key in run for part in run[key].split("; ")
            }
            shared[key] = "; ".join(sorted(parts)) or self.header[key]
        for run in runs:
            if run["seed"] not in self.study.choosing:
                scores.setdefault(run["variant"], []).append(
                    run["final"][self.study.metric]
                )
        return {
            **self.header,
            **shared,
            "seconds": round(sum(run["seconds"] for run in runs), 1),
            "finished": self.finished == len(self.trials),
            "variants": as_json(self.study.variants),
            "runs": [
                seal(self.short({k: v for k, v in run.items() if k not in hidden}))
                for run in runs
            ],
            "summary": {
                variant: summarize(values) for variant, values in scores.items()
            },
        }


def read_rows(path: Path, identity: dict, defaults: dict) -> list[dict]:
    """The rows of a finished trial; ValueError if the file is damaged or of another one (see `Plan.defaults`)."""
    found = read_json(path, DELETE)
    if not isinstance(found.get("about"), dict) or not isinstance(
        found.get("rows"), list
    ):
        raise ValueError(f"{path} is no file of a finished run; {DELETE}")
    if differs := "; ".join(differences(found["about"], identity, defaults)):
        raise ValueError(
            f"{path} is of another run ({differs}); take another folder with --out"
        )
    return found["rows"]


def as_json(value: Any) -> Any:
    """As it comes back from a JSON file: tuples become lists."""
    return json.loads(json.dumps(value))


def make_plans(
    places: Mapping[str, Path],
    load: Callable[[str], Dataset],
    *,
    seeds: tuple[int, ...] | None = None,
    n_val: int | None = None,
    device: str = "auto",
    changes: dict | None = None,
) -> list[Plan]:
    """Studies (name -> folder) ready to run, with what of them is finished; nothing is written.

    `load` gives the training images by the name of a data set; `n_val` of them are held out, or a tenth, 5,000 at most.
    `changes` are fields that every trial changes, as for `recipe`.
    """
    if seeds is not None and (not seeds or len(set(seeds)) != len(seeds)):
        raise ValueError(
            f"seeds must be one or more different numbers, got {tuple(seeds)}"
        )
    for seed in seeds or ():
        check_between("seeds", seed, 0, 2**32 - 1)
    where, changes, load, plans = pick_device(device), changes or {}, cache(load), []

    @cache
    def divide(
        kind: str, first: int | None, holdout: bool
    ) -> tuple[Dataset, Dataset | None, int]:
        """The images to train on, those held out, and a checksum: once for all studies that share them."""
        data = whole = load(kind)
        if first:
            data = replace(data, images=data.images[:first], labels=data.labels[:first])
        held_out = min(5000, len(whole) // 10) if n_val is None else n_val
        train, val = data.hold_out(held_out) if holdout else (data, None)
        return train, val, checksum(train)

    for name, out in places.items():
        study = find(name)
        if study.base is None and changes:
            raise ValueError(
                f"study {name!r} follows no recipe, so nothing of one can be changed, got {sorted(changes)}"
            )
        if own := sorted(
            {key for variant in study.variants.values() for key in variant}
            & set(changes)
        ):
            raise ValueError(
                f"study {name!r} varies {', '.join(own)} itself; change something else, or write a study"
            )
        # before any data are loaded
        base = study.base and recipe(study.base, **changes)
        if study.sample:
            train, val, crc = (drawn := study.sample()), None, checksum(drawn)
        else:
            train, val, crc = divide(study.data, study.n_train, study.holdout)
        shared, base = (
            {"data": train.name, **changes},
            base and replace(base, data=train.name),
        )
        precision = base.precision if base else "fp32"
        if base and precision == "auto":
            precision = pick_precision(where, base.model)
        header = {
            "name": name,
            "question": study.question,
            "source": study.source,
            "scale": "quick",  # as older runs have it
            "measure": study.measure,
            "metric": study.metric,
            **provenance(train.label, where, precision),
            "n_train": 0 if study.n_train == 0 or study.sample else len(train),
            "n_val": len(val) if val else 0,
            "data_checksum": crc,
            **({"base": asdict(base)} if base else {}),
        }
        job = Job(train, val, out, shared, device, None, False)
        plan = Plan(
            name, study, job, header, study.seeds if seeds is None else tuple(seeds)
        )
        if others := [
            other
            for other in STUDIES
            if other != name and (out / f"{other}.json").exists()
        ]:
            raise ValueError(
                f"{out} holds the study {others[0]!r}; give {name!r} a folder of its own with --out"
            )
        if plan.path.exists():
            if differs := plan.mismatch(result := read_json(plan.path, DELETE)):
                raise ValueError(
                    f"{plan.path} was made otherwise ({differs}); take another folder with --out"
                )
            plan.done |= plan.written(result)
        plan.collect()
        plans.append(plan)
    return plans
