"""Draws the map of the ViT: the whole of it, and the strip that opens a chapter. One list of parts feeds both.

    python tools/draw_map.py        writes the stand-alone drawing, book/_static/figures/map.svg

The pages get theirs from `book/_ext/vitmap.py` when the book is built: the same drawings, as part of the page, with
links to the chapters. The photograph is cut and its tokens are computed as a ViT does it, with a random E and sin-cos
positions; nothing in the picture is trained. Colours are CSS variables (`book/_static/custom.css`), so that one
drawing serves light and dark pages.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "book" / "_static"
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',Arial,sans-serif"
SIDE, TOP, LEFT = 272, 28, 89  # the square cut from the photograph: the cat's face, as on the title page
GRID = 4  # patches to a side, as drawn
EYE = 5  # the patch that is followed through the embedding
ROWS = 6  # of a token's numbers are drawn
HERE = "you are here"
PILL = 96  # width of these words on their ground


@dataclass(frozen=True)
class Part:
    """One part of the ViT and the chapter that derives it.

    Attributes:
        number: the chapter's, two digits.
        page: its file in `book/`, without ending.
        name: as on the map.
        kind: its family, which gives it its colour: token, encoder, read, whole or train.
        gist: what it does, in a sentence.
        shapes: what goes in and what comes out, in the notation's letters.
        code: where it is in vitlib.
    """

    number: str
    page: str
    name: str
    kind: str
    gist: str
    shapes: str
    code: str


PARTS = (
    Part("01", "01-patchify", "Patchify", "token",
         "The photograph is cut into squares, and each square is laid out as a row of numbers.",
         "(B, C, H, W) → (B, N, P²C)", "`vl.patchify`"),
    Part("02", "02-patch-embedding", "Patch embedding", "token",
         "One matrix E, the same for all patches, makes each patch a token of width D.",
         "(B, N, P²C) → (B, N, D)", "`model.patch_embed`"),
    Part("03", "03-position", "Position", "token",
         "A vector for each place is added, since attention by itself does not know who stands where.",
         "(B, 1+N, D) + (1, 1+N, D)", "`model.pos_embed`"),
    Part("04", "04-resolution", "Resolution", "token",
         "For larger or oblong pictures the grid of position vectors is resampled in two dimensions.",
         "(1, 1+N, D) → (1, 1+N′, D)", "`vl.resample_pos_embed`"),
    Part("05", "05-attention", "Attention", "encoder",
         "Every token reads every token: h heads compare queries with keys and mix the values.",
         "(B, 1+N, D) → (B, 1+N, D)", "`block.attn`"),
    Part("06", "06-encoder", "Encoder", "encoder",
         "Norm, attention, norm, MLP, each beside a stream that is only ever added to; L blocks of it.",
         "(B, 1+N, D) → (B, 1+N, D)", "`model.blocks`"),
    Part("07", "07-cls-or-gap", "CLS or GAP", "read",
         "One vector speaks for the picture, the CLS token or the patches' mean, and a linear head names the class.",
         "(B, 1+N, D) → (B, D) → (B, K)", "`model.pool`, `model.head`"),
    Part("08", "08-whole-vit", "The whole ViT", "whole",
         "All parts in one model: how it starts, how many parameters it has, and what a picture costs.",
         "(B, C, H, W) → (B, K)", "`vl.VisionTransformer`"),
    Part("09", "09-training", "Training", "train",
         "The answer is compared with the label, and the gradient tells each parameter which way to go.",
         "(B, K), (B) → loss", "`vl.train_model`"),
)  # fmt: skip
BY_NUMBER = {part.number: part for part in PARTS}

# The colours of the stand-alone drawing; on the book's pages custom.css sets the same names for both themes.
LIGHT = {
    "ink": "#14171c", "soft": "#4f5964", "line": "#5d6874", "paper": "#ffffff", "rule": "#c9d1d9",
    "token": "#00639c", "token-back": "#eaf4fa", "encoder": "#006b50", "encoder-back": "#e8f5f0",
    "read": "#7d5200", "read-back": "#fbf2dc", "train": "#97286a", "train-back": "#fbedf5",
    "whole": "#3c4650", "whole-back": "#f4f6f8", "low": "#0072b2", "high": "#d55e00", "cls": "#e69f00",
    "lit-ink": "#ffffff",
}  # fmt: skip


@dataclass
class Scene:
    """What is drawn inside the parts: a photograph and the numbers a ViT makes of it."""

    photo: str  # data address of a JPEG
    tokens: np.ndarray  # (1+N, ROWS), after the embedding, before positions
    places: np.ndarray  # (1+N, ROWS), the position table
    flat: list[str]  # one patch as colours, drawn coarsely
    weights: np.ndarray  # (8, 8), attention of the first tokens with themselves


@cache
def scene(pixels: int = 160) -> Scene:
    """Cuts the photograph and makes tokens of it."""
    import cv2
    import torch

    import vitlib as vl

    photo = vl.sample_image("cat")[:, TOP : TOP + SIDE, LEFT : LEFT + SIDE].permute(1, 2, 0).numpy()
    photo = cv2.resize(photo, (pixels, pixels), interpolation=cv2.INTER_AREA)
    _, data = cv2.imencode(".jpg", photo[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 80])  # OpenCV writes BGR
    patches = vl.patchify(vl.normalize(torch.from_numpy(photo).permute(2, 0, 1)[None]), pixels // GRID)[0]
    generator = torch.Generator().manual_seed(1)
    E = torch.randn(patches.shape[1], ROWS, generator=generator) / patches.shape[1] ** 0.5
    tokens = (patches - patches.mean(0)) @ E  # (N, ROWS)
    cls = torch.randn(1, ROWS, generator=generator)
    places = vl.sincos_2d((GRID, GRID), 8)[
        :, [0, 1, 2, 4, 5, 6]
    ]  # (N, ROWS): sines and cosines of column and row
    tokens = torch.cat([cls, tokens / tokens.std()])  # (1+N, ROWS)
    (row, col), side = divmod(EYE, GRID), pixels // GRID
    coarse = cv2.resize(photo[row * side :, col * side :][:side, :side], (4, 4), interpolation=cv2.INTER_AREA)
    return Scene(
        photo="data:image/jpeg;base64," + base64.b64encode(data).decode(),
        tokens=tokens.numpy(),
        places=torch.cat([torch.zeros(1, ROWS), places]).numpy(),
        flat=["#" + "".join(f"{v:02x}" for v in pixel) for pixel in coarse.reshape(-1, 3)],
        weights=(tokens[:8] @ tokens[:8].T / ROWS**0.5).softmax(-1).numpy(),
    )


@dataclass
class Canvas:
    """An SVG that grows element by element.

    Attributes:
        width: of the drawing.
        address: gives a part's address, or None where there is no such page.
        lit: number of the part that is marked as the reader's place, "" for none.
        prefix: begins every id, so that several drawings can stand on one page.
        parts: its elements so far.
        here: where the words "you are here" go, on top of everything.
    """

    width: float
    address: Callable[[Part], str | None]
    lit: str = ""
    prefix: str = "map"
    parts: list[str] = field(default_factory=list)
    here: tuple[float, float] | None = None

    def add(self, text: str) -> None:
        self.parts.append(text)

    def rect(self, x, y, w, h, style="", rx=0.0, **more) -> None:
        extra = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
        rounded = f' rx="{rx:g}"' if rx else ""
        self.add(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}"{rounded} class="{style}"{extra}/>')

    def text(self, x, y, words, size=13.0, style="soft", anchor="start") -> None:
        at = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.add(f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" class="{style}"{at}>{escape(words)}</text>')

    def symbol(self, x, y, letter: str, below: str) -> None:
        """A letter with an index."""
        self.add(f'<text x="{x:g}" y="{y:g}" font-size="14" class="soft">{letter}'
                 f'<tspan dy="4" font-size="11">{below}</tspan></text>')  # fmt: skip

    def line(self, *points, tip=True, style="flow", more="") -> None:
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        end = f' marker-end="url(#{self.prefix}-tip)"' if tip else ""
        self.add(f'<path d="{path}" class="{style}"{end}{more}/>')

    def photo(self, x, y, size) -> None:
        self.add(f'<svg x="{x:g}" y="{y:g}" width="{size:g}" height="{size:g}" viewBox="0 0 {GRID} {GRID}">'
                 f'<use href="#{self.prefix}-photo"/></svg>')  # fmt: skip

    def patch(self, n, x, y, size) -> None:
        row, col = divmod(n, GRID)
        self.add(f'<svg x="{x:.4g}" y="{y:.4g}" width="{size:.3g}" height="{size:.3g}" '
                 f'viewBox="{col} {row} 1 1"><use href="#{self.prefix}-photo"/></svg>')  # fmt: skip

    def cut(self, x, y, size, gap) -> None:
        """The photograph as patches with gaps between them."""
        cell = (size - gap * (GRID - 1)) / GRID
        for n in range(GRID * GRID):
            row, col = divmod(n, GRID)
            self.patch(n, x + col * (cell + gap), y + row * (cell + gap), cell)

    def column(self, values, x, y, w, h) -> None:
        """A token as a column of coloured cells: the stronger the colour, the further from zero."""
        for i, value in enumerate(values):
            deep = min(1.0, abs(float(value)) / 1.8)
            self.rect(x, y + i * h, w, h - 0.6, "paper")
            self.rect(x, y + i * h, w, h - 0.6, "low" if value < 0 else "high", fill_opacity=f"{deep:.2f}")

    @contextmanager
    def part(
        self, number: str, x, y, w, h, rx=8.0, pill: tuple[float, float] | None = None, frame: bool = False
    ):
        """What is drawn inside belongs to this part: it is a link to its chapter, and lit if the reader is there.

        ``pill`` is where the words "you are here" go, if not under the part; a ``frame`` has nothing inside.
        """
        part = BY_NUMBER[number]
        lit = number == self.lit
        label = f"Chapter {part.number}, {part.name}: {part.gist}" + (f" ({HERE})" if lit else "")
        address = self.address(part)
        tag = "a" if address else "g"
        link = f' href="{escape(address)}"' if address else ' role="img"'
        here = ' aria-current="page"' if lit else ""
        style = f"part {part.kind}" + (" frame" if frame else "") + (" lit" if lit else "")
        self.add(f'<{tag}{link} class="{style}" data-part="{number}" aria-label="{escape(label)}"{here}>'
                 f"<title>{escape(label)}</title>")  # fmt: skip
        self.rect(x, y, w, h, "box", rx)
        yield
        self.add(f"</{tag}>")
        if lit:
            self.here = pill or (x + w / 2 - PILL / 2, y + h + 1)

    def head(self, number: str, x, y, size=14.0, name: str = "", anchor="start") -> None:
        """A part's number and name."""
        part = BY_NUMBER[number]
        at = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.add(f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" class="name"{at}>'
                 f'<tspan class="number">{number}</tspan> {escape(name or part.name)}</text>')  # fmt: skip

    def svg(self, height: float, label: str, style: str, alone: bool = False) -> str:
        if self.here:
            left, top = self.here
            self.rect(left, top, PILL, 19, "pill", 9.5)
            self.text(left + PILL / 2, top + 14, HERE, 12, "pill-text", "middle")
        look = f"<style>{stand_alone_style()}</style>" if alone else ""
        size = f' width="{2 * self.width:g}" height="{2 * height:g}"' if alone else ""
        back = f'<rect width="{self.width:g}" height="{height:g}" class="paper"/>' if alone else ""
        ground = f'class="vit-map {style}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {height:g}"{size} {ground} '
            f'role="group" aria-label="{escape(label)}" font-family="{FONT}">\n{look}{back}'
            f'<defs><marker id="{self.prefix}-tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" '
            'markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L10 5L0 10z" class="tip"/>'
            f'</marker><image id="{self.prefix}-photo" width="{GRID}" height="{GRID}" href="{scene().photo}"/></defs>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def stand_alone_style() -> str:
    """The rules of custom.css that the drawing needs where there is no page around it, with the light colours."""
    rules = (STATIC / "custom.css").read_text(encoding="utf-8")
    rules = rules.split("/* The map")[1].split("*/", 1)[1].split("/* End of the map")[0].rstrip()
    variables = "".join(f"--map-{name}:{value};" for name, value in LIGHT.items())
    return f"svg.vit-map{{{variables}}}" + " ".join(rules.split())


# The strip that opens a chapter


def strip_wide(c: Canvas) -> float:
    """For pages wider than a phone: one row, 760 wide."""
    c.rect(62, 2, 634, 96, "ground", 12)
    c.photo(0, 38, 48)
    c.line((49, 62), (73, 62))
    y, h = 36, 52
    box(c, "01", 76, y, 78, h, ["Patchify"])
    box(c, "02", 164, y, 92, h, ["Patch", "embedding"])
    box(c, "03", 266, y, 114, 24, ["Position"], 6, (278, y - 20))
    box(c, "04", 266, y + 28, 114, 24, ["Resolution"], 6)
    with c.part("06", 390, 11, 196, 80, 10):
        c.head("06", 402, 29, 13)
        c.text(576, 29, "× L", 12.5, "soft", "end")
    box(c, "05", 398, 38, 118, 44, ["Attention"], 8, (412, 84))
    c.rect(522, 38, 56, 44, "plain", 6)
    c.text(550, 64, "MLP", 12.5, "soft", "middle")
    box(c, "07", 596, y, 90, h, ["CLS", "or GAP"])
    with c.part("08", 62, 2, 634, 96, 12, (222, 9), frame=True):
        c.rect(70, 8, 148, 22, "hit")
        c.head("08", 76, 23)
    for a, b in ((154, 163), (256, 265), (380, 389), (586, 595), (696, 709)):
        c.line((a, 62), (b, 62))
    c.text(712, 60, "“cat”", 15, "name")
    c.text(712, 77, "class", 12, "soft")
    lit = c.lit == "09"
    c.line((734, 84), (734, 126), (604 + 60 * lit, 126), style="flow back")
    c.line((438, 126), (388, 126), (388, 100), style="flow back")
    with c.part("09", 440, 111, 162 + 60 * lit, 30, 8, (556, 116.5)):
        c.head("09", 452 if lit else 521, 131, 13, anchor="start" if lit else "middle")
    return 144


def strip_tall(c: Canvas) -> float:
    """For a phone: two rows, 358 wide."""
    c.rect(1, 2, 356, 204, "ground", 12)
    c.photo(10, 44, 44)
    y, h, low = 37, 56, 122
    box(c, "01", 64, y, 72, h, ["Patchify"], 8, (54, y + h + 1))
    box(c, "02", 145, y, 86, h, ["Patch", "embedding"])
    box(c, "03", 240, y, 107, 26, ["Position"], 6, (246, y - 20))
    box(c, "04", 240, y + 30, 107, 26, ["Resolution"], 6)
    with c.part("06", 10, low, 196, 76, 10):
        c.head("06", 20, low + 18, 13)
        c.text(197, low + 18, "× L", 12.5, "soft", "end")
    box(c, "05", 18, low + 27, 118, 41, ["Attention"])
    c.rect(142, low + 27, 56, 41, "plain", 6)
    c.text(170, low + 52, "MLP", 12.5, "soft", "middle")
    box(c, "07", 218, low + 10, 74, h, ["CLS", "or GAP"])
    with c.part("08", 1, 2, 356, 204, 12, (159, 10), frame=True):
        c.rect(8, 8, 148, 24, "hit")
        c.head("08", 13, 24, 14)
    for a, b in ((55, 63), (136, 144), (231, 239)):
        c.line((a, y + 28), (b, y + 28))
    c.line((347, y + 28), (352, y + 28), (352, 117), (108, 117), (108, low - 1))
    for a, b in ((206, 217), (292, 303)):
        c.line((a, low + 38), (b, low + 38))
    c.text(304, low + 43, "“cat”", 14, "name")
    lit = c.lit == "09"
    c.line((328, low + 52), (328, 236), (262 + 30 * lit, 236), style="flow back")
    c.line((98 - 34 * lit, 236), (20, 236), (20, 208), style="flow back")
    with c.part("09", 100 - 34 * lit, 221, 160 + 64 * lit, 30, 8, (188, 226.5)):
        c.head("09", 78 if lit else 180, 241, 13, anchor="start" if lit else "middle")
    return 254


def box(c: Canvas, number: str, x, y, w, h, lines: list[str], rx=8.0, pill=None) -> None:
    """A part of a strip: its number and its name, in one line or two."""
    with c.part(number, x, y, w, h, rx, pill):
        middle = x + w / 2
        if len(lines) == 1 and w >= 85:
            c.head(number, middle, y + h / 2 + 4.5, 13, lines[0], "middle")
        else:
            above = y + h / 2 + 4.5 - 7.5 * len(lines)
            c.add(f'<text x="{middle:g}" y="{above:g}" font-size="13" class="number" '
                  f'text-anchor="middle">{number}</text>')  # fmt: skip
            for i, word in enumerate(lines, 1):
                c.text(middle, above + 15 * i, word, 13, "name", "middle")


STRIPS = {"wide": (760, strip_wide), "tall": (358, strip_tall)}


def strip(lit: str, address: Callable[[Part], str | None], shape: str = "wide") -> str:
    """The strip that opens a chapter, with the part ``lit`` marked as the reader's place.

    Args:
        lit: number of a chapter, such as "05".
        address: gives a part's address, or None where there is no such page.
        shape: "wide" or "tall".
    """
    if lit and lit not in BY_NUMBER:
        raise ValueError(f"no part {lit!r} on the map; expected one of {', '.join(BY_NUMBER)}")
    width, draw = STRIPS[shape]
    c = Canvas(width, address, lit, f"strip-{shape}")
    height = draw(c)
    return c.svg(height, "Map of the Vision Transformer; each part leads to its chapter", f"strip {shape}")


# The whole map


def embedding(c: Canvas, x, y, size) -> None:
    """One patch, laid out as numbers, goes through E and is a token; ``size`` high."""
    n, s = EYE, scene()
    thumb = size * 0.6
    c.patch(n, x, y + (size - thumb) / 2, thumb)
    c.line((x + thumb + 3, y + size / 2), (x + thumb + 21, y + size / 2))
    flat = x + thumb + 26
    for i, colour in enumerate(s.flat):
        c.add(f'<rect x="{flat:g}" y="{y + i * size / 16:g}" width="16" height="{size / 16 - 0.6:.4g}" '
              f'fill="{colour}"/>')  # fmt: skip
    c.line((flat + 19, y + size / 2), (flat + 37, y + size / 2))
    c.rect(flat + 40, y + size * 0.08, size * 0.66, size * 0.84, "plain", 4)
    middle = flat + 40 + size * 0.33
    c.text(middle, y + size / 2 + 2, "E", 20, "name", "middle")
    c.text(middle, y + size / 2 + 20, "P²C × D", 12, "soft", "middle")
    right = flat + 40 + size * 0.66
    c.line((right + 4, y + size / 2), (right + 22, y + size / 2))
    c.column(s.tokens[1 + n], right + 26, y + size * 0.2, 18, size * 0.1)


def token_row(c: Canvas, x, y, pitch) -> float:
    """CLS and the patch tokens as columns of numbers; returns where they end."""
    s, w = scene(), pitch * 0.88
    c.rect(x, y, w, w, "cls", 3)
    for n in range(GRID * GRID):
        c.patch(n, x + (n + 1) * pitch, y, w)
    for n, values in enumerate(s.tokens):
        c.column(values, x + n * pitch, y + pitch, w, 8)
    return y + pitch + 8 * ROWS


def place_row(c: Canvas, x, y, pitch) -> None:
    """The position vectors, one under each token, with their numbers."""
    for n, values in enumerate(scene().places):
        c.column(values, x + n * pitch, y, pitch * 0.88, 8)
        c.text(x + n * pitch + pitch * 0.44, y + 8 * ROWS + 13, str(n), 11, "soft", "middle")


def regrid(c: Canvas, x, y, size) -> None:
    """A grid of position vectors, and the same one with more places."""
    for grid, left in ((4, x), (6, x + size + 24)):
        cell = size / grid
        for n in range(grid * grid):
            row, col = divmod(n, grid)
            deep = 0.15 + 0.75 * (row + col) / (2 * grid - 2)
            c.rect(
                left + col * cell,
                y + row * cell,
                cell - 1.2,
                cell - 1.2,
                "low",
                1.5,
                fill_opacity=f"{deep:.2f}",
            )
    c.line((x + size + 3, y + size / 2), (x + size + 21, y + size / 2))


def plus(c: Canvas, x, y) -> None:
    """A sum of two streams."""
    c.add(f'<circle cx="{x:g}" cy="{y:g}" r="11" class="plain"/>'
          f'<path d="M{x - 6:g} {y:g}h12M{x:g} {y - 6:g}v12" class="sign"/>')  # fmt: skip


def norm(c: Canvas, x, y) -> None:
    """Layer normalisation, centred at this point."""
    c.rect(x - 22, y - 20, 44, 40, "plain", 6)
    c.text(x, y + 5, "LN", 13.5, "name", "middle")


def attention(c: Canvas, x, y, size) -> None:
    """Queries, keys and values, and the table of weights; ``size`` is the table's side."""
    for i, name in enumerate("qkv"):
        c.rect(x, y + i * size * 0.36, 26, size * 0.3, "plain", 4)
        c.text(x + 13, y + i * size * 0.36 + size * 0.15 + 4.5, name, 13.5, "name", "middle")
    c.line((x + 29, y + size / 2), (x + 47, y + size / 2))
    left = x + 52
    for shift in (8, 4):  # the other heads
        c.rect(left + shift, y - shift, size, size, "plain")
    c.rect(left, y, size, size, "paper")
    weights = scene().weights
    cell = size / len(weights)
    for row, values in enumerate(weights):
        for col, value in enumerate(values):
            c.rect(left + col * cell, y + row * cell, cell - 0.5, cell - 0.5, "low",
                   fill_opacity=f"{min(1.0, float(value) * 2.2):.2f}")  # fmt: skip
    c.rect(left, y, size, size, "edge")


def mlp(c: Canvas, x, y, size) -> None:
    """A narrow layer, a wide one, a narrow one."""
    for shift, share in ((0, 0.4), (40, 1.0), (80, 0.4)):
        c.rect(x + shift, y + size * (1 - share) / 2, 16, size * share, "plain", 3)
    for shift in (18, 58):
        c.line((x + shift, y + size / 2), (x + shift + 20, y + size / 2))


def readers(c: Canvas, x, y, pitch, gap) -> None:
    """Two ways to read the tokens out: the first alone, or the mean of the others."""
    for i, pooled in enumerate((False, True)):
        for n in range(1 + GRID * GRID):
            full = (n > 0) == pooled
            style = ("low" if pooled else "cls") if full else "hollow"
            c.rect(x + n * pitch, y + i * gap, pitch * 0.8, pitch * 0.8, style, 2)


def answers(c: Canvas, x, y, w) -> None:
    """Class scores as bars."""
    for i, (name, share) in enumerate((("cat", 0.84), ("dog", 0.36), ("deer", 0.22))):
        top = y + 28 * i
        c.text(x, top + 11, name, 13.5, "name" if i == 0 else "soft")
        c.rect(x + 42, top, w - 42, 14, "rest", 4)
        c.rect(x + 42, top, (w - 42) * share, 14, "bar", 4, fill_opacity="1" if i == 0 else "0.6")


def full_wide(c: Canvas) -> float:
    """For pages wider than a phone, 760 wide: the way of a picture in five rows."""
    c.rect(4, 2, 752, 918, "ground", 14)
    # the photograph, cut, embedded
    c.text(28, 78, "Photograph", 14, "name")
    c.photo(28, 90, 120)
    c.text(88, 230, "(B, C, H, W)", 13, "soft", "middle")
    c.line((152, 150), (174, 150))
    with c.part("01", 176, 58, 166, 184):
        c.head("01", 188, 79)
        c.cut(199, 90, 120, 5)
        c.text(259, 232, "(B, N, P²C)", 13, "soft", "middle")
    c.line((344, 150), (366, 150))
    with c.part("02", 368, 58, 372, 184):
        c.head("02", 380, 79)
        embedding(c, 416, 90, 120)
        c.text(380, 232, "the same E for every patch", 13)
        c.text(728, 232, "(B, N, D)", 13, "soft", "end")
    # tokens and places
    c.line((560, 244), (560, 272))
    c.text(28, 296, "Tokens", 14, "name")
    c.text(28, 315, "CLS first, then one", 13)
    c.text(28, 332, "for each patch", 13)
    c.text(28, 354, "(B, 1+N, D)", 13)
    c.text(212, 274, "CLS, learned", 12.5, "soft")
    token_row(c, 212, 282, 26)
    c.line((656, 330), (706, 330), (706, 404))
    with c.part("03", 202, 376, 464, 116):
        c.head("03", 214, 397)
        c.text(654, 397, "(1, 1+N, D)", 13, "soft", "end")
        place_row(c, 212, 409, 26)
    with c.part("04", 20, 376, 166, 116):
        c.head("04", 32, 397)
        regrid(c, 46, 409, 46)
        c.text(103, 479, "a larger picture", 13, "soft", "middle")
    c.line((188, 430), (200, 430))
    c.line((667, 418), (693, 418))
    plus(c, 706, 418)
    c.line((706, 430), (706, 508), (36, 508), (36, 530), tip=False)
    c.rect(326, 499, 108, 18, "ground")
    c.text(380, 513, "z₀ (B, 1+N, D)", 13, "soft", "middle")
    # a block
    with c.part("06", 20, 526, 720, 236, 10):
        c.head("06", 54, 551)
        c.text(728, 551, "one block; L of them, one after the other", 13, "soft", "end")
        norm(c, 78, 664)
        c.rect(494, 606, 164, 142, "plain", 8)
        c.text(506, 627, "MLP", 14, "name")
        mlp(c, 526, 634, 74)
        c.text(576, 730, "D → 4D, GELU, → D", 13, "soft", "middle")
        norm(c, 454, 664)
    with c.part("05", 116, 606, 262, 142):
        c.head("05", 128, 627)
        c.text(366, 627, "h heads", 13, "soft", "end")
        attention(c, 130, 643, 68)
        c.text(272, 672, "mixes the", 13)
        c.text(272, 689, "values v", 13)
        c.text(247, 737, "softmax(q kᵀ / √d) v", 13, "soft", "middle")
    c.line((36, 508), (36, 580), tip=False)
    c.line((36, 580), (718, 580), (718, 774), (50, 774), (50, 800), style="flow stream")
    for x in (78, 454):
        c.line((x, 580), (x, 642))
        c.line((x + 22, 664), (x + 37, 664))
    for start, x in ((378, 402), (658, 686)):
        c.line((start, 664), (x, 664), (x, 593))
        plus(c, x, 580)
    c.symbol(44, 570, "z", "ℓ−1")
    c.symbol(424, 569, "z′", "ℓ")
    c.symbol(700, 569, "z", "ℓ")
    # what is read out
    norm(c, 50, 824)
    c.line((73, 824), (90, 824))
    with c.part("07", 92, 788, 456, 122):
        c.head("07", 104, 809)
        readers(c, 106, 824, 12.8, 32)
        c.text(330, 834, "token 0, or", 13)
        c.text(330, 866, "the others’ mean", 13)
        c.text(106, 898, "(B, 1+N, D) → y (B, D) → (B, K)", 13)
        c.rect(464, 816, 74, 58, "plain", 6)
        c.text(501, 841, "Head", 13.5, "name", "middle")
        c.text(501, 860, "D → K", 13, "soft", "middle")
    with c.part("08", 4, 2, 752, 918, 14, frame=True):
        c.rect(14, 12, 200, 30, "hit")
        c.head("08", 22, 33, 17)
        c.text(738, 33, "(B, C, H, W) → (B, K)", 13.5, "soft", "end")
    c.line((548, 846), (566, 846))
    answers(c, 574, 810, 166)
    c.text(657, 904, "(B, K)", 13, "soft", "middle")
    # training
    c.line((657, 912), (657, 944), style="flow back")
    with c.part("09", 20, 946, 720, 56):
        c.head("09", 34, 979)
        c.text(
            726,
            979,
            "cross-entropy with the label; its gradient goes back through every part",
            13,
            "soft",
            "end",
        )
    c.line((80, 945), (80, 923), style="flow back")
    return 1006


def full_tall(c: Canvas) -> float:
    """For a phone, 358 wide: the same from top to bottom."""
    c.rect(1, 2, 356, 1342, "ground", 12)
    c.text(14, 72, "Photograph", 14, "name")
    c.photo(14, 84, 132)
    c.text(80, 235, "(B, C, H, W)", 13, "soft", "middle")
    c.line((150, 150), (170, 150))
    with c.part("01", 172, 52, 174, 194):
        c.head("01", 184, 73)
        c.cut(193, 84, 132, 5)
        c.text(259, 235, "(B, N, P²C)", 13, "soft", "middle")
    c.line((259, 246), (259, 264))
    with c.part("02", 12, 266, 334, 178):
        c.head("02", 24, 287)
        embedding(c, 28, 300, 110)
        c.text(24, 432, "the same E for every patch", 13)
        c.text(334, 432, "(B, N, D)", 13, "soft", "end")
    c.line((179, 444), (179, 462))
    c.text(14, 476, "Tokens", 14, "name")
    c.text(346, 476, "(B, 1+N, D)", 13, "soft", "end")
    token_row(c, 14, 488, 19.6)
    c.text(14, 575, "CLS, learned, then one for each patch", 13)
    plus(c, 179, 596)
    with c.part("03", 8, 616, 342, 112):
        c.head("03", 20, 637)
        c.text(338, 637, "(1, 1+N, D)", 13, "soft", "end")
        place_row(c, 14, 649, 19.6)
    c.line((100, 750), (100, 730))
    with c.part("04", 12, 752, 206, 108):
        c.head("04", 24, 773)
        regrid(c, 62, 783, 44)
        c.text(115, 849, "a larger picture", 13, "soft", "middle")
    c.line((282, 728), (282, 876), (38, 876), (38, 930), tip=False)
    c.rect(231, 780, 104, 18, "ground")
    c.text(282, 794, "z₀ (B, 1+N, D)", 13, "soft", "middle")
    with c.part("06", 12, 886, 334, 300, 10):
        c.head("06", 60, 909)
        c.text(335, 909, "one block, × L", 13, "soft", "end")
        norm(c, 88, 940)
        norm(c, 88, 1090)
        c.rect(126, 1070, 210, 104, "plain", 8)
        c.text(138, 1091, "MLP", 14, "name")
        mlp(c, 190, 1078, 66)
        c.text(231, 1163, "D → 4D, GELU, → D", 13, "soft", "middle")
    with c.part("05", 126, 920, 210, 134):
        c.head("05", 138, 941)
        c.text(326, 941, "h heads", 13, "soft", "end")
        attention(c, 140, 957, 62)
        c.text(270, 982, "mixes", 13)
        c.text(270, 999, "values v", 13)
        c.text(231, 1043, "softmax(q kᵀ / √d) v", 13, "soft", "middle")
    c.line((38, 886), (38, 1230), style="flow stream")
    for y, end in ((940, 1030), (1090, 1154)):
        c.line((38, y), (65, y))
        c.line((110, y), (124, y))
        c.line((126, end), (52, end))
        plus(c, 38, end)
    norm(c, 38, 1252)
    c.line((61, 1252), (74, 1252))
    with c.part("07", 76, 1202, 270, 136):
        c.head("07", 88, 1223)
        readers(c, 90, 1235, 8.9, 17)
        c.text(88, 1282, "token 0, or", 13)
        c.text(88, 1299, "the others’ mean", 13)
        c.text(88, 1326, "y (B, D) → (B, K)", 13)
        c.rect(258, 1238, 76, 56, "plain", 6)
        c.text(296, 1262, "Head", 13.5, "name", "middle")
        c.text(296, 1281, "D → K", 13, "soft", "middle")
    with c.part("08", 1, 2, 356, 1342, 12, frame=True):
        c.rect(8, 10, 200, 30, "hit")
        c.head("08", 13, 32, 16)
    c.line((296, 1338), (296, 1364))
    answers(c, 150, 1370, 196)
    c.line((240, 1452), (240, 1472), style="flow back")
    with c.part("09", 12, 1474, 334, 78):
        c.head("09", 24, 1496)
        c.text(24, 1518, "cross-entropy with the label; its", 13)
        c.text(24, 1536, "gradient goes back through every part", 13)
    c.line((60, 1473), (60, 1347), style="flow back")
    return 1556


WHOLE = {"wide": (760, full_wide), "tall": (358, full_tall)}


def whole(address: Callable[[Part], str | None], shape: str = "wide", alone: bool = False) -> str:
    """The whole map.

    Args:
        address: gives a part's address, or None where there is no such page.
        shape: "wide" or "tall".
        alone: with its own colours and size, as a file.
    """
    width, draw = WHOLE[shape]
    c = Canvas(width, address, "", f"whole-{shape}")
    height = draw(c)
    return c.svg(height, "Map of the Vision Transformer, from photograph to class", f"whole {shape}", alone)


def main() -> int:
    """Writes the stand-alone drawing and returns the exit status."""
    path = STATIC / "figures" / "map.svg"
    path.write_text(whole(lambda part: None, alone=True), encoding="utf-8", newline="\n")
    print(f"Wrote {path.relative_to(ROOT)}, {path.stat().st_size / 1e3:.0f} kB.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
