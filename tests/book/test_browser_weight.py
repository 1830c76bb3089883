"""What a page weighs and how it settles: equations without scripts, few icons, nothing that moves."""

from __future__ import annotations

import base64
import io
import json
import re

import pytest
from browsing import PAGES, built, needs_browser, opened, show, unscripted

from tools.build import HTML

pytestmark = needs_browser
CHAPTERS = ["book/01-patchify", "book/05-attention", "book/09-training"]
LIMIT = 900_000  # bytes of scripts, style sheets and fonts of a page; 3.9 million before

SHIFT = """new Promise(done => new PerformanceObserver(list => {
    const found = list.getEntries().filter(entry => !entry.hadRecentInput).map(entry => entry.value);
    done(Math.max(0, ...found));
}).observe({type: 'layout-shift', buffered: true}) || setTimeout(() => done(0), 500))"""


@pytest.mark.parametrize("name", CHAPTERS)
def test_equations_are_drawn_without_scripts(browser, address, name):
    """Each that is shown has a size; none holds an error or a stop for the Tab key."""
    with unscripted(browser, f"{address}/{built(name)}") as tab:
        assert "MathJax" not in tab.content() and "fontawesome.js" not in tab.content()
        assert tab.locator("article math").count() == tab.locator("article .math").count() > 10
        assert not tab.locator("merror, article .math :is(a:not(.headerlink), [tabindex])").count()
        sizes = tab.evaluate(
            """() => [...document.querySelectorAll('article math')].filter(one => one.checkVisibility())
                .map(one => one.getBoundingClientRect()).map(box => Math.min(box.width, box.height))"""
        )
        assert len(sizes) > 10 and min(sizes) > 2


@pytest.fixture(scope="module", params=CHAPTERS)
def phone(request, browser, address):
    """A chapter as it comes to a phone."""
    with opened(browser, f"{address}/{built(request.param)}", width=390) as (tab, _):
        tab.evaluate("document.fonts.ready")
        yield tab


def test_a_page_is_light_and_lies_still(phone):
    """Scripts, style sheets and fonts under the limit, no layout shift from equations or icons."""
    sizes = phone.evaluate(
        "performance.getEntriesByType('resource').map(one => [one.name, one.decodedBodySize])"
    )
    heavy = {url.split("/")[-1]: size for url, size in sizes if re.search(r"\.(js|css|woff2)(\?|$)", url)}
    assert len(heavy) > 10 and sum(heavy.values()) < LIMIT, json.dumps(heavy, indent=1)
    assert phone.evaluate(SHIFT) <= 0.02


@pytest.mark.parametrize("width", [390, 1280])
def test_wide_equations_stay_inside_themselves(phone, width):
    """No formula in a line of text is wider than a phone; a block that is too wide scrolls by itself."""
    show(phone, width=width)
    wide = phone.evaluate(
        """() => [...document.querySelectorAll('article span.math')]
            .filter(one => !one.closest('table') && one.getBoundingClientRect().right > innerWidth)
            .map(one => one.querySelector('annotation').textContent)"""
    )
    assert not wide
    style = "one => getComputedStyle(one).overflowX"
    assert phone.locator("article div.math").first.evaluate(style) == "auto"
    assert (
        phone.locator("article span.math").first.evaluate(style) == "visible"
    )  # cut off, a P looks like an F


def test_equations_icons_and_drawings_have_their_fonts(phone):
    loaded = phone.evaluate("[...document.fonts].filter(f => f.status === 'loaded').map(f => f.family)")
    ours = {"Patch by Patch Math", "Font Awesome 6 Free", "Patch by Patch Sans"}
    assert {re.sub('"', "", family) for family in loaded} == ours
    fetched = phone.evaluate("performance.getEntriesByType('resource').map(one => one.name)")
    assert not [name for name in fetched if re.search(r"^http.*\.(woff2?|ttf|otf)$", name)]


def test_every_icon_is_in_the_small_font():
    """An icon that a page names, and that the font lacks, would be an empty box."""
    from fontTools.ttLib import TTFont

    sheet = (HTML / "_static/styles/pydata-sphinx-theme.css").read_text(encoding="utf-8")
    codes = {
        name: int(code, 16)
        for names, code in re.findall(r'([^{}]*){content:"\\([0-9a-f]+)"}', sheet)
        for name in re.findall(r"\.(fa-[a-z0-9-]+):before", names)
    }
    pages = [(HTML / built(name)).read_text(encoding="utf-8") for name in PAGES]
    used = set(
        re.findall(r"\bfa-[a-z0-9-]+", " ".join(re.findall(r'class="([^"]*\bfa[ -][^"]*)"', " ".join(pages))))
    )
    used = {name for name in used if name in codes}
    sheet = (HTML / "_static/fonts.css").read_text(encoding="utf-8")
    font = TTFont(io.BytesIO(base64.b64decode(re.findall(r"base64,([^\"]+)", sheet)[1]))).getBestCmap()
    assert len(used) > 5 and not {name for name in used if codes[name] not in font}
