"""Attention as colours over the picture (Figure 6 shows the same as light on it)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from vitlib.checks import Grid, checked
from vitlib.explain.attention import check_layers, stack_layers
from vitlib.viz.card import Card, draw_pixels, panels
from vitlib.viz.inputs import checked_titles, image_array, patch_grid
from vitlib.viz.style import BLACK, STYLE

# as in `heat_maps`: evenly spaced to the eye, also without red or green
COLOURS = colormaps["cividis"]
GREY = torch.tensor([0.299, 0.587, 0.114])  # how bright red, green and blue look

__all__ = ["attention_overlay", "show_attention_from_patch"]


@rc_context(STYLE)
@checked
def attention_overlay(
    image: Tensor,
    weights: Tensor,
    grid: Grid | None = None,
    *,
    gamma: int | float = 1.0,
    floor: int | float = 0.25,
    titles: Sequence[str] | None = None,
    label: str = "weight",
) -> Figure:
    """An image, and beside it the weights as colours over its grey copy: blue is none, yellow the largest weight.

    The colour alone is the weight, at (w / max w)^gamma of the scale, each map with its own largest. The picture
    shows through as grey of little contrast; it is not multiplied with the weight, which would leave dark things
    dark, however large their weight.

    Args:
        image: (3, H, W), uint8 or float in [0, 1].
        weights: (N,) or (k, N), 0 or more: one weight for each patch, CLS left out, as in
            `maps[-1, 0, :, 0, 1:]`, or a rollout's `rollout[0, 0, 1:]`. A (H, W) map such as Grad-CAM's
            goes in flattened, with grid (H, W).
        grid: (rows, cols) of the weights; None where N is a square.
        gamma: Below 1 spreads the small weights over the scale, above 1 the large ones.
        floor: How much of the grey picture shows through, in [0, 1], the same at every weight; 0 leaves the
            colours alone.
        titles: One line above each of the k maps.
        label: What the scale below calls a weight, in the singular: "rank", say.

    Source: Figure 6; chapter 09.
    """
    array = image_array(image)
    maps = _coloured(array, torch.as_tensor(weights), grid, gamma, floor)
    titles = ["image", *checked_titles(titles, len(maps), "maps")]
    fig, axes = panels(
        1 + len(maps), None, array.shape[0] / array.shape[1], titles, max_cols=5
    )
    for ax, one in zip(axes, [array, *maps], strict=True):
        draw_pixels(ax, one)
    _scale(fig, axes, gamma, label)
    return fig


@rc_context(STYLE)
@checked
def show_attention_from_patch(
    image: Tensor,
    maps: Tensor | Annotated[Sequence[Tensor], partial(check_layers, "T T")],
    patch: int,
    grid: Grid | None = None,
    *,
    titles: Sequence[str] | None = None,
) -> Figure:
    """What one patch attends to: the patch outlined, and the weights of each map as colours over the picture.

    Colours mean what they mean in `attention_overlay`: blue none, yellow the largest weight of that map.

    Args:
        image: (3, H, W), uint8 or float in [0, 1].
        maps: (T, T), (k, T, T) or a sequence of k, for example the heads of one layer, `maps[-1, 0]`, or each
            layer's mean over heads, `maps[:, 0].mean(dim=1)`. T is 1 + N.
        patch: The patch that attends, 0 to N - 1 in reading order.
        grid: (rows, cols) of patches; None where N is a square.
        titles: One line above each of the k maps.

    Raises:
        ValueError: If the maps or the patch do not fit.

    Source: chapter 13.
    """
    maps = stack_layers(maps)
    if maps.ndim not in (2, 3) or maps.shape[-1] != maps.shape[-2]:
        fix = "take one layer of one image, maps[-1, 0]"
        raise ValueError(
            f"expected maps of shape (T, T) or (k, T, T), got {tuple(maps.shape)}; {fix}"
        )
    patches = maps.shape[-1] - 1
    if not 0 <= patch < patches:
        raise ValueError(f"patch must be from 0 to {patches - 1}, got {patch}")
    rows, cols = patch_grid(patches, grid)
    fig = attention_overlay(image, maps[..., 1 + patch, 1:], grid, titles=titles)
    for ax in fig.axes[:-1]:
        height, width = ax.images[0].get_size()
        corner = (
            patch % cols * width / cols - 0.5,
            patch // cols * height / rows - 0.5,
        )
        for colour, thickness in (
            (BLACK, 3.6),
            ("white", 1.8),
        ):  # seen on dark and on light pixels
            outline = {
                "fill": False,
                "edgecolor": colour,
                "linewidth": thickness,
                "clip_on": False,
            }
            ax.add_patch(Rectangle(corner, width / cols, height / rows, **outline))
    fig.axes[0].set_title(f"patch {patch}")
    return fig


def yellowest(
    fig: Figure, k: int = 3, grid: tuple[int, int] = (8, 8)
) -> list[list[tuple[int, int]]]:
    """Of each map of attention or similarity in a figure, the k yellowest squares, (row, column), off the drawing."""
    first, *others = fig.axes[:-1]  # the last is the scale
    pictures = [ax.images[0].get_array() for ax in others]
    if not others:  # one table of similarities: a tick at the middle of each
        table = np.asarray(first.images[0].get_array())
        (high, *ys), (wide, *xs) = first.get_yticks(), first.get_xticks()
        pictures = [
            table[round(y - high) : round(y + high) + 1, round(x - wide) :][
                :, : round(2 * wide) + 1
            ]
            for y in (high, *ys)
            for x in (wide, *xs)
        ]
    places = []
    for picture in pictures:
        shown = torch.as_tensor(np.asarray(picture))
        # along the colours green - blue grows from 0.1 to 1; grey, as much in each channel, falls out
        yellow = shown[..., 1] - shown[..., 2] if shown.ndim == 3 else shown
        squares = F.adaptive_avg_pool2d(yellow[None].float(), grid)[0]
        if not first.yaxis_inverted():
            squares = squares.flip(0)  # drawn upside down
        best = squares.flatten().topk(k).indices.sort().values
        places.append([divmod(n, grid[1]) for n in best.tolist()])
    return places


def _coloured(
    image: np.ndarray,
    weights: Tensor,
    grid: tuple[int, int] | None,
    gamma: int | float,
    floor: int | float,
) -> list[np.ndarray]:
    """Each of k rows of weights as colours over the grey image, about 256 pixels high or wide, up to twice that."""
    weights = weights.detach().cpu().float()
    fits = weights.ndim in (1, 2) and weights.numel()
    if not fits or not (weights >= 0).all() or not weights.isfinite().all():
        values = (
            f" with values from {weights.min():.3g} to {weights.max():.3g}"
            if weights.numel()
            else ""
        )
        got = f"shape {tuple(weights.shape)}{values}; use attention weights, not scores"
        raise ValueError(
            f"expected weights of shape (N,) or (k, N), finite and 0 or more, got {got}"
        )
    if not 0 < gamma < float("inf") or not 0 <= floor <= 1:
        raise ValueError(
            f"expected gamma above 0 and floor in [0, 1], got gamma={gamma}, floor={floor}"
        )
    rows, cols = patch_grid(weights.shape[-1], grid)
    longest = max(image.shape[:2])
    times, skip = max(1, 256 // longest), max(1, longest // 256)
    grey = torch.from_numpy(image) @ GREY  # (H, W, 3) -> (H, W)
    grey = (grey - grey.min()) / (grey.max() - grey.min()).clamp_min(1e-12)
    # each pixel becomes times x times
    grey = grey.repeat_interleave(times, 0).repeat_interleave(times, 1)
    grey = F.avg_pool2d(grey[None], skip)[0].numpy()[..., None]  # (H, W, 1)
    place = weights.reshape(-1, 1, rows, cols)  # (k, N) -> (k, 1, rows, cols)
    # a patch stays a square
    place = F.interpolate(place, grey.shape[:2], mode="nearest-exact")
    place = (place / place.amax(dim=(2, 3), keepdim=True).clamp_min(1e-12))[
        :, 0
    ] ** gamma  # (k, H, W)
    return [
        (1 - floor) * COLOURS(one)[..., :3].astype(np.float32) + floor * grey
        for one in place.numpy()
    ]


def _scale(
    fig: Card, axes: list[Axes], gamma: int | float, label: str = "weight"
) -> None:
    """The colour scale under the maps, with marks at no weight, half of the largest weight, and the largest."""
    fig.set_size_inches(fig.get_figwidth(), fig.get_figheight() + 0.6)
    bar = fig.colorbar(
        ScalarMappable(cmap=COLOURS), ax=axes, location="bottom", shrink=0.4, aspect=22
    )
    half = 0.5**gamma
    marks = (
        {0: "0", half: "half", 1: "largest"}
        if 0.15 < half < 0.7
        else {0: "0", 1: "largest"}
    )
    bar.set_ticks(list(marks), labels=list(marks.values()))
    bar.set_label(f"{label}, as a share of the largest of its map")
    bar.outline.set_visible(False)
