"""The students' and the teacher's chapters: they differ only where they must, and the students' run."""

import ast
import base64
import json
import re
import zipfile

import pytest
from IPython.core.inputtransformer2 import TransformerManager
from pages import CHAPTERS, read, source

from classroom import editions
from classroom.homework import homework
from classroom.homework import source as source_of
from page.edition import notebook
from tools.plain import plain_notebook
from vitworkshop.exercises import ask, engine, language

chapter = pytest.mark.parametrize(
    "path", CHAPTERS, ids=[path.stem for path in CHAPTERS]
)


def outside(cells: list[dict]) -> list[str]:
    """The lines of a chapter that are no solution's, line by line from its first to its last."""
    kept, ends = [], None
    for cell in cells:
        if cell["cell_type"] == "code":
            kept += (
                []
                if "solution" in cell["metadata"].get("tags", [])
                else source(cell).splitlines()
            )
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
    """In solutions and remarks; their other lines are the same, in the same order."""
    theirs = editions.student(read(path))["cells"]
    ours = editions.teacher(read(path), "notes")["cells"]
    ours = [cell for cell in ours if not cell["id"].startswith("teacher-")]
    assert outside(ours) == [
        line for cell in theirs for line in source(cell).splitlines() if line.strip()
    ]
    assert [source(cell) for cell in ours] == [
        source(cell) for cell in read(path)["cells"]
    ]


@chapter
def test_a_students_chapter_needs_no_name_that_a_solution_makes(path):
    made, used = (set(), set()), set()
    for cell in (cell for cell in read(path)["cells"] if cell["cell_type"] == "code"):
        solves = "solution" in cell["metadata"].get("tags", [])
        for node in ast.walk(
            ast.parse(TransformerManager().transform_cell(source(cell)))
        ):
            fields = (
                () if isinstance(node, ast.keyword) else ("id", "asname", "name", "arg")
            )
            found = {getattr(node, field, None) for field in fields} - {None}
            loads = isinstance(getattr(node, "ctx", None), ast.Load)
            used.update(found if loads and not solves else ())
            made[solves].update(() if loads else found)
    assert not (made[True] - made[False]) & used


@pytest.mark.sampled(3)
@chapter
@pytest.mark.parametrize(
    ("tongue", "called"), [("en", "Exercise {}.{}: {}"), ("zh", "练习 {}.{}：{}")]
)
def test_what_a_class_gets_is_plain_markdown(path, tongue, called, monkeypatch):
    """No role, label, directive or explorer; exercises with number and title; headings and replies in its language."""
    monkeypatch.setitem(language._CHOSEN, "language", "en")
    book = notebook(path, tongue)
    cells = plain_notebook(book, path.stem, tongue)["cells"]
    text = "\n\n".join(
        source(cell) for cell in cells if cell["cell_type"] == "markdown"
    )
    left = r".*(?:\{[\w:-]+\}`|^:[\w-]+:|^\([\w-]+\)=|\{exercise|\{solution|</?vit-|^`{4}|^:::).*"
    assert not re.findall(left, text, re.M)
    assert tongue == "en" or not re.findall(
        r"^#+ [ -~]+$|\*\*Sol|《[ -~]+》", text, re.M
    )
    asked = re.findall(
        r"\{exercise(?:-start)?\} (.+)", "\n".join(map(source, book["cells"]))
    )
    asked = [
        re.sub(r"\[(.+)\]\{\.untranslated\} ", r"（\1）", title) for title in asked
    ]
    numbers = [
        called.format(int(path.stem[:2]), i, title) for i, title in enumerate(asked, 1)
    ]
    assert (
        re.findall(r"^\*\*((?:Exercise|练习) [\d.]+[:：].+)\*\*$", text, re.M)
        == numbers
    )
    theirs = "\n".join(
        map(source, plain_notebook(editions.student(book), path.stem, tongue)["cells"])
    )
    assert not re.findall(
        r"Solution of|的解答|Solutions (?:are|run)|解答(?:是|都)", theirs, re.M
    )
    exec(
        next(source(cell) for cell in cells if "import vitlib as vl" in source(cell)),
        {},
    )
    assert language.language() == tongue


@chapter
def test_every_stub_waits_and_the_teacher_sees_what_its_check_knows(path, capsys):
    """No stub passes, each has a hint, and each is followed by the teacher's remark."""
    ours = editions.teacher(read(path), "notes")["cells"]
    texts = [source(cell) for cell in ours if cell["cell_type"] == "code"]
    assert (numbers := editions.CALL.findall("\n".join(texts)))
    for number in {*numbers}:
        entry = engine.find(number)
        remarks = [
            source(cell)
            for cell in ours
            if cell["id"] == f"teacher-{number.replace('.', '-')}"
        ]
        assert len(remarks) == 1 and entry.hints[0] in remarks[0]
        assert remarks[0].count("\n| ") == len(entry.mistakes) + 1
        ask.check(number)
        assert "waiting" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("asked", "remark", "task"),
    [
        ("en", "For the teacher", "the second from right to left"),
        ("en,zh", "给教师", "第二行从右到左"),
    ],
)
def test_what_class_holds(asked, remark, task, tmp_path, monkeypatch, request):
    """Both zips open; the students' has all pictures, the class's homework, no remark and no reference."""
    request.addfinalizer(homework.cache_clear)
    monkeypatch.setattr("classroom.homework.MADE", tmp_path)
    own = source_of(1).read_bytes() + b"# the class's own\n"
    (tmp_path / "h1.py").write_bytes(own)
    homework.cache_clear()
    monkeypatch.setattr(editions, "OUT", tmp_path)
    monkeypatch.setattr(editions, "CHAPTERS", CHAPTERS[:1])
    monkeypatch.setitem(language._CHOSEN, "language", "en")
    monkeypatch.setenv("LANGUAGES", asked)
    editions.main()
    told = {}
    for edition in ("student", "instructor"):
        with zipfile.ZipFile(tmp_path / f"{edition}.zip") as archive:
            told[edition] = {name: archive.read(name) for name in archive.namelist()}
    theirs, ours = (told[edition][f"{edition}/{CHAPTERS[0].name}"] for edition in told)
    assert remark.encode() in ours and remark.encode() not in theirs
    (picture,) = [
        cell["attachments"]
        for cell in json.loads(theirs)["cells"]
        if "attachments" in cell
    ]
    assert base64.b64decode(picture["patches.webp"]["image/webp"])[8:12] == b"WEBP"
    assert b"](attachment:patches.webp)" in theirs and b"](_static/" not in theirs
    assert own == told["instructor"]["instructor/classroom/homework/h1.py"]
    assert task.encode() in told["student"]["student/homework/homework-1.ipynb"]
    assert not [name for name in told["student"] if "classroom" in name]


@pytest.mark.weekly
@chapter
def test_a_students_chapter_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.reads(json.dumps(editions.student(read(path))), 4)
    NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
