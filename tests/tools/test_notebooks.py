"""What readers open: chapters from `make lab`, `make colab` and `make class` hide solutions and hold nothing dead."""

import json
import re
import shutil
from itertools import pairwise

import pytest
from pages import CHAPTERS, source, tags

from classroom import editions
from page import edition
from tools import colab, notebooks, plain
from vitworkshop.exercises import language

URL = "https://github.com/org/repo"
# of a text in MyST: a role, a citation's key, a label, a directive, a tag
RAW = re.compile(
    r"\{[\w:-]+\}`|\b[a-z]{3,}(?:19|20)\d\d\b(?![^(\s]*\))"
    r"|^:[\w-]+:|^\([\w-]+\)=|^`{3,}\{|^:::|^`{4}|</?vit-",
    re.M,
)
MOVES = re.compile(r"\balive\b|\bDrag\b|scripts run", re.I)
STILL = re.compile(
    r"\*(?P<said>.*)\*\n\n!\[[^]]*\]\(attachment:(?P<name>[\w-]+)\.webp\)"
)
EXPLORERS = {
    path.stem for path in (plain.BOOK / "_static/figures/explorers").glob("*.webp")
}
# how a solution begins
ANSWER = re.compile(
    r"^`{4}\{solution(?:-start)?\} \S+\n(?::.*\n)+(?:`{4}\n)?\n*(\S.*)", re.M
)


def shows(cell: dict) -> bool:
    """Whether it is a cell that shows an explorer."""
    return cell["cell_type"] == "code" and source(cell).startswith("vl.explore(")


@pytest.fixture(scope="module", params=["lab", "colab", "class"])
def written(request, tmp_path_factory):
    """An edition's kind, and its folder."""
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "lab":
            notebooks.write("en", folder)
        elif request.param == "colab":
            colab.write_chapters("en", folder)
        else:
            patch.setitem(language._CHOSEN, "language", "en")
            editions.write(folder, "student")
    return request.param, folder


@pytest.mark.parametrize("path", CHAPTERS, ids=[path.stem for path in CHAPTERS])
def test_a_reader_meets_no_solution_no_myst_and_nothing_dead(written, path):
    kind, folder = written
    cells = json.loads((folder / path.name).read_text("utf-8"))["cells"]
    words = [source(cell) for cell in cells if cell["cell_type"] == "markdown"]
    text = "\n\n".join(words)
    assert not RAW.findall(text)
    # code: nobody has run it
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert not [cell for cell in code if cell["outputs"] or cell["execution_count"]]
    assert sum("colab-setup" in tags(cell) for cell in code) == (kind != "lab")
    (imports,) = (cell for cell in code if "import vitlib as vl\n" in source(cell))
    assert imports["metadata"]["jupyter"] == {"source_hidden": True}
    # figures
    numbers = re.findall(r"^\*Figure \d+\.(\d+)\*: \S", text, re.M)
    assert numbers == [str(i) for i in range(1, len(numbers) + 1)]
    assert len(numbers) == sum(
        "figure" in each["metadata"].get("mystnb", {}) for each in code
    )
    # solutions
    assert not [cell for cell in code if "solution" in tags(cell)]
    open_text = re.sub(r"<details>.*?</details>", "", text, flags=re.S)
    asked = edition.notebook(path, "en")["cells"]
    answers = [each for cell in asked for each in ANSWER.findall(source(cell))]
    begun = [answer[:25] for answer in answers if answer[0] != "`"]
    assert not [words for words in begun if words in open_text]
    if kind == "class":
        assert "Solution of" not in text
    else:
        assert text.count("<details>") == len(answers)
        folds = "\n".join(re.findall(r"<details>.*?</details>", text, re.S))
        for cell in asked:
            if "solution" in tags(cell):
                assert source(cell) in folds
                for output in cell["outputs"]:
                    assert "".join(output["text"]).rstrip() in folds
    # explorers
    named = f"book/{path.stem}.html"
    stills = [found for found in STILL.finditer(text) if found["name"] in EXPLORERS]
    asked_text = "\n\n".join(map(source, asked))
    tags_there = re.findall(r"^<vit-", asked_text, re.M)
    assert len(stills) == len(tags_there) == sum(map(shows, cells))
    assert all(named in found["said"] for found in stills)
    for cell, following in pairwise(cells):
        assert ("run the next cell" in source(cell)) == shows(following)
    for each in words:
        if MOVES.search(STILL.sub("", each)) and STILL.search(each):
            assert named in each


def test_words_lead_to_pages_where_there_are_some_else_to_what_lies_beside(monkeypatch):
    text = "{ref}`why <sec-05-sqrt-d>` {eq}`eq-05-qkv` {py:func}`vl.seed_everything`"
    text += " {doc}`lab` {ref}`all runs <beside-more>` {cite:t}`dao2022`"
    paper = "[Dao et al. (2022)](https://arxiv.org/abs/2205.14135)"

    def read(chapter, alone=False):
        return plain.plain(text, "", "en", chapter, alone)

    code = "`vl.seed_everything`"
    page = "ViT lab all runs (The paper beside ours)"
    rest = f"(5.1) {code} {page} {paper}"
    here = f"why, under “Why divide by √d?” {rest}"
    assert read("05-attention") == read("05-attention", alone=True) == here
    assert read("01-patchify", alone=True) == f"why {rest}"
    beside = f"[why](05-attention.ipynb) [(5.1)](05-attention.ipynb) {code} {page}"
    assert read("01-patchify") == f"{beside} {paper}"
    monkeypatch.setattr(plain, "read_url", lambda root: URL)
    plain.site.cache_clear()
    pages = "https://org.github.io/repo/book"
    said = read("05-attention")
    plain.site.cache_clear()
    assert f"[why]({pages}/05-attention.html#sec-05-sqrt-d)" in said
    assert f"[(5.1)]({pages}/05-attention.html#equation-eq-05-qkv)" in said
    assert f"[{code}]({pages}/api.html#vl.seed_everything)" in said
    assert f"[ViT lab]({pages}/lab.html)" in said


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book of one chapter, and a way to change it."""
    shutil.copy(CHAPTERS[0], tmp_path / CHAPTERS[0].name)
    path = tmp_path / CHAPTERS[0].name
    monkeypatch.setattr(notebooks, "chapters", lambda: [path])

    def change(words: str) -> None:
        held = json.loads(path.read_text("utf-8"))
        held["cells"][-1]["source"] = words
        path.write_text(json.dumps(held), "utf-8")

    return change


def test_a_students_work_outlives_every_renewal(book, tmp_path, capsys):
    folder = tmp_path / "notebooks"
    mine = folder / CHAPTERS[0].name
    new, newer = (mine.with_suffix(f".new{n}.ipynb") for n in ("", "2"))

    def renewed(words: str) -> str:
        book(words)
        notebooks.write("en", folder)
        return capsys.readouterr().out

    assert not renewed("first") and '"first"' in mine.read_text("utf-8")
    # opened and saved: other bytes, the same chapter
    opened = json.loads(mine.read_text("utf-8"))
    opened["metadata"]["kernelspec"]["display_name"] = "another"
    opened["cells"][-1]["source"] = ["fir", "st"]
    mine.write_text(json.dumps(opened), "utf-8")
    assert not renewed("second") and '"second"' in mine.read_text("utf-8")
    # answered
    work = mine.read_text("utf-8").replace("None", "42")
    mine.write_text(work, "utf-8")
    assert not renewed("second") and not new.exists(), "this edition is there already"
    said = renewed("third")
    assert mine.read_text("utf-8") == work and '"third"' in new.read_text("utf-8")
    assert said.count("\n") == 1 and mine.name in said and str(new) in said
    assert not renewed("third")
    # the new one is answered, too
    again = new.read_text("utf-8").replace("None", "43")
    new.write_text(again, "utf-8")
    assert str(newer) in renewed("fourth")
    assert (mine.read_text("utf-8"), new.read_text("utf-8")) == (work, again)
    # what equals the chapter goes
    mine.write_text(newer.read_text("utf-8"), "utf-8")
    assert not renewed("fourth") and not newer.exists() and new.exists()
    # answered in the new edition, which takes the chapter's place
    work = mine.read_text("utf-8").replace("None", "44")
    mine.write_text(work, "utf-8")
    assert str(newer) in renewed("fifth")
    again = newer.read_text("utf-8").replace("None", "45")
    mine.write_text(again, "utf-8")
    newer.unlink()
    assert not renewed("fifth") and not newer.exists()
    assert mine.read_text("utf-8") == again
    # no record: everything there is taken for the student's
    (folder / ".written.json").unlink()
    before = {path: path.read_text("utf-8") for path in folder.glob("*.ipynb")}
    renewed("fifth")
    assert before == {path: path.read_text("utf-8") for path in before}
    mine.unlink()
    assert not renewed("fifth") and '"fifth"' in mine.read_text("utf-8")
    mine.write_bytes(b"\xff\xfe no notebook")
    renewed("sixth")
    assert mine.read_bytes() == b"\xff\xfe no notebook"
    (folder / ".written.json").write_text("{")
    with pytest.raises(ValueError, match="written.json is damaged.*; delete it"):
        renewed("seventh")
    assert mine.read_bytes() == b"\xff\xfe no notebook"


@pytest.mark.sampled(3)
@pytest.mark.slow
def test_a_chapter_of_make_lab_runs_where_it_lies(tmp_path):
    """From its first cell to its last, its explorer among them."""
    nbformat, nbclient = (pytest.importorskip(n) for n in ("nbformat", "nbclient"))
    notebooks.write("en", tmp_path)
    (path,) = tmp_path.glob("03-*.ipynb")
    chapter = nbformat.read(path, 4)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(chapter, timeout=600, resources=where).execute()
    shown = [
        output["data"]["text/html"]
        for cell in chapter.cells
        if "vl.explore(" in cell.source and cell.cell_type == "code"
        for output in cell.outputs
    ]
    assert len(shown) == sum(map(shows, chapter.cells))
    assert all("<iframe srcdoc=" in each for each in shown)
