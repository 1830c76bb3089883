"""The four homeworks: references pass on any seed, known mistakes are named, notebooks hold no reference."""

import contextlib
import inspect
import io
import json
import re

import pytest
from classes import right

from classroom.grade import ROUNDABOUT
from classroom.homework import NUMBERS, homework, source
from classroom.homework.notebook import SET_UP, TAG, write_homework
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
    assert len(exercise.mistakes) >= 4
    return exercise


@pytest.mark.sampled(4)
@pytest.mark.parametrize("key", CODED)
def test_references_are_right_and_mistakes_are_named_whatever_the_seed(key):
    holds(CODED[key])


def test_a_class_may_have_tasks_of_its_own(tmp_path, monkeypatch, request):
    request.addfinalizer(homework.cache_clear)
    monkeypatch.setattr("classroom.homework.MADE", tmp_path)
    text = source(1).read_text(encoding="utf-8")
    (tmp_path / "h1.py").write_text(text.replace("snake", "worm"), encoding="utf-8")
    homework.cache_clear()
    task = homework(1).tasks["1.1"]
    holds(task)
    assert task.name == "worm"
    write_homework(tmp_path / "out")
    text = (tmp_path / "out/homework-1.ipynb").read_text(encoding="utf-8")
    assert "def worm(images, P):" in text and "snake(" not in text


@pytest.mark.parametrize(
    ("key", "shortcut"),
    [
        ("1.3", "F.conv2d(images, kernel, bias)"),
        ("1.3", "vl.VisionTransformer(cfg).embed_patches(images)"),
        ("1.3", "[f for n, f in inspect.getmembers(F) if n == 'con' + 'v2d']"),
        ("1.3", "builtins.eval('F.con' + 'v2d')"),
        ("1.3", "torch.convolution(images)"),
        ("3.1", "nn.CrossEntropyLoss(label_smoothing=eps)"),
        ("3.2", "torch.optim.adamw.adamw(p)"),
        ("3.2", "vl.build_optimizer(model)"),
    ],
)
def test_a_shortcut_is_shown_to_a_person(key, shortcut):
    """And the reference, which takes none, is not, nor what other tasks may have beside it."""
    pattern = f"{TASKS[key].forbidden}|{ROUNDABOUT}"
    assert re.search(pattern, shortcut)
    beside = "def __init__(self): super().__init__()\ndef __call__(self): self.eval()"
    assert not re.search(pattern, right(key) + SET_UP + beside)


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
