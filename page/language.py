"""The switch between the book's languages, and what Sphinx does in them."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urljoin

from babel import Locale
from docutils import nodes
from sphinx.locale import translators
from sphinxcontrib.bibtex.plugin import register_plugin
from sphinxcontrib.bibtex.style.referencing import BracketStyle, PersonStyle
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle

from page.edition import HAN, headings, languages, place, source
from page.words import t
from vitworkshop.words import CHOSEN, catalogue

CODE = (nodes.literal, nodes.math)
# beside these no space is set
BREAKS = (nodes.raw, nodes.comment, nodes.image)


def lend(app) -> None:
    """Lends Sphinx and its theme what they have no word for."""
    for each in translators.values():
        each.add_fallback(catalogue(CHOSEN["language"]))


class Cited(AuthorYearReferenceStyle):
    """How works are cited in the language of the pages."""

    def __init__(self) -> None:
        """Takes its signs and words from the catalogue."""
        alone = t("[{works}]", works="\0").split("\0")
        behind = t("{author} [{year}]", author="", year="\0").split("\0")
        between = t("{work}; {other}", work="", other="")
        super().__init__(
            bracket_parenthetical=BracketStyle(*alone, sep=between),
            bracket_textual=BracketStyle(*behind, sep=between),
            text_reference_sep="",
            author_year_sep=t("{author}, {year}", author="", year=""),
            person=PersonStyle(
                sep2=t("{author} and {other}", author="", other=""),
                other=t("{author} et al.", author=""),
            ),
        )


def set_style(app, config) -> None:
    """Has works cited in this way."""
    register_plugin("sphinxcontrib.bibtex.style.referencing", "translated", Cited)
    config.bibtex_reference_style = "translated"


def set_emphasis(app, doctree, docname: str) -> None:
    """Emphasis of a whole sentence is marked, as Chinese sets it in another way, and so is what is Latin in it."""
    for each in list(doctree.findall(nodes.emphasis)):
        if len(each.astext()) >= 60:
            each["classes"].append("long")
        elif not re.search(HAN, each.astext()):
            each["classes"].append("latin")
        else:
            for text in list(each.findall(nodes.Text)):
                parts = re.split(r"([A-Za-z0-9][A-Za-z0-9 .-]*)", text)
                text.parent.replace(
                    text,
                    [
                        nodes.inline("", part, classes=["latin"])
                        if i % 2
                        else nodes.Text(part)
                        for i, part in enumerate(parts)
                    ],
                )


def inside(text: nodes.Node, kinds: tuple[type, ...]) -> bool:
    """Whether a text lies in a node of these kinds."""
    while text is not None and not isinstance(text, kinds):
        text = text.parent
    return text is not None


def set_spaces(app, doctree, docname: str) -> None:
    """Between Chinese and Latin letters, code or a formula stands one space, also where a link or a number begins."""
    for block in doctree.findall(nodes.TextElement):
        if isinstance(block.parent, nodes.TextElement) or inside(block, BREAKS):
            continue
        last = None
        for text in list(block.findall(nodes.Text)):
            if inside(text, BREAKS) or not text:
                last = None
                continue
            if last is not None:
                text = spaced(last, text)
            last = text


def spaced(one: nodes.Text, two: nodes.Text) -> nodes.Text:
    """Sets the space between two neighbours, or takes it from before a bracket; the second, as it stands then."""

    def put(text: nodes.Text, said: str) -> nodes.Text:
        new = nodes.Text(said)
        text.parent.replace(text, new)
        return new

    code = [inside(each, CODE) for each in (one, two)]
    if re.search(rf"(?:{HAN}|[A-Za-z0-9`]) $", one) and re.match("（", two):
        put(one, one[:-1])
    elif re.search(rf"{HAN}$", one) and (code[1] or re.match("[A-Za-z0-9]", two)):
        put(one, f"{one} ")
    elif (code[0] or re.search("[A-Za-z0-9%]$", one)) and re.match(HAN, two):
        return put(two, f" {two}")
    return two


def keep_anchors(app, doctree) -> None:
    """Gives sections the anchors that they have in the English page: of Chinese titles Sphinx makes none."""
    titles = [
        each
        for each in doctree.findall(nodes.title)
        if isinstance(each.parent, nodes.section)
    ]
    english = headings(source(Path(doctree["source"]).stem))
    for title, name in zip(titles, map(nodes.make_id, english), strict=True):
        # none of the Latin letters in a Chinese title: an element "vit" would be window.vit
        own = rf"id\d+|{name}|{nodes.make_id(title.astext())}"
        kept = [each for each in title.parent["ids"] if not re.fullmatch(own, each)]
        title.parent["ids"] = [name, *kept]


def add_switch(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Puts the way to the same page in other languages into the header, and tells search engines of it."""
    if "header_buttons" not in context:
        return
    here = CHOSEN["language"]
    for other in languages():
        if other == here:
            continue
        page = "../" * (here != "en") + place(other) + f"{pagename}.html"
        url, name = context["content_root"] + page, Locale.parse(other).display_name
        button = {
            "type": "link",
            "label": "language",
            "url": url,
            "text": name,
            "tooltip": name,
        }
        context["header_buttons"].insert(0, button)
        base = app.config.html_baseurl
        whole = urljoin(base, page if base else url)
        link = f'<link rel="alternate" hreflang="{other}" href="{whole}"/>'
        context["metatags"] = context.get("metatags", "") + f"\n    {link}"


def setup(app) -> None:
    """Anchors are set before others read them."""
    if CHOSEN["language"] != "en":
        app.connect("builder-inited", lend)
        app.connect("config-inited", set_style)
        app.connect("doctree-resolved", set_emphasis)
        # when numbers are set, before the search reads
        app.connect("doctree-resolved", set_spaces, priority=860)
        app.connect("doctree-read", keep_anchors, priority=100)
    app.connect("html-page-context", add_switch, priority=700)
