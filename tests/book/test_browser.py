"""The built book in headless Chromium: no request to any other host, no console errors, local equations, no page
wider than a phone. Without Chrome or Chromium these tests are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import built, check_map, needs_browser, opened, show, unscripted

from tools.build import HTML, toc_pages

ROOT = Path(__file__).resolve().parents[2]

pytestmark = needs_browser


def test_equations_are_rendered_here(visited):
    tab, _ = visited
    formulas = tab.locator("article .math").count()
    assert tab.locator("article .math math").count() == formulas
    assert tab.locator("merror").count() == 0, "a formula has an error in it"
    assert tab.locator("article .math[tabindex], article .math [tabindex]").count() == 0
    if formulas:
        folded = "document.querySelectorAll('article details:not([open])')"
        tab.evaluate(f"window.folded = [...{folded}]; window.folded.forEach(one => one.open = true)")
        sizes = tab.evaluate(
            """() => [...document.querySelectorAll('article .math')].filter(one => one.checkVisibility())
                .map(one => one.getBoundingClientRect()).map(box => [box.width, box.height])"""
        )
        tab.evaluate("window.folded.forEach(one => one.open = false)")
        assert all(width > 2 and height > 2 for width, height in sizes)


def test_images_are_shown_and_described(visited):
    tab, _ = visited
    tab.evaluate("document.querySelectorAll('img').forEach(image => image.loading = 'eager')")
    tab.wait_for_function("[...document.images].every(image => image.complete)")
    images = tab.evaluate(
        "[...document.images].map(i => ({src: i.getAttribute('src'), alt: i.alt, width: i.naturalWidth}))"
    )
    for image in images:
        assert image["width"] > 0, f"not shown: {image['src']}"
        assert " " in image["alt"].strip(), f"no real alt text: {image['src']}"


@pytest.mark.parametrize("width", [390, 768])
def test_images_keep_their_shape(visited, width):
    tab, _ = visited
    show(tab, width=width)
    stretched = tab.evaluate(
        """() => [...document.images].filter(image => image.naturalHeight && image.offsetWidth).map(image => {
            const style = getComputedStyle(image);
            const inner = (size, ...edges) => size - edges.reduce((sum, edge) => sum + parseFloat(style[edge]), 0);
            const width = inner(image.clientWidth, 'paddingLeft', 'paddingRight');
            const height = inner(image.clientHeight, 'paddingTop', 'paddingBottom');
            return [image.getAttribute('src'), (width / height) / (image.naturalWidth / image.naturalHeight)];
        }).filter(([src, ratio]) => Math.abs(ratio - 1) > 0.03)"""
    )
    assert not stretched


@pytest.mark.parametrize("width", [390, 768])
def test_page_is_no_wider_than_the_screen(visited, width):
    tab, _ = visited
    show(tab, width=width)
    wide = tab.evaluate("document.documentElement.scrollWidth")
    if wide > width:
        culprits = tab.evaluate(
            """width => [...document.querySelectorAll('article *')]
                .filter(e => e.getBoundingClientRect().right > width + 1
                          && !e.parentElement.closest('pre, table, .math'))
                .slice(0, 5).map(e => e.outerHTML.slice(0, 150))""",
            width,
        )
        pytest.fail(f"{wide} px wide on a screen of {width} px: {culprits}")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out(visited, dark):
    """Text and its background differ by the 4.5 : 1 that WCAG AA asks for (3 : 1 for large text)."""
    tab, _ = visited
    show(tab, dark=dark)
    faint = tab.evaluate(
        """() => {
            const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
            const rgba = colour => {
                canvas.clearRect(0, 0, 1, 1);
                canvas.fillStyle = colour;
                canvas.fillRect(0, 0, 1, 1);
                return [...canvas.getImageData(0, 0, 1, 1).data];
            };
            const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255)
                .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
                .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
            const over = (top, bottom) => top.slice(0, 3)
                .map((v, i) => v * top[3] / 255 + bottom[i] * (1 - top[3] / 255)).concat(255);
            const behind = element => {
                const layers = [];
                for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
                return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 255]);
            };
            const found = [];
            const walker = document.createTreeWalker(document.querySelector('article, main'), NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
                const element = walker.currentNode.parentElement;
                const style = getComputedStyle(element);
                const box = element.getBoundingClientRect();
                if (!walker.currentNode.data.trim() || !box.width || style.visibility === 'hidden') continue;
                if (element.closest('annotation, svg, [class*=kbd], .headerlink, button')) continue;
                const back = behind(element);
                const [a, b] = [luminance(over(rgba(style.color), back)), luminance(back)];
                const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                const size = parseFloat(style.fontSize);
                const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
                if (ratio < (large ? 3 : 4.5))
                    found.push(`${ratio.toFixed(2)} ${element.className || element.tagName}: `
                               + walker.currentNode.data.trim().slice(0, 40));
            }
            return [...new Set(found)].slice(0, 12);
        }"""
    )
    assert not faint, "\n".join(faint)


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_the_map_is_legible(visited, width):
    tab, _ = visited
    show(tab, width=width)
    check_map(tab, width)


def test_the_map_can_be_used_by_keyboard(visited):
    """Every part that is shown takes the focus and shows it, and has a name."""
    tab, _ = visited
    show(tab)
    parts = tab.locator("svg.vit-map.wide a.part")
    for i in range(parts.count()):
        part = parts.nth(i)
        part.focus()
        assert part.evaluate("element => element === document.activeElement")
        assert len(part.get_attribute("aria-label")) > 30
    if parts.count():
        tab.keyboard.press("Shift+Tab")
        tab.keyboard.press("Tab")  # a browser shows the focus when keys have moved it
        focused = tab.locator("svg.vit-map.wide a.part:focus-visible > .box")
        assert focused.evaluate("box => getComputedStyle(box).strokeDasharray") != "none"


def test_the_page_was_quiet_all_along(visited):
    """No request to another host, nothing missing, no error in the console, through all that was done above."""
    tab, wrong = visited
    tab.wait_for_load_state("networkidle")
    assert not wrong


def test_solutions_are_folded_and_open_on_a_click(browser, address):
    name = next(name for name in toc_pages() if (ROOT / f"{name}.ipynb").is_file())
    with opened(browser, f"{address}/{built(name)}") as (tab, _):
        solution = tab.locator("details.solution").first
        text = solution.locator("section p").first
        assert not text.is_visible()
        solution.locator("summary").click()
        text.wait_for(state="visible")


def test_answers_unfold_without_scripts(browser, address):
    with unscripted(browser, f"{address}/{built('book/questions')}") as tab:
        answer = tab.locator("details").first
        text = answer.locator("p:has(em)").first
        assert not text.is_visible()
        answer.locator("summary").click()
        text.wait_for(state="visible")


def test_the_map_is_there_without_scripts(browser, address):
    with unscripted(browser, f"{address}/{built('book/01-patchify')}", 390) as tab:
        tab.locator("svg.vit-map.tall a[data-part='09']").click()
        tab.wait_for_url("**/09-training.html")


def test_the_book_opens_as_plain_files(browser):
    """A reader may open _build/html/index.html straight from the disk."""
    with opened(browser, (HTML / built("index")).resolve().as_uri()) as (tab, wrong):
        tab.wait_for_url("**/intro.html")
        assert not [each for each in wrong if each.startswith(("request", "error"))]
