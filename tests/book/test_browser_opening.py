"""How chapters open in the built book, and how they say where the reader is. Skipped without a browser."""

from __future__ import annotations

import re

import pytest
from browsing import built, needs_browser, opened, show, unscripted
from test_book import NUMBERS

from tools.build import toc_pages

pytestmark = needs_browser
CHAPTERS = [name for name in toc_pages() if name[5:7] in NUMBERS]


@pytest.fixture(scope="module", params=CHAPTERS)
def chapter(request, browser, address):
    with opened(browser, f"{address}/{built(request.param)}") as (tab, _):
        yield tab


def test_the_first_screen_is_the_question(chapter):
    """Title, promise, map, a folded line, and the first section begins; on a phone it is at most a screen away."""
    question = chapter.locator(".bd-article > section > section").first
    for width, screens in ((1280, 1), (390, 1.25)):
        show(chapter, width=width)
        place = question.locator("h2").bounding_box()
        assert place["y"] + place["height"] < screens * 900


def test_set_up_is_folded_and_opens(chapter):
    fold = chapter.locator("details.hide").first
    assert fold.locator("summary").inner_text().strip() == "Show the imports"
    assert not fold.locator("pre").is_visible()
    fold.locator("summary").click()
    assert "import vitlib as vl" in fold.locator("pre").inner_text()


def test_the_glance_opens_without_scripts_and_on_paper(browser, address):
    with unscripted(browser, f"{address}/{built('book/05-attention')}") as tab:
        box = tab.locator("details.glance")
        assert re.fullmatch(r"At a glance\s*45 minutes to read", box.locator("summary").inner_text())
        text = box.get_by_text("split a width into heads")
        assert not text.is_visible()
        tab.emulate_media(media="print")
        assert text.is_visible()
        tab.emulate_media(media="screen")
        box.locator("summary").click()
        assert text.is_visible()


def test_the_bar_says_where_one_is(browser, address):
    """Nothing at the top; then the section, marked in the contents too, and fewer minutes, down to none."""
    with opened(browser, f"{address}/{built('book/05-attention')}") as (tab, _):
        bar, left = tab.locator(".bd-header-article"), tab.locator(".reading-left")
        for width in (1280, 390):
            show(tab, width=width)
            tab.evaluate("scrollTo(0, 0)")
            tab.wait_for_function("document.querySelector('.reading-name').textContent === ''")
            assert left.text_content() == ""
            minutes = []
            for title in ("Heads", "What it costs"):
                heading = tab.locator("h2", has_text=title).first
                heading.evaluate("heading => heading.scrollIntoView()")
                tab.wait_for_function(
                    "t => document.querySelector('.reading-name').textContent === t", arg=title
                )
                minutes.append(int(re.search(r"\d+", left.text_content())[0]))
                assert tab.locator(".page-toc a[aria-current=location]").text_content().strip() == title
            assert 45 > minutes[0] > minutes[1] > 0
            tab.evaluate("document.getElementById('references').scrollIntoView()")
            tab.wait_for_function("document.querySelector('.reading-left').textContent === ''")
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
