"""Hints on a page: above the first cell that checks an exercise, folded, once, and followed when an entry changes."""

import json

import pytest

pytest.importorskip("myst_nb")
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from vitworkshop.exercises import engine
from vitworkshop.words import table


def cell(kind: str, text: str) -> dict:
    code = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text, **code}


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, tuple[str, set[str]]]:
    """The page of a small notebook in both languages, and the files that it depends on."""
    folder = tmp_path_factory.mktemp("hints")
    cells = [cell("markdown", "# Title"), cell("code", 'vl.check("04.4", sincos_at)')]
    cells += [
        cell("markdown", "Between."),
        cell("code", 'vl.check("04.4", solution)'),
        cell("code", "x = 1"),
    ]
    kernel = {
        "kernelspec": {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
    }
    book = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}
    (folder / "index.ipynb").write_text(json.dumps(book))
    settings = {
        "extensions": [
            "sphinx_exercise",
            "myst_nb",
            "page.words",
            "page.chapters",
            "page.exercises",
        ]
    }
    settings |= {"html_theme": "basic", "nb_execution_mode": "off"}
    made = {}
    for tag in ("zh_CN", "en"):  # English last: it stays chosen
        out, settings["language"] = folder / tag, tag
        with docutils_namespace():  # another test builds a book in the same process
            app = Sphinx(
                folder,
                None,
                out,
                folder / f"trees-{tag}",
                "html",
                settings,
                status=None,
            )
            app.build()
        made[tag] = (
            (out / "index.html").read_text(encoding="utf-8"),
            app.env.dependencies["index"],
        )
    return made


def test_hints_stand_above_the_question_once_and_follow_their_entry(pages):
    html, dependencies = pages["zh_CN"]
    hint = engine.find("04.4").hints[0]
    said = table("zh").get(hint, hint)  # in English while its Chinese is stale
    assert said[-7:] in html
    assert any(name.endswith("words/zh.mo") for name in dependencies)
    html, dependencies = pages["en"]
    assert html.count('<details class="hints') == 1
    assert html.index("<details") < html.index("sincos_at") < html.index("Between.")
    hints = html.split("<details")[1].split("</details>")[0]
    assert hints.count("<li>") == len(engine.find("04.4").hints)
    assert (
        ">vl.sincos_2d<" in html
        and "`vl.sincos_2d`" not in html
        and "hints, one after the other" in html
    )
    assert any(name.endswith("vitworkshop/exercises/ch04.py") for name in dependencies)
