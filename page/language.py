"""The switch between the book's languages, and what Sphinx does in them."""

from __future__ import annotations

import re
from gettext import GNUTranslations
from pathlib import Path
from urllib.parse import urljoin

from docutils import nodes
from sphinx.locale import translators

from page import words
from page.edition import headings, languages, source

# its tag, its name, its address
OTHER = {
    "en": ("zh-CN", "中文", "zh/{}"),
    "zh_CN": ("en", "English", "../{}"),
}


def speak(app, config) -> None:
    """Chooses the language of the pages; what Sphinx and its theme have no word for is in the book's own catalogue."""
    if config.language == "zh_CN":
        words.speak("zh")
        with (words.FOLDER / "zh.mo").open("rb") as file:
            own = GNUTranslations(file)
        for each in translators.values():
            each.add_fallback(own)


def set_chinese(app, doctree, docname: str) -> None:
    """Emphasis of a whole sentence is marked, as it is set in another way; authors are 等."""
    for each in doctree.findall(nodes.emphasis) if words.known else ():
        if each.astext() == "et al.":
            each.replace_self(nodes.Text("等"))
        elif len(each.astext()) >= 60:
            each["classes"].append("long")


def keep_anchors(app, doctree) -> None:
    """Gives sections the anchors that they have in the English page: of Chinese titles Sphinx makes none."""
    titled = [
        each
        for each in doctree.findall(nodes.section)
        if isinstance(each[0], nodes.title)
    ]
    if app.config.language == "zh_CN" and titled:
        taken = {name for each in titled for name in each["ids"]}
        for section, english in zip(
            titled, headings(source(Path(doctree["source"]))), strict=True
        ):
            if (name := nodes.make_id(english)) not in taken:
                # none of the Latin letters in a Chinese title: an element "vit" would be window.vit
                own = rf"id\d+|{nodes.make_id(section[0].astext())}"
                section["ids"] = [
                    name,
                    *(each for each in section["ids"] if not re.fullmatch(own, each)),
                ]
                taken.add(name)


def add_switch(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Puts the way to the same page in the other language into the header, and tells search engines of it."""
    if doctree is None or "header_buttons" not in context or len(languages()) < 2:
        return
    tag, name, place = OTHER[app.config.language]
    page = place.format(f"{pagename}.html")
    address = context["content_root"] + page
    button = {
        "type": "link",
        "url": address,
        "text": name,
        "tooltip": name,
        "label": "language",
    }
    context["header_buttons"].insert(0, button)
    whole = (
        urljoin(app.config.html_baseurl, page) if app.config.html_baseurl else address
    )
    link = f'<link rel="alternate" hreflang="{tag}" href="{whole}"/>'
    context["metatags"] = context.get("metatags", "") + f"\n    {link}"


def setup(app) -> None:
    """The language is chosen before pages are read, anchors are set before others read them."""
    app.connect("config-inited", speak)
    app.connect("doctree-resolved", set_chinese)
    app.connect("doctree-read", keep_anchors, priority=100)
    app.connect("html-page-context", add_switch, priority=700)
