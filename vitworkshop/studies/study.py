"""What an experiment is: a question, the variants that answer it, the claims that they judge, and how one is run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vitlib.checks import check_between
from vitlib.config import ViTConfig
from vitlib.data.dataset import Dataset
from vitlib.device import derive_seed, describe_hardware
from vitlib.model.vit import build_model
from vitlib.train.loop import train_model
from vitlib.train.recipe import Recipe, recipe
from vitworkshop.studies.claim import Claim

# sees a trained model, and says what joins its row's "final"
Look = Callable[[Any], dict] | None
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

MUON_RATES = (0.0025, 0.005, 0.01, 0.02, 0.04)


@dataclass
class Job:
    """What every run of a study shares."""

    base: Recipe | None  # the study's, with the name of the data
    data: Dataset  # the training images
    val: Dataset | None  # the images held out of them
    out: Path  # folder of the runs
    device: str = "cpu"  # "auto", "cpu", "cuda" or "mps"
    deadline: float | None = None  # as `time.time` has it
    progress: bool = False  # whether to show bars and lines

    @property
    def left(self) -> float | None:
        """The minutes left."""
        return None if self.deadline is None else (self.deadline - time.time()) / 60

    def folder(self, variant: str, seed: int) -> Path:
        """Where one run keeps what it has: the variant's name without spaces, commas and colons."""
        return self.out / f"{variant}-s{seed}".replace(" ", "-").replace(
            ",", ""
        ).replace(":", "")

    def train(
        self,
        name: str,
        one: Recipe,
        data: Dataset,
        val: Dataset | None,
        start: nn.Module | None = None,
    ) -> dict:
        """The log of a training, or a part of it, that keeps what it has under this name; see `train_model`."""
        one, out = replace(one, name=f"{name}-s{one.seed}"), self.folder(name, one.seed)
        how: dict[str, Any] = {
            "device": self.device,
            "budget_minutes": self.left,
            "progress": self.progress,
        }
        return train_model(one, data, val, out=out, start=start, **how)


def train_variant(
    study: Study, variant: str, seed: int, job: Job, look: Look = None
) -> list[dict] | None:
    """Train one variant with one seed, or go on with it; None if the time was over before its end.

    A variant with "n_train" sees that many images; see `draw_images`.
    """
    own = changes_of(study, variant, job)
    changes = {key: value for key, value in own.items() if key != "n_train"}
    data = draw_images(job.data, own.get("n_train"), seed)
    one = recipe(job.base or QUICK, **changes, seed=seed)
    log = job.train(variant, one, data, job.val)
    rows = rows_of(log, variant, own, seed)
    if rows and look:
        rows[0]["final"] |= look(log["model"])
    return rows


def changes_of(study: Study, variant: str, job: Job) -> dict:
    """What a variant changes, its "times" multiplied out: so many times the epochs of the base."""
    own = dict(study.variants[variant])
    if "times" in own:
        own["epochs"] = max(1, round(own.pop("times") * (job.base or QUICK).epochs))
    return own


def at_rates(
    name: str, changes: dict[str, Any], rates: Iterable[float]
) -> dict[str, dict[str, Any]]:
    """A variant at several learning rates."""
    return {f"{name}, lr={rate:g}": {**changes, "lr": rate} for rate in rates}


def at_muon_rates(
    name: str, changes: dict[str, Any], rates: Iterable[float] = MUON_RATES
) -> dict[str, dict[str, Any]]:
    """A variant at several rates of Muon's; the rest has a fifth of each, as in the preset "laptop"."""
    return {
        f"{name}, lr={rate:g}": {**changes, "lr": rate / 5, "muon_lr": rate}
        for rate in rates
    }


def initial_model(cfg: Any, seed: int) -> Any:
    """The untrained model with which every run with this seed begins."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(seed, "init"))
        return build_model(cfg)


def draw_images(data: Dataset, n: int | None, seed: int) -> Dataset:
    """`n` of the images, drawn by the seed and repeated until they are as many as before; all of them for None.

    So an epoch has as many steps, whatever `n` is, and a larger `n` holds the images of a smaller one.
    """
    if n is None:
        return data
    check_between("n_train", n, 1, len(data), " training images")
    order = torch.randperm(
        len(data), generator=torch.Generator().manual_seed(derive_seed(seed, "n_train"))
    )
    index = order[torch.arange(len(data)) % n]
    return replace(data, images=data.images[index], labels=data.labels[index])


def rows_of(log: dict, variant: str, changes: dict, seed: int) -> list[dict] | None:
    """The row of one training run, from its log; None if it is not finished."""
    if not log["finished"]:
        return None
    first, last = log["epochs"][0], log["epochs"][-1]
    final = {name: last[name] for name in ("val_accuracy", "val_loss")}
    row = {
        "variant": variant,
        "changes": changes,
        "seed": seed,
        "parameters": log["parameters"],
    }
    row |= {
        "seconds": round(log["seconds"], 1),
        "hardware": log["hardware"],
        "precision": log["precision"],
    }
    return [
        row
        | {
            "epochs": log["epochs"],
            "final": {**final, "first_val_accuracy": first["val_accuracy"]},
        }
    ]


def make_row(
    variant: str,
    changes: dict,
    seed: int,
    final: dict,
    seconds: float,
    device: torch.device,
) -> dict:
    """The row of a run that `train_model` did not do, in float32."""
    row = {
        "variant": variant,
        "changes": changes,
        "seed": seed,
        "seconds": round(seconds, 2),
        "final": final,
    }
    return row | {"hardware": describe_hardware(device), "precision": "fp32"}


@dataclass(frozen=True)
class Turn:
    """A way to train, when it is its turn: its learning rate is chosen, then these seeds judge."""

    way: str
    seeds: tuple[int, ...]
    rate_from: str = ""  # an earlier way, whose rate this one takes; "" where it has a search of its own


@dataclass(frozen=True)
class Study:
    """Runs that differ in one thing, repeated over seeds."""

    question: str
    # what each changes in the base; "model.FIELD" changes the model
    variants: dict[str, dict]
    claims: tuple[Claim, ...] = ()
    base: Recipe | None = QUICK  # what they share; None where no recipe is followed
    seeds: tuple[int, ...] = (0, 1, 2)
    # the seed that chooses learning rates and judges nothing; see `choosing`
    choosing: int | None = None
    noise: float = 0.0  # of the metric: rates that differ by no more are level
    turns: tuple[Turn, ...] = ()  # the ways in their order, where it matters
    source: str = ""  # where the paper asks this
    data: str = "auto"  # the data set
    # of its own drawings, where each run draws them
    sample: Callable[[], Dataset] | None = None
    # only that many images, the first ones; 0 where nothing is trained
    n_train: int | None = None
    holdout: bool = True  # whether images are held out and judged
    # the key of a run's "final" that the summary is made of
    metric: str = "val_accuracy"
    measure: str = "accuracy on held-out training images; the test set is not read"
    # of other variants the file of results tells how many epochs there were, no more
    curves: tuple[str, ...] = ()
    # gives a variant's rows with a seed; None if the time was over before its end
    run: Callable[[Study, str, int, Job], list[dict] | None] = train_variant
