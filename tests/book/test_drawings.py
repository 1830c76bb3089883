"""Figures on their way into a page: from a card's SVG to a drawing in the page's colours."""

import base64
import io
import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

import vitlib as vl
from vitlib import viz
from vitlib.viz import style

pytest.importorskip("sphinx")
from docutils.nodes import SkipNode
from fontTools.ttLib import TTFont
from PIL import Image

from page import drawings
from page.fonts import DRAWN, SHEET

CSS = Path(__file__).resolve().parents[2] / "book/_static/drawings.css"


def drawn(fig, form: str = "wide"):
    """A figure's drawing, its pictures' files, and all of it parsed."""
    root = ElementTree.fromstring(fig.svg())
    root = root if form == "wide" else root.find(".//{*}metadata/{*}svg")
    files: list[bytes] = []
    svg = drawings.page_svg(
        root, "d7", lambda file: files.append(file) or f"picture-{len(files)}.webp"
    )
    return svg, files, ElementTree.fromstring(svg)


def pixels(file: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(file)).convert("RGB"), dtype=int)


@pytest.fixture(scope="module")
def lines():
    return viz.plot_lines(
        {"a < b": [1.0, 2.0, 4.0], "c": [3.0, 2.0, 1.0]}, "step", "R&D"
    )


def test_a_drawing_has_letters_and_no_card(lines):
    svg, files, root = drawn(lines)
    assert {"a < b", "c", "step", "R&D"} <= {text.text for text in root.iter("text")}
    assert (
        not files
        and "<image" not in svg
        and "metadata" not in svg
        and "font-family" not in svg
    )
    assert not re.search(r"#[0-9a-f]{6}", svg), (
        "a colour of the style that is none of the page's"
    )
    colours = set(re.findall(r"var\((--[\w-]+)", svg))
    assert {"--ink", "--curve-1", "--curve-2", "--letter-1", "--grid"} <= colours
    assert 'style="fill:var(--ground)"' not in svg
    wide, least = float(root.get("width")), float(re.search(r"--least:(\d+)px", svg)[1])
    smallest = (
        min(float(size) for size in re.findall(r"font-size:([\d.]+)px", svg)) * 96 / 72
    )
    assert least * smallest / wide == pytest.approx(10, rel=0.01)


def test_curves_have_a_narrow_form_and_pictures_have_none(lines):
    wide, narrow = (drawn(lines, form)[2] for form in ("wide", "narrow"))
    assert float(narrow.get("width")) < 0.7 * float(wide.get("width"))
    assert {text.text for text in narrow.iter("text")} >= {"a < b", "c", "step"}
    names = {
        f"a name too long to stand beside so narrow a drawing, {i}": [1, i]
        for i in range(2)
    }
    flow = viz.shape_flow({"a": {"b": (1,)}})
    for fig in (viz.plot_lines(names, "x", "y"), viz.heat_maps(torch.eye(3)), flow):
        assert ElementTree.fromstring(fig.svg()).find(".//{*}metadata/{*}svg") is None
    assert lines.get_figwidth() == style.WIDTH


def test_pictures_keep_their_pixels():
    images = (
        255 * torch.rand(2, 3, 9, 12, generator=torch.Generator().manual_seed(0))
    ).to(torch.uint8)
    svg, files, root = drawn(viz.show_images(images))
    assert (
        svg.count("image-rendering:pixelated")
        == svg.count('preserveAspectRatio="none"')
        == 2
    )
    assert [image.get("href") for image in root.iter("image")] == [
        "picture-1.webp",
        "picture-2.webp",
    ]
    for image, file in zip(images, files, strict=True):
        assert (pixels(file) == image.permute(1, 2, 0).numpy()).all()


def test_photographs_are_smooth_and_small():
    photo = vl.sample_image("coffee", 224)
    svg, (file,), _ = drawn(viz.show_images(photo))
    assert (
        "pixelated" not in svg
        and len(file) < 30_000
        and pixels(file).shape == (224, 224, 3)
    )
    assert np.abs(pixels(file) - photo.permute(1, 2, 0).numpy()).mean() < 4


def test_the_style_sheet_has_the_house_style():
    light, dark = CSS.read_text(encoding="utf-8").split("@media screen", 1)
    for kind, colours in (("curve", style.PALETTE), ("letter", style.TEXT)):
        for i, colour in enumerate(colours[:-1], 1):
            assert f"--{kind}-{i}: {colour};" in light and f"--{kind}-{i}: #" in dark
    assert f"--edge: {style.EDGE};" in light
    assert all(f"--{name}: " in light for name in drawings.COLOURS.values())


@pytest.mark.parametrize(("letters", "missing"), [("α → ✓", []), ("α ☃ ☂", ["☂ ☃"])])
def test_a_character_that_the_font_lacks_is_a_warning(
    letters, missing, tmp_path, monkeypatch
):
    warnings, file = [], tmp_path / "figure.svg"
    monkeypatch.setattr(
        drawings.log, "warning", lambda text, *parts, **_: warnings.append(text % parts)
    )
    file.write_text(viz.plot_lines({letters: [1, 2]}, "x", "y").svg(), encoding="utf-8")
    builder = SimpleNamespace(
        outdir=tmp_path, imagedir="", imgpath="", current_docname="book/01"
    )
    writer = SimpleNamespace(body=[], builder=builder)
    with pytest.raises(SkipNode):
        drawings.visit_drawing(writer, {"path": file, "key": "d1", "alt": "two points"})
    assert (
        letters in writer.body[0]
        and writer.body[0].count('role="img" aria-label="two points"') == 2
    )
    assert [
        each.partition(" is not in the drawings' font")[0] for each in warnings
    ] == missing


def test_the_fonts_of_drawings_are_small_whole_and_renamed():
    """At most 40 kB as they stand in the style sheet; the licence asks for another name, and for its own words."""
    face = r'@font-face {[^}]*"Patch by Patch Sans";[^}]*font-weight: (\w+);[^}]*base64,([^"]+)'
    faces = dict(re.findall(face, SHEET.read_text(encoding="utf-8")))
    assert set(faces) == {"normal", "bold"} and sum(map(len, faces.values())) <= 40_000
    for data in faces.values():
        font = TTFont(io.BytesIO(base64.b64decode(data)))
        assert set(font.getBestCmap()) >= DRAWN
        names = " ".join(font["name"].getDebugName(number) for number in (1, 4, 6))
        assert names.startswith("Patch by Patch") and not re.search(
            "Bitstream|Vera", names
        )
        assert "Permission is hereby granted" in font["name"].getDebugName(13)
