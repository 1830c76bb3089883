"""The four homeworks: references pass on any seed, known mistakes are named, notebooks hold no reference."""

import contextlib
import inspect
import io
import json
import random
import re

import pytest

from classroom.homework import NUMBERS, book, homework, make_references, source, varied
from classroom.homework.notebook import TAG, write_homework
from classroom.wire import pack
from vitworkshop.exercises.engine import judge

homework.cache_clear()
TASKS = {key: task for n in NUMBERS for key, task in homework(n).tasks.items()}
CODED = {key: task for key, task in TASKS.items() if task.exercise}
pytestmark = pytest.mark.usefixtures("one_thread")


def holds(task):
    exercise = task.hidden(2**45 + 7)
    assert judge(exercise, exercise.reference)[""].kind == "right"
    drawn = [pack(task.hidden(seed).cases) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    for mistake in exercise.mistakes:
        verdict = judge(exercise, exercise.edited(mistake))[""]
        assert (verdict.kind, verdict.says) == ("named", mistake[2]), mistake
    assert len(exercise.mistakes) >= 4 and len(exercise.hints) == 2
    return exercise


@pytest.mark.parametrize("key", CODED)
def test_references_are_right_and_mistakes_are_named_whatever_the_seed(key):
    holds(CODED[key])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_class_has_references_of_its_own_and_the_public_ones_get_nothing(
    number, tmp_path, monkeypatch, request
):
    request.addfinalizer(homework.cache_clear)
    public = {task.name: task.exercise for task in CODED.values()}
    assert varied(number, random.Random(0)) != varied(number, random.Random(1))
    monkeypatch.setattr("classroom.homework.MADE", tmp_path / "references")
    make_references()
    text = source(number).read_text(encoding="utf-8")
    assert "OTHER" not in text and not re.search("SOME|REST", text)
    tasks = [task for task in homework(number).tasks.values() if task.exercise]
    for task in tasks:
        assert judge(holds(task), public[task.name].reference)[""].kind != "right"
    make_references()
    assert source(number).read_text(encoding="utf-8") == text and len(tasks) == 4
    source(number).write_text(f"{text}\nTASKS += [book('05.b')]\n", encoding="utf-8")
    homework.cache_clear()
    added = homework(number).tasks[f"{number}.6"]
    assert (added.points, added.name) == (0, "attention") and added.hidden(1).wanted
    write_homework(tmp_path)
    text = (tmp_path / f"homework-{number}.ipynb").read_text(encoding="utf-8")
    assert "Exercise 05.b (not graded" in text and 'vl.check(\\"05.b\\"' in text


@pytest.mark.errors
def test_an_exercise_that_cannot_be_a_task_is_refused():
    for number in ("05.3", "05.1", "06.3"):
        with pytest.raises(
            ValueError, match=f"asks for a function of numbers, got {number}: try 05.b"
        ):
            book(number)
    with pytest.raises(ValueError, match="homework from 1 to 4, got 5"):
        homework(5)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_notebook_runs_and_holds_no_reference(tmp_path, number):
    write_homework(tmp_path)
    whole = json.loads(
        (tmp_path / f"homework-{number}.ipynb").read_text(encoding="utf-8")
    )
    text = "\n".join("".join(cell["source"]) for cell in whole["cells"])
    tasks = homework(number).tasks.values()
    assert (
        sum(bool(task.rubric) for task in tasks) == 1
        and 60 <= sum(t.minutes for t in tasks) <= 120
    )
    for key, task in homework(number).tasks.items():
        assert f"## {key} {task.title}" in text
        assert not task.rubric or task.rubric not in text
        lines = (
            inspect.getsource(task.exercise.reference).splitlines()[1:]
            if task.exercise
            else []
        )
        assert not [
            line for line in lines if line.strip() in text and len(line.strip()) > 25
        ]
        assert not [
            said
            for *_, said in (task.exercise.mistakes if task.exercise else ())
            if said in text
        ]
    for answer, printed in ((False, "not yet"), (True, "as it should be")):
        space, out = {}, io.StringIO()
        for cell in whole["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code":
                with contextlib.redirect_stdout(out):
                    exec(source, space)
            if answer and source.startswith(TAG):
                task = homework(number).tasks[source.split()[2]]
                space[task.name] = task.exercise.reference
        lines = out.getvalue().splitlines()
        assert len(lines) >= 4 and all(line.endswith(printed) for line in lines), lines
