"""Diagrams: a grid of numbers cut into tokens, and shapes on their way through a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from vitlib.checks import check_multiple
from vitlib.viz.style import CARD, INK, LETTER, MARGIN, PALETTE, SMALL, STYLE, TEXT, WIDTH, Card, panels

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
    check_multiple("image height", height, patch_size)
    check_multiple("image width", width, patch_size)
    numbers = image.flatten().tolist()
    if len(set(numbers)) != len(numbers) or set(tokens.flatten().tolist()) - set(numbers):
        raise ValueError("expected an image without equal numbers, and tokens that hold no others")
    home = {
        int(image[y, x]): y // patch_size * (width // patch_size) + x // patch_size
        for y in range(height)
        for x in range(width)
    }
    left = width + 2.6  # where the table starts, in cells
    side = min(0.6, (WIDTH - 2 * MARGIN) / (left + places))
    fig, (ax,) = panels(
        1, 1, (max(height, count) + 0.8) / (left + places), most=1, side=side * (left + places)
    )
    for grid, x0 in ((image, 0), (tokens, left)):
        top = (max(height, count) - len(grid)) / 2  # the lower of the two stands in the middle
        for y, row in enumerate(grid.tolist()):
            for x, value in enumerate(row):
                patch = home[value]
                ax.add_patch(
                    Rectangle((x0 + x, top + y), 1, 1, facecolor=PALETTE[patch % 6] + "40", edgecolor=CARD)
                )
                ax.text(x0 + x + 0.56, top + y + 0.6, str(value), size=12.5, ha="center", va="center")
                ax.text(
                    x0 + x + 0.2,
                    top + y + 0.26,
                    chr(ord("A") + patch),
                    size=SMALL,
                    color=TEXT[patch % 6],
                    ha="center",
                    va="center",
                )
        step = (patch_size, patch_size) if x0 == 0 else (1, places)  # a line around each patch, each token
        for y in range(0, len(grid), step[0]):
            for x in range(0, grid.shape[1], step[1]):
                ax.add_patch(Rectangle((x0 + x, top + y), step[1], step[0], fill=False, edgecolor=INK, lw=2))
        if x0:
            for x in range(places):
                ax.text(x0 + x + 0.5, top - 0.3, str(x), size=SMALL, ha="center", va="center")
            ax.text(x0 - 0.2, top - 0.3, "place", size=SMALL, ha="right", va="center")
            for y in range(count):
                ax.text(x0 - 0.2, top + y + 0.5, f"token {y}", size=SMALL, ha="right", va="center")
    ax.set(xlim=(-0.05, left + places + 0.05), ylim=(max(height, count) + 0.05, -0.75), aspect="equal")
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
    rows = {
        stage: i + (len(inside) > 0 and i >= first) for i, stage in enumerate(stages)
    }  # a free row heads the band
    left = 0.3 + LETTER * max(map(len, stages))  # inches
    box, high, step = (WIDTH - 2 * MARGIN - left) / len(flows) - 0.12, 0.28, 0.42
    bottom = (max(rows.values()) + 1) * step
    fig = Card(bottom + 0.3 + 2 * MARGIN)
    ax = fig.subplots()
    ax.set(xlim=(0, WIDTH - 2 * MARGIN), ylim=(bottom, -0.3), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.grid(False)
    if len(inside):
        top = rows[inside[0]] * step - step
        ax.add_patch(
            Rectangle((0, top), WIDTH - 2 * MARGIN, (len(inside) + 1) * step, facecolor="#eceff3", lw=0)
        )
        ax.text(0.1, top + step / 2, repeated, size=SMALL, va="center", style="italic")
    for stage, row in rows.items():
        ax.text(left - 0.12, (row + 0.5) * step, stage, size=SMALL, ha="right", va="center")
    for i, (name, flow) in enumerate(flows.items()):
        x = left + i * (box + 0.12)
        ax.text(x + box / 2, -0.15, name, weight="bold", color=TEXT[i], ha="center", va="center")
        for stage, shape in flow.items():
            y = (rows[stage] + 0.5) * step
            ax.add_patch(
                Rectangle((x, y - high / 2), box, high, facecolor=PALETTE[i] + "1f", edgecolor=PALETTE[i])
            )
            ax.text(x + 0.1, y, f"({', '.join(map(str, shape))})", size=SMALL, va="center")
            ax.text(
                x + box - 0.1,
                y,
                f"{int(np.prod(shape)):,}",
                size=SMALL,
                ha="right",
                va="center",
                color="#5b6470",
            )
        for above, below in zip(stages, stages[1:], strict=False):
            start, end = ((rows[stage] + 0.5) * step for stage in (above, below))
            ax.annotate(
                "",
                (x + box / 2, end - high / 2),
                (x + box / 2, start + high / 2),
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": PALETTE[i],
                    "shrinkA": 0,
                    "shrinkB": 0,
                    "lw": 1,
                    "mutation_scale": 7,
                },
            )
    return fig
