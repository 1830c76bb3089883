"""Chapters as notebooks for readers: in JupyterLab, Colab, Kaggle and classes, which show MyST as it is typed.

A role becomes its words, or what it leads to is called: a title, "Exercise 5.1", "(5.2)", "Vaswani et al. (2017)". They
lead to the page where the book has an address, else to the notebook beside, and those of a work to it; to a section of
the same notebook, they name it. Labels go, boxes become quotations, captions are text, the list of works holds those
that the chapter names, and pictures are inside the notebook. No cell has run yet. A solution is folded text, with its
code and what that printed, so that running all cells neither opens nor runs it. An explorer is a still that names its
page, and a cell in which `vl.explore` moves it.
"""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

from page import edition, values
from page.address import pages_url, read_url, state_address
from page.edition import HAN

BOOK = Path(__file__).resolve().parent.parent / "book"
RESULTS = BOOK.parent / "vitlib" / "results"
BOX = re.compile(
    r"^(`{3,}|:{3,})\{(?:admonition|dropdown|tip|note|warning)\} *([^\n]*)\n(.*?)^\1$\n?",
    re.M | re.S,
)
OPTIONS = re.compile(r"\A(?::[\w-]+:.*\n)+\n*")
EXERCISE = re.compile(r"^`{3,}\{exercise(?:-start)?\} *(.*)\n:label: *(\S+)\n", re.M)
SOLUTION = re.compile(  # whole, or where it begins in a cell of its own
    r"^````\{solution\} (\S+)\n(?::[^\n]*\n)*(.*?)^````\n*"
    r"|^````\{solution-start\} (\S+)\n(?::[^\n]*\n)*````\n(.*)",
    re.M | re.S,
)
SOLVED = re.compile(r"^```\{solution-end\}\n```\n*", re.M)
EQUATION = re.compile(r"^\$\$ *\(([\w-]+)\)|^`{3,}\{math\}\n:label: *(\S+)", re.M)
PICTURE = re.compile(r"\]\((_static/(?:[^)]+/)?([^/)]+)\.(\w+))\)")
CITED = re.compile(r"\{cite(?::\w)?\}`([^`]+)`")
MATH = re.compile(r"^(`{3,})\{math\}\n(?::label: *(\S+)\n\n?)?(.*?)^\1$", re.M | re.S)
MARKS = re.compile(r"^\([\w-]+\)=\n", re.M)
EXPLORER = re.compile(
    r"^<vit-(?P<kind>\w+)(?P<set>[^>\n]*)>\n+(?P<still>!\[.*?\]\(\S+\))\n"
    r".*?^</vit-\w+>\n*",
    re.M | re.S,
)
WHERE = {
    "eprint": "https://arxiv.org/abs/",
    "doi": "https://doi.org/",
    "url": "",
}
Link = Callable[[str, str], str]  # of words and a place in the pages
SAID = {  # what the notebooks themselves say, by language
    "en": {
        "chapter": "chapter {}",
        "exercise": "Exercise {}.{}",
        "figure": "Figure {}.{}",
        "titled": "{}: {}",
        "solution": "Solution of {}",
        "prints": "It prints:",
        "under": "{}, under “{}”",
        "and": " and ",
        "others": " et al.",
        "page": "{}",
        "of": "{} ({})",
        "in brackets": "({})",
        "comma": ", ",
        "percent": f"{values.SPACE}%",
        "semicolon": "; ",
        "built": "{} (`make book`, then `_build/html/book/{}`)",
        "still": "A still: run the next cell, and it moves; so it does on {}.",
        "explorer": "its page",
    },
    "zh": {
        "chapter": "第 {} 章",
        "exercise": "练习 {}.{}",
        "figure": "图 {}.{}",
        "titled": "{}：{}",
        "solution": "{} 的解答",
        "prints": "输出：",
        "under": "{}（见“{}”一节）",
        "and": " 和 ",
        "others": " 等",
        "page": "《{}》",
        "of": "{}（{}）",
        "in brackets": "（{}）",
        "comma": "，",
        "percent": "%",
        "semicolon": "；",
        "built": "{}（`make book`，然后打开 `_build/html/book/{}`）",
        "still": "这是静止的图；运行下一个单元格就能互动，在{}上也可以。",
        "explorer": "它的网页",
    },
}


@cache
def works(language: str) -> dict[str, tuple[str, str, str, str]]:
    """Of each work of the bibliography its authors, as one names them, its year, its title and its address."""
    found = {}
    for key, entry in re.findall(
        r"^@\w+\{(\w+),\n(.*?)^\}",
        (BOOK / "references.bib").read_text("utf-8"),
        re.M | re.S,
    ):
        fields = {
            name: re.sub(r"[{}]", "", text)
            for name, text in re.findall(r"(\w+) = \{(.*?)\}(?:,.*)?$", entry, re.M)
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
        address = next(
            (at + fields[name] for name, at in WHERE.items() if name in fields), ""
        )
        found[key] = who, fields["year"], fields["title"], address
    return found


@cache
def names(language: str) -> dict[str, tuple[str, str]]:
    """What a label of the book is called, and its place in the pages."""
    found, words = {}, SAID[language]
    # a heading may have several labels
    heading = re.compile(r"^\(([\w-]+)\)=\n+(?=(?:\([\w-]+\)=\n+)*#+ (.+)$)", re.M)
    for page in sorted(BOOK.glob("*.md")):
        text, name = edition.page(page, language), f"{page.stem}.html"
        title = re.search(r"^# (.+)$", text, re.M)
        called = words["page"].format(title[1] if title else page.stem)
        found |= {
            label: (title, f"{name}#{label}") for label, title in heading.findall(text)
        }
        found[page.stem] = called, name
    for page in sorted(BOOK.glob("*.ipynb")):
        cells, chapter = edition.notebook(page, language)["cells"], int(page.stem[:2])
        text = "\n\n".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        )
        name = f"{page.stem}.html"
        found[page.stem] = words["chapter"].format(page.stem[:2]), name
        found |= {
            label: (title, f"{name}#{label}") for label, title in heading.findall(text)
        }
        figures = [
            cell["metadata"].get("mystnb", {}).get("figure", {}).get("name")
            for cell in cells
        ]
        equations = [one or other for one, other in EQUATION.findall(text)]
        kinds = {
            ("({}.{})", "equation-"): equations,
            (words["exercise"], ""): [label for _, label in EXERCISE.findall(text)],
            (words["figure"], ""): [name for name in figures if name],
        }
        for (said, begins), labels in kinds.items():
            found |= {
                label: (said.format(chapter, i), f"{name}#{begins}{label}")
                for i, label in enumerate(labels, 1)
            }
    return found


@cache
def site(language: str) -> str:
    """Where the pages of a language are, "" while the book has no address."""
    url = read_url(BOOK.parent)
    below = "book/" if language == "en" else f"{language}/book/"
    return pages_url(url) + below if url else ""


def link(words: str, place: str, language: str, chapter: str, alone: bool) -> str:
    """Words that lead to a place in the pages: on its page, else in its notebook, else they name it."""
    stem, _, label = place.partition(".html")
    if at := site(language):
        return f"[{words}]({at}{place})"
    if (
        stem == chapter
        and (there := names(language).get(label[1:], (words,))[0]) != words
    ):
        kind = "under" if label.startswith("#sec-") else "of"
        return SAID[language][kind].format(words, there)
    if (BOOK / f"{stem}.ipynb").exists():
        there = alone or stem == chapter
        return words if there else f"[{words}]({stem}.ipynb)"
    page = names(language)[stem][0]
    if re.sub("['’]s$|[《》]", "", words).lower() in page.lower() or "`" in words:
        return words
    return SAID[language]["of"].format(words, page)


def on_page(words: str, place: str, language: str) -> str:
    """Words that lead to a page where something moves, or that name it."""
    if at := site(language):
        return f"[{words}]({at}{place})"
    return SAID[language]["built"].format(words, place.partition("#")[0])


def results(name: str) -> dict:
    """The contents of a results file."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def cited(key: str, said: str, language: str) -> str:
    """A work, as `said` names author and year, with a link to it."""
    who, year, _, address = works(language)[key.strip()]
    words = said.format(who, year)
    return f"[{words}]({address})" if address else words


def role(match: re.Match, language: str, to: Link) -> str:
    """A role as words."""
    kind, inner = match[1], " ".join(match[2].split())
    said, called = SAID[language], names(language)
    if kind == "cite:t":
        each = [cited(key, said["of"], language) for key in inner.split(",")]
        return said["comma"].join(each)
    if kind.startswith("cite"):
        one = f"{{}}{said['comma']}{{}}"
        each = [cited(key, one, language) for key in inner.split(",")]
        return said["in brackets"].format(said["semicolon"].join(each))
    if kind == "result":
        return re.sub(r"\s%", said["percent"], values.result(inner, results))
    if kind == "live":
        return on_page(*state_address(inner), language)
    words, target = re.fullmatch(r"(.*?)\s*<([^<>]*)>|(.*)", inner).group(1, 2)
    if kind.startswith("py:"):
        name = (target or inner).removeprefix("~")
        words = (words or inner).removeprefix("~")
        return to(f"`{words}`", f"api.html#{name}")
    if target not in called and inner not in called:
        return words if target else inner
    name, place = called[target or inner]
    return to(words or name, place)


def tag(label: str | None, language: str) -> str:
    """The number of an equation, as a line of it; nothing of one without a label."""
    return f"\\tag{{{names(language)[label][0].strip('()')}}}\n" if label else ""


def box(match: re.Match) -> str:
    """A box as a quotation."""
    title = [f"**{match[2]}**", ""] if match[2] else []
    lines = [*title, *OPTIONS.sub("", match[3]).strip("\n").splitlines()]
    return "".join(f"> {line}".rstrip() + "\n" for line in lines)


def title(solution: re.Match, language: str) -> str:
    """What a solution is called."""
    called = names(language)[solution[1] or solution[3]][0].lower()
    return SAID[language]["solution"].format(called)


def folded(solution: re.Match, language: str) -> str:
    """A solution's text, which unfolds where its title is pressed."""
    name, text = title(solution, language), (solution[2] or solution[4] or "").strip()
    return f"<details>\n<summary><b>{name}</b></summary>\n\n{text}\n\n</details>\n\n"


def solved(text: str, cell: dict, language: str) -> str:
    """A folded solution, with its cell's code at its end, and what that printed."""
    code = "".join(cell["source"])
    said = "".join("".join(output["text"]) for output in cell["outputs"])
    parts = [text.removesuffix("</details>\n\n").rstrip(), f"```python\n{code}\n```"]
    if said:
        parts += [SAID[language]["prints"], f"```text\n{said.rstrip()}\n```"]
    return "\n\n".join([*parts, "</details>\n\n"])


def still(explorer: re.Match, language: str, chapter: str) -> str:
    """An explorer's picture, and where it moves."""
    said = SAID[language]
    place = on_page(said["explorer"], f"{chapter}.html", language)
    return f"*{said['still'].format(place)}*\n\n{explorer['still']}\n\n"


def moves(explorer: re.Match) -> str:
    """The call that shows an explorer in a notebook, set as its tag is."""
    told = [f'kind="{explorer["kind"]}"']
    for name, value in re.findall(r'([\w-]+)(="[^"]*")?', explorer["set"]):
        told.append(name + (value or "=True"))
    return f"vl.explore({', '.join(told)})"


def plain(text: str, listed: str, language: str, chapter: str, alone: bool) -> str:
    """A cell of Markdown without MyST; `listed` are the works of the whole chapter."""
    said, called = SAID[language], names(language)
    to = partial(link, language=language, chapter=chapter, alone=alone)
    text = SOLVED.sub("", MARKS.sub("", text))
    text = EXPLORER.sub(partial(still, language=language, chapter=chapter), text)
    text = SOLUTION.sub(partial(folded, language=language), text)
    text = EXERCISE.sub(
        lambda m: f"**{said['titled'].format(called[m[2]][0], m[1])}**\n", text
    )
    # where exercises end
    text = re.sub(r"^`{4,}\n?", "", text, flags=re.M)
    while BOX.search(text):
        text = BOX.sub(box, text)
    text = re.sub(
        r"^\$\$ *\(([\w-]+)\)", lambda m: f"{tag(m[1], language)}$$", text, flags=re.M
    )
    text = MATH.sub(lambda m: f"$$\n{m[3]}{tag(m[2], language)}$$", text)
    text = re.sub(
        r"^(`{3,})\{bibliography\}.*?^\1$", lambda m: listed, text, flags=re.M | re.S
    )
    text = re.sub(
        r"\{([\w:]+)\}`([^`]*)`", lambda m: f"\0{role(m, language, to)}\0", text
    )
    text = re.sub(r"\[([^]]*)\]\{\.untranslated\} ", r"（\1）", text)
    # Chinese brackets bring their space
    text = re.sub(r" (?=\0\[?（)|(?<=）\0) ", "", text)
    text = re.sub(rf"(?<={HAN})\0(?=\[?[A-Za-z0-9])", " ", text)
    text = re.sub(
        rf"(?<=[A-Za-z0-9])(\]\(\S+\))?\0(?={HAN})",
        lambda m: f"{m[1] or ''} ",
        text,
    ).replace("\0", "")
    text = re.sub(r"(?<=, under “)([^”]*”)(?= \w)", r"\1,", text)
    return re.sub(r"^(>? ?): ", r"\1- ", text, flags=re.M)


def attach(cell: dict) -> None:
    """Puts the pictures that a cell of Markdown shows into the cell."""
    for path, name, kind in PICTURE.findall(cell["source"]):
        data = base64.b64encode((BOOK / path).read_bytes()).decode()
        cell.setdefault("attachments", {})[f"{name}.{kind}"] = {f"image/{kind}": data}
    cell["source"] = PICTURE.sub(r"](attachment:\2.\3)", cell["source"])


def cut(cell: dict, language: str) -> Iterator[dict]:
    """A cell; behind a figure its caption, and behind each explorer a cell that shows it."""
    text, at, id_ = "".join(cell["source"]), 0, cell["id"]
    if cell["cell_type"] == "code":
        yield cell
        if figure := cell["metadata"].get("mystnb", {}).get("figure"):
            number = f"*{{numref}}`{figure['name']}`*"
            yield {
                "cell_type": "markdown",
                "id": f"{id_}-caption",
                "metadata": {},
                "source": SAID[language]["titled"].format(number, figure["caption"]),
            }
        return
    for found in EXPLORER.finditer(text):
        yield cell | {"id": id_, "source": text[at : found.end()]}
        yield {
            "cell_type": "code",
            "id": f"{id_}-runs",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": moves(found),
        }
        at, id_ = found.end(), f"{id_}-on"
    if text[at:]:
        yield cell | {"id": id_, "source": text[at:]}


def prepare(cell: dict, language: str) -> None:
    """A cell of code as nobody has run it yet; folded where the page folds it, and asking in its language."""
    cell |= {"execution_count": None, "outputs": []}
    if "hide-input" in tags(cell):
        cell["metadata"]["jupyter"] = {"source_hidden": True}
    source = "".join(cell["source"])
    if language != "en" and "import vitlib as vl\n" in source:
        ask = f'\nvl.language("{language}")\nvl.seed'
        cell["source"] = source.replace("\nvl.seed", ask, 1)


def tags(cell: dict) -> list[str]:
    """What a cell is marked with."""
    return cell["metadata"].get("tags", [])


def plain_notebook(
    notebook: dict, chapter: str, language: str = "en", alone: bool = False
) -> dict:
    """A chapter that any notebook shows as it is meant; `alone` if no other lies beside it, as in Colab."""
    notebook = copy.deepcopy(notebook)
    asked = [each for cell in notebook["cells"] for each in cut(cell, language)]
    whole = "\n".join(
        "".join(cell["source"]) for cell in asked if cell["cell_type"] == "markdown"
    )
    keys = {key.strip() for keys in CITED.findall(whole) for key in keys.split(",")}
    listed = "\n".join(
        f"- {cited(key, '{} ({})', language)}. *{works(language)[key][2]}*"
        for key in sorted(keys, key=works(language).get)
    )
    cells = []
    for cell in asked:
        if "solution" in tags(cell):
            cells[-1]["source"] = solved(cells[-1]["source"], cell, language)
            continue
        if cell["cell_type"] == "code":
            prepare(cell, language)
        else:
            cell["source"] = plain(
                "".join(cell["source"]), listed, language, chapter, alone
            )
            attach(cell)
        if cell["source"]:
            cells.append(cell)
    return notebook | {"cells": cells}


def text_of(notebook: dict) -> str:
    """A notebook as its file holds it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
