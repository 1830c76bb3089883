"""Writes class/: what a class gets of the chapters, and what its teacher gets beside them.

    python -m classroom.editions        (or: make class)

Their text is plain Markdown. Students' notebooks have no solutions and nothing printed yet. The teacher's have both,
at the top what the page "For teachers" says of the chapter, and below each question which wrong answers its check
names, and its hints.
"""

from __future__ import annotations

import copy
import json
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from classroom import capstone
from classroom.homework import NUMBERS, make_references
from classroom.homework import source as reference
from classroom.homework.notebook import write_homework
from page.address import chapters
from tools import colab
from tools.plain import plain_notebook
from vitworkshop.exercises import engine

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = chapters()
OUT = ROOT / "class"
KNOWN = """**For the teacher: {}.** What its check names, and says to it. Nobody has counted yet how often a class does
which; `python -m classroom grade` counts for homework.

| right | in its place | said |
|---|---|---|"""
README = """Patch by Patch, notebooks for a class.

In this folder, with Python 3.11 to 3.13:

    python3 -m venv .venv
    .venv/bin/python -m pip install patch-by-patch.zip jupyterlab       (Windows: .venv\\Scripts\\python)
    .venv/bin/python -m jupyter lab

Colab: File, Upload notebook; upload patch-by-patch.zip beside it, and run the first cell.
"""
CALL = re.compile(r'^vl\.check\("(\d\d\.\w)"', re.M)
START = re.compile(r"^````\{solution-start\}.*", re.M | re.S)
END = re.compile(r"^```\{solution-end\}\n```\n*", re.M)
FOLDED = re.compile(r" ?(?:The s|S)olutions (?:are folded|run by themselves)[^.]*\.")
WHOLE = re.compile(r"^````\{solution\}.*?^````\n*", re.M | re.S)


def source(cell: dict) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def solved(cell: dict) -> bool:
    """Whether a cell of code is a solution's."""
    return "solution" in cell["metadata"].get("tags", [])


def student(notebook: dict) -> dict:
    """A chapter without its solutions, and without outputs."""
    cells, inside = [], False
    for cell in copy.deepcopy(notebook["cells"]):
        text = source(cell)
        if cell["cell_type"] == "code":
            if solved(cell):
                continue
            cell |= {"execution_count": None, "outputs": []}
        else:
            if inside:
                inside = not END.search(text)
                text = "" if inside else END.split(text, maxsplit=1)[1]
            inside = inside or bool(START.search(text))
            text = FOLDED.sub("", START.sub("", WHOLE.sub("", text))).strip("\n")
            if not text:
                continue
            cell["source"] = text
        cells.append(cell)
    return notebook | {"cells": cells}


def teacher(notebook: dict, notes: str) -> dict:
    """A chapter with its solutions, what there is to say of it, and what its checks know."""
    cells, told = [], set()
    for i, cell in enumerate(notebook["cells"]):
        cells.append(cell)
        if i == 0:
            cells.append(remark("notes", notes))
        for number in CALL.findall(source(cell)) if cell["cell_type"] == "code" else ():
            if number not in told:
                told.add(number)
                cells.append(remark(number.replace(".", "-"), known(number)))
    return notebook | {"cells": cells}


def remark(name: str, text: str) -> dict:
    """A cell that only the teacher has."""
    return {"cell_type": "markdown", "id": f"teacher-{name}", "metadata": {}, "source": text}


def known(number: str) -> str:
    """What an exercise's check knows: mistakes, as changes of the right answer, with what is said to each; hints."""
    entry = engine.find(number)
    given = entry.cases[0] if entry.cases else ()
    says = [plain(engine.joined([said], given)) for *_, said in entry.mistakes]
    edits = [(code(old), code(new)) for old, new, _ in entry.mistakes]
    rows = [f"| {old} | {new} | {said} |" for (old, new), said in zip(edits, says, strict=True)]
    hints = [f"{i}. {hint}" for i, hint in enumerate(entry.hints, 1)]
    return "\n".join([KNOWN.format(number), *rows, "\nHints:\n", *hints])


def code(text: str) -> str:
    """Code as a cell of a table holds it."""
    return f"`{plain(text).replace('`', chr(39))}`" if text.strip() else "nothing"


def plain(text: str) -> str:
    """A sentence as a cell of a table holds it."""
    return " ".join(text.split()).replace("|", "\\|")


def without_roles(text: str) -> str:
    """Links of the book as their words alone: a notebook has no pages to lead to."""
    return re.sub(r"\{\w+\}`([^<`]*?)\s*(?:<[^`]*>)?`", r"\1", text)


def notes() -> dict[str, str]:
    """What the page for teachers says of each chapter: "05" -> text."""
    page = (ROOT / "book" / "teach.md").read_text(encoding="utf-8")
    return {
        number: without_roles(text.strip())
        for number, text in re.findall(r"^\(teach-(\d\d)\)=\n(.*?)(?=^\(|^## |\Z)", page, re.M | re.S)
    }


def write(folder: Path, edition: str) -> None:
    """One edition, "student" or "instructor": the notebooks, homework, the package to install."""
    said = notes() if edition == "instructor" else {}
    for path in CHAPTERS:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook = plain_notebook(teacher(notebook, said[path.name[:2]]) if said else student(notebook))
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        (folder / path.name).write_text(text, encoding="utf-8", newline="\n")
    colab.write(folder / colab.ZIP.name)
    write_homework(folder / "homework")
    capstone.write_task(folder / "homework")
    if said:  # `python -m classroom grade` runs in this folder, too
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "classroom", folder / "classroom", ignore=ignore)
        for number in NUMBERS:
            shutil.copyfile(reference(number), folder / "classroom" / "homework" / f"h{number}.py")
    (folder / "README.txt").write_text(README, encoding="utf-8", newline="\n")


def publish(name: str, fill: Callable[[Path], object]) -> None:
    """A folder of class/, made anew, and a zip of it beside it."""
    folder, target = OUT / name, OUT / f"{name}.zip"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    fill(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    colab.pack(target, ((path.relative_to(OUT), path) for path in files))
    print(f"Wrote {target} ({target.stat().st_size / 1e6:.1f} MB), and the folder beside it.")


def main() -> int:
    """Writes both editions."""
    make_references()
    for edition in ("student", "instructor"):
        publish(edition, partial(write, edition=edition))
    return 0


if __name__ == "__main__":
    sys.exit(main())
