"""The Chinese edition: each paragraph keeps what its English holds, and nothing lacks a translation in silence."""

import re
import warnings

import pytest
from pages import PAGES

pytest.importorskip("sphinx_exercise")
from page import edition, language, translate

AVOIDED = "补丁|令牌|变压器|注意头|视觉变换器|嵌入式"  # a patch is 图块, a token 词元
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


def test_words_of_the_pages_are_translated_and_code_is_not():
    page = '<p title="Check">{}</p><pre><span>Check</span></pre><p>a {}</p>'
    said = language.chinese("7 hints, one after the other")
    assert "7" in said and "hints" not in said
    english = page.format("7 hints, one after the other", "Check")
    assert language.translate(english) == page.replace(
        "Check", language.chinese("Check"), 1
    ).format(said, "Check")
