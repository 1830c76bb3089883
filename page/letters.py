"""The letters from A to Z above the key concepts: each leads to the first term that begins with it."""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes


def put_letters(app, doctree, docname: str) -> None:
    """Puts a list of links before each glossary."""
    for glossary in list(doctree.findall(addnodes.glossary)):
        first: dict[str, str] = {}
        for term in glossary.findall(nodes.term):
            first.setdefault(term.astext()[0].upper(), term["ids"][0])
        row = nodes.bullet_list(classes=["letters"])
        for letter, anchor in sorted(first.items()):
            way = nodes.reference("", letter, internal=True, refuri=f"#{anchor}")
            row += nodes.list_item("", nodes.paragraph("", "", way))
        place = glossary.parent.index(glossary)
        glossary.parent.insert(place, row)


def setup(app):
    """Runs after the search has read the page: letters are nothing to find."""
    app.connect("doctree-resolved", put_letters, priority=910)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
