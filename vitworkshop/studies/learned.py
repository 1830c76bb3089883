"""What studies of models that have learned share: 96 wide, 4 deep, Muon, four passes over 20,000 photographs."""

from __future__ import annotations

from typing import Any

from vitlib.train.recipe import recipe
from vitworkshop.studies.study import at_rates

BASE = recipe("laptop", epochs=4, precision="fp32", **{"model.patch_drop_rate": 0.0})
N_TRAIN = 25_000  # 5,000 of them held out
SEEDS, CHOOSING = (0, 1, 2, 3, 4), (100,)
MARGIN = 0.02  # points of accuracy that would matter; five seeds' half-width is at most 1.7
RATES = (0.0025, 0.005, 0.01, 0.02, 0.04)  # Muon's; the rest has a fifth of it, as in the preset "laptop"
PIXELS: dict[str, dict[str, Any]] = {"pixels": {}}  # a ridge regression on the same pictures


def at_every_rate(ways: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The variants of each way: its changes at every rate that may be tried."""
    return {
        name: {**changes, "lr": rate / 5, "muon_lr": rate}
        for way, changes in ways.items()
        for name, rate in zip(side(way), RATES, strict=True)
    }


def side(way: str, rates: tuple[float, ...] = RATES) -> tuple[str, ...]:
    """The variants of a way, as a side of a claim."""
    return at_rates(way, rates)
