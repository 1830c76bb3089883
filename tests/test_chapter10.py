"""Chapter 10: the doctor names each seeded bug and none in the healthy run; the exercises' solutions hold."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
import torch

CHAPTER = Path(__file__).resolve().parent.parent / "book" / "10-recipe.ipynb"
FINDINGS = {
    **{"A": "positions", "B": "weight decay", "C": "attention scale", "D": "test normalisation"},
    **{"E": "patch order", "F": "attention axis", "G": "test mode", "H": "learning rate"},
    **{"I": "gradients", "J": "augmentation"},
}

pytestmark = pytest.mark.usefixtures("one_thread")


@cache
def cells() -> dict[str, str]:
    """The source of each cell, by its id."""
    notebook = json.loads(CHAPTER.read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}


@cache
def gallery() -> dict:
    """What the cells of the gallery define, without its runs."""
    space: dict = {"__name__": "chapter10"}
    names = (
        "imports",
        "table",
        "bugs-data",
        "bugs-norms",
        "bugs-healthy",
        "bugs-train",
        "bugs",
        "bugs-doctor",
    )
    for name in names:
        code = cells()[name]
        if name == "bugs-doctor":  # the question, not all of its answers
            code = code[: code.index("\nfound = ")]
        exec(compile(code, name, "exec"), space)
    return space


def solutions() -> dict[str, str]:
    """The Python of each solution, by its label."""
    text = "\n".join(cells().values())
    found = re.findall(r"^````\{solution\} (\S+)\n(.*?)^````$", text, re.DOTALL | re.MULTILINE)
    code = {
        label: re.findall(r"^```python\n(.*?)^```$", body, re.DOTALL | re.MULTILINE) for label, body in found
    }
    return {label: "\n".join(blocks) for label, blocks in code.items()}


def test_every_bug_has_a_letter_and_a_cause():
    letters = set(gallery()["BUGS"])
    boxes = re.findall(r":::\{dropdown\} ([A-Z]): ", "\n".join(cells().values()))
    assert letters == set(FINDINGS) == set(boxes) and len(boxes) == len(letters) >= 8


@pytest.mark.parametrize("letter", FINDINGS)
def test_the_doctor_names_the_bug(letter):
    found = gallery()["ask_doctor"](gallery()["BUGS"][letter])
    assert [finding.check for finding in found] == [FINDINGS[letter]]


@pytest.mark.parametrize("seed", range(3))
def test_the_doctor_finds_nothing_in_the_healthy_run(seed):
    assert gallery()["ask_doctor"]({}, seed) == []


def test_every_exercise_has_a_solution_with_code():
    exercises = set(re.findall(r":label: (ex-10-\w+)", "\n".join(cells().values())))
    assert 5 <= len(exercises) <= 8
    assert set(solutions()) == exercises
    assert all("assert" in code for code in solutions().values())


@pytest.mark.parametrize("label", solutions())
def test_solution(label, capsys):
    with torch.random.fork_rng():
        exec(compile(solutions()[label], label, "exec"), {"__name__": label})
