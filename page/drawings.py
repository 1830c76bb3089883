"""Chapters' figures as drawings that are part of the page: in its letters and its colours, so also in the dark.

A figure of `vitlib.viz` comes from its notebook as SVG (`Card.svg`). The page holds it without its card: each colour of
the house style becomes a variable of drawings.css, letters take the font that matplotlib measured (fonts.css), and
pictures become WebP files. In a box that is too narrow for letters of ten pixels, a drawing keeps its size and scrolls.
A character that the font lacks is a warning that names it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from PIL import Image
from sphinx.util import logging

from page.fonts import DRAWN
from vitlib.viz.style import BAND, CARD, EDGE, INK, MUTED, PALETTE, STYLE, TEXT

COLOURS = {
    **{colour: f"curve-{i}" for i, colour in enumerate(PALETTE, 1)},
    **{colour: f"letter-{i}" for i, colour in enumerate(TEXT, 1)},
    **{
        INK: "ink",
        CARD: "ground",
        EDGE: "edge",
        STYLE["grid.color"]: "grid",
        MUTED: "muted",
        BAND: "band",
    },
}
LINK = "{http://www.w3.org/1999/xlink}href"
PIXEL = 96 / 72  # pixels in a point
SMALLEST = 10  # pixels: letters are never shown smaller
SHARP = 128  # a picture of fewer pixels is shown pixel by pixel
CHINESE = "\u2e80"  # its signs and what comes after
ROOM = 2  # points around what is drawn
log = logging.getLogger(__name__)


class drawing(nodes.General, nodes.Inline, nodes.Element):
    """An SVG file that becomes part of the page; `key` begins its ids."""


def rounded(text: str) -> str:
    """Numbers to a hundredth, and no more space between them than needed."""
    text = re.sub(
        r"-?\d+\.\d+",
        lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."),
        text,
    )
    return " ".join(text.split()).replace("-0 ", "0 ")


def styled(style: str) -> str:
    """A style in the page's colours, without the font, which drawings.css names."""
    style = re.sub(r"font-family: [^;]*;? ?", "", style)
    named = {colour: f"var(--{name})" for colour, name in COLOURS.items()}
    style = re.sub(r"#[0-9a-f]{6}\b", lambda hue: named.get(hue[0], hue[0]), style)
    return rounded(style).replace("; ", ";").replace(": ", ":")


def webp(png: bytes) -> tuple[bytes, int]:
    """A picture as WebP, without loss unless a photograph would take twice the room; and its longer side."""
    image, files = Image.open(io.BytesIO(png)), []
    for how in ({"lossless": True}, {"quality": 92}):
        buffer = io.BytesIO()
        image.save(buffer, "WEBP", method=3, **how)
        files.append(buffer.getvalue())
    side = max(image.size)
    return (
        files[1] if side > SHARP and 2 * len(files[1]) < len(files[0]) else files[0]
    ), side


def page_svg(root, key: str, keep) -> str:
    """The drawing of an SVG as part of a page; `keep(file)` says where a picture is found that it was handed."""
    coverage = next(root.iter("{http://purl.org/dc/elements/1.1/}coverage"))
    left, top, right, bottom = map(float, coverage.text.split())
    full = [float(size) for size in root.get("viewBox").split()[2:]]
    left, top = max(0, left - ROOM), max(0, top - ROOM)
    right, bottom = min(full[0], right + ROOM), min(full[1], bottom + ROOM)
    names: dict[str, str] = {}  # what another part refers to, and its name on the page
    letters = []

    def renamed(reference: str) -> str:
        return re.sub(
            r"#(\w+)",
            lambda old: "#" + names.setdefault(old[1], f"{key}-{len(names)}"),
            reference,
        )

    def written(element) -> str:
        tag, attributes = element.tag.rpartition("}")[2], dict(element.attrib)
        style = attributes.pop("style", "")
        if (
            tag in ("metadata", "style") or style == f"fill: {CARD}"
        ):  # the card, and the ground of axes
            return ""
        name = attributes.pop("id", "")
        name = (
            names.setdefault(name, f"{key}-{len(names)}")
            if name and tag in ("path", "clipPath")
            else ""
        )
        if tag == "image":
            png = base64.b64decode(attributes.pop(LINK).partition(",")[2])
            file, side = webp(png)
            attributes["href"] = keep(file)
            style = (
                "image-rendering:pixelated"
                if side <= SHARP and "pixelated" in style
                else ""
            )
            attributes["preserveAspectRatio"] = "none"
        elif LINK in attributes:
            attributes["href"] = renamed(attributes.pop(LINK))
        if "clip-path" in attributes:
            attributes["clip-path"] = renamed(attributes["clip-path"])
        if size := re.search(r"font-size: ([\d.]+)px", style):
            letters.append(PIXEL * float(size[1]))
        for kind in {"d", "x", "y", "transform", "points"} & set(attributes):
            attributes[kind] = rounded(attributes[kind])
        if tag == "text" and attributes.get("transform", "").startswith("rotate(0 "):
            del attributes["transform"]
        if name:
            attributes["id"] = name
        if style:
            attributes["style"] = styled(style)
        text = element.text or ""
        inner = escape(text if tag in ("text", "tspan") else text.strip()) + "".join(
            map(written, element)
        )
        if tag == "g" and (not attributes or not inner):
            return inner
        start = f"<{tag}" + "".join(
            f' {k}="{escape(v)}"' for k, v in attributes.items()
        )
        return f"{start}>{inner}</{tag}>" if inner else f"{start}/>"

    inner = "".join(map(written, root))
    wide, high = PIXEL * (right - left), PIXEL * (bottom - top)
    least = wide * min(1, SMALLEST / min(letters)) if letters else 0
    view = rounded(f"{left:.1f} {top:.1f} {right - left:.1f} {bottom - top:.1f}")
    sizes = f'viewBox="{view}" width="{wide:.0f}" height="{high:.0f}"'
    return (
        f'<svg {sizes} style="--wide:{wide:.0f}px;--least:{least:.0f}px">{inner}</svg>'
    )


def picture_svg(png: bytes, keep) -> str:
    """A picture of plain matplotlib as a drawing: the picture alone, in its own size."""
    (wide, high), (file, _) = Image.open(io.BytesIO(png)).size, webp(png)
    sizes = f'width="{wide}" height="{high}"'
    picture = f'<image {sizes} href="{keep(file)}"/>'
    return f'<svg viewBox="0 0 {wide} {high}" {sizes} style="--wide:{wide}px;--least:0px">{picture}</svg>'


def place_drawings(app, doctree, docname: str) -> None:
    """Puts a drawing in the place of each SVG or PNG that a notebook made, where pages are HTML."""
    if app.builder.format != "html":
        return
    for i, image in enumerate(list(doctree.findall(nodes.image)), 1):
        if "jupyter_execute" in image["uri"] and image["uri"].endswith(
            (".svg", ".png")
        ):
            path = str(Path(app.srcdir, image["uri"]))
            image.replace_self(
                drawing(
                    path=path, key=f"d{i}", alt=image.get("alt", ""), ids=image["ids"]
                )
            )


def visit_drawing(writer, node) -> None:
    """Writes the drawing into the page, and its pictures beside the page's other images."""
    builder = writer.builder
    folder = Path(builder.outdir, builder.imagedir)

    def keep(file: bytes) -> str:
        if len(file) < 1500:
            return "data:image/webp;base64," + base64.b64encode(file).decode()
        name = hashlib.sha256(file).hexdigest()[:20] + ".webp"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(file)
        return f"{builder.imgpath}/{name}"

    kinds, path = "drawing", Path(node["path"])
    if path.suffix == ".png":
        svg = picture_svg(path.read_bytes(), keep)
    else:
        root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        warn_of_letters(root, builder.current_docname)
        svg = page_svg(root, node["key"], keep)
        narrow = root.find(".//{*}metadata/{*}svg")
        if narrow is not None:
            svg, kinds = (
                svg + page_svg(narrow, node["key"] + "n", keep),
                "drawing two-forms",
            )
    said = f'<svg role="img" aria-label="{escape(node["alt"])}" '
    writer.body.append(f'<div class="{kinds}">{svg.replace("<svg ", said)}</div>\n')
    raise nodes.SkipNode


def warn_of_letters(root, where: str) -> None:
    """A warning that names what the drawings' font lacks; Chinese is in the letters of the system."""
    letters = {
        c
        for text in root.iter("{http://www.w3.org/2000/svg}text")
        for c in "".join(text.itertext())
    }
    if missing := " ".join(
        sorted(c for c in letters - {"\n"} if ord(c) not in DRAWN and c < CHINESE)
    ):
        log.warning(
            "%s is not in the drawings' font: add it to page/fonts.py",
            missing,
            location=where,
        )


def setup(app) -> None:
    """Registers drawings with Sphinx."""
    app.add_node(drawing, html=(visit_drawing, None))
    app.connect("doctree-resolved", place_drawings)
