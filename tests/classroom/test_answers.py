"""Answers are found wherever students write them; what cannot be told waits, and only a stub alone is no answer."""

import contextlib
import io
import json
import re
import textwrap
import time

import pytest
from classes import code, right

from classroom.__main__ import main
from classroom.answers import Answers
from classroom.grade import ROUNDABOUT
from classroom.homework import homework
from classroom.homework.notebook import TAG, released
from classroom.names import slug
from classroom.submissions import TASKS
from vitlib.files import read_json, write_json

WORK = homework(1)
STUB = dict(enumerate(released(WORK)))[3][1]
DONE = right("1.1").partition("\n")[2]
CALLS = "def snake(images, P):\n    return mine(images, P)"
DOCUMENTED = 'def snake(images, P):\n    """Cut."""\n    raise NotImplementedError'
WORDS = "The same patches in another order."
BARE = DONE[DONE.index("def ") :]
MINE = DONE.replace("snake", "mine")
SIGNATURE = "def snake(images, P):"


def changed(*edits, answer=DONE, words=WORDS):
    """The released notebook, answered in task 1.1 and in words, with edits: (the cell's beginning, cells instead)."""
    cells = []
    for kind, text in released(WORK):
        text = f"{TAG}1.1\n{answer}" if text == STUB and answer else text
        text = text.replace("…", words) if text.startswith("### Answer") else text
        new = next((to for start, to in edits if text.startswith(start)), None)
        cells += (
            [(kind, text)]
            if new is None
            else [each if each != "it" else (kind, text) for each in new]
        )
    return cells


CELL, END, ASKED = f"{TAG}1.1", "### Answer", "## 1.5"
CODE = {  # ways to hand in one right answer in code, and whether all is in order
    "in its place": (changed(), True),
    "without the line": (changed((CELL, [("code", DONE)])), True),
    "the stub above, answer at the end": (changed((END, ["it", ("code", DONE)]), answer=""), True),
    "the stub in its cell, above": (changed((CELL, [("code", f"{STUB}\n\n\n{DONE}")])), True),
    "a stub with words": (changed((CELL, ["it", ("code", DOCUMENTED)])), True),
    "twice": (changed((CELL, [("code", f"{SIGNATURE}\n    return 0"), "it"])), False),
    "by another name": (changed((CELL, [("code", MINE), ("code", "snake = mine")])), True),
    "by a lambda": (changed((CELL, [("code", MINE + "\nsnake = lambda *x: mine(*x)")])), True),
    "in globals": (changed((CELL, [("code", MINE + "\nglobals()['snake'] = mine")])), True),
    "what it calls below": (changed((CELL, [("code", CALLS), ("code", MINE)])), True),
    "without the cell of imports": (changed(("import torch", []), answer=BARE), True),
    "for a GPU": (changed((CELL, [("code", f"torch.set_default_device('cuda')\n{DONE}")])), True),
    "all cells but one gone": ([("code", DONE)], True),
    "indented": (changed((CELL, [("code", "if 1:\n" + textwrap.indent(DONE, " "))])), True),
}  # fmt: skip
WAITS = {  # what may be an answer, and is not judged
    "a name in capitals": changed((CELL, ["it", ("code", DONE.replace("snake", "Snake"))]), answer=""),
    "the name changed in its place": changed(answer=DONE.replace("snake", "my_snake")),
    "a Markdown cell": changed((CELL, [("markdown", f"{TAG}1.1\n```python\n{DONE}\n```")])),
    "a remark in the stub": changed(answer=f"{SIGNATURE}\n    # x.unfold?\n    pass"),
    "the cell gone": changed((CELL, [])),
    "a line that cannot be read": changed(answer=DONE.replace("P)", "P\uff09", 1)),
    "written to a file": changed((CELL, [("code", "%%writefile a.py\n" + DONE)])),
    "without a return": changed(answer=DONE.replace("return ", "")),
    "a helper that cannot be read": changed((CELL, [("code", MINE.replace(":", "", 1)), ("code", CALLS)])),
    "nothing": [],
}  # fmt: skip
OPEN = {
    "pass": "\n    pass",
    "raise": "\n  raise NotImplementedError('later')  # yours",
}
FIVE = "def embed(images, kernel, bias):\n    return helper(images, kernel, bias)"
LINE = "lambda x, k, b: F.conv2d(x, k, b, stride=k.shape[2]).flatten(2).mT"
SHORT = {  # right, by a shortcut that the task forbids, and that stands in another cell
    "above": [("code", f"helper = {LINE}"), ("code", FIVE)],
    "in another function's attribute": [("code", f"vl.made = {LINE}"), ("code", FIVE.replace("helper", "vl.made"))],
    "among lines that cannot be read": [("code", f"helper = {LINE}\nwhat is this"), ("code", FIVE)],

}  # fmt: skip
MENTIONED = {  # right, and the shortcut is only spoken of
    "in a remark": [("code", right("1.3", ("P = ", "# unlike conv2d\n    P = ")))],
    "in a docstring": [("code", right("1.3", ("P = ", '"""No conv2d here."""\n    P = ')))],

}  # fmt: skip
SAID = {  # ways to hand in one answer in words
    "in its place": changed(),
    "on the heading's line": changed((END, [("markdown", f"### Answer 1.5: {WORDS}")])),
    "no heading": changed((END, [("markdown", WORDS)])),
    "in the question": changed((ASKED, [("markdown", f"## 1.5 In words\nWithout\n\n{WORDS}")]), words="…"),
    "in a code cell of its own": changed((END, ["it", ("code", f"# {WORDS}")]), words="…"),
    "in a raw cell": changed((END, ["it", ("raw", WORDS)]), words="…"),
    "the dots left": changed(words=f"{WORDS} …"),
}  # fmt: skip


def saved(folder, name, cells):
    whole = code()
    for kind, text in cells:
        whole["cells"].append({"cell_type": kind, "metadata": {}, "source": text})
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.ipynb").write_text(json.dumps(whole))


# all or none: they are graded together
handed_in = pytest.mark.sampled(3, "handed in")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """What each notebook got, by its name and the task."""
    top = tmp_path_factory.mktemp("answers")
    many = {name: cells for name, (cells, _) in CODE.items()}
    many |= {f"waits {name}": cells for name, cells in WAITS.items()}
    many |= {
        "released": released(WORK),
        "wrong": changed(answer=f"{SIGNATURE}\n    return 1"),
    }
    many |= {
        f"short {name}": [("code", "import torch.nn.functional as F"), *cells]
        for name, cells in SHORT.items()
    }
    many |= {f"named {name}": cells for name, cells in MENTIONED.items()}
    many |= {"no words": changed(words="…")}
    many |= {
        f"open {name}": changed(answer=SIGNATURE + line) for name, line in OPEN.items()
    }
    for name, cells in many.items():
        saved(top / "class", name, cells)
    write_json(top / "class-grades/state.json", {"seed": 7})
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["grade", str(top / "class"), "--homework", "1"]) == 0
    found = {"said": said.getvalue()}
    for name in many:
        key = slug(f"{name}.ipynb")
        whole = read_json(top / f"class-grades/students/{key}.json", "")
        found |= {(name, task): got for task, got in whole["results"].items()}
    return found


@handed_in
@pytest.mark.parametrize("name", CODE)
def test_a_right_answer_counts_wherever_it_is(graded, name):
    row = graded[name, "1.1"]
    assert row["points"] == 3, row
    cells, in_order = CODE[name]
    assert (
        Answers(cells, WORK).code("1.1", "snake", lambda images, P: 0).odd == ""
    ) == in_order


@handed_in
@pytest.mark.parametrize("name", WAITS)
def test_what_cannot_be_told_waits_and_says_why(graded, name):
    row = graded[f"waits {name}", "1.1"]
    assert row["points"] is None and row["says"], row
    if name in ("the cell gone", "a remark in the stub"):
        assert (
            row["says"] == "its place is gone or was changed, and no answer was found"
        )


@handed_in
@pytest.mark.parametrize("name", SHORT)
def test_a_shortcut_counts_and_a_person_is_asked_to_look(graded, name):
    row = graded[f"short {name}", "1.3"]
    assert row["points"] == 4, row
    told = f"short {name}.ipynb 1.3: look again: it was asked for without "
    assert told in graded["said"]


@handed_in
@pytest.mark.parametrize("name", MENTIONED)
def test_a_shortcut_that_is_only_mentioned_is_none(graded, name):
    row = graded[f"named {name}", "1.3"]
    assert (row["points"], row["again"]) == (4, ""), row


@pytest.mark.parametrize("name", SAID)
def test_words_are_found_wherever_they_are(name):
    found = Answers(SAID[name], WORK).words("1.5")
    assert WORDS in found.text and "…" not in found.text.replace(" …", "")


@handed_in
def test_nothing_but_a_stub_alone_is_no_answer(graded):
    for key in ("1.1", "1.2", "1.3", "1.4", "1.5"):
        row = graded["released", key]
        assert (row["points"], row["kind"], row["says"]) == (
            0,
            "waiting",
            "not answered",
        )
    assert graded["wrong", "1.1"]["points"] == graded["no words", "1.5"]["points"] == 0
    assert graded["in its place", "1.5"]["points"] is None


@handed_in
@pytest.mark.parametrize("name", OPEN)
def test_whatever_holds_a_place_open_is_no_answer(graded, name):
    row = graded[f"open {name}", "1.1"]
    assert (row["points"], row["says"]) == (0, "not answered")


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "text",
    [
        f"{SIGNATURE}\n    {'#' * 10**5}\n    x = 1",
        SIGNATURE + "\n    pass" * 10**5 + "\n    x = 1",
        SIGNATURE + "\n" * 10**6 + "    x = 1",
        f"{SIGNATURE}\n" * 10**5,
        "\n" * 10**6,
        f"{SIGNATURE}\n    " + '"""' * 10**6,
    ],
    ids=range(6),
)
def test_no_text_holds_the_search_up(text):
    start = time.process_time()
    for kind in ("code", "markdown"):
        answers = Answers([(kind, text)], WORK)
        answers.code("1.1", "snake", lambda images, P: 0), answers.words("1.5")
    for task in WORK.tasks.values():
        re.search(f"{task.forbidden or 'x'}|{ROUNDABOUT}", text)
    TASKS.findall(text)
    assert time.process_time() - start < 5
