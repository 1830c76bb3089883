"""Ways to read a trained model at another image size, its positions carried over well and badly (Section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int64, UInt8
from torch import Tensor, nn
from torch.nn import functional as F

from vitlib.model.posembed import resample_pos_embed
from vitlib.model.vit import VisionTransformer
from vitlib.train.evaluate import evaluate

Grid = tuple[int, int]


def _interpolated(**options) -> Callable[[Tensor, Grid, Grid], Tensor]:
    """A method that keeps CLS, lays the patch positions out in 2-D and interpolates them as `options` say."""

    def method(table: Tensor, new: Grid, old: Grid) -> Tensor:
        # (1, N, D) -> (1, D, rows, columns)
        patches = table[:, 1:].unflatten(1, old).permute(0, 3, 1, 2)
        patches = F.interpolate(patches, size=new, **options)
        patches = patches.flatten(2).mT  # (1, D, rows', columns') -> (1, N', D)
        return torch.cat([table[:, :1], patches], dim=1)

    return method


def _one_line(table: Tensor, new: Grid, old: Grid) -> Tensor:
    """The mistake of interpolating the sequence as if it were one line."""
    return resample_pos_embed(table, (1, math.prod(new)), (1, math.prod(old)))


def _swapped(table: Tensor, new: Grid, old: Grid) -> Tensor:
    """The mistake of giving (columns, rows) for (rows, columns): the shape is right all the same."""
    return resample_pos_embed(table, new[::-1], old)


def _first(table: Tensor, new: Grid, old: Grid) -> Tensor:
    """No resampling: the first N' positions, from the beginning again where there are too few."""
    again = torch.arange(math.prod(new)) % math.prod(old)
    return torch.cat([table[:, :1], table[:, 1:][:, again]], dim=1)


# each takes a table (1, 1+N, D), the new grid and the old one, (rows, columns) both, and returns (1, 1+N', D)
METHODS = {
    "bicubic": resample_pos_embed,
    "plain bicubic": _interpolated(
        mode="bicubic"
    ),  # not antialiased, and torch's other kernel
    "bilinear": _interpolated(mode="bilinear", antialias=True),
    "ends aligned": _interpolated(
        mode="bilinear", align_corners=True
    ),  # as in the paper's code
    "one line": _one_line,
    "swapped": _swapped,
    "first N": _first,
}


def sample_patches(
    images: UInt8[Tensor, "n C H W"], grid: Grid, patch_size: int
) -> UInt8[Tensor, "n C H2 W2"]:
    """Cut grid[0] x grid[1] patches at evenly spaced places and join them: (n, C, H, W) -> (n, C, rows P, columns P).

    With more places than patches fit side by side they overlap, with fewer there are gaps: the number of tokens
    changes, and what a patch shows does not.
    """
    for axis, count in ((-2, grid[0]), (-1, grid[1])):
        side = images.shape[axis]
        # (count,)
        start = (
            ((torch.arange(count) + 0.5) * side / count - patch_size / 2).round().long()
        )
        start = start.clamp(0, side - patch_size)
        places = (
            start[:, None] + torch.arange(patch_size)
        ).flatten()  # (count, P) -> (count P,)
        images = images.index_select(axis, places)
    return images


def read_at(
    model: VisionTransformer,
    images: UInt8[Tensor, "n C H W"],
    labels: Int64[Tensor, " n"],
    method: str = "bicubic",
) -> Float[Tensor, " n"]:
    """1 for each image that is named rightly at the size it has, the positions carried over by one of `METHODS`."""
    other: Any = model.with_img_size((images.shape[-2], images.shape[-1]))
    table = model.pos_embed.table().detach()
    table = METHODS[method](table, other.cfg.grid, model.cfg.grid)
    other.pos_embed.weight = nn.Parameter(table)
    found = evaluate(other, images, labels, batch_size=250)
    return (found["predictions"] == labels).double()
