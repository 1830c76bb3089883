"""Key terms and names of `vitlib` in prose lead to what explains them, and show it on a card.

A key term is linked where a section (of the second level) first uses it; a name such as `vl.patchify` wherever it
stands. Headings, links and code cells stay as they are. At the end of each chapter's key terms stand the names of the
reference that the chapter derives; above the glossary stand the letters from A to Z. The cards' texts are written into
one script, which `book/_static/cards/cards.js` loads when a card is first asked for; without scripts links are plain.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

from page import search
from page.chapters import number_of
from page.edition import HAN
from page.words import t

GLOSSARY, REFERENCE = "book/key-concepts", "book/api"
AMBIGUOUS = {"Head", "Width"}  # in prose these words often mean another thing
CODE = (nodes.literal, nodes.literal_block, nodes.math)
CLOSED = (
    *CODE,
    nodes.title,
    nodes.reference,
    nodes.table,
    nodes.strong,
    nodes.emphasis,
    nodes.citation,
)


def is_closed(node: nodes.Node) -> bool:
    """Whether no link may be put into a node."""
    classes = getattr(node, "attributes", {}).get("classes", [])
    return isinstance(node, CLOSED) or search.is_silent(node) or "cell" in classes


def open_nodes(node: nodes.Node, kind: type):
    """The nodes of one kind in which a link may stand, or which may become one."""
    for child in list(node.children):
        if isinstance(child, kind):
            yield child
        elif not is_closed(child):
            yield from open_nodes(child, kind)


def link(
    app, here: str, target: str, anchor: str, content: nodes.Node
) -> nodes.reference:
    """A link inside the book, with its card's name."""
    address = app.builder.get_relative_uri(here, target) if here != target else ""
    options = {
        "internal": True,
        "refuri": f"{address}#{anchor}",
        "classes": ["has-card"],
    }
    return nodes.reference("", "", content, **options)


def link_names(app, doctree, here: str) -> None:
    """Links each `vl.name` that the reference describes."""
    known = app.env.get_domain("py").objects
    for literal in open_nodes(doctree, nodes.literal):
        found = re.fullmatch(r"(vl|vitlib|viz)\.([\w.]+)(\(.*\))?", literal.astext())
        name = found and ("vitlib.viz." if found[1] == "viz" else "vitlib.") + found[2]
        if name in known and known[name].docname == REFERENCE:
            place = link(app, here, REFERENCE, known[name].node_id, literal.deepcopy())
            literal.parent.replace(literal, place)


def patterns(env) -> dict[str, tuple[re.Pattern, str]]:
    """Key term -> what it looks like in prose, and its anchor."""
    known = {}
    for (kind, name), (docname, anchor) in env.get_domain("std").objects.items():
        if kind == "term" and docname == GLOSSARY and name not in AMBIGUOUS:
            case = re.NOFLAG if name.isupper() else re.IGNORECASE
            word = re.escape(name) + ("(?:es)?" if name.endswith("ch") else "s?")
            # “patch” is no patch; in Chinese nothing stands between words
            before, after = (
                ("", "")
                if re.search(HAN, name)
                else (r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_”-])")
            )
            known[name] = (re.compile(before + word + after, case), anchor)
    return known


def first_use(text: str, name: str, known: dict) -> re.Match | None:
    """Where a text first uses a key term by itself: the patch of "patch size" is none."""
    words = list(known[name][0].finditer(text))
    longer = (
        [other for other in known if name.lower() in other.lower() and other != name]
        if words
        else []
    )
    taken = [
        found.span() for other in longer for found in known[other][0].finditer(text)
    ]
    return next(
        (
            w
            for w in words
            if not any(a <= w.start() and w.end() <= b for a, b in taken)
        ),
        None,
    )


def link_terms(app, part: nodes.Node, here: str, known: dict) -> None:
    """Links the first mention of each key term in a part of a page."""
    linked = {each.astext().lower() for each in part.findall(nodes.reference)}
    unused = {
        name: anchor
        for name, (_, anchor) in known.items()
        if name.lower() not in linked
    }
    todo = list(open_nodes(part, nodes.Text))
    while todo:
        text = todo.pop(0)
        for name, anchor in unused.items():
            if found := first_use(text.astext(), name, known):
                del unused[name]
                whole, (start, end) = text.astext(), found.span()
                word = link(
                    app, here, GLOSSARY, anchor, nodes.inline("", whole[start:end])
                )
                before, after = nodes.Text(whole[:start]), nodes.Text(whole[end:])
                text.parent.replace(text, [before, word, after])
                todo[:0] = [before, after]
                break


@cache
def taught(app) -> dict[str, list[str]]:
    """Chapter -> the names that the reference says it derives."""
    found: dict[str, list[str]] = {}
    for described in app.env.get_doctree(REFERENCE).findall(addnodes.desc):
        chapters = re.search(r"Taught in (.*)", described.astext())
        for name in described[0]["ids"][:1]:
            for number in re.findall(
                r"chapter (\d\d)", chapters[1] if chapters else ""
            ):
                found.setdefault(number, []).append(name.replace("vitlib.", "vl.", 1))
    return found


def link_page(app, doctree, here: str) -> None:
    """Puts the links into a page that is being written."""
    page = next(doctree.findall(nodes.section), None)
    if page is None or here in (REFERENCE, "book/bibliography"):
        return
    number, parts = (
        number_of(here),
        [child for child in page if isinstance(child, nodes.section)],
    )
    for part in parts:
        if number and "key-terms" in part["ids"] and number in taught(app):
            line = nodes.paragraph("", t("In the package: "), classes=["derived"])
            for i, name in enumerate(taught(app)[number]):
                line += [nodes.Text(t(", ") if i else ""), nodes.literal("", name)]
            part += line
    link_names(app, doctree, here)
    if number:
        known = patterns(app.env)
        for part in parts:
            link_terms(app, part, here, known)


def put_letters(app, doctree, docname: str) -> None:
    """Puts letters before each glossary; each leads to the first term that begins with it."""
    for glossary in list(doctree.findall(addnodes.glossary)):
        first: dict[str, str] = {}
        for term in glossary.findall(nodes.term):
            if (
                letter := term.astext()[0].upper()
            ).isascii():  # a Chinese entry has its English term, too
                first.setdefault(letter, term["ids"][0])
        row = nodes.bullet_list(classes=["letters"])
        for letter, anchor in sorted(first.items()):
            way = nodes.reference("", letter, internal=True, refuri=f"#{anchor}")
            row += nodes.list_item("", nodes.paragraph("", "", way))
        glossary.parent.insert(glossary.parent.index(glossary), row)


def first_sentence(text: str) -> str:
    """The first sentence, without the works it cites."""
    text = re.sub(r" ?[(\[（][A-Z][^()\[\]（）]*\d{4}\w?[)\]）]", "", text)
    return re.split(
        r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.) (?=[A-Z\"“])|(?<=。)", text, maxsplit=1
    )[0]


def write_cards(app, error) -> None:
    """Writes what each card says: a term's first sentence; a name's signature and its first line."""
    if error or app.builder.name != "html":
        return
    cards = {
        entry["anchor"]: [
            entry.get("sign", entry["title"]),
            first_sentence(entry["text"]),
        ]
        for docname in (GLOSSARY, REFERENCE)
        for entry in search.pages.get(docname, [])
        if entry["anchor"].startswith(("term-", "vitlib."))
    }
    script = json.dumps(cards, ensure_ascii=False, separators=(",", ":"))
    path = Path(app.outdir) / "_static" / "cards-text.js"
    path.write_text(f"window.bookCards={script}\n", encoding="utf-8")


def setup(app) -> None:
    """Links before the index of the search is made, puts letters after it, and writes the cards from it."""
    app.connect("doctree-resolved", link_page, priority=700)
    app.connect("doctree-resolved", put_letters, priority=910)
    app.connect("build-finished", write_cards, priority=900)
