"""Lines and learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import rc_context, ticker
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vitlib.viz.style import (
    CARD,
    INK,
    LINES,
    MARKERS,
    PALETTE,
    SMALL,
    STYLE,
    TEXT,
    Card,
    check_count,
    head,
    legend,
)

__all__ = ["learning_curves", "plot_lines"]


@rc_context(STYLE)
def plot_lines(
    series: Mapping[str, Sequence],
    xlabel: str,
    ylabel: str,
    *,
    title: str = "",
    logx: bool = False,
    logy: bool = False,
    labels: str = "direct",
    height: float = 3.8,
) -> Figure:
    """Labelled curves that differ in colour, marker and line style.

    Args:
        series: Name -> y, or (x, y), or (x, y, spread) for a band of y +- spread; at most 7 names.
        xlabel: What x is, with its unit.
        ylabel: What y is, with its unit.
        title: One line above.
        logx: Whether x is logarithmic.
        logy: Whether y is logarithmic.
        labels: "direct" writes each name at the end of its curve, "legend" in a box, "none" nowhere.
        height: Height in inches.

    Returns:
        The figure, one axes.

    Raises:
        ValueError: If there are no series or more than 7, if lengths differ, if a logarithm does not
            exist, or if `labels` is unknown.

    Source: chapter 01.
    """
    curves = _curves(series, logx, logy)
    if labels not in ("direct", "legend", "none"):
        raise ValueError(f'labels must be "direct", "legend" or "none", got {labels!r}')
    fig = Card(height)
    ax = fig.subplots()
    ax.set(xlabel=xlabel, xscale="log" if logx else "linear", yscale="log" if logy else "linear")
    head(ax, ylabel, title)
    _draw_curves(ax, curves)
    plain = ticker.FuncFormatter(_plain)
    for axis, log, values in ((ax.xaxis, logx, [c[0] for c in curves.values()]), (ax.yaxis, logy, None)):
        if log:
            ticks = np.unique(np.concatenate(values)) if values else ()
            if 1 < len(ticks) <= 7:
                axis.set_major_locator(ticker.FixedLocator(ticks))
            axis.set_major_formatter(plain)
            axis.set_minor_locator(ticker.NullLocator())
        elif values and all((x == x.round()).all() for x in values):  # epochs, blocks: none between two
            axis.set_major_locator(ticker.MaxNLocator("auto", steps=(1, 2, 2.5, 5, 10), integer=True))
    if labels == "direct":
        _label_ends(ax, curves, height)
    elif labels == "legend":
        legend(fig, ax.lines)
    return fig


@rc_context(STYLE)
def learning_curves(results: Mapping[str, Mapping]) -> Figure:
    """Loss and accuracy by epoch: held-out images solid, training images dashed.

    Args:
        results: Name -> what `train_model` returned, or the card of a pretrained model; at most 7. Of
            each entry of its "epochs", the keys train_loss, val_loss, train_accuracy and val_accuracy
            are drawn where present.

    Returns:
        The figure, two axes.

    Raises:
        ValueError: If there are no results, more than 7, or one without epochs.

    Source: chapter 09.
    """
    check_count(results)
    for run, result in results.items():
        if not result.get("epochs"):
            raise ValueError(
                f'results[{run!r}]: expected a list of epochs under "epochs", got '
                f"{result.get('epochs')!r}; pass what train_model returned, or a card"
            )
    splits = (("val", "held out", "-", 2.0), ("train", "training", "--", 1.4))
    fig, drawn = Card(3.9), set()
    for ax, key, name, scale in zip(
        fig.subplots(1, 2), ("loss", "accuracy"), ("loss", "accuracy (%)"), (1, 100), strict=True
    ):
        ax.set_xlabel("epoch")
        ax.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=True))
        head(ax, name)
        for i, result in enumerate(results.values()):
            for split, label, line, width in splits:
                rows = [row for row in result["epochs"] if row.get(f"{split}_{key}") is not None]
                if rows:
                    drawn.add(label)
                    ax.plot(
                        [row["epoch"] for row in rows],
                        [scale * row[f"{split}_{key}"] for row in rows],
                        color=PALETTE[i],
                        linestyle=line,
                        linewidth=width,
                        marker=MARKERS[i],
                        markevery=max(1, len(rows) // 6),
                        markeredgecolor=CARD,
                        markeredgewidth=0.6,
                    )
    handles = [
        Line2D([], [], color=PALETTE[i], marker=MARKERS[i], label=run) for i, run in enumerate(results)
    ]
    handles += [
        Line2D([], [], color=INK, linestyle=line, linewidth=width, label=label)
        for _, label, line, width in splits
        if label in drawn
    ]
    legend(fig, handles)
    return fig


def _draw_curves(ax, curves: Mapping[str, Sequence]) -> None:
    for i, (name, (x, y, *spread)) in enumerate(curves.items()):
        ax.plot(
            x,
            y,
            label=name,
            color=PALETTE[i],
            marker=MARKERS[i],
            linestyle=LINES[i],
            markevery=max(1, len(x) // 8),
            markeredgecolor=CARD,
            markeredgewidth=0.6,
        )
        if spread:
            ax.fill_between(x, y - spread[0], y + spread[0], color=PALETTE[i], alpha=0.18, linewidth=0)


def _label_ends(ax, curves: Mapping[str, Sequence], height: float) -> None:
    """Names beside the curves' ends, pushed apart where they would overlap."""
    ax.get_xlim(), ax.get_ylim()  # settles the limits, which the transforms need
    ends = {
        name: (ax.transData + ax.transAxes.inverted()).transform((curve[0][-1], curve[1][-1]))
        for name, curve in curves.items()
    }
    line = 1.35 * SMALL / 72 / (height - 1.1)  # one line of text, as a share of the axes' height
    names = sorted(ends, key=lambda name: ends[name][1])
    places = np.array([ends[name][1] for name in names])
    for _ in range(100):
        gaps = np.diff(places)
        for i in np.flatnonzero(gaps < line - 1e-6):
            shift = (line - gaps[i]) / 2
            places[i], places[i + 1] = places[i] - shift, places[i + 1] + shift
    for name, place in zip(names, places, strict=True):
        i = list(curves).index(name)
        ax.annotate(
            name,
            ends[name],
            (max(1.0, ends[name][0]) + 0.025, place),
            xycoords="axes fraction",
            size=SMALL,
            color=TEXT[i],
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": PALETTE[i], "lw": 0.8, "shrinkB": 4},
        )


def _curves(series: Mapping[str, Sequence], logx: bool, logy: bool) -> dict[str, list[np.ndarray]]:
    check_count(series)
    curves = {}
    for name, value in series.items():
        parts = value if isinstance(value, tuple) else (range(len(value)), value)
        arrays = [np.asarray(part, dtype=float) for part in parts]
        shapes = {a.shape for a in arrays}
        if not 2 <= len(arrays) <= 3 or len(shapes) > 1 or arrays[0].ndim != 1 or not arrays[0].size:
            raise ValueError(
                f"series {name!r}: expected y, (x, y) or (x, y, spread) of one length, "
                f"got shapes {[a.shape for a in arrays]}"
            )
        for log, what, array in ((logx, "x", arrays[0]), (logy, "y", arrays[1])):
            if log and not (array > 0).all():
                raise ValueError(
                    f"series {name!r}: a logarithmic axis needs {what} > 0, got "
                    f"{array.min():g}; leave such points out or use log{what}=False"
                )
        curves[name] = arrays
    return curves


def _plain(value: float, _position: int = 0) -> str:
    """65536 -> 65,536 and 2e6 -> 2 M, where matplotlib writes powers of ten."""
    for size, letter in ((1e9, " G"), (1e6, " M")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
