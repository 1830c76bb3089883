"""The house style: cards, panels and sheets."""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib import rc_context, rcParams
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from torch import Tensor

__all__ = ["PALETTE", "use_style"]


CARD, INK, FAINT = "#fbfcfd", "#23272e", "#d5dbe2"
#: The colours of curves, in order: Okabe and Ito's, without their yellow. Source: chapter 01.
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
    """Give your own matplotlib figures the house style; those of this module have it anyway.

    Source: chapter 01.
    """
    rcParams.update(STYLE)


def head(ax, ylabel: str, title: str = "") -> None:
    """Above the axes, the y axis' name read level, and over it a title."""
    ax.annotate(ylabel, (0, 1), xytext=(0, 7), xycoords="axes fraction", textcoords="offset points")
    if title:
        ax.set_title(title, loc="left", weight="bold", pad=26)


def legend(fig: Card, handles: Sequence[Line2D]) -> None:
    """Names above the axes, in as few equal rows as there is room for."""
    widths = [0.62 + LETTER * len(str(line.get_label())) for line in handles]
    rows = -int(-sum(widths) // (WIDTH - 2 * MARGIN))
    fig.legend(
        handles=list(handles), loc="outside upper left", ncols=-(-len(handles) // rows), columnspacing=1.2
    )


def check_count(series: Mapping) -> None:
    if not 1 <= len(series) <= len(PALETTE):
        raise ValueError(
            f"expected 1 to {len(PALETTE)} curves, got {len(series)}; more cannot be told apart, "
            "so draw two figures"
        )


def as_classes(what: str, values: Tensor, n: int, k: int) -> np.ndarray:
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


def fit_grid(n: int, grid: tuple[int, int] | None) -> tuple[int, int]:
    """(rows, cols) of n patches."""
    rows, cols = (round(n**0.5),) * 2 if grid is None else grid
    if rows * cols != n:
        fix = "pass grid=model.cfg.grid" if grid is None else "is CLS still among them? Take [1:]"
        raise ValueError(f"expected {rows} x {cols} = {rows * cols} patches, got {n}; {fix}")
    return rows, cols


def as_image(image: Tensor) -> np.ndarray:
    arrays = as_images(image)
    if len(arrays) != 1:
        raise ValueError(f"expected one image (3, H, W), got {len(arrays)}; take images[0]")
    return arrays[0]


def panels(
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


def sheet(maps: Tensor, gap: int, side: float = 9.0, right: float = 0.0, **style):
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


def as_images(images: Tensor | Sequence[Tensor]) -> list[np.ndarray]:
    """Checked images as float arrays (H, W, 3) in [0, 1]."""
    if isinstance(images, (list, tuple)):
        return [array for item in images for array in as_images(item)]
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


def smooth(array: np.ndarray, sharp: int = 128) -> str:
    """Small pictures show their pixels; of larger ones, drawn at about their own size, none may get lost."""
    return "nearest" if max(array.shape[:2]) <= sharp else "antialiased"


def aspect_of(arrays: Sequence[np.ndarray]) -> float:
    return max(array.shape[0] / array.shape[1] for array in arrays)


def as_many(what: str, texts: Sequence[str] | None, n: int, of: str) -> Sequence[str]:
    texts = [""] * n if texts is None else texts
    if len(texts) != n:
        raise ValueError(f"expected {n} {what}, one for each of the {n} {of}, got {len(texts)}")
    return texts
