"""What scripts say, and its Chinese: the catalogue holds it all, is compiled, and keeps what is filled in."""

import ast
import re

import pytest

pytest.importorskip("babel")
from page import catalogue, words
from vitworkshop.words import CHOSEN, FOLDER, table

MENDED = "python -m page.catalogue update"
CATALOGUE = catalogue.read()


def forms(message) -> list[str]:
    """A message's text, or both, where something is counted."""
    return [message] if isinstance(message, str) else list(message)


def fields(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def test_a_script_is_read_whatever_stands_around_its_calls():
    script = r"""x(t("a “b” \"c\"", { n }), tn("{n} d", "{n} ds", n), `e ${t("f " +
      "g")}`); set("h"); // t("i")"""
    found = ['a “b” "c"', ("{n} d", "{n} ds"), "f g", "i"]
    assert catalogue.messages(script) == found


def test_a_module_is_read_and_says_its_words_in_the_language_that_is_chosen(
    monkeypatch,
):
    module = 'x = t("{n} more, "\n  "{m} minutes", n=t("f")) + t(x) + u("g")\nt("a" if t else "b" if u else "c")'
    found = ["{n} more, {m} minutes", "f", "a", "b", "c"]
    assert catalogue.literals(module, "t") == found
    said = [words.t("{n} more, {m} minutes", n=2, m=30), words.t("{none} such")]
    monkeypatch.setitem(CHOSEN, "language", "zh")
    chinese = [words.t("{n} more, {m} minutes", n=2, m=30), words.t("{none} such")]
    assert said == ["2 more, 30 minutes", "{none} such"]
    assert chinese == ["还有 2 题，30 分钟", "{none} such"]


def test_the_catalogue_holds_what_scripts_say_and_nothing_else():
    said = {forms(message)[0] for _, message in catalogue.said()}
    held = {forms(message.id)[0] for message in CATALOGUE if message.id}
    assert said == held, MENDED


def test_what_is_read_is_compiled_of_the_catalogue():
    for name, ending in catalogue.COMPILED.items():
        file = FOLDER / f"zh{name}.mo"
        assert file.read_bytes() == catalogue.compiled(CATALOGUE, ending), MENDED


def test_pages_get_what_scripts_say_and_no_more():
    scripts = {
        m for name, m in catalogue.said() if name.endswith((".js", "weights/names.py"))
    }
    said = {forms(message)[0] for message in scripts - {*catalogue.waiting(CATALOGUE)}}
    assert table("zh-scripts").keys() == said < table("zh").keys()


def test_what_is_filled_in_is_filled_in_in_chinese():
    """A singular may leave its number out: "1 is enough"."""
    wrong = [
        message.id
        for message in CATALOGUE
        for said in forms(message.string)
        if message.id and said and fields(said) != fields("".join(forms(message.id)))
    ]
    assert not wrong


@pytest.mark.parametrize(
    "path",
    sorted((catalogue.ROOT / "vitworkshop/exercises").glob("*.py")),
    ids=lambda path: path.stem,
)
def test_what_exercises_say_is_found_in_their_source(path):
    """A message with values stands in its call, or no catalogue can hold it; texts without may come from a table."""
    wrong = []
    for call in ast.walk(ast.parse(path.read_text("utf-8"))):
        if (
            not isinstance(call, ast.Call)
            or getattr(call.func, "id", "") not in {"Said", "say"}
            or catalogue.literals(f"say({ast.unparse(call.args[0])})", "say")
        ):
            continue
        if any(each.arg for each in call.keywords) or isinstance(
            call.args[0], ast.JoinedStr | ast.BinOp
        ):
            wrong.append(ast.unparse(call))
    assert not wrong


def test_what_has_no_chinese_is_shown_in_english():
    said = [message for message in CATALOGUE if message.id]
    assert len(table("zh")) == len(said) - len(catalogue.waiting(CATALOGUE))


def test_a_change_of_english_makes_its_chinese_fuzzy(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path)
    monkeypatch.setattr(catalogue, "said", lambda: [("a.js", said)])
    for name in ("zh.po", "zh.mo"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    said = "The head was trained to read CLS, never patches."
    catalogue.update("zh")
    (message,) = (each for each in catalogue.read() if each.id)
    assert (
        message.fuzzy
        and message.string
        and catalogue.waiting(catalogue.read()) == [said]
    )
    assert said not in catalogue.compiled(catalogue.read()).decode(errors="replace")
