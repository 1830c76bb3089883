"""Numbers equations, figures and exercises within their chapter: (4.1), Fig. 4.1, Exercise 4.1.

Sphinx numbers them through the whole book unless its headings are numbered, and ours bear their numbers in their names.
"""

from __future__ import annotations

import re


def number_by_chapter(app, env) -> list[str]:
    """Puts the chapter before each number, and begins each page with 1; other pages count for themselves."""
    for docname, kinds in env.toc_fignumbers.items():
        chapter = re.match(r"book/(\d\d)-", docname)
        before = (int(chapter[1]),) if chapter else ()
        for kind, numbers in kinds.items():
            kinds[kind] = {place: (*before, i) for i, place in enumerate(numbers, 1)}
    return []


def setup(app):
    """Runs after Sphinx has given its own numbers."""
    app.connect("env-get-updated", number_by_chapter, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
