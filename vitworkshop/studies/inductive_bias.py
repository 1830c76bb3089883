"""What is lost when pictures are shifted, or their patches or pixels shuffled, all in the same way? Section 3.1.

What ViT, ResNet and hybrid take for granted about pictures (chapter 11). Each is trained and tested on pictures as they
are, on pictures whose blocks of 8 x 8 pixels are shuffled, and on pictures whose pixels are; one order for all pictures
of a run, drawn by its seed. Nothing else is changed in training pictures: no crop, no mirroring. Then the held-out
pictures are shifted by 1 to 8 pixels, up, down, left and right (what comes in at the border is the mirror image),
before they are shuffled: "kept_4" is the share of the accuracy that is left at 4 pixels, "cosine_4" the mean cosine of
the pooled features with those of the picture at its place, after the mean feature was taken off, so that two different
pictures have about 0. "pixels" is a ridge regression whose features are the pixels: it knows of no neighbourhood, and
shuffling changes nothing for it.

A ViT with patches of 8 pixels and learned positions is the same model on shuffled blocks, its positions renamed: the
claim on them holds by construction, up to the luck of the start, and shows how much that luck is.

What was made small: 10,000 images of 32 pixels, models of 0.3 million parameters with patches of 8 pixels, two learning
rates; claims on shifts read the first. 57 runs took 90 minutes on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from vitlib.data.dataset import Dataset
from vitlib.device import derive_seed
from vitlib.model.patches import patchify, unpatchify
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.families import BASE, FAMILIES, FULL, embed, run_family
from vitworkshop.studies.study import Job, Study, at_rates

SHIFTS = range(1, 9)  # pixels
# side of the blocks that change places; 0 is none
VIEWS = {"as they are": 0, "patches shuffled": 8, "pixels shuffled": 1}
_RATES = (0.001, 0.003)
_LOOKED_AT = 1000  # held-out images


def shuffle(images: Tensor, side: int, seed: int) -> Tensor:
    """Images (B, C, H, W) whose blocks of `side` pixels change places, all in the same way; 0 leaves them."""
    if side == 0:
        return images
    size = (images.shape[2], images.shape[3])
    patches = patchify(images, side)  # (B, N, side*side*C)
    generator = torch.Generator().manual_seed(derive_seed(seed, "shuffle", side))
    return unpatchify(patches[:, torch.randperm(patches.shape[1], generator=generator)], side, size)


def shift(images: Tensor, down: int, right: int) -> Tensor:
    """Images (B, C, H, W) moved by so many pixels; what comes in at the border is the mirror image."""
    index = [
        size - 1 - (size - 1 - (torch.arange(size) - by).abs()).abs()
        for size, by in zip(images.shape[2:], (down, right), strict=True)
    ]
    return images[:, :, index[0][:, None], index[1]]


def look(model: Any, val: Dataset, view: Callable[[Tensor], Tensor]) -> dict[str, float]:
    """Share of the accuracy kept, and cosine of the features, under each of `SHIFTS`, as a trained model has them."""
    images, labels = val.images[:_LOOKED_AT], val.labels[:_LOOKED_AT]
    device = next(model.parameters()).device

    @torch.no_grad()
    def see(pictures: Tensor) -> tuple[Tensor, float]:
        features = embed(model, view(pictures))  # (n, D)
        answers = model.head(features.to(device)).argmax(dim=1).cpu()
        return features, (answers == labels).double().mean().item()

    here, accuracy = see(images)
    middle = here.mean(dim=0)
    found: dict[str, float] = {}
    for by in SHIFTS:
        moved = [see(shift(images, *way)) for way in ((by, 0), (-by, 0), (0, by), (0, -by))]
        kept = sum(right for _, right in moved) / 4 / accuracy if accuracy else 0.0
        there = torch.stack([features for features, _ in moved])  # (4, n, D)
        cosine = F.cosine_similarity(there - middle, here - middle, dim=2).mean().item()
        found |= {f"kept_{by}": round(kept, 5), f"cosine_{by}": round(cosine, 5)}
    return found


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict] | None:
    """Train on pictures as this variant views them; the shifts come before the view."""
    own = dict(study.variants[variant])
    side, val = own.pop("shuffled"), job.val or job.data
    view = partial(shuffle, side=side, seed=seed)
    data, held_out = (replace(part, images=view(part.images)) for part in (job.data, val))
    viewed = replace(job, data=data, val=held_out)
    seen = partial(look, val=val, view=view)
    rows = run_family(replace(study, variants={variant: own}), variant, seed, viewed, seen)
    return rows and [row | {"changes": row["changes"] | {"shuffled": side}} for row in rows]


def _both(family: str, view: str = "as they are") -> tuple[str, ...]:
    """A side that is read by the better rate."""
    return at_rates(f"{family}, {view}", _RATES)


def _shifted(says: str, first: str, second: str, metric: str, margin: float = 0.05) -> Claim:
    """A claim on shifted pictures, read at the first rate."""
    one, other = (_both(side)[0] if side in FAMILIES else _PIXELS for side in (first, second))
    return Claim(says, "ours, after Section 3.1", one, other, margin, metric=metric)


def _costs(part: str, family: str, what: str = "accuracy", kind: str = "ahead") -> Claim:
    """A claim on what shuffled patches or pixels cost."""
    says = f"shuffled {part} cost a {family} {what}"
    return Claim(says, "Section 3.1", _both(family), _both(family, f"{part} shuffled"), kind=kind)


_PIXELS = "pixels, as they are"
_HELD = "the ResNet's features hold better than the ViT's when a picture moves by"

STUDY = Study(
    question="What is lost when pictures are shifted, or their patches or pixels shuffled, all in the same way?",
    variants={
        f"{family}, {view}, lr={rate:g}": changes | {"shuffled": side, "lr": rate}
        for rate in _RATES
        for view, side in VIEWS.items()
        for family, changes in FAMILIES.items()
    }
    | {_PIXELS: {"shuffled": 0}},
    claims=(
        *(
            _shifted(f"{_HELD} {by} pixel{'s' * (by > 1)}", "ResNet", "ViT", f"cosine_{by}")
            for by in (1, 4, 8)
        ),
        _shifted(
            "the ResNet keeps a larger share of its accuracy than the ViT at 4 pixels",
            "ResNet",
            "ViT",
            "kept_4",
            0.02,
        ),
        _shifted("the hybrid's features hold better than the ViT's at 4 pixels", "hybrid", "ViT", "cosine_4"),
        _shifted(
            "the ViT's features hold better than the pixels themselves at 4", "ViT", "pixels", "cosine_4"
        ),
        _costs("patches", "ViT", "nothing", kind="equal"),
        _costs("patches", "ResNet"),
        _costs("patches", "hybrid"),
        _costs("pixels", "ViT"),
        *(
            Claim(
                f"on shuffled pixels a ViT is ahead of {what}", "ours", _both("ViT", "pixels shuffled"), side
            )
            for what, side in (
                ("a ResNet", _both("ResNet", "pixels shuffled")),
                ("a ridge regression", _PIXELS),
            )
        ),
    ),
    base=replace(BASE, epochs=8, crop=0, flip=False),
    full=FULL | {"epochs": 60},
    n_train=15_000,  # 5,000 of them held out
    source="Section 3.1",
    run=_run,
)
