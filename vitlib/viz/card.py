"""The card each figure is drawn on, not from the paper; panels of images and small text on it."""

from __future__ import annotations

import functools
import io
import itertools
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.image import AxesImage
from matplotlib.layout_engine import ConstrainedLayoutEngine

from vitlib.viz.style import DPI, INNER_WIDTH, MARGIN, NARROW, SMALL, STYLE, WIDTH

# letters stay letters; the same card, the same file
SVG = {
    "svg.fonttype": "none",
    "svg.hashsalt": "card",
}


class Card(Figure):
    """A figure that is drawn in the house style, and that a notebook shows whole, sharp and once."""

    def __init__(self, height: float | int, **layout) -> None:
        x, y = MARGIN / WIDTH, MARGIN / height
        self.engine = ConstrainedLayoutEngine(
            rect=(x, y, 1 - 2 * x, 1 - 2 * y), **layout
        )
        with rc_context(STYLE):
            super().__init__(figsize=(WIDTH, height), layout=self.engine)

    @rc_context(STYLE)  # ticks are made as late as this
    def draw(self, renderer) -> None:
        super().draw(renderer)

    @rc_context(STYLE)
    def _ipython_display_(self) -> None:
        """IPython asks this first, before the formatter of pyplot, which would crop the card."""
        from IPython.display import display

        display({"text/plain": repr(self), "image/svg+xml": self.svg()}, raw=True)

    @rc_context(STYLE | SVG)
    def svg(self) -> str:
        """The card as SVG; curves bring a narrow form along, for phones, in its metadata (page/drawings.py)."""
        pictures = {
            picture: picture.get_interpolation() for picture in self.findobj(AxesImage)
        }
        for picture in (
            pictures
        ):  # keeps its own pixels, which a page enlarges, or is made smaller
            if (
                picture.get_size()[1]
                <= 2.6 * 96 * picture.get_window_extent().width / self.dpi
            ):  # type: ignore
                picture.set_interpolation("none")
        svg = self._svg()
        for picture, interpolation in pictures.items():
            picture.set_interpolation(interpolation)
        if not pictures and all(
            ax.axison and ax.get_aspect() == "auto" for ax in self.axes
        ):
            self.set_figwidth(NARROW)
            with warnings.catch_warnings(action="ignore"):  # axes that find no room
                narrow = self._svg()
            if self._is_legible():
                svg = svg.replace(
                    "</metadata>", narrow[narrow.index("<svg") :] + "</metadata>", 1
                )
            self.set_figwidth(WIDTH)
        return svg

    def _svg(self) -> str:
        """One SVG; its coverage is what is drawn on it: left, top, right and bottom in points."""
        buffer, reach = io.StringIO(), "left top right bottom"
        self.savefig(
            buffer, format="svg", dpi=2 * 96, metadata={"Date": None, "Coverage": reach}
        )
        # in inches, as it was laid out just now
        drawn, height = (
            self.get_tightbbox(),
            self.get_figheight(),
        )
        edges = (drawn.x0, height - drawn.y1, drawn.x1, height - drawn.y0)
        svg = buffer.getvalue().replace(
            reach, " ".join(f"{72 * edge:.0f}" for edge in edges), 1
        )
        return svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")

    def _is_legible(self) -> bool:
        """Whether nothing reaches beyond the card, and no tick's label into the next one's."""
        rows = [
            [label.get_window_extent() for label in ax.get_xticklabels()]
            for ax in self.axes
        ]
        apart = all(a.x1 < b.x0 for row in rows for a, b in itertools.pairwise(row))
        return apart and bool(self.get_tightbbox().width <= self.get_figwidth())


@functools.cache
def _letters() -> set[int]:
    """What the fonts can draw, and the end of a line."""
    return {ord("\n")}.union(
        *(get_font(findfont(font)).get_charmap() for font in STYLE["font.family"])
    )


def drawable(texts: Iterable[str]) -> list[str]:
    """Texts that hold no formula, with the codes of letters that no font has, which would be boxes."""
    plain = (text.replace("$", r"\$") for text in texts)
    return [
        "".join(x if ord(x) in _letters() else ascii(x)[1:-1] for x in text)
        for text in plain
    ]


def text_size(texts: Iterable[str], **font) -> np.ndarray:
    """Width of the widest and height of the tallest of some texts, in inches, (2,)."""
    card = Card(1)
    sizes = [
        card.text(0, 0, text, **font).get_window_extent().size / DPI for text in texts
    ]
    return np.max([(0.0, 0.0), *sizes], axis=0)


def small_text(ax: Axes, x: float | int, y: float | int, text: object, **font) -> None:
    """Small text with its middle at (x, y), unless `font` says otherwise."""
    style: dict[str, Any] = {"size": SMALL, "ha": "center", "va": "center"} | font
    ax.text(x, y, str(text), **style)


def panels(
    n: int,
    cols: int | None,
    aspect: float,
    titles: Sequence[str] = (),
    xlabels: Sequence[str] = (),
    *,
    max_cols: int,
    max_side: float = 2.6,
) -> tuple[Card, list[Axes]]:
    """A card with n bare axes, `cols` in a row, or evenly as many as their titles leave room for, up to `max_cols`."""
    titles, xlabels = drawable(titles), drawable(xlabels)
    (width, above), (_, below) = text_size(titles), text_size(xlabels)
    if cols is None:
        cols = max(1, min(n, max_cols, int(INNER_WIDTH / (width + 0.08))))
        cols = -(-n // -(-n // cols))
    rows = -(-n // cols)
    side = min(max_side, INNER_WIDTH / cols - 0.08)
    height = rows * (side * aspect + 1.2 * (above + below) + 0.17) + 2 * MARGIN
    card = Card(height, compress=True, w_pad=0.05, h_pad=0.09)
    axes = [card.add_subplot(rows, cols, i + 1, xticks=[], yticks=[]) for i in range(n)]
    for i, ax in enumerate(axes):
        ax.set(title=titles[i] if titles else "", xlabel=xlabels[i] if xlabels else "")
        ax.spines[:].set_visible(False)
    return card, axes


def draw_pixels(ax: Axes, image: np.ndarray, sharp: int = 128, **where) -> None:
    """Small images show their pixels; of larger ones, drawn at about their own size, none may get lost."""
    ax.imshow(
        image,
        interpolation="nearest" if max(image.shape[:2]) <= sharp else "antialiased",
        **where,
    )


def image_panels(
    images: Sequence[np.ndarray], cols: int | None, *texts: Sequence[str], max_cols: int
) -> tuple[Card, list[Axes]]:
    """Panels that hold images (H, W, 3), under their titles and above their x labels."""
    aspect = max(image.shape[0] / image.shape[1] for image in images)
    card, axes = panels(len(images), cols, aspect, *texts, max_cols=max_cols)
    for ax, image in zip(axes, images, strict=True):
        draw_pixels(ax, image)
    return card, axes
