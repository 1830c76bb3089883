"""What does removing each part cost this recipe? One model that works, one change at a time (chapter 10).

The base is the preset `laptop` without dropped patches: 96 wide, 4 deep, patches of 4, learned positions, the mean
before the head, Muon, six passes over 45,000 photographs. Each change is made alone. Where a change may want another
learning rate it has a search of its own; the others take the base's. One seed chooses rates, by the 5,000 pictures
that are held out; the seeds that judge are read once, on the 10,000 test pictures. After Table 8, Figures 3, 4, 8, 9.

At 320 pictures a second and core (AVX-512, quiet) a run of the base takes 15 minutes, and all some eighty runs 19
hours: 16 of them end before "eight blocks", which are drawn as open. So far 13 runs took 675 minutes, beside other
work. To go on elsewhere, on a machine of the same kind, put `vitlib/results/parts.json` into `runs/study-parts/`.

"Rate" is Muon's, for the blocks' matrices; AdamW takes a fifth of it for the rest, as in the preset. Where AdamW takes
all, "rate" is AdamW's.
"""

from __future__ import annotations

import statistics
from typing import Any

from scipy.stats import bartlett, t

from vitlib.data.dataset import load_dataset
from vitlib.train.evaluate import evaluate
from vitlib.train.recipe import recipe
from vitworkshop.studies.claim import SEEDS, scores_of, way_of
from vitworkshop.studies.study import (
    Job,
    Study,
    Turn,
    at_muon_rates,
    at_rates,
    train_variant,
)

ADAMW_RATES = (0.0005, 0.001, 0.002, 0.004, 0.008)
NOISE = 0.009  # twice the deviation over five seeds of such a model (GAP in the study `readout`: 0.0045)
BASE = "base"
#: what students ask first comes first; where the time ends, the last are open
CHANGES = {
    "no positions": {"model.pos_embed": "none"},
    "CLS for the mean": {"model.global_pool": "token"},
    "AdamW": {"optimizer": "adamw"},
    "sines and cosines": {"model.pos_embed": "sincos2d"},
    "patches of 8": {"model.patch_size": 8},
    "no crops and mirrors": {"crop": 0, "flip": False},
    "a tenth of the pictures, as many steps": {"n_train": 4500},
    "half of the patches dropped": {"model.patch_drop_rate": 0.5},
    "two blocks": {"model.depth": 2},
    "post-norm": {"model.norm_order": "post"},
    "RoPE": {"model.pos_embed": "rope"},
    "relative positions": {"model.pos_embed": "relative"},
    "eight blocks": {"model.depth": 8},
}
ORDER = tuple(CHANGES)
SAME_RATE = (  # as the base; the others have a search of their own
    "sines and cosines",
    "no crops and mirrors",
    "a tenth of the pictures, as many steps",
    "RoPE",
    "relative positions",
)
FEW, MANY = (0, 1, 2), tuple(range(3, 10))


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict]:
    """Train; the metric is read on the pictures held out by the seeds that choose, on the test set by the others."""

    def look(model: Any, final: dict) -> float:
        if seed == study.choosing:
            return final["val_accuracy"]
        test = load_dataset(job.data.name, "test")
        return round(evaluate(model, test.images, test.labels)["accuracy"], 5)

    return train_variant(study, variant, seed, job, look)


_TURNS = [
    Turn(way, FEW, rate_from=BASE if way in SAME_RATE else "") for way in (BASE, *ORDER)
]
STUDY = Study(
    question="What does removing each part cost this recipe?",
    variants=at_muon_rates(BASE, {})
    | {
        name: changes
        for way, own in CHANGES.items()
        for name, changes in (
            at_rates(way, own, ADAMW_RATES)
            if way == "AdamW"
            else at_muon_rates(way, own)
        ).items()
    },
    base=recipe("laptop", epochs=6, precision="fp32", **{"model.patch_drop_rate": 0.0}),
    seeds=FEW + MANY,
    choosing=100,
    noise=NOISE,
    # the base's further seeds after four changes
    turns=(*_TURNS[:5], Turn(BASE, MANY), *_TURNS[5:]),
    data="cifar10",
    metric="accuracy",
    measure="accuracy on the 10,000 test pictures, read once; rates were chosen on 5,000 held-out training pictures",
    run=_run,
)


def costs(runs: list[dict]) -> dict[str, tuple[float, float]]:
    """What each change costs, and how far its interval reaches to both sides, in shares of 1.

    Differences base - change are paired by seed; a change with fewer than three has none. All share one deviation,
    pooled over the changes, and the intervals hold together in nineteen cases of twenty (Bonferroni, for all of ORDER).
    """
    found = differences(runs)
    if not found:
        return {}
    freedom = sum(len(each) - 1 for each in found.values())
    squares = sum(
        (len(each) - 1) * statistics.variance(each) for each in found.values()
    )
    reach = float(t.ppf(1 - 0.025 / len(ORDER), freedom)) * (squares / freedom) ** 0.5
    return {
        way: (statistics.fmean(each), reach / len(each) ** 0.5)
        for way, each in found.items()
    }


def differences(runs: list[dict]) -> dict[str, list[float]]:
    """Of each change that has three seeds or more, how much less accurate it is than the base with each."""
    ways: dict[str, dict[int, float]] = {}
    for name, scores in scores_of(runs, STUDY.metric, STUDY.choosing).items():
        ways.setdefault(way_of(name), {}).update(scores)
    base = ways.get(BASE, {})
    pairs = {
        way: [base[seed] - score for seed, score in ways[way].items() if seed in base]
        for way in ORDER
        if way in ways
    }
    return {way: each for way, each in pairs.items() if len(each) >= SEEDS}


def equal_deviations(runs: list[dict]) -> float | None:
    """How probable so unlike deviations are if all are one (Bartlett's test); None of fewer than two changes."""
    found = differences(runs)
    return float(bartlett(*found.values()).pvalue) if len(found) > 1 else None
