"""What an experiment is: a question, the variants that answer it, and the rule that judges a claim by the numbers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from vitlib.checks import check_between
from vitlib.config import ViTConfig
from vitlib.data.dataset import Dataset
from vitlib.device import derive_seed
from vitlib.evidence import paired_difference
from vitlib.train.loop import train_model
from vitlib.train.recipe import Recipe, recipe

__all__ = [
    "FULL",
    "QUICK",
    "Claim",
    "Job",
    "Study",
    "draw_images",
    "multiply_epochs",
    "rows_of",
    "train_longer",
    "train_variant",
]

SEEDS = 3  # with fewer, a verdict is open
# 96 wide, 4 deep, AdamW: the preset "laptop" of the first studies; one precision, so that machines compare
QUICK = Recipe(
    "laptop",
    ViTConfig(embed_dim=96, depth=4, num_heads=3, mlp_ratio=2.0, global_pool="avg"),
    data="cifar10",
    epochs=4,
    lr=2e-3,
    schedule="linear",
    warmup=0.15,
    precision="fp32",
)
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
    seed; their mean has a 95 % interval (Student's t). "ahead": the sentence differs if the interval lies below
    `margin` (to be ahead by less than matters is to differ), and else agrees if it lies above 0. "equal": it agrees if
    the interval lies within `margin` of 0, and else differs if 0 is outside. "apart" is the opposite of "equal".
    Otherwise, and with fewer than three shared seeds, it is open.

    Args:
        says: The sentence, with the paper's numbers.
        source: Table, figure or section of the paper, or "ours".
        first: The side that should be ahead.
        second: The other side.
        margin: The smallest difference that would matter, in units of the metric.
        kind: "ahead", "equal" or "apart".
        metric: A key of each run's "final"; the larger value is ahead, so a claim on losses names the worse side first.
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
            "verdict" ("agrees", "differs" or "open"), "metric", the sides' best variants, what `paired_difference`
            says (of a single shared seed "difference" and "n"), and where it is open, "seeds": about how many would
            decide.
        """
        scores: dict[str, dict[int, float]] = {}
        for run in runs:
            scores.setdefault(run["variant"], {})[run["seed"]] = run["final"].get(self.metric, math.nan)
        sides = [[name for name in side if name in scores] for side in (self.first, self.second)]
        if not all(sides):
            return {"verdict": "open", "metric": self.metric}
        first, second = (
            max(side, key=lambda name: statistics.fmean(scores[name].values())) for side in sides
        )
        paired: dict[str, Any] = paired_difference(scores[first], scores[second]) or {}
        for seed in () if paired else scores[first].keys() & scores[second].keys():  # one at most
            paired = {"difference": scores[first][seed] - scores[second][seed], "n": 1}
        low, high = paired.get("interval", (-math.inf, math.inf))
        if self.kind == "ahead":
            verdict = "differs" if high < self.margin else "agrees" if low > 0 else "open"
        else:
            within = -self.margin < low and high < self.margin
            same, other = ("agrees", "differs") if self.kind == "equal" else ("differs", "agrees")
            verdict = same if within else other if low > 0 or high < 0 else "open"
        if verdict == "open" or paired["n"] < SEEDS:
            # as many as make a 95 % interval narrower than the margin, if the spread stays as it is
            spread = paired.get("se", 0.0) * paired.get("n", 0) ** 0.5
            verdict, paired["seeds"] = "open", max(SEEDS, math.ceil((2 * 1.96 * spread / self.margin) ** 2))
        return {"verdict": verdict, "metric": self.metric, "first": first, "second": second, **paired}


@dataclass
class Job:
    """What every run of a study shares.

    Args:
        data: The training images.
        val: The images held out of them, or None.
        out: Folder of the runs.
        scale: "quick" or "full".
        changes: What the scale and the caller change in every recipe.
        device: "auto", "cpu", "cuda" or "mps".
        left: Minutes left, or None.
        progress: Whether to show bars and lines.
    """

    data: Dataset
    val: Dataset | None
    out: Path
    scale: str
    changes: dict
    device: str
    left: float | None
    progress: bool

    def folder(self, variant: str, seed: int) -> Path:
        """Where one run keeps what it has: the variant's name without spaces and commas."""
        return self.out / f"{variant}-s{seed}".replace(" ", "-").replace(",", "")


def train_variant(
    study: Study, variant: str, seed: int, job: Job, look: Callable[[Any], dict] | None = None
) -> list[dict] | None:
    """Train one variant with one seed, or go on with it; None if the time was over before its end.

    A variant with "n_train" sees that many images; see `draw_images`. What `look` sees in the trained model joins the
    row's "final".
    """
    own = study.variants[variant]
    changes: dict[str, Any] = {**job.changes, **own, "seed": seed, "name": f"{variant}-s{seed}"}
    data = draw_images(job.data, changes.pop("n_train", None), seed)
    one = recipe(study.base or QUICK, **changes)
    out, left = job.folder(variant, seed), job.left
    log = train_model(
        one, data, job.val, out=out, device=job.device, budget_minutes=left, progress=job.progress
    )
    rows = rows_of(log, variant, own, seed)
    if rows and look:
        rows[0]["final"] |= look(log["model"])
    return rows


def train_longer(
    study: Study, variant: str, seed: int, job: Job, look: Callable[[Any], dict] | None = None
) -> list[dict] | None:
    """As `train_variant`, for a variant's "times" the epochs that the scale has."""
    return train_variant(multiply_epochs(study, variant, job), variant, seed, job, look)


def multiply_epochs(study: Study, variant: str, job: Job) -> Study:
    """The study with a variant's "times" multiplied out: so many times the epochs that the scale has."""
    own, base = dict(study.variants[variant]), study.base or QUICK
    epochs = own.pop("times", 1) * job.changes.get("epochs", base.epochs)
    return replace(study, variants={variant: {**own, "epochs": max(1, round(epochs))}})


def draw_images(data: Dataset, n: int | None, seed: int) -> Dataset:
    """`n` of the images, drawn by the seed and repeated until they are as many as before; all of them for None.

    So an epoch has as many steps, whatever `n` is, and a larger `n` holds the images of a smaller one.

    Raises:
        ValueError: If there are not as many.
    """
    if n is None:
        return data
    check_between("n_train", n, 1, len(data), " training images")
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(derive_seed(seed, "n_train")))
    index = order[torch.arange(len(data)) % n]
    return replace(data, images=data.images[index], labels=data.labels[index])


def rows_of(log: dict, variant: str, changes: dict, seed: int) -> list[dict] | None:
    """The row of one training run, from its log; None if it is not finished."""
    if not log["finished"]:
        return None
    first, last = log["epochs"][0], log["epochs"][-1]
    final = {name: last[name] for name in ("val_accuracy", "val_loss")}
    row = {"variant": variant, "changes": changes, "seed": seed, "parameters": log["parameters"]}
    row |= {"seconds": round(log["seconds"], 1), "hardware": log["hardware"], "precision": log["precision"]}
    return [row | {"epochs": log["epochs"], "final": {**final, "first_val_accuracy": first["val_accuracy"]}}]


@dataclass(frozen=True)
class Study:
    """Runs that differ in one thing, repeated over seeds.

    Args:
        question: What the study is to answer.
        variants: For each name, what it changes in the base recipe; "model.FIELD" changes the model.
        claims: What is to be judged, and how.
        base: The recipe they share, at the scale of a laptop; None where none is followed.
        full: What the scale "full" (a GPU) changes in it.
        seeds: Every variant is run with the first before any with the second.
        source: Where the paper asks this.
        data: The data set, unless the caller names another.
        n_train: Only that many images, the first ones; 0 where nothing is trained.
        holdout: Whether images are held out and judged.
        metric: The key of a run's "final" that the summary is made of.
        measure: What it measures, in words.
        run: Runs one variant with one seed and returns its rows; None if the time was over.
    """

    question: str
    variants: dict[str, dict]
    claims: tuple[Claim, ...] = ()
    base: Recipe | None = QUICK
    full: dict = field(default_factory=lambda: dict(FULL))
    seeds: tuple[int, ...] = (0, 1, 2)
    source: str = ""
    data: str = "auto"
    n_train: int | None = None
    holdout: bool = True
    metric: str = "val_accuracy"
    measure: str = "accuracy on held-out training images; the test set is not read"
    run: Callable[[Study, str, int, Job], list[dict] | None] = train_variant
