"""What the theme and Sphinx do wrong, mended: markup, scripts that are not needed, colours without scripts."""

from types import SimpleNamespace

import pytest

pytest.importorskip("sphinx")
from page import theme

CSS = """/* html[data-theme="dark"] { no: rule } */ @charset "utf-8"; p { color: red }
html[data-theme="light"] a, p:is(b, i), html[data-theme='light'] b { color: blue }
html[data-theme=dark] img:not(.only-dark, .bare) { filter: none }
@media (min-width: 9px) { html[data-theme=light] u { margin: 0 } p { margin: 1px } }"""
REST = "<dd><dl><dd>a list elsewhere is a list</dd></dl></dd></dl>"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<div role="doc-biblioentry">', '<div role="listitem">'),
        ('<summary aria-label="Toggle hidden content">Show', "<summary>Show"),
        (
            '<th class="head"><p></p></th><th class="head"><p>N</p></th>',
            '<td class="head"></td><th class="head"><p>N</p></th>',
        ),
        (
            f'<dl><dt class="sig py" id="f">f(<dl>\n<dd>x,</dd>\n</dl>\n)</dt>\n{REST}',
            '<dl><dt class="sig py" id="f">f(<span class="sig-lines">\n<span class="sig-line">x,</span>\n</span>\n)'
            f"</dt>\n{REST}",
        ),
    ],
)
def test_what_axe_calls_wrong_is_mended(before, after):
    assert theme.mend(before) == after


def test_scripts_that_are_not_needed_are_left_out():
    unwanted = [
        "togglebutton.js",
        "_static/sphinx-thebe.js",
        "https://elsewhere/widget.js",
    ]
    inline = SimpleNamespace(filename=None, attributes={"body": "let togglebutton"})
    kept = SimpleNamespace(filename="_static/frame.js", attributes={})
    context = {
        "body": "<p>",
        "script_files": [*unwanted, inline, kept],
        "css_files": ["togglebutton.css", "a.css"],
    }
    theme.mend_page(None, "page", "page.html", context, None)
    assert context == {"body": "<p>", "script_files": [kept], "css_files": ["a.css"]}


@pytest.mark.parametrize(
    ("mode", "rules"),
    [
        (
            "light",
            'html[data-theme="auto"] a, html[data-theme="auto"] b { color: blue }\n'
            '@media (min-width: 9px) {\nhtml[data-theme="auto"] u { margin: 0 }\n}\n',
        ),
        (
            "dark",
            'html[data-theme="auto"] img:not(.only-dark, .bare) { filter: none }\n',
        ),
    ],
)
def test_rules_for_a_theme_hold_where_no_script_chose_one(mode, rules):
    assert (
        theme.for_auto(
            theme.tinycss2.parse_component_value_list(CSS, skip_comments=True), mode
        )
        == rules
    )
