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

from page import edition, values
from page.edition import HAN

BOOK = Path(__file__).resolve().parent.parent / "book"
RESULTS = BOOK.parent / "vitlib" / "results"
BOX = re.compile(
    r"^(`{3,}|:{3,})\{(?:admonition|dropdown|tip|note|warning)\} *([^\n]*)\n(.*?)^\1$\n?",
    re.M | re.S,
)
OPTIONS = re.compile(r"\A(?::[\w-]+:.*\n)+\n*")
EXERCISE = re.compile(r"^`{3,}\{exercise(?:-start)?\} *(.*)\n:label: *(\S+)\n", re.M)
SOLUTION = re.compile(
    r"^`{3,}\{solution(?:-start)?\} *(\S+)\n(?::.*\n)*(?:`{3,}\n)?", re.M
)
EQUATION = re.compile(r"^\$\$ *\(([\w-]+)\)|^`{3,}\{math\}\n:label: *(\S+)", re.M)
PICTURE = re.compile(r"\]\((_static/(?:[^)]+/)?([^/)]+)\.(\w+))\)")
CITED = re.compile(r"\{cite(?::\w)?\}`([^`]+)`")
MATH = re.compile(r"^(`{3,})\{math\}\n(?::label: *(\S+)\n\n?)?(.*?)^\1$", re.M | re.S)
ALIVE = r"\*(?:Alive where scripts run\.|需启用脚本才能互动。)\*\n?"
MARKS = re.compile(
    rf"^(?:\([\w-]+\)=\n|</?vit-.*>\n?|{ALIVE}|```\{{solution-end\}}\n```\n*)", re.M
)
SAID = {  # what the notebooks themselves say, by language
    "en": {
        "chapter": "chapter {}",
        "exercise": "Exercise {}.{}",
        "figure": "Figure {}.{}",
        "titled": "{}: {}",
        "solution": "Solution of {}",
        "and": " and ",
        "others": " et al.",
        "page": "{}",
        "of": "{} ({})",
        "in brackets": "({})",
        "comma": ", ",
        "semicolon": "; ",
    },
    "zh": {
        "chapter": "第 {} 章",
        "exercise": "练习 {}.{}",
        "figure": "图 {}.{}",
        "titled": "{}：{}",
        "solution": "{} 的解答",
        "and": " 和 ",
        "others": " 等",
        "page": "《{}》",
        "of": "{}（{}）",
        "in brackets": "（{}）",
        "comma": "，",
        "semicolon": "；",
    },
}


@cache
def works(language: str) -> dict[str, tuple[str, str, str]]:
    """Of each work of the bibliography its authors, as one names them, its year and its title."""
    found = {}
    for key, entry in re.findall(
        r"^@\w+\{(\w+),\n(.*?)^\}",
        (BOOK / "references.bib").read_text("utf-8"),
        re.M | re.S,
    ):
        fields = {
            name: re.sub(r"[{}]", "", text)
            for name, text in re.findall(r"(\w+) = \{(.*)\}", entry)
        }
        families = [
            name.split(",")[0].strip() for name in fields["author"].split(" and ")
        ]
        said = SAID[language]
        who = (
            families[0] + said["others"]
            if len(families) > 2
            else said["and"].join(families)
        )
        found[key] = who, fields["year"], fields["title"]
    return found


@cache
def names(language: str) -> dict[str, str]:
    """What a label of the book is called where no link can lead to it."""
    found, words = {}, SAID[language]
    for page in sorted(BOOK.glob("*.md")):
        title = re.search(r"^# (.+)$", edition.page(page, language), re.M)
        found[page.stem] = words["page"].format(title[1] if title else page.stem)
    for page in sorted(BOOK.glob("*.ipynb")):
        cells, chapter = edition.notebook(page, language)["cells"], int(page.stem[:2])
        text = "\n\n".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        )
        found[page.stem] = words["chapter"].format(page.stem[:2])
        found |= {
            label: title
            for label, title in re.findall(r"^\(([\w-]+)\)=\n+#+ (.+)$", text, re.M)
        }
        figures = [
            cell["metadata"].get("mystnb", {}).get("figure", {}).get("name")
            for cell in cells
        ]
        kinds = {
            "({}.{})": [one or other for one, other in EQUATION.findall(text)],
            words["exercise"]: [label for _, label in EXERCISE.findall(text)],
            words["figure"]: [name for name in figures if name],
        }
        for said, labels in kinds.items():
            found |= {
                label: said.format(chapter, i) for i, label in enumerate(labels, 1)
            }
    return found


def results(name: str) -> dict:
    """The contents of a results file."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def role(match: re.Match, language: str) -> str:
    """A role as words."""
    kind, inner = match[1], " ".join(match[2].split())
    if kind.startswith("cite"):
        said, cited = (
            SAID[language],
            [works(language)[key.strip()][:2] for key in inner.split(",")],
        )
        if kind == "cite:t":
            return said["comma"].join(said["of"].format(*each) for each in cited)
        return said["in brackets"].format(
            said["semicolon"].join(map(said["comma"].join, cited))
        )
    if kind == "result":
        return values.result(inner, results)
    words, target = re.fullmatch(r"(.*?)\s*<([^<>]*)>|(.*)", inner).group(1, 2)
    if kind.startswith("py:"):
        return f"`{(words or inner).removeprefix('~')}`"
    return words if target else names(language).get(inner, inner)


def tag(label: str | None, language: str) -> str:
    """The number of an equation, as a line of it; nothing of one without a label."""
    return f"\\tag{{{names(language)[label].strip('()')}}}\n" if label else ""


def box(match: re.Match) -> str:
    """A box as a quotation."""
    title = [f"**{match[2]}**", ""] if match[2] else []
    lines = [*title, *OPTIONS.sub("", match[3]).strip("\n").splitlines()]
    return "".join(f"> {line}".rstrip() + "\n" for line in lines)


def plain(text: str, cited: list[str], language: str) -> str:
    """A cell of Markdown without MyST; `cited` are the works of the whole chapter."""
    said, called = SAID[language], names(language)
    text = MARKS.sub("", text)
    text = SOLUTION.sub(
        lambda m: f"**{said['solution'].format(called[m[1]].lower())}**\n\n", text
    )
    text = EXERCISE.sub(
        lambda m: f"**{said['titled'].format(called[m[2]], m[1])}**\n", text
    )
    # where exercises and solutions end
    text = re.sub(r"^`{4,}\n?", "", text, flags=re.M)
    while BOX.search(text):
        text = BOX.sub(box, text)
    text = re.sub(
        r"^\$\$ *\(([\w-]+)\)", lambda m: f"{tag(m[1], language)}$$", text, flags=re.M
    )
    text = MATH.sub(lambda m: f"$$\n{m[3]}{tag(m[2], language)}$$", text)
    listed = "\n".join(
        f"- {who} ({year}). *{title}*"
        for who, year, title in sorted(works(language)[key] for key in {*cited})
    )
    text = re.sub(
        r"^(`{3,})\{bibliography\}.*?^\1$", lambda m: listed, text, flags=re.M | re.S
    )
    text = re.sub(r"\{([\w:]+)\}`([^`]*)`", lambda m: f"\0{role(m, language)}\0", text)
    text = text.replace(f"{edition.MARK} ", "（英文）")
    # Chinese brackets bring their space
    text = re.sub(r" (?=\0（)|(?<=）\0) ", "", text)
    text = re.sub(
        rf"(?<={HAN})\0(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])\0(?={HAN})", " ", text
    ).replace("\0", "")
    return re.sub(r"^(>? ?): ", r"\1- ", text, flags=re.M)


def attach(cell: dict) -> None:
    """Puts the pictures that a cell of Markdown shows into the cell."""
    for path, name, kind in PICTURE.findall(cell["source"]):
        data = base64.b64encode((BOOK / path).read_bytes()).decode()
        cell.setdefault("attachments", {})[f"{name}.{kind}"] = {f"image/{kind}": data}
    cell["source"] = PICTURE.sub(r"](attachment:\2.\3)", cell["source"])


def plain_notebook(notebook: dict, language: str = "en") -> dict:
    """A chapter whose text any notebook shows as it is meant, and whose checks answer in its language."""
    notebook = copy.deepcopy(notebook)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    whole = "\n".join("".join(cell["source"]) for cell in cells)
    cited = [key.strip() for keys in CITED.findall(whole) for key in keys.split(",")]
    for cell in cells:
        cell["source"] = plain("".join(cell["source"]), cited, language)
        attach(cell)
    if language != "en":
        imports = next(
            cell
            for cell in notebook["cells"]
            if "import vitlib as vl\n" in cell["source"]
        )
        ask = "".join(imports["source"]).replace(
            "\nvl.seed", f'\nvl.language("{language}")\nvl.seed', 1
        )
        imports["source"] = ask.splitlines(keepends=True)
    return notebook
