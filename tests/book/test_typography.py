"""How equations, numbers and names are set on a page: MathML in the book's font, marks, what stays on one line."""

from types import SimpleNamespace

import pytest

pytest.importorskip("math_core")
from docutils import nodes

from page import typography


def paragraph(*parts):
    """A page of one paragraph."""
    return nodes.section(
        "",
        nodes.paragraph(
            "", "", *[nodes.Text(p) if isinstance(p, str) else p for p in parts]
        ),
    )


def kept(page) -> list[str]:
    return [
        node.astext()
        for node in page.findall(nodes.inline)
        if "kept" in node["classes"]
    ]


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("69.8%", "69.8\u202f%"),
        ("73.6 %", "73.6\u202f%"),
        ("by -0.4 points, or (-3)", "by \u22120.4 points, or (\u22123)"),
        (
            "B-16, CIFAR-10, 2020-11-03, 16-32, x -y",
            "B-16, CIFAR-10, 2020-11-03, 16-32, x -y",
        ),
    ],
)
def test_numbers_are_set_in_one_way(typed, written):
    assert typography.set_numbers(typed) == written


def test_marks_stay_with_their_formula_or_name():
    formula, name, other = (
        nodes.math("", "D"),
        nodes.literal("", "vl.x"),
        nodes.math("", "P"),
    )
    page = paragraph("of shape (", formula, "), from ", name, "; and ", other, " go")
    text = page.astext()
    typography.keep_marks(None, page, "")
    assert kept(page) == ["(D),", "vl.x;"] and page.astext() == text


def test_a_name_does_not_break_and_code_is_left():
    page = paragraph(
        "a ViT-B/16 on CIFAR-10, 50% right, ", nodes.literal("", "5% of CIFAR-10")
    )
    typography.set_page(None, page, "")
    assert kept(page) == ["ViT-B/16", "CIFAR-10"]
    assert page.astext() == "a ViT-B/16 on CIFAR-10, 50\u202f% right, 5% of CIFAR-10"


def test_a_formula_keeps_its_tex():
    markup = typography.mathml(r"\sqrt{d} < 2", display=False)
    assert markup.startswith("<math><semantics>") and "<msqrt>" in markup
    assert (
        '<annotation encoding="application/x-tex">\\sqrt{d} &lt; 2</annotation>'
        in markup
    )
    assert typography.mathml("x", display=True).startswith('<math display="block">')
    assert 'class="leans"' in typography.mathml("x + N", display=False)
    assert "\u2061" in typography.mathml(r"\log x", display=False), (
        "a function is applied, not multiplied"
    )


@pytest.mark.parametrize(
    ("tex", "sentence"),
    [
        (r"\nosuch x", "nosuch"),
        (r"\frac{1}{", "}"),
        ("x + 字", "字 is not in the font: add it to page/fonts.py"),
    ],
)
def test_a_formula_that_cannot_be_drawn_is_a_warning_that_says_why(
    tex, sentence, monkeypatch
):
    writer, said = SimpleNamespace(body=[], encode=str.upper), []
    monkeypatch.setattr(
        typography.log, "warning", lambda text, *parts, **_: said.append(text % parts)
    )
    typography.write(writer, None, tex, display=False)
    assert writer.body == [f"<code>{tex.upper()}</code>"], "the reader sees its TeX"
    assert said[0].startswith(f"equation {tex}: ") and sentence in said[0]
