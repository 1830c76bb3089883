"""Commands, refusals, names and cells; what the tables and pages say, and that a person's word stands."""

import csv
import io
import json
import re
import time
from unittest.mock import Mock

import pytest
from classes import code

from classroom import hand, report, roster
from classroom.__main__ import main
from classroom.answers import Answers
from classroom.cells import run
from classroom.grade import Graded, Ran, Result, Row, _graded, judged, parts
from classroom.homework import NUMBERS, homework
from classroom.homework.notebook import released
from classroom.names import digest, shown, slug
from classroom.sandbox import ROOT
from classroom.sheet import read_sheet, table
from classroom.submissions import Submission
from vitworkshop.exercises.answers import plain
from vitworkshop.words import CHOSEN

WORK = homework(1)
HAND = "student,task,points,comment,answer\n"


def row(key="ann.ipynb", kind="right", points=3, words="Because.", says="", **more):
    found = {}
    for number, task in WORK.tasks.items():
        given, how = (points, kind) if task.exercise else (None, "words")
        answer = "" if task.exercise else words
        found[number] = Result(given, how, says, answer, digest=digest(words))
    return Row(key, found, **more)


def written(out, *rows, words=HAND, people="id,name"):
    """What is said, the table of grades, and the class's page."""
    path = out / "hand.csv"
    if words != "as it is":
        path.write_text(words, encoding="utf-8")
    (out / "roster.csv").write_text(people, encoding="utf-8")
    sheet = hand.read_hand(path, WORK)
    graded = Graded(list(rows), ["the network"])
    there = roster.read_roster(out / "roster.csv").people
    odd = roster.apply(there, graded, WORK.tasks) + hand.apply(sheet, path, graded)
    said, _ = report.write_reports(out, WORK, graded, odd)
    whole = (out / "class.html").read_text(encoding="utf-8")
    return said, read(out / "grades.csv"), whole


def read(path):
    return read_sheet(path).rows


def page(out, key="ann.ipynb"):
    return (out / "feedback" / f"{slug(key)}.html").read_text(encoding="utf-8")


ODD = ["eve", "Eve", "eve\u200b", "eve\u200c", "eve ", "eve{U+200B}", "e ve", "e\0", "e\ud800",
       "Jos\u00e9", "Jose\u0301", "=cmd", "con"]  # fmt: skip


def test_no_two_names_share_a_key_or_a_file():
    keys = [shown(name) for name in ODD]
    assert len({*keys}) == len({slug(key).casefold() for key in keys}) == len(ODD)
    assert all(key.isprintable() for key in keys)
    assert keys[:2] == ODD[:2] and keys[2] == "eve{U+200B}"
    assert [slug(key).split("-")[0] for key in ("Eve", "..a.", "e ve")] == [
        "eve",
        "a",
        "e_ve",
    ]


@pytest.mark.parametrize(
    ("text", "names", "failed"),
    [
        ("S = '''\n%s\n!x\n'''\na = S % 1", "S a", []),
        ("a = !ls \\\n -l\nb = a", "a b", []),
        ("%%bash\nls |\ncd", "", []),
        ("import asyncio\nawait asyncio.sleep(0)\na = 1", "a asyncio", []),
        ("1 / 0\na = 1\nb = (\ndef f(x):\n    return x\ne = 5", "a e f", ["line 1: Zero", "line 3: SyntaxError"]),
        ("(" * 9999 + "\na = 1", "a", ["line 1: "]),
        ("f" + "(1)" * 10**5 + "\na = 1", "a", ["line 1: Rec"]),
    ],
)  # fmt: skip
def test_a_cell_is_read_as_jupyter_reads_it(text, names, failed):
    space: dict = {}
    said = run(text, "cell", space, time.process_time() + 9, time.monotonic() + 99)
    assert (
        sorted(space.keys() - {"__builtins__", "get_ipython", "display"})
        == names.split()
    )
    assert all(
        f"line {s[0]}: {s[1]}".startswith(f) for s, f in zip(said, failed, strict=True)
    )


@pytest.mark.parametrize("line", ["while True: pass", "import time; time.sleep(9)"])
def test_a_statement_that_hangs_costs_itself_and_half_of_the_time(line):
    """Of what it may compute, or of what may pass by the clock."""
    cell = f"if True:\n    a = 1\n    {line}\nb = 1\n{line}\nexample(1)\nc = 1"
    space, start = {}, time.monotonic()
    computing = 1 if "while" in line else 99
    late = "TimeoutError", "still running after half of the time"
    said = run(
        cell, "cell", space, time.process_time() + computing, start + 100 - computing
    )
    assert said == [(1, *late), (5, *late)]
    assert [space[name] for name in "abc"] == [1, 1, 1]


def answered(exercise, first, others=0, changed=0):
    """What a process sends whose answer to the first call is off by so much in its parts."""
    frame = {"error": "", "says": "", "where": "", "changed": changed, "printed": False}
    one, *others_wanted = [[*want.value] for want in exercise.wanted]
    values = [
        (one[0] + first, *(part + others for part in one[1:])),
        *map(tuple, others_wanted),
    ]
    values = [plain(value) for value in values]
    return Ran(
        [{"failed": [], "there": True}, *(frame | {"value": value} for value in values)]
    )


def test_parts_count_and_every_task_has_a_section():
    for key, task in (
        (key, task)
        for number in NUMBERS
        for key, task in homework(number).tasks.items()
    ):
        chapter, _, section = task.read.partition(" ")
        (path,) = (ROOT / "book").glob(f"{chapter}-*.ipynb")
        assert re.search(
            rf'# {re.escape(section)}(\\n|")', path.read_text(encoding="utf-8")
        )
        if not task.parts:
            continue
        exercise = task.hidden(1)
        assert all(len(want.value) == len(task.parts) for want in exercise.wanted)
        assert parts(task, exercise, answered(exercise, 1, 1)) == []
        assert parts(task, exercise, answered(exercise, 0, changed=1)) == []
        assert judged(task, exercise, answered(exercise, 0)).kind == "right"
        room = Mock(run=Mock(return_value=answered(exercise, 1)))
        handed_in = Submission("x", [], cells=[("code", f"{task.name} = 1")])
        answers = Answers(handed_in.cells, homework(int(key[0])))
        found = _graded(handed_in, answers, key, task, exercise, room)
        assert found.points == {3: 2.5, 2: 1.5}[len(task.parts)]
        assert found.says.endswith(f"(right: {' and '.join(task.parts[1:])})")


@pytest.mark.parametrize(
    ("delimiter", "start"),
    [(",", "\ufeff"), (";", ""), ("\t", "")],
)
def test_a_persons_word_survives_reruns(tmp_path, delimiter, start):
    path = tmp_path / "hand.csv"
    rows = lambda words="Because.": [row(words=words), row("ben", "named", 0, words)]
    written(tmp_path, *rows())
    path.unlink()
    written(tmp_path, *rows(), words="as it is")
    mark = digest("Because.")
    assert [(r["student"], r["task"], r["answer"]) for r in read(path)] == [
        ("ann.ipynb", "task 1.5", mark),
        ("ben", "task 1.5", mark),
    ]
    half = "1,5" if delimiter == ";" else "1.5"
    filled = [
        ["Student", "task", "points", "comment", "answer", "more"],
        ["ann.ipynb", "task 1.5", half, 'Größe €, "fast"; gut\nja', mark, ""],
        ["ann.ipynb", "Task 1.1", "", "=neat", "", ""],
        ["ben", "task 1.5", "2", "", mark, "", ""],
        ["ben", "task 1.5", "0", "of the answer before", "kkkkkkkk", ""],
        ["BEN", "1,1", "0.5", "- half", "", "x"],
        [""] * 6,
    ]
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows(filled)
    path.write_bytes((start + file.getvalue().rstrip("\r\n")).encode())
    tables = set()
    for again in range(3):
        said, grades, _ = written(tmp_path, *rows(), words="as it is")
        tables.add((tmp_path / "grades.csv").read_bytes() + path.read_bytes())
        assert [each["total"] for each in grades] == ["13.5", "2.5"]
        assert [each["open"] for each in grades] == ["", ""]
        told = {"changed: ben 1.1 0 → 0.5", "changed: ben 1.5 open → 2"}
        assert (told <= {*said}) == (again == 0) and len(tables) == 1
    assert "Größe €, &quot;fast&quot;; gut\nja" in page(tmp_path)
    assert "Your teacher: =neat" in page(tmp_path)
    kept = [(r["points"], r["comment"], r["more"]) for r in read(path)]
    assert kept == [(r[2], r[3], (r[5:] or [""])[0]) for r in filled[1:6]]
    said, grades, _ = written(tmp_path, *rows("Otherwise."), words="as it is")
    open_ = [(each["total"], each["open"]) for each in grades]
    assert open_ == [("12", "1.5"), ("0", "1.1 1.5")]
    again = "look again: the answer, or code that it may use, changed since it got"
    assert f"ann.ipynb 1.5: {again} 1.5" in said and "Größe" not in page(tmp_path)
    assert [r["answer"] for r in read(path)[5:]] == [digest("Otherwise.")] * 3
    grown = path.read_bytes()
    written(tmp_path, *rows("Otherwise."), words="as it is")
    assert path.read_bytes() == grown


def test_who_is_to_be_looked_at_again_waits_and_the_reasons_are_told(tmp_path):
    """A shortcut, before and after a person took its points and the code was changed."""

    def short(mark):
        found = row(kind="right", points=3)
        found.results["1.5"].points = 3
        said = "look again: it was asked for without conv2d"
        found.results["1.3"] = Result(4, "right", "", "y = conv2d(x)", mark, again=said)
        return found

    first, taken, other = short("aaaa"), short("aaaa"), short("bbbb")
    _, grades, whole = written(tmp_path, first)
    assert first.points is None and grades[0]["open"] == "1.3"
    told = "<p>ann.ipynb: 4 look again: it was asked for without conv2d</p>"
    assert told in whole and "<pre>y = conv2d(x)</pre>" in whole
    path = tmp_path / "hand.csv"
    assert "task 1.3,,,aaaa" in path.read_text()
    words = path.read_text().replace("1.3,,", "1.3,0,")
    written(tmp_path, taken, words=words)
    assert taken.points == 12
    said, _, _ = written(tmp_path, other, words="as it is")
    assert other.points is None and "task 1.3,,,bbbb" in path.read_text()
    told = "the answer, or code that it may use, changed since it got 0; look again: it was asked"
    assert told in " ".join(said)


def test_nobody_is_lost(tmp_path):
    people = "name;id;with\nÄnne;=1+1;\nBen;02;\nCleo;3;\nDora;4;02\n"
    rows = [row("=1+1"), row("02"), row("eve")]
    said, grades, whole = written(tmp_path, *rows, people=people)
    assert said[0] == "5 graded" and "nobody's of the roster: eve" in said
    assert not [s for s in said if s.startswith("changed")]
    assert "nothing handed in, and no points: 3 Cleo" in said
    assert "4 answers of 4 students wait for you: see class.html" in said
    there = [f"{r['student']} {r['name']} {r['total']} {r['open']}" for r in grades]
    assert there == [
        "=1+1 Änne 12 1.5",
        "02 Ben 12 1.5",
        "eve  12 1.5",
        "3 Cleo 0 ",
        "4 Dora 12 1.5",
    ]
    assert grades[0]["task 1.5"] == "" and "=1+1;" not in whole
    assert "12 of 16 points, without 1.5, still to be read" in page(tmp_path, "4")
    said, *_ = written(tmp_path, *rows[:1])
    assert "changed: 3 total 0 → gone" in said
    assert not [s for s in said if "roster" in s or "nobody" in s]
    hand_in = lambda *words: written(tmp_path, row("02"), words=HAND + "".join(words))
    assert "in hand.csv, and nobody's: zoe" in hand_in("zoe,1.1,1,,\n")[0]
    assert "changed: zoe 1.1 new → 3" in written(tmp_path, row("02"), row("zoe"))[0]
    # without the zero, as Excel saves it
    assert hand_in("2,1.1,1,,\n")[1][0]["total"] == "10"


def test_pages_say_what_a_student_needs(tmp_path):
    words = HAND + "ann.ipynb,1.5,2,Well <argued>,\n"
    kinds = {"b0": "named", "b1": "told", "b2": "told"}
    wrong = [
        row(key, kind, 0, "", says=f"<mistake {kind}>") for key, kind in kinds.items()
    ]
    rows = [row(), *wrong, row("c", "waiting", 0)]
    for each in rows[1:]:
        each.results["1.5"].points, each.results["1.5"].kind = 0, "waiting"
    rows[0].results["1.1"].left_out = "cell 2, line 1: SyntaxError"
    _, _, whole = written(tmp_path, *rows, words=words)
    assert whole.index("&lt;mistake told") < whole.index("&lt;mistake named")
    assert "2 × 1.1: &lt;mistake told&gt;" in whole and "<mistake" not in whole
    assert "3 wrong + 1 right + 1 not answered = 5" in whole
    assert "code: the network" in whole
    ann, task = page(tmp_path), WORK.tasks["1.1"]
    assert "14 of 16 points" in ann and "Well &lt;argued&gt;" in ann
    assert "cell 2, line 1: SyntaxError" in ann and WORK.tasks["1.5"].read[3:] in ann
    assert task.read[3:] not in ann and "Because." in ann
    wrong = page(tmp_path, "b0")
    assert "&lt;mistake" in wrong and "<mistake" not in wrong
    assert task.read[3:] in wrong and "def snake" not in wrong


def test_tables_hold_no_formula():
    text = table([["=a", "+", "-", "@", "\t", "\0=", "2"]])
    assert text == b"\xef\xbb\xbf'=a,'+,'-,'@,'\t,'=,2\r\n"


@pytest.mark.errors
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ann,1.5,9,,", "expected 0 to 3 points for 1.5 in row 2 of"),
        ("ann,1.7,1,,", "expected a task of Homework 1 in row 2 of"),
    ],
)
def test_a_persons_slip_is_refused(tmp_path, line, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        written(tmp_path, row(), words=HAND + line + "\n")


@pytest.mark.errors
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("grade HERE/none --homework 1", "expected a folder of submissions, a platform's zip or a notebook, got HERE"),
        ("grade HERE/class --homework 1 --roster HERE/roster.csv", "expected the columns id and name in"),
        ("grade HERE/class --homework 1 --roster HERE/canvas.csv", "expected a column Homework 1 in the roster, got"),
        ("grade HERE/broken.zip --homework 1", "expected a zip, got one that cannot be opened"),

    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_words(tmp_path, capsys, words, said):
    (tmp_path / "empty").mkdir(), (tmp_path / "class").mkdir()
    (tmp_path / "roster.csv").write_text("name\nAnna\n")
    (tmp_path / "broken.zip").write_bytes(b"PK")
    (tmp_path / "canvas.csv").write_text("Student,ID,SIS Login ID\nAnna,1,a\n")
    (tmp_path / "class/a.ipynb").write_text(json.dumps(code()))
    here = lambda text: text.replace("HERE", str(tmp_path))
    assert main(here(words).split()) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("error: ") and here(said) in told


@pytest.mark.parametrize("number", NUMBERS)
def test_a_chinese_homework_without_answers_holds_none_whatever_the_grader_speaks(
    number,
):
    work = homework(number)
    answers = Answers(released(work, "zh"), work)
    found = [
        answers.code(key, task.name, task.exercise.reference)
        if task.exercise
        else answers.words(key)
        for key, task in work.tasks.items()
    ]
    assert not answers.strange
    assert not any(each.cells or each.text or each.odd for each in found)


def test_pages_speak_the_language_of_the_class(tmp_path, monkeypatch):
    monkeypatch.setitem(CHOSEN, "language", "zh")
    written(tmp_path, row(kind="named", points=0, says="图块没有重叠"))
    for text in (page(tmp_path), (tmp_path / "class.html").read_text("utf-8")):
        words = re.sub(r"<style>.*?</style>|<[^>]+>", " ", text, flags=re.S)
        assert 'lang="zh"' in text and "互相重叠的图块" in words
        assert not {"Right", "Not", "points", "wrong", "students"} & {*words.split()}
