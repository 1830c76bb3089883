"""The map of the ViT: its parts are in parts.yaml, its drawings in map.svg, their look in book/_static/map.css.

    python -m page.map        writes the stand-alone drawing, book/_static/figures/map.svg

map.svg holds four drawings that a browser shows side by side: the strip that opens a chapter and the whole map, each
for wide pages and for phones. `drawing` takes one out for a page and makes it live. The photograph in it was cut and
its tokens were computed as a ViT does it, with a random E and sin-cos positions; nothing in the picture is trained.

The strip is put under each chapter's promise, by its number, so that notebooks stay free of it; the whole map stands
where a page asks for it with the directive ``vit-map``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import vitlib as vl
from page.numbers import markdown

HERE = Path(__file__).resolve().parent
STATIC = HERE.parent / "book" / "_static"
SVG = "{http://www.w3.org/2000/svg}"
LABELS = {
    "strip": "Map of the Vision Transformer; each part leads to its chapter",
    "whole": "Map of the Vision Transformer, from photograph to class",
}
ElementTree.register_namespace("", SVG.strip("{}"))


@dataclass(frozen=True)
class Part:
    """One part of the ViT, or what is done with all of it, and its chapter; parts.yaml explains the fields."""

    page: str
    name: str
    kind: str
    gist: str
    code: str
    shapes: str = ""

    @property
    def number(self) -> str:
        """The chapter's, two digits."""
        return self.page[:2]


PARTS = tuple(Part(**fields) for fields in yaml.safe_load((HERE / "parts.yaml").read_text(encoding="utf-8")))
BY_NUMBER = {part.number: part for part in PARTS}
Address = Callable[[Part], str | None]  # a part's address, or None where there is no such page


@cache
def source() -> dict[str, ElementTree.Element]:
    """Everything in map.svg that has an id: the drawings, and the shapes that they share."""
    root = ElementTree.parse(HERE / "map.svg").getroot()
    return {element.get("id"): element for element in root.iter() if element.get("id")}


def drawing(kind: str, shape: str, address: Address = lambda part: None, lit: str = "") -> str:
    """A "strip" or the "whole", "wide" or "tall", as SVG; `lit` is the number of the reader's place, such as "05"."""
    if lit and lit not in BY_NUMBER:
        raise ValueError(f"no part {lit!r} on the map; expected one of {', '.join(BY_NUMBER)}")
    svg = deepcopy(source()[f"{kind}-{shape}"])
    svg.attrib = {
        "class": f"vit-map {kind} {shape}",
        "viewBox": svg.get("viewBox"),
        "role": "group",
        "aria-label": LABELS[kind],
    }
    needed = [svg]
    for element in needed:  # grows: what is used may use something else
        names = re.findall(r'(?:href="|url\()#([\w-]+)', ElementTree.tostring(element, "unicode"))
        needed += [source()[name] for name in dict.fromkeys(names) if source()[name] not in needed]
    for element in svg.findall("*[@data-part]"):
        enliven(element, address, lit)
    place, here = svg.find("*[@aria-current]"), svg.find("*[@class='here']")
    if place is not None:
        here.attrib["x"], here.attrib["y"] = place.get("data-here").split()
    elif here is not None:
        svg.remove(here)
    defs = ElementTree.Element(f"{SVG}defs")
    defs.extend(needed[1:])
    svg.insert(0, defs)
    text = ElementTree.tostring(svg, "unicode")
    # a page may hold several drawings
    return re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{kind}-{shape}-", text)


def enliven(element: ElementTree.Element, address: Address, lit: str) -> None:
    """Names a part, makes it a link to its chapter, and lights it if the reader is there."""
    part = BY_NUMBER[element.get("data-part")]
    words = " ".join(
        " ".join(element.itertext()).split()
    )  # first what can be seen, for those who speak to a browser
    label = f"{words}. Chapter {part.number}, {part.name}: {part.gist}"
    if part.number == lit:
        label += " (you are here)"
        element.attrib["class"] += " lit"
        element.attrib["aria-current"] = "page"
    if target := address(part):
        element.tag = f"{SVG}a"
        element.attrib["href"] = target
    else:
        element.attrib["role"] = "img"
    element.attrib["aria-label"] = label
    title = ElementTree.Element(f"{SVG}title")
    title.text = label
    element.insert(0, title)


def on_the_wall() -> str:
    """The whole map as a file by itself, with its letters and colours and twice its size."""
    head, rest = drawing("whole", "wide").split(">", 1)
    width, height = (2 * float(side) for side in re.search(r'viewBox="0 0 (\S+) (\S+)"', head).groups())
    faces = re.findall(r"@font-face {.*?}", (STATIC / "fonts.css").read_text(encoding="utf-8"), flags=re.S)
    letters = [face for face in faces if "Patch by Patch Sans" in face]
    rules = " ".join([*letters, (STATIC / "map.css").read_text(encoding="utf-8")])
    style = escape(" ".join(rules.split()), quote=False)
    ground = f'<style>{style}</style><rect class="map-paper" width="100%" height="100%"/>'
    return f'{head} width="{width:g}" height="{height:g}">{ground}{rest}\n'


def main() -> None:
    """Writes the stand-alone drawing."""
    path = STATIC / "figures" / "map.svg"
    path.write_text(on_the_wall(), encoding="utf-8", newline="\n")
    print(f"Wrote {path}, {path.stat().st_size / 1e3:.0f} kB.")


# Sphinx


class vit_map(nodes.General, nodes.Element):
    """The place of a map on a page; `lit` is a chapter's number, or "" for the whole map."""


class VitMap(SphinxDirective):
    """Puts the whole map here, and under it the same as two tables with links."""

    def run(self) -> list[nodes.Node]:
        tables = [
            vl.viz.table(
                ["Part", "What it does", "Shapes", "In `vitlib`"],
                [[self.link(part), part.gist, shapes(part), part.code] for part in PARTS if part.shapes],
            ),
            vl.viz.table(
                ["Chapter", "What is done with the whole", "In `vitlib`"],
                [[self.link(part), part.gist, part.code] for part in PARTS if not part.shapes],
            ),
        ]
        return [vit_map(lit=""), *markdown(self, "\n\n".join(tables))]

    def link(self, part: Part) -> str:
        """A part's name, and a link to its chapter if there is one."""
        name = f"{part.number} {part.name}"
        return f"{{doc}}`{name} <{part.page}>`" if f"book/{part.page}" in self.env.found_docs else name


def shapes(part: Part) -> str:
    """A part's shapes as they stand in tables: code, which a line may break only at arrows."""
    return " → ".join(f"`{shape}`" for shape in part.shapes.replace(", ", ",\u00a0").split(" → "))


def open_chapter(app, doctree, docname: str) -> None:
    """Puts the strip into a chapter of the map: after its title and its promise."""
    section = next(doctree.findall(nodes.section), None)
    number = next((part.number for part in PARTS if docname == f"book/{part.page}"), None)
    if number and section is not None:
        first = next((i for i, node in enumerate(section) if isinstance(node, nodes.paragraph)), 0)
        section.insert(first + 1, vit_map(lit=number))


def visit_map(writer, node) -> None:
    """Writes both shapes of the drawing; the style sheet shows the one that fits."""
    builder, lit = writer.builder, node["lit"]

    def address(part: Part) -> str | None:
        target = f"book/{part.page}"
        if target not in builder.env.found_docs:
            return None
        uri = builder.get_relative_uri(builder.current_docname, target)
        return uri or f"{part.page}.html"  # "" is the page itself

    label = "Where this chapter stands in the ViT" if lit else "The ViT, part by part"
    kind = "strip" if lit else "whole"
    drawings = "\n".join(drawing(kind, shape, address, lit) for shape in ("wide", "tall"))
    writer.body.append(f'<nav class="vit-map-place {kind}" aria-label="{label}">\n{drawings}\n</nav>\n')
    raise nodes.SkipNode


def setup(app) -> None:
    """Registers the map with Sphinx."""
    app.add_node(vit_map, html=(visit_map, None))
    app.add_directive("vit-map", VitMap)
    app.connect("doctree-resolved", open_chapter)


if __name__ == "__main__":
    main()
