"""The book's form: every notebook as it is kept in git, and every page as it was built by `make book`."""

import json
import os
import re
import subprocess
from functools import cache
from html.parser import HTMLParser
from statistics import median
from urllib.parse import unquote, urlsplit

import pytest
from browsing import sampled_pages
from pages import CHAPTERS, ROOT, cells, prose, read, source, tags

from page.address import colab_cell, read_url
from page.browser import HTML
from page.lengths import all_lengths, measure
from page.map import PARTS, drawn
from tools.build import toc_pages

HIDDEN = {"colab-setup", "remove-cell", "remove-input", "hide-input"}
chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
page = pytest.mark.parametrize("name", toc_pages())


def text_of(name: str) -> str:
    """The HTML of the built page ``name``."""
    if os.environ.get("NO_PAGE"):  # tools.chapter sets it
        pytest.skip("no page was asked: make book builds it")
    file = HTML / f"{name}.html"
    if not file.is_file():
        pytest.fail(f"{file} does not exist: build the book first (make book)")
    return file.read_text(encoding="utf-8")


@cache
def soup(name: str):
    """The built page ``name``, parsed."""
    from bs4 import BeautifulSoup

    return BeautifulSoup(text_of(name), "html.parser")


# Notebooks, as they are kept in git


def test_every_chapter_is_in_the_table_of_contents():
    assert CHAPTERS
    listed = toc_pages()
    assert [f"book/{path.stem}" for path in CHAPTERS] == [
        name for name in listed if re.match(r"book/\d\d-", name)
    ]
    for name in listed:
        assert any(
            (ROOT / f"{name}{ending}").is_file() for ending in (".md", ".ipynb")
        ), f"{name} is missing"


@chapter
def test_code_cells_are_short(path):
    """At most 25 lines, half of them 8; a page shows some 90 columns without scrolling."""
    lengths = sorted(len(source(cell).splitlines()) for cell in cells(path))
    assert lengths[-1] <= 25 and lengths[len(lengths) // 2] <= 8, lengths
    shown = [source(cell) for cell in cells(path) if not HIDDEN & {*tags(cell)}]
    wide = [line for line in "\n".join(shown).splitlines() if len(line) > 95]
    assert not wide, "88 columns are wanted and 95 the most"


@chapter
def test_a_chapter_can_be_read_in_a_sitting(path):
    length = measure(read(path))
    assert length.words <= 3300 and length.cells <= 70 and length.lines <= 300, length
    assert length.exercises <= 45, "what takes longer stands under More exercises"
    assert length.time in prose(path), "run: python -m page.lengths --write"


def test_the_book_is_no_longer_than_it_may_be():
    """Ceilings, not aims: the check prints how long each chapter is."""
    found = list(all_lengths().values())
    assert sum(one.words for one in found) <= 52_000
    for field, most in (("words", 2700), ("cells", 58), ("lines", 240)):
        assert median(getattr(one, field) for one in found) <= most, field


@chapter
def test_set_up_cells(path):
    first, second, *_ = cells(path)
    assert {"colab-setup", "remove-cell"} <= {*tags(first)}, (
        "the first code cell is the one for Colab"
    )
    assert source(first) == colab_cell(read_url()), "run: make set-url"
    assert sum("colab-setup" in tags(cell) for cell in cells(path)) == 1
    assert "vl.seed_everything(0)" in source(second), "the second code cell seeds"
    assert "vl.__version__" in source(second), (
        "the second code cell says which versions run"
    )


@chapter
def test_outputs_in_git(path):
    """Small text stays, images go, and execution counts are kept (without them nbval compares nothing)."""
    for number, cell in enumerate(cells(path), 1):
        for output in cell["outputs"]:
            kinds = list(output.get("data", {}))
            large = any(
                kind.startswith(("image/", "video/", "application/")) for kind in kinds
            )
            assert not large and len(json.dumps(output)) < 4000, (
                f"code cell {number}: make refresh"
            )
            if output["output_type"] == "error":
                assert "raises-exception" in tags(cell), (
                    f"code cell {number} keeps an {output['ename']}"
                )
    counts = [cell["execution_count"] for cell in cells(path)]
    assert None not in counts, "a code cell has not been run: make refresh"
    assert counts == sorted(counts), "the cells were not run from top to bottom"
    metadata = read(path)["metadata"]
    assert metadata["kernelspec"]["name"] == "python3"
    assert "widgets" not in metadata


@chapter
def test_golden_text(path):
    golden = [cell for cell in cells(path) if "nbval-check-output" in tags(cell)]
    assert len(golden) >= 3, (
        "tag at least three cells whose printed text is the lesson nbval-check-output"
    )
    for cell in golden:
        kinds = {output["output_type"] for output in cell["outputs"]}
        assert kinds & {"stream", "execute_result", "error"}, (
            f"keeps no text to compare:\n{source(cell)}"
        )


@chapter
def test_the_template(path):
    """Title and promise, the box at the top with its four parts, what goes wrong, advice, and the last sections."""
    text = prose(path)
    assert re.match(r"(\([\w-]+\)=\n)?# .+\n\n[^#\s]", text), (
        "title, then the one-line promise"
    )
    box = re.search(
        r"\{admonition\} At a glance\n:class:[^\n]*\bglance\b(.+?)\n:::", text, re.S
    )[1]
    parts = (
        r"\bcan\b|be able to",
        "need first",
        r"\bminutes to read\b",
        "In the paper",
        r"cite:[pt]\}`dos",
    )
    assert not [part for part in parts if not re.search(part, box)], (
        "not in the box at the top"
    )
    assert re.search(r"\{admonition\} What goes wrong.*\n:class:.*\bgoes-wrong\b", text)
    wanted = ["What to take", "Key terms", "Exercises", "References"]
    assert [
        name for name in re.findall(r"^## +(.+?)\s*$", text, re.M) if name in wanted
    ] == wanted
    assert "{bibliography}" in text
    advice = text.split("## What to take")[1].split("\n## ")[0]
    assert 3 <= len(re.findall("^- ", advice, re.M)) <= 5, (
        "three to five sentences of advice"
    )


@chapter
def test_the_bug_runs(path):
    """What goes wrong is shown, not told: code runs in the section of the box."""
    shown = [
        source(cell) if cell["cell_type"] == "markdown" else "<code>"
        for cell in read(path)["cells"]
    ]
    sections = re.split("^## ", "\n".join(shown), flags=re.M)
    (section,) = [each for each in sections if "{admonition} What goes wrong" in each]
    assert "<code>" in section


@chapter
def test_titles_agree(path):
    """The name in the chapter, in the table of contents and on the map is the same."""
    title = re.search(r"^# (.+)$", source(read(path)["cells"][0]), re.M)[1]
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert f"- file: book/{path.stem}\n        title: {path.stem[:2]} {title}\n" in toc
    for part in PARTS:
        if part.number == path.stem[:2]:
            assert part.page == path.stem and title.startswith(part.name)


@chapter
def test_exercises_have_folded_solutions(path):
    text = prose(path)
    exercises = re.findall(
        r"\{exercise(?:-start)?\}[^\n]*\n(?::\w+:[^\n]*\n)*?:label: *(\S+)", text
    )
    solutions = re.findall(
        r"\{solution(?:-start)?\} *(\S+)\n((?::\w+:[^\n]*\n)*)", text
    )
    core = re.findall(r"\{exercise(?:-start)?\}", text.split("### More exercises")[0])
    assert 3 <= len(exercises) <= 8 and len(core) <= 5, (
        "3 to 8 exercises, five of them before More exercises"
    )
    assert sorted(exercises) == sorted(label for label, _ in solutions), (
        "each exercise has one solution"
    )
    for label, options in solutions:
        assert re.search(r":class:.*\bdropdown\b", options), (
            f"the solution of {label} is not folded"
        )
    graded = re.findall(
        r"[Dd]ifficulty[^\n]*\b\d+ minutes", text.split("## Exercises")[1]
    )
    assert len(graded) >= len(exercises), (
        "each exercise says how difficult it is and its minutes"
    )


def test_nothing_large_in_git():
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    sizes = {
        name: (ROOT / name).stat().st_size
        for name in listing.stdout.split("\0")
        if (ROOT / name).is_file()
    }
    assert max(sizes.values()) <= 12e6, max(sizes, key=sizes.get)
    results = sum(
        size for name, size in sizes.items() if name.startswith("vitlib/results/")
    )
    assert results <= 6 * 2**20, f"vitlib/results holds {results / 2**20:.2f} MiB"


# Pages, as they were built


@page
def test_every_entry_has_its_page(name):
    title = soup(name).find("h1")
    assert title and title.get_text(strip=True)


@pytest.mark.parametrize("site", ["", "zh/"])
def test_the_front_door_leads_to_the_title_page(site):
    front = soup(f"{site}index")
    assert front.a["href"] == f"{toc_pages()[0]}.html"
    assert front.html["lang"] == ("zh-CN" if site else "en")
    assert front.title.get_text() == front.a.get_text() != ""


@page
def test_a_link_to_it_shows_something(name):
    """Its title, which names the book once, its promise, and a picture that is there."""
    read = soup(name)
    tags = {
        tag.get("property"): tag["content"] for tag in read.select("meta[property]")
    }
    assert tags["og:title"] and tags["og:description"]
    if not read_url():
        assert (HTML / f"{name}.html").parent.joinpath(tags["og:image"]).is_file()
    assert read.title.get_text().count("Patch by Patch") == 1
    assert len(read.select("meta[name=viewport]")) == 1


@page
def test_images_have_alt_text(name):
    for image in soup(name).select('img:not([aria-hidden="true"])'):
        alt = (image.get("alt") or "").strip()
        file = re.search(
            r"\.(png|svg|jpe?g|gif|webp)$|^[./_\w-]*/[\w./-]*$|^[0-9a-f]{16,}", alt
        )
        assert " " in alt and not file, f"{image.get('src')} is described as {alt!r}"


@page
def test_nothing_comes_from_another_host(name):
    for tag in soup(name).find_all(["script", "link", "img", "iframe", "source"]):
        if not {"canonical", "next", "prev"} & {*tag.get("rel", [])}:
            address = tag.get("href" if tag.name == "link" else "src") or ""
            assert not re.match(r"(https?:)?//", address), f"{tag.name} {address}"


class Links(HTMLParser):
    """The links of a page, where links may lead in it, and its tags: read in a sixth of the time of soup."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links, self.anchors, self.tags = [], set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        for key, value in attributes:
            if key in ("id", "name") and value:
                self.anchors.add(value)
            if key == "href" and tag == "a":
                self.links.append(value)


@cache
def linked(name: str) -> Links:
    return Links(text_of(name))


@pytest.mark.parametrize(
    "name", [*toc_pages(), *sampled_pages(6, [f"zh/{name}" for name in toc_pages()])]
)
def test_internal_links_lead_somewhere(name):
    here = (HTML / f"{name}.html").resolve()
    for link in linked(name).links:
        address = urlsplit(link)
        if address.scheme or address.netloc:
            continue
        target = (
            (here.parent / unquote(address.path)).resolve() if address.path else here
        )
        assert target.is_file(), f"broken link {link!r}"
        if address.fragment and target.suffix == ".html" and address.fragment != "top":
            other = target.relative_to(HTML.resolve()).with_suffix("").as_posix()
            # of an explorer, which need only be there
            state = re.match("(lab|learn|way)-", address.fragment)
            there = (
                f"vit-{state[1]}" in linked(other).tags
                if state
                else unquote(address.fragment) in linked(other).anchors
            )
            assert there, f"no anchor {link!r}"


def maps(article, lit: list[str]) -> list:
    """A page's maps, one for each shape, with every part once, as a link, and these parts lit."""
    drawings = article.select("nav.vit-map-place svg.vit-map")
    assert ["wide" in drawing["class"] for drawing in drawings] == [True, False]
    for drawing in drawings:
        parts = drawing.find_all(class_="part")
        assert sorted(part["data-part"] for part in parts) == [
            part.number for part in drawn()
        ]
        assert all(
            part.name == "a" and part["href"].startswith(part["data-part"])
            for part in parts
        )
        assert all(len(part["aria-label"]) > 30 for part in parts)
        assert [part["data-part"] for part in drawing.find_all(class_="lit")] == lit
    return drawings


@chapter
def test_the_map_opens_the_chapter(path):
    """After title and promise stands the strip, in two shapes, each with this chapter's part lit."""
    article = soup(f"book/{path.stem}").find("article")
    lit = [part.number for part in drawn() if part.page == path.stem]
    for drawing in maps(article, lit):
        if not lit:
            continue
        (here,) = drawing.find_all(attrs={"aria-current": True})
        assert here["data-part"] == path.stem[:2] and here["aria-current"] == "page"
        assert "you are here" in here["aria-label"]
        # the tooltip, and the words on the map
        assert drawing.get_text().count("you are here") == 2
    (place,) = article.find_all("nav", class_="vit-map-place")
    before = place.find_previous_sibling()
    assert before.name == "p" and before.find_previous_sibling().name == "h1"


@chapter
def test_numbers_begin_with_the_chapters(path):
    """Equations, figures and exercises are counted within their chapter."""
    article, number = soup(f"book/{path.stem}").find("article"), int(path.stem[:2])
    equations = [
        re.sub(r"[^\d.]", "", each.get_text())
        for each in article.find_all(class_="eqno")
    ]
    assert equations == [f"{number}.{i}" for i in range(1, len(equations) + 1)]
    titles = [
        each.get_text() for each in article.select("div.exercise > p.admonition-title")
    ]
    assert len(titles) >= 3
    for i, title in enumerate(titles, 1):
        assert f"Exercise {number}.{i} " in title
    for each in article.find_all(class_="caption-number"):
        assert f" {number}." in each.get_text()


@page
def test_no_directive_is_left_unread(name):
    """Text such as `{ref}` or `:::` on a page is MyST that was mistyped."""
    article = soup(name).find("article")
    for element in article.find_all(["p", "li", "td"]):
        parts = [
            part
            for part in element.find_all(string=True)
            if not part.find_parent(["pre", "code"])
        ]
        text = "".join(parts)
        roles = r"ref|numref|eq|cite(:\w)?|doc|py:\w+|glue\S*|term|result|model|live|download"
        found = re.search(rf":::|\{{({roles})\}}|^\s*```", text)
        assert not found, f"unread markup: {text.strip()[:120]!r}"
