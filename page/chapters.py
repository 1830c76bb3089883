"""How a chapter opens, is named and counts: its number, its question, what folds.

Chapters bear their numbers in the heading, in the tab's title, where the next page is named, and before the numbers of
their equations, figures and exercises: (4.1), Fig. 4.1, Exercise 4.1. The box "At a glance" is folded to a line that
says how long the chapter takes, which `book/_static/place.js` reads there; solutions fold to a line that names their
exercise, what stands under "More exercises" to one that counts them. All fold as the browser folds things (`details`):
without scripts, by keyboard, by a search in the page.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx_exercise.nodes import solution_node

from page.lengths import DIFFICULTY
from page.words import t


class details(nodes.General, nodes.Element):
    """A fold; its first child is the line that is always seen."""


class summary(nodes.General, nodes.TextElement):
    """The line of a fold."""


def number_of(docname: str) -> str:
    """A chapter's number, "05"; "" for another page."""
    found = re.match(r"book/(\d\d)-", docname)
    return found[1] if found else ""


def number_by_chapter(app, env) -> list[str]:
    """Puts the chapter before each number, and begins each page with 1: Sphinx counts through the whole book."""
    for docname, kinds in env.toc_fignumbers.items():
        before = (int(number_of(docname)),) if number_of(docname) else ()
        for kind, numbers in kinds.items():
            kinds[kind] = {place: (*before, i) for i, place in enumerate(numbers, 1)}
    return []


def number_heading(app, doctree, docname: str) -> None:
    """Puts the number before the page's title."""
    title = next(doctree.findall(nodes.title), None)
    if title is not None and number_of(docname):
        title.insert(
            0,
            [
                nodes.inline("", number_of(docname), classes=["chapter-number"]),
                nodes.Text(" "),
            ],
        )


def name_page(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Names the tab, and the pages before and after."""
    number = number_of(pagename)
    if number and doctree is not None:
        context["title"] = f"{number} {context['title']}"
    _, *around = (getattr(app.builder, "relations", None) or {}).get(pagename) or (
        None,
        None,
        None,
    )
    for way, other in zip(("prev", "next"), around, strict=True):
        if other and number_of(other) and context.get(way):
            context[way] = {
                **context[way],
                "title": f"{number_of(other)} {context[way]['title']}",
            }


def fold_glance(app, doctree, docname: str) -> None:
    """Folds the box "At a glance" to its title and the minutes."""
    for box in list(doctree.findall(nodes.admonition)):
        if "glance" in box["classes"]:
            line = summary("", "", *box[0].children, classes=["admonition-title"])
            fold = details(
                "", line, *box.children[1:], classes=["glance", "admonition"]
            )
            if said := re.search(
                r"(\d+) minutes to read|阅读 (\d+) 分钟", box.astext()
            ):
                line += nodes.inline("", said[0], classes=["minutes"])
                fold["data"] = {"data-minutes": said[1] or said[2]}
            box.parent.replace(box, fold)


def fold_solutions(app, doctree, docname: str) -> None:
    """Folds each solution to its title, without the link, and drops an id that each exercise of a page gets."""
    for solution in list(doctree.findall(solution_node)):
        line = summary()
        for child in solution[0].children:
            line += (
                list(child.children) if isinstance(child, nodes.reference) else child
            )
        fold = details(
            "",
            line,
            *solution.children[1:],
            ids=solution["ids"][:1],
            classes=["solution"],
        )
        solution.parent.replace(solution, fold)
    for section in doctree.findall(nodes.section):
        if section["ids"] and section["ids"][0] in (
            "exercise-content",
            "solution-content",
        ):
            section["ids"] = []


def fold_more(app, doctree, docname: str) -> None:
    """Folds the exercises beyond a chapter's core to a line with their number and minutes."""
    for section in doctree.findall(nodes.section):
        if "more-exercises" in section["ids"]:
            minutes = [
                int(minutes) for _, minutes, _ in DIFFICULTY.findall(section.astext())
            ]
            said = t("{n} more, {m} minutes", n=len(minutes), m=sum(minutes))
            line = summary("", said)
            section[1:] = [details("", line, *section[1:], classes=["more"])]


def as_tag(name: str, suffix: str) -> tuple:
    """What writes a node as a tag of HTML."""
    return (
        lambda writer, node: writer.body.append(
            writer.starttag(node, name, suffix, **node.get("data", {}))
        ),
        lambda writer, node: writer.body.append(f"</{name}>\n"),
    )


def setup(app) -> None:
    """Headings are numbered before others read them; what folds does so when search and links have seen it."""
    app.add_node(details, html=as_tag("details", "\n"))
    app.add_node(summary, html=as_tag("summary", ""))
    app.connect("env-get-updated", number_by_chapter, priority=900)
    app.connect("doctree-resolved", number_heading, priority=400)
    app.connect("html-page-context", name_page, priority=800)
    app.connect("doctree-resolved", fold_solutions, priority=905)
    app.connect("doctree-resolved", fold_more, priority=910)
    app.connect("doctree-resolved", fold_glance, priority=920)
