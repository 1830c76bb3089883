"""The switch between the book's languages, and what Sphinx does in them."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urljoin

from babel import Locale
from docutils import nodes
from sphinx.locale import translators

from page.edition import headings, languages, place, source
from page.words import t
from vitworkshop.words import CHOSEN, catalogue


def lend(app) -> None:
    """Lends Sphinx and its theme what they have no word for."""
    for each in translators.values():
        each.add_fallback(catalogue(CHOSEN["language"]))


def set_emphasis(app, doctree, docname: str) -> None:
    """Emphasis of a whole sentence is marked, as Chinese sets it in another way; so is "et al." without it."""
    for each in doctree.findall(nodes.emphasis):
        if each.astext() == "et al.":
            each.replace_self(nodes.Text(t("et al.")))
        elif len(each.astext()) >= 60:
            each["classes"].append("long")


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
    if doctree is None or "header_buttons" not in context:
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
        app.connect("doctree-resolved", set_emphasis)
        app.connect("doctree-read", keep_anchors, priority=100)
    app.connect("html-page-context", add_switch, priority=700)
