"""Diagrams, not from the paper: a grid of numbers cut into tokens, and shapes on their way through a model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from vitlib.model.patches import patchify
from vitlib.viz.card import Card, panels, small_text, text_size
from vitlib.viz.style import CARD, INK, INNER_WIDTH, MARGIN, PALETTE, SMALL, STYLE, TEXT

__all__ = ["number_grid", "shape_flow"]


@rc_context(STYLE)
def number_grid(image: Tensor, tokens: Tensor, patch_size: int) -> Figure:
    """A picture of a few numbers beside its tokens; each number keeps the tint and letter of its patch.

    Args:
        image: (H, W), up to 8 x 8 whole numbers, no two alike.
        tokens: (N, K), the same numbers as some function cut them, rightly or wrongly.
        patch_size: Patch side P in pixels.

    Returns:
        The figure, one axes.

    Raises:
        ValueError: If P does not divide the image, if it is larger than 8 x 8, or if the numbers differ.

    Source: chapter 01.
    """
    if image.ndim != 2 or tokens.ndim != 2 or max(image.shape) > 8 or max(tokens.shape) > 16:
        raise ValueError(
            "expected an image (H, W) of at most 8 x 8 and tokens (N, K) of at most 16 x 16, got "
            f"{tuple(image.shape)} and {tuple(tokens.shape)}"
        )
    (height, width), (count, places) = image.shape, tokens.shape
    patches = patchify(image[None, None], patch_size)[0].tolist()  # (H, W) -> (N, P*P)
    patch_of = {number: i for i, patch in enumerate(patches) for number in patch}
    if len(patch_of) != image.numel() or not patch_of.keys() >= set(tokens.flatten().tolist()):
        raise ValueError("expected an image without equal numbers, and tokens that hold no others")
    left = width + 2.6  # where the table starts, in cells
    across, down = left + places, max(height, count)
    fig, (ax,) = panels(1, 1, (down + 0.8) / across, max_cols=1, max_side=min(0.6 * across, INNER_WIDTH))
    # a line around each patch of the image, and around each token
    for grid, x0, high, wide in ((image, 0, patch_size, patch_size), (tokens, left, 1, places)):
        top = (down - len(grid)) / 2  # the lower of the two stands in the middle
        for (row, col), value in np.ndenumerate(grid.tolist()):
            x, y, patch = x0 + col, top + row, patch_of[value]
            ax.add_patch(Rectangle((x, y), 1, 1, facecolor=PALETTE[patch % 6] + "40", edgecolor=CARD))
            small_text(ax, x + 0.56, y + 0.6, value, size=12.5)
            small_text(ax, x + 0.2, y + 0.26, chr(ord("A") + patch), color=TEXT[patch % 6])
        for row, col in itertools.product(range(0, len(grid), high), range(0, grid.shape[1], wide)):
            ax.add_patch(Rectangle((x0 + col, top + row), wide, high, fill=False, edgecolor=INK, lw=2))
    top = (down - count) / 2
    small_text(ax, left - 0.2, top - 0.3, "place", ha="right")
    for x in range(places):
        small_text(ax, left + x + 0.5, top - 0.3, x)
    for y in range(count):
        small_text(ax, left - 0.2, top + y + 0.5, f"token {y}", ha="right")
    ax.set(xlim=(-0.05, across + 0.05), ylim=(down + 0.05, -0.75), aspect="equal")
    return fig


@rc_context(STYLE)
def shape_flow(
    flows: Mapping[str, Mapping[str, Sequence[int]]],
    inside: Sequence[str] = (),
    *,
    repeated: str = "in every block",
) -> Figure:
    """The shapes that tensors take on their way through models, stage under stage, models side by side.

    Args:
        flows: Model -> stage -> shape; one model or two, with the same stages in the same order.
        inside: The stages, one after the other, that a model runs through again and again; they stand on a band.
        repeated: What is written at the head of the band.

    Returns:
        The figure, one axes; each box holds a shape and how many numbers that is.

    Raises:
        ValueError: If there are no models or more than two, if their stages differ, or if the stages inside do
            not follow one another.

    Source: chapter 08.
    """
    stages = list(next(iter(flows.values()), {}))
    if not 1 <= len(flows) <= 2 or not stages or any(list(flow) != stages for flow in flows.values()):
        raise ValueError(
            "expected one or two models with the same stages in the same order, got "
            f"{ {name: list(flow) for name, flow in flows.items()} }"
        )
    first = stages.index(inside[0]) if len(inside) and inside[0] in stages else 0
    if list(inside) != stages[first : first + len(inside)]:
        raise ValueError(f"inside must name stages that follow one another in {stages}, got {list(inside)}")
    left = 0.22 + text_size(stages, size=SMALL)[0]  # in inches, as the axes
    wide, high, step = (INNER_WIDTH - left) / len(flows) - 0.12, 0.28, 0.42
    lower = [1 if len(inside) and i >= first else 0 for i in range(len(stages))]  # a free row heads the band
    middle = {stage: (i + lower[i] + 0.5) * step for i, stage in enumerate(stages)}
    bottom = middle[stages[-1]] + step / 2
    fig = Card(bottom + 0.3 + 2 * MARGIN)
    ax = fig.add_subplot(xlim=(0, INNER_WIDTH), ylim=(bottom, -0.3))
    ax.set_axis_off()
    if len(inside):
        top = middle[inside[0]] - 1.5 * step
        ax.add_patch(Rectangle((0, top), INNER_WIDTH, (len(inside) + 1) * step, facecolor="#eceff3", lw=0))
        small_text(ax, 0.1, top + step / 2, repeated, ha="left", style="italic")
    for stage, y in middle.items():
        small_text(ax, left - 0.12, y, stage, ha="right")
    for i, (name, flow) in enumerate(flows.items()):
        x, colour = left + i * (wide + 0.12), PALETTE[i]
        small_text(ax, x + wide / 2, -0.15, name, size="medium", weight="bold", color=TEXT[i])
        for stage, shape in flow.items():
            y = middle[stage]
            box = (x, y - high / 2), wide, high
            ax.add_patch(Rectangle(*box, facecolor=colour + "1f", edgecolor=colour))
            small_text(ax, x + 0.1, y, f"({', '.join(map(str, shape))})", ha="left")
            small_text(ax, x + wide - 0.1, y, f"{math.prod(shape):,}", ha="right", color="#5b6470")
        arrow = {"arrowstyle": "-|>", "color": colour, "mutation_scale": 7, "shrinkA": 0, "shrinkB": 0}
        for above, below in itertools.pairwise(middle.values()):
            start, end = (x + wide / 2, above + high / 2), (x + wide / 2, below - high / 2)
            ax.annotate("", end, start, arrowprops=arrow)
    return fig
