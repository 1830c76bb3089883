"""Images, patches, tokens and predictions (Figure 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from einops import rearrange
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from vitlib.checks import Count, check_divides, checked
from vitlib.model.patches import unpatchify
from vitlib.viz.card import draw_pixels, image_panels, panels, small_text
from vitlib.viz.inputs import checked_titles, class_array, image_array, image_arrays
from vitlib.viz.style import BLACK, CARD, INNER_WIDTH, PALETTE, STYLE, TEXT

__all__ = ["show_images", "show_patches", "show_predictions", "show_tokens"]


@rc_context(STYLE)
@checked
def show_images(
    images: Tensor | Sequence[Tensor],
    titles: Sequence[str] | None = None,
    cols: Count | None = None,
) -> Figure:
    """Images side by side, every pixel a sharp square.

    Args:
        images: (n, 3, H, W) or (3, H, W), uint8 or float in [0, 1]; or a list of (3, H, W) of any sizes.
        titles: One line above each image.
        cols: Images per row; by default up to 8, fewer where titles are long.

    Source: chapter 01.
    """
    arrays = image_arrays(images)
    return image_panels(
        arrays, cols, checked_titles(titles, len(arrays), "images"), max_cols=8
    )[0]


@rc_context(STYLE)
@checked
def show_patches(image: Tensor, patch_size: Count, numbers: bool = False) -> Figure:
    """An image cut into its patches.

    Args:
        image: (3, H, W), uint8 or float in [0, 1]; or its patches, (N, P*P*3) by `patchify`, N square.
        patch_size: Patch side P in pixels.
        numbers: Whether to write each patch's place in the sequence, counted from 0.

    Raises:
        ValueError: If the numbers would not fit, with more than 16 patches in a row.

    Source: Figure 1; chapter 01.
    """
    tiles = _tiles(image, patch_size)  # (rows, cols, P, P, 3)
    rows, cols = tiles.shape[:2]
    if numbers and cols > 16:
        raise ValueError(
            f"numbers fit in up to 16 patches a row, got {cols}; try a larger patch_size"
        )
    fig, (ax,) = panels(
        1, 1, rows / cols, max_cols=1, max_side=min(INNER_WIDTH, 5.4 * cols / rows)
    )
    for i, (row, col) in enumerate(np.ndindex(rows, cols)):
        tile = tiles[row, col]
        _draw_tile(ax, tile, col, row)
        if numbers:
            ink, paper = ("white", BLACK) if tile.mean() < 0.5 else (BLACK, "white")
            box = {
                "boxstyle": "round,pad=0.12",
                "facecolor": paper,
                "alpha": 0.55,
                "lw": 0,
            }
            small_text(ax, col + 0.5, row + 0.5, i, color=ink, bbox=box)
    ax.set(xlim=(-0.02, cols + 0.02), ylim=(rows + 0.02, -0.02), aspect="equal")
    return fig


@rc_context(STYLE)
@checked
def show_tokens(
    image: Tensor, patch_size: Count, first: int = 8, last: int = 3, cls: bool = True
) -> Figure:
    """The sequence a ViT reads: the CLS token, then the patches in reading order, the middle left out.

    Args:
        image: (3, H, W), uint8 or float in [0, 1]; or patches (N, P*P*3), as for `show_patches`.
        patch_size: Patch side P in pixels.
        first: Patches shown from the start.
        last: Patches shown from the end.
        cls: Whether the CLS token stands in front. The numbers are then positions in the sequence: CLS is 0.

    Raises:
        ValueError: If `first` and `last` do not name 1 to 20 patches.

    Source: Figure 1, Equation 1; chapter 01.
    """
    tiles = _tiles(image, patch_size)
    tiles = tiles.reshape(-1, *tiles.shape[2:])  # (rows, cols, P, P, 3) -> (N, P, P, 3)
    if first < 1 or last < 0 or first + last > 20:
        got = f"first={first}, last={last}"
        raise ValueError(
            f"expected first >= 1, last >= 0 and at most 20 patches together, got {got}"
        )
    shown = list(range(len(tiles)))
    if len(tiles) > first + last:
        shown = [*shown[:first], None, *shown[len(tiles) - last :]]
    width = len(shown) + cls
    fig, (ax,) = panels(
        1, 1, 1.45 / width, max_cols=1, max_side=min(INNER_WIDTH, 0.8 * width)
    )
    if cls:
        ax.add_patch(Rectangle((0.05, 0.05), 0.9, 0.9, facecolor=PALETTE[0]))
        small_text(ax, 0.5, 0.5, "CLS", color=CARD, weight="bold")
        small_text(ax, 0.5, 1.25, 0)
    for x, i in enumerate(shown, start=int(cls)):
        if i is None:
            small_text(ax, x + 0.5, 0.5, "···", size=14, weight="bold")
        else:
            _draw_tile(ax, tiles[i], x, 0)
            small_text(ax, x + 0.5, 1.25, i + cls)
    ax.set(xlim=(0, width), ylim=(1.45, 0), aspect="equal")
    return fig


@rc_context(STYLE)
@checked
def show_predictions(
    images: Tensor,
    probs: Tensor,
    labels: Tensor | None,
    classes: Sequence[str],
) -> Figure:
    """What a model took images for: a green frame and a tick, or a red frame, a cross and the truth.

    Args:
        images: (n, 3, H, W), uint8 or float in [0, 1].
        probs: (n, K), rows sum to 1.
        labels: (n,), or None where the truth is not known: then there is no mark.
        classes: K names.

    Raises:
        ValueError: If the lengths differ, a row of `probs` does not sum to 1 or a label is out of range.

    Source: chapter 09.
    """
    arrays, probs = image_arrays(images), torch.as_tensor(probs).detach().cpu().float()
    n, k = len(arrays), len(classes)
    if probs.shape != (n, k):
        got = tuple(probs.shape)
        raise ValueError(
            f"expected probs of shape ({n}, {k}) for {n} images and {k} classes, got {got}"
        )
    sums = probs.sum(dim=1)
    if not ((sums - 1).abs() < 1e-2).all():
        got = f"sums from {sums.min():.3g} to {sums.max():.3g}"
        raise ValueError(
            f"expected probs whose rows sum to 1, got {got}; use logits.softmax(dim=1)"
        )
    shares, preds = probs.max(dim=1)
    truths = (
        preds.tolist()
        if labels is None
        else class_array("labels", labels, n, k).tolist()
    )
    titles, xlabels, colours = [], [], []
    for pred, truth, share in zip(preds.tolist(), truths, shares, strict=True):
        wrong = pred != truth
        mark = "" if labels is None else "✗ " if wrong else "✓ "
        titles.append(f"{mark}{classes[pred]} {100 * share:.0f} %")
        xlabels.append(f"is {classes[truth]}" if wrong else "")
        colours.append({"": 0, "✗ ": 1, "✓ ": 2}[mark])
    fig, axes = image_panels(arrays, None, titles, xlabels, max_cols=5)
    for ax, colour in zip(axes, colours, strict=True):
        ax.title.set_color(TEXT[colour])
        for (
            spine
        ) in ax.spines.values():  # all at once takes matplotlib 3.8, and Kaggle has 3.7
            spine.set(visible=True, color=PALETTE[colour], linewidth=3)
    return fig


def _draw_tile(ax: Axes, tile: np.ndarray, x: int, y: int) -> None:
    """One patch in the unit square at (x, y), a little space around it."""
    draw_pixels(ax, tile, sharp=40, extent=(x + 0.04, x + 0.96, y + 0.96, y + 0.04))


def _tiles(image: Tensor, patch_size: int) -> np.ndarray:
    """(rows, cols, P, P, 3) from an image or from its patches."""
    if getattr(image, "ndim", 0) == 2:
        side = round(len(image) ** 0.5)
        if side**2 != len(image):
            fix = "for another grid use vl.unpatchify and pass the image"
            raise ValueError(
                f"expected a square number of patches, got {len(image)}; {fix}"
            )
        image = unpatchify(image[None], patch_size, side * patch_size)
    array = image_array(image)
    check_divides(patch_size, *array.shape[:2])
    return rearrange(
        array,
        "(rows p1) (cols p2) c -> rows cols p1 p2 c",
        p1=patch_size,
        p2=patch_size,
    )
