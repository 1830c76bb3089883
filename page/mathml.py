"""Equations as MathML, written when the book is built: browsers draw them by themselves, without a script.

A formula that cannot be read, or one with a character that the book's font lacks, is a warning that names it.
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

convert = cache(LatexToMathML(fancy_error=False).convert_with_local_state)
LEANING = set("FHJKMNPTUVWXYZf")  # whose italics reach far beyond their width
log = logging.getLogger(__name__)


def mathml(tex: str, display: bool) -> str:
    """MathML of a formula, with its TeX for who wants to copy it; ValueError says what is wrong with it."""
    try:
        markup = convert(tex, displaystyle=display)
    except LatexError as error:
        raise ValueError(str(error)) from None
    root = ElementTree.fromstring(re.sub("[\ufe00\ufe01]", "", markup).replace("&ApplyFunction;", "\u2061"))
    foreign = sorted({c for c in "".join(root.itertext()) if not c.isspace() and ord(c) not in CHARACTERS})
    if foreign:
        raise ValueError(f"{' '.join(foreign)} is not in the font: add it to page/fonts.py")
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
    writer.body.append(writer.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    write(writer, node, node.astext().strip(), display=False)
    writer.body.append("</span>")
    raise nodes.SkipNode


def visit_block(writer, node) -> None:
    """A formula on lines of its own; its number stands behind it."""
    writer.body.append(writer.starttag(node, "div", CLASS="math notranslate nohighlight"))
    write(writer, node, re.sub(r"^\s*$\n?", "", node.astext(), flags=re.M).strip(), display=True)
    if node["number"]:
        writer.body.append(f'<span class="eqno">({get_node_equation_number(writer, node)})')
        writer.add_permalink_ref(node, _("Link to this equation"))
        writer.body.append("</span>")
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Registers the writer of equations with Sphinx."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
