"""One way to write numbers on the page: 69.8 % with a narrow space that does not break, and a real minus.

Notebooks print tables in Markdown with Python's own marks ("69.8%", "-0.4"). Prose and tables are set here; code,
printed text and equations stay as they are. No line begins with the comma behind a formula or a name, and
none breaks inside ViT-B/16.
"""

from __future__ import annotations

import re

from docutils import nodes

NARROW = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
NAME = re.compile(r"\b(ViT-\w+(?:/\d+)?|CIFAR-10+|ImageNet-21k|JFT-300M|Drawn-10)\b")
AS_IT_IS = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.comment)


def set_numbers(text: str) -> str:
    """Returns the text with its per cents and minus signs as the book writes them."""
    text = re.sub(r"(?<=\d)[ \N{NO-BREAK SPACE}]?%(?!\w)", f"{NARROW}%", text)
    return re.sub(r"(?<![\w.)\]–-])-(?=\.?\d)", MINUS, text)


def kept(*parts: nodes.Node | str) -> nodes.inline:
    """What stays on one line."""
    content = [nodes.Text(part) if isinstance(part, str) else part for part in parts]
    return nodes.inline("", "", *content, classes=["kept"])


def set_page(app, doctree, docname: str) -> None:
    """Sets every text of the page that is neither code nor an equation."""
    for text in list(doctree.findall(nodes.Text)):
        above, plain = text.parent, str(text)
        while above is not None and not isinstance(above, AS_IT_IS):
            above = above.parent
        if above is None and ((written := set_numbers(plain)) != plain or NAME.search(written)):
            parts = NAME.split(written)  # every second one is a name
            written = [kept(part) if i % 2 else nodes.Text(part) for i, part in enumerate(parts)]
            text.parent.replace(text, written)


def keep_marks(app, doctree, docname: str) -> None:
    """Ties a bracket before a formula or a name, and marks behind it, to it: browsers break lines at its sides."""
    for node in [*doctree.findall(nodes.math), *doctree.findall(nodes.literal)]:
        while isinstance(node.parent, nodes.reference) and len(node.parent) == 1:
            node = node.parent
        row = node.parent
        if not isinstance(row, nodes.TextElement) or isinstance(row, AS_IT_IS):
            continue
        i = row.index(node)
        before = str(row[i - 1]) if i and isinstance(row[i - 1], nodes.Text) else ""
        behind = str(row[i + 1]) if i + 1 < len(row) and isinstance(row[i + 1], nodes.Text) else ""
        opening = re.search(r"[(\[“‘]*$", before)[0]
        closing = re.match(r"[^\w\s(–—]*", behind)[0]
        if not opening + closing:
            continue
        tied = kept(opening, node.deepcopy(), closing)
        around = [before.removesuffix(opening), tied, behind.removeprefix(closing)]
        row[i - bool(before) : i + 1 + bool(behind)] = [
            nodes.Text(each) if isinstance(each, str) else each for each in around if each
        ]


def setup(app):
    """Numbers are set when links are made and before the search reads; what stays on a line is tied at the very end."""
    app.connect("doctree-resolved", set_page, priority=850)
    app.connect("doctree-resolved", keep_marks, priority=960)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
