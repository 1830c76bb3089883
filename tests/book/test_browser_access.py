"""The built book for those who use no mouse, no eyes or no scripts: axe-core, the focus, names, touch, colours."""

import pytest
from browsing import (
    PAGES,
    built,
    needs_browser,
    opened,
    sampled_pages,
    show,
    unscripted,
)

pytestmark = needs_browser

CHAPTER = "book/05-attention"
OTHERS = [page for page in PAGES if page != CHAPTER]
CHINESE = ["zh/book/intro", "zh/book/05-attention", "zh/book/way", "zh/search"]
# test_browser.py measures the contrast of every text of every article, faster than axe does; what stands around the
# article is of one make on all pages
COLOURED = [CHAPTER, "book/key-concepts", "search"]
COLOURS = """axe.configure({rules: [{id: 'color-contrast', selector: ':not(.bd-article, .bd-article *)'},
                                    {id: 'link-in-text-block', selector: 'a[href]:not(.bd-article *)'}]})"""
# axe calls them moderate; none is left all the same
LIGHTER = ["heading-order", "region", "landmark-unique"]
LESS = """() => { // what makes axe slow and holds nothing to judge: colours of code, insides of drawings and equations
    document.querySelectorAll('pre, em.sig-param, .sig-return').forEach(each => {
        const button = each.querySelector('button');
        each.textContent = each.textContent;
        if (button) each.append(button);
    });
    document.querySelectorAll('span.pre').forEach(each => each.replaceWith(...each.childNodes));
    document.querySelectorAll('.drawing > svg[role=img]').forEach(each => each.replaceChildren());
    const equations = [...document.querySelectorAll('math')].map(each => [each, each.getBoundingClientRect()]);
    for (const [each, box] of equations) // they keep their sizes
        each.innerHTML = `<mspace width="${box.width}px" height="${box.height}px"/>`;
}"""


def faults(tab, colours: bool) -> list[str]:
    """What axe-core calls serious or critical on the page as it is shown, with or without its colours; and LIGHTER."""
    rules = dict.fromkeys(
        ("target-size", "label-content-name-mismatch"), {"enabled": True}
    )
    rules |= {"color-contrast": {"enabled": colours}}
    return tab.evaluate(
        """async ([rules, lighter]) => (await axe.run(document, {rules, resultTypes: ['violations']})).violations
            .filter(each => ['serious', 'critical'].includes(each.impact) || lighter.includes(each.id))
            .flatMap(each => each.nodes.map(node => `${each.id}: ${node.html.slice(0, 120)}`))""",
        [rules, LIGHTER],
    )


@pytest.mark.parametrize("page", [CHAPTER, *sampled_pages(16, [*OTHERS, *CHINESE])])
def test_axe_finds_nothing_serious(browser, address, axe, page):
    with opened(browser, f"{address}/{built(page)}") as (tab, _):
        twice = tab.evaluate(
            "[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, i, all) => all.indexOf(id) !== i)"
        )
        assert not twice, "ids that stand twice"
        tab.evaluate(axe)
        tab.evaluate(COLOURS)
        tab.evaluate(LESS)
        found = faults(tab, page in COLOURED)
        if page in COLOURED:  # a phone shows no bars at the sides
            show(tab, dark=True)
            found += faults(tab, colours=True)
        show(tab, dark=True, width=390)
        # the theme looks a while after a change of size at what scrolls
        tab.wait_for_timeout(400)
        assert not found + faults(tab, page in COLOURED)


# The keyboard


@pytest.fixture(scope="module")
def chapter(browser, address):
    with opened(browser, f"{address}/{built(CHAPTER)}") as (tab, _):
        yield tab


@pytest.mark.parametrize(
    "page", sampled_pages(2, [CHAPTER, "book/questions", "book/how-to-run"])
)
def test_whatever_takes_the_focus_shows_it_in_one_way(browser, address, page):
    """But for parts of the map (a test of theirs is in test_browser.py), and tabs, whose labels show it."""
    with opened(browser, f"{address}/{built(page)}") as (tab, _):
        tab.keyboard.press("Tab")  # from here on a browser shows the focus
        for dark, colour in ((False, "rgb(0, 114, 178)"), (True, "rgb(86, 180, 233)")):
            show(tab, dark=dark)
            rings = tab.evaluate(
                """() => Object.fromEntries([...document.querySelectorAll('a, button, summary, input, [tabindex="0"]')]
                    .filter(e => e.checkVisibility() && !e.closest('svg, .skip-link, .sd-tab-set > input'))
                    .map(e => { e.focus(); const style = getComputedStyle(e);
                        return [`${style.outlineStyle} ${style.outlineWidth} ${style.outlineColor}`,
                                document.activeElement === e && e.outerHTML.slice(0, 99)]; })
                    .filter(([ring, focused]) => focused))"""
            )
            assert list(rings) == [f"solid 3px {colour}"], rings


def test_only_what_scrolls_is_a_tab_stop(chapter):
    """It has a name, and code a shadow at its edge."""
    state = """[...document.querySelectorAll('.bd-article pre, .pst-scrollable-table-container')].map(
        box => [box.scrollWidth > box.clientWidth + 1, box.tabIndex === 0, box.getAttribute('aria-label')])"""
    for width in (1280, 390):
        show(chapter, width=width)
        chapter.wait_for_timeout(500)
        found = chapter.evaluate(state)
        assert all(scrolls == stop == bool(name) for scrolls, stop, name in found)
    assert sum(scrolls for scrolls, *_ in found) > 20, (
        "nothing scrolls on a phone: is this the chapter?"
    )
    shadow = chapter.locator("pre[data-scrolls]").first.evaluate(
        "pre => getComputedStyle(pre).backgroundAttachment"
    )
    assert shadow.startswith("local, local, scroll")


def test_tables_scroll_in_a_box_that_has_a_name_and_rows_keep_theirs_in_sight(
    browser, address
):
    with opened(browser, f"{address}/{built('book/data-and-models')}", width=390) as (
        tab,
        _,
    ):
        boxes = tab.locator(
            ".pst-scrollable-table-container[tabindex='0'][role=region]"
        )
        assert boxes.count() >= 3 and "Table in" in boxes.first.get_attribute(
            "aria-label"
        )
        display = "table => getComputedStyle(table).display"
        assert tab.locator("article table").first.evaluate(display) == "table"
        table = tab.locator(".pst-scrollable-table-container[data-scrolls]").first
        left = "table => table.querySelector('tbody tr').firstElementChild.getBoundingClientRect().left"
        before = table.evaluate(left)
        assert table.evaluate("table => table.scrollLeft = 60") == 60
        assert abs(table.evaluate(left) - before) < 1


def test_a_guess_is_checked_and_shown(chapter):
    """By keyboard: right, a known mistake, an unknown word; then the answer itself."""
    show(chapter)
    guess, word = (
        chapter.locator("form.guess").filter(has_text=number)
        for number in ("05.a", "05.4")
    )
    for field, text in zip(
        guess.locator("input").all(), ("1", "65", "65"), strict=True
    ):
        field.fill(text)
    guess.locator("input").last.press("Enter")
    lines = guess.get_by_role("status").inner_text().splitlines()
    assert lines == [
        "norm1: right",
        "mlp: not yet: the MLP is given one token at a time",
        "attn: right",
    ]
    chapter.locator("details.more > summary").click()
    word.locator("input").fill("the softmax")
    word.locator("input").press("Enter")
    assert (
        "unknown word “the softmax”; the known ones are k, q, v"
        in word.get_by_role("status").inner_text()
    )
    word.get_by_role("button", name="Show").click()
    assert word.get_by_role("status").inner_text().startswith("k.")


# Without scripts


@pytest.mark.parametrize(
    ("page", "fold", "text"),
    [
        (CHAPTER, "details.solution", "section p"),
        (CHAPTER, "details.glance", "dd"),
        (CHAPTER, "details.guess", "text=attn 65"),
        ("book/questions", "details", "p:has(em)"),
    ],
)
def test_what_folds_opens_without_scripts(browser, address, page, fold, text):
    with unscripted(browser, f"{address}/{built(page)}") as tab:
        box = tab.locator(fold).first
        inside = box.locator(text).first
        assert not inside.is_visible()
        box.locator("summary").click()
        inside.wait_for(state="visible")
