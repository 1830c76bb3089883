"""What a link to a page shows where it is shared: title, first paragraph, the still in the page's language.

They are Open Graph's tags, which stand always; without a public address (`page/address.py`) the picture's is relative.
The still is `book/_static/cover-en.png`, which `python -m page.stills` takes; in Chinese `cover-zh.png`, if there is
one.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from urllib.parse import urljoin

from docutils import nodes
from markupsafe import Markup
from PIL import Image

from page.edition import HAN
from page.search import text_of
from page.theme import change_pages
from page.words import t
from vitworkshop.words import CHOSEN

STATIC = Path(__file__).resolve().parents[1] / "book" / "_static"
DESCRIPTIONS = {
    "search": lambda: t("Search the book, section by section."),
    "genindex": lambda: t("Every name that the book defines, from A to Z."),
}
FRONT = "index"  # leads to the title page
# docutils writes one, Sphinx another, the theme a third
VIEWPORT = '<meta name="viewport"'
REPEATED = re.compile(rf"\s*{VIEWPORT}[^>]*>(?=.*{VIEWPORT})", re.S)


def shorten(text: str, most: int = 160) -> str:
    """The text, cut between words if it is longer than `most` characters."""
    cut = (
        text[: most - 1] if re.search(HAN, text) else text[: most - 1].rsplit(" ", 1)[0]
    )
    return text if len(text) <= most else cut.rstrip(",;:，；：、") + "…"


def promise(doctree) -> str:
    """A page's first paragraph, "" for a page without one."""
    first = next(doctree.findall(nodes.paragraph), None)
    return "" if first is None else shorten(text_of(first))


def describe(app, pagename: str, doctree) -> str:
    """What a page is: its first paragraph; of pages without text, the title page's."""
    if pagename in DESCRIPTIONS:
        return DESCRIPTIONS[pagename]()
    book = app.config.root_doc
    return (doctree is not None and promise(doctree)) or promise(
        app.env.get_doctree(book)
    )


def cover(language: str) -> Path:
    """The first screen as a picture, in a language."""
    return STATIC / f"cover-{language}.png"


def still(language: str) -> Path:
    """The picture that a link shows: in a language, or in English."""
    own = cover(language)
    return own if own.is_file() else cover("en")


def introduce(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Puts into a page's head what a link to it shows; a page that is named as the book is named once."""
    base, book = app.config.html_baseurl, context["docstitle"]
    title = Markup(context.get("title") or book).striptags()
    if context.get("title") == book:
        context["docstitle"] = ""
    says = describe(app, pagename, doctree)
    picture = still(CHOSEN["language"])
    with Image.open(picture) as shown:
        width, height = shown.size
    file = f"_static/{picture.name}"
    tags = {
        "og:type": "website",
        "og:site_name": book,
        "og:title": title,
        "og:description": says,
        "og:image": urljoin(base, file) if base else context["pathto"](file, 1),
        "og:image:width": width,
        "og:image:height": height,
    }
    if base:
        tags["og:url"] = urljoin(base, app.builder.get_target_uri(pagename))
    lines = [
        f'<meta property="{key}" content="{escape(str(tags[key]))}" />' for key in tags
    ]
    lines += [
        f'<meta name="description" content="{escape(says)}" />',
        '<meta name="twitter:card" content="summary_large_image" />',
    ]
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines])


def add_front(app):
    """The page at the root, with a name and a language, which leads to the title page."""
    if app.config.root_doc != FRONT:
        yield FRONT, {"title": app.config.html_title}, "front.html"


def setup(app) -> None:
    """Titles have their numbers by then."""
    app.connect("html-collect-pages", add_front)
    app.connect("html-page-context", introduce, priority=850)
    app.connect(
        "builder-inited",
        lambda app: change_pages(app, lambda page: REPEATED.sub("", page)),
    )
