"""Curves, in the manner of Figure 5."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib import rc_context, ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vitlib.checks import Count, Height, checked
from vitlib.viz.card import Card, drawable, text_size
from vitlib.viz.style import (
    CARD,
    DPI,
    INNER_WIDTH,
    LINESTYLES,
    MARKERS,
    PALETTE,
    SMALL,
    STYLE,
    TEXT,
)

__all__ = ["curve_panels", "plot_lines"]


@rc_context(STYLE)
@checked
def plot_lines(
    series: Mapping[str, Sequence],
    xlabel: str,
    ylabel: str,
    *,
    logx: bool = False,
    logy: bool = False,
    labels: Literal["direct", "legend", "none"] = "direct",
    height: Height = 3.8,
) -> Figure:
    """Labelled curves that differ in colour, marker and line style.

    Args:
        series: Name -> y, or (x, y), or (x, y, spread) for a band of y +- spread; at most 7 names.
        xlabel: What x is, with its unit.
        ylabel: What y is, with its unit.
        logx: Whether x is logarithmic.
        logy: Whether y is logarithmic.
        labels: "direct" writes each name at the end of its curve, "legend" in a box, "none" nowhere.
        height: Height in inches.

    Source: chapter 09.
    """
    curves = _curves(series, logx, logy)
    fig = Card(height)
    ax = fig.add_subplot(
        xscale="log" if logx else "linear", yscale="log" if logy else "linear"
    )
    _name_axes(ax, xlabel, ylabel)
    for i, (name, (x, y, *spread)) in enumerate(curves.items()):
        _draw_curve(ax, i, x, y, label=name, linestyle=LINESTYLES[i])
        for band in spread:
            ax.fill_between(
                x, y - band, y + band, color=PALETTE[i], alpha=0.18, linewidth=0
            )
    for axis, log, values in (
        (ax.xaxis, logx, [c[0] for c in curves.values()]),
        (ax.yaxis, logy, None),
    ):
        if log:
            ticks: list[float] = (
                np.unique(np.concatenate(values)).tolist() if values else []
            )
            if 1 < len(ticks) <= 7:
                axis.set_major_locator(ticker.FixedLocator(ticks))
            axis.set_major_formatter(ticker.FuncFormatter(_plain_number))
            axis.set_minor_locator(ticker.NullLocator())
        elif values and all(
            (x == x.round()).all() for x in values
        ):  # epochs, blocks: none between two
            axis.set_major_locator(
                ticker.MaxNLocator("auto", steps=(1, 2, 2.5, 5, 10), integer=True)
            )
    if labels == "direct":
        _label_ends(fig, ax, curves)
    elif labels == "legend":
        _legend(fig, ax.lines)
    return fig


@rc_context(STYLE)
@checked
def curve_panels(
    panels: Mapping[str, Mapping[str, Sequence]],
    xlabel: str,
    ylabel: str,
    *,
    cols: Count = 4,
) -> Figure:
    """Small panels of curves on the same axes, to be compared with each other; a name looks alike in all.

    Args:
        panels: Title -> series, as in `plot_lines`; at most 7 names in all.
        xlabel: What x is, with its unit.
        ylabel: What y is, with its unit.
        cols: Panels in a row.

    Source: chapter 09.
    """
    names = drawable(
        dict.fromkeys(name for series in panels.values() for name in series)
    )
    _check_number_of_curves(names)
    rows = -(-len(panels) // cols)
    fig = Card(1.5 * rows + 1.0)
    for k, (title, series) in enumerate(panels.items()):
        first = fig.axes[0] if fig.axes else None
        ax = fig.add_subplot(rows, cols, k + 1, sharex=first, sharey=first)
        ax.set_title(title, loc="left", weight="bold", size=SMALL)
        ax.tick_params(labelleft=k % cols == 0, labelbottom=k + cols >= len(panels))
        for name, (x, y, *_) in _curves(series, False, False).items():
            i = names.index(name)
            _draw_curve(ax, i, x, y, linestyle=LINESTYLES[i])
    fig.axes[0].xaxis.set_major_locator(ticker.MaxNLocator(2, integer=True))
    fig.axes[0].yaxis.set_major_locator(ticker.MaxNLocator(4))
    fig.supxlabel(xlabel, size=SMALL)
    lines = [
        Line2D([], [], label=n, linestyle=LINESTYLES[i], **_look(i))
        for i, n in enumerate(names)
    ]
    _legend(fig, lines)
    fig.legends[0].set_title(ylabel)
    fig.legends[0].set_alignment("left")
    return fig


def _check_number_of_curves(series: Collection) -> None:
    """Refuse more curves than there are colours, and none."""
    if not 1 <= len(series) <= len(PALETTE):
        fix = "more cannot be told apart, so draw two figures"
        raise ValueError(
            f"expected 1 to {len(PALETTE)} curves, got {len(series)}; {fix}"
        )


def _name_axes(ax: Axes, xlabel: str, ylabel: str) -> None:
    """The x axis' name below it, the y axis' above it, where it is read level."""
    ax.set_xlabel(xlabel)
    ax.annotate(
        ylabel,
        (0, 1),
        xytext=(0, 7),
        xycoords="axes fraction",
        textcoords="offset points",
    )


def _look(i: int) -> dict[str, Any]:
    """What the i-th curve of a figure has in the legend, too."""
    return {"color": PALETTE[i], "marker": MARKERS[i]}


def _draw_curve(
    ax: Axes, i: int, x: Sequence | np.ndarray, y: Sequence | np.ndarray, **line
) -> None:
    """The i-th curve of a figure, with at most 9 markers."""
    edge = {"markeredgecolor": CARD, "markeredgewidth": 0.6}
    ax.plot(x, y, markevery=max(1, len(x) // 8), **_look(i), **edge, **line)


def _legend(fig: Card, handles: Sequence[Line2D]) -> None:
    """Names above the axes, in as few equal rows as there is room for."""
    for rows in range(1, len(handles) + 1):
        ncols = -(-len(handles) // rows)
        legend = fig.legend(
            handles=handles, loc="outside upper left", ncols=ncols, columnspacing=1.2
        )
        if ncols == 1 or legend.get_window_extent().width <= INNER_WIDTH * DPI:
            return
        legend.remove()


def _label_ends(
    fig: Card, ax: Axes, curves: Mapping[str, Sequence[np.ndarray]]
) -> None:
    """Names beside the curves' ends, pushed apart where they would overlap."""
    fig.engine.execute(fig)  # settles the limits and the size of the axes
    ends = [
        (ax.transData - ax.transAxes).transform((x[-1], y[-1]))
        for x, y, *_ in curves.values()
    ]
    order = sorted(range(len(ends)), key=lambda i: ends[i][1])
    heights = np.array([ends[i][1] for i in order])
    line = 1.3 * text_size(curves, size=SMALL)[1] * DPI / ax.bbox.height
    for _ in range(100):
        gaps = np.diff(heights)
        for i in np.flatnonzero(gaps < line - 1e-6):
            shift = (line - gaps[i]) / 2
            heights[i], heights[i + 1] = heights[i] - shift, heights[i + 1] + shift
    for i, height in zip(order, heights, strict=True):
        arrow = {"arrowstyle": "-", "color": PALETTE[i], "lw": 0.8, "shrinkB": 4}
        text = {"size": SMALL, "color": TEXT[i], "va": "center", "arrowprops": arrow}
        ax.annotate(
            list(curves)[i],
            tuple(ends[i]),
            (1.025, height),
            xycoords="axes fraction",
            **text,
        )


def _curves(
    series: Mapping[str, Sequence], logx: bool, logy: bool
) -> dict[str, list[np.ndarray]]:
    """Checked series: name -> [x, y] or [x, y, spread]."""
    _check_number_of_curves(series)
    curves = {}
    for name, value in zip(drawable(series), series.values(), strict=True):
        parts = value if isinstance(value, tuple) else (range(len(value)), value)
        arrays = [np.asarray(part, dtype=float) for part in parts]
        shapes = {a.shape for a in arrays}
        if (
            not 2 <= len(arrays) <= 3
            or len(shapes) > 1
            or arrays[0].ndim != 1
            or not arrays[0].size
        ):
            wanted = "y, (x, y) or (x, y, spread) of one length"
            raise ValueError(
                f"series {name!r}: expected {wanted}, got shapes {[a.shape for a in arrays]}"
            )
        for log, what, array in ((logx, "x", arrays[0]), (logy, "y", arrays[1])):
            if log and not (array > 0).all():
                got = f"{array.min():g}; leave such points out or use log{what}=False"
                raise ValueError(
                    f"series {name!r}: a logarithmic axis needs {what} > 0, got {got}"
                )
        curves[name] = arrays
    return curves


def _plain_number(value: float, _position: int = 0) -> str:
    """65536 -> 65,536 and 2e6 -> 2 M, where matplotlib writes powers of ten."""
    for size, letter in ((1e9, " G"), (1e6, " M")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
