"""Code in the prose of chapters from 09 on: solutions run alone and check themselves; the cell for classrooms runs."""

import re

import pytest
import torch
from pages import CHAPTERS, ROOT, prose, python_blocks, solutions

WRITTEN = [path for path in CHAPTERS if any(solutions(path).values())]
CODE = {label: code for path in WRITTEN for label, code in solutions(path).items()}

pytestmark = pytest.mark.usefixtures("one_thread")


def run(name: str, code: str) -> None:
    with torch.random.fork_rng():
        exec(compile(code, name, "exec"), {"__name__": name})


def test_every_exercise_has_a_solution_with_code():
    assert {"09-training", "10-recipe"} <= {path.stem for path in WRITTEN}
    for path in WRITTEN:
        assert set(solutions(path)) == set(
            re.findall(r":label: (ex-\d\d-[\w-]+)", prose(path))
        ), path.stem


@pytest.mark.sampled(3)
@pytest.mark.parametrize("label", CODE)
def test_a_solution_runs_alone(label, capsys):
    assert "assert" in CODE[label]
    run(label, CODE[label])
    assert ("vl.check(" in CODE[label]) == capsys.readouterr().out.endswith(": right\n")


def test_the_classroom_cell_runs():
    (code,) = python_blocks(prose(ROOT / "book/teach.md"))
    small = (
        code.replace("n=4500", "n=120")
        .replace("n=500", "n=20")
        .replace("epochs=12", "epochs=1")
    )
    run("classroom", small)
