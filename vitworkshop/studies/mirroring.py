"""What changes when no training picture is mirrored? Chapters 03 and 04.

Not in the paper: what a model learns of left and right. 6 runs took 17 minutes on one thread.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from vitlib.model.vit import VisionTransformer
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import Study, train_variant

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


def _mirrored(says: str, margin: float = 0.1, **rule: Any) -> Claim:
    return Claim(says, "ours", "mirrored", "as they are", margin, **rule)


STUDY = Study(
    question="What changes when no training picture is mirrored?",
    variants={"mirrored": {"flip": True}, "as they are": {"flip": False}},
    claims=(
        _mirrored("mirroring is ahead in accuracy", margin=0.01),
        _mirrored("with mirroring a place is more like its mirror image, left to right", metric="left_right"),
        _mirrored("mirroring leaves the likeness upside down as it is", kind="equal", metric="upside_down"),
    ),
    n_train=25_000,  # 5,000 of them held out
    source="not in the paper",
    run=partial(train_variant, look=_look),
)
