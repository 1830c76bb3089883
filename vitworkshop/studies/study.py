"""What an experiment is: a question, the variants that answer it, the claims that they judge, and how one is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vitlib.config import ViTConfig
from vitlib.data.dataset import Dataset
from vitlib.device import derive_seed
from vitlib.train.loop import train_model
from vitlib.train.recipe import Recipe, recipe
from vitworkshop.studies.claim import Claim

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


@dataclass
class Job:
    """What every run of a study shares."""

    base: Any  # the study's recipe, with the name of the data; None where no recipe is followed
    data: Dataset  # the training images
    val: Any  # the images held out of them, a Dataset; None where none are
    out: Path  # folder of the runs
    device: str = "cpu"  # "auto", "cpu", "cuda" or "mps"
    progress: bool = False  # whether to show bars and lines

    def train(
        self,
        name: str,
        one: Recipe,
        data: Dataset,
        val: Dataset | None,
        start: nn.Module | None = None,
    ) -> dict:
        """The log of a training that keeps what it has under this name; see `train_model`."""
        name = f"{name}-s{one.seed}"
        out = self.out / name.replace(" ", "-").replace(",", "").replace(":", "")
        return train_model(
            replace(one, name=name),
            data,
            val,
            out=out,
            device=self.device,
            progress=self.progress,
            start=start,
        )


def train_variant(
    study: Study,
    variant: str,
    seed: int,
    job: Job,
    look: Any = None,
) -> list[dict]:
    """Train one variant with one seed, or go on with it.

    A variant with "n_train" sees that many images; see `draw_images`. `look` is a function of the model
    and what its row ends with, and gives another accuracy.
    """
    changes = dict(study.variants[variant])
    data = draw_images(job.data, changes.pop("n_train", None), seed)
    one = recipe(job.base, **changes, seed=seed)
    log = job.train(variant, one, data, job.val)
    row = row_of(log)
    if variant in study.curves:
        row["epochs"] = log["epochs"]
    if look:
        row["final"]["accuracy"] = look(log["model"], row["final"])
    return [row]


def at_rates(
    name: str, changes: dict[str, Any], rates: Iterable[float]
) -> dict[str, dict[str, Any]]:
    """A variant at several learning rates."""
    return {f"{name}, lr={rate:g}": {**changes, "lr": rate} for rate in rates}


def at_muon_rates(name: str, changes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A variant at several rates of Muon's; the rest has a fifth of each, as in the preset "laptop"."""
    return {
        f"{name}, lr={rate:g}": {**changes, "lr": rate / 5, "muon_lr": rate}
        for rate in (0.0025, 0.005, 0.01, 0.02, 0.04)
    }


def draw_images(data: Dataset, n: int | None, seed: int) -> Dataset:
    """`n` of the images, drawn by the seed and repeated until they are as many as before; all of them for None.

    So an epoch has as many steps, whatever `n` is, and a larger `n` holds the images of a smaller one.
    """
    if n is None:
        return data
    order = torch.randperm(
        len(data), generator=torch.Generator().manual_seed(derive_seed(seed, "n_train"))
    )
    index = order[torch.arange(len(data)) % n]
    return replace(data, images=data.images[index], labels=data.labels[index])


def row_of(log: dict) -> dict:
    """What the row of a run keeps of its log: of its epochs the number."""
    last = log["epochs"][-1]
    row = {key: log[key] for key in ("parameters", "hardware", "precision")}
    final = {name: last[name] for name in ("val_accuracy", "val_loss")}
    seconds, epochs = round(log["seconds"], 1), len(log["epochs"])
    return row | {"seconds": seconds, "epochs": epochs, "final": final}


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
    # what they share; None where no recipe is followed and no image held out
    base: Recipe | None = QUICK
    seeds: tuple[int, ...] = (0, 1, 2)
    # the seed that chooses learning rates and judges nothing; see `choosing`
    choosing: int | None = None
    noise: float = 0.0  # of the metric: rates that differ by no more are level
    turns: tuple[Turn, ...] = ()  # the ways in their order, where it matters
    data: str = "auto"  # the data set
    # of its own drawings, where each run draws them
    sample: Callable[[], Dataset] | None = None
    # only that many images, the first ones; 0 where nothing is trained
    n_train: int | None = None
    # the key of a run's "final" that the summary is made of
    metric: str = "val_accuracy"
    measure: str = "accuracy on held-out training images; the test set is not read"
    # of other variants the file of results tells how many epochs there were, no more
    curves: tuple[str, ...] = ()
    # gives a variant's rows with a seed: a "final" each, and what else the runner cannot know
    run: Callable[[Study, str, int, Job], list[dict]] = train_variant
