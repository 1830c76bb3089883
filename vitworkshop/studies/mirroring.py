"""What a model learns of left and right when no picture is ever mirrored (chapters 03 and 04).

What changes when no training picture is mirrored?

- mirroring is ahead in accuracy: open, -0.2 ± 0.5 points (standard error, n = 3); about 12 seeds would
  decide.
- with mirroring a place is more like its mirror image, left to right: differs, +0.00 ± 0.01 (standard error,
  n = 3).
- mirroring leaves the likeness upside down as it is: differs, +0.07 ± 0.01 (standard error, n = 3).

6 runs on CIFAR-10 (JPEG q75) with 3 seeds took 17 minutes: `python -m vitlib study run mirroring --data
cifar10 --threads 1`
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from vitlib.model.vit import VisionTransformer
from vitworkshop.studies.study import Claim, Study, train_variant

FAR = 3  # patches that a place and its mirror image are apart at least


def likeness(table: Tensor, grid: tuple[int, int]) -> dict[str, float]:
    """Mean cosine of positions (N, D) with those of their mirror images, left to right and upside down."""
    places = F.normalize(table.float(), dim=1).unflatten(0, grid)  # (rows, columns, D)
    found: dict[str, float] = {}
    for name, axis in (("left_right", 1), ("upside_down", 0)):
        apart = (2 * torch.arange(grid[axis]) - grid[axis] + 1).abs() >= FAR
        cosines = (places * places.flip(axis)).sum(dim=-1)  # (rows, columns)
        found[name] = round(cosines.movedim(axis, 0)[apart].mean().item(), 4)
    return found


def _look(model: VisionTransformer) -> dict[str, float]:
    return likeness(model.pos_embed.table()[0, 1:].detach().cpu(), model.cfg.grid)


STUDY = Study(
    question="What changes when no training picture is mirrored?",
    variants={"mirrored": {"flip": True}, "as they are": {"flip": False}},
    claims=(
        Claim("mirroring is ahead in accuracy", "ours", ("mirrored",), ("as they are",), margin=0.01),
        Claim(
            "with mirroring a place is more like its mirror image, left to right",
            "ours",
            ("mirrored",),
            ("as they are",),
            margin=0.1,
            metric="left_right",
        ),
        Claim(
            "mirroring leaves the likeness upside down as it is",
            "ours",
            ("mirrored",),
            ("as they are",),
            margin=0.1,
            kind="equal",
            metric="upside_down",
        ),
    ),
    n_train=25_000,  # 5,000 of them held out
    source="not in the paper",
    run=partial(train_variant, look=_look),
)
