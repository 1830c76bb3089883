"""How chapters open in the built book, and how they say where the reader is. Skipped without a browser."""

from __future__ import annotations

import re

import pytest
from browsing import built, needs_browser, opened, show
from test_book import NUMBERS

from tools.build import toc_pages

pytestmark = needs_browser
CHAPTERS = [name for name in toc_pages() if name[5:7] in NUMBERS]


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_first_screen_is_the_question(browser, address, name):
    """Title, promise, map, a folded line, and the first section begins; on a phone it is at most a screen away."""
    with opened(browser, f"{address}/{built(name)}") as (tab, _):
        question = tab.locator(".bd-article > section > section").first
        for width, screens in ((1280, 1), (390, 1.25)):
            show(tab, width=width)
            place = question.locator("h2").bounding_box()
            assert place["y"] + place["height"] < screens * 900


@pytest.mark.parametrize("name", CHAPTERS)
def test_set_up_is_folded_and_opens(browser, address, name):
    with opened(browser, f"{address}/{built(name)}") as (tab, _):
        fold = tab.locator("details.hide").first
        assert fold.locator("summary").inner_text().strip() == "Show the imports"
        assert not fold.locator("pre").is_visible()
        fold.locator("summary").click()
        assert "import vitlib as vl" in fold.locator("pre").inner_text()


def test_the_glance_opens_without_scripts_and_on_paper(browser, address):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(f"{address}/{built('book/05-attention')}")
    box = tab.locator("details.glance")
    assert re.fullmatch(r"At a glance\s*45 minutes to read", box.locator("summary").inner_text())
    text = box.get_by_text("split a width into heads")
    assert not text.is_visible()
    tab.emulate_media(media="print")
    assert text.is_visible()
    tab.emulate_media(media="screen")
    box.locator("summary").click()
    assert text.is_visible()
    context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_bar_says_where_one_is(browser, address, width):
    """Nothing at the top; then the section, marked in the contents too, and fewer minutes, down to none."""
    with opened(browser, f"{address}/{built('book/05-attention')}", width) as (tab, _):
        name, left = tab.locator(".reading-name"), tab.locator(".reading-left")
        assert name.text_content() == left.text_content() == ""
        minutes = []
        for title in ("Heads", "What it costs"):
            tab.evaluate(
                "t => [...document.querySelectorAll('h2')].find(h => h.textContent.startsWith(t)).scrollIntoView()",
                title,
            )
            tab.wait_for_function("t => document.querySelector('.reading-name').textContent === t", arg=title)
            minutes.append(int(re.search(r"\d+", left.text_content())[0]))
            assert tab.locator(".page-toc a[aria-current=location]").text_content().strip() == title
        assert 45 > minutes[0] > minutes[1] > 0
        tab.evaluate("document.getElementById('references').scrollIntoView()")
        tab.wait_for_function("document.querySelector('.reading-left').textContent === ''")
        bar = tab.locator(".bd-header-article")
        assert bar.evaluate("bar => bar.scrollWidth <= bar.clientWidth + 1")
        assert float(bar.evaluate("bar => bar.style.getPropertyValue('--read')")) == 1


def test_pages_without_minutes_have_no_bar(browser, address):
    with opened(browser, f"{address}/{built('book/notation')}") as (tab, wrong):
        assert tab.locator(".reading-place").count() == 0 and not wrong


def test_letters_lead_to_terms(browser, address):
    """Every letter that a term begins with, in order, each to the first of its terms."""
    with opened(browser, f"{address}/{built('book/key-concepts')}") as (tab, _):
        letters = tab.locator(".letters a")
        terms = tab.locator("dl.glossary dt").evaluate_all(
            "all => all.map(one => [one.firstChild.textContent, one.id])"
        )
        wanted = {}
        for text, anchor in terms:
            wanted.setdefault(text.strip()[0].upper(), f"#{anchor}")
        assert len(wanted) > 8
        assert letters.evaluate_all("all => all.map(a => [a.textContent, a.getAttribute('href')])") == [
            [*each] for each in sorted(wanted.items())
        ]
