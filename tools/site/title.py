"""Draws the title page's picture from a trained model: book/_static/figures/title-*.svg, book/_static/cover.png.

    python -m tools.site.title [name of a pretrained model]

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

import numpy as np
import torch

import vitlib as vl

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "book" / "_static"
ROWS = 10  # of a token's numbers are drawn
SIDE, TOP, LEFT = 272, 28, 89  # the square cut from the photograph, so that the cat's face fills it
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',Arial,sans-serif"
THEMES = {
    "light": {"card": "#fbfcfd", "rule": "#dfe4ea", "ink": "#14171c", "soft": "#4f5964", "zero": "#ffffff",
              "low": "#0072b2", "high": "#d55e00", "cls": "#e69f00", "line": "#c04f00", "bar": "#0072b2",
              "rest": "#c3ccd5"},
    "dark": {"card": "#1b2027", "rule": "#3a434f", "ink": "#f2f5f8", "soft": "#a9b4c0", "zero": "#1b2027",
             "low": "#56b4e9", "high": "#f0a04a", "cls": "#e69f00", "line": "#f0b04a", "bar": "#56b4e9",
             "rest": "#4a5562"},
}  # fmt: skip


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


def photograph() -> np.ndarray:
    """The cat's face: uint8 (SIDE, SIDE, 3)."""
    return vl.sample_image("cat")[:, TOP : TOP + SIDE, LEFT : LEFT + SIDE].permute(1, 2, 0).numpy()


def observe(name: str) -> Scene:
    """Runs the photograph through a pretrained model and keeps what the picture shows."""
    import cv2

    model, card = vl.load_pretrained(name)
    cfg, photo = model.cfg, photograph()
    small = cv2.resize(photo, cfg.image_shape, interpolation=cv2.INTER_AREA)
    images = vl.normalize(torch.from_numpy(small).permute(2, 0, 1)[None])  # (1, 3, 32, 32)
    with torch.no_grad():
        tokens = model.embed(images)[0]  # (T, D)
        rollout = vl.attention_rollout(model.attention_maps(images))[0]  # (T, T)
        probs = model(images).softmax(-1)[0]  # (K,)
    read = rollout[0] if cfg.global_pool == "token" else rollout[1:].mean(0)  # (T,)
    reach = read[1:] / read[1:].sum()
    classes = vl.DRAWN10_CLASSES if card["dataset"] == "Drawn-10" else vl.CIFAR10_CLASSES
    best = probs.topk(3)
    return Scene(
        photo=cv2.resize(photo, (256, 256), interpolation=cv2.INTER_AREA), small=small, tokens=tokens.numpy(),
        reach=reach.numpy(), depth=cfg.depth, patch=cfg.patch_size,
        answers=[(classes[i], p) for p, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)],
        reader="CLS" if cfg.global_pool == "token" else "the mean",
    )  # fmt: skip


def data_uri(rgb: np.ndarray, kind: str = ".png") -> str:
    """An image as text that an SVG can hold."""
    import cv2

    options = [cv2.IMWRITE_JPEG_QUALITY, 88] if kind == ".jpg" else [cv2.IMWRITE_PNG_COMPRESSION, 9]
    _, data = cv2.imencode(kind, rgb[..., ::-1], options)  # OpenCV writes BGR
    mime = "jpeg" if kind == ".jpg" else "png"
    return f"data:image/{mime};base64,{base64.b64encode(data).decode()}"


def spotlight(scene: Scene, floor: float = 0.22, gamma: float = 0.75) -> np.ndarray:
    """The photograph, darker where less of it reaches the head: uint8 (256, 256, 3)."""
    import cv2

    side = scene.small.shape[0] // scene.patch
    mask = cv2.resize(
        scene.reach.reshape(side, side).astype(np.float32), (256, 256), interpolation=cv2.INTER_CUBIC
    )
    mask = np.clip((mask - mask.min()) / (np.quantile(mask, 0.98) - mask.min()), 0, 1)
    return (scene.photo * (floor + (1 - floor) * mask[..., None] ** gamma)).astype(np.uint8)


def colours(values: np.ndarray, theme: dict[str, str]) -> np.ndarray:
    """Numbers as colours: low, through zero, to high: (rows, cols) -> uint8 (rows, cols, 3)."""
    low, zero, high = (
        np.array([int(theme[k][i : i + 2], 16) for i in (1, 3, 5)]) for k in ("low", "zero", "high")
    )
    t = np.clip(values / np.quantile(np.abs(values), 0.97), -1, 1)[..., None]
    return (
        (zero + np.maximum(t, 0) * (high - zero) + np.maximum(-t, 0) * (low - zero)).round().astype(np.uint8)
    )


class Drawing:
    """An SVG that grows element by element."""

    def __init__(self, width: float, height: float, theme: dict[str, str], size: float) -> None:
        self.width, self.height, self.theme, self.size, self.parts = width, height, theme, size, []

    def add(self, text: str) -> None:
        self.parts.append(text)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = 1.0,
        colour: str = "soft",
        weight: int = 400,
        anchor: str = "start",
    ) -> None:
        self.add(f'<text x="{x:g}" y="{y:g}" font-size="{self.size * size:g}" fill="{self.theme[colour]}" '
                 f'font-weight="{weight}" text-anchor="{anchor}">{words}</text>')  # fmt: skip

    def step(self, x: float, y: float, number: int, words: str) -> None:
        r = self.size * 0.78
        self.add(
            f'<circle cx="{x + r:g}" cy="{y - self.size * 0.36:g}" r="{r:g}" fill="{self.theme["ink"]}"/>'
        )
        self.text(x + r, y, str(number), 0.92, "card", 700, "middle")
        self.text(x + 2.5 * r, y, words, 1.08, "ink", 650)

    def image(self, x: float, y: float, w: float, h: float, uri: str, pixels: bool = False) -> None:
        crisp = ' style="image-rendering:pixelated"' if pixels else ""
        self.add(
            f'<image x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" preserveAspectRatio="none" href="{uri}"{crisp}/>'
        )

    def arrow(self, *points: tuple[float, float]) -> None:
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        self.add(f'<path d="{path}" fill="none" stroke="{self.theme["soft"]}" stroke-width="{self.size * 0.13:g}" '
                 'stroke-linejoin="round" marker-end="url(#tip)"/>')  # fmt: skip

    def svg(self, title: str) -> str:
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
                f'font-family="{FONT}" role="img">\n<title>{title}</title>\n'
                '<defs><marker id="tip" viewBox="0 0 10 10" refX="7" refY="5" markerWidth="5.5" markerHeight="5.5" '
                f'orient="auto"><path d="M0 0L10 5L0 10z" fill="{self.theme["soft"]}"/></marker></defs>\n'
                f'<rect x="0.5" y="0.5" width="{self.width - 1:g}" height="{self.height - 1:g}" '
                f'rx="{self.size * 0.7:g}" fill="{self.theme["card"]}" stroke="{self.theme["rule"]}"/>\n')  # fmt: skip
        return head + "\n".join(self.parts) + "\n</svg>\n"


def patches(d: Drawing, scene: Scene, x: float, y: float, size: float, gap: float, every: bool) -> None:
    """The image cut up: each patch its own pixels, numbered in reading order."""
    side = scene.small.shape[0] // scene.patch
    cell = (size - gap * (side - 1)) / side
    for n in range(side * side):
        row, col = divmod(n, side)
        px, py, p = x + col * (cell + gap), y + row * (cell + gap), scene.patch
        d.image(
            px,
            py,
            cell,
            cell,
            data_uri(scene.small[row * p : row * p + p, col * p : col * p + p]),
            pixels=True,
        )
        if every or n in (0, 1, side - 1, side, side * side - 1):
            size = cell * (0.42 if every else 0.56)
            d.add(f'<text x="{px + cell / 2:g}" y="{py + cell * 0.66:g}" font-size="{size:g}" '
                  'fill="#fff" stroke="#000" stroke-opacity="0.6" stroke-width="2" paint-order="stroke" '
                  f'text-anchor="middle" font-weight="600">{n + 1}</text>')  # fmt: skip


def tokens(d: Drawing, scene: Scene, x: float, y: float, width: float, cell: float) -> float:
    """Every token as a column: its patch on top, under it the first of its numbers; returns where it ends."""
    count = len(scene.tokens)
    step = width / count
    d.add(f'<rect x="{x:g}" y="{y:g}" width="{step * 0.86:g}" height="{step * 0.86:g}" rx="{step * 0.2:g}" '
          f'fill="{d.theme["cls"]}"/>')  # fmt: skip
    side, p = scene.small.shape[0] // scene.patch, scene.patch
    for n in range(count - 1):
        row, col = divmod(n, side)
        thumb = data_uri(scene.small[row * p : row * p + p, col * p : col * p + p])
        d.image(x + (n + 1) * step, y, step * 0.86, step * 0.86, thumb, pixels=True)
    table = colours(scene.tokens[:, :ROWS].T, d.theme)  # (ROWS, T, 3)
    top = y + step * 1.05
    for n in range(count):
        d.image(x + n * step, top, step * 0.86, ROWS * cell, data_uri(table[:, n : n + 1]), pixels=True)
    return top + ROWS * cell


def arcs(d: Drawing, scene: Scene, x: float, y: float, width: float, height: float) -> None:
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
            start, foot = x + width / 2, y + height
            curve = (f"M{end:.1f} {y:g}C{end:.1f} {y + height * 0.7:.1f} {start:.1f} {y + height * 0.3:.1f} "
                     f"{start:.1f} {foot:g}")  # fmt: skip
        d.add(f'<path d="{curve}" fill="none" stroke="{d.theme["line"]}" stroke-width="{0.4 + d.size * 0.16 * s:.2f}" '
              f'stroke-opacity="{0.12 + 0.78 * s:.2f}" stroke-linecap="round"/>')  # fmt: skip


def answers(d: Drawing, scene: Scene, x: float, y: float, width: float, row: float) -> None:
    """The three likeliest classes as bars."""
    for i, (name, p) in enumerate(scene.answers):
        top = y + i * row
        d.text(x, top, name, 1.0, "ink", 650 if i == 0 else 400)
        d.text(
            x + width,
            top,
            f"{100 * p:.0f} %",
            1.0,
            "ink" if i == 0 else "soft",
            650 if i == 0 else 400,
            "end",
        )
        for w, colour in ((width, "rule"), (max(d.size * 0.3, width * p), "bar" if i == 0 else "rest")):
            d.add(f'<rect x="{x:g}" y="{top + d.size * 0.45:g}" width="{w:g}" height="{d.size * 0.5:g}" '
                  f'rx="{d.size * 0.25:g}" fill="{d.theme[colour]}"/>')  # fmt: skip


def title(scene: Scene) -> str:
    """The picture in a sentence."""
    name = scene.answers[0][0]
    return (f"A photograph is cut into {len(scene.reach)} patches, which become tokens; attention carries them to "
            f"{scene.reader}; the most of the lit part arrives, and the model says {name}.")  # fmt: skip


def words(scene: Scene) -> dict[str, str]:
    """Captions, with the model's own numbers."""
    count, width = scene.tokens.shape
    pixels, grid = scene.small.shape[0], scene.small.shape[0] // scene.patch
    return {
        "photo": f"the model gets {pixels} × {pixels} pixels",
        "cut": f"{grid} × {grid} of them, read like a page",
        "tokens": f"CLS, then one for each patch: {count} columns of {width} numbers, {ROWS} drawn",
        "tokens-short": f"{count} columns of {width} numbers, {ROWS} drawn",
        "flow": f"{scene.depth} blocks later: the thicker, the more of a patch has reached {scene.reader}",
        "flow-short": f"thicker: more of a patch reaches {scene.reader}",
        "lit": "lit: the patches that arrive most",
    }


def wide(scene: Scene, theme: dict[str, str]) -> str:
    """The drawing for a wide page."""
    d = Drawing(1120, 672, theme, 20)
    say = words(scene)
    d.step(34, 46, 1, "Photograph")
    d.image(34, 66, 300, 300, data_uri(scene.photo, ".jpg"))
    d.text(34, 392, say["photo"], 0.87)
    d.arrow((346, 216), (390, 216))
    d.step(404, 46, 2, "Patches")
    patches(d, scene, 404, 66, 300, 4, every=True)
    d.text(404, 392, say["cut"], 0.87)
    d.arrow((554, 404), (554, 446))
    d.step(34, 446, 3, "Tokens")
    d.text(34, 477, say["tokens"], 0.87)
    end = tokens(d, scene, 34, 491, 670, 6)
    arcs(d, scene, 34, end + 3, 670, 70)
    d.text(34, 655, say["flow"], 0.87)
    d.arrow((714, 522), (744, 522), (744, 216), (774, 216))
    d.step(786, 46, 4, "Attention")
    d.image(786, 66, 300, 300, data_uri(spotlight(scene), ".jpg"))
    d.text(786, 392, say["lit"], 0.87)
    d.step(786, 446, 5, "Answer")
    answers(d, scene, 786, 494, 300, 60)
    return d.svg(title(scene))


def tall(scene: Scene, theme: dict[str, str]) -> str:
    """The drawing for a phone."""
    d = Drawing(390, 716, theme, 14.5)
    say = words(scene)
    d.step(14, 34, 1, "Photograph")
    d.image(14, 48, 170, 170, data_uri(scene.photo, ".jpg"))
    d.step(206, 34, 2, "Patches")
    patches(d, scene, 206, 48, 170, 2.4, every=False)
    d.step(14, 258, 3, "Tokens")
    d.text(14, 281, say["tokens-short"], 0.9)
    end = tokens(d, scene, 14, 292, 362, 6)
    arcs(d, scene, 14, end + 2, 362, 62)
    d.text(14, 447, say["flow-short"], 0.9)
    d.step(14, 494, 4, "Attention")
    d.image(14, 508, 170, 170, data_uri(spotlight(scene), ".jpg"))
    d.step(206, 494, 5, "Answer")
    answers(d, scene, 206, 528, 170, 56)
    d.text(14, 698, say["lit"], 0.9)
    return d.svg(title(scene))


def screenshot(svg: Path, png: Path) -> bool:
    """The cover, 1200 by 720 pixels; says whether there was a browser to make it."""
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    if browser is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        page.write_text(
            f'<body style="margin:0"><img style="display:block;width:1200px" src="{svg.as_uri()}">'
        )
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1200,720",
            "--allow-file-access-from-files",
            f"--user-data-dir={folder}/profile",
            f"--screenshot={png}",
        ]
        subprocess.run([browser, *flags, page.as_uri()], check=True, capture_output=True)
    return True


def main(arguments: list[str]) -> int:
    """Draws all of it and returns the exit status."""
    scene = observe(*(arguments or ["cifar10-modern"]))
    folder = STATIC / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for name, theme in THEMES.items():
        for shape in (wide, tall):
            (folder / f"title-{shape.__name__}-{name}.svg").write_text(
                shape(scene, theme), encoding="utf-8", newline="\n"
            )
    made = screenshot(folder / "title-wide-light.svg", STATIC / "cover.png")
    print(title(scene))
    print("; ".join(f"{name} {p:.1%}" for name, p in scene.answers))
    print(
        f"Wrote {folder}/title-*.svg"
        + (f" and {STATIC / 'cover.png'}." if made else "; no browser, no cover.")
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
