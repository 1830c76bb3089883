"""What is written in the reader's language beside the cells: words of the book's own code, and the switch to the other.

`book/zh/words.yml` holds what Python writes into pages and drawings, `scripts.yml` what scripts say, by file: English
fragments of their source, and what stands there in the Chinese edition. `say` is English where nothing is translated.
"""

from __future__ import annotations

import os
from pathlib import Path

import yaml
from docutils import nodes

from page.edition import headings, source

ZH = Path(__file__).resolve().parents[1] / "book" / "zh"
OTHER = {
    "en": ("zh-CN", "中文", "zh/{}"),
    "zh_CN": ("en", "English", "../{}"),
}  # its tag, its name, its address
words: dict[str, str] = {}  # of the edition that is being built


def say(english: str, **values) -> str:
    """A text in the language of the pages, with its values put in."""
    return words.get(english, english).format(**values)


def read_words(app, config) -> None:
    """Takes the words of the edition that is being built."""
    words.clear()
    if config.language == "zh_CN":
        words.update(yaml.safe_load((ZH / "words.yml").read_text("utf-8")))


def keep_anchors(app, doctree) -> None:
    """Gives sections the anchors that they have in the English page: of Chinese titles Sphinx makes none."""
    titled = [each for each in doctree.findall(nodes.section) if isinstance(each[0], nodes.title)]
    if words and titled:
        taken = {name for each in titled for name in each["ids"]}
        for section, english in zip(titled, headings(source(Path(doctree["source"]))), strict=True):
            if (name := nodes.make_id(english)) not in taken:
                section["ids"][0] = name
                taken.add(name)


def add_switch(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Puts the way to the same page in the other language into the header, and tells search engines of it."""
    if doctree is None or "header_buttons" not in context or "," not in os.environ.get("LANGUAGES", ""):
        return
    tag, name, place = OTHER[app.config.language]
    address = context["content_root"] + place.format(f"{pagename}.html")
    button = {"type": "link", "url": address, "text": name, "tooltip": name, "label": "language"}
    context["header_buttons"].insert(0, button)
    link = f'<link rel="alternate" hreflang="{tag}" href="{address}"/>'
    context["metatags"] = context.get("metatags", "") + f"\n    {link}"


def translate_scripts(app, error) -> None:
    """Puts the translated fragments into the scripts beside the pages."""
    if error or not words:
        return
    for file, fragments in yaml.safe_load((ZH / "scripts.yml").read_text("utf-8")).items():
        path = Path(app.outdir) / "_static" / file
        text = path.read_text("utf-8")
        for english, said in fragments.items():
            text = text.replace(english, said)
        path.write_text(text, "utf-8", newline="\n")


def setup(app) -> None:
    """Words are known before any page is read; scripts are translated when they have been copied."""
    app.connect("config-inited", read_words)
    app.connect("doctree-read", keep_anchors, priority=100)
    app.connect("html-page-context", add_switch, priority=700)
    app.connect("build-finished", translate_scripts, priority=950)
