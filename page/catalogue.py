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
import runpy
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from page import beside, clinic, edition, guess, numbers, today
from page import map as drawn_map
from page.address import chapters
from vitlib.weights import names as parts
from vitworkshop.exercises import told
from vitworkshop.words import FOLDER

ROOT = Path(__file__).resolve().parents[1]
COMPILED = {  # for Python, for pages, for what is drawn
    "": "",
    "-scripts": (".js", "weights/names.py"),
    "-figures": "figures",
}
WORDS = re.compile("[A-Za-z]{2}")
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


def files(*patterns: str) -> Iterator[tuple[str, str]]:
    """Names of files, and what they hold."""
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")


def sources() -> Iterator[tuple[str, Iterable[Message]]]:
    """What each file says."""
    for name, script in files(*SCRIPTS):
        yield name, messages(script)
    for name, source in files("page/*.py"):
        yield name, literals(source, "t")
    for module in (drawn_map, numbers, beside, guess, clinic, edition, today):
        name = f"{module.__name__.replace('.', '/')}.py"
        yield name, filter(WORDS.search, module.said())
    for message in read():
        for name in KEPT & {name for name, _ in message.locations}:
            yield name, [message.id]
    for name, source in files("classroom/*.py", "classroom/homework/[!h]*.py"):
        yield name, literals(source, "Said", "say")
    for path in chapters():
        yield f"book/{path.name}", edition.remarks(path)
    for name, _ in files("classroom/homework/h?.py"):
        yield name, assigned(name)
    for name, script in files("vitworkshop/web/way-steps.js"):
        for steps in json.loads(script[script.index("{") : -2]).values():
            yield name, steps[:3]
    refused = [*parts.ABSENT.values(), *parts.ODD.values(), parts.NO_SUCH]
    yield "vitlib/weights/names.py", refused
    for name, source in files("vitworkshop/exercises/*.py"):
        yield name, replies(Path(name).stem, source)


def said() -> list[tuple[str, Message]]:
    """Every message, with the file that says it."""
    return [(name, message) for name, texts in sources() for message in texts]


def replies(name: str, source: str) -> Iterator[str]:
    """What `vl.check` and `vl.hint` say: in calls of `Said` and `say`, tables, hints, sentences to known mistakes."""
    yield from literals(source, "Said", "say")
    module = import_module(f"vitworkshop.exercises.{name}")
    for entry in getattr(module, "EXERCISES", {}).values():
        spoken = [*entry.hints, *(words for *_, words in entry.mistakes)]
        yield from (each for each in spoken if isinstance(each, str))
    if module is told:
        yield from (*told.FACTORS.values(), *told.DONE, *told.ALONG)


def assigned(name: str) -> Iterator[str]:
    """What a homework says: titles, statements, sentences to known mistakes, what a person looks for."""
    work = runpy.run_path(str(ROOT / name))
    yield from (work["TITLE"], work["CHAPTERS"])
    for task in work["TASKS"]:
        said = (
            task.title,
            task.text,
            *task.parts,
            task.read.partition(" ")[2],
            task.rubric,
        )
        yield from filter(None, said)
        if task.exercise:
            yield from (str(words) for *_, words in task.exercise.mistakes)


def literals(source: str, *names: str) -> list[str]:
    """The texts with which these functions are called, as they stand one below the other; of a condition all."""
    first = [
        call.args[0]
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in names
    ]
    found = []
    for text in sorted(first, key=lambda each: each.lineno):
        while isinstance(text, ast.IfExp):
            found.append(text.body)
            text = text.orelse
        found.append(text)
    return [each.value for each in found if isinstance(each, ast.Constant)]


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


def update(language: str) -> None:
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
    for path in FOLDER.glob("*.po"):
        update(path.stem)
