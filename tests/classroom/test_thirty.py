"""Fifty submissions, most of them bad in task 1.1 and right in the others: one of them spoils no other."""

import contextlib
import io
import json
import os
import re
import shutil
import sys
import unicodedata
import zipfile

import pytest
from classes import code, mistaken, notebook, right

from classroom.__main__ import main
from classroom.homework import homework
from classroom.homework.notebook import write_homework
from classroom.names import slug
from classroom.sheet import read_sheet
from vitlib.files import read_json, write_json

FULL = [f"{task.points}" for task in homework(1).tasks.values() if task.exercise]
pytestmark = [
    pytest.mark.sampled(7, "fifty"),  # all or none
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines"),
]


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
    "threads": (deed("while True: threading.Thread(target=time.sleep, args=(99,)).start()"), "thread|running"),
    "segfault": (deed("ctypes.string_at(0)"), "Segmentation fault"),
    "memory": (deed("x = bytearray(8 * 10**9)"), "MemoryError"),
    "forks": (deed(FORKS), "PermissionError"),
    "large-file": (deed("open('x', 'wb').write(bytes(10**9))"), "File too large"),
    "recursion": (deed("return snake(images, P)", ""), "RecursionError"),
    "syntax": ("# task 1.1\ndef snake(images, P:\n    return 1", "SyntaxError"),
    "in-place": (right("1.1").replace("    B, C", "    images += 1\n    B, C"), "changes its argument"),
    "printing": (deed("print(images)", "    return None\n"), "it prints, and returns None"),
    "surrogates": (deed("raise ValueError(chr(0xD800) + chr(27))"), "ValueError"),
    "blank-lines": ("\n" * 10**6 + "# task 1.1\n", "not in its place"),
    "endless": ("# task 1.1\ndef make():\n    while True: pass\nsnake = make()", "cell 4, line 4: TimeoutError"),
    "mistaken-0": (mistaken("1.1", 0), "the first row is to go from left to right"),
    "mistaken-1": (mistaken("1.1", 1), "every row goes from left to right"),
}  # fmt: skip
# a process that ended, and what cannot be run
WAITS = ("leaving", "segfault", "syntax", "endless", "blank-lines")
FILES = {  # what is no notebook, and what is said of it
    "not-a-notebook": (b"[1, 2, 3]", "not a notebook"),
    "list.pdf": (b"", "no notebook in list.pdf"),
    "cells": (json.dumps(code(*[""] * 2001)).encode(), "at most 2000 cells"),
    "brackets": (b'{"cells": [' + b"[]," * 10**6 + b"[]]}", "at most 2000 cells"),
}  # fmt: skip
JUPYTERS = """# task 1.1
?torch.flip
here = !pwd
if True:
    def helped(i, row): return row.flip(1) if i % 2 else row
!pip install -q \\
    einops
HERE
import asyncio
await asyncio.sleep(0)
def left(
"""


def zipped(**files: bytes) -> bytes:
    """A zip of these files, the newest first; "_" stands for a dot."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for i, (name, content) in enumerate(files.items()):
            info = zipfile.ZipInfo(
                f"a/{name.replace('_', '.')}", (max(2026 - i, 1980), 1, 1, 0, 0, 0)
            )
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return raw.getvalue()


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class of more than thirty, graded; the folder of the grades and what stands in the tables."""
    top = tmp_path_factory.mktemp("class")
    folder, blank = top / "homework", top / "blank"
    folder.mkdir()

    def hand_in(name: str, whole) -> None:
        raw = whole if isinstance(whole, bytes) else json.dumps(whole).encode()
        path = folder / (name if "." in name else f"{name}.ipynb")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)

    hand_in("right", notebook(blank, words="They are the same set of patches."))
    answers = [right(f"1.{i}") for i in (1, 2, 3, 4)]
    hand_in(
        "right-otherwise",
        code(
            "%matplotlib inline",
            "1 / 0",
            *(text.partition("\n")[2] for text in answers),
        ),
    )
    hand_in(
        "right-as-lists",
        notebook(blank, t1=right("1.1", ("P * P * C)", "P * P * C).tolist()"))),
    )
    write_homework(blank)
    shutil.copy(blank / "homework-1.ipynb", folder / "nothing-done.ipynb")
    hand_in("no-cells", code())
    kept = "while True: pass\nif True:\n    import os"
    hand_in(
        "hanging-at-once", code(kept, answers[0] + "\nassert os.name", *answers[1:])
    )
    for name, (cell, _) in DEEDS.items():
        hand_in(name, notebook(blank, t1=cell))
    for name, (raw, _) in FILES.items():
        hand_in(name, raw)
    whole, two = (
        (folder / "right.ipynb").read_bytes(),
        json.dumps(notebook(blank, 2)).encode(),
    )
    named = {
        "Right.ipynb",
        "right.IPYNB",
        "john.smith/mine.ipynb",
        "eve\u200b.ipynb",
        "saved.ipynb.txt",
    }
    for name in [
        *named,
        *(unicodedata.normalize(form, "Jos\u00e9.ipynb") for form in ("NFC", "NFD")),
    ]:
        hand_in(name, whole)
    hand_in("eve\u200c.ipynb", code())
    undone = (folder / "nothing-done.ipynb").read_bytes()
    lost = zipped(a_ipynb=whole, b_ipynb=undone, c_ipynb=two, c_txt=b"", _d_ipynb=whole)
    (
        hand_in("two.zip", lost),
        hand_in("twice/HW.ZIP", lost),
        hand_in("bad.zip", lost[:99]),
    )
    (
        hand_in("nest.zip", zipped(c_zip=lost)),
        hand_in("bomb.zip", zipped(a_ipynb=bytes(10**8))),
    )
    hand_in("entries.zip", zipped(**{f"{i}_ipynb": b"" for i in range(1000)}))
    hand_in("twice/other.ipynb", whole)
    for name in (
        "0.ipynb",
        *(f"{i}.txt" for i in range(50)),
    ):  # the notebook is the oldest
        hand_in(f"many/{name}", whole if name == "0.ipynb" else b"")
    hand_in("python.py", b"def snake(images, P): return 1")
    hand_in("wrong.ipynb", two)
    hand_in(".DS_Store", b"")
    cell = JUPYTERS.replace(
        "HERE",
        right("1.1", ("row.flip(1) if i % 2 else row for", "helped(i, row) for")),
    )
    hand_in("jupyter", notebook(blank, t1=cell))
    (folder / "inner").mkdir()
    for name, target in {
        "link": "right.ipynb",
        "inner/mine": "right.ipynb",
        "whole": "../blank",
    }.items():
        (folder / f"{name}.ipynb").symlink_to(folder / target)
    hand_in("=cmd/mine.ipynb", whole)
    os.mkfifo(folder / "pipe.ipynb")
    out = top / "homework-grades"
    write_json(out / "state.json", {"seed": 7})
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["grade", str(folder), "--homework", "1"]) == 0
    said = said.getvalue().splitlines()
    if still := [line for line in said if "cannot forbid" in line]:
        pytest.skip(still[0])
    return (
        top,
        {row["student"]: row for row in read_sheet(out / "grades.csv").rows},
        said,
    )


def of(graded, student: str) -> tuple[list[str], list[str]]:
    """A student's points and what is said of the tasks."""
    top, rows, _ = graded
    (key,) = {student, f"{student}.ipynb"} & {*rows}
    kept = read_json(top / f"homework-grades/students/{slug(key)}.json", "")
    told = [result["says"] for result in kept["results"].values()]
    return [rows[key][f"task 1.{i}"] for i in (1, 2, 3, 4)], [*told, kept["problem"]]


RIGHT = ["right.ipynb", "right-otherwise", "right-as-lists", "=cmd", "hanging-at-once", "many", "Right", "right.IPYNB",
         "john.smith", "eve{U+200B}", "saved.ipynb.txt", "Jos\u00e9", "jupyter", "two.zip", "twice"]  # fmt: skip


def test_all_are_graded(graded):
    top, rows, said = graded
    there = len(os.listdir(top / "homework"))
    assert len(rows) == there - 1 >= 50  # but what a computer made
    assert len(os.listdir(top / "homework-grades/feedback")) == len(rows)
    assert said[0] == f"{len(rows)} graded"


@pytest.mark.parametrize("student", RIGHT)
def test_right_answers_get_all_points(graded, student):
    assert of(graded, student)[0] == FULL


def test_what_is_odd_is_said(graded):
    read = "notebooks have tasks of it, {} is what was read"
    assert of(graded, "twice")[1][-1] == f"3 {read.format('twice/other.ipynb')}"
    assert of(graded, "two.zip")[1][-1] == f"2 {read.format('a/a.ipynb')}"
    assert of(graded, "many")[1][-1] == ""
    kept = read_json(graded[0] / "homework-grades/students/jupyter.ipynb.json", "")
    got = kept["results"]["1.1"]
    assert got["left_out"] == "cell 4, line 25: SyntaxError: def left("
    assert got["kind"] == "right"


@pytest.mark.parametrize("student", DEEDS)
def test_what_is_bad_costs_its_own_points_only(graded, student):
    points, told = of(graded, student)
    assert points == ["" if student in WAITS else "0", *FULL[1:]]
    assert re.search(DEEDS[student][1], told[0]), told[0]


NOTHING = {name: said for name, (_, said) in FILES.items()} | {
    "wrong": "tasks of homework 2, not of 1", "nest.zip": "no notebook in nest.zip", "no-cells": "no cell",
    "bad.zip": "no notebook in bad.zip", "bomb.zip": "at most 20 MB, ", "link": "got a link",
    "inner": "mine.ipynb: expected a file, got a link", "whole": "got a link",
    "python.py": "no notebook in python.py: hand in the .ipynb", "eve{U+200C}": "no cell",
    "pipe": "or a device", "entries.zip": "no notebook", "nothing-done": "not answered",
}  # fmt: skip


@pytest.mark.parametrize("student", NOTHING)
def test_what_holds_no_answer_waits_and_why_is_said(graded, student):
    points, told = of(graded, student)
    assert points == ["0" if student == "nothing-done" else ""] * 4
    assert NOTHING[student] in " ".join(told)


def test_grading_again_grades_what_changed_and_says_so(graded, capsys):
    top, *_ = graded
    out, grade = (
        top / "homework-grades",
        ["grade", str(top / "homework"), "--homework", "1"],
    )
    # .csv, .html
    before = {path: path.read_bytes() for path in out.rglob("*.[ch]*")}
    kept = {path: path.stat().st_mtime_ns for path in (out / "students").iterdir()}
    fresh = lambda: {
        path.name.partition(".")[0]
        for path, when in kept.items()
        if path.stat().st_mtime_ns != when
    }
    shutil.copy(top / "homework/mistaken-1.ipynb", top / "homework/mistaken-0.ipynb")
    assert main(grade) == 0 and fresh() == {"mistaken-0"}
    assert "changed" not in capsys.readouterr().out  # another mistake, as many points
    differ = {path.name for path, raw in before.items() if path.read_bytes() != raw}
    assert differ == {"mistaken-0.ipynb.html", "class.html"}
    shutil.copy(top / "homework/right.ipynb", top / "homework/mistaken-0.ipynb")
    (top / "homework/sleeping.ipynb").unlink()
    assert main(grade) == 0
    said = capsys.readouterr().out
    assert "changed: mistaken-0.ipynb 1.1 0 → 3" in said
    assert "changed: sleeping.ipynb total 10 → gone" in said


def test_what_was_stopped_is_asked_again(graded, tmp_path, capsys):
    """Only where it is asked for, and only of whom something was stopped."""
    top, *_ = graded
    small, out = tmp_path / "small", tmp_path / "small-grades"
    small.mkdir()
    for name in ("right", "mistaken-1"):
        shutil.copy(top / f"homework/{name}.ipynb", small)
    grade = ["grade", str(small), "--homework", "1"]
    assert main(grade) == 0
    kept = {
        name: out / f"students/{name}.ipynb.json" for name in ("right", "mistaken-1")
    }
    for path, kind in zip(kept.values(), ("stopped", "named"), strict=True):
        whole = read_json(path, "")
        whole["results"]["1.1"] |= {"kind": kind, "points": 0, "says": "as it was"}
        write_json(path, whole)
    said = lambda: [read_json(p, "")["results"]["1.1"]["says"] for p in kept.values()]
    assert main(grade) == 0 and said() == ["as it was"] * 2
    assert main([*grade, "--again", "stopped"]) == 0
    assert said() == ["", "as it was"]
    assert "changed: right.ipynb 1.1 0 → 3" in capsys.readouterr().out
