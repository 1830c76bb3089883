"""Figures, equations and icons of the chapters: they follow the page's colours, weigh little, and lie still."""

import base64
import io
import re

import pytest
from browsing import (
    CONTRAST,
    PAGES,
    built,
    needs_browser,
    opened,
    sampled_pages,
    show,
    unscripted,
)
from fontTools.ttLib import TTFont
from pages import CHAPTERS

from page.browser import HTML

pytestmark = needs_browser

SAMPLE = ["book/01-patchify", "book/05-attention", "book/09-training"]
OURS = r"/_images/|/_static/figures/|/_static/\w+\.(css|js)|/book/[\w-]+\.html"
SHIFT = """new Promise(done => new PerformanceObserver(list => {
    const found = list.getEntries().filter(entry => !entry.hadRecentInput).map(entry => entry.value);
    done(Math.max(0, ...found));
}).observe({type: 'layout-shift', buffered: true}) || setTimeout(() => done(0), 500))"""


@pytest.fixture(
    scope="module",
    params=sampled_pages(
        3, ["book/intro", *(f"book/{path.stem}" for path in CHAPTERS)]
    ),
)
def page(request, browser, address):
    """One page of the book, as it comes to a phone, and its address."""
    with opened(browser, f"{address}/{built(request.param)}", width=390) as (tab, _):
        yield tab, request.param


@pytest.fixture(scope="module", params=sampled_pages(2, SAMPLE))
def phone(request, browser, address):
    """A chapter as it comes to a phone."""
    with opened(browser, f"{address}/{built(request.param)}", width=390) as (tab, _):
        yield tab


def weights(tab, kind: str) -> list[tuple[int, str]]:
    """The bytes of a page's files whose addresses are of a kind."""
    files = tab.evaluate(
        """[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
            .map(file => [file.decodedBodySize, file.name])"""
    )
    return sorted((size, name) for size, name in files if re.search(kind, name))


def test_what_is_ours_weighs_little(page):
    """At most 1.5 MB a page: its text, figures, pictures, style sheets and scripts."""
    tab, _ = page
    tab.wait_for_load_state("networkidle")
    files = weights(tab, OURS)
    assert sum(size for size, _ in files) <= 1.5e6, files[-9:]
    assert all(size for size, _ in files)


def test_a_page_is_light_and_lies_still(phone):
    """Scripts, style sheets and fonts under 0.9 MB, no layout shift from equations or icons."""
    files = weights(phone, r"\.(js|css|woff2)(\?|$)")
    assert len(files) > 10 and sum(size for size, _ in files) < 900_000, files
    assert phone.evaluate(SHIFT) <= 0.02


def test_drawings_are_described_and_images_have_their_size(page):
    """So that nothing shifts when it is loaded; chapters' figures are drawings, which need no loading."""
    tab, name = page
    drawings = tab.evaluate(
        """() => [...document.querySelectorAll('.drawing > svg')].map(svg =>
            ['role', 'aria-label', 'width', 'height', 'viewBox'].map(key => svg.getAttribute(key)))"""
    )
    assert drawings or name == "book/intro"
    for role, label, *sizes in drawings:
        assert role == "img" and len(label) >= 20 and " " in label and all(sizes)
    assert not tab.locator(
        "article img:is(:not([width]), :not([height])):not(.first img), article .cell_output img"
    ).count()
    ids = tab.evaluate(
        "[...document.querySelectorAll('.drawing [id]')].map(each => each.id)"
    )
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_drawings_stand_out_from_the_page(page, dark):
    """No card of their own; letters differ from the page by 4.5 : 1, and curves in the dark by 3 : 1."""
    tab, _ = page
    show(tab, dark=dark)
    letters, curves, cards = tab.evaluate(
        f"""() => {{
            {CONTRAST}
            const rgb = colour => colour.match(/[\\d.]+/g).map(Number);
            const ground = rgb(getComputedStyle(document.body).backgroundColor);
            const follows = (each, what) =>
                RegExp(`(^|;)${{what}}:var.--(ink|muted|curve|letter)`).test(each.getAttribute('style'));
            const faint = (what, least, kind) => [...document.querySelectorAll('.drawing svg ' + kind)]
                .filter(each => follows(each, what))
                .filter(each => contrast(rgb(getComputedStyle(each)[what]), ground) < least)
                .map(each => each.outerHTML);
            const card = each => getComputedStyle(each).fill === 'rgb(251, 252, 253)'
                || each.matches('.drawing') && getComputedStyle(each).backgroundColor !== 'rgba(0, 0, 0, 0)';
            return [faint('fill', 4.5, 'text'), faint('stroke', 3, '*'),
                    [...document.querySelectorAll('.drawing, .drawing *')].filter(card).length];
        }}"""
    )
    assert not letters[:3] and not cards
    assert not dark or not curves[:3]


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
    for kind, overflow in (
        ("div", "auto"),
        ("span", "visible"),
    ):  # cut off, a P looks like an F
        formulas = phone.locator(f"article {kind}.math")
        found = formulas.evaluate_all(
            "all => [...new Set(all.map(one => getComputedStyle(one).overflowX))]"
        )
        assert found == [overflow]


def test_equations_icons_and_drawings_have_their_fonts(phone):
    loaded = phone.evaluate(
        "[...document.fonts].filter(f => f.status === 'loaded').map(f => f.family)"
    )
    ours = {"Patch by Patch Math", "Font Awesome 6 Free", "Patch by Patch Sans"}
    assert {family.strip('"') for family in loaded} == ours
    assert not weights(phone, r"^http.*\.(woff2?|ttf|otf)$")


@pytest.mark.parametrize("name", sampled_pages(2, SAMPLE))
def test_equations_are_drawn_without_scripts(browser, address, name):
    """Each that is shown has a size; test_browser.py sees to all pages with scripts."""
    with unscripted(browser, f"{address}/{built(name)}") as tab:
        assert "MathJax" not in tab.content() and "fontawesome.js" not in tab.content()
        assert (
            tab.locator("article math").count()
            == tab.locator("article .math").count()
            > 10
        )
        sizes = tab.evaluate(
            """() => [...document.querySelectorAll('article math')].filter(one => one.checkVisibility())
                .map(one => one.getBoundingClientRect()).map(box => Math.min(box.width, box.height))"""
        )
        assert len(sizes) > 10 and min(sizes) > 2


def test_a_printed_drawing_is_whole_and_light(browser, address):
    with opened(browser, f"{address}/{built('book/06-encoder')}") as (tab, _):
        show(tab, dark=True, width=390)
        tab.emulate_media(media="print", color_scheme="dark")
        found = tab.evaluate(
            """() => [...document.querySelectorAll('.drawing')].filter(box => box.getClientRects().length).map(box => [
                [...box.children].map(svg => getComputedStyle(svg).display),
                box.scrollWidth <= box.clientWidth + 1,
                getComputedStyle(box.querySelector('text[style*="--ink"]')).fill])"""
        )
        assert found
        for shown, fits, ink in found:
            assert (
                shown in (["block"], ["block", "none"])
                and fits
                and ink == "rgb(35, 39, 46)"
            )


def test_every_icon_is_in_the_small_font():
    """An icon that a page names, and that the font lacks, would be an empty box."""
    sheet = (HTML / "_static/styles/pydata-sphinx-theme.css").read_text(
        encoding="utf-8"
    )
    codes = {
        name: int(code, 16)
        for names, code in re.findall(r'([^{}]*){content:"\\([0-9a-f]+)"}', sheet)
        for name in re.findall(r"\.(fa-[a-z0-9-]+):before", names)
    }
    pages = " ".join((HTML / built(name)).read_text(encoding="utf-8") for name in PAGES)
    classes = " ".join(re.findall(r'class="([^"]*\bfa[ -][^"]*)"', pages))
    used = set(re.findall(r"\bfa-[a-z0-9-]+", classes)) & set(codes)
    sheet = (HTML / "_static/fonts.css").read_text(encoding="utf-8")
    font = TTFont(
        io.BytesIO(base64.b64decode(re.findall(r"base64,([^\"]+)", sheet)[1]))
    ).getBestCmap()
    assert len(used) > 5 and not {name for name in used if codes[name] not in font}
