"""Matrices as colours: heat maps, confusion, similarity (Figure 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from einops import rearrange
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from vitlib.checks import Count, Grid, checked
from vitlib.viz.card import Card, drawable, panels, small_text, text_size
from vitlib.viz.inputs import checked_titles, class_array, patch_grid
from vitlib.viz.style import (
    BLACK,
    CARD,
    EDGE,
    ERRORS,
    INK,
    INNER_WIDTH,
    MARGIN,
    MUTED,
    SMALL,
    STYLE,
    WIDTH,
)

__all__ = ["confusion_matrix", "heat_maps", "similarity_maps"]


@rc_context(STYLE)
@checked
def heat_maps(
    maps: Tensor | Sequence,
    titles: Sequence[str] | None = None,
    *,
    label: str = "",
    cols: Count | None = None,
    values: str = "",
    limits: tuple[float | int, float | int] | None = None,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> Figure:
    """Matrices as coloured squares on one scale: blue and red about 0 where a number is negative.

    Args:
        maps: n matrices (R, C), as a list or as one tensor (n, R, C); a single (R, C) is one matrix.
        titles: One line above each matrix.
        label: What the colour stands for.
        cols: Matrices per row; by default up to 5, fewer where titles are long.
        values: A format such as ".2f" to write each number in its square; "" writes none.
        limits: The numbers at both ends of the scale; None takes the smallest and the largest.
        rows: What each row is called; written to the left of the first matrix.
        columns: What each column is called; written below.

    Raises:
        ValueError: If the numbers are not finite or would not fit their squares, or names are too few or too many.

    Source: chapter 05.
    """
    arrays = [torch.as_tensor(one).detach().cpu().float().numpy() for one in maps]
    if arrays and all(array.ndim == 1 for array in arrays):
        arrays = [np.stack(arrays)]
    for array in arrays or [np.zeros(0)]:
        if array.ndim != 2 or not array.size or not np.isfinite(array).all():
            fix = "check the axes and for NaN"
            raise ValueError(
                f"expected finite matrices (R, C), got shape {array.shape}; {fix}"
            )
        for axis, (what, names) in enumerate(
            {"rows": rows, "columns": columns}.items()
        ):
            if names and len(names) != array.shape[axis]:
                raise ValueError(
                    f"expected {array.shape[axis]} names in {what}=, got {len(names)}"
                )
    titles = checked_titles(titles, len(arrays), "matrices")
    low, high = limits or (
        min(array.min() for array in arrays),
        max(array.max() for array in arrays),
    )
    if signed := low < 0:
        low, high = -max(-low, high), max(-low, high)
    aspect = max(array.shape[0] / array.shape[1] for array in arrays)
    width = WIDTH - 1.4 - text_size(rows, size=SMALL)[0]  # 1.4 inches for the scale
    side = min(3.6, 4.6 / aspect, width / (cols or min(5, len(arrays))))
    # inches across a square
    room = side / max(array.shape[1] for array in arrays) - 0.03
    if (
        values
        and room < text_size([format(low, values), format(high, values)], size=SMALL)[0]
    ):
        letters = room / text_size(["0"], size=SMALL)[0]
        fix = 'write fewer digits, use fewer cols, or values=""'
        raise ValueError(
            f"numbers of {values!r} do not fit squares of {letters:.1f} letters; {fix}"
        )
    fig, axes = panels(len(arrays), cols, aspect, titles, max_cols=5, max_side=side)
    for ax, array in zip(axes, arrays, strict=True):
        picture = ax.imshow(
            array, cmap="RdBu_r" if signed else "cividis", vmin=low, vmax=high
        )
        for (row, col), value in np.ndenumerate(array) if values else ():
            red, green, blue, _ = picture.cmap(picture.norm(value))
            dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
            small_text(
                ax, col, row, format(value, values), color="white" if dark else BLACK
            )
    _name(fig, axes, rows, columns, room)
    _colorbar(fig, axes, label, shrink=0.8, aspect=20)
    return fig


def _name(
    fig: Card,
    axes: list[Axes],
    rows: Sequence[str],
    columns: Sequence[str],
    room: float,
) -> None:
    """Names beside the first matrix and below each; turned where they are wider than a square, `room` inches."""
    rows, columns = drawable(rows), drawable(columns)
    wide, high = text_size(columns, size=SMALL)
    first = [
        ax for ax in axes if (place := ax.get_subplotspec()) and place.is_first_col()
    ]
    for ax in axes:
        ax.grid(False)
        if columns:
            ax.set_xticks(
                range(len(columns)), columns, rotation=90 if wide > room else 0
            )
        if rows and ax in first:
            ax.set_yticks(range(len(rows)), rows)
    fig.set_figheight(
        fig.get_figheight() + len(first) * (wide if wide > room else high)
    )


@rc_context(STYLE)
@checked
def confusion_matrix(
    labels: Tensor | Sequence, preds: Tensor | None, classes: Sequence[str]
) -> Figure:
    """Which classes are taken for which: a row for each truth, a column for each answer.

    Only the errors are coloured; of the right answers, on the diagonal, the share stands at the row's end.

    Args:
        labels: (n,) true classes; or counts (K, K), rows true, with `preds=None`.
        preds: (n,) predicted classes.
        classes: K names, 2 to 12.

    Raises:
        ValueError: If there are not 2 to 12 names, or a class is out of range.

    Source: chapter 09.
    """
    k = len(classes)
    if not 2 <= k <= 12:
        raise ValueError(
            f"counts can be read for 2 to 12 classes, got {k}; choose the classes to compare"
        )
    if preds is None:
        counts = np.asarray(labels)
        if counts.shape != (k, k) or counts.min() < 0:
            wanted = (
                f"with preds=None, expected counts of shape ({k}, {k}), all 0 or more"
            )
            raise ValueError(
                f"{wanted}, got {counts.shape}; pass labels and preds, both (n,)"
            )
    else:
        n = len(labels)
        pairs = class_array("labels", labels, n, k) * k + class_array(
            "preds", preds, n, k
        )
        counts = np.bincount(pairs, minlength=k * k).reshape(k, k)  # (K*K,) -> (K, K)
    errors = np.ma.masked_array(counts, np.eye(k, dtype=bool))
    peak, totals = max(1, errors.max()), counts.sum(axis=1)
    fig = Card(1.6 + 0.7 * k if k < 6 else 1.9 + 0.5 * k)
    ax = fig.subplots()
    colormap = ERRORS.with_extremes(bad=EDGE + "33")  # for the masked diagonal
    ax.imshow(
        errors, cmap=colormap, vmin=0, vmax=peak, aspect="equal" if k < 6 else "auto"
    )
    for i, j in np.ndindex(k, k):
        colour = MUTED if i == j else "white" if errors[i, j] > 0.85 * peak else INK
        if counts[i, j]:
            small_text(ax, j, i, counts[i, j], color=colour)
    ax.set(xlabel="the model's answer", ylabel="the truth")
    classes = drawable(classes)
    ax.set_xticks(range(k), classes, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(k), classes)
    for axis in (ax.xaxis, ax.yaxis):
        # where the lines between the classes stand
        axis.set_ticks(np.arange(0.5, k - 1), minor=True)
    ax.grid(False)
    ax.grid(which="minor", color=CARD, linewidth=2)
    ax.spines[:].set_visible(False)
    right = ax.secondary_yaxis("right")
    recalls = [
        f"{100 * counts[i, i] / totals[i]:.0f} %" if totals[i] else "–"
        for i in range(k)
    ]
    right.set_yticks(range(k), recalls)
    right.spines[:].set_visible(False)
    share = np.trace(counts) / max(1, counts.sum())
    ax.set_title(f"{100 * share:.1f} % of {counts.sum():,} right", weight="bold")
    ax.annotate(
        "recall",
        (1, 1),
        xytext=(4, 5),
        xycoords="axes fraction",
        textcoords="offset points",
    )
    return fig


@rc_context(STYLE)
@checked
def similarity_maps(pos_embed: Tensor, grid: Grid | None = None) -> Figure:
    """How alike the positions are: at each patch's place, a small map of its similarity to every patch, from -1 to 1.

    Args:
        pos_embed: (1, 1+N, D) as in `model.pos_embed.table()`, or (N, D) without CLS.
        grid: (rows, cols) of patches; None where N is a square.

    Raises:
        ValueError: If the table has neither shape.

    Source: Figure 7 (centre); chapter 03.
    """
    table = torch.as_tensor(pos_embed).detach().cpu().float()
    if table.ndim == 3 and len(table) == 1:
        table = table[0, 1:]  # (1, 1+N, D) -> (N, D)
    if table.ndim != 2:
        fix = "use model.pos_embed.table()"
        raise ValueError(
            f"expected a table of shape (1, 1+N, D) or (N, D), got {tuple(table.shape)}; {fix}"
        )
    rows, cols = patch_grid(len(table), grid)
    unit = F.normalize(table, dim=1)
    gap = 1 if cols < 12 else 2  # pixels of no colour between two maps
    # (N, N) -> a map at each place
    maps = (unit @ unit.T).reshape(rows, cols, rows, cols)
    maps = F.pad(maps, (0, gap, 0, gap), value=float("nan"))
    whole = rearrange(maps, "rows cols h w -> (rows h) (cols w)")[:-gap, :-gap]
    # 2.05 inches for the scale and the names
    tall = min(len(whole) / whole.shape[1] * (INNER_WIDTH - 2.05), 6.4)
    fig = Card(max(tall, 1.4) + 0.55 + 2 * MARGIN)
    ax = fig.add_subplot(xlabel="column of the patch", ylabel="row of the patch")
    # the same scale for every table, so that figures compare
    ax.imshow(whole.numpy(), cmap="cividis", vmin=-1, vmax=1)
    for axis, n in ((ax.xaxis, cols), (ax.yaxis, rows)):
        axis.set_ticks(
            [i * (n + gap) + (n - 1) / 2 for i in range(n)], map(str, range(n))
        )
    ax.grid(False)
    ax.spines[:].set_visible(False)
    _colorbar(fig, [ax], "cosine similarity", shrink=0.7, aspect=25)
    return fig


def _colorbar(fig: Card, axes: list[Axes], label: str, **size: Any) -> None:
    """The scale that the images of all axes share."""
    bar = fig.colorbar(axes[0].images[0], ax=axes, label=label, **size)
    bar.outline.set_visible(False)
