"""Markup that the book's extensions mend or write anew: the theme's and Sphinx's faults, icons, equations."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

pytest.importorskip("sphinx_exercise")
pytest.importorskip("math_core")
from page import access, icons, mathml, numbering

# What axe-core calls wrong


def test_roles_corners_and_names_are_mended():
    assert access.mend('<div role="doc-biblioentry">') == '<div role="listitem">'
    assert access.mend('<summary aria-label="Toggle hidden content">Show') == "<summary>Show"
    assert access.mend('<th class="head"><p></p></th><th class="head"><p>N</p></th>') == (
        '<td class="head"></td><th class="head"><p>N</p></th>'
    )


def test_a_signature_of_several_lines_is_no_list_of_definitions():
    rest = "<dd><dl><dd>text</dd></dl></dd></dl>"
    mended = access.mend(f'<dl><dt class="sig py" id="f">f(<dl>\n<dd>x,</dd>\n</dl>\n)</dt>\n{rest}')
    assert '<span class="sig-lines">\n<span class="sig-line">x,</span>\n</span>' in mended
    assert mended.endswith(f")</dt>\n{rest}"), "lists elsewhere are lists"


def test_scripts_that_folded_solutions_are_left_out():
    inline = SimpleNamespace(filename=None, attributes={"body": "let togglebutton"})
    kept = SimpleNamespace(filename="_static/frame.js", attributes={})
    context = {
        "body": "<p>",
        "script_files": ["togglebutton.js", inline, kept],
        "css_files": ["togglebutton.css", "a.css"],
    }
    access.mend_page(None, "page", "page.html", context, None)
    assert context == {"body": "<p>", "script_files": [kept], "css_files": ["a.css"]}


# Icons


@pytest.mark.parametrize(("format", "left"), [("html", '<script src="a.js"></script>\n<p>'), ("latex", None)])
def test_the_script_of_icons_is_on_no_page(format, left):
    page = '<script src="a.js"></script>\n  <script src="../_static/scripts/fontawesome.js?digest=1"></script>\n<p>'
    builder = SimpleNamespace(format=format, templates=SimpleNamespace(render=lambda name, context: page))
    icons.drop_icon_script(SimpleNamespace(builder=builder))
    assert builder.templates.render("page.html", {}) == (left or page)


# Equations


def test_a_formula_keeps_its_tex():
    markup = mathml.mathml(r"\sqrt{d} < 2", display=False)
    assert markup.startswith("<math><semantics>") and "<msqrt>" in markup
    assert '<annotation encoding="application/x-tex">\\sqrt{d} &lt; 2</annotation>' in markup
    assert mathml.mathml("x", display=True).startswith('<math display="block">')
    assert "\u2061" in mathml.mathml(r"\log x", display=False), "a function is applied, not multiplied"


@pytest.mark.parametrize(
    ("tex", "sentence"),
    [
        (r"\nosuch x", "nosuch"),
        (r"\frac{1}{", "}"),
        ("x + 字", "字 is not in the font: add it to page/fonts.py"),
    ],
)
def test_a_formula_that_cannot_be_drawn_is_a_warning_that_says_why(tex, sentence, monkeypatch):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        mathml.mathml(tex, display=False)
    writer, said = SimpleNamespace(body=[], encode=str.upper), []
    monkeypatch.setattr(mathml.log, "warning", lambda text, *parts, **_: said.append(text % parts))
    mathml.write(writer, None, tex, display=False)
    assert writer.body == [f"<code>{tex.upper()}</code>"], "the reader sees its TeX"
    assert said[0].startswith(f"equation {tex}: ") and sentence in said[0]


# Numbers


def test_numbers_begin_anew_in_each_chapter():
    given = {"book/04-resolution": {"figure": {"a": (7,), "b": (8,)}, "displaymath": {"c": (3,)}}}
    env = SimpleNamespace(toc_fignumbers={**given, "book/notation": {"figure": {"d": (9,)}}})
    numbering.number_by_chapter(None, env)
    assert env.toc_fignumbers == {
        "book/04-resolution": {"figure": {"a": (4, 1), "b": (4, 2)}, "displaymath": {"c": (4, 1)}},
        "book/notation": {"figure": {"d": (1,)}},
    }
