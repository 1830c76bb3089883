"""The pages around the chapters: their commands exist, their links lead somewhere, their numbers are the files'."""

import doctest
import random
import re
import shlex
from functools import cache

import pytest
import torch
from pages import AROUND, CHAPTERS, PAGES, ROOT, prose

import vitlib as vl
from classroom.__main__ import _parser as _classroom
from page.address import MODEL, PICTURE
from vitlib.data.dataset import resize_images
from vitlib.data.photos import PICTURES
from vitlib.train.recipe import RECIPES
from vitworkshop.cli import _parser

TEXT = {path.name: prose(path) for path in [*AROUND, *PAGES] if path.suffix == ".md"}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
page = pytest.mark.parametrize("page", TEXT)


def code_of(text: str) -> str:
    """Everything set as code: fenced blocks, and inline code that is a command."""
    blocks = re.findall(
        r"^ *```(?:bash|powershell|console)\n(.*?)^ *```", text, re.M | re.S
    )
    inline = re.findall(
        r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    )
    return "\n".join([*blocks, *inline])


def said(pattern: str, texts=None) -> pytest.MarkDecorator:
    """Every match of a pattern in the pages' code, or in other texts, with its page."""
    texts = texts or {name: code_of(text) for name, text in TEXT.items()}
    found = {
        (name, words)
        for name, text in texts.items()
        for words in re.findall(pattern, text, re.M)
    }
    return pytest.mark.parametrize(("page", "words"), sorted(found))


def test_what_notes_get_wrong_is_refuted():
    name = "notes-get-wrong.md"
    lines = doctest.DocTestParser().get_doctest(
        TEXT[name].replace("```", ""), {}, name, name, 0
    )
    assert len(lines.examples) > 30 and doctest.DocTestRunner().run(lines).failed == 0


@said(r"^\s*make (\S.*)$")
def test_make_targets_and_variables_exist(page, words):
    target, *settings = shlex.split(words.split("#")[0])
    assert re.search(rf"^{re.escape(target)}:", MAKEFILE, re.M), (
        f"the Makefile has no target {target!r}"
    )
    for setting in settings:
        name = setting.split("=")[0]
        used = rf"\$\({name}\)|^export {name} \?="
        assert re.search(used, MAKEFILE, re.M), (
            f"the Makefile knows no variable in {setting!r}"
        )


@said(r"python -m classroom (\w.*)$")
def test_command_lines_of_the_classroom_are_understood(page, words):
    _classroom().parse_args(shlex.split(words))


@said(r"python(?:3|\.exe)? -m vitlib\b(.*?)(?:\s#.*)?$")
def test_command_lines_are_understood(page, words):
    arguments = shlex.split(words.replace("…", ""))
    if arguments and arguments[-1] == "--help":
        arguments.pop()
    if arguments:
        try:
            parsed = _parser().parse_args(arguments)
        except SystemExit:
            pytest.fail(f"`python -m vitlib{words}` is not a command")
        if arguments[0] == "train":
            assert parsed.preset in RECIPES


@said(r"(?<![\w/])(?:tests/)?(?:tools|page)[/.][\w/.]*\w")
def test_scripts_exist(page, words):
    assert (
        ROOT / (words if "/" in words else f"{words.replace('.', '/')}.py")
    ).exists()


@page
def test_links_to_files_lead_somewhere(page):
    folder = ROOT if (ROOT / page).is_file() else ROOT / "book"
    text = re.sub(r"^ *```.*?^ *```", "", TEXT[page], flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        assert re.match(r"[a-z]+:", target) or (folder / target).exists(), target
    for target in re.findall(r"(?:src|srcset)=\"(?!https?:)([^\"]+)\"", TEXT[page]):
        # pages land in _build/html/book, static files in _build/html/_static
        assert (ROOT / "book" / target.removeprefix("../")).exists(), target


@pytest.fixture
def numbers():
    """The extension that computes numbers and tables; it needs Sphinx."""
    return pytest.importorskip("page.numbers")


def test_the_picture_that_comes_first_is_named_rightly_and_surely():
    """As it is cut everywhere, and in eight of ten squares of the photograph up to 16 pixels beside it."""
    model, _ = vl.load_pretrained(MODEL)
    kind = vl.CIFAR10_CLASSES.index(PICTURE)
    assert vl.predict(model, vl.sample_image(PICTURE, 32)[None])[0, kind] >= 0.8
    photo = vl.sample_image(PICTURE)  # (3, H, W)
    side, draw = min(photo.shape[1:]) - 32, random.Random(0)
    middle = [(length - side) // 2 for length in photo.shape[1:]]
    shifts = [[start + draw.randint(-16, 16) for start in middle] for _ in range(10)]
    cuts = torch.stack(
        [photo[:, top : top + side, left : left + side] for top, left in shifts]
    )
    assert (vl.predict(model, resize_images(cuts, (32, 32)))[:, kind] >= 0.8).sum() >= 8


def test_the_first_model_names_rightly_each_sample_of_a_class(numbers):
    """As the table of credits tells it, which holds every picture of ours and Chelsea; each class has one."""
    said = dict(
        re.findall(
            r"^\| `(.+?)` \| (\w+),", numbers.make_table("sample-pictures"), re.M
        )
    )
    assert said.keys() == {
        path.stem.replace("-", " ") for path in PICTURES.glob("*.jpg")
    } | {"cat"}
    assert [*said.values()] == [name.split()[0] for name in said] and len(
        {*said.values()}
    ) == 10


def test_every_work_in_the_bibliography_can_be_found():
    text = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    entries = re.split(r"^@", re.sub(r"^%.*$", "", text, flags=re.M), flags=re.M)[1:]
    keys = [re.match(r"\w+\{([\w-]+),", entry)[1] for entry in entries]
    assert len(keys) == len(set(keys)), "a key stands twice in references.bib"
    for key, entry in zip(keys, entries, strict=True):
        for field in ("title", "author", "year"):
            assert re.search(rf"^\s*{field}\s*=", entry, re.M), f"{key} has no {field}"
        assert re.search(r"\b(doi|eprint|url|isbn)\s*=", entry), (
            f"{key} has no doi, arXiv number or address"
        )


def test_cited_works_and_no_others_are_in_the_bibliography():
    bibliography = (ROOT / "book" / "references.bib").read_text("utf-8")
    keys = set(re.findall(r"^@\w+\{([\w-]+),", bibliography, re.M))
    cited = {
        key
        for path in PAGES
        for words in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", prose(path))
        for key in re.split(", *", words)
    }
    assert cited == keys


def test_the_guide_has_a_section_for_each_chapter():
    sections = re.findall(r"^\(teach-(\d\d)\)=\n", TEXT["teach.md"], flags=re.M)
    assert sections == [path.stem[:2] for path in CHAPTERS]


# Numbers that pages take from vitlib


@said(
    r"\{((?:result|model)\}`[^`]+)`",
    {name: TEXT[name] for name in TEXT.keys() - {path.name for path in AROUND}},
)
def test_computed_numbers_can_be_had(numbers, page, words):
    role, words = words.split("}`")
    assert re.search(r"\w", getattr(numbers, role)(words))


@said(r"\{computed\} (.+)", TEXT)
def test_computed_tables_are_tables(numbers, page, words):
    lines = numbers.make_table(words).splitlines()
    assert len(lines) >= 3 and len({line.count(" | ") for line in lines}) == 1


# The appendices


def entries(name: str, pattern: str) -> list[tuple[str, str]]:
    """Headings and bodies of a page's entries."""
    parts = re.split(pattern, TEXT[name], flags=re.M)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


CONCEPTS = entries("key-concepts.md", r"^(\w.*)\n(?=  \S)")
QUESTIONS = entries("questions.md", r"^:::\{dropdown\} (.+)\n")


def test_key_concepts_are_sorted_and_lead_to_their_chapters():
    names = [name for name, _ in CONCEPTS]
    assert len(names) >= 30
    assert names == sorted(names, key=str.casefold)
    for name, body in CONCEPTS:
        assert re.search(r"\{ref\}`|\{eq\}`|\(planned\)", body), f"{name} leads nowhere"
        text = re.sub(r"\$[^$]*\$|\{[\w:]+\}`[^`]*`", "x", body.split("\n\n")[0])
        sentences = re.split(r"[.?!]\)?\s+(?=[A-Z\"])", text.strip())
        assert 2 <= len(sentences) <= 7, f"{name} has {len(sentences)} sentences"


@cache
def defined() -> dict[str, set[str]]:
    """What roles may name: the labels of all pages, and the terms."""
    label = r"^\(([\w-]+)\)=|:(?:label|name): *([\w-]+)|\$\$ *\(([\w-]+)\)"
    labels = {
        name
        for path in PAGES
        for names in re.findall(label, prose(path), re.M)
        for name in names
    }
    return {
        "ref": labels,
        "eq": labels,
        "term": {name.casefold() for name, _ in CONCEPTS},
    }


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_labels_and_terms_that_are_linked_exist(path):
    for role, words in re.findall(r"\{(ref|eq|term)\}`([^`]+)`", prose(path)):
        target = re.sub(r".*<(.+)>", r"\1", " ".join(words.split()))
        target = target.casefold() if role == "term" else target
        assert target in defined()[role], f"{role} links to {target}"


def test_questions_have_folded_answers_with_evidence():
    assert len(QUESTIONS) >= 14
    labels = re.findall(r"^:name: (q-[\w-]+)$", TEXT["questions.md"], re.M)
    assert len(labels) == len(set(labels)) == len(QUESTIONS)
    for question, answer in QUESTIONS:
        body = answer.split("\n:::")[0]
        assert question.endswith("?"), question
        assert len(body.split()) >= 50, f"a short answer to {question!r}"
        if "cite a number" not in question:
            evidence = re.search(r"^\*Evidence:\* (.+)", body, re.M | re.S)
            assert evidence and re.search(
                r"paper|cite|results file|`|arithmetic|works cited", evidence[1]
            ), question
