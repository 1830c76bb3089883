"""The Chinese edition: each paragraph keeps what its English holds, and nothing lacks a translation in silence."""

import re
import warnings
from html import unescape
from pathlib import Path

import pytest
from pages import PAGES

pytest.importorskip("sphinx_exercise")
from page import edition, translate, words
from page.browser import HTML

AVOIDED = "补丁|令牌|变压器|注意头|视觉变换器|嵌入式"  # a patch is 图块, a token 词元
LABEL = r"<text\b[^>]*>([^<]+)|<th class=[^>]*><p>([^<]+)"
EN = "The mean is $m$, 12 of `x`; see {ref}`the test <sec-a>` and [this](b.md)."
ZH = "均值是 $m$，即 `x` 的 12；见{ref}`这项测试 <sec-a>`和[这里](b.md)。"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_translation_keeps_what_its_source_holds(path):
    wrong, _, _ = translate.check(path)
    said = "\n".join(edition.translations(path).values())
    assert not wrong and not re.search(AVOIDED, said)


def test_what_is_stale_is_counted():
    """English may change before its Chinese does; `python -m page.translate check` is strict, for a release."""
    for name, _, stale in translate.checked():
        if stale:
            warnings.warn(f"Chinese, {name}: {stale}", stacklevel=1)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("$m$", "$n$"),
        ("12", "13"),
        ("`x`", "`y`"),
        ("sec-a", "sec-b"),
        ("b.md", "c.md"),
        ("，", ","),
        (" 12", "12"),
    ],
)
def test_what_a_translation_loses_is_named(right, wrong):
    assert translate.problems(EN, ZH) == [] and translate.problems(
        EN, ZH.replace(right, wrong)
    )


def test_what_changed_in_english_is_shown_in_english():
    known = {edition.digest(EN): ZH}
    assert edition.chinese(f"{EN}\n\n$$x$$", known) == (f"{ZH}\n\n$$x$$", 0)
    changed, count = edition.chinese(EN.replace("mean", "sum"), known)
    assert count == 1 and changed == f"{edition.MARK} {EN.replace('mean', 'sum')}"


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("", "{ref}`Here <sec-a>` words begin"),
        ("", "$m$ is the mean, 12"),
        ("", "(a) and (b)"),
        ("", "196 patches"),
        ("", "where small letters begin"),
        ("(sec-a)=\n(sec-b)=\n## ", "A heading"),
        ("- ", "An item\n- another"),
        ("2. ", "An item\n   goes on"),
        ("> ", "A quotation"),
        ("| ", "`x` | a row |"),
        ("A term\nits other name\n  ", "is defined\n  here"),
        ("**A term**\n: ", "is defined"),
    ],
)
def test_the_mark_stands_before_the_words(before, text):
    said = (f"{before}{edition.MARK} {text}", 1)
    assert edition.chinese(before + text, {}) == said


@pytest.mark.parametrize(
    "text",
    [":::{tip} Words\nand more", "````{exercise} Words", "![Words](a.png)", "<a>Words"],
)
def test_what_carries_no_mark_is_counted(text):
    assert edition.chinese(text, {}) == (text, 1)


def test_a_page_leads_to_its_other_language_where_there_is_one():
    found = {
        path.stem: f'href="../zh/book/{path.name}"' in path.read_text("utf-8")
        for path in HTML.glob("book/*.html")
    }
    if not found:
        pytest.skip("needs the built book: make book")
    chinese = (HTML / "zh").exists()
    assert not [page for page, leads in found.items() if leads != chinese]


def test_labels_are_exchanged_and_all_else_in_an_output_stays():
    svg = "<svg><style>* {{loss}}</style><text x='1'>{}</text><text>{} &amp; q</text></svg>"
    table = "| {} | *{}* |\n| --- | --- |\n| q loss | `loss` |"
    data = {"image/svg+xml": svg.format("loss", "p"), "text/plain": "loss"}
    data["text/markdown"] = table.format("patches of 7", "random")
    words.exchange(data)
    assert data == {
        "image/svg+xml": svg.format("损失", "p"),
        "text/plain": "loss",
        "text/markdown": table.format("图块边长 7", "随机"),
    }


def test_what_drawings_and_tables_show_in_latin_letters_is_listed():
    """Words that stay English in Chinese, one a line in `latin.txt`: names of models, of classes, of settings."""
    pages = sorted((HTML / "zh" / "book").glob("*.html"))
    if not pages:
        pytest.skip("needs the Chinese pages: make book LANGUAGES=en,zh")
    allowed = Path(__file__).with_name("latin.txt").read_text("utf-8").split()
    shown = {
        (path.stem, word)
        for path in pages
        if path.stem not in edition.ENGLISH
        for found in re.finditer(LABEL, path.read_text("utf-8"))
        if not re.search(edition.HAN, text := unescape(found[1] or found[2]))
        for word in text.split()
        if re.search("[a-z]{3}", word)
    }
    assert not [one for one in sorted(shown) if one[1] not in allowed]
