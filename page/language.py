"""The switch between the book's languages, and what is translated beside the cells: words of the book's own code.

`book/zh/words.yml` holds texts that pages get from Python (fields, tables, the map, drawings) as they stand between two
tags, with {} for what changes, each with its Chinese. What scripts say stands in a catalogue (page/words.py).
"""

from __future__ import annotations

import re
from functools import cache
from html import escape, unescape
from pathlib import Path
from urllib.parse import urljoin

import yaml
from docutils import nodes

from page.edition import WORDS, headings, languages, source
from page.theme import change_pages

# its tag, its name, its address
OTHER = {
    "en": ("zh-CN", "中文", "zh/{}"),
    "zh_CN": ("en", "English", "../{}"),
}
# in which nothing is translated
CLOSED = re.compile(r"(<(pre|code|script|style|math|dt)\b.*?</\2>)", re.S)
# English in a Chinese sentence: 词元（token）
QUOTED = re.compile(r"(（|“|[A-Za-z,;] ?)(</?(a|span|em)\b[^<>]*>)+$")
TEXT = re.compile(
    r'(>|(?:aria-label|title|placeholder)=")((?<=>)[^<>]*[A-Za-z][^<>]*(?=<)|(?<=")[^"]*[A-Za-z][^"]*)'
)


@cache
def words() -> tuple[dict[str, str], list[tuple[re.Pattern, str]]]:
    """The texts that are translated: whole ones, and those with {} in them as patterns."""
    known = yaml.safe_load((WORDS / "words.yml").read_text("utf-8"))
    open_ones = [
        (re.compile(re.escape(key).replace(r"\{\}", "(.+?)")), said)
        for key, said in known.items()
        if "{}" in key
    ]
    return known, open_ones


@cache
def chinese(text: str) -> str:
    """A text from between two tags in Chinese, if its words are known."""
    known, open_ones = words()
    english = " ".join(unescape(text).split())
    if (said := known.get(english)) is None:
        said = next(
            (
                said.format(*m.groups())
                for way, said in open_ones
                if (m := way.fullmatch(english))
            ),
            None,
        )
    if said is None:
        return text
    return (
        text[: len(text) - len(text.lstrip())]
        + escape(said)
        + text[len(text.rstrip()) :]
    )


def translate(page: str) -> str:
    """A page in which the texts of the book's own code are Chinese."""
    parts = CLOSED.split(page)  # a text, what is closed, its tag, a text, ...

    def said(found: re.Match) -> str:
        before = found.string[max(0, found.start() - 300) : found.end(1)]
        return found[0] if QUOTED.search(before) else found[1] + chinese(found[2])

    for i in range(0, len(parts), 3):
        parts[i] = re.sub(
            r" +(?=[，。；：？！）])", "", TEXT.sub(said, f">{parts[i]}<")[1:-1]
        )
    del parts[2::3]
    text = "".join(parts).replace("<em>et al.</em>", "等")
    return re.sub(r"<em>(?=(?:(?!</em>).){60})", '<em class="long">', text)


def translate_pages(app) -> None:
    """Has every page translated when all else is written, if the edition is Chinese."""
    if app.config.language == "zh_CN":
        change_pages(app, translate)


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
    """Anchors are set before others read them; words are translated when all others have written theirs."""
    app.connect("builder-inited", translate_pages, priority=900)
    app.connect("doctree-read", keep_anchors, priority=100)
    app.connect("html-page-context", add_switch, priority=700)
