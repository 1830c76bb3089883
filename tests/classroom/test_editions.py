"""The students' and the teacher's chapters: they differ only where they must, and the students' run."""

import ast
import base64
import inspect
import json
import re
import zipfile

import pytest
from pages import CHAPTERS, read, source

from classroom import editions
from classroom.homework import NUMBERS, homework
from tools.plain import plain_notebook
from vitworkshop.exercises import ask, engine

chapter = pytest.mark.parametrize("path", CHAPTERS, ids=[path.stem for path in CHAPTERS])
MAGIC = re.compile(r"^\s*%.*$", re.M)


def names(code: str, kind: type) -> set[str]:
    """The names that code reads (ast.Load) or makes (ast.Store)."""
    nodes = list(ast.walk(ast.parse(MAGIC.sub("", code))))
    found = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, kind)}
    if kind is ast.Store:
        defined = (ast.FunctionDef, ast.ClassDef)
        found |= {node.name for node in nodes if isinstance(node, defined)}
        found |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        imports = [
            each for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for each in node.names
        ]
        found |= {(each.asname or each.name).partition(".")[0] for each in imports}
    return found


def outside(cells: list[dict]) -> list[str]:
    """The lines of a chapter that are no solution's, line by line from its first to its last."""
    kept, ends = [], None
    for cell in cells:
        if cell["cell_type"] == "code":
            kept += [] if editions.solved(cell) else source(cell).splitlines()
            continue
        for line in source(cell).splitlines():
            if line.startswith(("````{solution-start}", "````{solution} ")):
                ends = "```{solution-end}" if "start" in line else "````"
            elif ends == line:
                ends = "```" if line == "```{solution-end}" else None
            elif ends is None:
                kept.append(editions.FOLDED.sub("", line))
    return [line for line in kept if line.strip()]


@chapter
def test_students_and_teachers_chapters_differ_only_where_they_must(path):
    """In solutions, remarks and outputs; their other lines are the same, in the same order."""
    theirs = editions.student(read(path))["cells"]
    ours = editions.teacher(read(path), "notes")["cells"]
    ours = [cell for cell in ours if not cell["id"].startswith("teacher-")]
    assert outside(ours) == [line for cell in theirs for line in source(cell).splitlines() if line.strip()]
    assert [source(cell) for cell in ours] == [source(cell) for cell in read(path)["cells"]]
    assert not any(cell["outputs"] for cell in theirs if cell["cell_type"] == "code")


@chapter
def test_what_a_class_gets_is_plain_markdown(path):
    """No role, label, directive or explorer; exercises with number and title."""
    cells = plain_notebook(read(path))["cells"]
    text = "\n\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown")
    left = r".*(?:\{[\w:-]+\}`|^:[\w-]+:|^\([\w-]+\)=|\{exercise|\{solution|</?vit-|^`{4}|^:::).*"
    assert not re.findall(left, text, re.M)
    asked = re.findall(r"\{exercise(?:-start)?\} (.+)", "\n".join(map(source, read(path)["cells"])))
    numbers = [f"Exercise {int(path.stem[:2])}.{i}: {title}" for i, title in enumerate(asked, 1)]
    assert re.findall(r"^\*\*(Exercise .+)\*\*$", text, re.M) == numbers


def test_the_teachers_notes_are_there_and_read_without_the_books_links():
    said = editions.notes()
    assert list(said) == [path.name[:2] for path in CHAPTERS]
    for text in said.values():
        assert text.startswith("### ") and "**To discuss.**" in text and not re.search(r"\{\w+\}`|^\(", text)


@chapter
def test_no_solution_is_left_and_none_is_missed(path):
    """Neither its text nor its code; and nothing that stays needs a name that only a solution makes."""
    cells = editions.student(read(path))["cells"]
    text = "\n".join(map(source, cells))
    assert not re.search(r"\{solution|:label: sol-|olutions are folded|olutions run", text)
    kept = "\n".join(source(cell) for cell in cells if cell["cell_type"] == "code")
    cut = "\n".join(source(cell) for cell in read(path)["cells"] if editions.solved(cell))
    assert not names(kept, ast.Load) & (names(cut, ast.Store) - names(kept, ast.Store))


@chapter
def test_every_stub_waits_and_the_teacher_sees_what_its_check_knows(path, capsys):
    """No stub passes, each has a hint, and each is followed by the teacher's remark."""
    ours = editions.teacher(read(path), "notes")["cells"]
    numbers = dict.fromkeys(
        number
        for cell in ours
        if cell["cell_type"] == "code"
        for number in editions.CALL.findall(source(cell))
    )
    assert numbers
    for number in numbers:
        entry = engine.find(number)
        remarks = [source(cell) for cell in ours if cell["id"] == f"teacher-{number.replace('.', '-')}"]
        assert len(remarks) == 1 and entry.hints[0] in remarks[0]
        assert remarks[0].count("\n| ") == len(entry.mistakes) + 1
        ask.check(number)
        assert "waiting" in capsys.readouterr().out


def test_what_class_holds(tmp_path, monkeypatch, request):
    """Both zips open; the students' has no teacher's remark, every picture of a chapter, the class's homework."""
    request.addfinalizer(homework.cache_clear)
    monkeypatch.setattr("classroom.homework.MADE", tmp_path / "references")
    monkeypatch.setattr(editions, "OUT", tmp_path)
    monkeypatch.setattr(editions, "CHAPTERS", CHAPTERS[:1])
    assert editions.main() == 0
    told = {}
    for edition in ("student", "instructor"):
        with zipfile.ZipFile(tmp_path / f"{edition}.zip") as archive:
            told[edition] = {name: archive.read(name) for name in archive.namelist()}
        folder = {
            f"{edition}/{path.relative_to(tmp_path / edition)}"
            for path in (tmp_path / edition).rglob("*")
            if path.is_file()
        }
        assert set(told[edition]) == folder
    theirs, ours = (told[edition][f"{edition}/{CHAPTERS[0].name}"] for edition in told)
    assert b"For the teacher" in ours and b"For the teacher" not in theirs
    (picture,) = [cell["attachments"] for cell in json.loads(theirs)["cells"] if "attachments" in cell]
    assert base64.b64decode(picture["patches.webp"]["image/webp"])[8:12] == b"WEBP"
    assert b"](attachment:patches.webp)" in theirs and b"](_static/" not in theirs
    made = (tmp_path / "references/h1.py").read_bytes()
    assert made == told["instructor"]["instructor/classroom/homework/h1.py"]
    assert b"the second from left to right" in told["student"]["student/homework/homework-1.ipynb"]
    assert "student/patch-by-patch.zip" in told["student"] and json.loads(theirs)["nbformat"] == 4


def test_students_have_homework_and_no_reference_of_it(tmp_path):
    """Nowhere in what they get, the package to install included."""
    (tmp_path / "student").mkdir()
    editions.write(tmp_path / "student", "student")
    assert len(list((tmp_path / "student/homework").glob("*.ipynb"))) == len(NUMBERS)
    with zipfile.ZipFile(tmp_path / "student/patch-by-patch.zip") as archive:
        theirs = {name: archive.read(name).decode(errors="ignore") for name in archive.namelist()}
    theirs |= {str(path): path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.ipynb")}
    assert not [name for name in theirs if "classroom" in name]
    for number in NUMBERS:
        for task in homework(number).tasks.values():
            if task.exercise:
                body = inspect.getsource(task.exercise.reference).split("\n", 1)[1].strip()
                assert not [name for name, text in theirs.items() if body in text], task.title


@pytest.mark.weekly
@chapter
def test_a_students_chapter_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.reads(json.dumps(editions.student(read(path))), 4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
