"""The book's search: an index of sections, written as a script, so that it works from a disk too.

Sphinx's own search fetches each page it found to quote from it, which a browser refuses for plain files, and opens
pages at their top. Here each section is an entry: its title, its anchor, its text and its code. Terms of the glossary
and entries of the reference are entries of their own. `book/_static/search/search.js` reads them, by way of MiniSearch.
"""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

from page.plain import is_silent, text_of

APART = (nodes.section, nodes.title, addnodes.desc, addnodes.glossary)
FIELDS = ("title", "anchor", "text", "code")
pages: dict[str, list[dict]] = {}  # what was collected in this build


def code_of(node: nodes.Node) -> str:
    """The code in a section, without that of the sections in it and of solutions."""
    if isinstance(node, nodes.literal_block):
        return node.astext() + "\n"
    if is_silent(node) or "cell_output" in getattr(node, "attributes", {}).get("classes", []):
        return ""
    return "".join(code_of(child) for child in node.children if not isinstance(child, APART))


def entries(doctree) -> list[dict]:
    """The sections of a page, the terms it explains, and the names it describes."""
    found = []

    def add(title: str, ids: list[str], text: str, code: str = "") -> None:
        if title and ids and (text or code):
            found.append({"title": title, "anchor": ids[0], "text": text, "code": code.strip()})

    for section in doctree.findall(nodes.section):
        title = next((child for child in section if isinstance(child, nodes.title)), None)
        body = [child for child in section if not isinstance(child, APART)]
        if title is not None:
            # A section within an admonition, without a title, is the text of an exercise
            text = " ".join(filter(None, (text_of(child, APART[1:]) for child in body)))
            add(text_of(title), section["ids"], text, "".join(map(code_of, body)))
    for item in doctree.findall(nodes.definition_list_item):
        term = next((child for child in item if isinstance(child, nodes.term)), None)
        if term is not None and item.parent and isinstance(item.parent.parent, addnodes.glossary):
            add(text_of(term), term["ids"], text_of(item, (nodes.term,)))
    for described in doctree.findall(addnodes.desc):
        sign = next(iter(described.findall(addnodes.desc_signature)), None)
        if sign is not None and sign["ids"]:
            text = " ".join(text_of(each, (addnodes.desc,)) for each in described if each is not sign)
            add(sign["ids"][0].replace("vitlib.", "vl.", 1), sign["ids"], text)
            if text:  # the cards show it (cards.py)
                found[-1]["sign"] = " ".join(sign.astext().replace("[source]", "").split())
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
            page = {"page": sections[0]["title"], "address": app.builder.get_target_uri(docname)}
            index += [{**page, **{key: each[key] for key in FIELDS}} for each in sections]
    script = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    path = Path(app.outdir) / "_static" / "sections.js"
    path.write_text(f"window.bookSections={script}\n", encoding="utf-8")


def add_page(app):
    """The page of results, which Sphinx makes only along with an index of its own."""
    yield "search", {"title": "Search"}, "search.html"


def drop_sphinx_search(app) -> None:
    """Leaves out Sphinx's index: a megabyte that nothing would read."""
    app.builder.search = False


def setup(app):
    """Collects after all others have changed the page."""
    app.connect("builder-inited", drop_sphinx_search)
    app.connect("html-collect-pages", add_page)
    app.connect("doctree-resolved", collect, priority=900)
    app.connect("build-finished", write_index)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
