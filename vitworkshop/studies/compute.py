"""Which family reaches more for the same training compute, and does that change with the compute? Figure 5.

The paper's Figure 5 and Table 6 (chapter 12). Compute is 3 x MACs x images: a backward pass costs two forward passes.
Each row's "final" holds "macs", for one image, and "training_macs". Each family is read off its frontier: the variants
whose mean accuracy no cheaper one of the family reaches; between two neighbours accuracy is interpolated over the
logarithm of the compute.

What was made small: 10,000 images of 32 pixels, each seen up to nine times, models of 1 to 30 million MACs, one
learning rate for all. The paper pre-trains on 300 million and compares after transfer. 72 runs took 150 minutes on one
thread.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vitlib.model.costs import count_macs
from vitlib.train.recipe import recipe
from vitworkshop.studies.claim import OPEN, Claim
from vitworkshop.studies.families import BASE, FAMILIES, FULL
from vitworkshop.studies.study import Job, Study, train_variant

LENGTHS = (1, 3, 9)  # epochs, five times as many at scale "full"
_RESNET, _HYBRID = FAMILIES["ResNet"], FAMILIES["hybrid"]
MODELS = {
    "ViT 48 wide, patch 8": {"model.embed_dim": 48},
    "ViT 96 wide, patch 8": {},
    "ViT 96 wide, patch 4": {"model.patch_size": 4},
    "ResNet 32 wide, stride 2": _RESNET | {"model.widths": [32, 64, 128], "model.num_groups": 2},
    "ResNet 64 wide, stride 2": _RESNET,
    "ResNet 64 wide, stride 1": _RESNET | {"model.stem_stride": 1},
    "hybrid 96 wide, patch 8": _HYBRID,
    "hybrid 96 wide, patch 4": _HYBRID | {"model.patch_size": 4},
}


@dataclass(frozen=True)
class AtEqualCompute(Claim):
    """A claim whose sides are families, each read off its frontier at one compute; see `Claim`."""

    share: float = 1.0  # where between the least (0) and the most compute that both have, in its logarithm

    def judge(self, runs: list[dict], choosing: tuple[int, ...] = ()) -> dict:
        """The verdict with its numbers, "training_macs" (where it was read) and "frontiers", the sides' variants."""
        sides = [Frontier(runs, tuple(names), self.metric) for names in (self.first, self.second)]
        if not all(side.names for side in sides):
            return {"verdict": OPEN, "found": OPEN, "metric": self.metric}
        low, high = max(side.compute[0] for side in sides), min(side.most for side in sides)
        at = low + self.share * (high - low)
        read = [
            {"variant": name, "seed": seed, "final": {self.metric: score}}
            for name, side in zip(("first", "second"), sides, strict=True)
            for seed, score in side.read(at).items()
        ]
        plain = Claim(self.says, self.source, "first", "second", self.margin, self.kind, self.metric)
        found = plain.judge(read, choosing)
        first, second = (f"{len(side.names)} {side.names[0].partition(' ')[0]}s" for side in sides)
        frontiers = [side.names for side in sides]
        at = round(math.exp(at))
        return found | {"first": first, "second": second, "frontiers": frontiers, "training_macs": at}


class Frontier:
    """The variants of a family that no cheaper one of it equals in the mean over their seeds, the cheapest first."""

    def __init__(self, runs: list[dict], family: tuple[str, ...], metric: str) -> None:
        scores: dict[str, dict[int, float]] = {}
        cost: dict[str, float] = {}
        for run in runs:
            if (name := run["variant"]) in family:
                scores.setdefault(name, {})[run["seed"]] = run["final"][metric]
                cost[name] = math.log(run["final"]["training_macs"])
        self.most, self.scores = max(cost.values(), default=-math.inf), scores
        self.names: list[str] = []
        best = -math.inf
        for name in sorted(cost, key=cost.__getitem__):
            if (mean := statistics.fmean(scores[name].values())) > best:
                best = mean
                self.names.append(name)
        self.compute = [cost[name] for name in self.names]

    def read(self, at: float) -> dict[int, float]:
        """Each seed's score at the logarithm of a compute; beyond the last variant, the last one's."""
        seeds = set.intersection(*(set(self.scores[name]) for name in self.names))
        curves = {seed: [self.scores[name][seed] for name in self.names] for seed in sorted(seeds)}
        return {seed: float(np.interp(at, self.compute, curve)) for seed, curve in curves.items()}


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict] | None:
    own = study.variants[variant]
    if job.scale == "full":
        own = own | {"epochs": 5 * own["epochs"]}
    rows = train_variant(replace(study, variants={variant: own}), variant, seed, job)
    for row in rows or []:
        one = recipe(study.base or BASE, **{**job.changes, **own})
        batch = min(one.batch_size, len(job.data))
        images = one.epochs * (len(job.data) // batch) * batch
        macs = count_macs(one.model)
        row["final"] |= {"macs": macs, "training_macs": 3 * macs * images}
    return rows


def _family(family: str) -> tuple[str, ...]:
    return tuple(name for name in _VARIANTS if name.startswith(family))


_VARIANTS = {
    f"{model}, {epochs} epoch{'s' * (epochs > 1)}": changes | {"epochs": epochs}
    for epochs in LENGTHS
    for model, changes in MODELS.items()
}
_ViT, _ResNet, _Hybrid = (_family(family) for family in FAMILIES)
_PAPER = "Figure 5, Section 4.4"


def _at(says: str, first: tuple[str, ...], second: tuple[str, ...], **rule: Any) -> AtEqualCompute:
    return AtEqualCompute(says, _PAPER, first, second, **rule)


STUDY = Study(
    question="Which family reaches more for the same training compute, and does that change with the compute?",
    variants=_VARIANTS,
    claims=(
        _at("with much compute the ViTs are ahead of the ResNets", _ViT, _ResNet),
        _at("in the middle of the range the ViTs are ahead of the ResNets", _ViT, _ResNet, share=0.5),
        _at("with little compute the hybrids are ahead of the ViTs", _Hybrid, _ViT, share=0.0),
        _at("with much compute hybrids and ViTs are equal", _Hybrid, _ViT, kind="equal"),
    ),
    base=BASE,
    full={key: value for key, value in FULL.items() if key != "epochs"},
    n_train=15_000,  # 5,000 of them held out
    source="Figure 5, Table 6",
    run=_run,
)
