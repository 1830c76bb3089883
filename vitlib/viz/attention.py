"""Attention as light on the picture (Figure 6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from vitlib.viz.card import image_panels, image_table
from vitlib.viz.inputs import checked_titles, image_array, patch_grid
from vitlib.viz.style import INK, STYLE

__all__ = ["attention_grid", "attention_overlay", "show_attention_from_patch"]


@rc_context(STYLE)
def attention_overlay(
    image: Tensor,
    weights: Tensor,
    grid: tuple[int, int] | None = None,
    *,
    gamma: float = 1.0,
    floor: float = 0.15,
    titles: Sequence[str] | None = None,
) -> Figure:
    """An image, and beside it the same lit by attention: bright where the weight is large, dark elsewhere.

    The light at a pixel is (w / max w)^gamma, with w interpolated between the patches' centres. Without
    light a pixel keeps `floor` of its brightness; in full light it is itself, a little paler, so that
    the spot is seen on black too.

    Args:
        image: (3, H, W), uint8 or float in [0, 1].
        weights: (N,) or (k, N), 0 or more: one weight for each patch, CLS left out, as in
            `maps[-1, 0, :, 0, 1:]`, or a rollout's `rollout[0, 0, 1:]`. A (H, W) map such as Grad-CAM's
            goes in flattened, with grid (H, W).
        grid: (rows, cols) of the weights; None where N is a square.
        gamma: Above 1 sharpens the spotlight, below 1 softens it.
        floor: Brightness of what gets no attention, in [0, 1].
        titles: One line above each of the k spotlights.

    Returns:
        The figure, 1 + k axes.

    Raises:
        ValueError: If this is not one image, if the weights do not fit the grid or are negative, or if
            gamma or floor is out of range.

    Source: Figure 6; chapter 09.
    """
    array = image_array(image)
    lit = _spotlights(array, torch.as_tensor(weights), grid, gamma, floor)
    titles = ["image", *checked_titles(titles, len(lit), "spotlights")]
    return image_panels([array, *lit], None, titles, max_cols=5)[0]


@rc_context(STYLE)
def attention_grid(
    image: Tensor,
    maps: Tensor,
    grid: tuple[int, int] | None = None,
    *,
    query: int = 0,
    gamma: float = 1.0,
    floor: float = 0.15,
) -> Figure:
    """One token's attention in every layer (from left to right) and head (from top to bottom).

    Args:
        image: (3, H, W), uint8 or float in [0, 1].
        maps: (L, h, T, T), one image's `attention_maps`; numbered from 0, as they are indexed.
        grid: (rows, cols) of patches; None where their number is a square.
        query: The token that attends: 0 is CLS, 1 + i is patch i.
        gamma: As for `attention_overlay`.
        floor: As for `attention_overlay`.

    Returns:
        The figure, one axes.

    Raises:
        ValueError: If the maps are not one image's, or the query or the grid does not fit.

    Source: Figure 6; Appendix D.8; chapter 09.
    """
    array, maps = image_array(image), torch.as_tensor(maps)
    if maps.ndim != 4 or maps.shape[-1] != maps.shape[-2]:
        raise ValueError(
            f"expected maps of one image, (L, h, T, T), got {tuple(maps.shape)}; take maps[:, i] for image i"
        )
    layers, heads, tokens, _ = maps.shape
    if not 0 <= query < tokens:
        raise ValueError(f"query must be a token from 0 (CLS) to {tokens - 1}, got {query}")
    rows = maps[:, :, query, 1:].transpose(0, 1).flatten(0, 1)  # (L, h, N) -> (h*L, N)
    lit = torch.from_numpy(np.stack(_spotlights(array, rows, grid, gamma, floor, pixels=1024 // layers)))
    lit = lit.unflatten(0, (heads, layers))  # (h*L, H, W, 3) -> (h, L, H, W, 3)
    fig, ax = image_table(lit, gap=max(2, lit.shape[3] // 16), max_side=1.7)
    ax.set_xticks(ax.get_xticks(), [f"layer {i}" if layers <= 8 or not i else str(i) for i in range(layers)])
    ax.set_yticks(ax.get_yticks(), [f"head {i}" if heads <= 8 or not i else str(i) for i in range(heads)])
    ax.xaxis.tick_top()
    return fig


@rc_context(STYLE)
def show_attention_from_patch(
    image: Tensor,
    maps: Tensor,
    patch: int,
    grid: tuple[int, int] | None = None,
    *,
    gamma: float = 1.0,
    floor: float = 0.15,
    titles: Sequence[str] | None = None,
) -> Figure:
    """What one patch attends to: the patch outlined in the image, and a spotlight for each map.

    Args:
        image: (3, H, W), uint8 or float in [0, 1].
        maps: (T, T) or (k, T, T), for example the heads of one layer, `maps[-1, 0]`, or each layer's
            mean over heads, `maps[:, 0].mean(dim=1)`. T is 1 + N.
        patch: The patch that attends, 0 to N - 1 in reading order.
        grid: (rows, cols) of patches; None where N is a square.
        gamma: As for `attention_overlay`.
        floor: As for `attention_overlay`.
        titles: One line above each of the k spotlights.

    Returns:
        The figure, 1 + k axes.

    Raises:
        ValueError: If the maps, the patch or the grid do not fit.

    Source: chapter 13.
    """
    maps = torch.as_tensor(maps)
    if maps.ndim not in (2, 3) or maps.shape[-1] != maps.shape[-2]:
        raise ValueError(
            f"expected maps of shape (T, T) or (k, T, T), got {tuple(maps.shape)}; "
            "take one layer of one image, maps[-1, 0]"
        )
    patches = maps.shape[-1] - 1
    if not 0 <= patch < patches:
        raise ValueError(f"patch must be from 0 to {patches - 1}, got {patch}")
    rows, cols = patch_grid(patches, grid)
    fig = attention_overlay(image, maps[..., 1 + patch, 1:], grid, gamma=gamma, floor=floor, titles=titles)
    for ax in fig.axes:
        height, width = ax.images[0].get_size()
        corner = (patch % cols * width / cols - 0.5, patch // cols * height / rows - 0.5)
        for colour, thickness in ((INK, 3.6), ("white", 1.8)):  # seen on dark and on light pixels
            outline = {"fill": False, "edgecolor": colour, "linewidth": thickness, "clip_on": False}
            ax.add_patch(Rectangle(corner, width / cols, height / rows, **outline))
    fig.axes[0].set_title(f"patch {patch}")
    return fig


def _spotlights(
    image: np.ndarray,
    weights: Tensor,
    grid: tuple[int, int] | None,
    gamma: float,
    floor: float,
    pixels: int = 256,
) -> list[np.ndarray]:
    """The image lit by each of k rows of weights, about `pixels` high or wide, up to twice that."""
    weights = weights.detach().cpu().float()
    if weights.ndim not in (1, 2) or not (weights >= 0).all() or not weights.isfinite().all():
        raise ValueError(
            f"expected weights of shape (N,) or (k, N), finite and 0 or more, "
            f"got shape {tuple(weights.shape)} with values from {weights.min():.3g} to "
            f"{weights.max():.3g}; use attention weights, not scores"
        )
    if not 0 < gamma < float("inf") or not 0 <= floor <= 1:
        raise ValueError(f"expected gamma above 0 and floor in [0, 1], got gamma={gamma}, floor={floor}")
    rows, cols = patch_grid(weights.shape[-1], grid)
    longest = max(image.shape[:2])
    times, skip = max(1, pixels // longest), max(1, longest // pixels)
    image = image.repeat(times, axis=0).repeat(times, axis=1)  # each pixel becomes times x times
    image = F.avg_pool2d(torch.from_numpy(image).permute(2, 0, 1), skip).permute(1, 2, 0).numpy()
    light = weights.reshape(-1, 1, rows, cols)  # (k, N) -> (k, 1, rows, cols)
    light = F.interpolate(light, image.shape[:2], mode="bilinear", align_corners=False)[:, 0]  # (k, H, W)
    light = (light / light.amax(dim=(1, 2), keepdim=True).clamp_min(1e-12)) ** gamma
    return [image * floor * (1 - one) + (0.1 + 0.9 * image) * one for one in light[..., None].numpy()]
