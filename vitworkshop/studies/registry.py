"""Which studies there are, and where their runs go."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from vitworkshop.studies.study import Study

# each is STUDY in the file of its name
NAMES = (
    "positions pooling stems resolution norm-order initialisation residuals position-start recipes mirroring minutes "
    "transfer masked axial position-entry position-patterns attention-reach shape data-size compute inductive-bias "
    "recipe-ladder clinic"
)
STUDIES: dict[str, Study] = {
    name: import_module(f"vitworkshop.studies.{name.replace('-', '_')}").STUDY for name in NAMES.split()
}


def find(name: str) -> Study:
    """The study of this name; ValueError if there is none."""
    if name not in STUDIES:
        raise ValueError(f"unknown study {name!r}; choose one of {', '.join(STUDIES)}")
    return STUDIES[name]


def by_worth() -> list[str]:
    """All names, the most valuable first: what the paper asks before what we ask, and else as `STUDIES` has them."""
    return sorted(STUDIES, key=lambda name: STUDIES[name].source.startswith("not in the paper"))


def folders(name: str | None, out: str | Path | None = None) -> dict[str, Path]:
    """Name -> folder of its runs: `out` or `runs/study-<name>`; of all studies for None, inside `out` or `runs`."""
    if name is None:
        return {name: Path(out or "runs") / f"study-{name}" for name in by_worth()}
    return {name: Path(out or f"runs/study-{name}")}
