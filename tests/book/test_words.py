"""What scripts say, and its Chinese: the catalogue holds it all, is compiled, and keeps what is filled in."""

import re

import pytest

pytest.importorskip("babel")
from page import words
from vitworkshop.words import FOLDER, table

MENDED = "python -m page.words update"
CATALOGUE = words.read()


def forms(message) -> list[str]:
    """A message's text, or both, where something is counted."""
    return [message] if isinstance(message, str) else list(message)


def fields(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def test_a_script_is_read_whatever_stands_around_its_calls():
    script = r"""x(t("a “b” \"c\"", { n }), tn("{n} d", "{n} ds", n), `e ${t("f " +
      "g")}`); set("h"); // t("i")"""
    found = ['a “b” "c"', ("{n} d", "{n} ds"), "f g", "i"]
    assert words.messages(script) == found


def test_a_module_is_read_and_says_its_words_in_the_language_that_is_chosen():
    module = 'x = t("{n} more, "\n  "{m} minutes", n=t("f")) + t(x) + u("g")'
    assert set(words.calls(module)) == {"{n} more, {m} minutes", "f"}
    said = [words.t("{n} more, {m} minutes", n=2, m=30), words.t("{none} such")]
    words.speak("zh")
    try:
        chinese = [words.t("{n} more, {m} minutes", n=2, m=30), words.t("{none} such")]
    finally:
        words.speak("en")
    assert said == ["2 more, 30 minutes", "{none} such"]
    assert chinese == ["还有 2 题，30 分钟", "{none} such"]


def test_the_catalogue_holds_what_scripts_say_and_nothing_else():
    said = {forms(message)[0] for _, message in words.said()}
    held = {forms(message.id)[0] for message in CATALOGUE if message.id}
    assert said == held, MENDED


def test_what_is_read_is_compiled_of_the_catalogue():
    for name, ending in words.COMPILED.items():
        path = FOLDER / f"zh{name}.mo"
        assert path.read_bytes() == words.compiled(CATALOGUE, ending), MENDED


def test_what_is_filled_in_is_filled_in_in_chinese():
    """A singular may leave its number out: "1 is enough"."""
    wrong = [
        message.id
        for message in CATALOGUE
        for said in forms(message.string)
        if message.id and said and fields(said) != fields("".join(forms(message.id)))
    ]
    assert not wrong


def test_what_has_no_chinese_is_shown_in_english():
    said = [message for message in CATALOGUE if message.id]
    assert len(table("zh")) == len(said) - len(words.waiting(CATALOGUE))


def test_a_change_of_english_makes_its_chinese_fuzzy(tmp_path, monkeypatch):
    monkeypatch.setattr(words, "FOLDER", tmp_path)
    monkeypatch.setattr(words, "said", lambda: [("a.js", said)])
    for name in ("zh.po", "zh.mo"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    said = "The head was trained to read CLS, never patches."
    words.update()
    (message,) = (each for each in words.read() if each.id)
    assert message.fuzzy and message.string and words.waiting(words.read()) == [said]
    assert said not in words.compiled(words.read()).decode(errors="replace")
