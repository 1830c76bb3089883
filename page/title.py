"""Draws the title page's picture from a trained model: book/_static/figures/title-*.svg, book/_static/cover.png.

    python -m page.title [name of a pretrained model]

A photograph, its patches, the tokens the model makes of them, how much of each patch reaches the vector that the head
reads (attention rollout), and what the model says. Every pixel, colour cell and line is a value of that model; nothing
is sketched. Four drawings hold the same: wide and tall, for light and for dark pages. The cover, for README and link
previews, is a screenshot of the wide light one and is made where Chrome or Chromium is found.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch

import vitlib as vl

STATIC = Path(__file__).resolve().parents[1] / "book" / "_static"
ROWS = 10  # of a token's numbers are drawn
SIDE, TOP, LEFT = 272, 28, 89  # the square cut from the photograph, so that the cat's face fills it
FINE = (256, 256)  # pixels of the photograph as it is shown
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',Arial,sans-serif"
NAMES = "card rule ink soft zero low high cls line bar rest"
LIGHT = "#fbfcfd #dfe4ea #14171c #4f5964 #ffffff #0072b2 #d55e00 #e69f00 #c04f00 #0072b2 #c3ccd5"
DARK = "#1b2027 #3a434f #f2f5f8 #a9b4c0 #1b2027 #56b4e9 #f0a04a #e69f00 #f0b04a #56b4e9 #4a5562"
THEMES = {
    name: dict(zip(NAMES.split(), colours.split(), strict=True))
    for name, colours in (("light", LIGHT), ("dark", DARK))
}


@dataclass
class Scene:
    """What the model sees, computes and says.

    Attributes:
        photo: uint8 (256, 256, 3), for the eye.
        small: uint8 (32, 32, 3), for the model.
        tokens: (T, D), the encoder's input.
        reach: (N,), the share of each patch in what the head reads; sums to 1.
        answers: the three likeliest classes with their probabilities.
        depth: encoder blocks.
        patch: patch side in pixels.
        reader: what the head reads, "CLS" or "the mean".
    """

    photo: np.ndarray
    small: np.ndarray
    tokens: np.ndarray
    reach: np.ndarray
    answers: list[tuple[str, float]]
    depth: int
    patch: int
    reader: str

    @property
    def grid(self) -> int:
        """Patches to a side."""
        return self.small.shape[0] // self.patch

    def place(self, n: int) -> tuple[int, int]:
        """A patch's row and column."""
        return divmod(n, self.grid)

    def pixels(self, n: int) -> str:
        """A patch as an image that an SVG can hold."""
        row, col = (p * self.patch for p in self.place(n))
        return data_uri(self.small[row : row + self.patch, col : col + self.patch])


def observe(name: str) -> Scene:
    """Runs the photograph through a pretrained model and keeps what the picture shows."""
    model, card = vl.load_pretrained(name)
    cfg, cut = model.cfg, np.s_[TOP : TOP + SIDE, LEFT : LEFT + SIDE]
    photo = vl.sample_image("cat").permute(1, 2, 0).numpy()[cut]  # (SIDE, SIDE, 3)
    small = cv2.resize(photo, cfg.image_shape, interpolation=cv2.INTER_AREA)
    images = vl.normalize(torch.from_numpy(small).permute(2, 0, 1)[None])  # (1, 3, 32, 32)
    with torch.no_grad():
        tokens = model.embed(images)[0]  # (T, D)
        rollout = vl.attention_rollout(model.attention_maps(images))[0]  # (T, T)
        probs = model(images).softmax(-1)[0]  # (K,)
    by_token = cfg.global_pool == "token"
    reach = (rollout[0] if by_token else rollout[1:].mean(0))[1:]  # (N,)
    classes = vl.DRAWN10_CLASSES if card["dataset"] == "Drawn-10" else vl.CIFAR10_CLASSES
    best = probs.topk(3)
    return Scene(
        photo=cv2.resize(photo, FINE, interpolation=cv2.INTER_AREA),
        small=small,
        tokens=tokens.numpy(),
        reach=(reach / reach.sum()).numpy(),
        answers=[(classes[i], p) for p, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)],
        depth=cfg.depth,
        patch=cfg.patch_size,
        reader="CLS" if by_token else "the mean",
    )


def data_uri(rgb: np.ndarray, kind: str = "png") -> str:
    """An image as text that an SVG can hold."""
    options = [cv2.IMWRITE_PNG_COMPRESSION, 9] if kind == "png" else [cv2.IMWRITE_JPEG_QUALITY, 88]
    _, data = cv2.imencode(f".{kind}", rgb[..., ::-1], options)  # OpenCV writes BGR
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def spotlight(scene: Scene, floor: float = 0.22, gamma: float = 0.75) -> np.ndarray:
    """The photograph, darker where less of it reaches the head: uint8 (256, 256, 3)."""
    reach = scene.reach.reshape(scene.grid, scene.grid).astype(np.float32)
    mask = cv2.resize(reach, FINE, interpolation=cv2.INTER_CUBIC)
    mask = np.clip((mask - mask.min()) / (np.quantile(mask, 0.98) - mask.min()), 0, 1)
    return (scene.photo * (floor + (1 - floor) * mask[..., None] ** gamma)).astype(np.uint8)


def colours(values: np.ndarray, theme: dict[str, str]) -> np.ndarray:
    """Numbers as colours: low, through zero, to high: (rows, cols) -> uint8 (rows, cols, 3)."""
    low, zero, high = (np.array(list(bytes.fromhex(theme[k][1:]))) for k in ("low", "zero", "high"))
    t = np.clip(values / np.quantile(np.abs(values), 0.97), -1, 1)[..., None]
    mixed = zero + np.maximum(t, 0) * (high - zero) + np.maximum(-t, 0) * (low - zero)
    return mixed.round().astype(np.uint8)


class Drawing:
    """An SVG that grows element by element; ``size`` is that of its words."""

    def __init__(self, width: float, height: float, theme: dict[str, str], size: float) -> None:
        self.theme, self.size, ink = theme, size, theme["soft"]
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'font-family="{FONT}" role="img">',
            '<defs><marker id="tip" viewBox="0 0 10 10" refX="7" refY="5" markerWidth="5.5" markerHeight="5.5" '
            f'orient="auto"><path d="M0 0L10 5L0 10z" fill="{ink}"/></marker></defs>',
            f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="{size * 0.7:g}" '
            f'fill="{theme["card"]}" stroke="{theme["rule"]}"/>',
        ]

    def add(self, tag: str, words: str | None = None, **attributes) -> None:
        """An element; numbers are written short, and ``_`` in a name stands for ``-``."""
        pairs = (
            (k.replace("_", "-"), f"{v:g}" if isinstance(v, float | int) else v)
            for k, v in attributes.items()
        )
        head = " ".join([tag, *(f'{name}="{value}"' for name, value in pairs)])
        self.parts.append(f"<{head}/>" if words is None else f"<{head}>{words}</{tag}>")

    def text(self, x, y, words: str, size=1.0, colour="soft", weight=400, anchor="start") -> None:
        look = {"fill": self.theme[colour], "font_weight": weight, "text_anchor": anchor}
        self.add("text", words, x=x, y=y, font_size=self.size * size, **look)

    def step(self, x, y, number: int, words: str) -> None:
        r = self.size * 0.78
        self.add("circle", cx=x + r, cy=y - self.size * 0.36, r=r, fill=self.theme["ink"])
        self.text(x + r, y, str(number), 0.92, "card", 700, "middle")
        self.text(x + 2.5 * r, y, words, 1.08, "ink", 650)

    def bar(self, x, y, width, height, colour: str, rx: float) -> None:
        self.add("rect", x=x, y=y, width=width, height=height, rx=rx, fill=self.theme[colour])

    def image(self, x, y, width, height, uri: str) -> None:
        crisp = {"style": "image-rendering:pixelated"} if "image/png" in uri else {}
        box = {"x": x, "y": y, "width": width, "height": height, "preserveAspectRatio": "none"}
        self.add("image", **box, href=uri, **crisp)

    def arrow(self, *points: tuple[float, float]) -> None:
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        look = {"stroke_width": self.size * 0.13, "stroke_linejoin": "round", "marker_end": "url(#tip)"}
        self.add("path", d=path, fill="none", stroke=self.theme["soft"], **look)

    def svg(self, title: str) -> str:
        head, *parts = self.parts
        return "\n".join([head, f"<title>{title}</title>", *parts, "</svg>", ""])


def patches(d: Drawing, scene: Scene, x, y, size, gap, every: bool) -> None:
    """The image cut up: each patch its own pixels, numbered in reading order."""
    side = scene.grid
    cell = (size - gap * (side - 1)) / side
    edge = {
        "fill": "#fff",
        "stroke": "#000",
        "stroke_opacity": 0.6,
        "stroke_width": 2,
        "paint_order": "stroke",
    }
    for n in range(side * side):
        row, col = scene.place(n)
        px, py = x + col * (cell + gap), y + row * (cell + gap)
        d.image(px, py, cell, cell, scene.pixels(n))
        if every or n in (0, 1, side - 1, side, side * side - 1):
            at = {"x": px + cell / 2, "y": py + cell * 0.66, "font_size": cell * (0.42 if every else 0.56)}
            d.add("text", str(n + 1), **at, **edge, text_anchor="middle", font_weight=600)


def tokens(d: Drawing, scene: Scene, x, y, width, cell: float) -> float:
    """Every token as a column: its patch on top, under it the first of its numbers; returns where it ends."""
    step = width / len(scene.tokens)
    thumb, top = step * 0.86, y + step * 1.05
    d.bar(x, y, thumb, thumb, "cls", step * 0.2)
    for n in range(len(scene.reach)):
        d.image(x + (n + 1) * step, y, thumb, thumb, scene.pixels(n))
    table = colours(scene.tokens[:, :ROWS].T, d.theme)  # (ROWS, T, 3)
    for n in range(len(scene.tokens)):
        d.image(x + n * step, top, thumb, ROWS * cell, data_uri(table[:, n : n + 1]))
    return top + ROWS * cell


def arcs(d: Drawing, scene: Scene, x, y, width, height) -> None:
    """One line from each patch token to what the head reads, the thicker the more of the patch gets there."""
    step = width / len(scene.tokens)
    share = (scene.reach - scene.reach.min()) / np.ptp(scene.reach)
    for n in np.argsort(scene.reach):
        end, s = x + (n + 1.43) * step, share[n] ** 1.5
        if scene.reader == "CLS":  # hanging from the first token
            start = x + step * 0.43
            deep = y + height * (0.25 + 0.75 * (end - start) / width)
            curve = f"M{start:.1f} {y:g}C{start:.1f} {deep:.1f} {end:.1f} {deep:.1f} {end:.1f} {y:g}"
        else:  # gathered in one point
            start, bend, back = x + width / 2, y + height * 0.7, y + height * 0.3
            curve = f"M{end:.1f} {y:g}C{end:.1f} {bend:.1f} {start:.1f} {back:.1f} {start:.1f} {y + height:g}"
        look = {"stroke_width": f"{0.4 + d.size * 0.16 * s:.2f}", "stroke_opacity": f"{0.12 + 0.78 * s:.2f}"}
        d.add("path", d=curve, fill="none", stroke=d.theme["line"], **look, stroke_linecap="round")


def answers(d: Drawing, scene: Scene, x, y, width, row) -> None:
    """The three likeliest classes as bars."""
    for i, (name, p) in enumerate(scene.answers):
        top, first, weight = y + i * row, i == 0, 650 if i == 0 else 400
        d.text(x, top, name, 1.0, "ink", weight)
        d.text(x + width, top, f"{100 * p:.0f} %", 1.0, "ink" if first else "soft", weight, "end")
        for length, colour in ((width, "rule"), (max(d.size * 0.3, width * p), "bar" if first else "rest")):
            d.bar(x, top + d.size * 0.45, length, d.size * 0.5, colour, d.size * 0.25)


def title(scene: Scene) -> str:
    """The picture in a sentence."""
    return (
        f"A photograph is cut into {len(scene.reach)} patches, which become tokens; attention carries them to "
        f"{scene.reader}; the most of the lit part arrives, and the model says {scene.answers[0][0]}."
    )


LIT = "lit: the patches that arrive most"


def wide(scene: Scene, theme: dict[str, str]) -> str:
    """The drawing for a wide page."""
    d = Drawing(1120, 672, theme, 20)
    (count, width), pixels = scene.tokens.shape, scene.small.shape[0]

    def say(x, y, words: str) -> None:
        d.text(x, y, words, 0.87)

    d.step(34, 46, 1, "Photograph")
    d.image(34, 66, 300, 300, data_uri(scene.photo, "jpeg"))
    say(34, 392, f"the model gets {pixels} × {pixels} pixels")
    d.arrow((346, 216), (390, 216))
    d.step(404, 46, 2, "Patches")
    patches(d, scene, 404, 66, 300, 4, every=True)
    say(404, 392, f"{scene.grid} × {scene.grid} of them, read like a page")
    d.arrow((554, 404), (554, 446))
    d.step(34, 446, 3, "Tokens")
    say(34, 477, f"CLS, then one for each patch: {count} columns of {width} numbers, {ROWS} drawn")
    end = tokens(d, scene, 34, 491, 670, 6)
    arcs(d, scene, 34, end + 3, 670, 70)
    say(34, 655, f"{scene.depth} blocks later: the thicker, the more of a patch has reached {scene.reader}")
    d.arrow((714, 522), (744, 522), (744, 216), (774, 216))
    d.step(786, 46, 4, "Attention")
    d.image(786, 66, 300, 300, data_uri(spotlight(scene), "jpeg"))
    say(786, 392, LIT)
    d.step(786, 446, 5, "Answer")
    answers(d, scene, 786, 494, 300, 60)
    return d.svg(title(scene))


def tall(scene: Scene, theme: dict[str, str]) -> str:
    """The drawing for a phone."""
    d = Drawing(390, 716, theme, 14.5)
    count, width = scene.tokens.shape
    d.step(14, 34, 1, "Photograph")
    d.image(14, 48, 170, 170, data_uri(scene.photo, "jpeg"))
    d.step(206, 34, 2, "Patches")
    patches(d, scene, 206, 48, 170, 2.4, every=False)
    d.step(14, 258, 3, "Tokens")
    d.text(14, 281, f"{count} columns of {width} numbers, {ROWS} drawn", 0.9)
    end = tokens(d, scene, 14, 292, 362, 6)
    arcs(d, scene, 14, end + 2, 362, 62)
    d.text(14, 447, f"thicker: more of a patch reaches {scene.reader}", 0.9)
    d.step(14, 494, 4, "Attention")
    d.image(14, 508, 170, 170, data_uri(spotlight(scene), "jpeg"))
    d.step(206, 494, 5, "Answer")
    answers(d, scene, 206, 528, 170, 56)
    d.text(14, 698, LIT, 0.9)
    return d.svg(title(scene))


def screenshot(svg: Path, png: Path) -> bool:
    """The cover, 1200 by 720 pixels; says whether there was a browser to make it."""
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    if browser is None:
        return False
    flags = "--headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,720"
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        look = '<body style="margin:0"><img style="display:block;width:1200px" src="{}">'
        page.write_text(look.format(svg.as_uri()))
        places = [
            "--allow-file-access-from-files",
            f"--user-data-dir={folder}/profile",
            f"--screenshot={png}",
            page.as_uri(),
        ]
        subprocess.run([browser, *flags.split(), *places], check=True, capture_output=True)
    return True


def main(arguments: list[str]) -> int:
    """Draws all of it and returns the exit status."""
    scene = observe(*(arguments or ["cifar10-modern"]))
    folder, cover = STATIC / "figures", STATIC / "cover.png"
    for name, theme in THEMES.items():
        for draw in (wide, tall):
            path = folder / f"title-{draw.__name__}-{name}.svg"
            path.write_text(draw(scene, theme), encoding="utf-8", newline="\n")
    made = screenshot(folder / "title-wide-light.svg", cover)
    print(title(scene))
    print("; ".join(f"{name} {p:.1%}" for name, p in scene.answers))
    print(f"Wrote {folder}/title-*.svg" + (f" and {cover}." if made else "; no browser, no cover."))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
