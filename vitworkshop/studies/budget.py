"""What the plan costs and what it can decide, from a pilot: core-minutes of every run, half-widths against margins."""

from __future__ import annotations

from typing import NamedTuple

from scipy.stats import t

from vitlib.evidence import load_results
from vitworkshop.studies.choosing import FIRST, ways
from vitworkshop.studies.registry import PLAN, STUDIES

# core-minutes: of the whole plan, and of one seed with all that is compared within it
ALL, UNIT = (720.0, 90.0)
DEVIATION = 0.014  # the largest of paired differences of accuracy over seeds, in the studies that were run before


class Price(NamedTuple):
    """What a study costs, and how wide its intervals will be."""

    runs: int  # if every way's best rate is among the first three
    core_minutes: float
    unit: float  # the dearest seed's
    half_width: float  # of a 95 % interval, if they deviate as much
    margin: float  # the smallest of its claims


def prices() -> dict[str, Price]:
    """The price of each study of the plan, by the pilot in vitlib/results/prices.json."""
    seconds = load_results("prices")["core_seconds"]
    return {name: price(name, seconds[name]) for name in PLAN}


def price(name: str, seconds: dict[str, float]) -> Price:
    """The price of a study by the core-seconds of one run of each of its ways."""
    study, costs = STUDIES[name], ways(STUDIES[name])
    once = sum(seconds[way] for way in costs) / 60
    choosing = (
        sum(
            seconds[way] * min(FIRST, len(names))
            for way, names in costs.items()
            if len(names) > 1
        )
        / 60
    )
    tried = sum(min(FIRST, len(names)) for names in costs.values() if len(names) > 1)
    seeds = len(study.seeds)
    return Price(
        len(study.choosing) * tried + seeds * len(costs),
        len(study.choosing) * choosing + seeds * once,
        max(choosing, once),
        float(t.ppf(0.975, seeds - 1)) * DEVIATION / seeds**0.5,
        min(claim.margin for claim in study.claims),
    )
