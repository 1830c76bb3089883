"""Writes class/: what a class gets of the chapters, and what its teacher gets beside them.

    python -m classroom.editions        (or: make class; in Chinese: make class LANGUAGES=zh)

Their text is plain Markdown, and nothing is printed yet. Students' notebooks have no solutions. The teacher's have
them, at the top what the page "For teachers" says of the chapter, and below each question what its check names, and its
hints.
"""

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from classroom import capstone
from classroom.homework import NUMBERS, source
from classroom.homework.notebook import write_homework
from page import edition as composed
from page.address import chapters
from page.edition import languages
from tools import colab
from tools.plain import SOLUTION, SOLVED, plain_notebook, text_of
from vitworkshop.exercises import engine
from vitworkshop.exercises.language import language, say

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = chapters()
OUT = ROOT / "class"
KNOWN = {
    "en": """**For the teacher: {}.** What its check names, and says to it. Nobody has counted yet how often a class
does which; `python -m classroom grade` counts for homework.

| right | in its place | said |
|---|---|---|""",
    "zh": """**给教师：{}**。检查能指出哪些错误，又会怎样说。还没有人数过一个班里各有多少人这样错；作业由
`python -m classroom grade` 来数。

| 正确的 | 写成了 | 检查说 |
|---|---|---|""",
}
README = {
    "en": """Patch by Patch, notebooks for a class.

In this folder, with Python 3.11 to 3.14:

    python3 -m venv .venv
    .venv/bin/python -m pip install "patch-by-patch.zip[samples]" jupyterlab       (Windows: .venv\\Scripts\\python)
    .venv/bin/python -m jupyter lab

Colab: File, Upload notebook; upload patch-by-patch.zip beside it, and run the first cell.
""",
    "zh": """Patch by Patch，供课堂使用的 notebook。

在这个文件夹里，用 Python 3.11 到 3.14：

    python3 -m venv .venv
    .venv/bin/python -m pip install "patch-by-patch.zip[samples]" jupyterlab       （Windows：.venv\\Scripts\\python）
    .venv/bin/python -m jupyter lab

Colab：File, Upload notebook；在旁边上传 patch-by-patch.zip，然后运行第一个单元格。
""",
}
CALL = re.compile(r'^vl\.check\("(\d\d\.\w)"', re.M)
NOTHING = {"en": "nothing", "zh": "（没有）"}
FOLDED = re.compile(
    r" ?(?:The s|S)olutions (?:are folded|run by themselves)[^.]*\.|解答(?:是折叠的|都能单独运行)[^。]*。"
)


def student(notebook: dict) -> dict:
    """A chapter without its solutions."""
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            if "solution" not in cell["metadata"].get("tags", []):
                cells.append(cell)
            continue
        text = SOLVED.sub("", SOLUTION.sub("", "".join(cell["source"])))
        if text := FOLDED.sub("", text).strip("\n"):
            cells.append(cell | {"source": text})
    return notebook | {"cells": cells}


def teacher(notebook: dict, notes: str) -> dict:
    """A chapter with its solutions, what there is to say of it, and what its checks know."""
    cells, told = [], {"notes": notes}
    below = ["notes"]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            numbers = dict.fromkeys(CALL.findall("".join(cell["source"])))
            below = [number for number in numbers if number not in told]
            told |= {number: known(number) for number in below}
        cells.append(cell)
        for name in below:
            about = {"id": f"teacher-{name.replace('.', '-')}", "metadata": {}}
            cells.append(about | {"cell_type": "markdown", "source": told[name]})
        below = []
    return notebook | {"cells": cells}


def known(number: str) -> str:
    """What an exercise's check knows: mistakes, as changes of the right answer, with what is said to each; hints."""
    entry = engine.find(number)
    given = entry.cases[0] if entry.cases else ()
    rows = [
        f"| {_code(old)} | {_code(new)} | {_line(say(engine.joined([said], given)))} |"
        for old, new, said in entry.mistakes
    ]
    hints = [f"{i}. {say(hint)}" for i, hint in enumerate(entry.hints, 1)]
    head = "Hints:" if language() == "en" else "提示："
    return "\n".join([KNOWN[language()].format(number), *rows, f"\n{head}\n", *hints])


def _code(text: str) -> str:
    """Code as a cell of a table holds it."""
    return (
        f"`{_line(text).replace('`', chr(39))}`"
        if text.strip()
        else NOTHING[language()]
    )


def _line(text: str) -> str:
    """A sentence as a cell of a table holds it."""
    return " ".join(text.split()).replace("|", "\\|")


def notes() -> dict[str, str]:
    """What the page for teachers says of each chapter, "05" -> text, without links: a notebook leads to no pages."""
    page = composed.page(ROOT / "book" / "teach.md", language())
    page = re.sub(r"\{\w+\}`([^<`]*?)\s*(?:<[^`]*>)?`", r"\1", page)
    found = re.findall(r"^\(teach-(\d\d)\)=\n(.*?)(?=^\(|^## |\Z)", page, re.M | re.S)
    return {number: text.strip() for number, text in found}


def write(folder: Path, edition: str) -> None:
    """One edition, "student" or "instructor", in the language that is chosen: notebooks, homework, the package."""
    said = notes() if edition == "instructor" else {}
    for path in CHAPTERS:
        notebook = composed.notebook(path, language())
        notebook = teacher(notebook, said[path.name[:2]]) if said else student(notebook)
        text = text_of(plain_notebook(notebook, path.stem, language()))
        (folder / path.name).write_text(text, encoding="utf-8", newline="\n")
    colab.write(folder / colab.ZIP.name)
    write_homework(folder / "homework")
    (folder / "homework" / "capstone.md").write_text(
        say(capstone.TASK), encoding="utf-8", newline="\n"
    )
    if said:  # `python -m classroom grade` runs in this folder, too
        mine, ignore = folder / "classroom", shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "classroom", mine, ignore=ignore)
        for number in NUMBERS:
            shutil.copyfile(source(number), mine / "homework" / f"h{number}.py")
    (folder / "README.txt").write_text(
        README[language()], encoding="utf-8", newline="\n"
    )


def publish(name: str, fill: Callable[[Path], object]) -> None:
    """A folder of class/, made anew, and a zip of it beside it."""
    folder, target = OUT / name, OUT / f"{name}.zip"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    fill(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    colab.pack(target, ((path.relative_to(OUT), path) for path in files))
    print(
        f"Wrote {target} ({target.stat().st_size / 1e6:.1f} MB), and the folder beside it."
    )


def main() -> None:
    """Writes both editions."""
    language(languages()[-1])
    for edition in ("student", "instructor"):
        publish(edition, partial(write, edition=edition))


if __name__ == "__main__":
    main()
