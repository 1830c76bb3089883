"""From Canvas's zip to Canvas's zip, from Moodle's to Moodle's: ids, letters of the world, and what comes back."""

import csv
import io
import json
import zipfile

import pytest
from classes import mistaken, notebook

from classroom.__main__ import main
from classroom.names import whose
from classroom.roster import read_roster
from classroom.sheet import read_sheet

PEOPLE = {
    "1234": "Doe, Jane",
    "1235": "王, 芳",
    "1236": "Müller, Jörg",
    "1237": "O'Neil-Smith, Al",
    "1238": "Gone, Ann",
}
CANVAS = {
    "doejane_1234_56789_homework-1.ipynb": "wrong",
    "doejane_1234_56790_homework-1-2.ipynb": "right",
    "王芳_LATE_1235_56791_homework-1-1.ipynb": "read",
    "müllerjörg_1236_56792_homework 1 (3).ipynb": "wrong",
    "oneilsmithal_1237_56793_Untitled.ipynb": "released",
}
MOODLE = {
    "Jane Doe_1234_assignsubmission_file_/homework-1.ipynb": "right",
    "王 芳_1235_assignsubmission_file_homework-1.ipynb": "read",
    "Jörg Müller_1236_assignsubmission_file/homework-1.ipynb": "wrong",
    "Al O'Neil-Smith_1237_assignsubmission_file_Untitled.ipynb": "released",
}
POINTS = {"1234": "16", "1235": "", "1236": "10", "1237": "0", "1238": ""}


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory):
    """Notebooks by how they are; of "read" the words were not read by a person, of the others they are empty."""
    top = tmp_path_factory.mktemp("notebooks")
    found = {
        "right": notebook(top, words="The same."),
        "read": notebook(top, words="Another."),
    }
    found |= {"wrong": notebook(top, words="…", t1=mistaken("1.1", 0))}
    released = json.loads((top / "homework-1.ipynb").read_text(encoding="utf-8"))
    return {
        name: json.dumps(whole).encode()
        for name, whole in (found | {"released": released}).items()
    }


def packed(path, names, notebooks):
    with zipfile.ZipFile(path, "w") as archive:
        for name, kind in names.items():
            archive.writestr(name, notebooks[kind])
    return path


def table(path, rows):
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    path.write_bytes(file.getvalue().encode("utf-8-sig"))
    return path


def gradebook(path):
    head = [
        "Student",
        "ID",
        "SIS User ID",
        "SIS Login ID",
        "Section",
        "Homework 10 (7)",
        "Homework 1 (98765)",
    ]
    manual = ["", "", "", "", "", "Manual Posting", ""]
    worth = ["    Points Possible", "", "", "", "", "4", "16"]
    rows = [
        [name, id_, f"s{id_}", f"login{id_}", "A", "1", "EX" if id_ == "1238" else ""]
        for id_, name in PEOPLE.items()
    ]
    return table(path, [head, manual, worth, *rows])


def worksheet(path):
    head = [
        "Identifier",
        "Full name",
        "Email address",
        "Status",
        "Grade",
        "Maximum Grade",
        "Last modified (grade)",
    ]
    rows = [
        [f"Participant {id_}", name, "a@b", "Submitted", "", "16.00", "-"]
        for id_, name in PEOPLE.items()
    ]
    return table(path, [head, *rows])


def graded(handed_in, roster):
    """The folder of the grades, the pages in back.zip, and the table in it."""
    words = ["grade", str(handed_in), "--homework", "1", "--roster", str(roster)]
    assert main(words) == 0
    out = handed_in.with_name(f"{handed_in.name.removesuffix('.zip')}-grades")
    with zipfile.ZipFile(out / "back.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    text = files.pop("grades.csv").decode("utf-8-sig")
    return out, files, [*csv.reader(io.StringIO(text))]


def read_by_hand(out, points):
    """As a person does: points into the rows of hand.csv, of these students."""
    sheet = read_sheet(out / "hand.csv")
    for row in sheet.rows:
        row["points"] = row["points"] or points.get(row["student"], "")
    rows = [[row[name] for name in sheet.columns] for row in sheet.rows]
    table(out / "hand.csv", [sheet.heads, *rows])


@pytest.mark.sampled(5)
def test_canvas_and_back(tmp_path, notebooks, capsys):
    zipped, roster = (
        packed(tmp_path / "submissions.zip", CANVAS, notebooks),
        gradebook(tmp_path / "grades.csv"),
    )
    out, files, back = graded(zipped, roster)
    said = capsys.readouterr().out
    assert "2 answers of 2 students wait for you" in said
    assert (
        "1234 Doe, Jane: 2 notebooks have tasks of it, doejane_1234_56790_homework-1-2.ipynb is what was read"
        in said
    )
    assert "nothing handed in, and no points: 1238 Gone, Ann" in said
    read_by_hand(out, {"1234": "3"})
    out, files, back = graded(zipped, roster)
    heads = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert back[0] == [*heads, "Homework 1 (98765)"]
    assert back[1:3] == [[""] * 6, ["Points Possible", "", "", "", "", "16"]]
    there = POINTS | {"1238": "EX"}  # as it was
    assert {row[1]: row[-1] for row in back[3:]} == there
    assert back[4][:2] == ["王, 芳", "1235"]
    assert [*files] == [
        "doejane_1234_56790_homework-1-2.html",
        "müllerjörg_1236_56792_homework 1 (3).html",
        "oneilsmithal_1237_56793_Untitled.html",
    ]
    assert b"16 of 16 points" in files["doejane_1234_56790_homework-1-2.html"]
    again = CANVAS | {"doejane_1234_56999_homework-1-3.ipynb": "right"}
    before = {path.name: path.read_bytes() for path in out.rglob("*.csv")} | files
    for names in (CANVAS, CANVAS, again):
        out, files, back = graded(packed(zipped, names, notebooks), roster)
        assert {row[1]: row[-1] for row in back[3:]} == there  # by hand, and kept
        now = {path.name: path.read_bytes() for path in out.rglob("*.csv")} | files
        assert (before == now) == (names is CANVAS)


def test_points_by_hand_are_not_those_of_other_files(tmp_path, notebooks, capsys):
    """Files that are no notebook, pictures of words, and a notebook beside an empty one in a zip."""
    top, again = (
        tmp_path / "hw1",
        "look again: the answer, or code that it may use, changed since",
    )
    top.mkdir()
    roster = table(tmp_path / "class.csv", [["id", "name"], *PEOPLE.items()])

    names = {"../homework-1.ipynb": "right", "homework-1.ipynb": "released"}
    packed(top / "1236.zip", names, notebooks)

    def said(text, picture):
        (top / "1234.py").write_text(text)
        whole = json.loads(notebooks["released"])
        whole["cells"][-1]["attachments"] = {"a.png": {"image/png": picture}}
        (top / "1235.ipynb").write_text(json.dumps(whole))
        words = ["grade", str(top), "--homework", "1", "--roster", str(roster)]
        assert main(words) == 0
        return capsys.readouterr().out

    out = tmp_path / "hw1-grades"
    assert "1236 Müller, Jörg: 2 notebooks have tasks of it" in said("1", "A")
    sheet = read_sheet(out / "hand.csv")
    assert {row["student"] for row in sheet.rows} == {"1234", "1235", "1236"}
    read_by_hand(out, {"1234": "1", "1235": "2", "1236": "3"})
    assert again not in said("1", "A")
    told = said("2", "B")
    assert f"1234 Doe, Jane 1.1: {again} it got 1" in told
    assert f"1235 王, 芳 1.5: {again} it got 2" in told
    assert again not in said("1", "A")


@pytest.mark.sampled(3)
def test_moodle_and_back(tmp_path, notebooks):
    zipped, roster = (
        packed(tmp_path / "all.zip", MOODLE, notebooks),
        worksheet(tmp_path / "sheet.csv"),
    )
    out, *_ = graded(zipped, roster)
    read_by_hand(out, {"1234": "3"})
    _, files, back = graded(zipped, roster)
    assert back[1] == [
        "Participant 1234",
        "Doe, Jane",
        "a@b",
        "Submitted",
        "16",
        "16.00",
        "-",
    ]
    assert {row[0][12:]: row[4] for row in back[1:]} == POINTS
    assert [*files] == [
        f"{name}_assignsubmission_file_feedback.html"
        for name in ("Jane Doe_1234", "Jörg Müller_1236", "Al O'Neil-Smith_1237")
    ]


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("1234.ipynb", ["1234"]),
        ("1234王芳作业1.ipynb", ["1234"]),
        ("hw1_1234-1235.ipynb", ["1234", "1235"]),
        ("homework-1.ipynb", []),
        ("x_1235_1234_homework-1.ipynb", ["1235"]),
        ("A B_1235_assignsubmission_file_homework-1-1234.ipynb", ["1235"]),
    ],
)
def test_whose_a_file_is(name, ids):
    people = dict.fromkeys(["1234", "1235", "s777", "1"], "")
    assert whose([name], people) == {name: ids}


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "gb18030", "big5", "shift_jis", "cp1252"],
)
def test_a_roster_is_read_in_the_letters_in_which_its_names_are_those_of_the_files(
    tmp_path, encoding
):
    names = {"cp1252": "Müller, Jörg", "shift_jis": "佐藤 みどり", "big5": "陳 慧玲"}
    name = names.get(encoding, "王 芳")
    path = tmp_path / "class.csv"
    path.write_bytes(f'id;name\n1234;"{name}"\n'.encode(encoding))
    files = [f"{name}_1234_assignsubmission_file_a"]
    assert read_roster(path, files).people["1234"]["name"] == name


@pytest.mark.sampled(3)
def test_one_notebook_of_two(tmp_path, notebooks, capsys):
    folder = tmp_path / "hw"
    folder.mkdir()
    whole = notebooks["right"].decode()
    (folder / "1234-1235.ipynb").write_text(whole)
    # remarks are no other code, nor are other words
    changed = whole.replace("The same.", "As he says.")
    head = "def snake(images, P):\\n"
    for remark in ("    # mine\\n", '    \\"\\"\\"Mine.\\"\\"\\"\\n'):
        assert head in changed
        changed = changed.replace(head, head + remark)
    (folder / "1236.ipynb").write_text(changed)
    (folder / "1237.ipynb").write_bytes(notebooks["released"])
    (folder / "1238.ipynb").write_bytes(notebooks["wrong"])
    roster = table(tmp_path / "class.csv", [["id", "name"], *PEOPLE.items()])
    assert main(["grade", str(folder), "--homework", "1", "--roster", str(roster)]) == 0
    rows = read_sheet(tmp_path / "hw-grades/grades.csv").rows
    assert [row["total"] for row in rows] == ["13", "13", "13", "0", "10"]
    said = capsys.readouterr().out
    alike = "1234 Doe, Jane, 1235 王, 芳, 1236 Müller, Jörg"
    assert f"the same code: {alike}\n" in said
    assert "1237" not in said and "1238" not in said
