"""The chapters as parts of the ViT, and the map: its drawings are in map.svg, their look in book/_static/map.css.

    python -m page.map        writes the model's numbers into map.svg, and the stand-alone book/_static/figures/map.svg

map.svg holds three drawings that a browser shows side by side: the strip that opens a chapter, for wide pages and for
phones, and the whole map, for a wall. `drawing` takes one out for a page and makes it live. The colours of its cells
and the bars of its classes are what the pages' model makes of the photograph.

The strip is put under each chapter's promise, by its number, so that notebooks stay free of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import torch
import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from torch import Tensor

import vitlib as vl
from page.address import ROOT, chapters
from page.explorers import MODEL, PICTURE
from page.numbers import markdown
from page.words import t
from vitworkshop.words import CHOSEN, table

HERE = Path(__file__).resolve().parent
STATIC = HERE.parent / "book" / "_static"
SVG = "{http://www.w3.org/2000/svg}"
LABELS = {
    "strip": lambda: t("Map of the Vision Transformer; each part leads to its chapter"),
    "whole": lambda: t("Map of the Vision Transformer, from photograph to class"),
}
DRAWINGS = ("strip-wide", "strip-tall", "whole-wide")
ElementTree.register_namespace("", SVG.strip("{}"))


@dataclass(frozen=True)
class Part:
    """One part of the ViT, or what is done with all of it: what the metadata of its chapter's notebook say of it.

    A part that is not drawn in map.svg stands in the list of chapters alone.
    """

    # its chapter in book/, without ending; the number is its first two digits
    page: str
    name: str  # as on the map
    # gives it its colour: token, encoder, read, whole, train, look or further
    kind: str
    question: str  # that its chapter answers, in Markdown
    gist: str  # what it does, or what is asked there, in a sentence

    @property
    def number(self) -> str:
        """The chapter's, two digits."""
        return self.page[:2]


PARTS = tuple(
    Part(path.stem, **json.loads(path.read_text(encoding="utf-8"))["metadata"]["part"])
    for path in chapters()
)
BY_NUMBER = {part.number: part for part in PARTS}
# a part's address, or None where there is no such page
Address = Callable[[Part], str | None]


@cache
def source() -> dict[str, ElementTree.Element]:
    """Everything in map.svg that has an id: the drawings, and the shapes that they share."""
    root = ElementTree.parse(HERE / "map.svg").getroot()
    return {element.get("id"): element for element in root.iter() if element.get("id")}


def drawn() -> list[Part]:
    """The parts that have a place in the drawings."""
    whole = source()["whole-wide"]
    places = {element.get("data-part") for element in whole.findall("*[@data-part]")}
    return [part for part in PARTS if part.number in places]


def drawing(
    kind: str, shape: str, address: Address = lambda part: None, lit: str = ""
) -> str:
    """A "strip" or the "whole", "wide" or "tall", as SVG; `lit` is the number of the reader's place, such as "05"."""
    svg = deepcopy(source()[f"{kind}-{shape}"])
    svg.attrib = {
        "class": f"vit-map {kind} {shape}",
        "viewBox": svg.get("viewBox"),
        "role": "group",
        "aria-label": LABELS[kind](),
    }
    needed = [svg]
    for element in needed:  # grows: what is used may use something else
        names = re.findall(
            r'(?:href="|url\()#([\w-]+)', ElementTree.tostring(element, "unicode")
        )
        needed += [
            source()[name]
            for name in dict.fromkeys(names)
            if source()[name] not in needed
        ]
    speak(svg)
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


def said() -> Iterator[str]:
    """What drawings and tables say."""
    for part in PARTS:
        yield from (part.name, part.question, part.gist)
    for name in DRAWINGS:
        for text in source()[name].itertext():
            yield text.strip()


def speak(element: ElementTree.Element) -> None:
    """Has a drawing say it in the language of the pages."""
    for each in element.iter():
        for part in ("text", "tail"):
            if said := (getattr(each, part) or "").strip():
                setattr(each, part, getattr(each, part).replace(said, t(said)))


def enliven(element: ElementTree.Element, address: Address, lit: str) -> None:
    """Names a part, makes it a link to its chapter, and lights it if the reader is there."""
    part = BY_NUMBER[element.get("data-part")]
    # first what can be seen, for those who speak to a browser
    words = " ".join(" ".join(element.itertext()).split())
    about = {"number": part.number, "name": t(part.name), "gist": t(part.gist)}
    label = t("{words}. Chapter {number}, {name}: {gist}", words=words, **about)
    if part.number == lit:
        label += t(" (you are here)")
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
    width, height = (
        2 * float(side)
        for side in re.search(r'viewBox="0 0 (\S+) (\S+)"', head).groups()
    )
    faces = re.findall(
        r"@font-face {.*?}",
        (STATIC / "fonts.css").read_text(encoding="utf-8"),
        flags=re.S,
    )
    letters = [face for face in faces if "Patch by Patch Sans" in face]
    rules = " ".join([*letters, (STATIC / "map.css").read_text(encoding="utf-8")])
    style = escape(" ".join(rules.split()), quote=False)
    ground = (
        f'<style>{style}</style><rect class="map-paper" width="100%" height="100%"/>'
    )
    return f'{head} width="{width:g}" height="{height:g}">{ground}{rest}\n'


def cells(values: Tensor, wide: str) -> str:
    """A table of numbers from -1 to 1 as cells of a drawing: a path for each tenth, below zero and above."""
    places: dict[tuple[str, int], str] = {}
    for row, line in enumerate(values.tolist()):
        for column, value in enumerate(line):
            if tenths := min(10, round(10 * abs(value))):
                key = ("map-high" if value > 0 else "map-low", tenths)
                places[key] = places.get(key, "") + f"M{column} {row}h{wide}"
    shade = {key: "" if key[1] == 10 else f' opacity=".{key[1]}"' for key in places}
    return "".join(
        f'        <path class="{key[0]}"{shade[key]} d="{places[key]}"/>\n'
        for key in sorted(places)
    )


def with_numbers(text: str) -> str:
    """map.svg with what the pages' model makes of the photograph.

    Drawn are six numbers of CLS and of the patches in every second row and column, the weights of one head among the
    eight patches of a row, and the three likeliest classes.
    """
    model, card = vl.load_pretrained(MODEL)
    trace = vl.trace(
        model, vl.normalize(vl.sample_image(PICTURE, model.cfg.img_size)[None])
    )
    rows, columns = model.cfg.grid
    some = [
        0,
        *(
            1 + columns * row + column
            for row in range(0, rows, 2)
            for column in range(0, columns, 2)
        ),
    ]
    step = model.cfg.embed_dim // 6
    row = slice(1 + columns * (rows // 2), 1 + columns * (rows // 2 + 1))
    weights = trace[f"blocks.{model.cfg.depth - 2}.attn.weights"][0, 0, row, row]
    tables = {
        "tokens": (
            torch.cat([model.cls_token[0], trace["patch_embed"][0]])[some, ::step]
            .detach()
            .T,
            "0.88",
        ),
        "places": (model.pos_embed.table()[0, some, ::step].detach().T, "0.88"),
        "heads": (-weights, "0.94"),  # in the colour that is below zero
    }
    for name, (values, wide) in tables.items():
        shown = cells(values / (2 * values.square().mean().sqrt()), wide)
        kept = rf'(<symbol id="{name}".*?<g class="map-cells"[^\n]*\n(?: *<path class="map-paper"[^\n]*\n)?).*?( *</g>)'
        text = re.sub(
            kept,
            lambda found, shown=shown: found[1] + shown + found[2],
            text,
            flags=re.S,
        )
    best = trace["head"][0].softmax(-1).topk(3)
    classes = [
        (vl.CIFAR10_CLASSES[k], p)
        for p, k in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]
    bar = (
        r'(<text[^>]*>)[\w.]+(</text>\s*<rect class="rest"[^>]*? width="(\d+)"[^>]*>'
        r'\s*<rect class="map-low"[^>]*? width=")[\d.]+'
    )
    turn = iter(classes)

    def measured(found: re.Match) -> str:
        name, share = next(turn)
        short = name if len(name) < 6 else f"{name[:4]}."
        return f"{found[1]}{short}{found[2]}{share * int(found[3]):.1f}"

    return re.sub(bar, measured, text)


def main() -> None:
    """Writes the model's numbers, and the stand-alone drawing."""
    spine = HERE / "map.svg"
    spine.write_text(
        with_numbers(spine.read_text(encoding="utf-8")), encoding="utf-8", newline="\n"
    )
    source.cache_clear()
    path = STATIC / "figures" / "map.svg"
    path.write_text(on_the_wall(), encoding="utf-8", newline="\n")
    print(f"Wrote {path}, {path.stat().st_size / 1e3:.0f} kB.")


def plan(language: str) -> str:
    """The chapters' questions, under the headings of the table of contents, in Markdown."""
    said = table(language)
    parts = {f"book/{part.page}": part for part in PARTS}
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    lines = []
    for group in toc["parts"]:
        asked = [
            parts[entry["file"]]
            for entry in group["chapters"]
            if entry["file"] in parts
        ]
        if not asked:
            continue
        lines.append(f"**{said.get(group['caption'], group['caption'])}**\n")
        for part in asked:
            question = said.get(part.question, part.question)
            name = said.get(part.name, part.name)
            lines.append(
                f"{int(part.number)}. {question} {{doc}}`{name} <{part.page}>`"
            )
        lines.append("")
    return "\n".join(lines)


# Sphinx


class Plan(SphinxDirective):
    """The chapters' questions, where it stands."""

    def run(self) -> list[nodes.Node]:
        return markdown(self, plan(CHOSEN["language"]))


class vit_map(nodes.General, nodes.Element):
    """The place of the strip on a page; `lit` is its chapter's number."""


def open_chapter(app, doctree, docname: str) -> None:
    """Puts the strip into a chapter of the map: after its title and its promise."""
    section = next(doctree.findall(nodes.section), None)
    number = next(
        (part.number for part in PARTS if docname == f"book/{part.page}"), None
    )
    if number and section is not None:
        first = next(
            (i for i, node in enumerate(section) if isinstance(node, nodes.paragraph)),
            0,
        )
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

    label = t("Where this chapter stands in the ViT")
    drawings = "\n".join(
        drawing("strip", shape, address, lit) for shape in ("wide", "tall")
    )
    writer.body.append(
        f'<nav class="vit-map-place strip" aria-label="{label}">\n{drawings}\n</nav>\n'
    )
    raise nodes.SkipNode


def setup(app) -> None:
    """Registers the map and the list with Sphinx."""
    app.add_directive("plan", Plan)
    app.add_node(vit_map, html=(visit_map, None))
    app.connect("doctree-resolved", open_chapter)


if __name__ == "__main__":
    main()
