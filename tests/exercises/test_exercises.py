"""Each exercise: its reference and other right answers pass, each known mistake gets its own sentence; its cells."""

import ast
import re
from importlib import import_module

import pytest
from heldout import RIGHT
from pages import CHAPTERS, ROOT, cells, prose, read, source, tags
from test_heldout import made

from vitworkshop.exercises.engine import Exercise, judge
from vitworkshop.exercises.language import Said

ROOM = ROOT / "vitworkshop/exercises"
CHAPTER_FILES = sorted(ROOM.glob("ch*.py"))
ENTRIES: dict[str, Exercise] = {
    number: entry
    for file in CHAPTER_FILES
    for number, entry in import_module(
        f"vitworkshop.exercises.{file.stem}"
    ).EXERCISES.items()
}
ELSEWHERE = {"10.d"}  # asked on the page of the clinic
each = pytest.mark.parametrize("number", ENTRIES)
pytestmark = pytest.mark.usefixtures("one_thread")


def answers(entry: Exercise, function):
    """What a student gives who writes this function: itself, or the value that it computes."""
    return function if entry.inputs else function()


def kinds(entry: Exercise, answer) -> set[str]:
    return {verdict.kind for verdict in judge(entry, answer).values()}


@each
def test_right_answers_pass(number):
    entry = ENTRIES[number]
    assert kinds(entry, answers(entry, entry.reference)) == {"right"}
    assert len(entry.others) + RIGHT.count(f"\n{number}") >= 2, (
        "give two other right answers"
    )
    for other in entry.others:
        edit = (
            isinstance(other, tuple)
            and all(isinstance(part, str) for part in other)
            and len(other) == 2
        )
        made = entry.edited(other) if edit else other
        assert made is not None, f"there is no {other[0]!r} in the reference"
        answer = answers(entry, made) if edit else made
        assert kinds(entry, answer) == {"right"}, (other, judge(entry, answer))


@pytest.mark.sampled(10)
@each
def test_a_known_mistake_is_named(number):
    entry = ENTRIES[number]
    least = 4 if entry.inputs else 2
    assert len(entry.mistakes) >= least, (
        f"it names {len(entry.mistakes)} mistakes: give {least} or more, 4 where there are inputs, else 2"
    )
    failed = []
    for mistake in entry.mistakes:
        function = entry.edited(mistake)
        assert function, f"there is no {mistake[0]!r} in the reference"
        verdicts = judge(entry, answers(entry, function))
        sentence = mistake[2]
        if callable(sentence):
            sentence = sentence(*entry.cases[0])
            assert isinstance(sentence, Said), sentence
        named = [v.says for v in verdicts.values() if v.kind == "named"]
        # two mistakes may lead to one number, and both are named; functions must be told apart
        if not any(
            sentence in (said if entry.inputs else said.split("; or "))
            for said in named
        ) or (entry.inputs and named != [sentence]):
            failed.append(
                (
                    sentence,
                    {part: str(v) for part, v in verdicts.items() if v.kind != "right"},
                )
            )
    assert not failed, failed


@each
def test_hints_come_in_stages_and_sentences_are_short(number):
    entry = ENTRIES[number]
    said = [*entry.hints, *(s for *_, s in entry.mistakes if isinstance(s, str))]
    assert len(entry.hints) >= 2, "give two hints or more, the first the smallest step"
    assert len({*entry.hints}) == len(entry.hints), "two hints are the same: drop one"
    long = [s for s in said if len(s) >= 160 or "\n" in s]
    assert not long, f"shorten to one line of fewer than 160 characters: {long}"


# --- the chapters -----------------------------------------------------------------------------------------------


def calls(cell: dict) -> list[ast.Call]:
    """The calls of `vl.check` in a code cell."""
    code = re.sub(r"^(\s*)[%!].*$", r"\1pass", source(cell), flags=re.M)
    return [
        n
        for n in ast.walk(ast.parse(code))
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "vl.check"
    ]


def numbers(cell: dict) -> list[str]:
    return [call.args[0].value for call in calls(cell)]


with_entries = pytest.mark.parametrize(
    "path",
    [p for p in CHAPTERS if f"ch{p.stem[:2]}" in {f.stem for f in CHAPTER_FILES}],
    ids=lambda p: p.stem,
)


@with_entries
def test_numbers_follow_the_page(path):
    """Exercise n of chapter NN is NN.n, and its cell comes next; tasks in the body have letters, in their order."""
    place, found, letters, label = 0, {}, [], ""
    for cell in read(path)["cells"]:
        if cell["cell_type"] == "markdown":
            labels = re.findall(
                r"\{exercise(?:-start)?\}[^\n]*\n:label: (\S+)", source(cell)
            )
            place, label = place + len(labels), (labels or [label])[-1]
            continue
        for number in numbers(cell):
            if number[3:].isdigit():
                found.setdefault(number, place)
            elif number not in letters:
                letters.append(number)
    chapter = path.stem[:2]
    assert found == {f"{chapter}.{n}": n for n in found.values()}, (
        "an id that is not its place on the page"
    )
    assert letters == [
        f"{chapter}.{letter}" for letter in "abcdefgh"[: len(letters)]
    ], "tasks in the body are lettered a, b, c in their order on the page"
    asked, entries = {*found, *letters}, {n for n in ENTRIES if n[:2] == chapter}
    assert asked == entries - ELSEWHERE, (
        f"on the page and in ch{chapter}.py alike belong {asked ^ (entries - ELSEWHERE)}; "
        "a new exercise takes the next free number, a task in the body the next letter"
    )
    assert letters, "a chapter has a task in its body, before what is asked is shown"


@with_entries
def test_no_question_cell_holds_an_answer(path):
    """What a question cell gives to `vl.check` are names; what it printed is that it waits, which is no evidence and
    so not compared; no `def check` is left."""
    seen = set()
    for cell in cells(path):
        assert not re.search(r"^def check\(", source(cell), re.M), (
            "no check of its own: ask vl.check"
        )
        for call in calls(cell):
            number = call.args[0].value
            if number not in seen and "solution" not in tags(cell):
                seen.add(number)
                given = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
                assert all(isinstance(value, ast.Name) for value in given), (
                    f"give names alone, set to None above it: {ast.unparse(call)}"
                )
                printed = "".join(
                    "".join(out.get("text", [])) for out in cell["outputs"]
                )
                assert f"{number}: waiting for your " in printed, (
                    f"the stored output of {number} should wait: set its names to None, "
                    f"then make chapter N={path.stem[:2]}"
                )
                more = re.sub(r"^.+: waiting for your \w+$", "", printed, flags=re.M)
                assert more.strip() or "nbval-check-output" not in tags(cell), (
                    f"{number} prints only that it waits: drop the tag nbval-check-output"
                )
    entries = {n for n in ENTRIES if n[:2] == path.stem[:2]} - ELSEWHERE
    assert seen == entries, (
        f"asked by a cell of the page and given in its ch*.py alike belong {seen ^ entries}"
    )


@with_entries
def test_no_code_of_a_question_is_its_answer(path):
    for cell in cells(path):
        for number in {*numbers(cell)} if "solution" not in tags(cell) else ():
            given = [
                n
                for n in ast.parse(source(cell)).body
                if isinstance(n, ast.FunctionDef)
            ]
            for function in given if ENTRIES[number].inputs else ():
                verdict = judge(ENTRIES[number], made(ast.unparse(function)))[""]
                assert verdict.kind != "right" and "NameError" not in verdict.says, (
                    f"{function.name} in the question's cell should run, and be wrong: {verdict}"
                )


@with_entries
def test_each_exercise_says_what_it_tests(path):
    graded = re.findall(
        r"^Difficulty ★[^\n]*\b\d+ minutes[^\n]*$",
        prose(path).split("## Exercises")[1],
        re.M,
    )
    assert graded and all("· tests: " in line for line in graded), (
        f"each ends in what it tests, as in '· tests: what a grid is': {graded}"
    )


@with_entries
def test_a_solutions_cells_stand_where_it_begins_and_ends(path):
    """The page folds by these lines, and students' notebooks leave out by the tag: both name the same cells."""
    inside = False
    for cell in read(path)["cells"]:
        if cell["cell_type"] == "markdown":
            for edge in re.findall(r"\{solution-(start|end)\}", source(cell)):
                inside = edge == "start"
            continue
        assert ("solution" in tags(cell)) == inside, (
            "between {solution-start} and {solution-end} all cells of code, and no others, "
            f"carry the tag solution: {source(cell)[:80]!r}"
        )
