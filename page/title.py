"""Draws the title page's picture from a trained model: book/_static/figures/title-*.svg, book/_static/cover.png.

    python -m page.title

A photograph, its patches, the tokens the model makes of them, how much of each patch reaches the vector that the head
reads (attention rollout), and what the model says. Every pixel, colour cell and line is a value of that model; nothing
is sketched. Four drawings hold the same: wide and tall, for light and for dark pages. The cover, for README and link
previews, is a screenshot of the wide light one and is made where Chrome or Chromium is found.
"""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import torch
from einops import rearrange
from torch import Tensor

import vitlib as vl
from page.browser import chromium, launched
from page.explorers import MODEL, PICTURE

STATIC = Path(__file__).resolve().parents[1] / "book" / "_static"
ROWS = 10  # of a token's numbers are drawn
FINE = 256  # pixels of the photograph's side as it is shown
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',Arial,sans-serif"
NAMES = "card rule ink soft zero low high cls line bar rest"
LIGHT = "#fbfcfd #dfe4ea #14171c #4f5964 #ffffff #0072b2 #d55e00 #e69f00 #c04f00 #0072b2 #c3ccd5"
DARK = "#1b2027 #3a434f #f2f5f8 #a9b4c0 #1b2027 #56b4e9 #f0a04a #e69f00 #f0b04a #56b4e9 #4a5562"
THEMES = {
    name: dict(zip(NAMES.split(), colours.split(), strict=True))
    for name, colours in (("light", LIGHT), ("dark", DARK))
}
LIT = "lit: the patches that arrive most"


def observe() -> SimpleNamespace:
    """What the model makes of the photograph: its tokens (T, D), and how much of each patch (N,) is read."""
    model, _ = vl.load_pretrained(MODEL)
    cfg = model.cfg
    # the explorers' cut
    photo, small = (vl.sample_image(PICTURE, side) for side in (FINE, cfg.img_size))
    images = vl.normalize(small[None])  # (1, 3, 32, 32)
    with torch.no_grad():
        tokens = model.embed(images)[0]  # (T, D)
        rollout = vl.attention_rollout(model.attention_maps(images))[0]  # (T, T)
        probs = model(images).softmax(-1)[0]  # (K,)
    reach = rollout[1:].mean(0)[1:]  # (N,): the head reads the mean of the patches
    reach = (reach / reach.sum()).numpy()
    photo = photo.permute(1, 2, 0).numpy()
    patches = rearrange(
        small.numpy(),
        "c (h p) (w q) -> (h w) p q c",
        p=cfg.patch_size,
        q=cfg.patch_size,
    )
    best = probs.topk(3)
    return SimpleNamespace(
        photo=data_uri(photo, "jpeg"),
        lit=data_uri(spotlight(photo, reach.reshape(cfg.grid)), "jpeg"),
        patches=[data_uri(patch) for patch in patches],
        pixels=cfg.img_size,
        grid=cfg.grid[0],
        tokens=tokens.numpy(),
        reach=reach,
        answers=[
            (vl.CIFAR10_CLASSES[i], p)
            for p, i in zip(*map(Tensor.tolist, best), strict=True)
        ],
        depth=cfg.depth,
    )


def data_uri(rgb: np.ndarray, kind: str = "png") -> str:
    """An image as text that an SVG can hold."""
    options = (
        [cv2.IMWRITE_PNG_COMPRESSION, 9]
        if kind == "png"
        else [cv2.IMWRITE_JPEG_QUALITY, 88]
    )
    _, data = cv2.imencode(f".{kind}", rgb[..., ::-1], options)  # OpenCV writes BGR
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def spotlight(
    photo: np.ndarray, reach: np.ndarray, floor: float = 0.22, gamma: float = 0.75
) -> np.ndarray:
    """The photograph, darker where less of it reaches the head: uint8 (256, 256, 3)."""
    mask = cv2.resize(
        reach.astype(np.float32), (FINE, FINE), interpolation=cv2.INTER_CUBIC
    )
    mask = np.clip((mask - mask.min()) / (np.quantile(mask, 0.98) - mask.min()), 0, 1)
    return (photo * (floor + (1 - floor) * mask[..., None] ** gamma)).astype(np.uint8)


def colours(values: np.ndarray, theme: dict[str, str]) -> np.ndarray:
    """Numbers as colours: low, through zero, to high: (rows, cols) -> uint8 (rows, cols, 3)."""
    low, zero, high = (
        np.array(list(bytes.fromhex(theme[k][1:]))) for k in ("low", "zero", "high")
    )
    t = np.clip(values / np.quantile(np.abs(values), 0.97), -1, 1)[..., None]
    mixed = zero + np.maximum(t, 0) * (high - zero) + np.maximum(-t, 0) * (low - zero)
    return mixed.round().astype(np.uint8)


class Drawing:
    """An SVG that grows element by element; `size` is that of its words."""

    def __init__(
        self,
        scene: SimpleNamespace,
        theme: dict[str, str],
        width: int,
        height: int,
        size: float,
    ) -> None:
        self.scene, self.theme, self.size = scene, theme, size
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="{FONT}" role="img">',
            f"<title>{title(scene)}</title>",
            '<defs><marker id="tip" viewBox="0 0 10 10" refX="7" refY="5" markerWidth="5.5" markerHeight="5.5" '
            f'orient="auto"><path d="M0 0L10 5L0 10z" fill="{theme["soft"]}"/></marker></defs>',
        ]
        box = {
            "x": 0.5,
            "y": 0.5,
            "width": width - 1,
            "height": height - 1,
            "rx": size * 0.7,
        }
        self.add("rect", **box, fill=theme["card"], stroke=theme["rule"])

    def add(self, tag: str, words: str | None = None, **attributes) -> None:
        """An element; numbers are written short, and `_` in a name stands for `-`."""
        short = {
            k: f"{v:g}" if isinstance(v, float | int) else v
            for k, v in attributes.items()
        }
        head = " ".join(
            [
                tag,
                *(
                    f'{name.replace("_", "-")}="{value}"'
                    for name, value in short.items()
                ),
            ]
        )
        self.parts.append(f"<{head}/>" if words is None else f"<{head}>{words}</{tag}>")

    def text(
        self, x, y, words: str, size=0.87, colour="soft", weight=400, anchor="start"
    ) -> None:
        look = {
            "fill": self.theme[colour],
            "font_weight": weight,
            "text_anchor": anchor,
        }
        self.add("text", words, x=x, y=y, font_size=self.size * size, **look)

    def step(self, x, y, number: int, words: str) -> None:
        r = self.size * 0.78
        self.add(
            "circle", cx=x + r, cy=y - self.size * 0.36, r=r, fill=self.theme["ink"]
        )
        self.text(x + r, y, str(number), 0.92, "card", 700, "middle")
        self.text(x + 2.5 * r, y, words, 1.08, "ink", 650)

    def image(self, x, y, width, height, uri: str) -> None:
        crisp = {"style": "image-rendering:pixelated"} if "image/png" in uri else {}
        self.add(
            "image",
            x=x,
            y=y,
            width=width,
            height=height,
            preserveAspectRatio="none",
            href=uri,
            **crisp,
        )

    def patches(self, x, y, side, gap, every: bool) -> None:
        """The image cut up: each patch its own pixels, numbered in reading order."""
        n = self.scene.grid
        cell = (side - gap * (n - 1)) / n
        edge = dict(
            fill="#fff",
            stroke="#000",
            stroke_opacity=0.6,
            stroke_width=2,
            paint_order="stroke",
        )
        for i, uri in enumerate(self.scene.patches):
            px, py = x + i % n * (cell + gap), y + i // n * (cell + gap)
            self.image(px, py, cell, cell, uri)
            if every or i in (0, 1, n - 1, n, n * n - 1):
                at = dict(
                    x=px + cell / 2,
                    y=py + cell * 0.66,
                    font_size=cell * (0.42 if every else 0.56),
                )
                self.add(
                    "text",
                    str(i + 1),
                    **at,
                    **edge,
                    text_anchor="middle",
                    font_weight=600,
                )

    def tokens(self, x, y, width, gap, height) -> None:
        """Each token as a column under its patch, and a line to what the head reads, the thicker the more arrives."""
        scene, theme, step = self.scene, self.theme, width / len(self.scene.tokens)
        thumb, top, cells = step * 0.86, y + step * 1.05, ROWS * 6
        self.add(
            "rect",
            x=x,
            y=y,
            width=thumb,
            height=thumb,
            rx=step * 0.2,
            fill=theme["cls"],
        )
        for n, uri in enumerate(scene.patches, 1):
            self.image(x + n * step, y, thumb, thumb, uri)
        table = colours(scene.tokens[:, :ROWS].T, theme)  # (ROWS, T, 3)
        for n in range(len(scene.tokens)):
            self.image(x + n * step, top, thumb, cells, data_uri(table[:, n : n + 1]))
        y = top + cells + gap
        share = (scene.reach - scene.reach.min()) / np.ptp(scene.reach)
        # gathered in one point
        start, bend, back = (
            x + width / 2,
            y + height * 0.7,
            y + height * 0.3,
        )
        for n in np.argsort(scene.reach):
            end, s = x + (n + 1.43) * step, share[n] ** 1.5
            curve = f"M{end:.1f} {y:g}C{end:.1f} {bend:.1f} {start:.1f} {back:.1f} {start:.1f} {y + height:g}"
            wide, opaque = f"{0.4 + self.size * 0.16 * s:.2f}", f"{0.12 + 0.78 * s:.2f}"
            look = {
                "stroke": theme["line"],
                "stroke_width": wide,
                "stroke_opacity": opaque,
            }
            self.add("path", d=curve, fill="none", **look, stroke_linecap="round")

    def answers(self, x, y, width, row) -> None:
        """The three likeliest classes as bars."""
        for i, (name, p) in enumerate(self.scene.answers):
            top, ink, weight, bar = (
                y + i * row,
                *(("soft", 400, "rest") if i else ("ink", 650, "bar")),
            )
            self.text(x, top, name, 1, "ink", weight)
            self.text(x + width, top, f"{100 * p:.0f} %", 1, ink, weight, "end")
            box = {
                "x": x,
                "y": top + self.size * 0.45,
                "height": self.size * 0.5,
                "rx": self.size * 0.25,
            }
            for length, colour in (
                (width, "rule"),
                (max(self.size * 0.3, width * p), bar),
            ):
                self.add("rect", **box, width=length, fill=self.theme[colour])


def title(scene: SimpleNamespace) -> str:
    """The picture in a sentence."""
    return (
        f"A photograph is cut into {len(scene.reach)} patches, which become tokens; attention carries them to "
        f"the mean; the most of the lit part arrives, and the model says {scene.answers[0][0]}."
    )


def wide(scene: SimpleNamespace, theme: dict[str, str]) -> str:
    """The drawing for a wide page."""
    d = Drawing(scene, theme, 1120, 672, 20)
    count, width = scene.tokens.shape
    d.step(34, 46, 1, "Photograph")
    d.image(34, 66, 300, 300, scene.photo)
    d.text(34, 392, f"the model gets {scene.pixels} × {scene.pixels} pixels")
    d.step(404, 46, 2, "Patches")
    d.patches(404, 66, 300, 4, every=True)
    d.text(404, 392, f"{scene.grid} × {scene.grid} of them, read like a page")
    d.step(34, 446, 3, "Tokens")
    d.text(
        34,
        477,
        f"CLS, then one for each patch: {count} columns of {width} numbers, {ROWS} drawn",
    )
    d.tokens(34, 491, 670, 3, 70)
    d.text(
        34,
        655,
        f"{scene.depth} blocks later: the thicker, the more of a patch has reached the mean",
    )
    d.step(786, 46, 4, "Attention")
    d.image(786, 66, 300, 300, scene.lit)
    d.text(786, 392, LIT)
    d.step(786, 446, 5, "Answer")
    d.answers(786, 494, 300, 60)
    look = {"stroke_width": 2.6, "stroke_linejoin": "round", "marker_end": "url(#tip)"}
    for path in (
        "M346 216L390 216",
        "M554 404L554 446",
        "M714 522L744 522L744 216L774 216",
    ):
        d.add("path", d=path, fill="none", stroke=theme["soft"], **look)
    return "\n".join([*d.parts, "</svg>", ""])


def tall(scene: SimpleNamespace, theme: dict[str, str]) -> str:
    """The drawing for a phone."""
    d = Drawing(scene, theme, 390, 716, 14.5)
    count, width = scene.tokens.shape
    d.step(14, 34, 1, "Photograph")
    d.image(14, 48, 170, 170, scene.photo)
    d.step(206, 34, 2, "Patches")
    d.patches(206, 48, 170, 2.4, every=False)
    d.step(14, 258, 3, "Tokens")
    d.text(14, 281, f"{count} columns of {width} numbers, {ROWS} drawn", 0.9)
    d.tokens(14, 292, 362, 2, 62)
    d.text(14, 447, "thicker: more of a patch reaches the mean", 0.9)
    d.step(14, 494, 4, "Attention")
    d.image(14, 508, 170, 170, scene.lit)
    d.step(206, 494, 5, "Answer")
    d.answers(206, 528, 170, 56)
    d.text(14, 698, LIT, 0.9)
    return "\n".join([*d.parts, "</svg>", ""])


def main() -> None:
    """Draws all of it; the cover, 1200 by 720 pixels, if there is a browser to make it."""
    scene, folder = observe(), STATIC / "figures"
    for mode, theme in THEMES.items():
        for draw in (wide, tall):
            path = folder / f"title-{draw.__name__}-{mode}.svg"
            path.write_text(draw(scene, theme), encoding="utf-8", newline="\n")
    if chromium():
        with launched() as browser:
            tab = browser.new_page(viewport={"width": 1200, "height": 720})
            tab.goto((folder / "title-wide-light.svg").as_uri())
            tab.screenshot(path=STATIC / "cover.png")
    print(
        f"{title(scene)}\n" + "; ".join(f"{name} {p:.1%}" for name, p in scene.answers)
    )


if __name__ == "__main__":
    main()
