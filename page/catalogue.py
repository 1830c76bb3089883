"""Keeps what the book's code says, and its Chinese: the catalogue `vitworkshop/words/zh.po`, in gettext's form.

    python -m page.catalogue update      brings it up to date with what is said, and compiles what is read beside it

A script says `t("It is {is}.", { is })` or, where it counts, `tn("{n} head", "{n} heads", n)` (boot.js), Python that
writes pages `t("It is {is}.", is=is)` (`page/words.py`), an exercise `Said("{n} numbers", n=2)`
(`vitworkshop/exercises/language.py`), with plain literals: what is no literal is marked by a comment in a script, `//
t("fast") t("slow")`. Tables that are data are read as such, and so are hints and known mistakes. Two places keep what
stands in the catalogue under their names, where people put it: `figures`, labels that notebooks draw and print, in
which a field stands for any text; and `sphinx`, what Sphinx and its theme have no Chinese for.

A message whose English has changed keeps its Chinese as *fuzzy*; until somebody has looked at it, it is shown in
English, as is one without Chinese. `python -m page.translate check` counts both, tests warn.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from page import beside, clinic, edition, guess, numbers
from page import map as drawn_map
from vitlib.weights import foreign
from vitworkshop.exercises import told
from vitworkshop.words import FOLDER

ROOT = Path(__file__).resolve().parents[1]
COMPILED = {  # for Python, for pages, for what is drawn
    "": "",
    "-scripts": (".js", "foreign.py"),
    "-figures": "figures",
}
KEPT = {"figures", "sphinx"}  # what the catalogue itself lists
SCRIPTS = ("vitworkshop/web/*.js", "book/_static/*.js", "book/_static/*/*.js")
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
CALL = re.compile(rf"\btn?\(\s*({LITERAL}(?:\s*\+\s*{LITERAL})*)(?:,\s*({LITERAL}))?")

Message = str | tuple[str, str]  # with its plural, where it counts


def read(language: str = "zh") -> Catalog:
    """A language's catalogue."""
    with (FOLDER / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


def messages(script: str) -> list[Message]:
    """What a script says."""
    found = []
    for call in CALL.finditer(script):
        one, many = (
            "".join(map(json.loads, re.findall(LITERAL, text or "")))
            for text in call.groups()
        )
        found.append((one, many) if call[0].startswith("tn") else one)
    return found


def said() -> Iterator[tuple[str, Message]]:
    """Every message, with the file that says it."""
    for pattern in SCRIPTS:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            for message in messages(path.read_text("utf-8")):
                yield name, message
    for path in sorted(ROOT.glob("page/*.py")):
        for call in calls(path.read_text("utf-8"), "t"):
            for text in literals(call.args[0]):
                yield path.relative_to(ROOT).as_posix(), text
    yield from data()
    for message in read():
        for name in KEPT & {name for name, _ in message.locations}:
            yield name, message.id
    steps = (ROOT / "vitworkshop/web/way-steps.js").read_text("utf-8")
    for called, says, formula, *_ in json.loads(steps[steps.index("{") : -2]).values():
        for message in (called, says, formula):
            yield "vitworkshop/web/way-steps.js", message
    for message in (*foreign.ABSENT.values(), foreign.NO_SUCH):
        yield "vitlib/weights/foreign.py", message
    yield from replies()


def replies() -> Iterator[tuple[str, str]]:
    """What `vl.check` and `vl.hint` say: in calls of `Said` and `say`, tables, hints, sentences to known mistakes."""
    for path in sorted((ROOT / "vitworkshop/exercises").glob("*.py")):
        module = vars(import_module(f"vitworkshop.exercises.{path.stem}"))
        found = calls(path.read_text("utf-8"), "Said", "say")
        spoken = [each for call in found for each in literals(call.args[0])]
        for entry in module.get("EXERCISES", {}).values():
            spoken += [*entry.hints, *(words for *_, words in entry.mistakes)]
        if path.stem == "told":
            spoken += [*told.FACTORS.values(), *told.DONE, *told.ALONG]
        for message in spoken:
            if isinstance(message, str):
                yield path.relative_to(ROOT).as_posix(), message


def calls(source: str, *names: str) -> list[ast.Call]:
    """The calls of these functions, as they stand one below the other."""
    found = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names
    ]
    return sorted(found, key=lambda call: call.lineno)


def literals(node: ast.expr) -> list[str]:
    """A literal, or the two of a condition."""
    if isinstance(node, ast.IfExp):
        return literals(node.body) + literals(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) else []


def data() -> Iterator[tuple[str, str]]:
    """What pages show that is data, with the file that holds it or says it."""
    sources = {
        "page/map.py": drawn_map.said(),
        "page/numbers.py": numbers.said(),
        "page/beside.py": beside.said(),
        "page/guess.py": guess.said(),
        "page/clinic.py": clinic.said(),
        "page/edition.py": edition.said(),
    }
    for name, texts in sources.items():
        for text in texts:
            if re.search("[A-Za-z]{2}", text):
                yield name, text


def compiled(catalog: Catalog, ending: str | tuple[str, ...] = "") -> bytes:
    """A catalogue as gettext reads it, without what is fuzzy: what files say whose names end so."""
    part, made = Catalog(catalog.locale, header_comment=""), BytesIO()
    part.mime_headers = catalog.mime_headers
    for one in catalog:
        if not one.id or any(name.endswith(ending) for name, _ in one.locations):
            part[one.id] = one
    write_mo(made, part)
    return made.getvalue()


def waiting(catalog: Catalog) -> list[Message]:
    """What is shown in English: it has no Chinese, or that of another English (fuzzy)."""
    return [
        each.id
        for each in catalog
        if each.id and (each.fuzzy or not each.string or "" in [*each.string])
    ]


def update(language: str = "zh") -> None:
    """Writes a language's catalogue anew, and what is compiled of it; what nothing says any more is dropped."""
    template, catalog = Catalog(), read(language)
    for name, message in said():
        template.add(message, locations=[(name, None)])
    catalog.update(template, update_creation_date=False)
    for message in catalog:
        message.flags -= {"python-format", "python-brace-format"}
    with (FOLDER / f"{language}.po").open("wb") as file:
        write_po(file, catalog, width=0, include_lineno=False, ignore_obsolete=True)
    for name, ending in COMPILED.items():
        (FOLDER / f"{language}{name}.mo").write_bytes(compiled(read(language), ending))
    print(f"{len(catalog)} messages, {len(waiting(catalog))} shown in English")


if __name__ == "__main__":
    if sys.argv[1:] != ["update"]:
        raise SystemExit(__doc__)
    update()
