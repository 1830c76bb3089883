"""What tests of the built book in headless Chromium share: a server, a browser, a page opened and shown.

A test file takes `needs_browser` for its `pytestmark`: without Chrome or Chromium its tests are skipped. The fixtures
`address`, `browser` and `visited` come by way of `conftest.py`.
"""

import contextlib
import re
from pathlib import Path

import pytest

from page.browser import HTML, chromium, launched, served
from tools.build import toc_pages

CHROMIUM = chromium()
ELSEWHERE = re.compile(r"^(?!https?://127\.0\.0\.1[:/]|(?:about|blob|data|file):)")
PAGES = [*toc_pages(), "search", "genindex"]

# What sticks out of the screen
STICKS_OUT = """width => document.documentElement.scrollWidth <= width ? [] :
    [...document.querySelectorAll('article *')].filter(e => e.getBoundingClientRect().right > width + 1
        && !e.parentElement.closest('pre, table, .math')).map(e => e.outerHTML.slice(0, 150)).concat('the page')"""

needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="neither Chrome nor Chromium was found: the pages were not opened",
    ),
]


@pytest.fixture(scope="session")
def address():
    """The address at which the built book is served, on this machine only."""
    with served() as place:
        yield place


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests of a process; each test has its own context in it."""
    with launched() as browser:
        yield browser


# WCAG's ratio of contrast of two colours, as lists of bytes
CONTRAST = """
    const luminance = colour => colour.slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const contrast = (one, other) => {
        const [a, b] = [luminance(one), luminance(other)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    };
"""


def sampled_pages(n: int, pages: list[str]) -> list:
    """Of these pages one in n each day, with all tests of it."""
    return [pytest.param(page, marks=pytest.mark.sampled(n, page)) for page in pages]


@contextlib.contextmanager
def opened(browser, url, width=1280, **screen):
    """Opens a page and gives it with the list of all that goes wrong on it: requests elsewhere, errors."""
    # in a context of its own
    tab = browser.new_page(
        viewport={"width": width, "height": 900}, color_scheme="light", **screen
    )
    tab.set_default_timeout(120_000)  # a loaded machine is slow, not wrong
    wrong = []

    def refuse(route):
        wrong.append(f"request to {route.request.url}")
        route.abort()

    tab.route(ELSEWHERE, refuse)
    tab.on(
        "console",
        lambda message: (
            message.type == "error" and wrong.append(f"console: {message.text}")
        ),
    )
    tab.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    tab.on(
        "response",
        lambda answer: (
            answer.status >= 400 and wrong.append(f"{answer.status} {answer.url}")
        ),
    )
    tab.goto(url, wait_until="load")
    tab.wait_for_function("document.fonts.status === 'loaded'")
    yield tab, wrong
    tab.close()


@contextlib.contextmanager
def unscripted(browser, url, width=1280):
    """Opens a page without scripts."""
    tab = browser.new_page(
        java_script_enabled=False, viewport={"width": width, "height": 900}
    )
    tab.set_default_timeout(120_000)
    tab.goto(url)
    yield tab
    tab.close()


@pytest.fixture(scope="module", params=sampled_pages(3, PAGES))
def visited(request, browser, address):
    """One page of the book, opened once for all tests of it, and what went wrong on it so far."""
    with opened(browser, f"{address}/{built(request.param)}") as page:
        yield page


def built(name: str) -> str:
    if not (HTML / f"{name}.html").is_file():
        pytest.fail(f"there is no page {name}: build the book first (make book)")
    return f"{name}.html"


def show(tab, dark: bool = False, width: int = 1280) -> None:
    """Shows the page in the light or dark theme, as the reader's system asks for, and at this width."""
    theme = "dark" if dark else "light"
    tab.emulate_media(color_scheme=theme)
    tab.set_viewport_size({"width": width, "height": 900})
    tab.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
    # lets transitions begin; one that is out of sight may never end by itself
    tab.wait_for_timeout(100)
    tab.evaluate(
        "document.getAnimations().forEach(one => { try { one.finish() } catch { one.cancel() } })"
    )


def check_letters(tab, width: int) -> int:
    """Each drawing's letters are large enough and inside it; it scrolls on a phone only. Returns how many there are."""
    boxes = tab.evaluate(
        """() => [...document.querySelectorAll('.drawing')].filter(box => box.checkVisibility()).map(box => {
            const shown = [...box.children].filter(svg => svg.getClientRects().length);
            const frame = shown[0].getBoundingClientRect();
            const texts = [...shown[0].querySelectorAll('text')];
            const size = text => parseFloat(getComputedStyle(text).fontSize) * shown[0].getScreenCTM().a;
            const out = text => {
                const place = text.getBoundingClientRect();
                return place.left < frame.left - 2 || place.right > frame.right + 2
                    || place.top < frame.top - 2 || place.bottom > frame.bottom + 2;
            };
            return {
                alt: shown[0].getAttribute('aria-label'), shown: shown.length, width: frame.width,
                small: texts.filter(text => size(text) < 9.9).map(text => text.textContent),
                out: texts.filter(out).map(text => text.textContent),
                scrolls: box.scrollWidth > box.clientWidth + 1,
                cue: getComputedStyle(box, '::after').content.includes('scroll'),
                focus: box.tabIndex === 0 && box.getAttribute('role') === 'group' && !!box.ariaLabel,
            };
        })"""
    )
    for box in boxes:
        assert box["shown"] == 1 and not box["small"] and not box["out"], box
        assert box["scrolls"] == box["cue"] == box["focus"], box
        assert width == 390 or not box["scrolls"], box
    return len(boxes)


def check_map(tab, width: int) -> None:
    """One of a map's two shapes is shown; its words are large enough, and each stays inside its part."""
    maps = tab.locator("nav.vit-map-place").count()
    found = tab.evaluate(
        """() => [...document.querySelectorAll('svg.vit-map')].filter(svg => svg.getClientRects().length).map(svg => {
            const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1
                                  && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
            const frame = svg.getBoundingClientRect();
            const size = text => parseFloat(getComputedStyle(text).fontSize) * svg.getScreenCTM().a;
            const texts = [...svg.querySelectorAll('text')];
            const pill = svg.querySelector('.pill');
            const out = text => {
                const home = text.classList.contains('pill-text') ? pill
                           : text.closest('.part') ? text.closest('.part').querySelector('.box') : svg;
                return !inside(text.getBoundingClientRect(), home.getBoundingClientRect());
            };
            return {shape: svg.classList.contains('wide') ? 'wide' : 'tall',
                    fits: frame.left >= 0 && frame.right <= innerWidth,
                    small: texts.filter(text => size(text) < 9.9).map(text => text.textContent),
                    out: texts.filter(out).map(text => text.textContent)};
        })"""
    )
    assert [each["shape"] for each in found] == maps * (
        ["tall"] if width < 700 else ["wide"]
    ), found
    for each in found:
        assert each["fits"] and not each["small"] and not each["out"], each


def first_hits(tab, words: str) -> list[str]:
    """Where the first three hits of a search lead."""
    tab.locator(".bd-search-container input").fill(words)
    tab.wait_for_function("words => document.title.startsWith(`${words} ·`)", arg=words)
    return tab.eval_on_selector_all(
        "#search-hits a", "all => all.slice(0, 3).map(a => a.href)"
    )


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe-core, as its package brings it."""
    package = pytest.importorskip("axe_playwright_python")
    return (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
