"""What an experiment is: a question, the variants that answer it, and the rule that judges a claim by the numbers."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from vitlib.train.recipe import Recipe, recipe

__all__ = ["FULL", "QUICK", "Claim", "Study"]

QUICK = recipe(
    "laptop", epochs=4, precision="fp32"
)  # 96 wide, 4 deep; one precision, so that machines compare
FULL = {
    "epochs": 100,
    "batch_size": 512,
    "randaugment": 2,
    "label_smoothing": 0.1,
    "precision": "bf16",
    "model.embed_dim": 192,
    "model.depth": 9,
    "model.mlp_ratio": 4.0,
}


@dataclass(frozen=True)
class Claim:
    """A sentence, and the rule by which our numbers judge it, written before the run.

    Each side is a tuple of variants and is read by the one of them with the best mean. The differences are paired by
    seed; their mean has a 95 % interval (Student's t). "ahead": the sentence agrees if the whole interval lies above
    0, and differs if it lies below `margin`. "equal": it agrees if the interval lies within `margin` of 0, and differs
    if 0 is outside. Otherwise it is open.

    Args:
        says: The sentence, with the paper's numbers.
        source: Table, figure or section of the paper, or "ours".
        first: The side that should be ahead.
        second: The other side.
        margin: The smallest difference that would matter, in units of the metric.
        kind: "ahead" or "equal".
        metric: A key of each run's "final"; larger is better.
    """

    says: str
    source: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    margin: float
    kind: str = "ahead"
    metric: str = "val_accuracy"

    def judge(self, runs: list[dict]) -> dict:
        """The verdict with its numbers.

        Args:
            runs: Each with "variant", "seed" and "final".

        Returns:
            "verdict" ("agrees", "differs" or "open"), the sides' best variants, and where at least two seeds are
            shared, "difference" (the mean), "se" (its standard error), "interval" and "n".
        """
        scores: dict[str, dict[int, float]] = {}
        for run in runs:
            scores.setdefault(run["variant"], {})[run["seed"]] = run["final"][self.metric]
        sides = [[name for name in side if name in scores] for side in (self.first, self.second)]
        if not all(sides):
            return {"verdict": "open"}
        first, second = (
            max(side, key=lambda name: statistics.fmean(scores[name].values())) for side in sides
        )
        found = {"verdict": "open", "first": first, "second": second}
        seeds = sorted(scores[first].keys() & scores[second].keys())
        if len(seeds) < 2:
            return found
        from scipy.stats import t

        differences = [scores[first][seed] - scores[second][seed] for seed in seeds]
        mean = statistics.fmean(differences)
        se = statistics.stdev(differences) / len(seeds) ** 0.5
        reach = float(t.ppf(0.975, len(seeds) - 1)) * se
        low, high = mean - reach, mean + reach
        if self.kind == "ahead":
            verdict = "differs" if high < self.margin else "agrees" if low > 0 else "open"
        else:
            within = -self.margin < low and high < self.margin
            verdict = "agrees" if within else "differs" if low > 0 or high < 0 else "open"
        return {
            **found,
            "verdict": verdict,
            "difference": mean,
            "se": se,
            "interval": [low, high],
            "n": len(seeds),
        }


@dataclass(frozen=True)
class Study:
    """Training runs that differ in one thing, repeated over seeds and judged on held-out images.

    Args:
        question: What the study is to answer.
        variants: For each name, what it changes in the base recipe; "model.FIELD" changes the model.
        claims: What is to be judged, and how.
        base: The recipe they share, at the scale of a laptop.
        full: What the scale "full" (a GPU) changes in it.
        seeds: Every variant is trained with the first before any with the second.
        source: Where the paper asks this.
    """

    question: str
    variants: dict[str, dict]
    claims: tuple[Claim, ...] = ()
    base: Recipe = QUICK
    full: dict = field(default_factory=lambda: dict(FULL))
    seeds: tuple[int, ...] = (0, 1, 2)
    source: str = ""
