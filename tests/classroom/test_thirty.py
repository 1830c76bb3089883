"""Thirty submissions, most of them bad in task 1.1 and right in the others: one of them spoils no other."""

import csv
import json
import os
import shutil
import sys

import pytest
from classes import code, mistaken, notebook, right

from classroom.__main__ import main
from classroom.homework import homework
from classroom.homework.notebook import write_homework

POINTS = [task.points for task in homework(1).tasks.values() if task.exercise]
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines")


def deed(body: str, answer: str = "    return torch.zeros(1)\n") -> str:
    """A cell whose function does something first."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    head = "# task 1.1\nimport os, sys, time, ctypes, socket, threading\nimport torch"
    return f"{head}\n\n\ndef snake(images, P):\n{lines}{answer}"


PATIENT = "while True:\n    try:\n        time.sleep(60)\n    except:\n        pass"
FORKS = "while True:\n    try:\n        os.fork()\n    except BlockingIOError:\n        pass"
# what 1.1 is, and what its verdict says
DEEDS = {
    "hanging": (deed("while True: pass"), "still running after"),
    "sleeping": (deed(PATIENT), "still running after"),
    "leaving": (deed("os._exit(0)"), "ended early"),
    "leaving-badly": (deed("os._exit(3)"), "exit code 3"),
    "segfault": (deed("ctypes.string_at(0)"), "SIGSEGV"),
    "aborting": (deed("os.abort()"), "SIGABRT"),
    "killing-itself": (deed("os.kill(os.getpid(), 9)"), "SIGKILL"),
    "memory": (deed("x = bytearray(8 * 10**9)"), "MemoryError"),
    "memory-slowly": (deed("x = []\nwhile True: x.append(bytearray(10**7))"), ("MemoryError", "running")),
    "tensors": (deed("x = torch.ones(4 * 10**9)"), "allocate"),
    "forks": (deed(FORKS), "PermissionError"),
    "threads": (deed("while True: threading.Thread(target=time.sleep, args=(99,)).start()"), ("thread", "running")),
    "reading": (deed("return open(HERE + '/state.json').read()", ""), "PermissionError"),
    "gigabyte": (deed("for _ in range(1000): print('x' * 10**6)"), "File too large"),
    "calling": (deed("socket.create_connection(('127.0.0.1', 80), 1)"), "Error"),
    "large-file": (deed("open('x', 'wb').write(bytes(10**9))"), "File too large"),
    "many-files": (deed("for i in range(10**6): open(str(i), 'wb').write(bytes(10**6))"), "No space left"),
    "recursion": (deed("return snake(images, P)", ""), "RecursionError"),
    "syntax": ("# task 1.1\ndef snake(images, P:\n    return 1", "SyntaxError"),
    "in-place": (right("1.1").replace("    B, C", "    images += 1\n    B, C"), "changes its argument"),
    "raising": (deed("sys.exit('enough')"), "SystemExit"),
    "printing": (deed("print(images)", "    return None\n"), "it prints, and returns None"),
    "surrogates": (deed("raise ValueError(chr(0xD800) + chr(27))"), "ValueError"),
    "blank-lines": ("\n" * 10**6 + "# task 1.1\n", "no function snake"),
    "folders": (deed("os.makedirs('a/' * 900)"), "PermissionError"),
    "markup": (deed("raise ValueError('<script>alert(1)</script>')"), "<script>"),
}  # fmt: skip
FILES = {  # what is no notebook, and what is said of it
    "not-a-notebook": (b"[1, 2, 3]", "not a notebook"),
    "binary": (bytes(range(256)) * 999, "not a notebook"),
    "deep": (b"[" * 10**6, "cannot be read"),
    "no-bytes": (b"", "not a notebook"),
    "odd": (
        b'{"cells": [1, null, {"source": {"a": 1}}, {"cell_type": "code", "source": [1, []]}]}',
        "no cell",
    ),
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class of more than thirty, graded; the folder of the grades and what stands in the tables."""
    top = tmp_path_factory.mktemp("class")
    folder, blank = top / "homework", top / "blank"
    folder.mkdir()

    def hand_in(name: str, whole) -> None:
        raw = whole if isinstance(whole, bytes) else json.dumps(whole).encode()
        (folder / f"{name}.ipynb").write_bytes(raw)

    hand_in("right", notebook(blank, words="They are the same set of patches."))
    magic = "%matplotlib inline\n!pip install einops\nimport torch"
    answers = [right(f"1.{i}") for i in (1, 2, 3, 4)]
    hand_in("right-otherwise", code(magic, "1 / 0", *(text.partition("\n")[2] for text in answers)))
    hand_in("right-as-lists", notebook(blank, t1=right("1.1", ("P * P * C)", "P * P * C).tolist()"))))
    for which in range(4):
        hand_in(f"mistaken-{which}", notebook(blank, t1=mistaken("1.1", which)))
    write_homework(blank)
    shutil.copy(blank / "homework-1.ipynb", folder / "nothing-done.ipynb")
    hand_in("no-cells", code())
    hand_in("hanging-at-once", code("while True: pass", *answers))
    for name, (cell, _) in DEEDS.items():
        hand_in(name, notebook(blank, t1=cell.replace("HERE", repr(str(top / "out")))))
    for name, (raw, _) in FILES.items():
        hand_in(name, raw)
    (folder / "link.ipynb").symlink_to(folder / "right.ipynb")
    (folder / "=cmd").mkdir()
    shutil.copy(folder / "right.ipynb", folder / "=cmd" / "mine.ipynb")
    os.mkfifo(folder / "pipe.ipynb")
    assert main(["grade", str(folder), "--homework", "1", "--out", str(top / "out"), "--seed", "7"]) == 0
    if still := json.loads((top / "out" / "state.json").read_text())["open_still"]:
        pytest.skip(f"this system cannot forbid {still}")
    tables = {}
    for name in ("grades", "diagnosis", "canvas", "moodle"):
        with open(top / "out" / f"{name}.csv", encoding="utf-8-sig", newline="") as file:
            tables[name] = list(csv.DictReader(file))
    return top, tables


def of(graded, student: str) -> tuple[list[str], list[str]]:
    """A student's points and what is said of the tasks."""
    _, tables = graded
    (row,) = (row for row in tables["grades"] if row["student"] == student)
    told = [line["says"] for line in tables["diagnosis"] if line["student"] == student]
    return [row[f"1.{i}"] for i in (1, 2, 3, 4)], told


FULL = [str(points) for points in POINTS]
pytestmark = [pytest.mark.slow, linux]


def test_all_are_graded(graded):
    top, tables = graded
    assert len(tables["grades"]) == len({*os.listdir(top / "homework")}) >= 30
    assert len(os.listdir(top / "out" / "feedback")) == len(tables["grades"])


@pytest.mark.parametrize(
    "student", ["right", "right-otherwise", "right-as-lists", "'=cmd", "hanging-at-once"]
)
def test_right_answers_get_all_points(graded, student):
    assert of(graded, student)[0] == FULL


@pytest.mark.parametrize("student", DEEDS)
def test_what_is_bad_costs_its_own_points_only(graded, student):
    points, told = of(graded, student)
    assert points == ["0", *FULL[1:]]
    expected = DEEDS[student][1]
    assert any(words in told[0] for words in ([expected] if isinstance(expected, str) else expected)), told[0]


@pytest.mark.parametrize("which", range(4))
def test_known_mistakes_are_named(graded, which):
    points, told = of(graded, f"mistaken-{which}")
    assert points == ["0", *FULL[1:]] and told[0] == homework(1).tasks["1.1"].exercise.mistakes[which][2]


@pytest.mark.parametrize("student", [*FILES, "link", "pipe", "no-cells", "nothing-done"])
def test_nothing_gets_nothing(graded, student):
    points, told = of(graded, student)
    assert points == ["0"] * 4
    if student in FILES:
        assert FILES[student][1] in told[0]


def test_pages_escape_what_students_wrote(graded):
    top, _ = graded
    page = (top / "out/feedback/markup.html").read_text()
    assert "&lt;script&gt;" in page and "<script" not in page
    assert "They are the same set" in (top / "out/feedback/right.html").read_text()
    whole = (top / "out/class.html").read_text()
    assert "<script" not in whole and "the first row is to go from left to right" in whole
    assert "could not forbid" not in whole


def test_tables_hold_no_formula(graded):
    top, tables = graded
    for name in tables:
        with open(top / "out" / f"{name}.csv", encoding="utf-8-sig", newline="") as file:
            assert not [cell for row in csv.reader(file) for cell in row if cell[:1] in ("=", "+", "-", "@")]


def test_grading_again_grades_what_changed_and_keeps_a_persons_points(graded, capsys):
    top, tables = graded
    grades = top / "out" / "grades.csv"
    text = grades.read_text(encoding="utf-8-sig").splitlines()
    place = text[0].split(",").index("1.5")
    row = next(i for i, t in enumerate(text) if t.startswith("right,"))
    cells = text[row].split(",")
    assert cells[place] == "" and cells[-2] == "1.5"
    cells[place] = "2"
    text[row] = ",".join(cells)
    grades.write_text("\n".join(text), encoding="utf-8-sig")
    kept = {path: path.stat().st_mtime_ns for path in (top / "out/students").iterdir()}
    shutil.copy(top / "homework/mistaken-1.ipynb", top / "homework/mistaken-0.ipynb")
    assert main(["grade", str(top / "homework"), "--homework", "1", "--out", str(top / "out")]) == 0
    changed = [path.name for path, when in kept.items() if path.stat().st_mtime_ns != when]
    assert changed == ["mistaken-0-1.json"]
    with open(grades, encoding="utf-8-sig", newline="") as file:
        (row,) = (row for row in csv.DictReader(file) if row["student"] == "right")
    assert row["1.5"] == "2" and int(row["total"]) == sum(POINTS) + 2 and row["open"] == ""
