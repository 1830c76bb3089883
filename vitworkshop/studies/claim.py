"""What runs say of a claim: differences paired by seed, their interval, a margin named before the run, one word."""

from __future__ import annotations

import math
import re
import statistics
from dataclasses import dataclass
from fnmatch import fnmatchcase

from vitlib.evidence import paired_difference

SAME, WITHIN, NOT_HERE, OPEN = (
    "same direction",
    "within the margin",
    "not here",
    "cannot tell",
)
SEEDS = 3  # with fewer nothing can be told


@dataclass(frozen=True)
class Claim:
    """A sentence on two sides, written before the run.

    Each side names its variants by a pattern ("CLS, lr=*") and is read by the one of them with the best mean: on the
    seed that chooses, where a study has one, and that seed judges nothing. A metric is a key of each run's "final"; its
    larger value is ahead, so a claim on losses names the worse side first.
    """

    says: str
    first: str  # the side that should be ahead
    second: str
    # the smallest difference that would matter, in units of the metric
    margin: float = 0.01
    kind: str = "ahead"  # or "equal"
    metric: str = "val_accuracy"

    def judge(self, runs: list[dict], choosing: int | None = None) -> dict:
        """The "word", both sides' best variants and what `paired_difference` says, from runs.

        A run has "variant", "seed" and "final"; `choosing` is the seed that chooses.
        """
        judged = scores_of(runs, self.metric, choosing)
        best = {
            name: statistics.fmean(scores.values())
            for name, scores in chosen_by(runs, self.metric, choosing).items()
            if name in judged
        }
        found = {}
        for side in ("first", "second"):
            names = [name for name in best if fnmatchcase(name, getattr(self, side))]
            if not names:
                return {"word": OPEN}
            found[side] = max(names, key=best.__getitem__)
        paired = paired_difference(judged[found["first"]], judged[found["second"]])
        return {
            "word": word(paired or {}, self.margin, self.kind),
            **found,
            **(paired or {}),
        }


def word(paired: dict, margin: float, kind: str = "ahead") -> str:
    """One word for what was expected ("ahead", "equal") and what `paired_difference` says.

    "same direction": ahead was expected, and the whole interval lies above 0.
    "within the margin": equal was expected, and the whole interval lies between the margins.
    "not here": ahead was expected, and the interval lies below 0 or between the margins; or equal, and it lies beyond
    one of them.
    "cannot tell": all else, and whatever has fewer than three seeds.
    """
    low, high = paired.get("interval", (-math.inf, math.inf))
    small = -margin < low and high < margin
    if paired.get("n", 0) < SEEDS:
        return OPEN
    if kind == "ahead":
        return SAME if low > 0 else NOT_HERE if small or high < 0 else OPEN
    return WITHIN if small else NOT_HERE if low > margin or high < -margin else OPEN


def scores_of(
    runs: list[dict], metric: str, choosing: int | None = None
) -> dict[str, dict[int, float]]:
    """Variant -> seed -> score, of the seeds that judge."""
    found: dict[str, dict[int, float]] = {}
    for run in runs:
        if run["seed"] != choosing and metric in run["final"]:
            found.setdefault(run["variant"], {})[run["seed"]] = run["final"][metric]
    return found


def chosen_by(
    runs: list[dict], metric: str, choosing: int | None = None
) -> dict[str, dict[int, float]]:
    """The same of the seed that chooses; where none is set apart, of all."""
    some = [run for run in runs if choosing is None or run["seed"] == choosing]
    return scores_of(some, metric)


def rates_of(
    variant: str, runs: list[dict], metric: str, choosing: int | None = None
) -> dict[float, float]:
    """The learning rates tried with a variant, and the mean score by which one was chosen.

    A rate ends a variant's name ("ViT, lr=0.001"); the variants that differ from it in the rate alone are the others.
    """
    way = way_of(variant)
    return {
        rate_of(name): statistics.fmean(of.values())
        for name, of in chosen_by(runs, metric, choosing).items()
        if way_of(name) == way != name
    }


def way_of(variant: str) -> str:
    """A variant's name without the learning rate with which it ends, if it does."""
    return re.sub(r",? lr=[\d.e-]+$", "", variant)


def rate_of(variant: str) -> float:
    """The learning rate with which a variant's name ends."""
    return float(variant.rpartition("lr=")[2])


def bracketed(rates: dict[float, float]) -> bool:
    """Whether the best of several learning rates, or one of those that share the best score, lies between others."""
    best = [rate for rate, score in rates.items() if score == max(rates.values())]
    return any(min(rates) < rate < max(rates) for rate in best)
