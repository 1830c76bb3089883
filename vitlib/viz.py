"""Figures in one house style, among them the paper's 1, 6 and 7; a notebook shows each exactly once.

A figure is a light card with a background of its own, so it looks the same on a light and on a dark page.
It is 7.2 inches wide, the width of the text; its smallest letters measure 10 points or more and still read on
a phone. Series differ in colour (Okabe and Ito's palette) and in marker and line style.
"""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib import rc_context, rcParams, ticker
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from torch import Tensor

from vitlib.config import check_multiple
from vitlib.patches import unpatchify

__all__ = [
    "PALETTE",
    "attention_grid",
    "attention_overlay",
    "confusion_matrix",
    "heat_maps",
    "learning_curves",
    "number_grid",
    "plot_lines",
    "shape_flow",
    "show_attention_from_patch",
    "show_images",
    "show_patches",
    "show_predictions",
    "show_tokens",
    "similarity_maps",
    "use_style",
]

CARD, INK, FAINT = "#fbfcfd", "#23272e", "#d5dbe2"
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", INK)  # Okabe-Ito, no yellow
TEXT = ("#0068a3", "#b34f00", "#00775a", "#9c4a77", "#8a5f00", "#20749f", INK)  # dark enough for letters
ERRORS = LinearSegmentedColormap.from_list("errors", ["#f3f5f7", "#fbd9b5", "#ee8f4a", "#c04f00", "#6b2500"])
MARKERS, LINES = "osD^vPX", ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (2, 1)))
WIDTH, MARGIN, LETTER, DPI, SMALL = 7.2, 0.12, 0.088, 144, 10.5  # three in inches, dots per inch, points

STYLE = {
    "figure.facecolor": CARD,
    "figure.dpi": DPI,
    "savefig.facecolor": CARD,
    "savefig.dpi": DPI,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 11.5,
    "axes.facecolor": CARD,
    "axes.edgecolor": "#8a94a0",
    "axes.labelcolor": INK,
    "axes.titlesize": 11.5,
    "axes.labelsize": 11.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6eaee",
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "axes.axisbelow": True,
    "axes.titlepad": 4,
    "lines.linewidth": 2,
    "lines.markersize": 5.5,
    "image.interpolation": "nearest",
}


class Card(Figure):
    """A figure that keeps the house style when it is drawn; pyplot does not know it, so never shows it."""

    def __init__(self, height: float, layout: str = "constrained") -> None:
        with rc_context(STYLE):
            super().__init__(figsize=(WIDTH, height), layout=layout)
        x, y = MARGIN / WIDTH, MARGIN / height
        self.get_layout_engine().set(rect=(x, y, 1 - 2 * x, 1 - 2 * y))

    def draw(self, renderer) -> None:
        with rc_context(STYLE):  # ticks are made as late as this
            super().draw(renderer)

    def _repr_png_(self) -> tuple[str, dict[str, int]]:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=DPI, facecolor=CARD, bbox_inches=None)
        width, height = (round(96 * inches) for inches in self.get_size_inches())  # CSS pixels
        return base64.b64encode(buffer.getvalue()).decode(), {"width": width, "height": height}


if "IPython" in sys.modules and (_shell := sys.modules["IPython"].get_ipython()):
    # pyplot's own formatter would crop the card; ours wins because it is registered for the narrower type
    _shell.display_formatter.formatters["image/png"].for_type(Card, Card._repr_png_)


def use_style() -> None:
    """Give your own matplotlib figures the house style; those of this module have it anyway."""
    rcParams.update(STYLE)


@rc_context(STYLE)
def show_images(
    images: Tensor | Sequence[Tensor], titles: Sequence[str] | None = None, cols: int | None = None
) -> Figure:
    """Images side by side, every pixel a sharp square.

    Args:
        images: (n, 3, H, W) or (3, H, W), uint8 or float in [0, 1]; or a list of (3, H, W) of any sizes.
        titles: One line above each image.
        cols: Images per row; by default up to 8, fewer where titles are long.

    Returns:
        The figure, one axes per image.

    Raises:
        ValueError: If these are not images, or the titles are not as many.
    """
    arrays = _images(images)
    titles = _as_many("titles", titles, len(arrays), "images")
    fig, axes = _panels(len(arrays), cols, _aspect(arrays), titles, most=8)
    for ax, array, title in zip(axes, arrays, titles, strict=True):
        ax.imshow(array, interpolation=_smooth(array))
        ax.set_title(title)
    return fig


@rc_context(STYLE)
def show_patches(image: Tensor, patch_size: int, numbers: bool = False) -> Figure:
    """An image cut into its patches.

    Args:
        image: (3, H, W), uint8 or float in [0, 1]; or its patches, (N, P*P*3) by `patchify`, N square.
        patch_size: Patch side P in pixels.
        numbers: Whether to write each patch's place in the sequence, counted from 0.

    Returns:
        The figure, one axes.

    Raises:
        ValueError: If P does not divide the image, or if the numbers would not fit.

    Source: Figure 1.
    """
    tiles = _tiles(image, patch_size)  # (rows, cols, P, P, 3)
    rows, cols = tiles.shape[:2]
    if numbers and cols > 16:
        raise ValueError(f"numbers fit in up to 16 patches a row, got {cols}; try a larger patch_size")
    side = min(WIDTH - 2 * MARGIN, 5.4 * cols / rows)
    fig, (ax,) = _panels(1, 1, rows / cols, most=1, side=side)
    for i in range(rows * cols):
        row, col = divmod(i, cols)
        _tile(ax, tiles[row, col], col, row, number=i if numbers else None)
    ax.set(xlim=(-0.02, cols + 0.02), ylim=(rows + 0.02, -0.02), aspect="equal")
    return fig


@rc_context(STYLE)
def show_tokens(image: Tensor, patch_size: int, first: int = 8, last: int = 3, cls: bool = True) -> Figure:
    """The sequence a ViT reads: the CLS token, then the patches in reading order, the middle left out.

    Args:
        image: (3, H, W), uint8 or float in [0, 1]; or patches (N, P*P*3), as for `show_patches`.
        patch_size: Patch side P in pixels.
        first: Patches shown from the start.
        last: Patches shown from the end.
        cls: Whether the CLS token stands in front. The numbers are then positions in the sequence: CLS is 0.

    Returns:
        The figure, one axes.

    Raises:
        ValueError: If P does not divide the image, or if `first` and `last` do not name 1 to 20 patches.

    Source: Figure 1, Equation 1.
    """
    tiles = _tiles(image, patch_size)
    tiles = tiles.reshape(-1, *tiles.shape[2:])  # (rows, cols, P, P, 3) -> (N, P, P, 3)
    if first < 1 or last < 0 or first + last > 20:
        raise ValueError(
            f"expected first >= 1, last >= 0 and at most 20 patches together, got first={first}, last={last}"
        )
    shown = list(range(len(tiles)))
    if len(tiles) > first + last:
        shown = [*shown[:first], None, *shown[len(tiles) - last :]]
    width = len(shown) + cls
    fig, (ax,) = _panels(1, 1, 1.45 / width, most=1, side=min(WIDTH - 2 * MARGIN, 0.8 * width))
    if cls:
        ax.add_patch(Rectangle((0.05, 0.05), 0.9, 0.9, facecolor=PALETTE[0]))
        ax.text(0.5, 0.5, "CLS", size=SMALL, color="white", weight="bold", ha="center", va="center")
        ax.text(0.5, 1.25, "0", size=SMALL, ha="center", va="center")
    for x, i in enumerate(shown, start=int(cls)):
        if i is None:
            ax.text(x + 0.5, 0.5, "···", size=14, weight="bold", ha="center", va="center")
            continue
        _tile(ax, tiles[i], x, 0)
        ax.text(x + 0.5, 1.25, str(i + cls), size=SMALL, ha="center", va="center")
    ax.set(xlim=(0, width), ylim=(1.45, 0), aspect="equal")
    return fig


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
    fig, (ax,) = _panels(
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
def heat_maps(
    maps: Tensor | Sequence,
    titles: Sequence[str] | None = None,
    *,
    label: str = "",
    cols: int | None = None,
    values: str = "",
    limits: tuple[float | int, float | int] | None = None,
) -> Figure:
    """Matrices as coloured squares on one scale: blue and red about 0 where a number is negative.

    Args:
        maps: n matrices (R, C), as a list or as one tensor (n, R, C); a single (R, C) is one matrix.
        titles: One line above each matrix.
        label: What the colour stands for.
        cols: Matrices per row; by default up to 5, fewer where titles are long.
        values: A format such as ".2f" to write each number in its square; "" writes none.
        limits: The numbers at both ends of the scale; None takes the smallest and the largest.

    Returns:
        The figure: one axes for each matrix, and the colour scale.

    Raises:
        ValueError: If these are not finite matrices, or the numbers would not fit their squares.
    """
    arrays = [torch.as_tensor(one).detach().cpu().float().numpy() for one in maps]
    if arrays and all(array.ndim == 1 for array in arrays):
        arrays = [np.stack(arrays)]
    for array in arrays or [np.zeros(0)]:
        if array.ndim != 2 or not array.size or not np.isfinite(array).all():
            raise ValueError(
                f"expected finite matrices (R, C), got shape {array.shape}; check the axes and for NaN"
            )
    titles = _as_many("titles", titles, len(arrays), "matrices")
    low, high = limits or (min(array.min() for array in arrays), max(array.max() for array in arrays))
    if signed := low < 0:
        low, high = -max(-low, high), max(-low, high)
    aspect = max(array.shape[0] / array.shape[1] for array in arrays)
    side = min(3.6, 4.6 / aspect, (WIDTH - 1.4) / (cols or min(5, len(arrays))))  # 1.4 inches for the scale
    room = side / max(array.shape[1] for array in arrays) / LETTER  # letters across a square
    if values and room < max(len(format(low, values)), len(format(high, values))):
        raise ValueError(
            f"numbers of {values!r} do not fit squares of {room:.1f} letters; write fewer digits, "
            'use fewer cols, or values=""'
        )
    fig, axes = _panels(len(arrays), cols, aspect, titles, most=5, side=side)
    for ax, array, title in zip(axes, arrays, titles, strict=True):
        picture = ax.imshow(array, cmap="RdBu_r" if signed else "cividis", vmin=low, vmax=high)
        ax.set_title(title)
        ax.grid(False)
        for (row, col), value in np.ndenumerate(array) if values else ():
            red, green, blue, _ = picture.cmap(picture.norm(value))
            dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
            ax.text(
                col,
                row,
                format(value, values),
                size=SMALL,
                color="white" if dark else INK,
                ha="center",
                va="center",
            )
    bar = fig.colorbar(picture, ax=axes, shrink=0.8, aspect=20)
    bar.outline.set_visible(False)
    bar.set_label(label)
    return fig


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
    """
    curves = _curves(series, logx, logy)
    if labels not in ("direct", "legend", "none"):
        raise ValueError(f'labels must be "direct", "legend" or "none", got {labels!r}')
    fig = Card(height)
    ax = fig.subplots()
    ax.set(xlabel=xlabel, xscale="log" if logx else "linear", yscale="log" if logy else "linear")
    _head(ax, ylabel, title)
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
        _legend(fig, ax.lines)
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
    """
    _check_count(results)
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
        _head(ax, name)
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
    _legend(fig, handles)
    return fig


@rc_context(STYLE)
def show_predictions(
    images: Tensor, probs: Tensor, labels: Tensor | None, classes: Sequence[str], cols: int | None = None
) -> Figure:
    """What a model took images for: a green frame and a tick, or a red frame, a cross and the truth.

    Args:
        images: (n, 3, H, W), uint8 or float in [0, 1].
        probs: (n, K), rows sum to 1.
        labels: (n,), or None where the truth is not known: then there is no mark.
        classes: K names.
        cols: Images per row; by default as many as the names leave room for, up to 5.

    Returns:
        The figure, one axes per image.

    Raises:
        ValueError: If the lengths differ, a row of `probs` does not sum to 1 or a label is out of range.
    """
    arrays, probs = _images(images), torch.as_tensor(probs).detach().cpu().float()
    n, k = len(arrays), len(classes)
    if probs.shape != (n, k):
        raise ValueError(
            f"expected probs of shape ({n}, {k}) for {n} images and {k} classes, got {tuple(probs.shape)}"
        )
    sums = probs.sum(dim=1)
    if not ((sums - 1).abs() < 1e-2).all():
        raise ValueError(
            f"expected probs whose rows sum to 1, got sums from {sums.min():.3g} to "
            f"{sums.max():.3g}; use logits.softmax(dim=1)"
        )
    shares, preds = probs.max(dim=1)
    truths = [None] * n if labels is None else _classes("labels", labels, n, k)
    heads, feet, colours = [], [], []
    for share, pred, truth in zip(shares.tolist(), preds.tolist(), truths, strict=True):
        mark = "" if truth is None else "✓ " if pred == truth else "✗ "
        heads.append(f"{mark}{classes[pred]} {100 * share:.0f} %")
        feet.append(f"is {classes[truth]}" if mark == "✗ " else "")
        colours.append({"": 0, "✗ ": 1, "✓ ": 2}[mark])
    fig, axes = _panels(n, cols, _aspect(arrays), heads, most=5, below=int(any(feet)))
    for ax, array, head, foot, colour in zip(axes, arrays, heads, feet, colours, strict=True):
        ax.imshow(array, interpolation=_smooth(array))
        ax.set_title(head, color=TEXT[colour])
        ax.set_xlabel(foot)
        ax.spines[:].set(visible=True, color=PALETTE[colour], linewidth=3)
    return fig


@rc_context(STYLE)
def confusion_matrix(labels: Tensor | Sequence, preds: Tensor | None, classes: Sequence[str]) -> Figure:
    """Which classes are taken for which: a row for each truth, a column for each answer.

    Only the errors are coloured. The right answers, on the diagonal, are grey, and their share of the
    row stands at its end.

    Args:
        labels: (n,) true classes; or counts (K, K), rows true, with `preds=None`.
        preds: (n,) predicted classes.
        classes: K names, 2 to 12.

    Returns:
        The figure, one axes.

    Raises:
        ValueError: If the lengths differ, a class is out of range or there are not 2 to 12 names.
    """
    k = len(classes)
    if not 2 <= k <= 12:
        raise ValueError(f"counts can be read for 2 to 12 classes, got {k}; choose the classes to compare")
    if preds is None:
        counts = np.asarray(labels)
        if counts.shape != (k, k) or counts.min() < 0:
            raise ValueError(
                f"with preds=None, expected counts of shape ({k}, {k}), all 0 or more, "
                f"got {counts.shape}; pass labels and preds, both (n,)"
            )
    else:
        n = len(labels)
        pairs = _classes("labels", labels, n, k) * k + _classes("preds", preds, n, k)
        counts = np.bincount(pairs, minlength=k * k).reshape(k, k)  # (K*K,) -> (K, K)
    errors = np.where(np.eye(k, dtype=bool), 0, counts)
    peak, totals = max(1, errors.max()), counts.sum(axis=1)
    fig = Card(1.6 + 0.7 * k if k < 6 else 1.9 + 0.5 * k)
    ax = fig.subplots()
    ax.imshow(errors, cmap=ERRORS, vmin=0, vmax=peak, aspect="equal" if k < 6 else "auto")
    for i, j in np.ndindex(k, k):
        if i == j:
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor="#e3e7ec"))
        colour = "#66707c" if i == j else "white" if errors[i, j] > 0.55 * peak else INK
        if counts[i, j]:
            ax.text(j, i, f"{counts[i, j]}", ha="center", va="center", size=SMALL, color=colour)
    ax.set_xticks(range(k), classes, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(k), classes)
    ax.set(xlabel="the model's answer", ylabel="the truth")
    ax.set_xticks(np.arange(0.5, k - 1), minor=True)
    ax.set_yticks(np.arange(0.5, k - 1), minor=True)
    ax.grid(False)
    ax.grid(which="minor", color=CARD, linewidth=2)
    ax.spines[:].set_visible(False)
    right = ax.secondary_yaxis("right")
    right.set_yticks(
        range(k), [f"{100 * counts[i, i] / totals[i]:.0f} %" if totals[i] else "–" for i in range(k)]
    )
    right.spines[:].set_visible(False)
    total = counts.sum()
    ax.set_title(f"{100 * np.trace(counts) / max(1, total):.1f} % of {total:,} right", weight="bold")
    ax.annotate("recall", (1, 1), xytext=(4, 5), xycoords="axes fraction", textcoords="offset points")
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

    Source: Figure 6.
    """
    array = _image(image)
    lit = _spotlights(array, torch.as_tensor(weights), grid, gamma, floor)
    titles = _as_many("titles", titles, len(lit), "spotlights")
    fig, axes = _panels(1 + len(lit), None, _aspect([array]), ["image", *titles], most=5)
    for ax, picture, title in zip(axes, [array, *lit], ["image", *titles], strict=True):
        ax.imshow(picture, interpolation=_smooth(picture))
        ax.set_title(title)
    return fig


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

    Source: Figure 6; Appendix D.8.
    """
    array, maps = _image(image), torch.as_tensor(maps)
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
    fig, ax = _sheet(lit, gap=max(2, lit.shape[3] // 16), side=1.7)
    ax.set_xticks(ax.get_xticks(), [f"layer {i}" if layers <= 8 or not i else i for i in range(layers)])
    ax.set_yticks(ax.get_yticks(), [f"head {i}" if heads <= 8 or not i else i for i in range(heads)])
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
    rows, cols = _grid(patches, grid)
    fig = attention_overlay(image, maps[..., 1 + patch, 1:], grid, gamma=gamma, floor=floor, titles=titles)
    for ax in fig.axes:
        height, width = ax.images[0].get_array().shape[:2]
        corner = (patch % cols * width / cols - 0.5, patch // cols * height / rows - 0.5)
        for colour, thickness in ((INK, 3.6), ("white", 1.8)):  # seen on dark and on light pixels
            ax.add_patch(
                Rectangle(
                    corner,
                    width / cols,
                    height / rows,
                    fill=False,
                    edgecolor=colour,
                    linewidth=thickness,
                    clip_on=False,
                )
            )
    fig.axes[0].set_title(f"patch {patch}")
    return fig


@rc_context(STYLE)
def similarity_maps(pos_embed: Tensor, grid: tuple[int, int] | None = None) -> Figure:
    """How alike the positions are: at each patch's place, a small map of its likeness to every patch.

    Args:
        pos_embed: (1, 1+N, D) as in `model.pos_embed.table()`, or (N, D) without CLS.
        grid: (rows, cols) of patches; None where N is a square.

    Returns:
        The figure: the maps, and the colour scale.

    Raises:
        ValueError: If the table does not have one of these shapes, or the grid does not fit.

    Source: Figure 7 (centre).
    """
    table = torch.as_tensor(pos_embed).detach().cpu().float()
    if table.ndim == 3 and len(table) == 1:
        table = table[0, 1:]  # (1, 1+N, D) -> (N, D)
    if table.ndim != 2:
        raise ValueError(
            f"expected a table of shape (1, 1+N, D) or (N, D), got {tuple(table.shape)}; "
            "use model.pos_embed.table()"
        )
    rows, cols = _grid(len(table), grid)
    unit = F.normalize(table, dim=1)
    maps = (
        (unit @ unit.T).unflatten(1, (rows, cols)).unflatten(0, (rows, cols))
    )  # (N, N) -> (rows, cols) twice
    fig, ax = _sheet(maps[..., None], gap=1 if cols < 12 else 2, cmap="cividis", right=1.3)
    ax.set(xlabel="column of the patch", ylabel="row of the patch")
    picture = ax.images[0]
    bar = fig.colorbar(picture, ax=ax, shrink=0.7, aspect=25)
    bar.outline.set_visible(False)
    bar.set_label("cosine similarity")
    return fig


def _head(ax, ylabel: str, title: str = "") -> None:
    """Above the axes, the y axis' name read level, and over it a title."""
    ax.annotate(ylabel, (0, 1), xytext=(0, 7), xycoords="axes fraction", textcoords="offset points")
    if title:
        ax.set_title(title, loc="left", weight="bold", pad=26)


def _legend(fig: Card, handles: Sequence[Line2D]) -> None:
    """Names above the axes, in as few equal rows as there is room for."""
    widths = [0.62 + LETTER * len(str(line.get_label())) for line in handles]
    rows = -int(-sum(widths) // (WIDTH - 2 * MARGIN))
    fig.legend(
        handles=list(handles), loc="outside upper left", ncols=-(-len(handles) // rows), columnspacing=1.2
    )


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
    _check_count(series)
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


def _check_count(series: Mapping) -> None:
    if not 1 <= len(series) <= len(PALETTE):
        raise ValueError(
            f"expected 1 to {len(PALETTE)} curves, got {len(series)}; more cannot be told apart, "
            "so draw two figures"
        )


def _classes(what: str, values: Tensor, n: int, k: int) -> np.ndarray:
    """Checked class numbers, (n,)."""
    array = np.asarray(values)
    if array.shape != (n,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"expected {what} as {n} integers, shape ({n},), got {array.dtype} of shape {array.shape}"
        )
    if n and not 0 <= array.min() <= array.max() < k:
        raise ValueError(
            f"{what} must be from 0 to {k - 1}, got {array.min()} to {array.max()}; check `classes`"
        )
    return array


def _grid(n: int, grid: tuple[int, int] | None) -> tuple[int, int]:
    """(rows, cols) of n patches."""
    rows, cols = (round(n**0.5),) * 2 if grid is None else grid
    if rows * cols != n:
        fix = "pass grid=model.cfg.grid" if grid is None else "is CLS still among them? Take [1:]"
        raise ValueError(f"expected {rows} x {cols} = {rows * cols} patches, got {n}; {fix}")
    return rows, cols


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
    rows, cols = _grid(weights.shape[-1], grid)
    longest = max(image.shape[:2])
    times, skip = max(1, pixels // longest), max(1, longest // pixels)
    image = image.repeat(times, axis=0).repeat(times, axis=1)  # each pixel becomes times x times
    image = F.avg_pool2d(torch.from_numpy(image).permute(2, 0, 1), skip).permute(1, 2, 0).numpy()
    light = weights.reshape(-1, 1, rows, cols)  # (k, N) -> (k, 1, rows, cols)
    light = F.interpolate(light, image.shape[:2], mode="bilinear", align_corners=False)[:, 0]  # (k, H, W)
    light = (light / light.amax(dim=(1, 2), keepdim=True).clamp_min(1e-12)) ** gamma
    return [image * floor * (1 - one) + (0.1 + 0.9 * image) * one for one in light[..., None].numpy()]


def _image(image: Tensor) -> np.ndarray:
    arrays = _images(image)
    if len(arrays) != 1:
        raise ValueError(f"expected one image (3, H, W), got {len(arrays)}; take images[0]")
    return arrays[0]


def _plain(value: float, _position: int = 0) -> str:
    """65536 -> 65,536 and 2e6 -> 2 M, where matplotlib writes powers of ten."""
    for size, letter in ((1e9, " G"), (1e6, " M")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def _panels(
    n: int,
    cols: int | None,
    aspect: float,
    texts: Sequence[str] = (),
    *,
    most: int,
    side: float = 2.6,
    below: int = 0,
):
    """A card with n bare axes in rows, as wide as their longest text and at most `side` inches."""
    lines = max((text.count("\n") + 1 for text in texts if text), default=0)
    longest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    room = int((WIDTH - 2 * MARGIN) / max(LETTER * longest, 0.1))
    if cols is None:
        cols = max(1, min(n, most, room))
        cols = -(-n // -(-n // cols))  # as many rows, evenly filled
    if not isinstance(cols, int) or cols < 1:
        raise ValueError(f"cols must be a positive integer, got {cols!r}")
    rows = -(-n // cols)
    side = min(side, (WIDTH - 2 * MARGIN) / cols - 0.08)
    height = rows * (side * aspect + 0.19 * (lines + below) + 0.17) + 2 * MARGIN
    fig = Card(height, layout="compressed")
    fig.get_layout_engine().set(w_pad=0.05, h_pad=0.09)
    axes = list(fig.subplots(rows, cols, squeeze=False).flat)
    for ax in axes:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    for ax in axes[n:]:
        ax.remove()
    return fig, axes[:n]


def _sheet(maps: Tensor, gap: int, side: float = 9.0, right: float = 0.0, **style):
    """A card with one axes that holds (rows, cols, H, W, channels) as a table of pictures, numbered from 0."""
    rows, cols, height, width, _ = maps.shape
    sheet = F.pad(maps, (0, 0, 0, gap, 0, gap), value=float("nan"))  # (rows, cols, H+gap, W+gap, channels)
    sheet = (
        sheet.transpose(1, 2).flatten(2, 3).flatten(0, 1)[:-gap, :-gap]
    )  # (rows*(H+gap), cols*(W+gap), ...)
    aspect = len(sheet) / sheet.shape[1]
    tall = min(aspect * (WIDTH - 2 * MARGIN - 0.75 - right), aspect * side * cols, 6.4)
    fig = Card(max(tall, 1.4) + 0.55 + 2 * MARGIN if right else tall + 0.35 + 2 * MARGIN)
    ax = fig.subplots()
    ax.imshow(np.ma.masked_invalid(sheet.numpy()) if len(style) else sheet.nan_to_num(0.985).numpy(), **style)
    ax.set_xticks([i * (width + gap) + (width - 1) / 2 for i in range(cols)], range(cols))
    ax.set_yticks([i * (height + gap) + (height - 1) / 2 for i in range(rows)], range(rows))
    ax.grid(False)
    ax.spines[:].set_visible(False)
    return fig, ax


def _tile(ax, tile: np.ndarray, x: int, y: int, number: int | None = None) -> None:
    """One patch in the unit square at (x, y), a little space around it."""
    ax.imshow(tile, extent=(x + 0.04, x + 0.96, y + 0.96, y + 0.04), interpolation=_smooth(tile, sharp=40))
    if number is not None:
        dark = tile.mean() < 0.5
        box = {"boxstyle": "round,pad=0.12", "facecolor": INK if dark else "white", "alpha": 0.55, "lw": 0}
        ax.text(
            x + 0.5,
            y + 0.5,
            str(number),
            size=SMALL,
            color="white" if dark else INK,
            bbox=box,
            ha="center",
            va="center",
        )


def _tiles(image: Tensor, patch_size: int) -> np.ndarray:
    """(rows, cols, P, P, 3) from an image or from its patches."""
    if patch_size < 1:
        raise ValueError(f"patch_size must be a positive integer, got {patch_size!r}")
    if getattr(image, "ndim", 0) == 2:
        side = round(len(image) ** 0.5)
        if side**2 != len(image):
            raise ValueError(
                f"expected a square number of patches, got {len(image)}; for another grid use "
                "vl.unpatchify and pass the image"
            )
        image = unpatchify(image[None], patch_size, side * patch_size)
    array = _image(image)
    height, width, channels = array.shape
    if height % patch_size or width % patch_size:
        raise ValueError(
            f"image of {height} x {width} is not a multiple of patch_size {patch_size}; try "
            f"{height // patch_size * patch_size} x {width // patch_size * patch_size}"
        )
    tiles = array.reshape(height // patch_size, patch_size, -1, patch_size, channels)
    return tiles.swapaxes(1, 2)  # (rows, P, cols, P, 3) -> (rows, cols, P, P, 3)


def _images(images: Tensor | Sequence[Tensor]) -> list[np.ndarray]:
    """Checked images as float arrays (H, W, 3) in [0, 1]."""
    if isinstance(images, (list, tuple)):
        return [array for item in images for array in _images(item)]
    array = images.detach().cpu() if isinstance(images, Tensor) else torch.as_tensor(np.asarray(images))
    array = array[None] if array.ndim == 3 else array
    shape = tuple(array.shape)
    if array.ndim != 4 or shape[1] not in (1, 3) or not array.numel():
        fix = "move the channels before height and width" if shape[-1:] == (3,) else "check the axes"
        raise ValueError(
            f"expected images of shape (3, H, W) or (n, 3, H, W), got {tuple(images.shape)}; {fix}"
        )
    if array.dtype == torch.uint8:
        array = array.float() / 255
    elif not array.is_floating_point():
        raise ValueError(
            f"expected images of dtype uint8, or float in [0, 1], got {array.dtype}; "
            "use images.to(torch.uint8)"
        )
    low, high = array.min().item(), array.max().item()
    if not (low >= -1e-3 and high <= 1 + 1e-3):
        standardised = low < 0 or high < 20
        fix = "are they standardised? Use vl.denormalize(images)" if standardised else "divide by 255"
        raise ValueError(f"expected float images in [0, 1], got values from {low:.3g} to {high:.3g}; {fix}")
    array = array.float().clamp(0, 1).permute(0, 2, 3, 1)  # (n, C, H, W) -> (n, H, W, C)
    return list(array.expand(-1, -1, -1, 3).numpy())


def _smooth(array: np.ndarray, sharp: int = 128) -> str:
    """Small pictures show their pixels; of larger ones, drawn at about their own size, none may get lost."""
    return "nearest" if max(array.shape[:2]) <= sharp else "antialiased"


def _aspect(arrays: Sequence[np.ndarray]) -> float:
    return max(array.shape[0] / array.shape[1] for array in arrays)


def _as_many(what: str, texts: Sequence[str] | None, n: int, of: str) -> Sequence[str]:
    texts = [""] * n if texts is None else texts
    if len(texts) != n:
        raise ValueError(f"expected {n} {what}, one for each of the {n} {of}, got {len(texts)}")
    return texts
