"""Which studies there are."""

from __future__ import annotations

from pathlib import Path

from vitworkshop.studies import (
    attention_reach,
    axial,
    compute,
    data_size,
    inductive_bias,
    initialisation,
    masked,
    minutes,
    mirroring,
    norm_order,
    pooling,
    position_entry,
    position_patterns,
    position_start,
    positions,
    recipe_ladder,
    recipes,
    residuals,
    resolution,
    shape,
    stems,
    transfer,
)
from vitworkshop.studies.study import Study

__all__ = ["STUDIES", "by_worth", "find", "folders"]

STUDIES: dict[str, Study] = {
    "positions": positions.STUDY,
    "pooling": pooling.STUDY,
    "stems": stems.STUDY,
    "resolution": resolution.STUDY,
    "norm-order": norm_order.STUDY,
    "initialisation": initialisation.STUDY,
    "residuals": residuals.STUDY,
    "position-start": position_start.STUDY,
    "recipes": recipes.STUDY,
    "mirroring": mirroring.STUDY,
    "minutes": minutes.STUDY,
    "transfer": transfer.STUDY,
    "masked": masked.STUDY,
    "axial": axial.STUDY,
    "position-entry": position_entry.STUDY,
    "position-patterns": position_patterns.STUDY,
    "attention-reach": attention_reach.STUDY,
    "shape": shape.STUDY,
    "data-size": data_size.STUDY,
    "compute": compute.STUDY,
    "inductive-bias": inductive_bias.STUDY,
    "recipe-ladder": recipe_ladder.STUDY,
}


def find(name: str) -> Study:
    """The study of this name.

    Raises:
        ValueError: If there is none.
    """
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
