"""Finding one's way in the built book, in headless Chromium: search, cards, names of pages. Skipped without one."""

from __future__ import annotations

import re

import pytest
from browsing import built, needs_browser, opened, unscripted

from tools.build import HTML

pytestmark = needs_browser


@pytest.fixture(params=["http", "file"])
def root(request):
    """Where the book lies: behind a server, or on the disk."""
    return request.getfixturevalue("address") if request.param == "http" else HTML.resolve().as_uri()


def test_a_hit_opens_its_section(browser, root):
    """Searching quotes clean text around the word and leads to the section, without a server too."""
    with opened(browser, f"{root}/{built('search')}?q=interpolation") as (tab, wrong):
        first = tab.locator("#search-hits li").first
        first.wait_for()
        assert "interpol" in first.locator("mark").first.text_content().lower()
        assert re.match(r"\d+ sections", tab.locator("#search-status").text_content())
        quotes = tab.locator("#search-hits .excerpt").all_text_contents()
        assert not [quote for quote in quotes if "you are here" in quote or "\\" in quote or len(quote) > 400]
        chapter = tab.locator("#search-hits a[href*='04-resolution.html#']").first
        assert re.match(r"\d\d ", tab.locator("#search-hits .where").first.text_content())
        chapter.click()
        tab.wait_for_url("**/04-resolution.html#*")
        anchor = tab.url.split("#")[1]
        assert tab.evaluate("id => document.getElementById(id).tagName", anchor) == "SECTION"
        assert not wrong


def test_a_search_goes_on_by_keyboard(browser, address):
    """Typing finds anew, words in part or misspelt too, and says how many; Tab leads to the first hit."""
    with opened(browser, f"{address}/{built('search')}") as (tab, wrong):
        assert tab.locator("#search-status").text_content() == ""
        tab.keyboard.type("interpollation")
        tab.locator("#search-hits li").first.wait_for()
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.closest('#search-hits li') !== null")
        tab.locator(".bd-search-container input").fill("xqzw")
        tab.wait_for_function("document.getElementById('search-status').textContent.startsWith('Nothing')")
        assert not wrong


def test_search_without_scripts_leads_on(browser, address):
    with unscripted(browser, f"{address}/{built('search')}") as tab:
        links = tab.locator("noscript a")
        assert links.count() == 3 and all(link.is_visible() for link in links.all())


def test_cards_explain_terms_and_names(browser, root):
    """By mouse and by keyboard; Escape closes; nothing moves."""
    with opened(browser, f"{root}/{built('book/05-attention')}") as (tab, wrong):
        card = tab.locator("#book-card")
        for target, word in (("#term-", " "), ("#vitlib.", "(")):
            link = tab.locator(f"article p > a.has-card[href*='{target}']:visible").first
            link.scroll_into_view_if_needed()
            tall = tab.evaluate("document.documentElement.scrollHeight")
            tab.wait_for_timeout(200)
            link.hover()
            card.wait_for(state="visible")
            assert len(card.text_content()) > 40 and word in card.text_content()
            assert tab.evaluate("document.documentElement.scrollHeight") == tall
            tab.keyboard.press("Escape")
            assert card.is_hidden()
            tab.mouse.move(0, 0)
            link.focus()
            card.wait_for(state="visible")
            assert link.get_attribute("aria-describedby") == "book-card"
            tab.keyboard.press("Escape")
            assert card.is_hidden()
        link.click()
        tab.wait_for_url("**/api.html#vitlib.*")
        assert not wrong


def test_pages_bear_their_names(browser, address):
    """The chapter's number stands in the heading, in the tab's title and beside; each page describes itself."""
    with opened(browser, f"{address}/{built('book/05-attention')}") as (tab, _):
        assert tab.title().startswith("05 Attention")
        assert tab.locator("article h1").text_content().startswith("05 Attention")
        assert tab.locator(".prev-next-title").all_text_contents() == ["04 Resolution", "06 Encoder"]
        described = tab.locator("meta[name=description]")
        assert described.count() == 1 and described.get_attribute("content").startswith(
            "Build self-attention"
        )
