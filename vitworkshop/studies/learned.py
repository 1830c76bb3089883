"""What studies of models that have learned share: 96 wide, 4 deep, Muon, four passes over 20,000 photographs."""

from __future__ import annotations

from functools import partial
from typing import Any

from vitlib.train.recipe import recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.families import run_family
from vitworkshop.studies.study import Study, at_rates

# Muon's; the rest has a fifth of it, as in the preset "laptop"
RATES = (
    0.0025,
    0.005,
    0.01,
    0.02,
    0.04,
)
# a ridge regression on the same pictures
PIXELS: dict[str, dict[str, Any]] = {"pixels": {}}
#: a study, by its question, variants, claims and source
study = partial(
    Study,
    base=recipe("laptop", epochs=4, precision="fp32", **{"model.patch_drop_rate": 0.0}),
    n_train=25_000,  # 5,000 of them held out
    seeds=(0, 1, 2, 3, 4),
    choosing=(100,),
    run=run_family,
)


def at_every_rate(ways: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The variants of each way: its changes at every rate that may be tried."""
    return {
        name: {**changes, "lr": rate / 5, "muon_lr": rate}
        for way, changes in ways.items()
        for name, rate in zip(at_rates(way, RATES), RATES, strict=True)
    }


def claim(
    says: str,
    source: str,
    first: str,
    second: str,
    kind: str = "ahead",
    rates: tuple[float, ...] = RATES,
) -> Claim:
    """Of two ways, the second at `rates` of its own. 2 points would matter: five seeds' half-width is at most 1.7."""
    return Claim(
        says,
        source,
        at_rates(first, RATES),
        at_rates(second, rates),
        margin=0.02,
        kind=kind,
    )
