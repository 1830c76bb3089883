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
from torch import Tensor

from vitlib.data.dataset import Dataset, load_dataset, split_validation
from vitlib.device import derive_seed
from vitlib.model.vit import VisionTransformer
from vitlib.train.recipe import RECIPES, Recipe, recipe
from vitlib.train.transfer import features, few_shot, replace_head, sample_shots
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import QUICK, Job, Study, row_of

KNOWN = 6  # classes of the source; the others are the task
SOURCE = 9_000  # pictures of either source
PICTURES = 2_000  # of the task
DRAWS = 20  # how often five pictures of a class are drawn
PASSES, BATCH = 15, 64  # over those pictures
_SGD, _ADAMW = (0.01, 0.03, 0.1, 0.3), (0.0005, 0.001, 0.002)  # from a start; without
# what is made of each source: learning rates tried, and what differs: the side of the task's pictures, passes
_VARIANTS = {
    "six classes": {
        "zero head": {"lr": _SGD},
        "zero head, 48 px": {"lr": _SGD, "size": 48},
    },
    "Drawn-10": {"zero head": {"lr": _SGD}},
    "scratch": {
        "32 px": {"lr": _ADAMW},
        "48 px": {"lr": _ADAMW, "size": 48},
        "long": {"lr": (0.00025, *_ADAMW), "epochs": 96},  # 15 + 18 * 9,000 / 2,000
    },
}


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
    name: str, x: Tensor, y: Tensor, val_x: Tensor, val_y: Tensor, seed: int
) -> list[dict]:
    """Rows of ridge regression on features (n, D): with few pictures, the mean of many draws, and with all n."""
    began = time.monotonic()
    draws = [sample_shots(y, 5, derive_seed(seed, "shots", i)) for i in range(DRAWS)]
    few = [few_shot(x[index], y[index], val_x, val_y)["accuracy"] for index in draws]
    found = {
        "5-shot": statistics.fmean(few),
        "probe": few_shot(x, y, val_x, val_y)["accuracy"],
    }
    seconds = round((time.monotonic() - began) / len(found), 2)
    return [
        {"variant": f"{name}: {what}", "seconds": seconds, "final": {"accuracy": score}}
        for what, score in found.items()
    ]


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict]:
    """One source with one seed: its pre-training, what begins with it, its features."""
    rows = []
    base, scratch = replace(job.base, seed=seed), variant == "scratch"
    task, val = of_classes(job.data, KNOWN), of_classes(job.val, KNOWN)
    few = Dataset(*split_validation(task.images, task.labels, PICTURES, seed)[1])

    def train(name: str, one: Recipe, data: Dataset, val: Dataset, start: Any) -> Any:
        """The trained model."""
        log = job.train(f"{variant}: {name}", one, data, val, start)
        row = row_of(log) | {"variant": f"{variant}: {name}"}
        row["final"]["accuracy"] = row["final"]["val_accuracy"]
        rows.append(row)
        return log["model"]

    if scratch:
        torch.manual_seed(derive_seed(seed, "init"))
        source, name = VisionTransformer(base.model), "untrained"
        x, val_x = (each.images.flatten(1).float() for each in (few, val))
        rows += probe("pixels", x, few.labels, val_x, val.labels, seed)
    else:
        data, own_val = of_classes(job.data, 0, KNOWN), of_classes(job.val, 0, KNOWN)
        if variant == "Drawn-10":
            drawn = load_dataset("drawn10", "train", n=SOURCE + SOURCE // 9)
            data, own_val = drawn.hold_out(SOURCE // 9)
        data = replace(data, images=data.images[:SOURCE], labels=data.labels[:SOURCE])
        shape = replace(base.model, num_classes=len(data.classes))
        one = replace(base, model=shape)
        source, name = train("pre-training", one, data, own_val, None), variant
    x, val_x = features(source, few.images), features(source, val.images)
    rows += probe(name, x, few.labels, val_x, val.labels, seed)
    for what, how in study.variants[variant].items():
        size = how.get("size", 32)
        start = replace_head(source.with_img_size(size), len(task.classes))
        one = replace(
            base if scratch else replace(RECIPES["finetune"], ema_decay=0.0),
            model=start.cfg,
            epochs=how.get("epochs", PASSES),
            batch_size=BATCH,
            crop=size // 8,
            data=base.data,
            precision=base.precision,
            seed=seed,
        )
        for rate in how["lr"]:
            train(
                f"{what}, lr={rate:g}",
                replace(one, lr=rate),
                few.resize(size),
                val.resize(size),
                None if scratch else start,
            )
    return [row | {"run": variant, "changes": {}} for row in rows]


_SIX, _SCRATCH = "six classes: zero head, lr=*", "scratch: 32 px, lr=*"
_CLAIMS = tuple(
    Claim(says, first, second, metric="accuracy")
    for says, first, second in (
        (
            "pre-training on six other classes is ahead of training from scratch, with the same fine-tuning",
            _SIX,
            _SCRATCH,
        ),
        (
            "pre-training on six other classes is ahead of training from scratch on as many pictures seen in all",
            _SIX,
            "scratch: long, lr=*",
        ),
        (
            "pre-training on Drawn-10 is ahead of training from scratch",
            "Drawn-10: zero head, lr=*",
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
    for what in ("5-shot", "probe")
    for source in ("six classes", "Drawn-10")
)

STUDY = Study(
    question="Does what was learned on six classes help with four others, and what does the resolution change?",
    variants=_VARIANTS,
    claims=_CLAIMS,
    base=recipe(QUICK, epochs=18, **{"model.patch_size": 8}),
    data="cifar10",
    n_train=30_000,  # 5,000 of them held out
    metric="accuracy",
    measure="accuracy on held-out training images of the task (of a source: its own); the test set is not read",
    run=_run,
)
