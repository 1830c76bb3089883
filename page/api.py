"""Writes book/api.md, the reference of every public name, from the docstrings in `vitlib`.

    python -m page.api

Each docstring's last source is the chapter that derives the object; the page turns it into a link. Running it twice
changes nothing; a test holds the page to the package.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys
from pathlib import Path

import vitlib

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "book" / "api.md"
# rooms and their files, in the order of the arrows
ROOMS = {
    "Sizes, devices, results": ("config", "device", "evidence"),
    "Data": ("data.dataset", "data.cifar10", "data.drawn10", "data.photos"),
    "The model": (
        *("model.patches", "model.resample", "model.posembed", "model.attention", "model.layers"),
        *("model.encoder", "model.vit", "model.resnet", "model.build", "model.costs"),
    ),
    "Weights": ("weights.pretrained", "weights.foreign", "weights.names"),
    "Training": (
        *("train.recipe", "train.augment", "train.randaugment", "train.optim", "train.muon"),
        *("train.corrupt", "train.masked", "train.run", "train.evaluate", "train.transfer"),
    ),
    "Explanations": (
        *(
            "explain.attention",
            "explain.gradients",
            "explain.erasing",
            "explain.intervene",
            "explain.occlusion",
        ),
        *("explain.lens", "explain.ablation", "explain.explanations", "explain.faithfulness"),
    ),
    "The doctor": ("vitworkshop.doctor.case", "vitworkshop.doctor.doctor"),
    "In a page": ("vitworkshop.web.export", "vitworkshop.web.explore"),
    "Figures and tables": (
        *("viz.pictures", "viz.curves", "viz.matrices", "viz.attention", "viz.diagrams"),
        *("viz.tables", "viz.style"),
    ),
}
HEAD = """\
# API reference

Every public name of `vitlib`, room by room, each with the chapter that derives it. A room imports only from the rooms
above it, so the page can be read from top to bottom, and the package too: each file is one concept. The doctor and what
makes a page stand in a second package, `vitworkshop`, and are loaded when they are first used.

`import vitlib as vl` gives all of them: write `vl.patchify`, whatever the file; figures are `vl.viz.show_images` and so
on. Letters in shapes are those of the {doc}`notation`. This page is written from the docstrings by `page/api.py`.
"""


def whole(module: str) -> str:
    """A module's name with that of its package, which is `vitlib` where none is said."""
    return module if module.startswith("vitworkshop.") else f"vitlib.{module}"


def exported(module: str) -> list[str]:
    """The public names that a module defines, in the order of their definitions."""
    path = whole(module)
    public = vitlib.viz.__all__ if module.startswith("viz") else vitlib.__all__
    tree = ast.parse(inspect.getsource(importlib.import_module(path)))
    names = []
    for node in tree.body:
        targets = getattr(node, "targets", [getattr(node, "target", node)])
        names += [getattr(target, "name", getattr(target, "id", "")) for target in targets]
    return [name for name in names if name in public]


def chapters() -> dict[str, str]:
    """Number -> a link to the chapter, or its number where there is none yet."""
    links = {}
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        title = next(m[1] for cell in cells if (m := re.search(r"^# (.+)$", "".join(cell["source"]), re.M)))
        links[path.stem[:2]] = f":doc:`chapter {path.stem[:2]}, {title} <{path.stem}>`"
    return links


def source_of(module: str, name: str) -> str:
    """The text that names the chapter: a docstring, or the comment above a constant."""
    home = importlib.import_module(whole(module))
    thing = getattr(home, name)
    if inspect.isroutine(thing) or inspect.isclass(thing):
        return inspect.getdoc(thing) or ""
    comment = re.search(rf"^#: (.*)\n{name}\b", inspect.getsource(home), re.M)
    return comment[1] if comment else ""


def numbers_of(module: str, name: str) -> list[str]:
    """The chapters that derive an object, from the end of its docstring."""
    text = source_of(module, name)
    numbers = re.findall(r"\d\d", (re.findall(r"chapters? (\d\d(?: and \d\d)*)", text) or [""])[-1])
    if not numbers:
        raise ValueError(
            f"the docstring of {whole(module)}.{name} names no chapter; end it with Source: chapter 09."
        )
    return numbers


def summary(modules: tuple[str, ...]) -> str:
    """A room's names as a table: what each is for, and its chapters."""
    rows = ["| Name | What it is for | Chapter |", "|---|---|---|"]
    for module in modules:
        for name in exported(module):
            short = f"viz.{name}" if module.startswith("viz") else name
            first = re.split(r"\n\n| Source:", source_of(module, name))[0]
            first = re.sub(r"\s+", " ", first).strip().replace("|", "\\|")
            rows.append(
                f"| {{py:obj}}`vl.{short} <vitlib.{short}>` | {first} | {', '.join(numbers_of(module, name))} |"
            )
    return "\n".join(rows) + "\n"


def entry(module: str, name: str, links: dict[str, str]) -> str:
    """One object as a directive, with its chapters under it."""
    text, numbers = source_of(module, name), numbers_of(module, name)
    taught = " and ".join(links.get(number, f"chapter {number} (planned)") for number in numbers)
    thing = getattr(importlib.import_module(whole(module)), name)
    path = f"vitlib.viz.{name}" if module.startswith("viz") else f"vitlib.{name}"
    if inspect.isclass(thing):
        public = [key for key, value in vars(thing).items() if not key.startswith("_") and documented(value)]
        members = f"   :members: {', '.join(public)}\n" if public else ""
        first = f".. autoclass:: {path}\n{members}"
    elif inspect.isroutine(thing):
        first = f".. autofunction:: {path}\n"
    else:
        words = re.sub(r" Source:.*", "", text).replace("`", "``")
        first = f".. py:data:: {path}\n\n   {words}\n"
    return f"```{{eval-rst}}\n{first}\n   Taught in {taught}.\n```\n"


def documented(value: object) -> bool:
    """Whether a class's attribute is a method or a property with a docstring of its own."""
    inner = getattr(value, "__func__", getattr(value, "fget", value))
    return inspect.isfunction(inner) and bool(inner.__doc__)


def page() -> str:
    """The whole page."""
    links, parts = chapters(), [HEAD]
    for room, modules in ROOMS.items():
        parts.append(f"## {room}\n\n{summary(modules)}")
        for module in modules:
            home = importlib.import_module(whole(module))
            first = re.sub(r"\s+", " ", (inspect.getdoc(home) or "").split("\n\n")[0])
            parts.append(f"### `{whole(module)}`\n\n{first}\n")
            parts += [entry(module, name, links) for name in exported(module)]
    return "\n".join(parts)


def main() -> int:
    """Writes the page and returns the exit status."""
    text = page()
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(text, encoding="utf-8", newline="\n")
    print(f"{PAGE.relative_to(ROOT)}: {'as it was' if text == old else 'written'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
