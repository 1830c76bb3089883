"""A chapter is added by writing four files: all else follows from them."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from page.address import ROOT
from tools import build

TOP = ROOT / "book/18-axial-and-after.ipynb"
EXERCISE = '''"""The exercises of chapter 20, on toys."""

from vitworkshop.exercises.engine import Exercise

EXERCISES = {}


def double(x):
    return 2 * x


EXERCISES["20.a"] = Exercise(
    double,
    inputs=lambda: [(1,), (3,)],
    mistakes=[("2 * x", "x + 2", "two more is not twice as many")],
    hints=["Count."],
)
'''
BUILD = """from tools.build import ROOT, build_pages, run_notebooks
assert run_notebooks([ROOT / "book/20-toys.ipynb"])
assert not build_pages("en", everything=True)"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The project with a chapter 20 for all its chapters, and its pages: the questions and the chapter."""
    pytest.importorskip("jupyter_book")
    top = tmp_path_factory.mktemp("book") / "project"
    left_out = ("_build", ".venv*", ".git", "data", "class", "runs")
    shutil.copytree(ROOT, top, ignore=shutil.ignore_patterns(*left_out))
    for path in (top / "book").glob("*.ipynb"):  # to be known, not to be run
        known = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(known | {"cells": known["cells"][:1]}))
    notebook = json.loads(TOP.read_text(encoding="utf-8"))
    notebook["metadata"]["part"] |= {"name": "Toys", "question": "What is a toy?"}
    head, *opening = notebook["cells"][:3]
    head["source"] = "(ch-toys)=\n# Toys\n\nFind out what a toy is."
    for number, cell in enumerate(opening, 1):
        cell["id"] = f"20-{number:03}"
    notebook["cells"] = [head | {"id": "20-000"}, *opening]
    (top / "book/20-toys.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    (top / "vitworkshop/exercises/ch20.py").write_text(EXERCISE)
    with (top / "book/teach.md").open("a", encoding="utf-8") as teach:
        teach.write("\n### 20 Toys\n\n- **To discuss.** What is none?\n")
    toc = yaml.safe_load((top / "_toc.yml").read_text(encoding="utf-8"))
    chapter = {"file": "book/20-toys", "title": "20 Toys"}
    (top / "book/intro.md").write_text("# Toys\n\n```{plan}\n```\n")
    toc["parts"] = [{"caption": "Further", "chapters": [chapter]}]
    (top / "_toc.yml").write_text(yaml.safe_dump(toc))
    run(top, "-c", BUILD)
    return top


def run(top: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=top,
        env=build.kernel_environment(1) | {"PYTHONPATH": str(top)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_the_title_page_asks_its_question(book):
    page = (book / "_build/html/book/intro.html").read_text(encoding="utf-8")
    assert re.search(r'What is a toy\? <a [^>]*href="20-toys.html"', page)


def test_the_chapter_opens_as_the_others_do(book):
    page = (book / "_build/html/book/20-toys.html").read_text(encoding="utf-8")
    assert "Toys" in page and "vit-map" in page


def test_its_exercise_answers(book):
    check = 'import vitlib as vl; vl.check("20.a", lambda x: {})'
    assert "20.a: right" in run(book, "-c", check.format("x + x"))
    assert "two more is not twice" in run(book, "-c", check.format("2 + x"))


def test_a_reader_gets_its_notebook(book):
    run(book, "-m", "tools.notebooks")
    assert (book / "notebooks/20-toys.ipynb").exists()
    assert "What is a toy?" in (book / "notebooks/00-start.ipynb").read_text()
