"""Writes class/: what a class gets of the chapters, and what its teacher gets beside them.

    python -m classroom.editions        (or: make class)

Their text is plain Markdown. Students' notebooks have no solutions and nothing printed yet. The teacher's have both, at
the top what the page "For teachers" says of the chapter, and below each question what its check names, and its hints.
"""

import copy
import json
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from classroom import capstone
from classroom.homework import NUMBERS, make_references, source
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
WHOLE, PART = r"^````\{solution\}.*?^````\n*", r"^````\{solution-start\}.*|^```\{solution-end\}\n```\n*"
SOLUTION = re.compile(f"{WHOLE}|{PART}", re.M | re.S)
FOLDED = re.compile(r" ?(?:The s|S)olutions (?:are folded|run by themselves)[^.]*\.")


def student(notebook: dict) -> dict:
    """A chapter without its solutions, and without outputs."""
    cells = []
    for cell in copy.deepcopy(notebook["cells"]):
        if cell["cell_type"] == "code":
            if "solution" not in cell["metadata"].get("tags", []):
                cells.append(cell | {"execution_count": None, "outputs": []})
        elif text := FOLDED.sub("", SOLUTION.sub("", "".join(cell["source"]))).strip("\n"):
            cells.append(cell | {"source": text})
    return notebook | {"cells": cells}


def teacher(notebook: dict, notes: str) -> dict:
    """A chapter with its solutions, what there is to say of it, and what its checks know."""
    cells, told = [], {"notes": notes}
    for cell in notebook["cells"]:
        numbers = CALL.findall("".join(cell["source"])) if cell["cell_type"] == "code" else []
        said = {number: known(number) for number in numbers if number not in told} if cells else told
        remarks = [(f"teacher-{name.replace('.', '-')}", text) for name, text in said.items()]
        more = [{"cell_type": "markdown", "id": id, "metadata": {}, "source": text} for id, text in remarks]
        cells, told = [*cells, cell, *more], told | said
    return notebook | {"cells": cells}


def known(number: str) -> str:
    """What an exercise's check knows: mistakes, as changes of the right answer, with what is said to each; hints."""
    entry = engine.find(number)
    given = entry.cases[0] if entry.cases else ()
    told = (
        (_code(old), _code(new), _line(engine.joined([said], given))) for old, new, said in entry.mistakes
    )
    rows = [f"| {old} | {new} | {said} |" for old, new, said in told]
    hints = [f"{i}. {hint}" for i, hint in enumerate(entry.hints, 1)]
    return "\n".join([KNOWN.format(number), *rows, "\nHints:\n", *hints])


def _code(text: str) -> str:
    """Code as a cell of a table holds it."""
    return f"`{_line(text).replace('`', chr(39))}`" if text.strip() else "nothing"


def _line(text: str) -> str:
    """A sentence as a cell of a table holds it."""
    return " ".join(text.split()).replace("|", "\\|")


def notes() -> dict[str, str]:
    """What the page for teachers says of each chapter, "05" -> text, without links: a notebook leads to no pages."""
    page = (ROOT / "book" / "teach.md").read_text(encoding="utf-8")
    page = re.sub(r"\{\w+\}`([^<`]*?)\s*(?:<[^`]*>)?`", r"\1", page)
    found = re.findall(r"^\(teach-(\d\d)\)=\n(.*?)(?=^\(|^## |\Z)", page, re.M | re.S)
    return {number: text.strip() for number, text in found}


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
    (folder / "homework" / "capstone.md").write_text(capstone.TASK, encoding="utf-8", newline="\n")
    if said:  # `python -m classroom grade` runs in this folder, too
        mine, ignore = folder / "classroom", shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "classroom", mine, ignore=ignore)
        for number in NUMBERS:
            shutil.copyfile(source(number), mine / "homework" / f"h{number}.py")
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


def main() -> None:
    """Writes both editions."""
    make_references()
    for edition in ("student", "instructor"):
        publish(edition, partial(write, edition=edition))


if __name__ == "__main__":
    main()
