"""Colours without scripts: a rule for a theme is written once more for the page on which no script chose one."""

from __future__ import annotations

import pytest

noscript = pytest.importorskip("page.noscript")

CSS = """/* html[data-theme="dark"] { no: rule } */ @charset "utf-8"; p { color: red }
html[data-theme="light"] a, p:is(b, i), html[data-theme='light'] b { color: blue }
html[data-theme=dark] img:not(.only-dark, .bare) { filter: none }
@media (min-width: 9px) { html[data-theme=light] u { margin: 0 } p { margin: 1px } }"""


def test_rules_for_light_are_taken_and_others_left():
    assert noscript.for_auto(CSS, "light") == (
        'html[data-theme="auto"] a, html[data-theme="auto"] b { color: blue }\n'
        '@media (min-width: 9px) {\nhtml[data-theme="auto"] u { margin: 0 }\n}\n'
    )


def test_a_comma_in_brackets_divides_no_selectors():
    assert noscript.for_auto(CSS, "dark") == (
        'html[data-theme="auto"] img:not(.only-dark, .bare) { filter: none }\n'
    )
