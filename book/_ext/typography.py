"""One way to write numbers on the page: 69.8 % with a narrow space that does not break, and a real minus.

Notebooks print tables in Markdown with Python's own marks ("69.8%", "-0.4"). Prose and tables are set here; code,
printed text and equations stay as they are.
"""

from __future__ import annotations

import re

from docutils import nodes

NARROW = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
AS_IT_IS = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.comment)


def set_numbers(text: str) -> str:
    """Returns the text with its per cents and minus signs as the book writes them."""
    text = re.sub(r"(?<=\d)[ \N{NO-BREAK SPACE}]?%(?!\w)", f"{NARROW}%", text)
    return re.sub(r"(?<![\w.)\]–-])-(?=\.?\d)", MINUS, text)


def set_page(app, doctree, docname: str) -> None:
    """Sets every text of the page that is neither code nor an equation."""
    for text in list(doctree.findall(nodes.Text)):
        above, plain = text.parent, str(text)
        while above is not None and not isinstance(above, AS_IT_IS):
            above = above.parent
        if above is None and (written := set_numbers(plain)) != plain:
            text.parent.replace(text, nodes.Text(written))


def setup(app):
    """Runs on the finished page, so that labels and files keep what was typed."""
    app.connect("doctree-resolved", set_page, priority=850)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
