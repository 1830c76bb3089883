"""Does what was learned on some classes help with others? The paper's Sections 3.2 and 4.1 (chapter 16).

Does what was learned on six classes help with four others, and what does the resolution change? The first six classes
of CIFAR-10 are one source, Drawn-10 a far one, with as many pictures seen; the task is the other four classes, with
2,000 pictures of the training set, drawn anew for each seed. One pre-training a seed and source is shared by all that
begins with it, with a new head of zeros. What begins at random has its own optimiser and learning rates, the same
augmentation, and as many pictures seen; once also as many as pre-training and fine-tuning together. Pictures of 48
pixels are those of 32, resampled: they show no more. Small here: patch 8, and one way to divide the classes. Rates were
added until the best of each way lay between others. 96 runs took 90 minutes on one thread.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from vitlib.data.dataset import Dataset, load_dataset, split_validation
from vitlib.device import derive_seed, pick_device
from vitlib.train.recipe import RECIPES, Recipe, recipe
from vitlib.train.transfer import features, few_shot, replace_head, sample_shots
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import (
    QUICK,
    Job,
    Study,
    initial_model,
    make_row,
    rows_of,
)

KNOWN = 6  # classes of the source; the others are the task
SOURCE = 9_000  # pictures of either source
PICTURES = 2_000  # of the task
SHOTS, DRAWS = 5, 20  # pictures of a class, and how often they are drawn
PASSES, BATCH = 15, 64  # over those pictures
_ADAMW = (0.0005, 0.001, 0.002)
RATES = {  # SGD from a start; AdamW without
    "finetune": (0.01, 0.03, 0.1, 0.3),
    "scratch": _ADAMW,
    "long": (0.00025, *_ADAMW),
}

# what is made of each source: the side of the task's pictures, or more passes
_VARIANTS: dict[str, dict[str, dict]] = {
    "six classes": {"zero head": {}, "zero head, 48 px": {"size": 48}},
    "Drawn-10": {"zero head": {}},
    "scratch": {"32 px": {}, "48 px": {"size": 48}, "long": {"long": True}},
}


def _rates(source: str, what: str) -> tuple[float, ...]:
    """The learning rates of one way to begin."""
    if source != "scratch":
        return RATES["finetune"]
    return RATES.get(what, RATES["scratch"])


def of_classes(data: Dataset, first: int, last: int | None = None) -> Dataset:
    """The images of the classes from `first` to `last` (itself left out), their labels counted from 0."""
    classes = data.classes[first:last]
    mine = (data.labels >= first) & (data.labels < first + len(classes))
    return replace(
        data,
        images=data.images[mine],
        labels=data.labels[mine] - first,
        classes=classes,
    )


def probe(
    x: Tensor, y: Tensor, val_x: Tensor, val_y: Tensor, seed: int
) -> dict[str, float]:
    """Accuracy of ridge regression on features (n, D): with few pictures, the mean of many draws, and with all n."""
    draws = [
        sample_shots(y, SHOTS, derive_seed(seed, "shots", i)) for i in range(DRAWS)
    ]
    few = [few_shot(x[index], y[index], val_x, val_y)["accuracy"] for index in draws]
    return {
        f"{SHOTS}-shot": statistics.fmean(few),
        "probe": few_shot(x, y, val_x, val_y)["accuracy"],
    }


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict] | None:
    """One source with one seed: its pre-training, what begins with it, its features; None if the time was over."""
    rows, held_out, device = [], job.val or job.data, pick_device(job.device)
    base = replace(job.base or QUICK, seed=seed)
    task, val = of_classes(job.data, KNOWN), of_classes(held_out, KNOWN)
    images, labels = split_validation(
        task.images, task.labels, min(PICTURES, len(task) - 1), seed
    )[1]
    few = replace(task, images=images, labels=labels)
    data, own_val = of_classes(job.data, 0, KNOWN), of_classes(held_out, 0, KNOWN)
    seen = min(SOURCE, len(data))  # pictures of the source
    source = None

    def train(
        name: str,
        one: Recipe,
        data: Dataset,
        val: Dataset,
        start: nn.Module | None = None,
    ) -> Any:
        """The trained model; None if the time was over."""
        log = job.train(name, one, data, val, start)
        for row in rows_of(log, name, {}, seed) or []:
            row["final"]["accuracy"] = row["final"]["val_accuracy"]
            rows.append(row)
        return log["model"] if log["finished"] else None

    def look(
        name: str, few: tuple[Tensor, Tensor], judged: tuple[Tensor, Tensor]
    ) -> None:
        """Add the rows of what ridge regression makes of features with their labels."""
        began = time.monotonic()
        found = probe(*few, *judged, seed)
        seconds = (time.monotonic() - began) / len(found)
        for what, accuracy in found.items():
            final = {"accuracy": accuracy}
            rows.append(
                make_row(
                    f"{name}: {what}", {}, seed, final, seconds, torch.device("cpu")
                )
            )

    if variant != "scratch":
        if variant == "Drawn-10":
            drawn = load_dataset("drawn10", "train", n=seen + max(1, seen // 9))
            data, own_val = drawn.hold_out(len(drawn) - seen)
        data = replace(data, images=data.images[:seen], labels=data.labels[:seen])
        shape = replace(base.model, num_classes=len(data.classes))
        source = train(
            f"{variant}: pre-training", replace(base, model=shape), data, own_val
        )
        if source is None:
            return None
    for what, how in study.variants[variant].items():
        size, epochs = how.get("size", 32), PASSES
        epochs += round(base.epochs * seen / len(few)) if how.get("long") else 0
        alike: dict[str, Any] = {
            "epochs": epochs,
            "batch_size": BATCH,
            "crop": size // 8,
        }
        if source is None:
            shape, start = (
                replace(base.model, num_classes=len(task.classes), img_size=size),
                None,
            )
            one = replace(
                base, model=shape, randaugment=0, label_smoothing=0.0, **alike
            )
        else:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(derive_seed(seed, "head"))
                start = replace_head(source.with_img_size(size), len(task.classes))
            alike |= {"data": base.data, "precision": base.precision, "seed": seed}
            one = replace(RECIPES["finetune"], model=start.cfg, ema_decay=0.0, **alike)
        pictures, judged = few.resize(size), val.resize(size)
        for rate in _rates(variant, what):
            name = f"{variant}: {what}, lr={rate:g}"
            if train(name, replace(one, lr=rate), pictures, judged, start) is None:
                return None
    if source is None:  # two trivial ones
        source, variant = initial_model(base.model, seed).to(device), "untrained"
        # (n, C H W)
        look("pixels", *((d.images.flatten(1).float(), d.labels) for d in (few, val)))
    look(variant, *((features(source, d.images), d.labels) for d in (few, val)))
    return rows


_SIX, _SCRATCH = "six classes: zero head, lr=*", "scratch: 32 px, lr=*"
_DRAWN = "Drawn-10: zero head, lr=*"
_PRE = "pre-training on six other classes is ahead"
_CLAIMS = tuple(
    Claim(says, first, second, metric="accuracy")
    for says, first, second in (
        (f"{_PRE} of training from scratch, with the same fine-tuning", _SIX, _SCRATCH),
        (
            f"{_PRE} of training from scratch on as many pictures seen in all",
            _SIX,
            "scratch: long, lr=*",
        ),
        (
            "pre-training on Drawn-10 is ahead of training from scratch",
            _DRAWN,
            _SCRATCH,
        ),
        (
            'fine-tuning at 48 px is ahead of 32 px ("often beneficial")',
            "six classes: zero head, 48 px, lr=*",
            _SIX,
        ),
    )
) + tuple(
    Claim(
        f"{what}: features learned on {source} are ahead of an untrained model's and of pixels",
        f"{source}: {what}",
        f"[up]*: {what}",  # untrained, pixels
        margin=0.02,
        metric="accuracy",
    )
    for what in (f"{SHOTS}-shot", "probe")
    for source in ("six classes", "Drawn-10")
)

STUDY = Study(
    question="Does what was learned on six classes help with four others, and what does the resolution change?",
    variants=_VARIANTS,
    claims=_CLAIMS,
    base=recipe(QUICK, epochs=18, **{"model.patch_size": 8}),
    source="Sections 3.2 and 4.1",
    data="cifar10",
    n_train=30_000,  # 5,000 of them held out
    metric="accuracy",
    measure="accuracy on held-out training images of the task (of a source: its own); the test set is not read",
    run=_run,
)
