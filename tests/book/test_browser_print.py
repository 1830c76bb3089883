"""The book on paper: light whatever the screen is, without furniture, nothing cut off; and as one PDF."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browsing import built, needs_browser, opened, sampled_pages, show

from tools import pdf

pytestmark = needs_browser

CHAPTER = "book/05-attention"
PAPER = 680  # CSS pixels between the margins of A4
FURNITURE = "button, .bd-sidebar, .bd-header-article, .prev-next-footer, .headerlink, .bd-footer"


@pytest.fixture(
    scope="module",
    params=sampled_pages(
        2, [CHAPTER, "book/questions", "book/data-and-models", "book/how-to-run"]
    ),
)
def printed(request, browser, address):
    """A page that was read in the dark and is printed."""
    with opened(browser, f"{address}/{built(request.param)}") as (tab, _):
        show(tab, dark=True)
        tab.set_viewport_size({"width": PAPER, "height": 960})
        tab.emulate_media(media="print", color_scheme="dark")
        tab.wait_for_function("document.documentElement.dataset.theme === 'light'")
        yield tab, request.param


def test_paper_is_light(printed):
    tab, _ = printed
    dark = tab.evaluate(
        """() => [...document.querySelectorAll('html, body, main, article, article *')].filter(element => {
            const back = getComputedStyle(element).backgroundColor.match(/[\\d.]+/g).map(Number);
            return element.checkVisibility() && (back[3] ?? 1) > 0.5 && Math.max(...back.slice(0, 3)) < 128;
        }).map(element => element.outerHTML.slice(0, 90))"""
    )
    ink = tab.locator("article p").first.evaluate(
        "p => getComputedStyle(p).color.match(/\\d+/g).map(Number)"
    )
    assert not dark and max(ink) < 128


def test_furniture_is_not_printed(printed):
    """Solutions leave a line, and answers to questions are printed."""
    tab, page = printed
    assert not [each for each in tab.locator(FURNITURE).all() if each.is_visible()]
    text = tab.locator("body").inner_text()
    assert "Click to" not in text
    assert tab.locator("article h1 >> visible=true").count() == 1
    if page == CHAPTER:
        solutions = tab.locator("details.solution > summary").count()
        assert (
            tab.locator("details.solution > summary >> visible=true").count()
            == solutions
            >= 4
        )
        assert tab.locator("details.solution > section >> visible=true").count() == 0
        assert "Where do tokens meet?" in text and "Alive in" not in text, (
            "explorers are not alive on paper"
        )
    if page == "book/questions":
        assert all(
            answer.is_visible() for answer in tab.locator("details.sd-dropdown p").all()
        )


def test_nothing_is_cut_off_on_paper(printed):
    tab, _ = printed
    cut = tab.evaluate(
        """paper => [...document.querySelectorAll('article *')].filter(element => element.checkVisibility()
            && !element.closest('svg, math, .math, .visually-hidden')
            && (element.getBoundingClientRect().right > paper + 1
                || (getComputedStyle(element).overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1)
                   && element.tagName !== 'INPUT'))
            .map(element => `${element.className}: ${element.outerHTML.slice(0, 90)}`)""",
        PAPER,
    )
    assert not cut


def test_screen_is_dark_again_after_printing(printed):
    tab, _ = printed
    tab.emulate_media(media="screen", color_scheme="dark")
    tab.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    # workers that take of each other's ask in any order
    tab.emulate_media(media="print", color_scheme="dark")
    tab.wait_for_function("document.documentElement.dataset.theme === 'light'")


def test_a_chapter_takes_no_more_than_thirty_pages(browser, address):
    with opened(browser, f"{address}/{built(CHAPTER)}") as (tab, _):
        show(tab, dark=True)
        theme = "document.documentElement.dataset.theme"
        tab.evaluate(
            f"addEventListener('beforeprint', () => {{ window.printed = {theme} }})"
        )
        paper = tab.pdf(format="A4", print_background=True)
        assert len(re.findall(rb"/Type\s*/Page\b", paper)) <= 30
        assert tab.evaluate(f"[window.printed, {theme}]") == ["light", "dark"]


# The whole book as one PDF


def test_pages_are_joined_with_their_links():
    # some link to states
    pages = [
        "book/lab",
        "book/learns",
        "book/teach",
        "book/04-resolution",
        CHAPTER,
    ]
    text = pdf.join([page for page in pages if built(page)])
    names = re.findall(r'\bid="([^"]+)"', text)
    targets = re.findall(r'href="#([^"]+)"', text)
    assert len(names) == len(set(names)) and not {*targets} - {*names}
    assert "05-attention--" in targets, "no link from page to page"
    assert text.index("<h1>Solutions</h1>") > text.index('id="05-attention--"')
    assert not re.search(r'src="(?!file:)', text)
    drawn = re.findall(r'<image[^>]*? href="([^"]+)"', text)
    assert len(drawn) > 10 and all(
        each.startswith(("file:", "data:")) for each in drawn
    )
    files = [
        Path(unquote(urlsplit(each).path)) for each in drawn if each.startswith("file:")
    ]
    assert files and all(file.is_file() for file in files)


def test_the_pdf_has_an_outline_and_links(browser, tmp_path):
    path = tmp_path / "two.pdf"
    pdf.write(
        [page for page in ("book/bibliography", "book/notation") if built(page)],
        path,
        browser,
        "Two pages",
    )
    paper = path.read_bytes()
    assert paper.startswith(b"%PDF-") and b"/Outlines" in paper and b"/Link" in paper
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) >= 4


def test_without_a_browser_there_is_a_sentence_and_no_file(
    monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(pdf, "chromium", lambda: None)
    monkeypatch.setattr(pdf, "missing_pages", lambda: [])
    monkeypatch.setattr(pdf, "PDF", tmp_path / "none.pdf")
    assert pdf.main() == 1
    assert "neither was found" in capsys.readouterr().out
    assert not pdf.PDF.exists()
