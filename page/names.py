"""Chapters bear their numbers: in the heading, in the tab's title, and where the next page is named.

Each page also gets its description for those who find it elsewhere: its first paragraph, a chapter's promise.
"""

from __future__ import annotations

import html
import re

from docutils import nodes

from page.plain import shorten, text_of

DESCRIPTIONS = {
    "search": "Search the book, section by section.",
    "genindex": "Every name that the book defines, from A to Z.",
}


def number_of(docname: str) -> str:
    """A chapter's number, "05"; "" for another page."""
    found = re.match(r"book/(\d\d)-", docname)
    return found[1] if found else ""


def number_heading(app, doctree, docname: str) -> None:
    """Puts the number before the page's title."""
    title = next(iter(doctree.findall(nodes.title)), None)
    if title is not None and number_of(docname):
        title.insert(0, [nodes.inline("", number_of(docname), classes=["chapter-number"]), nodes.Text(" ")])


def name_page(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Writes the tab's title, the names of the pages before and after, and the description."""
    number = number_of(pagename)
    if number and doctree is not None:
        context["title"] = f"{number} {context['title']}"
    _, *around = (getattr(app.builder, "relations", None) or {}).get(pagename) or (None, None, None)
    for way, other in zip(("prev", "next"), around, strict=True):
        if other and number_of(other) and context.get(way):
            context[way] = {**context[way], "title": f"{number_of(other)} {context[way]['title']}"}
    first = next(iter(doctree.findall(nodes.paragraph)), None) if doctree is not None else None
    text = shorten(text_of(first)) if first is not None else DESCRIPTIONS.get(pagename, "")
    tags = context.get("metatags", "")
    if text and 'name="description"' not in tags:
        context["metatags"] = f'{tags}\n<meta name="description" content="{html.escape(text)}" />'


def setup(app):
    """Numbers headings before others read them, and names pages when all else is known of them."""
    app.connect("doctree-resolved", number_heading, priority=400)
    app.connect("html-page-context", name_page, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
