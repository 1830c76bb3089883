"""The book's search: an index of sections, written as a script, so that it works from a disk too.

Sphinx's own search fetches each page it found to quote from it, which a browser refuses for plain files, and opens
pages at their top. Here each section is an entry: its title, its anchor, its text and its code. Terms of the glossary,
folded answers and entries of the reference are entries of their own; tables of runs are not read.
`book/_static/search/search.js` reads them, by way of MiniSearch. For the Chinese edition they bring what readers may
ask for, `book/zh/search.yml`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx_design.dropdown import dropdown_main

from page.edition import BOOK
from page.words import t
from vitworkshop.words import CHOSEN

SIGNS = {
    **{"times": "×", "cdot": "·", "to": "→", "sqrt": "√", "top": "ᵀ", "ell": "ℓ", "dots": "…", "le": "≤", "ge": "≥"},
    **{"approx": "≈", "pm": "±", "in": "∈", "sum": "Σ", "Phi": "Φ", "alpha": "α", "beta": "β", "sigma": "σ"},
    **{"mu": "μ", "lambda": "λ", "epsilon": "ε", "gamma": "γ", "theta": "θ", "eta": "η", "pi": "π", "quad": " "},
}  # fmt: skip
SILENT = (
    nodes.math_block,
    nodes.image,
    nodes.raw,
    nodes.comment,
    nodes.target,
    nodes.system_message,
)
UNREAD = {
    "vit_map",
    "solution_node",
    "solution_start_node",
    "onlynode",
    "toctree",
    "index",
    "bibliography",
}
# entries of their own
NESTED = (
    nodes.section,
    nodes.title,
    addnodes.desc,
    addnodes.glossary,
    dropdown_main,
)
FIELDS = ("title", "anchor", "text", "code")
pages: dict[str, list[dict]] = {}  # what was collected in this build


def plain_math(tex: str) -> str:
    """A short formula as text, `P^2 C` for instance; … for one that text cannot hold."""
    text = re.sub(r"\\(?:math\w+|operatorname|text\w*)\s*\{([^{}]*)\}", r"\1", tex)
    text = re.sub(r"\\([A-Za-z]+)", lambda found: SIGNS.get(found[1], found[1]), text)
    text = (
        re.sub(r"\\.", " ", text)
        .replace("{", "")
        .replace("}", "")
        .replace("^ᵀ", "ᵀ")
        .replace("^2", "²")
    )
    return " ".join(text.split()) if len(text) <= 40 and "&" not in text else "…"


def is_silent(node: nodes.Node) -> bool:
    """Whether nobody would read a node aloud: a drawing, a solution, a comment."""
    return isinstance(node, SILENT) or type(node).__name__ in UNREAD


def is_output(node: nodes.Node) -> bool:
    """Whether a cell printed or drew it, or it lists runs: numbers in which nobody looks for words."""
    classes = getattr(node, "attributes", {}).get("classes", [])
    return "cell_output" in classes or "runs" in classes


def text_of(node: nodes.Node, skip: tuple[type, ...] = ()) -> str:
    """What one would read aloud of a node, in one line; `skip` are kinds of nodes to leave out."""

    def walk(each: nodes.Node, shown: bool = True):
        if isinstance(each, nodes.Text):
            yield each.astext() if shown else ""
        elif isinstance(each, nodes.math):
            yield plain_math(each.astext()) if shown else ""
        elif not (isinstance(each, (nodes.literal_block, *skip)) or is_silent(each)):
            # of output only captions
            shown = isinstance(each, nodes.caption) or shown and not is_output(each)
            for child in each.children:
                yield from walk(child, shown)
            yield "" if isinstance(each, nodes.Inline) else " "

    return " ".join("".join(walk(node)).split())


def code_of(node: nodes.Node) -> str:
    """The code in a section, without that of the sections in it and of solutions."""
    if isinstance(node, nodes.literal_block):
        return node.astext() + "\n"
    if is_silent(node) or is_output(node):
        return ""
    return "".join(
        code_of(child) for child in node.children if not isinstance(child, NESTED)
    )


def entries(doctree) -> list[dict]:
    """The sections of a page, the terms it explains, and the names it describes, which the cards show, too."""
    found = []

    def add(title: str, ids: list[str], text: str, code: str = "", **more: str) -> None:
        if title and ids and (text or code):
            found.append(
                {
                    "title": title,
                    "anchor": ids[0],
                    "text": text,
                    "code": code.strip(),
                    **more,
                }
            )

    for section in doctree.findall(nodes.section):
        body = [child for child in section if not isinstance(child, NESTED)]
        for title in (child for child in section if isinstance(child, nodes.title)):
            # A section within an admonition, without a title, is the text of an exercise
            text = " ".join(
                filter(None, (text_of(child, NESTED[1:]) for child in body))
            )
            add(text_of(title), section["ids"], text, "".join(map(code_of, body)))
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            terms, text = [*item.findall(nodes.term)], text_of(item, (nodes.term,))
            name, *others = map(text_of, terms)
            if others:
                name = t("{name} ({other})", name=name, other=t(", ").join(others))
            for i, term in enumerate(terms):
                # others are found by the first
                again = {"again": "yes"} if i else {}
                add(name, term["ids"], text, **again)
    for question, answer in doctree.findall(dropdown_main):
        title = text_of(question)
        # within the fold, which a browser then opens
        answer["ids"] = answer["ids"] or [
            nodes.make_id(title) or f"answer-{len(found)}"
        ]
        text = text_of(answer, (dropdown_main,))
        add(title, answer["ids"], text, code_of(answer))
    for described in doctree.findall(addnodes.desc):
        sign, *rest = described
        for name in sign["ids"][:1]:
            text = " ".join(text_of(each, (addnodes.desc,)) for each in rest)
            written = " ".join(sign.astext().replace("[source]", "").split())
            add(name.replace("vitlib.", "vl.", 1), sign["ids"], text, sign=written)
    return found


def collect(app, doctree, docname: str) -> None:
    """Keeps the sections of a page that is being written."""
    pages[docname] = entries(doctree)


def write_index(app, error) -> None:
    """Writes every page's sections into one script; pages that were not written now are read again."""
    if error or app.builder.name != "html":
        return
    index = []
    for docname in sorted(app.env.found_docs):
        if docname not in pages:
            app.env.get_and_resolve_doctree(docname, app.builder)
        if sections := pages.get(docname):
            page = {
                "page": sections[0]["title"],
                "address": app.builder.get_target_uri(docname),
            }
            index += [
                {**page, **{key: each[key] for key in FIELDS}}
                for each in sections
                if "again" not in each
            ]
    script = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    path = Path(app.outdir) / "_static" / "sections.js"
    text = f"window.bookSections={script}\n"
    asked = BOOK / CHOSEN["language"] / "search.yml"
    if asked.exists():
        says = yaml.safe_load(asked.read_text("utf-8"))
        text += f"window.bookSays={json.dumps(says, ensure_ascii=False)}\n"
    path.write_text(text, encoding="utf-8")


def add_page(app):
    """The page of results, which Sphinx makes only along with an index of its own."""
    yield "search", {"title": t("Search")}, "search.html"


def drop_sphinx_search(app) -> None:
    """Leaves out Sphinx's index: a megabyte that nothing would read."""
    app.builder.search = False


def setup(app) -> None:
    """Collects after all others have changed the page's words."""
    app.connect("builder-inited", drop_sphinx_search)
    app.connect("html-collect-pages", add_page)
    app.connect("doctree-resolved", collect, priority=900)
    app.connect("build-finished", write_index)
