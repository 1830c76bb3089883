"""How the built pages are set: what a reader would call a slip of the printer."""

from __future__ import annotations

import re

import pytest
from docutils import nodes

from page.cards import first_use
from page.fonts import SHEET
from page.typography import keep_marks, set_page
from tools.build import HTML, toc_pages


def paragraph(*parts):
    page = nodes.paragraph("", "", *[nodes.Text(p) if isinstance(p, str) else p for p in parts])
    return nodes.section("", page)


def kept(page):
    return [node.astext() for node in page.findall(nodes.inline) if "kept" in node["classes"]]


def test_marks_stay_with_their_formula_or_name():
    page = paragraph(
        "of shape (",
        nodes.math("", "D"),
        "), from ",
        nodes.literal("", "vl.x"),
        "; and ",
        nodes.math("", "P"),
        " go",
    )
    text = page.astext()
    keep_marks(None, page, "")
    assert kept(page) == ["(D),", "vl.x;"] and page.astext() == text


def test_a_name_does_not_break():
    page = paragraph("a ViT-B/16 on CIFAR-10, 50% right")
    set_page(None, page, "")
    assert (
        kept(page) == ["ViT-B/16", "CIFAR-10"] and page.astext() == "a ViT-B/16 on CIFAR-10, 50\u202f% right"
    )


@pytest.mark.parametrize(
    "text, place",
    [
        ("the patch size, then a patch", 23),
        ("patches of 16", 0),
        ("the patch size", None),
        ("a “patch” so called", None),
    ],
)
def test_a_term_inside_a_longer_one_is_not_its_own(text, place):
    names = {"patch size": "patch sizes?", "patch": "patch(?:es)?"}
    known = {name: (re.compile(rf"(?<![\w-]){word}(?![\w”-])", re.I), "") for name, word in names.items()}
    found = first_use(text, "patch", known)
    assert (found.start() if found else None) == place


def test_root_signs_are_equally_wide():
    """Browsers leave room for the widest behind each."""
    import base64
    import io

    from fontTools.ttLib import TTFont

    data = re.search(r'base64,([^"]+)', SHEET.read_text(encoding="utf-8"))[1]
    font = TTFont(io.BytesIO(base64.b64decode(data)))
    variants, plain = font["MATH"].table.MathVariants, font.getBestCmap()[0x221A]
    roots = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(plain)]
    parts = [part.glyph for part in roots.GlyphAssembly.PartRecords]
    tall = [record.VariantGlyph for record in roots.MathGlyphVariantRecord]
    assert len({font["hmtx"][glyph][0] for glyph in [plain, *tall, *parts]}) == 1


@pytest.mark.skipif(not HTML.is_dir(), reason="the book is not built")
def test_no_table_is_left_as_typed():
    for name in toc_pages():
        page = (HTML / f"{name}.html").read_text(encoding="utf-8")
        text = re.sub(r"<pre.*?</pre>|<[^>]+>", "", page, flags=re.S)
        assert not re.search(r"\|\s*[—–-]{1,3}\s*\|", text), name
