"""Exercises of the chapters from 09 on: each has a solution whose code runs alone and checks itself."""

from __future__ import annotations

import re

import pytest
import torch
from pages import CHAPTERS, prose, solutions

WRITTEN = [path for path in CHAPTERS if any(solutions(path).values())]
CODE = {label: code for path in WRITTEN for label, code in solutions(path).items()}

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_chapters_are_found():
    assert {"09-training", "10-recipe"} <= {path.stem for path in WRITTEN}


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_every_exercise_has_a_solution_with_code(path):
    exercises = set(re.findall(r":label: (ex-\d\d-[\w-]+)", prose(path)))
    assert 5 <= len(exercises) <= 8
    assert set(solutions(path)) == exercises
    assert all("assert" in code for code in solutions(path).values())


@pytest.mark.parametrize("label", CODE)
def test_a_solution_runs_alone(label, capsys):
    with torch.random.fork_rng():
        exec(compile(CODE[label], label, "exec"), {"__name__": label})
