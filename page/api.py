"""The reference of every public name, book/api.md, from the docstrings in `vitlib`; and how Sphinx reads them.

    python -m page.api

writes the page. Each docstring's last source is the chapter that derives the object; the page turns it into a link, and
says "Taught in" where that chapter names the object, as its notebook tells.
Running it twice changes nothing; a test holds the page to the package.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import vitlib
from page.address import chapters, title_of, write_if_changed

PAGE = Path(__file__).resolve().parents[1] / "book" / "api.md"
# rooms and their files, in the order of the arrows
ROOMS = {
    "Sizes, devices, results": "config device evidence",
    "Data": "data.dataset data.cifar10 data.drawn10 data.photos",
    "The model": "model.patches model.posembed model.attention model.encoder model.vit model.resnet model.costs",
    "Weights": "weights.pretrained weights.foreign vitworkshop.cli.look",
    "Training": "train.recipe train.augment train.optim train.muon train.masked train.objective train.loop "
    "train.evaluate train.transfer",
    "Explanations": "explain.attention explain.gradients explain.erasing explain.lens explain.scores explain.trace",
    "The doctor": "vitworkshop.doctor.case vitworkshop.doctor.doctor",
    "Controls": "controls",
    "Exercises": "vitworkshop.exercises.ask vitworkshop.exercises.language",
    "In a page": "vitworkshop.web.export vitworkshop.web.explore",
    "Figures and tables": "viz.pictures viz.curves viz.matrices viz.attention viz.diagrams viz.tables viz.style",
}
HEAD = """\
# API reference

Every public name of `vitlib`, room by room, each with the chapter that derives it. A room imports only from the rooms
above it, so the page can be read from top to bottom, and the package too: each file is one concept. The doctor,
exercises and what makes a page stand in a second package, `vitworkshop`, and are loaded when they are first used.

`import vitlib as vl` gives all of them: write `vl.patchify`, whatever the file; figures are `vl.viz.show_images` and so
on, controls `vl.controls.laplace_fill`. Letters in shapes are those of the {doc}`notation`. This page is written from
the docstrings by `page/api.py`.
"""


def home_of(module: str) -> ModuleType:
    """A module, of the package `vitlib` where none is said."""
    return import_module(module if "vitworkshop" in module else f"vitlib.{module}")


def space_of(module: str) -> str:
    """What stands before its names in `vl.`: "viz." for figures, "controls." for controls."""
    first = module.split(".")[0]
    return f"{first}." if first in ("viz", "controls") else ""


def exported(module: str) -> list[str]:
    """The public names that a module defines, in the order of their definitions."""
    public = getattr(vitlib, space_of(module).strip("."), vitlib).__all__
    names = []
    for node in ast.parse(inspect.getsource(home_of(module))).body:
        targets = getattr(node, "targets", [getattr(node, "target", node)])
        names += [
            getattr(target, "name", getattr(target, "id", "")) for target in targets
        ]
    return [name for name in names if name in public]


def chapter_links() -> dict[str, str]:
    """Number -> a link to the chapter."""
    return {
        path.stem[:2]: f":doc:`chapter {path.stem[:2]}, {title_of(path)} <{path.stem}>`"
        for path in chapters()
    }


def source_of(module: str, name: str) -> str:
    """The text that names the chapter: a docstring, or the comment above a constant."""
    home = home_of(module)
    thing = getattr(home, name)
    if inspect.isroutine(thing) or inspect.isclass(thing):
        return inspect.getdoc(thing) or ""
    comment = re.search(rf"^#: (.*)\n{name}\b", inspect.getsource(home), re.M)
    return comment[1] if comment else ""


def numbers_of(module: str, name: str) -> list[str]:
    """The chapters that derive an object, from the end of its docstring."""
    said = re.findall(r"chapters? (\d\d(?: and \d\d)*)", source_of(module, name))
    if not said:
        home = home_of(module).__name__
        raise ValueError(
            f"the docstring of {home}.{name} names no chapter; end it with Source: chapter 09."
        )
    return re.findall(r"\d\d", said[-1])


@cache
def words_of_chapters() -> dict[str, set[str]]:
    """Number -> every word of the notebook, code and prose."""
    cells = {
        path.stem[:2]: json.loads(path.read_text(encoding="utf-8"))["cells"]
        for path in chapters()
    }
    return {
        number: set(
            re.findall(r"\w+", "\n".join("".join(cell["source"]) for cell in some))
        )
        for number, some in cells.items()
    }


def told_in(module: str, name: str) -> tuple[str, list[str]]:
    """What the chapters have to do with an object, and their numbers."""
    derived = numbers_of(module, name)
    named = [n for n, words in words_of_chapters().items() if name in words]
    if taught := [n for n in derived if n in named]:
        return "Taught in", taught
    return ("Used in", named[:2]) if named else ("Its idea is in", derived)


def summary(modules: list[str]) -> str:
    """A room's names as a table: what each is for, and its chapters."""
    rows = ["| Name | What it is for | Chapter |", "|---|---|---|"]
    for module in modules:
        for name in exported(module):
            short = f"{space_of(module)}{name}"
            first = re.split(r"\n\n| Source:", source_of(module, name))[0]
            first = " ".join(first.split()).replace("|", "\\|")
            numbers = ", ".join(told_in(module, name)[1])
            rows.append(
                f"| {{py:obj}}`vl.{short} <vitlib.{short}>` | {first} | {numbers} |"
            )
    return "\n".join(rows) + "\n"


def entry(module: str, name: str, links: dict[str, str]) -> str:
    """One object as a directive, with its chapters under it."""
    how, numbers = told_in(module, name)
    thing = getattr(home_of(module), name)
    path = f"vitlib.{space_of(module)}{name}"
    if inspect.isclass(thing):
        members = ", ".join(
            key
            for key, each in vars(thing).items()
            if key[0] != "_" and is_documented(each)
        )
        first = f".. autoclass:: {path}\n" + (
            f"   :members: {members}\n" if members else ""
        )
    elif inspect.isroutine(thing):
        first = f".. autofunction:: {path}\n"
    else:
        words = re.sub(r" Source:.*", "", source_of(module, name)).replace("`", "``")
        first = f".. py:data:: {path}\n\n   {words}\n"
    return f"```{{eval-rst}}\n{first}\n   {how} {' and '.join(links[number] for number in numbers)}.\n```\n"


def is_documented(value: object) -> bool:
    """Whether a class's attribute is a method or a property with a docstring of its own."""
    inner = getattr(value, "__func__", getattr(value, "fget", value))
    return inspect.isfunction(inner) and bool(inner.__doc__)


def page() -> str:
    """The whole page."""
    links, parts = chapter_links(), [HEAD]
    for room, names in ROOMS.items():
        modules = names.split()
        parts.append(f"## {room}\n\n{summary(modules)}")
        for module in modules:
            home = home_of(module)
            first = (inspect.getdoc(home) or "").split("\n\n")[0]
            parts.append(f"### `{home.__name__}`\n\n{' '.join(first.split())}\n")
            parts += [entry(module, name, links) for name in exported(module)]
    return "\n".join(parts)


# Sphinx


def drop_ranges(app, obj, bound_method) -> None:
    """Shows `float` for `Annotated[float, Gt(0)]`: a docstring says ranges in words."""
    function = getattr(obj, "__func__", obj)
    # no function, or names that only a type checker knows
    with suppress(AttributeError, NameError, TypeError):
        function.__annotations__ = get_type_hints(function)


def shorten_shapes(app, what, name, obj, options, signature, returns):
    """Writes jaxtyping's `Float[Tensor, 'B N D']` as the docstrings do: `Float[B N D]`."""

    def shorten(text):
        text = re.sub(
            r"~?(?:jaxtyping\.)?(\w+)\[~?(?:torch\.)?Tensor, (['\"])(.*?)\2\]",
            r"\1[\3]",
            text,
        )
        packages = r"torch\.nn\.modules\.module|torch\.nn|torch|pathlib|jaxtyping|collections\.abc|vitlib(?:\.\w+)+"
        return re.sub(rf"~?\b(?:{packages})\.(?=[A-Z])", "", text)

    return signature and shorten(signature), returns and shorten(returns)


def read_plain_docstring(app, what, name, obj, options, lines: list[str]) -> None:
    """Reads docstrings as the plain text they are, before napoleon turns them into reStructuredText.

    An asterisk is an asterisk, as in `(B, D, *size)`, and text before a colon under `Returns:` is no type, since
    types stand only in signatures.
    """
    for i, line in enumerate(lines):
        # every second part stands between backticks
        parts = re.split(r"(`+[^`]*`+)", line)
        parts[::2] = [re.sub(r"(?<!\\)\*(?!\s)", r"\*", part) for part in parts[::2]]
        lines[i] = "".join(parts)
        if i and lines[i - 1].strip() in {"Returns:", "Yields:"} and ":" in line:
            lines[i] = re.sub(r"^(\s*)", r"\1: ", lines[i])


def setup(app) -> None:
    """Changes what autodoc reads, before napoleon does."""
    app.connect("autodoc-before-process-signature", drop_ranges)
    app.connect("autodoc-process-signature", shorten_shapes)
    app.connect("autodoc-process-docstring", read_plain_docstring, priority=100)


if __name__ == "__main__":
    print(
        f"{PAGE.name}: {'written' if write_if_changed(PAGE, page()) else 'as it was'}"
    )
