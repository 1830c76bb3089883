"""Figures in the built book: they follow the page's colours, can be read on a phone, and weigh little."""

from __future__ import annotations

import pytest
from browsing import built, check_letters, needs_browser, opened, show
from pages import CHAPTERS

pytestmark = needs_browser

PAGES = ["book/intro", *(f"book/{path.stem}" for path in CHAPTERS)]
OURS = r"/_images/|/_static/figures/|/_static/\w+\.(css|js)|/book/[\w-]+\.html"


@pytest.fixture(scope="module", params=PAGES)
def page(request, browser, address):
    """One page of the book and its address."""
    with opened(browser, f"{address}/{built(request.param)}") as (tab, _):
        yield tab, request.param


def test_what_is_ours_weighs_little(page):
    """At most 1.5 MB a page: its text, figures, pictures, style sheets and scripts."""
    tab, _ = page
    tab.wait_for_load_state("networkidle")
    files = tab.evaluate(
        """ours => [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
            .filter(file => new RegExp(ours).test(file.name)).map(file => [file.decodedBodySize, file.name])""",
        OURS,
    )
    assert sum(size for size, _ in files) <= 1.5e6, sorted(files, reverse=True)[:9]
    assert all(size for size, _ in files)


def test_every_image_has_its_size_and_description(page):
    """So that nothing shifts when it is loaded; chapters' figures are drawings, which need no loading."""
    tab, name = page
    drawings = tab.evaluate(
        """() => [...document.querySelectorAll('.drawing > svg')].map(svg => [
            svg.getAttribute('role'), svg.getAttribute('aria-label'), svg.getAttribute('width'),
            svg.getAttribute('height'), svg.getAttribute('viewBox')])"""
    )
    assert drawings or name == "book/intro"
    for role, label, *sizes in drawings:
        assert role == "img" and len(label) >= 20 and " " in label and all(sizes)
    bare = tab.evaluate(
        """() => [...document.querySelectorAll('article img')]
            .filter(image => !image.getAttribute('width') || !image.getAttribute('height')).map(image => image.src)"""
    )
    assert not bare
    assert not tab.locator("article .cell_output img").count()
    ids = tab.evaluate("[...document.querySelectorAll('.drawing [id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_drawings_stand_out_from_the_page(page, dark):
    """No card of their own; letters differ from the page by 4.5 : 1, and curves in the dark by 3 : 1."""
    tab, _ = page
    show(tab, dark=dark)
    found = tab.evaluate(
        """() => {
            const rgb = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255);
            const luminance = colour => rgb(colour)
                .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
                .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
            const ground = luminance(getComputedStyle(document.body).backgroundColor);
            const contrast = colour => {
                const [a, b] = [luminance(colour), ground];
                return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            };
            const follows = (each, what) =>
                new RegExp(`(^|;)${what}:var\\\\(--(ink|muted|curve|letter)`).test(each.getAttribute('style'));
            const all = [...document.querySelectorAll('.drawing svg *')];
            const letters = all.filter(each => each.tagName === 'text' && follows(each, 'fill'));
            const curves = all.filter(each => follows(each, 'stroke'));
            return {
                count: letters.length,
                letters: letters.filter(each => contrast(getComputedStyle(each).fill) < 4.5).map(e => e.outerHTML),
                curves: curves.filter(each => contrast(getComputedStyle(each).stroke) < 3).map(e => e.outerHTML),
                cards: all.filter(each => getComputedStyle(each).fill === 'rgb(251, 252, 253)').length,
                boxes: [...document.querySelectorAll('.drawing')]
                    .filter(box => getComputedStyle(box).backgroundColor !== 'rgba(0, 0, 0, 0)').length,
            };
        }"""
    )
    assert not found["letters"][:3] and not found["cards"] and not found["boxes"]
    assert not dark or not found["curves"][:3]


@pytest.mark.parametrize("width", [390, 1280])
def test_letters_can_be_read(page, width):
    """At least 10 pixels as shown, inside their drawing; what does not fit scrolls, says so, and takes the focus."""
    tab, name = page
    show(tab, width=width)
    assert check_letters(tab, width) or name == "book/intro"


def test_a_printed_drawing_is_whole_and_light(browser, address):
    with opened(browser, f"{address}/{built('book/06-encoder')}") as (tab, _):
        show(tab, dark=True, width=390)
        tab.emulate_media(media="print", color_scheme="dark")
        found = tab.evaluate(
            """() => [...document.querySelectorAll('.drawing')].filter(box => box.getClientRects().length).map(box => ({
                shown: [...box.children].map(svg => getComputedStyle(svg).display),
                fits: box.scrollWidth <= box.clientWidth + 1,
                ink: getComputedStyle(box.querySelector('text[style*="--ink"]')).fill}))"""
        )
        assert found
        for box in found:
            assert box["shown"] in (["block"], ["block", "none"]) and box["fits"]
            assert box["ink"] == "rgb(35, 39, 46)"
