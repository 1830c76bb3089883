"""Every page of the built book in headless Chromium: no request to any other host, no console errors, equations and
images that are there, words that can be read, no page wider than a phone. Without a browser these tests are skipped."""

import re

import pytest
from browsing import (
    CONTRAST,
    STICKS_OUT,
    built,
    check_letters,
    check_map,
    needs_browser,
    opened,
    show,
    unscripted,
)

from page.browser import HTML

pytestmark = needs_browser

# Pictures that are stretched
STRETCHED = """() => [...document.querySelectorAll('img:not([aria-hidden])')]
.filter(image => image.naturalHeight && image.offsetWidth).map(image => {
    const style = getComputedStyle(image);
    const inner = (size, ...edges) => size - edges.reduce((sum, edge) => sum + parseFloat(style[edge]), 0);
    const width = inner(image.clientWidth, 'paddingLeft', 'paddingRight');
    const height = inner(image.clientHeight, 'paddingTop', 'paddingBottom');
    return [image.getAttribute('src'), (width / height) / (image.naturalWidth / image.naturalHeight)];
}).filter(([src, ratio]) => Math.abs(ratio - 1) > 0.03)"""
# Words that differ from their ground by less than the 4.5 : 1 that WCAG AA asks for (3 : 1 for large text)
FAINT = f"""() => {{
    {CONTRAST}
    const canvas = document.createElement('canvas').getContext('2d', {{willReadFrequently: true}});
    const rgba = colour => {{
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    }};
    const over = (top, bottom) => top.slice(0, 3)
        .map((v, i) => v * top[3] / 255 + bottom[i] * (1 - top[3] / 255)).concat(255);
    const behind = element => {{
        const layers = [];
        for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
        return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 255]);
    }};
    const found = [];
    const walker = document.createTreeWalker(document.querySelector('article, main'), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {{
        const element = walker.currentNode.parentElement;
        const style = getComputedStyle(element);
        const words = walker.currentNode.data.trim();
        if (!words || !element.getBoundingClientRect().width || style.visibility === 'hidden') continue;
        if (element.closest('annotation, svg, [class*=kbd], .headerlink, button')) continue;
        const back = behind(element);
        const ratio = contrast(over(rgba(style.color), back), back);
        const size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        if (ratio < (large ? 3 : 4.5))
            found.push(`${{ratio.toFixed(2)}} ${{element.className}}: ${{words.slice(0, 40)}}`);
    }}
    return [...new Set(found)].slice(0, 12);
}}"""


def test_equations_are_rendered_here(visited):
    """Each that is shown has a size; none holds an error or a stop for the Tab key."""
    tab, _ = visited
    assert (
        tab.locator("article .math math").count()
        == tab.locator("article .math").count()
    )
    assert not tab.locator(
        "merror, article .math[tabindex], article .math [tabindex]"
    ).count()
    small = tab.evaluate(
        """() => {
            const folded = [...document.querySelectorAll('article details:not([open])')];
            folded.forEach(one => one.open = true);
            const sizes = [...document.querySelectorAll('article .math')].filter(one => one.checkVisibility())
                .map(one => one.getBoundingClientRect()).filter(box => Math.min(box.width, box.height) <= 2).length;
            folded.forEach(one => one.open = false);
            return sizes;
        }"""
    )
    assert not small


def test_images_are_shown_and_described(visited):
    tab, _ = visited
    tab.evaluate(
        "document.querySelectorAll('img').forEach(image => image.loading = 'eager')"
    )
    tab.wait_for_function("[...document.images].every(image => image.complete)")
    images = tab.evaluate(
        "[...document.querySelectorAll('img:not([aria-hidden])')]"
        ".map(i => [i.getAttribute('src'), i.alt, i.naturalWidth])"
    )
    for source, alt, width in images:
        assert width > 0, f"not shown: {source}"
        assert " " in alt.strip(), f"no real alt text: {source}"


def test_no_table_is_left_as_typed_and_nothing_waits(visited):
    tab, _ = visited
    text = tab.evaluate(
        "[...document.querySelectorAll('article p, article td')].map(each => each.innerText).join('\\n')"
    )
    assert not re.search(r"\|\s*[—–-]{1,3}\s*\|", text)
    whole = tab.evaluate("document.querySelector('main').textContent")
    assert not re.search(r"waiting for your|vitlib \d.*torch \d", whole)


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_a_page_fits_the_screen(visited, width):
    """It is no wider, its images keep their shapes, and the map's words and the drawings' letters can be read."""
    tab, _ = visited
    show(tab, width=width)
    assert not tab.evaluate(STICKS_OUT, width)[:5]
    assert not tab.evaluate(STRETCHED)
    check_map(tab, width)
    check_letters(tab, width)


def test_code_and_tables_fit_beside_the_contents(visited):
    """At 1280 px, with both bars and all folds open, nothing that is read by lines scrolls sideways."""
    tab, _ = visited
    show(tab)
    wide = tab.evaluate(
        """() => {
            const folded = [...document.querySelectorAll('article details:not([open])')];
            folded.forEach(one => one.open = true);
            const wide = [...document.querySelectorAll('article :is(pre, .pst-scrollable-table-container)')]
                .filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.textContent.trim().slice(0, 80));
            folded.forEach(one => one.open = false);
            return wide;
        }"""
    )
    assert not wide


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out(visited, dark):
    tab, _ = visited
    show(tab, dark=dark)
    faint = tab.evaluate(FAINT)
    assert not faint, "\n".join(faint)


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
        assert (
            focused.evaluate("box => getComputedStyle(box).strokeDasharray") != "none"
        )


def test_the_first_screen_of_a_chapter_is_its_question(visited):
    """Title, promise, map, a folded line, and the first section begins; on a phone it is at most a screen away."""
    tab, _ = visited
    if not re.search(r"/book/\d\d-", tab.url):
        return
    for width, screens in ((1280, 1), (390, 1.25)):
        show(tab, width=width)
        tab.evaluate("scrollTo({top: 0, behavior: 'instant'})")
        first = tab.locator(".bd-article > section > section").first
        place = first.locator("h2").bounding_box()
        assert place["y"] + place["height"] < screens * 900
    fold = tab.locator("details.hide").first
    assert fold.locator("summary").inner_text().strip() == "Show the imports"
    assert not fold.locator("pre").is_visible()
    fold.locator("summary").click()
    assert "import vitlib as vl" in fold.locator("pre").inner_text()
    fold.locator("summary").click()


def test_the_page_was_quiet_all_along(visited):
    """No request to another host, nothing missing, no error in the console, through all that was done above."""
    tab, wrong = visited
    tab.wait_for_load_state("networkidle")
    assert not wrong


def test_the_map_is_there_without_scripts(browser, address):
    with unscripted(browser, f"{address}/{built('book/01-patchify')}", 390) as tab:
        tab.locator("svg.vit-map.tall a[data-part='09']").click()
        tab.wait_for_url("**/09-training.html")


def test_the_book_opens_as_plain_files(browser):
    """A reader may open _build/html/index.html straight from the disk."""
    with opened(browser, (HTML / built("index")).resolve().as_uri()) as (tab, wrong):
        tab.wait_for_url("**/intro.html")
        assert not [each for each in wrong if each.startswith(("request", "error"))]
