"""Which studies there are, and which chapter rests on each."""

from __future__ import annotations

from importlib import import_module

from vitworkshop.studies.study import Study

# chapter -> the studies that it rests on first; each is STUDY in the file of its name
CHAPTERS = {
    "02": "stems",
    "03": "positions",
    "04": "resolution",
    "06": "norm-order residuals",
    "07": "readout pooling",
    "10": "parts recipe-ladder minutes clinic",
    "11": "crossover crossover-shifted data-size",
    "12": "shape",
    "16": "transfer",
    "17": "masked",
}
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
