"""What tests of the classroom share: notebooks as students would hand them in."""

import inspect
import json
from pathlib import Path

from classroom.homework import homework
from classroom.homework.notebook import TAG, write_homework

HEAD = "import torch\nimport torch.nn.functional as F\nfrom einops import rearrange\nimport vitlib as vl\n\n\n"


def right(number: str, *edits: tuple[str, str]) -> str:
    """The right answer to a task as a cell, with edits."""
    source = HEAD + inspect.getsource(
        homework(int(number[0])).tasks[number].exercise.reference
    )
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    return f"{TAG}{number}\n{source}"


def mistaken(number: str, which: int) -> str:
    """An answer with a known mistake."""
    return right(
        number, homework(int(number[0])).tasks[number].exercise.mistakes[which][:2]
    )


def notebook(folder: Path, number: int = 1, words: str = "", **cells: str) -> dict:
    """The homework with cells for tasks, t1="..." for the first; all others are right."""
    path = folder / f"homework-{number}.ipynb"
    if not path.exists():
        write_homework(folder)
    whole = json.loads(path.read_text(encoding="utf-8"))
    for cell in whole["cells"]:
        text = "".join(cell["source"])
        if text.startswith(TAG):
            key = text.split()[2]
            cell["source"] = cells.get(f"t{key[2:]}", right(key))
        if text.startswith("### Answer") and words:
            cell["source"] = text.split("\n")[0] + "\n\n" + words
    return whole


def code(*sources: str) -> dict:
    """A notebook of code cells alone."""
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
        for source in sources
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
