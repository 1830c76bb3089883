"""How equations and numbers are set on a page.

Equations are MathML, written when the book is built: browsers draw them by themselves, without a script. A formula that
cannot be read, or one with a character that the book's font lacks, is a warning that names it. Numbers are written in
one way, 69.8 % with a narrow space that does not break (in Chinese 69.8%), and a real minus; notebooks print tables in
Markdown with Python's own marks ("69.8%", "-0.4"). Code, printed text and equations stay as they are. No line begins
with the comma behind a formula or a name, and none breaks inside ViT-B/16.
"""

from __future__ import annotations

import re
from functools import cache
from xml.etree import ElementTree

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.locale import _
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from page.fonts import CHARACTERS
from page.values import SPACE
from page.words import t

NARROW, MINUS = "\N{NARROW NO-BREAK SPACE}", "\N{MINUS SIGN}"
NAME = re.compile(
    r"\b(ViT-\w+(?:/\d+)?|CIFAR-10+|ImageNet-21k|JFT-300M|Drawn-10)\b", re.ASCII
)
AS_IT_IS = (
    nodes.literal,
    nodes.literal_block,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.comment,
)
LONGEST = 32  # letters of code that stay on a line, on a phone, too: code that may break breaks before its mark
LEANING = set("FHJKMNPTUVWXYZf")  # whose italics reach far beyond their width
convert = cache(LatexToMathML(fancy_error=False).convert_with_local_state)
log = logging.getLogger(__name__)


def mathml(tex: str, display: bool) -> str:
    """MathML of a formula, with its TeX for who wants to copy it; ValueError says what is wrong with it."""
    try:
        markup = convert(tex, displaystyle=display)
    except LatexError as error:
        raise ValueError(str(error)) from None
    root = ElementTree.fromstring(
        re.sub("[\ufe00\ufe01]", "", markup).replace("&ApplyFunction;", "\u2061")
    )
    lacking = sorted(
        {
            c
            for c in "".join(root.itertext())
            if not c.isspace() and ord(c) not in CHARACTERS
        }
    )
    if lacking:
        raise ValueError(
            f"{' '.join(lacking)} is not in the font: add it to page/fonts.py"
        )
    row = ElementTree.Element("mrow")
    row.extend(root)
    if len(row) and row[-1].tag == "mi" and row[-1].text in LEANING:
        root.set("class", "leans")
    root[:] = [ElementTree.Element("semantics")]
    note = ElementTree.Element("annotation", encoding="application/x-tex")
    note.text = tex
    root[0].extend([row, note])
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def write(writer, node, tex: str, display: bool) -> None:
    """Puts a formula on the page, or a warning into the build's report."""
    try:
        writer.body.append(mathml(tex, display))
    except ValueError as error:
        log.warning("equation %s: %s", tex, error, location=node, type="mathml")
        writer.body.append(f"<code>{writer.encode(tex)}</code>")


def visit_math(writer, node) -> None:
    """A formula in a line of text."""
    writer.body.append(
        writer.starttag(node, "span", "", CLASS="math notranslate nohighlight")
    )
    write(writer, node, node.astext().strip(), display=False)
    writer.body.append("</span>")
    raise nodes.SkipNode


def visit_block(writer, node) -> None:
    """A formula on lines of its own; its number stands behind it."""
    writer.body.append(
        writer.starttag(node, "div", CLASS="math notranslate nohighlight")
    )
    write(
        writer,
        node,
        re.sub(r"^\s*$\n?", "", node.astext(), flags=re.M).strip(),
        display=True,
    )
    if node["number"]:
        writer.body.append(
            f'<span class="eqno">({get_node_equation_number(writer, node)})'
        )
        writer.add_permalink_ref(node, _("Link to this equation"))
        writer.body.append("</span>")
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def set_numbers(text: str) -> str:
    """The text with its per cents and minus signs as the book writes them."""
    text = re.sub(rf"(?<=\d)[ {SPACE}]?%(?!\w)", t("\N{NARROW NO-BREAK SPACE}%"), text)
    return re.sub(r"(?<![\w.)\]–-])-(?=\.?\d)", MINUS, text)


def kept(*parts: nodes.Node) -> nodes.inline:
    """What stays on one line."""
    return nodes.inline("", "", *parts, classes=["kept"])


def set_page(app, doctree, docname: str) -> None:
    """Sets every text of a page that is neither code nor an equation."""
    for text in list(doctree.findall(nodes.Text)):
        above = text.parent
        while above is not None and not isinstance(above, AS_IT_IS):
            above = above.parent
        parts = NAME.split(set_numbers(text))  # every second one is a name
        if above is None and parts != [text]:
            content = [
                kept(nodes.Text(part)) if i % 2 else nodes.Text(part)
                for i, part in enumerate(parts)
            ]
            text.parent.replace(text, content)


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
        behind = (
            str(row[i + 1])
            if i + 1 < len(row) and isinstance(row[i + 1], nodes.Text)
            else ""
        )
        opening = re.search(r"[(\[“‘（《「]*$", before)[0]
        closing = re.match(r"[^\w\s(–—（《「“]*", behind)[0]
        if opening + closing:
            tied = kept(nodes.Text(opening), node.deepcopy(), nodes.Text(closing))
            if len(node.astext()) > LONGEST:
                tied["classes"].append("breaks")
            around = [
                nodes.Text(before.removesuffix(opening)),
                tied,
                nodes.Text(behind.removeprefix(closing)),
            ]
            row[i - bool(before) : i + 1 + bool(behind)] = around


def setup(app) -> None:
    """Numbers are set when links are made and before the search reads; what stays on a line is tied at the very end."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_block, None))
    app.connect("doctree-resolved", set_page, priority=850)
    app.connect("doctree-resolved", keep_marks, priority=960)
