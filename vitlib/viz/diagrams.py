"""Diagrams: a grid of numbers cut into tokens, a whole model (Figure 1), and shapes on their way through one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from torch import Tensor

from vitlib.checks import Count, checked
from vitlib.config import ViTConfig
from vitlib.model.patches import patchify
from vitlib.viz.card import Card, draw_pixels, panels, small_text, text_size
from vitlib.viz.inputs import image_array
from vitlib.viz.style import (
    BAND,
    CARD,
    EDGE,
    INK,
    INNER_WIDTH,
    MARGIN,
    MUTED,
    PALETTE,
    SMALL,
    STYLE,
    TEXT,
)

__all__ = ["architecture", "number_grid", "shape_flow"]


@rc_context(STYLE)
@checked
def number_grid(image: Tensor, tokens: Tensor, patch_size: Count) -> Figure:
    """A picture of a few numbers beside its tokens; each number keeps the tint and letter of its patch.

    Args:
        image: (H, W), up to 8 x 8 whole numbers, no two alike.
        tokens: (N, K), the same numbers as some function cut them, rightly or wrongly.
        patch_size: Patch side P in pixels.

    Raises:
        ValueError: If the image is larger than 8 x 8, or the tokens hold other numbers.

    Source: chapter 01.
    """
    if (
        image.ndim != 2
        or tokens.ndim != 2
        or max(image.shape) > 8
        or max(tokens.shape) > 16
    ):
        got = f"{tuple(image.shape)} and {tuple(tokens.shape)}"
        raise ValueError(
            f"expected an image (H, W), at most 8 x 8, and tokens, 16 x 16, got {got}"
        )
    (height, width), (count, places) = image.shape, tokens.shape
    patches = patchify(image[None, None], patch_size)[0].tolist()  # (H, W) -> (N, P*P)
    patch_of = {number: i for i, patch in enumerate(patches) for number in patch}
    if len(patch_of) != image.numel() or not patch_of.keys() >= set(
        tokens.flatten().tolist()
    ):
        raise ValueError(
            "expected an image without equal numbers, and tokens that hold no others"
        )
    left = width + 2.6  # where the table starts, in cells
    across, down = left + places, max(height, count)
    fig, (ax,) = panels(
        1, 1, (down + 0.8) / across, max_cols=1, max_side=min(0.6 * across, INNER_WIDTH)
    )
    # a line around each patch of the image, and around each token
    for grid, x0, high, wide in (
        (image, 0, patch_size, patch_size),
        (tokens, left, 1, places),
    ):
        top = (down - len(grid)) / 2  # the lower of the two stands in the middle
        for (row, col), value in np.ndenumerate(grid.tolist()):
            x, y, patch = x0 + col, top + row, patch_of[value]
            ax.add_patch(
                Rectangle(
                    (x, y), 1, 1, facecolor=PALETTE[patch % 6] + "40", edgecolor=CARD
                )
            )
            small_text(ax, x + 0.56, y + 0.6, value, size=12.5)
            small_text(
                ax, x + 0.2, y + 0.26, chr(ord("A") + patch), color=TEXT[patch % 6]
            )
        for row, col in itertools.product(
            range(0, len(grid), high), range(0, grid.shape[1], wide)
        ):
            ax.add_patch(
                Rectangle(
                    (x0 + col, top + row), wide, high, fill=False, edgecolor=INK, lw=2
                )
            )
    top = (down - count) / 2
    small_text(ax, left - 0.2, top - 0.3, "place", ha="right")
    for x in range(places):
        small_text(ax, left + x + 0.5, top - 0.3, x)
    for y in range(count):
        small_text(ax, left - 0.2, top + y + 0.5, f"token {y}", ha="right")
    ax.set(xlim=(-0.05, across + 0.05), ylim=(down + 0.05, -0.75), aspect="equal")
    return fig


@rc_context(STYLE)
@checked
def architecture(cfg: ViTConfig, image: Tensor) -> Figure:
    """A whole ViT from photograph to logits, with its norms, its residual connections and every shape.

    Args:
        cfg: A model of the paper's parts: patches by one matrix, learned positions, norms first, CLS read out.
        image: (3, H, W), uint8 or float in [0, 1], of the size that the model reads.

    Raises:
        ValueError: If the model has other parts than the paper's, or the image another size.

    Source: Figure 1; chapter 08.
    """
    paper: dict[str, Any] = {
        "pos_embed": "learned",
        "norm_order": "pre",
    }
    paper |= {
        "global_pool": "token",
        "head": "linear",
        "layer_scale": None,
    }
    if cfg.patch_embed in ("overlap", "stem") or cfg != replace(cfg, **paper):
        raise ValueError(
            f"expected a model of the paper's parts, got {cfg}; show others by shape_flow"
        )
    photo, P, N, D, K = (
        image_array(image),
        cfg.patch_size,
        cfg.num_patches,
        cfg.embed_dim,
        cfg.num_classes,
    )
    if photo.shape[:2] != cfg.image_shape or N < 5:
        raise ValueError(
            f"expected an image {cfg.image_shape} of 5 patches or more, got {photo.shape[:2]}"
        )
    (rows, cols), numbers, tokens = cfg.grid, P * P * cfg.in_chans, (1 + N, D)
    blue, orange, green, pink = PALETTE[:4]
    tiles = [
        photo[i // cols * P :, i % cols * P :][:P, :P] for i in (0, 1, 2, N - 2, N - 1)
    ]
    stages = [  # what stands on the way, its colour, the shape of what leaves it, what is said of it
        (tiles, "", (N, numbers), f"{rows} × {cols} patches of {P} × {P}"),
        (f"Linear {numbers} → {D}", green, (N, D), "each patch becomes a token"),
        ([green] * 5, "", tokens, "CLS stands in front"),
        ("+", "", tokens, "a learned position for each"),
        ("", "", (), f"encoder block, {cfg.depth} times"),
        ("LayerNorm", EDGE, tokens, "each token by itself"),
        (f"Attention, {cfg.num_heads} heads", blue, tokens, "tokens read each other"),
        ("+", "", tokens, "residual connection"),
        ("LayerNorm", EDGE, tokens, "each token by itself"),
        (f"MLP {D} → {cfg.hidden_dim} → {D}", orange, tokens, "each token by itself"),
        ("+", "", tokens, "residual connection"),
        ("LayerNorm", EDGE, tokens, "the last norm"),
        (f"Linear {D} → {K}", pink, (K,), "the head reads CLS: logits"),
    ]
    # in inches, as the axes
    left, middle, right, bypass, step = (
        1.35,
        2.6,
        3.85,
        4.15,
        0.41,
    )
    tall = min(1.3, 2.5 * rows / cols)
    at = [tall + 0.4 + step * i for i in range(len(stages))]
    fig = Card(at[-1] + 0.25 + 2 * MARGIN)
    ax = fig.add_subplot()

    def place(what, x, y, high, wide, **line):
        if isinstance(what, str):
            return ax.add_patch(
                Rectangle(
                    (x - wide / 2, y - high / 2), wide, high, facecolor=what, **line
                )
            )
        extent = (x - wide / 2, x + wide / 2, y + high / 2, y - high / 2)
        return draw_pixels(ax, what, extent=extent, aspect="auto")

    def arrow(*points):
        ax.plot(*zip(*points, strict=True), color=INK, lw=1.4, solid_capstyle="butt")
        style = {
            "arrowstyle": "-|>",
            "color": INK,
            "mutation_scale": 9,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        ax.annotate("", points[-1], points[-2], arrowprops=style)

    def write(y, shape, says, **font):
        small_text(
            ax,
            left - 0.1,
            y,
            f"({', '.join(map(str, shape))})" if shape else "",
            ha="right",
        )
        small_text(ax, bypass + 0.15, y, says, ha="left", **font)

    place(BAND, INNER_WIDTH / 2, (at[4] + at[10]) / 2, 7 * step, INNER_WIDTH, lw=0)
    half, end = tall * cols / rows / 2, tall  # where the arrow to the next stage begins
    place(photo, middle, tall / 2, tall, 2 * half)
    ax.hlines(
        [tall * i / rows for i in range(1, rows)],
        middle - half,
        middle + half,
        color=CARD,
        lw=0.5,
    )
    ax.vlines(
        [middle + half * (2 * i / cols - 1) for i in range(1, cols)],
        0,
        tall,
        color=CARD,
        lw=0.5,
    )
    write(tall / 2, (cfg.in_chans, *cfg.image_shape), "one image")
    for (what, colour, shape, says), y in zip(stages, at, strict=True):
        write(y, shape, says, weight="normal" if shape else "bold")
        reach = 0.1 if what == "+" else 0.15
        if shape:
            arrow((middle, end), (middle, y - reach))
            end = y + reach
        if (
            what == "+"
        ):  # from the right comes what is added: the positions, or the stream around a branch
            fork = y - 2 * step - 0.26  # above the branch's norm
            start = [(middle, fork), (bypass, fork)] if y > at[4] else []
            arrow(*start, (bypass, y), (middle + reach, y))
            ax.add_patch(
                Circle((middle, y), reach, facecolor=CARD, edgecolor=INK, lw=1.4)
            )
            small_text(ax, middle, y, "+")
        elif colour:
            place(colour + "1f", middle, y, 2 * reach, right - left, edgecolor=colour)
            small_text(ax, middle, y, what)
        elif what:
            for square, x in zip(what, (-0.68, -0.32, 0.04, 0.76, 1.12), strict=True):
                place(square, middle + x, y, 0.3, 0.3)
            small_text(ax, middle + 0.4, y, "···", weight="bold")
    place(blue, middle - 1.04, at[2], 0.34, 0.34)
    small_text(ax, middle - 1.04, at[2], "CLS", color=CARD, size=10)
    ax.set(xlim=(0, INNER_WIDTH), ylim=(at[-1] + 0.25, -0.02))
    ax.set_axis_off()
    return fig


@rc_context(STYLE)
@checked
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

    Raises:
        ValueError: If the models' stages differ, or the stages inside do not follow one another.

    Source: chapter 08.
    """
    stages = list(next(iter(flows.values()), {}))
    if (
        not 1 <= len(flows) <= 2
        or not stages
        or any(list(flow) != stages for flow in flows.values())
    ):
        got = {name: list(flow) for name, flow in flows.items()}
        raise ValueError(
            f"expected one or two models with the same stages in the same order, got {got}"
        )
    first = stages.index(inside[0]) if len(inside) and inside[0] in stages else 0
    if list(inside) != stages[first : first + len(inside)]:
        raise ValueError(
            f"inside must name stages that follow one another in {stages}, got {list(inside)}"
        )
    left = 0.22 + text_size(stages, size=SMALL)[0]  # in inches, as the axes
    wide, high, step = (INNER_WIDTH - left) / len(flows) - 0.12, 0.28, 0.42
    # a free row heads the band
    lower = [1 if len(inside) and i >= first else 0 for i in range(len(stages))]
    middle = {stage: (i + lower[i] + 0.5) * step for i, stage in enumerate(stages)}
    bottom = middle[stages[-1]] + step / 2
    fig = Card(bottom + 0.3 + 2 * MARGIN)
    ax = fig.add_subplot(xlim=(0, INNER_WIDTH), ylim=(bottom, -0.3))
    ax.set_axis_off()
    if len(inside):
        top = middle[inside[0]] - 1.5 * step
        ax.add_patch(
            Rectangle(
                (0, top), INNER_WIDTH, (len(inside) + 1) * step, facecolor=BAND, lw=0
            )
        )
        small_text(ax, 0.1, top + step / 2, repeated, ha="left", style="italic")
    for stage, y in middle.items():
        small_text(ax, left - 0.12, y, stage, ha="right")
    for i, (name, flow) in enumerate(flows.items()):
        x, colour = left + i * (wide + 0.12), PALETTE[i]
        small_text(
            ax, x + wide / 2, -0.15, name, size="medium", weight="bold", color=TEXT[i]
        )
        for stage, shape in flow.items():
            y = middle[stage]
            box = (x, y - high / 2), wide, high
            ax.add_patch(Rectangle(*box, facecolor=colour + "1f", edgecolor=colour))
            small_text(ax, x + 0.1, y, f"({', '.join(map(str, shape))})", ha="left")
            small_text(
                ax, x + wide - 0.1, y, f"{math.prod(shape):,}", ha="right", color=MUTED
            )
        arrow = {
            "arrowstyle": "-|>",
            "color": colour,
            "mutation_scale": 7,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        for above, below in itertools.pairwise(middle.values()):
            start, end = (
                (x + wide / 2, above + high / 2),
                (x + wide / 2, below - high / 2),
            )
            ax.annotate("", end, start, arrowprops=arrow)
    return fig
