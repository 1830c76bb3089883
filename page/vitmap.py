"""The map of the ViT in the book: a strip under each chapter's promise, and the whole of it where a page asks for it.

A page asks with the directive ``vit-map``. Chapters need not: the strip is put on the built page by the chapter's
number, so that their notebooks stay free of it. Both are drawings of `page/map.svg`.
"""

from __future__ import annotations

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from page.map import PARTS, drawing

CHAPTERS = {f"book/{part.page}": part for part in PARTS}


class vit_map(nodes.General, nodes.Element):
    """The place of a map on a page; ``lit`` is a chapter's number, or "" for the whole map."""


class VitMap(SphinxDirective):
    """Puts the whole map here, and under it the same as two tables with links."""

    def run(self) -> list[nodes.Node]:
        head = "| Part | What it does | Shapes | In `vitlib` |\n|---|---|---|---|"
        rows = [
            f"| {self.link(part)} | {part.gist} | {shapes(part)} | {part.code} |"
            for part in PARTS
            if part.shapes
        ]
        then = "| Chapter | What is done with the whole | In `vitlib` |\n|---|---|---|"
        uses = [f"| {self.link(part)} | {part.gist} | {part.code} |" for part in PARTS if not part.shapes]
        place = nodes.Element()
        text = "\n".join([head, *rows, "", then, *uses]).splitlines()
        self.state.nested_parse(StringList(text, source=self.env.docname), self.content_offset, place)
        return [vit_map(lit=""), *place.children]

    def link(self, part) -> str:
        name = f"{part.number} {part.name}"
        return f"{{doc}}`{name} <{part.page}>`" if f"book/{part.page}" in self.env.found_docs else name


def shapes(part) -> str:
    """A part's shapes as they stand in tables: code, which a line may break only at arrows."""
    return " → ".join(f"`{shape}`" for shape in part.shapes.replace(", ", ",\u00a0").split(" → "))


def open_chapters(app, doctree, docname: str) -> None:
    """Puts the strip into each chapter of the map: after its title and its promise."""
    part = CHAPTERS.get(docname)
    section = next(iter(doctree.findall(nodes.section)), None)
    if part is None or section is None:
        return
    first = next((i for i, node in enumerate(section.children) if isinstance(node, nodes.paragraph)), 0)
    section.insert(first + 1, vit_map(lit=part.number))


def visit_map(writer, node) -> None:
    """Writes both shapes of the drawing; the style sheet shows the one that fits."""
    builder = writer.builder
    here = builder.current_docname

    def address(part) -> str | None:
        target = f"book/{part.page}"
        if target not in builder.env.found_docs:
            return None
        return builder.get_relative_uri(here, target) or f"{part.page}.html"  # "" is the page itself

    lit = node["lit"]
    label = "Where this chapter stands in the ViT" if lit else "The ViT, part by part"
    kind = "strip" if lit else "whole"
    drawings = "\n".join(drawing(kind, shape, address, lit) for shape in ("wide", "tall"))
    writer.body.append(f'<nav class="vit-map-place {kind}" aria-label="{label}">\n{drawings}\n</nav>\n')
    raise nodes.SkipNode


def skip(writer, node) -> None:
    """Other builders than HTML leave the map out."""
    raise nodes.SkipNode


def setup(app):
    """Registers the map with Sphinx."""
    app.add_node(vit_map, html=(visit_map, None), latex=(skip, None), text=(skip, None))
    app.add_directive("vit-map", VitMap)
    app.connect("doctree-resolved", open_chapters)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
