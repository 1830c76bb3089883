"""Position embeddings read on another grid of patches, for images of another size (Section 3.2)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from vitlib.checks import Grid, check_rate, checked

__all__ = ["resample_grid", "resample_pos_embed"]


@checked
def resample_pos_embed(
    pos_embed: Float[Tensor, "1 T D"],
    new_grid: Grid,
    old_grid: Grid | None = None,
    num_prefix_tokens: int = 1,
) -> Float[Tensor, "1 S D"]:
    """Read position embeddings learned on one grid of patches at the positions of another.

    The patch positions are laid out in 2-D and interpolated (bicubic, antialiased); prefix tokens
    such as CLS have no position in the image and stay as they are.

    Args:
        pos_embed: (1, prefix + N, D).
        new_grid: Rows and columns wanted.
        old_grid: Rows and columns given; without it N must be a square number.
        num_prefix_tokens: Tokens before the patches; 1 for CLS.

    Returns:
        (1, prefix + N', D), in the dtype given; unchanged if the grids are equal.

    Raises:
        ValueError: If the shapes and grids do not fit each other.

    Source: Section 3.2 ("we therefore perform 2D interpolation"); chapter 04.
    """
    check_rate("num_prefix_tokens", num_prefix_tokens, pos_embed.shape[1])
    tokens = pos_embed.shape[1] - num_prefix_tokens
    if old_grid is None:
        side = math.isqrt(tokens)
        if side**2 != tokens:
            raise ValueError(
                f"{tokens} patch positions are not a square grid; give old_grid=(rows, columns), "
                f"or check num_prefix_tokens={num_prefix_tokens}"
            )
        old_grid = side, side
    if old_grid[0] * old_grid[1] != tokens:
        raise ValueError(
            f"old_grid {tuple(old_grid)} has {old_grid[0] * old_grid[1]} places, "
            f"but pos_embed has {tokens} patch positions"
        )
    prefix, patches = pos_embed[:, :num_prefix_tokens], pos_embed[:, num_prefix_tokens:]
    patches = patches.unflatten(1, tuple(old_grid)).permute(0, 3, 1, 2)  # (1, N, D) -> (1, D, rows, columns)
    patches = resample_grid(patches, new_grid).flatten(2).mT  # (1, D, rows', columns') -> (1, N', D)
    return torch.cat([prefix, patches], dim=1)


def resample_grid(grid: Float[Tensor, "B D H W"], size: tuple[int, int]) -> Float[Tensor, "B D H2 W2"]:
    """Bicubic, antialiased interpolation of `grid`, in float32: (B, D, rows, columns) -> (B, D, *size).

    Source: Section 3.2.
    """
    if tuple(grid.shape[-2:]) == tuple(size):
        return grid
    if size[1] == 1 < size[0]:  # torch's antialiased kernel repeats the first row; for one row it is right
        return resample_grid(grid.mT, (1, size[0])).mT
    return F.interpolate(grid.float(), size=tuple(size), mode="bicubic", antialias=True).to(grid.dtype)
