"""What keyboards, screen readers and readers without scripts need of the built page.

A solution is folded as the browser folds things (`details`): it opens without scripts, by keyboard, by a search in the
page, and its line names its exercise. The rest mends markup of the theme and of Sphinx that axe-core calls wrong.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx_exercise.nodes import solution_node

WRAPPERS = (
    "exercise-content",
    "solution-content",
)  # sphinx-exercise gives this id to every exercise of a page


class fold_line(nodes.General, nodes.TextElement):
    """The line of a folded solution that is always seen."""


def fold_solutions(app, doctree, docname: str) -> None:
    """Makes each solution's title a plain line to click, without the link, and drops ids that stand twice."""
    for solution in doctree.findall(solution_node):
        line = fold_line()
        for child in solution[0].children:
            line += list(child.children) if isinstance(child, nodes.reference) else child
        solution[0] = line
    for section in doctree.findall(nodes.section):
        if section["ids"] and section["ids"][0] in WRAPPERS:
            section["ids"] = []


def visit_solution(writer, node) -> None:
    """Opens the fold."""
    writer.body.append(f'<details class="solution" id="{node["ids"][0]}">\n')


def depart_solution(writer, node) -> None:
    """Closes the fold."""
    writer.body.append("</details>\n")


def mend(body: str) -> str:
    """Returns a page's HTML with the roles, lists and names that it should have."""
    body = body.replace(
        'role="doc-biblioentry"', 'role="listitem"'
    )  # in a list; the other role is deprecated
    body = body.replace('<summary aria-label="Toggle hidden content">', "<summary>")  # named by what it says
    body = re.sub(r"(<dt class=\"sig .*?</dt>)", lambda sig: plain_signature(sig[0]), body, flags=re.S)
    return body.replace('<th class="head"><p></p></th>', '<td class="head"></td>')  # a corner heads nothing


def plain_signature(text: str) -> str:
    """Writes a signature of several lines as lines, not as a list of definitions without terms."""
    for old, new in (("dl", "lines"), ("dd", "line")):
        text = re.sub(rf"<{old}>", f'<span class="sig-{new}">', text).replace(f"</{old}>", "</span>")
    return text


def mend_page(app, pagename, templatename, context, doctree) -> None:
    """Mends the page, and leaves out the scripts that used to fold solutions."""
    if "body" in context:
        context["body"] = mend(context["body"])
    for kind in ("script_files", "css_files"):
        context[kind] = [file for file in context[kind] if "togglebutton" not in described(file)]


def described(file) -> str:
    """A script's or style sheet's name and text."""
    return f"{getattr(file, 'filename', file)} {getattr(file, 'attributes', {}).get('body', '')}"


def setup(app):
    """Runs after sphinx-exercise has given titles their numbers."""
    app.add_node(
        fold_line, html=(lambda w, n: w.body.append("<summary>"), lambda w, n: w.body.append("</summary>\n"))
    )
    app.add_node(solution_node, override=True, html=(visit_solution, depart_solution))
    app.connect("doctree-resolved", fold_solutions, priority=900)
    app.connect("html-page-context", mend_page, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
