"""What the book's code says, and its Chinese: the catalogue `vitworkshop/words/zh.po`, in gettext's form.

    python -m page.words update      brings it up to date with what is said, and compiles what is read beside it

A script says `t("It is {is}.", { is })` or, where it counts, `tn("{n} head", "{n} heads", n)` (boot.js), Python that
writes pages `t("It is {is}.", is=is)`, with plain literals: what is no literal is marked by a comment in a script, `//
t("fast") t("slow")`. Tables that are data are read as such. Two places keep what stands in the catalogue under their
names, where people put it: `figures`, labels that notebooks draw and print, in which a field stands for any text; and
`sphinx`, what Sphinx and its theme have no Chinese for.

A message whose English has changed keeps its Chinese as *fuzzy*; until somebody has looked at it, it is shown in
English, as is one without Chinese. `python -m page.translate check` counts both, tests warn.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from html import escape, unescape
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from vitlib.weights import foreign
from vitworkshop.words import FOLDER, table

ROOT = Path(__file__).resolve().parents[1]
COMPILED = {"": "", "-scripts": (".js", "foreign.py")}  # for Python, and for pages
KEPT = {"figures", "sphinx"}  # what the catalogue itself lists
SCRIPTS = ("vitworkshop/web/*.js", "book/_static/*.js", "book/_static/*/*.js")
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
CALL = re.compile(rf"\btn?\(\s*({LITERAL}(?:\s*\+\s*{LITERAL})*)(?:,\s*({LITERAL}))?")

# what may be a label in an SVG, and in a cell of a table, without what makes it lean
LABEL = re.compile(
    r"(?<=>)[^<>]+(?=</(?:text|tspan)>|<tspan)"
    r"|(?:(?<=\| )|(?<=\| \*))[^ |*\n][^|*\n]*(?=\*? \|)"
)

Message = str | tuple[str, str]  # with its plural, where it counts
known: dict[str, str] = {}  # English -> the language of the pages that are built


def speak(language: str) -> None:
    """Chooses the language of the pages, "en" or "zh"."""
    known.clear()
    if language != "en":
        known.update(table(language))


def t(text: str, **fields: object) -> str:
    """A text in the language of the pages, with its fields filled in."""
    said = known.get(text, text)
    return said.format(**fields) if fields else said


@cache
def labels() -> list[tuple[re.Pattern, str]]:
    """What notebooks draw and print, and its Chinese; whole labels first."""
    found = [one for one in read() if ("figures", None) in one.locations]
    return [
        (
            re.compile(re.sub(r"\\{(\w)\\}", r"(?P<\1>.+?)", re.escape(one.id))),
            one.string,
        )
        for one in sorted(found, key=lambda one: "{" in one.id)
        if one.string and not one.fuzzy
    ]


def label(found: re.Match) -> str:
    """A label in Chinese, or as it is."""
    text = " ".join(unescape(found[0]).split())
    said = (
        escape(said.format(**fields.groupdict()), quote=False)
        for pattern, said in labels()
        if (fields := pattern.fullmatch(text))
    )
    return next(said, found[0])


def exchange(data: dict[str, str]) -> None:
    """Has the drawings and tables that a cell gave out say their labels in Chinese."""
    for kind in {"image/svg+xml", "text/markdown"} & data.keys():
        data[kind] = LABEL.sub(label, data[kind])


def calls(module: str) -> Iterator[str]:
    """What a module says."""
    for node in ast.walk(ast.parse(module)):
        match node:
            case ast.Call(ast.Name("t"), [ast.Constant(str(text)), *_]):
                yield text


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
        for text in calls(path.read_text("utf-8")):
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


def data() -> Iterator[tuple[str, str]]:
    """What pages show that is data, with the file that holds it or says it."""
    from page import beside, clinic, guess, map, numbers  # here: all of them say `t`

    for concern in (map, numbers, guess, clinic, beside):
        for text in concern.said():
            if re.search("[A-Za-z]{2}", text):
                yield f"{concern.__name__.replace('.', '/')}.py", text


def read(language: str = "zh") -> Catalog:
    """A language's catalogue."""
    with (FOLDER / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


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
        if each.id and not (all(each.string) and not each.fuzzy)
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
