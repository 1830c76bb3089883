"""The built Chinese pages in a browser: how lines break, the way between the languages, what a search finds."""

import re

import pytest
from browsing import first_hits, needs_browser, opened, sampled_pages, unscripted

from page.browser import HTML
from tools.build import toc_pages

pytestmark = [
    *needs_browser,
    pytest.mark.skipif(
        not (HTML / "zh").exists(),
        reason="needs the Chinese pages: make book LANGUAGES=en,zh",
    ),
]
CHAPTER = "book/05-attention"
PAGES = [page for page in toc_pages() if page != "book/api"]
# What readers of Chinese ask in forums, and the pages that answer
QUERIES = {
    "为什么注意力要除以根号d": "05-attention",
    "ViT为什么需要位置编码": "03-position key-concepts",
    "损失变成nan怎么办": "questions clinic",
    "训练准确率低于验证准确率": "questions",
    "显存不够怎么办": "questions",
    "小数据集上ViT比ResNet差": "questions 11-inductive-bias",
    "输入图像大小不是224怎么办": "questions 04-resolution",
    "怎么画注意力热力图": "13-attention-maps microscope",
    "预训练模型怎么改类别数": "16-transfer questions",
    "CLS token和全局平均池化哪个好": "07-cls-or-gap questions",
    "暂退法": "key-concepts 06-encoder",
    "批量规范化": "key-concepts 06-encoder",
}
# Marks that may not begin a line, where one does, with the words around; behind long code one may
BEGINS = """() => {
    const article = document.querySelector('article'), found = [];
    const unread = 'pre, script, style, svg, annotation, .headerlink, .breaks';
    const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    const place = (text, i) => {
        const range = document.createRange();
        range.setStart(text, i);
        range.setEnd(text, i + 1);
        return range.getBoundingClientRect();
    };
    const blocks = 'p, li, td, th, dd, dt, h1, h2, h3, h4, figcaption, summary, div';
    const around = text => text.parentElement.closest(blocks);
    let before = null;
    for (let text; (text = texts.nextNode());) {
        if (text.parentElement.closest(unread)) continue;
        if (before && around(before[0]) !== around(text)) before = null;
        [...text.data].forEach((letter, i) => {
            if (!letter.trim()) return;
            if (before && '，。；）、：？！'.includes(letter)) {
                const [one, two] = [place(...before), place(text, i)];
                if (one.width && two.width && two.top > one.bottom - 2 && two.left < one.left)
                    found.push(before[0].data.slice(-20) + '⏎' + text.data.slice(i, i + 9));
            }
            before = [text, i];
        });
    }
    return found;
}"""


def test_a_mark_that_begins_a_line_is_found(browser):
    tab = browser.new_page()
    tab.set_content(
        '<article><p style="width: 4em">一二三<br>，四</p><p>五，</p></article>'
    )
    assert tab.evaluate(BEGINS) == ["一二三⏎，四"]
    tab.close()


@pytest.mark.parametrize("page", sampled_pages(3, PAGES))
def test_no_line_begins_with_a_mark(browser, address, page):
    with unscripted(browser, f"{address}/zh/{page}.html") as tab:
        for width in (390, 1280):
            tab.set_viewport_size({"width": width, "height": 900})
            assert tab.evaluate(BEGINS) == []


PRESS = "one => one.click()"  # where the page stands: a pointer would scroll to it


def test_the_switch_keeps_the_section_and_what_is_searched(browser, address):
    """There and back; on top of a page it names no section, and on the search it takes the words along."""
    with opened(browser, f"{address}/zh/{CHAPTER}.html") as (tab, wrong):
        way = tab.locator(".btn-language")
        way.evaluate(PRESS)
        tab.wait_for_url(f"{address}/{CHAPTER}.html")
        tab.locator(
            "section#sec-05-heads, section:has(> #sec-05-heads)"
        ).first.evaluate("one => one.scrollIntoView({ behavior: 'instant' })")
        here = tab.evaluate(
            "[...document.querySelectorAll('.bd-article section[id]')]"
            ".findLast(one => one.getBoundingClientRect().top < innerHeight / 3).id"
        )
        way.evaluate(PRESS)
        tab.wait_for_url(f"{address}/zh/{CHAPTER}.html#{here}")
        tab.goto(f"{address}/zh/search.html?q=attention")
        way.evaluate(PRESS)
        tab.wait_for_url(f"{address}/search.html?q=attention")
        tab.goto(f"{address}/genindex.html")
        way.evaluate(PRESS)
        tab.wait_for_url(f"{address}/zh/genindex.html")
        assert not wrong


def test_readers_find_their_page_among_the_first_three(browser, address):
    with opened(browser, f"{address}/zh/search.html") as (tab, _):
        found = {}
        for words in QUERIES:
            hrefs = first_hits(tab, words)
            found[words] = [re.search(r"([\w-]+)\.html", href)[1] for href in hrefs]
        assert not {
            words: each
            for words, each in found.items()
            if not {*each} & {*QUERIES[words].split()}
        }
