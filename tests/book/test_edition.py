"""The Chinese edition: each paragraph keeps what its English holds, and nothing lacks a translation in silence."""

import ast
import re
import subprocess
import warnings
from functools import partial
from pathlib import Path

import pytest
from pages import CHAPTERS, PAGES, cells, shown, source

pytest.importorskip("sphinx_exercise")
from page import edition, translate
from page.browser import HTML
from vitworkshop.words import exchange

AVOIDED = "补丁|令牌|变压器|注意头|视觉变换器|嵌入式"  # a patch is 图块, a token 词元
MARK = edition.mark("zh") + edition.SET
EN = "The mean is $m$, 12 of `x`; see {ref}`the test <sec-a>` and [this](b.md)."
ZH = "均值是 $m$，即 `x` 的 12；见{ref}`这项测试 <sec-a>`和[这里](b.md)。"
# what stands before the words of a unit, of each kind
OPENINGS = [
    "",
    "(sec-a)=\n(sec-b)=\n## ",
    "- ",
    "2. ",
    "  - ",
    "> ",
    "| ",
    "| | ",
    ": ",
    ":::{admonition} ",
    "````{exercise} ",
    "![",
    "A term\nits other name\n  ",
]
CODE = "```python\n\nx = [\n- 1]\n```"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_translation_keeps_what_its_source_holds(path):
    wrong, _ = translate.check(path)
    said = "\n".join(edition.translations(path, "zh").values())
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
    assert edition.translated(f"{EN}\n\n$$x$$", known) == f"{ZH}\n\n$$x$$"
    changed = EN.replace("mean", "sum")
    assert edition.translated(changed, known, MARK) == MARK + changed
    assert edition.translated(EN.replace(" ", "\n", 3), known) == ZH, "new lines"


@pytest.mark.parametrize("opening", OPENINGS, ids=lambda text: text.split("\n")[-1])
def test_one_unit_of_each_kind_is_stale_alone_and_marked(opening):
    """Before its words: in a heading, an item, a row, a title, the text of a picture, below a glossary's terms."""
    units = {each: f"{each}Words of {i}" for i, each in enumerate(OPENINGS)}
    page = "\n\n".join([*units.values(), "- first\n- second\n- third", CODE])
    known = {edition.digest(each): "中文" for each in edition.units(page)}
    changed = page.replace(units[opening], f"{opening}New words")
    said = edition.translated(changed, known, MARK)
    assert said.count(MARK) == 1
    assert f"{opening}{MARK}New words" in said and "Words of" not in said


def test_a_translator_sees_what_changed(tmp_path, monkeypatch, capsys):
    """What a paragraph was, which words changed, and its Chinese; what is new, in the form of the file."""
    git = partial(subprocess.run, cwd=tmp_path, check=True, capture_output=True)
    page, chinese = tmp_path / "a.md", tmp_path / "zh/a.md"
    page.write_text(f"{EN}\n\n- stays\n")
    chinese.parent.mkdir()
    hashes = [edition.digest(EN), edition.digest("- stays")]
    chinese.write_text(f"<!-- page {' '.join(hashes)} -->\n{ZH}\n\n- 保留\n", "utf-8")
    git(["git", "init"])
    git(["git", "add", "a.md"])
    author = ["-c", "user.name=a", "-c", "user.email=a"]
    git(["git", *author, "commit", "-m", "a", "--no-verify", "--no-gpg-sign"])
    changed = EN.replace("The mean is", "The mean was, once,")
    page.write_text(f"Something else.\n\n{changed}\n\n- stays\n")
    for module in (edition, translate):
        monkeypatch.setattr(module, "BOOK", tmp_path)
    translate.new("a")
    marked = EN.replace("is $m$", "[-is-] {+was,+} {+once,+} $m$")
    assert capsys.readouterr().out == (
        f"<!-- page {edition.digest('Something else.')} -->\nSomething else.\n\n"
        f"Was {hashes[0]}: {EN}\nIs: {marked}\n"
        f"<!-- page {edition.digest(changed)} -->\n{ZH}\n\n"
    )


def test_what_is_one_unit():
    """A wrapped line is no unit, an item is, and so is what stands below a title or below code."""
    text = "A line\nand - more\n- an item\n  goes on\n  1. inner\n: meaning\n:::{tip} Title\n:class: x\nBelow\n:::"
    cut = ["A line\nand - more", "- an item\n  goes on", "  1. inner", ": meaning"]
    cut += [":::{tip} Title\n:class: x", "Below\n:::"]
    assert edition.units(text) == cut
    assert edition.units(f"{CODE}\nBelow\n{CODE}") == [CODE, "Below", CODE]
    assert edition.units("| a |\n|---|\n| b |") == ["| a |", "|---|", "| b |"]


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
    exchange(data, "zh")
    assert data == {
        "image/svg+xml": svg.format("损失", "p"),
        "text/plain": "loss",
        "text/markdown": table.format("图块边长 7", "随机"),
    }


def test_a_comment_is_translated_and_the_code_is_left():
    code = 's = "# {0}"  # {0}\nf(x)  # (B, D)'
    said = edition.commented(code.format("wrong again"), "zh")
    assert said == 's = "# wrong again"  # 又错了\nf(x)  # (B, D)'
    assert edition.commented("f(  # wrong again", "zh") == "f(  # wrong again"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_runs_the_same_code_in_chinese(path):
    chinese = edition.notebook(path, "zh")["cells"]
    code = [each["source"] for each in chinese if each["cell_type"] == "code"]
    for one, other in zip(map(source, cells(path)), code, strict=True):
        if "\n    %pip" in one or "\n        %pip" in one:  # no plain Python
            assert one == other
        else:
            assert ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def latin(text: str, allowed: set[str]) -> bool:
    """Whether a text is in Latin letters and no list allows it, as a whole or each of its words."""
    words = (word.strip("()[],;:.“”‘’") for word in text.split())
    return text not in allowed and any(
        re.fullmatch("[A-Za-z-]*[a-z]{3}[A-Za-z-]*", word) and word not in allowed
        for word in words
    )


def test_what_pages_show_in_latin_letters_is_listed():
    """What stays English in Chinese, one a line in `latin.txt`: names of models, classes, settings, pictures."""
    pages = sorted((HTML / "zh" / "book").glob("*.html"))
    if not pages:
        pytest.skip("needs the Chinese pages: make book LANGUAGES=en,zh")
    allowed = {*Path(__file__).with_name("latin.txt").read_text("utf-8").splitlines()}
    # whose new words wait, too; a release has none
    stale = {Path(name).stem for name, _, waits in translate.checked() if waits}
    found = [
        f"{path.stem}: {text}"
        for path in pages
        if path.stem not in {*edition.ENGLISH, *stale}
        and edition.translations(path, "zh")  # else all of it waits, below a banner
        for text in shown(path)
        if not re.search(edition.HAN, text) and latin(text, allowed)
    ]
    assert not found
