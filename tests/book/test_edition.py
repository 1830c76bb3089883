"""The Chinese edition: each paragraph keeps what its English holds, and nothing lacks a translation in silence."""

import re

import pytest
import yaml
from pages import PAGES, ROOT

pytest.importorskip("sphinx_exercise")
from page import edition, language, translate
from vitworkshop.web import export

AVOIDED = "补丁|令牌|变压器|注意头|视觉变换器|嵌入式"  # a patch is 图块, a token 词元
EN = "The mean is $m$, 12 of `x`; see {ref}`the test <sec-a>` and [this](b.md)."
ZH = "均值是 $m$，即 `x` 的 12；见{ref}`这项测试 <sec-a>`和[这里](b.md)。"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_translation_keeps_what_its_source_holds(path):
    chinese = edition.WORDS / f"{path.stem}.md"
    wrong, missing = translate.check(chinese)
    assert not wrong and not re.search(AVOIDED, chinese.read_text("utf-8"))
    assert not missing or path.stem in edition.ENGLISH, (
        f"python -m page.translate new {path.stem}"
    )


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


def test_words_of_the_pages_are_translated_and_code_is_not():
    page = '<p title="Check">{}</p><pre><span>Check</span></pre><p>a {}</p>'
    said = language.chinese("7 hints, one after the other")
    assert "7" in said and "hints" not in said
    english = page.format("7 hints, one after the other", "Check")
    assert language.translate(english) == page.replace(
        "Check", language.chinese("Check"), 1
    ).format(said, "Check")


def test_fragments_of_scripts_stand_in_the_scripts():
    for file, fragments in yaml.safe_load(
        (edition.WORDS / "scripts.yml").read_text("utf-8")
    ).items():
        path = (
            ROOT / file.replace("vit/", "vitworkshop/web/")
            if "vit/" in file
            else ROOT / "book/_static" / file
        )
        script = path.read_text("utf-8") if path.exists() else export.dialect_script()
        assert [each for each in fragments if each not in script] == [], file
