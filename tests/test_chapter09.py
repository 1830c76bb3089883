"""Chapter 09: the solutions of its exercises run and hold what they assert."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch

CHAPTER = Path(__file__).resolve().parent.parent / "book" / "09-training.ipynb"


def solutions() -> dict[str, str]:
    """The Python of each solution, by its label."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    found = re.findall(r"^````\{solution\} (\S+)\n(.*?)^````$", text, re.DOTALL | re.MULTILINE)
    return {label: "\n".join(python_blocks(body)) for label, body in found}


def python_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_every_exercise_has_a_solution_with_code():
    text = CHAPTER.read_text(encoding="utf-8")
    exercises = set(re.findall(r":label: (ex-09-\w+)", text))
    assert 5 <= len(exercises) <= 8
    assert set(solutions()) == exercises
    assert all("assert" in code for code in solutions().values())


@pytest.mark.parametrize("label", solutions())
def test_solution(label, capsys):
    with torch.random.fork_rng():
        exec(compile(solutions()[label], label, "exec"), {"__name__": label})


def test_classroom_cell_runs():
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    (text,) = ["".join(cell["source"]) for cell in cells if "## In the classroom" in "".join(cell["source"])]
    (code,) = python_blocks(text)
    code = code.replace("n=4500", "n=120").replace("n=500", "n=20").replace("epochs=12", "epochs=1")
    exec(compile(code, "classroom", "exec"), {"__name__": "classroom"})
