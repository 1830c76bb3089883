"""Chapters in plain Markdown, for Colab, Kaggle and classes, which show MyST as it is typed.

Labels and explorers go; a link of the book becomes its words, or what it leads to is called: a title, "Exercise 5.1",
"(5.2)", "Vaswani et al. (2017)". Boxes become quotations, the list of works holds those that the chapter names, and
pictures are inside the notebook, so that it can travel alone.
"""

from __future__ import annotations

import base64
import copy
import json
import re
from functools import cache
from pathlib import Path

from page import values

BOOK = Path(__file__).resolve().parent.parent / "book"
RESULTS = BOOK.parent / "vitlib" / "results"
BOX = re.compile(
    r"^(`{3,}|:{3,})\{(?:admonition|dropdown|tip|note|warning)\} *([^\n]*)\n(.*?)^\1$\n?", re.M | re.S
)
OPTIONS = re.compile(r"\A(?::[\w-]+:.*\n)+\n*")
EXERCISE = re.compile(r"^`{3,}\{exercise(?:-start)?\} *(.*)\n:label: *(\S+)\n", re.M)
SOLUTION = re.compile(r"^`{3,}\{solution(?:-start)?\} *(\S+)\n(?::.*\n)*(?:`{3,}\n)?", re.M)
EQUATION = re.compile(r"^\$\$ *\(([\w-]+)\)|^`{3,}\{math\}\n:label: *(\S+)", re.M)
PICTURE = re.compile(r"\]\((_static/(?:[^)]+/)?([^/)]+)\.(\w+))\)")
CITED = re.compile(r"\{cite(?::\w)?\}`([^`]+)`")
MATH = re.compile(r"^(`{3,})\{math\}\n(?::label: *(\S+)\n\n?)?(.*?)^\1$", re.M | re.S)
MARKS = re.compile(
    r"^(?:\([\w-]+\)=\n|</?vit-.*>\n?|\*Alive where scripts run\.\*\n?|```\{solution-end\}\n```\n*)", re.M
)


@cache
def works() -> dict[str, tuple[str, str, str]]:
    """Of each work of the bibliography its authors, as one names them, its year and its title."""
    found = {}
    for key, entry in re.findall(
        r"^@\w+\{(\w+),\n(.*?)^\}", (BOOK / "references.bib").read_text("utf-8"), re.M | re.S
    ):
        fields = {name: re.sub(r"[{}]", "", text) for name, text in re.findall(r"(\w+) = \{(.*)\}", entry)}
        families = [name.split(",")[0].strip() for name in fields["author"].split(" and ")]
        who = f"{families[0]} et al." if len(families) > 2 else " and ".join(families)
        found[key] = who, fields["year"], fields["title"]
    return found


@cache
def names() -> dict[str, str]:
    """What a label of the book is called where no link can lead to it."""
    found = {}
    for page in sorted(BOOK.glob("*.md")):
        title = re.search(r"^# (.+)$", page.read_text("utf-8"), re.M)
        found[page.stem] = title[1] if title else page.stem
    for page in sorted(BOOK.glob("*.ipynb")):
        cells, chapter = json.loads(page.read_text("utf-8"))["cells"], int(page.stem[:2])
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        found[page.stem] = f"chapter {page.stem[:2]}"
        found |= {label: title for label, title in re.findall(r"^\(([\w-]+)\)=\n+#+ (.+)$", text, re.M)}
        figures = [cell["metadata"].get("mystnb", {}).get("figure", {}).get("name") for cell in cells]
        kinds = {
            "({}.{})": [one or other for one, other in EQUATION.findall(text)],
            "Exercise {}.{}": [label for _, label in EXERCISE.findall(text)],
            "Figure {}.{}": [name for name in figures if name],
        }
        for said, labels in kinds.items():
            found |= {label: said.format(chapter, i) for i, label in enumerate(labels, 1)}
    return found


def results(name: str) -> dict:
    """The contents of a results file."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def role(match: re.Match) -> str:
    """A role as words."""
    kind, inner = match[1], " ".join(match[2].split())
    if kind.startswith("cite"):
        said = [works()[key.strip()][:2] for key in inner.split(",")]
        if kind == "cite:t":
            return ", ".join(f"{who} ({year})" for who, year in said)
        return f"({'; '.join(f'{who}, {year}' for who, year in said)})"
    if kind == "result":
        return values.result(inner, results)
    words, target = re.fullmatch(r"(.*?)\s*<([^<>]*)>|(.*)", inner).group(1, 2)
    if kind.startswith("py:"):
        return f"`{(words or inner).removeprefix('~')}`"
    return words if target else names().get(inner, inner)


def tag(label: str | None) -> str:
    """The number of an equation, as a line of it; nothing of one without a label."""
    return f"\\tag{{{names()[label].strip('()')}}}\n" if label else ""


def box(match: re.Match) -> str:
    """A box as a quotation."""
    lines = [f"**{match[2]}**", "", *OPTIONS.sub("", match[3]).strip("\n").splitlines()]
    return "".join(f"> {line}".rstrip() + "\n" for line in lines)


def plain(text: str, cited: list[str]) -> str:
    """A cell of Markdown without MyST; `cited` are the works of the whole chapter."""
    text = MARKS.sub("", text)
    text = SOLUTION.sub(lambda m: f"**Solution of {names()[m[1]].lower()}**\n\n", text)
    text = EXERCISE.sub(lambda m: f"**{names()[m[2]]}: {m[1]}**\n", text)
    text = re.sub(r"^`{4,}\n?", "", text, flags=re.M)  # where exercises and solutions end
    while BOX.search(text):
        text = BOX.sub(box, text)
    text = re.sub(r"^\$\$ *\(([\w-]+)\)", lambda m: f"{tag(m[1])}$$", text, flags=re.M)
    text = MATH.sub(lambda m: f"$$\n{m[3]}{tag(m[2])}$$", text)
    listed = "\n".join(
        f"- {who} ({year}). *{title}*" for who, year, title in sorted(works()[key] for key in {*cited})
    )
    text = re.sub(r"^(`{3,})\{bibliography\}.*?^\1$", lambda m: listed, text, flags=re.M | re.S)
    text = re.sub(r"\{([\w:]+)\}`([^`]*)`", role, text)
    return re.sub(r"^(>? ?): ", r"\1- ", text, flags=re.M)


def attach(cell: dict) -> None:
    """Puts the pictures that a cell of Markdown shows into the cell."""
    for path, name, kind in PICTURE.findall(cell["source"]):
        data = base64.b64encode((BOOK / path).read_bytes()).decode()
        cell.setdefault("attachments", {})[f"{name}.{kind}"] = {f"image/{kind}": data}
    cell["source"] = PICTURE.sub(r"](attachment:\2.\3)", cell["source"])


def plain_notebook(notebook: dict) -> dict:
    """A chapter whose text any notebook shows as it is meant."""
    notebook = copy.deepcopy(notebook)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    whole = "\n".join("".join(cell["source"]) for cell in cells)
    cited = [key.strip() for keys in CITED.findall(whole) for key in keys.split(",")]
    for cell in cells:
        cell["source"] = plain("".join(cell["source"]), cited)
        attach(cell)
    return notebook
