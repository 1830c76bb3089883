"""The built book for those who use no mouse, no eyes or no scripts: axe-core, the focus, names, touch, colours."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from browsing import PAGES, built, needs_browser, opened, show

pytestmark = needs_browser

CHAPTER = "book/05-attention"
# test_browser.py measures the contrast of every text of every article; axe takes half a minute for it on a long page
ALL = """{resultTypes: ['violations'], rules: {'target-size': {enabled: true}, 'color-contrast': {enabled: false},
          'label-content-name-mismatch': {enabled: true}}}"""
COLOURS = "{resultTypes: ['violations'], runOnly: ['color-contrast', 'link-in-text-block']}"
LESS = """() => { // what makes axe slow and is seen elsewhere: the spans of coloured code
    document.querySelectorAll('pre, em.sig-param, .sig-return').forEach(each => {
        const button = each.querySelector('button');
        each.textContent = each.textContent;
        if (button) each.append(button);
    });
}"""


def faults(tab, options: str, without: str = "") -> list[str]:
    """What axe-core calls serious or critical on the page as it is shown.

    A part of the map is named by its chapter and what it does; the words drawn in it are not repeated in its name.
    """
    where = f"{{exclude: ['{without}']}}" if without else "document"
    return tab.evaluate(
        f"""async () => (await axe.run({where}, {options})).violations
            .filter(each => ['serious', 'critical'].includes(each.impact))
            .flatMap(each => each.nodes.map(node => `${{each.id}}: ${{node.html.slice(0, 120)}}`))
            .filter(each => !/^label-content-name-mismatch: <a .*data-part=/.test(each))"""
    )


@pytest.fixture(scope="module")
def axe() -> str:
    """The text of axe-core, as its package brings it."""
    package = pytest.importorskip("axe_playwright_python")
    return (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@contextlib.contextmanager
def unscripted(browser, url, dark=False, width=1280):
    """Opens a page without scripts."""
    context = browser.new_context(
        java_script_enabled=False,
        color_scheme="dark" if dark else "light",
        viewport={"width": width, "height": 900},
    )
    tab = context.new_page()
    tab.goto(url)
    yield tab
    context.close()


@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_serious(browser, address, axe, page):
    with opened(browser, f"{address}/{built(page)}") as (tab, _):
        twice = tab.evaluate(
            "[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) !== i)"
        )
        assert not twice, "ids that stand twice"
        tab.evaluate(axe)
        tab.evaluate(LESS)
        found = {"wide": faults(tab, ALL), "light": faults(tab, COLOURS, ".bd-article")}
        show(tab, dark=True, width=390)
        tab.wait_for_timeout(400)  # the theme looks a while after a change of size at what scrolls
        found |= {"narrow": faults(tab, ALL), "dark": faults(tab, COLOURS, ".bd-article")}
        assert not any(found.values()), found


# The keyboard


@pytest.fixture(scope="module")
def chapter(browser, address):
    with opened(browser, f"{address}/{built(CHAPTER)}") as (tab, _):
        yield tab


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("page", [CHAPTER, "book/questions", "book/how-to-run"])
def test_whatever_takes_the_focus_shows_it_in_one_way(browser, address, page, dark):
    """But for parts of the map (a test of theirs is in test_browser.py), and tabs, whose labels show it."""
    with opened(browser, f"{address}/{built(page)}") as (tab, _):
        show(tab, dark=dark)
        tab.keyboard.press("Tab")  # from here on a browser shows the focus
        rings = tab.evaluate(
            """() => Object.fromEntries([...document.querySelectorAll('a, button, summary, input, [tabindex="0"]')]
                .filter(e => e.checkVisibility() && !e.closest('svg, .skip-link, .sd-tab-set > input'))
                .map(e => { e.focus(); const style = getComputedStyle(e);
                    return [`${style.outlineStyle} ${style.outlineWidth} ${style.outlineColor}`,
                            document.activeElement === e && e.outerHTML.slice(0, 99)]; })
                .filter(([ring, focused]) => focused))"""
        )
        assert list(rings) == ["solid 3px rgb(86, 180, 233)" if dark else "solid 3px rgb(0, 114, 178)"], rings


def test_the_theme_switch_keeps_the_focus_and_says_its_mode(chapter):
    switch = chapter.locator(".theme-switch-button").first
    names = set()
    for _ in range(3):
        switch.focus()
        chapter.keyboard.press("Enter")
        assert switch.evaluate("button => button === document.activeElement")
        names.add(switch.get_attribute("aria-label"))
    assert names == {"Color mode: Light", "Color mode: Dark", "Color mode: System Settings"}


def test_only_what_scrolls_is_a_tab_stop(chapter):
    state = """[...document.querySelectorAll('.bd-article pre, .pst-scrollable-table-container')].map(
        box => [box.scrollWidth > box.clientWidth + 1, box.tabIndex === 0, box.getAttribute('aria-label')])"""
    for width in (1280, 390):
        show(chapter, width=width)
        chapter.wait_for_timeout(500)
        found = chapter.evaluate(state)
        assert all(scrolls == stop == bool(name) for scrolls, stop, name in found)
    assert sum(scrolls for scrolls, *_ in found) > 20, "nothing scrolls on a phone: is this the chapter?"


def test_scrolling_code_has_a_shadow_at_its_edge(chapter):
    show(chapter, width=390)
    code = chapter.locator("pre[data-scrolls]").first
    assert code.evaluate("pre => getComputedStyle(pre).backgroundAttachment").startswith(
        "local, local, scroll"
    )


def test_tables_scroll_in_a_box_that_has_a_name(browser, address):
    with opened(browser, f"{address}/{built('book/data-and-models')}", width=390) as (tab, _):
        boxes = tab.locator(".pst-scrollable-table-container[tabindex='0'][role=region]")
        assert boxes.count() >= 3
        assert "Table in" in boxes.first.get_attribute("aria-label")
        assert (
            tab.locator("article table").first.evaluate("table => getComputedStyle(table).display") == "table"
        )


def test_each_solution_names_its_exercise(chapter):
    lines = chapter.locator("details.solution > summary").all_inner_texts()
    assert len(set(lines)) == len(lines) >= 5
    assert all(line.startswith("Solution to Exercise 5.") for line in lines)


def test_words_of_code_stay_whole_in_a_line(chapter):
    show(chapter, width=390)
    broken = chapter.evaluate(
        """() => [...document.querySelectorAll('.bd-article p code.literal span.pre')].filter(word => {
            const line = parseFloat(getComputedStyle(word).lineHeight), room = word.closest('p').clientWidth;
            return word.offsetHeight > 1.7 * line && word.offsetWidth < 0.8 * room; }).map(word => word.textContent)"""
    )
    assert not broken


# Without scripts


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_colours_are_there_without_scripts(browser, address, dark):
    """Ground, boxes, code and map look as they do with scripts; of two drawings the one for the mode is shown."""
    look = """() => ['body', 'details.glance', '.highlight .k, .highlight .kn', 'svg.vit-map .part > .box',
                     'details.solution > summary', '.bd-article a'].map(each => {
        const style = getComputedStyle(document.querySelector(each));
        return [each, style.color, style.backgroundColor, style.fill].join(' '); })"""
    url = f"{address}/{built(CHAPTER)}"
    with opened(browser, url) as (tab, _):
        show(tab, dark=dark)
        scripted = tab.evaluate(look)
    with unscripted(browser, url, dark) as tab:
        assert tab.evaluate(look) == scripted
    with unscripted(browser, f"{address}/{built('book/intro')}", dark) as tab:
        shown = {name: tab.locator(f"img.bare.only-{name}").first.is_visible() for name in ("light", "dark")}
        assert shown == {"light": not dark, "dark": dark}
        assert tab.locator(".navbar-brand img >> visible=true").count() == 1


def test_solutions_open_without_scripts(browser, address):
    with unscripted(browser, f"{address}/{built(CHAPTER)}") as tab:
        solution = tab.locator("details.solution").first
        text = solution.locator("section p").first
        assert not text.is_visible()
        solution.locator("summary").click()
        text.wait_for(state="visible")
