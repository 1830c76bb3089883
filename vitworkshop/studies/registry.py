"""Which studies there are, which chapter rests on each, what is planned, and where runs go."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from vitworkshop.studies.study import Study

# chapter -> the studies that it rests on first; each is STUDY in the file of its name
CHAPTERS = {
    "02": "stems",
    "03": "places positions",
    "04": "resolution",
    "06": "norm-order residuals",
    "07": "readout pooling",
    "10": "parts recipe-ladder minutes clinic",
    "11": "crossover crossover-shifted data-size",
    "12": "deeper shape",
    "16": "transfer",
    "17": "masked",
}
# what `study run --all` runs, in this order; see `budget`
PLAN = ("crossover", "crossover-shifted", "places", "readout", "deeper")
STUDIES: dict[str, Study] = {
    name: import_module(f"vitworkshop.studies.{name.replace('-', '_')}").STUDY
    for names in CHAPTERS.values()
    for name in names.split()
}


def find(name: str) -> Study:
    """The study of this name; ValueError if there is none."""
    if name not in STUDIES:
        raise ValueError(f"unknown study {name!r}; choose one of {', '.join(STUDIES)}")
    return STUDIES[name]


def folders(name: str | None, out: str | Path | None = None) -> dict[str, Path]:
    """Name -> folder of its runs: `out` or `runs/study-<name>`; of the plan for None, inside `out` or `runs`."""
    if name is None:
        return {name: Path(out or "runs") / f"study-{name}" for name in PLAN}
    return {name: Path(out or f"runs/study-{name}")}
