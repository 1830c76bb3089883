"""A chapter opens with its question: the box "At a glance" is folded to a line that says how long the chapter takes.

Notebooks keep the box as it is. The minutes also stand on the box for `book/_static/place.js`, which says how many are
left. Cells that only set up or draw are folded by their tag, `hide-input`, which Jupyter ignores.
"""

from __future__ import annotations

import re

from docutils import nodes


class glance(nodes.General, nodes.Element):
    """The folded box; ``minutes`` is the time to read the chapter, "" where it is not said."""


class glance_line(nodes.General, nodes.TextElement):
    """The line of the box that is always seen."""


def fold_glance(app, doctree, docname: str) -> None:
    """Puts a folded box in the place of the open one."""
    for box in list(doctree.findall(nodes.admonition)):
        if "glance" in box["classes"]:
            said = re.search(r"(\d+) minutes to read", box.astext())
            minutes = said[1] if said else ""
            line = glance_line("", "", *box[0].children)
            if minutes:
                line += nodes.inline("", f"{minutes} minutes to read", classes=["minutes"])
            box.replace_self(glance("", line, *box.children[1:], minutes=minutes))


def visit_glance(writer, node) -> None:
    """Opens the fold."""
    minutes = node["minutes"] and f' data-minutes="{node["minutes"]}"'
    writer.body.append(f'<details class="glance admonition"{minutes}>\n')


def depart_glance(writer, node) -> None:
    """Closes the fold."""
    writer.body.append("</details>\n")


def visit_line(writer, node) -> None:
    """Opens the line."""
    writer.body.append('<summary class="admonition-title">')


def depart_line(writer, node) -> None:
    """Closes the line."""
    writer.body.append("</summary>\n")


def setup(app):
    """Runs after the search has read the box, and after the links in it are made."""
    app.add_node(glance, html=(visit_glance, depart_glance))
    app.add_node(glance_line, html=(visit_line, depart_line))
    app.connect("doctree-resolved", fold_glance, priority=920)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
