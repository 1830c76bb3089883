"""One study as it is to be run here: with these data, scale and seeds, in this folder; and what of it is finished."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path

from vitlib.evidence import RESULTS, read_json, summarize, write_json
from vitlib.train.checkpoint import differences
from vitlib.train.recipe import default_fields
from vitworkshop.studies.kept import DELETE, ROWS, Taken, alone, plain, read_rows
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.study import Job, Study

__all__ = ["Place", "Plan"]

Place = tuple[str, int]  # variant and seed


@dataclass
class Plan:
    """A study with all that its runs share.

    Args:
        name: Of the study.
        study: The study.
        job: What every run is given.
        header: How its file of results begins.
        seeds: Those that were asked for.
        done: The rows of each finished run, with these seeds or others.
    """

    name: str
    study: Study
    job: Job
    header: dict
    seeds: tuple[int, ...]
    done: dict[Place, list[dict]] = field(default_factory=dict)

    @property
    def places(self) -> list[Place]:
        """Every variant with the first seed, then every one with the second."""
        return [(variant, seed) for seed in self.seeds for variant in self.study.variants]

    @property
    def finished(self) -> int:
        """How many of these runs are finished."""
        return sum(place in self.done for place in self.places)

    @property
    def path(self) -> Path:
        """Its file of results."""
        return self.job.out / f"{self.name}.json"

    def about(self, variant: str) -> dict:
        """What makes a run this one, besides its seed; a kept run counts if it has the same."""
        data = [self.header["dataset"], self.header["data_checksum"]]
        same = {"study": self.name, "scale": self.header["scale"], "base": self.header.get("base")}
        return {**same, "data": data, "variant": self.study.variants[variant]}

    @property
    def usual(self) -> dict:
        """What a part of `about` was before it had a name: a field its default, a variant's change the base's value."""
        base = self.header.get("base") or {}
        flat = base | {f"model.{key}": value for key, value in base.get("model", {}).items()}
        fields = {} if self.study.base is None else default_fields(self.study.base)
        return plain({"study": self.name, "base": fields, "variant": flat})

    def otherwise(self, result: dict) -> str:
        """What a file of results has otherwise, in words; "" where its runs count here."""
        keys = ["name", "scale", "base", "n_train", "n_val"]
        if "data_checksum" in result:
            keys.append("data_checksum")
        elif self.study.n_train != 0:  # an older file; where nothing is trained, each row names its data
            keys.append("dataset")
        theirs, ours = ({key: what.get(key) for key in keys} for what in (result, plain(self.header)))
        return "; ".join(differences(theirs, ours, self.usual))

    def check_folder(self) -> None:
        """Refuse a folder that is not this study's.

        Raises:
            ValueError: If its file of results is damaged or was made otherwise, or it holds another study.
        """
        others = [name for name in STUDIES if name != self.name and (self.job.out / f"{name}.json").exists()]
        if others:
            raise ValueError(
                f"{self.job.out} holds the study {others[0]!r}; give {self.name!r} a folder of its own with --out"
            )
        if self.path.exists() and (differs := self.otherwise(read_json(self.path, DELETE))):
            raise ValueError(f"{self.path} was made otherwise ({differs}); take another folder with --out")

    def collect(self) -> None:
        """Read what is finished in the folder, by whichever runner and with whichever seeds.

        Raises:
            ValueError: If a run's file is damaged or of another run.
        """
        for variant in self.study.variants:
            folder = self.job.folder(variant, 0)
            stem = folder.name.removesuffix("0")
            for path in sorted(folder.parent.glob(f"{escape(stem)}*/{ROWS}")):
                seed = path.parent.name.removeprefix(stem)
                if seed.isdecimal() and (variant, int(seed)) not in self.done:
                    self.done[variant, int(seed)] = read_rows(path, self.about(variant), self.usual) or []

    def take(self, folder: str | Path) -> str:
        """Keep here the finished runs of another file of results, and say how many, or why none.

        Raises:
            ValueError: If that file is damaged.
        """
        path = (RESULTS if folder == "results" else Path(folder)) / f"{self.name}.json"
        if not path.exists():
            return f"{self.name}: there is no {path} to go on from"
        result = read_json(path, DELETE)
        if differs := self.otherwise(result):
            return f"{self.name}: nothing is taken from {path}, which was made otherwise ({differs})"
        shared = {key: result[key] for key in ("hardware", "precision")}  # there they stand once, for all
        theirs: dict[Place, list[dict]] = {}
        for row in result["runs"]:
            theirs.setdefault((row.get("run", row["variant"]), row["seed"]), []).append(shared | row)
        for (variant, seed), rows in theirs.items():
            if variant not in self.study.variants:
                continue
            about, folder = self.about(variant), self.job.folder(variant, seed)
            older = {variant: rows[0].get("changes", about["variant"])}  # such a file says it in each row
            changes = result.get("variants", older).get(variant, {})
            if not any(differences(changes, plain(about["variant"]), self.usual["variant"])):
                with contextlib.suppress(Taken), alone(folder):  # another runner may be at it, or was
                    if not (folder / ROWS).exists():
                        write_json(folder / ROWS, {"about": about, "rows": rows})
        self.collect()
        found = len(theirs.keys() & self.done)
        return f"{self.name}: {found} of {len(theirs)} runs in {path} count as finished"

    def write(self) -> dict:
        """Write what is known so far, by all runners in this folder; what all runs share stands once, in the header."""
        with alone(self.job.out, wait=True):
            self.collect()
            result = self.result()
            write_json(self.path, result)
        return result

    def result(self) -> dict:
        """What the file of results holds; see `run_study`."""
        seeds = [*self.seeds, *sorted({seed for _, seed in self.done} - {*self.seeds})]
        order = [(variant, seed) for seed in seeds for variant in self.study.variants]
        runs = [
            row if row["variant"] == place[0] else {**row, "run": place[0]}
            for place in order
            for row in self.done.get(place, [])
        ]
        heads = ("hardware", "precision", "dataset")
        shared = {
            key: "; ".join(sorted({part for run in runs if key in run for part in run[key].split("; ")}))
            or self.header[key]
            for key in heads
        }
        scores: dict[str, list[float]] = {}
        for run in runs:
            scores.setdefault(run["variant"], []).append(run["final"][self.study.metric])
        return {
            **self.header,
            **shared,
            "seconds": round(sum(run["seconds"] for run in runs), 1),
            "finished": self.finished == len(self.places),
            "variants": plain(self.study.variants),
            "runs": [{key: value for key, value in run.items() if key not in heads[:2]} for run in runs],
            "summary": {variant: summarize(values) for variant, values in scores.items()},
            "verdicts": {claim.says: claim.judge(runs) for claim in self.study.claims},
        }
