"""Commands, refusals, and what the tables say of people."""

import csv
import json

import pytest
from classes import notebook

from classroom import report
from classroom.__main__ import main
from classroom.grade import Result
from classroom.homework import homework


def graded(**students):
    return {
        "results": students,
        "problems": dict.fromkeys(students, ""),
        "slugs": {name: name for name in students},
        "open_still": ["the network"],
    }


def results(kind="right", points=3):
    tasks = homework(1).tasks
    return {key: Result(points if task.exercise else None, kind, "") for key, task in tasks.items()}


def test_roster_and_open_points(tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text("submission,id,name\nanna,=1+1,Anna Ähn\n", encoding="utf-8-sig")
    report.write_reports(tmp_path, homework(1), graded(anna=results(), ben=results("named", 0)), roster)
    with open(tmp_path / "moodle.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["ID number"], row["Full name"], row["Homework 1"]) for row in rows] == [
        ("'=1+1", "Anna Ähn", "12"),
        ("ben", "ben", "0"),
    ]
    assert "could not forbid students' code: the network" in (tmp_path / "class.html").read_text(
        encoding="utf-8"
    )


@pytest.mark.errors
def test_points_by_hand_are_checked(tmp_path):
    report.write_reports(tmp_path, homework(1), graded(anna=results()))
    text = (tmp_path / "grades.csv").read_text(encoding="utf-8")
    (tmp_path / "grades.csv").write_text(text.replace("3,3,3,3,,", "3,3,3,3,9,"), encoding="utf-8")
    with pytest.raises(ValueError, match="expected 0 to 3 points for 1.5 in .*, got '9'; mend it"):
        report.write_reports(tmp_path, homework(1), graded(anna=results()))


@pytest.mark.errors
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("grade HERE/none --homework 1", "expected a folder of submissions, got HERE/none; give the folder"),
        (
            "grade HERE/empty --homework 1",
            "expected notebooks (.ipynb) or a folder for each student in HERE/empty",
        ),
        ("grade HERE/class --homework 1 --jobs 0", "expected jobs from 1 to 64, got 0"),
        ("grade HERE/class --homework 1 --seed -1", "expected seed from 0 to"),
        ("grade HERE/class --homework 1 --out HERE/class/out", "beside the submissions for --out"),
        ("grade HERE/class --homework 1 --out HERE/class/a.ipynb", "--out must be a folder, got the file"),
        ("grade HERE/class --homework 1 --roster HERE/roster.csv", "columns submission, id and name in"),
        ("capstone HERE/empty", "expected a folder for each student in HERE/empty"),
        ("homework HERE/class/a.ipynb", "--out must be a folder, got the file"),
    ],
)
def test_what_cannot_be_is_refused_in_words(tmp_path, capsys, words, said):
    for name in ("empty", "class"):
        (tmp_path / name).mkdir()
    (tmp_path / "roster.csv").write_text("name\nAnna\n")
    (tmp_path / "class" / "a.ipynb").write_text(json.dumps(notebook(tmp_path / "blank") | {"cells": []}))
    assert main(words.replace("HERE", str(tmp_path)).split()) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("error: ") and said.replace("HERE", str(tmp_path)) in told


@pytest.mark.errors
def test_a_homework_there_is_not(capsys):
    with pytest.raises(SystemExit):
        main(["grade", "x", "--homework", "5"])
    assert "invalid choice: 5" in capsys.readouterr().err
    with pytest.raises(ValueError, match="homework"):
        homework(5)
