"""The pages around the chapters: their commands exist, their links lead somewhere, their numbers are the files'."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tools.site import readme
from vitworkshop.cli import _parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "book").glob("*.md"))]
TEXT = {path.name: path.read_text(encoding="utf-8") for path in PAGES}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def code_of(text: str) -> str:
    """Everything set as code: fenced blocks, and inline code that is a command."""
    blocks = re.findall(r"^ *```(?:bash|powershell|console)\n(.*?)^ *```", text, re.M | re.S)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S))
    return "\n".join([*blocks, *inline])


CODE = {name: code_of(text) for name, text in TEXT.items()}
MAKES = sorted(
    {(name, m) for name, code in CODE.items() for m in re.findall(r"^\s*make (\S.*)$", code, re.M)}
)
CALLS = sorted(
    {
        (name, m.strip())
        for name, code in CODE.items()
        for m in re.findall(r"python(?:3|\.exe)? -m vitlib\b(.*?)(?:\s#.*)?$", code, re.M)
    }
)
SCRIPTS = sorted(
    {
        (name, m)
        for name, code in CODE.items()
        for m in re.findall(r"(?<![\w/])(?:tests/)?tools[/.][\w/.]*\w", code)
    }
)


@pytest.mark.parametrize(("page", "words"), MAKES)
def test_make_targets_and_variables_exist(page, words):
    target, *settings = shlex.split(words.split("#")[0])
    assert re.search(rf"^{re.escape(target)}:", MAKEFILE, re.M), (
        f"{page}: the Makefile has no target {target!r}"
    )
    for setting in settings:
        variable = setting.split("=")[0]
        assert f"$({variable})" in MAKEFILE, f"{page}: the Makefile knows no variable {variable!r}"


@pytest.mark.parametrize(("page", "words"), CALLS)
def test_command_lines_are_understood(page, words):
    arguments = shlex.split(words.replace("…", ""))
    if not arguments or arguments[-1] == "--help":
        arguments = arguments[:-1]
    if not arguments:
        return
    try:
        parser = _parser()
        parsed = parser.parse_args(arguments)
    except SystemExit:
        pytest.fail(f"{page}: `python -m vitlib{words}` is not a command")
    except ModuleNotFoundError as error:
        pytest.fail(f"{page}: `python -m vitlib{words}` needs {error.name}")
    assert isinstance(parsed, argparse.Namespace)
    if arguments[0] == "train":
        from vitlib.train.recipe import RECIPES

        assert parsed.preset in RECIPES


@pytest.mark.parametrize(("page", "script"), SCRIPTS)
def test_scripts_exist(page, script):
    path = script if "/" in script else f"{script.replace('.', '/')}.py"
    assert (ROOT / path).exists(), f"{page} names {script}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(page):
    text = re.sub(r"^ *```.*?^ *```", "", TEXT[page.name], flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
    for target in re.findall(r"(?:src|srcset)=\"(?!https?:)([^\"]+)\"", TEXT[page.name]):
        # pages land in _build/html/book, static files in _build/html/_static
        assert (ROOT / "book" / target.removeprefix("../")).exists(), f"{page.name} shows {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pictures_have_alt_text(page):
    for picture in re.findall(r"<img[^>]*>", TEXT[page.name]):
        alt = re.search(r'alt="([^"]*)"', picture)
        assert alt and len(alt[1]) > 40, (
            f"{page.name}: {picture[:80]} says nothing to those who do not see it"
        )
    for alt in re.findall(r"!\[([^\]]*)\]\(", TEXT[page.name]):
        assert len(alt) > 40, f"{page.name}: alt text {alt!r}"


@pytest.mark.parametrize("page", readme.PAGES, ids=lambda path: path.name)
def test_results_on_the_page_are_those_of_the_files(page):
    text = page.read_text(encoding="utf-8")
    assert readme.fill(text, readme.cards()) == text, "run: python -m tools.site.readme"


def test_the_table_of_results_rounds_and_orders():
    def card(name, *accuracies):
        return {
            "name": name,
            "dataset": "Drawn-10",
            "parameters": 311_338,
            "recipe": {"epochs": 4},
            "hardware": "Intel(R) Xeon(R) Processor, 1 of 2 cores",
            "seconds": 5530.0,
            "accuracies": accuracies,
        }

    one = readme.row(card("drawn10-small", 0.87654))
    assert (
        one
        == "| `drawn10-small` | Drawn-10 | 311 k | 4 | Intel Xeon, 1 of 2 cores | 1 h 32 min | **87.7 %** |"
    )
    assert readme.row(card("cifar10-modern", 0.71, 0.72, 0.73)).endswith("**72.0 %** ± 1.0 (3 seeds) |")
    assert readme.duration(48.4) == "48 s" and readme.duration(600) == "10 min"
    assert readme.size(5_362_762) == "5.4 M"
    with pytest.raises(ValueError, match="expected one block"):
        readme.fill("no block here", [])


def test_cards_are_finished_runs_only(tmp_path):
    for name, final in (
        ("a-modern", {"test_accuracy": 0.9}),
        ("b-laptop", {"test_accuracy": 0.6}),
        ("c", {}),
        ("a-modern-s1", {"test_accuracy": 0.8}),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps({"name": name, "final": final}))
    found = readme.cards(tmp_path)
    assert [card["name"] for card in found] == ["b-laptop", "a-modern"]
    assert [card["accuracies"] for card in found] == [[0.6], [0.9, 0.8]]  # another seed joins its run


def test_the_citation_carries_the_package_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"version: {project['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_work_in_the_bibliography_can_be_found():
    text = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    entries = re.split(r"^@", re.sub(r"^%.*$", "", text, flags=re.M), flags=re.M)[1:]
    keys = [re.match(r"\w+\{([\w-]+),", entry)[1] for entry in entries]
    assert len(keys) == len(set(keys)), "a key stands twice in references.bib"
    for key, entry in zip(keys, entries, strict=True):
        for field in ("title", "author", "year"):
            assert re.search(rf"^\s*{field}\s*=", entry, re.M), f"{key} has no {field}"
        assert re.search(r"\b(doi|eprint|url|isbn)\s*=", entry), f"{key} has no doi, arXiv number or address"


def test_cited_works_are_in_the_bibliography():
    keys = set(re.findall(r"^@\w+\{([\w-]+),", (ROOT / "book" / "references.bib").read_text("utf-8"), re.M))
    book = [path for path in (ROOT / "book").iterdir() if path.suffix in (".md", ".ipynb")]
    for name, text in ((path.name, path.read_text("utf-8")) for path in book):
        for cited in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", text):
            for key in cited.split(","):
                assert key.strip() in keys, f"{name} cites {key.strip()}, which references.bib does not have"


# Numbers that pages take from vitlib


ROLES = sorted(
    {
        (name, role, words)
        for name, text in TEXT.items()
        if name not in ("README.md", "CONTRIBUTING.md")
        for role, words in re.findall(r"\{(result|model)\}`([^`]+)`", text)
    }
)
TABLES = sorted(
    {(name, table) for name, text in TEXT.items() for table in re.findall(r"\{computed\} (.+)", text)}
)


@pytest.mark.parametrize(("page", "role", "words"), ROLES)
def test_computed_numbers_can_be_had(page, role, words):
    computed = pytest.importorskip("book._ext.computed")
    assert re.search(r"\w", getattr(computed, role)(words)), f"{page}: {{{role}}}`{words}` is empty"


@pytest.mark.parametrize(("page", "table"), TABLES)
def test_computed_tables_are_tables(page, table):
    lines = pytest.importorskip("book._ext.computed").make_table(table)
    assert len(lines) >= 3 and len({line.count(" | ") for line in lines}) == 1, f"{page}: {table}"


def test_computed_sizes_are_the_known_ones():
    """Three lines of the table of sizes; the rest are held by test_vit.py."""
    lines = "\n".join(pytest.importorskip("book._ext.computed").make_table("model-sizes"))
    assert "| ViT-Ti/16 | 12 | 192 | 768 | 3 | 196 | 5,717,416 | 5,524,416 | 1.25 |" in lines
    assert "| ViT-B/16 | 12 | 768 | 3,072 | 12 | 196 | 86,567,656 | 85,798,656 | 17.56 |" in lines
    assert "| ViT-H/14 | 32 | 1,280 | 5,120 | 16 | 256 | 632,045,800 | 630,764,800 | 167.30 |" in lines


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


def test_terms_that_are_linked_exist():
    names = {name.casefold() for name, _ in CONCEPTS}
    for page, text in TEXT.items():
        for words in re.findall(r"\{term\}`([^`]+)`", text):
            term = re.sub(r".*<(.+)>", r"\1", words.replace("\n", " ")).casefold()
            assert term in names, f"{page} links to the term {term!r}"


@pytest.mark.parametrize("page", ["key-concepts.md", "questions.md", "data-and-models.md", "map.md"])
def test_labels_that_the_appendices_link_to_exist(page):
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "book").iterdir() if path.suffix == ".md"]
    for path in (ROOT / "book").glob("*.ipynb"):
        texts += ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    defined = {
        name
        for text in texts
        for names in re.findall(r"^\(([\w-]+)\)=|:(?:label|name): *([\w-]+)|\$\$ *\(([\w-]+)\)", text, re.M)
        for name in names
    }
    for words in re.findall(r"\{(?:ref|eq)\}`([^`]+)`", TEXT[page]):
        label = re.sub(r".*<(.+)>", r"\1", words.replace("\n", " "))
        assert label in defined, f"{page} links to {label}"


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
            assert evidence and re.search(r"paper|cite|results file|`|arithmetic|works cited", evidence[1]), (
                question
            )


def test_contributing_has_the_figure_of_the_last_mutation_run():
    figures = json.loads((ROOT / "tools/mutants.json").read_text(encoding="utf-8"))
    killed, tried = (sum(counts) for counts in zip(*figures["modules"].values(), strict=True))
    wanted = (
        f"{tried} changes in {len(figures['modules'])} modules, {killed} noticed ({killed / tried:.1%}), "
        f"{figures['accepted']} that make no difference"
    )
    assert wanted in " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    assert tried >= 300 and killed >= 0.95 * tried and killed + figures["accepted"] == tried
