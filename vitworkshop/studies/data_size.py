"""Who is ahead with few training images and who with many, ViT, ResNet or hybrid, at equal steps? Figures 3 and 4.

The paper's Section 4.3 (chapter 11). What was made small: 500 to 45,000 images of 32 pixels instead of 9 to 300
million, models of 0.3 million parameters with patches of 8 pixels, four passes over the largest set. As in Figure 4,
nothing is tuned for the size of the set, and a smaller one is a random part of a larger; unlike there, accuracy is that
of the last step, not the best one's. At both ends each model also has a second learning rate, and a claim reads the
better. "few_shot_accuracy" is what a ridge regression on the frozen features gets on Drawn-10, which no model was
trained on, from ten images a class. "pixels" is a ridge regression on the pixels of the same images: what needs no
features. 78 runs took 268 minutes on one thread.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import torch

from vitlib.data.drawn10 import load_drawn10
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.families import BASE, FAMILIES, FULL, embed, ridge, run_family
from vitworkshop.studies.study import Study, at_rates

SIZES = (500, 1_500, 5_000, 15_000, 45_000)
_RATES = (0.001, 0.003)  # the second at both ends
_SHOTS, _DRAWS, _JUDGED = 10, 10, 2000  # images a class, how often they are drawn, and how many are judged


def few_shot(model: Any) -> dict[str, float]:
    """Mean accuracy of ridge regressions on a frozen model's features, each from ten images a class of Drawn-10.

    They are of another seed than the data set itself: neither its training nor its test images.
    """
    n = 10 * _SHOTS  # ten in a row hold each class once
    images, labels = load_drawn10("train", n=n * _DRAWS + _JUDGED, seed=1)
    features, right = embed(model, images), []
    judged, answers = features[n * _DRAWS :], labels[n * _DRAWS :]
    for few, theirs in zip(features.split(n)[:_DRAWS], labels.split(n)[:_DRAWS], strict=True):
        with torch.no_grad():
            right.append((ridge(few, theirs, 10)(judged).argmax(dim=1) == answers).double().mean())
    return {"few_shot_accuracy": round(torch.stack(right).mean().item(), 5)}


def _name(family: str, size: int) -> str:
    return f"{family}, {size:,} images"


def _rates(size: int) -> tuple[float, ...]:
    return _RATES if size in (SIZES[0], SIZES[-1]) else _RATES[:1]


def _ahead(first: str, second: str, size: int, source: str, metric: str = "val_accuracy") -> Claim:
    how = "in few-shot accuracy, " if metric.startswith("few") else ""
    says = f"{how}with {size:,} images the {first} is ahead of the {second}"
    one, other = (at_rates(_name(side, size), _rates(size)) for side in (first, second))
    return Claim(says, source, one, other, metric=metric)


STUDY = Study(
    question="Who is ahead with few training images and who with many, ViT, ResNet or hybrid, at equal steps?",
    variants={
        run: changes | {"n_train": size, "lr": rate}
        for size in SIZES
        for family, changes in FAMILIES.items()
        for run, rate in zip(at_rates(_name(family, size), _rates(size)), _rates(size), strict=True)
    }
    | {_name("pixels", size): {"n_train": size} for size in SIZES},
    claims=(
        _ahead("ResNet", "ViT", SIZES[0], "Figure 3, Figure 4"),
        _ahead("ViT", "ResNet", SIZES[-1], "ours, after Figures 3 and 4"),
        _ahead("ResNet", "ViT", SIZES[0], "Figure 4", "few_shot_accuracy"),
        _ahead("ViT", "ResNet", SIZES[-1], "ours, after Figure 4", "few_shot_accuracy"),
        _ahead("hybrid", "ViT", SIZES[0], "ours"),
        _ahead("hybrid", "ViT", SIZES[-1], "ours"),
    ),
    base=replace(BASE, epochs=4),
    full=FULL,
    data="cifar10",
    source="Figures 3 and 4",
    run=partial(run_family, look=few_shot),
)
