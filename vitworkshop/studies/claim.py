"""When a claim stands: paired seeds against a margin, and what a row needs to be admitted to the board."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any

from vitlib.evidence import paired_difference

MATTERS, MATTERS_NOT, OPEN = "matters", "does not matter", "open"
# that a row needs: of older runs; of those whose rates were chosen on seeds of their own
SEEDS, SEEDS_APART = (3, 5)
LEARNED = 0.15  # how far above a ridge regression on the pixels of the same pictures both sides must be


@dataclass(frozen=True)
class Claim:
    """A sentence, and the rule by which our numbers judge it, written before the run.

    Each side is a tuple of variants and is read by the one of them with the best mean: on the seeds that choose, where
    a study has such, and those seeds judge nothing. The differences first - second are paired by seed; their mean has a
    95 % interval (Student's t), and the interval is held against `margin`:

    "matters": the whole interval lies beyond the margin, above or below.
    "does not matter": the whole interval lies between the margins.
    "open": neither, or fewer than three seeds.

    The claim expects one of them: "ahead", that it matters, with the first side above; "equal", that it does not.
    It agrees, differs, or is open.

    A metric is a key of each run's "final"; its larger value is ahead, so a claim on losses names the worse side first.
    """

    says: str  # the sentence, with the paper's numbers
    source: str  # table, figure or section of the paper; "ours", or "ours, after" what it follows
    first: str | tuple[str, ...]  # the side that should be ahead
    second: str | tuple[str, ...]
    margin: float = (
        0.01  # the smallest difference that would matter, in units of the metric
    )
    kind: str = "ahead"
    metric: str = "val_accuracy"
    twin: str = ""  # of a headline: the same claim in a second setting, by what it says

    def __post_init__(self) -> None:
        for side in ("first", "second"):  # a variant's name is a side of one
            if isinstance(name := getattr(self, side), str):
                object.__setattr__(self, side, (name,))

    def judge(self, runs: list[dict], choosing: tuple[int, ...] = ()) -> dict:
        """The verdict ("agrees", "differs", "open") and what was "found", with the numbers, from runs.

        A run has "variant", "seed" and "final"; `choosing` are the seeds that choose. The numbers are "metric", the
        sides' best variants and what `paired_difference` says (of a single shared seed "difference" and "n").
        """
        chosen_by, scores = scores_of(runs, self.metric, choosing)
        sides = [
            {
                name: statistics.fmean(chosen_by[name].values())
                for name in side
                if name in chosen_by and name in scores
            }
            for side in (self.first, self.second)
        ]
        if not all(sides):
            return {"verdict": OPEN, "found": OPEN, "metric": self.metric}
        first, second = (max(side, key=side.__getitem__) for side in sides)
        one, other = (scores.get(name, {}) for name in (first, second))
        paired: dict[str, Any] = paired_difference(one, other) or {}
        for seed in () if paired else one.keys() & other.keys():  # one at most
            paired = {"difference": one[seed] - other[seed], "n": 1}
        found = (
            hold(paired.get("interval"), self.margin)
            if paired.get("n", 0) >= SEEDS
            else OPEN
        )
        return {
            "verdict": self.verdict(found, paired.get("difference", 0.0)),
            "found": found,
            "metric": self.metric,
            "first": first,
            "second": second,
            **paired,
        }

    def verdict(self, found: str, difference: float) -> str:
        """What a finding says of the claim."""
        if found == OPEN:
            return OPEN
        ahead = found == MATTERS and difference > 0
        return (
            "agrees"
            if (ahead if self.kind == "ahead" else found == MATTERS_NOT)
            else "differs"
        )


def hold(interval: list[float] | None, margin: float) -> str:
    """An interval against a margin: does the difference matter?"""
    low, high = interval or (-math.inf, math.inf)
    if low > margin or high < -margin:
        return MATTERS
    return MATTERS_NOT if -margin < low and high < margin else OPEN


def scores_of(
    runs: list[dict], metric: str, choosing: tuple[int, ...] = ()
) -> tuple[dict[str, dict[int, float]], dict[str, dict[int, float]]]:
    """Variant -> seed -> score, of the seeds that choose and of those that judge; the same where none are set apart."""
    chosen_by: dict[str, dict[int, float]] = {}
    judged: dict[str, dict[int, float]] = {}
    for run in runs:
        score = run["final"].get(metric)
        if score is None:
            continue
        if run["seed"] in choosing or not choosing:
            chosen_by.setdefault(run["variant"], {})[run["seed"]] = score
        if run["seed"] not in choosing:
            judged.setdefault(run["variant"], {})[run["seed"]] = score
    return chosen_by, judged


def rates_of(
    variant: str, runs: list[dict], metric: str, choosing: tuple[int, ...] = ()
) -> dict[float, float]:
    """The learning rates tried with a variant, and the mean score at each, from the seeds that choose.

    A rate ends a variant's name ("ViT, lr=0.001"); the variants that differ from it in the rate alone are the others.
    Where one run tries several and keeps the best, they end keys of its "final".
    """
    scores, _ = scores_of(runs, metric, choosing)
    finals = [run["final"] for run in runs if run["variant"] == variant]
    inside = (
        [key for key in finals[0] if key.startswith(f"{metric} lr=")] if finals else []
    )
    if inside:
        return {
            rate_of(key): statistics.fmean(final[key] for final in finals)
            for key in inside
        }
    stem, has_rate, _ = variant.rpartition("lr=")
    alike = (name for name in scores if has_rate and name.rpartition("lr=")[0] == stem)
    return {
        rate_of(name): statistics.fmean(scores[name].values())
        for name in alike
        if _ends_in_rate(name)
    }


def rate_of(variant: str) -> float:
    """The learning rate with which a variant's name ends."""
    return float(variant.rpartition("lr=")[2])


def _ends_in_rate(name: str) -> bool:
    try:
        return math.isfinite(rate_of(name))
    except ValueError:  # something follows the rate
        return False


def best_of(scores: dict) -> list:
    """The keys of the best score, in their order; several where it is shared."""
    return [key for key, score in scores.items() if score == max(scores.values())]


def bracketed(rates: dict[float, float]) -> bool:
    """Whether the best of several learning rates, or one of those that share the best score, lies between others."""
    return any(min(rates) < rate < max(rates) for rate in best_of(rates))
