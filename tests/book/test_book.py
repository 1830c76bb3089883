"""The book's form: every notebook as it is kept in git, and every page as it was built by `make book`."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import CHAPTERS, ROOT, code_cells, prose, read, source, tags

from tools.build import HTML, toc_pages
from tools.site.address import colab_cell, read_url
from tools.site.map import PARTS

NUMBERS = {path.stem[:2] for path in CHAPTERS}
PAGES = [*CHAPTERS, *sorted((ROOT / "book").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
HIDDEN = {"colab-setup", "remove-cell", "remove-input", "hide-input"}
LABELS = {  # what other pages link to
    "01": "ch-patchify eq-01-patchify eq-01-tokens eq-01-bytes eq-01-share",
    "02": "ch-patch-embedding sec-02-same sec-02-overlap sec-02-traps",
    "03": "ch-position sec-03-equivariance sec-03-kinds sec-03-live",
    "04": "ch-resolution sec-04-resample sec-04-accuracy",
    "05": "ch-attention sec-05-sqrt-d sec-05-heads sec-05-fused sec-05-cost eq-05-attention",
    "06": "ch-encoder sec-06-layernorm sec-06-prenorm sec-06-mlp sec-06-residual sec-06-droppath",
    "07": "ch-cls-or-gap sec-07-cls sec-07-gap sec-07-lr",
    "08": "ch-whole-vit sec-08-assembly sec-08-init sec-08-shapes sec-08-counts",
    "09": "ch-training sec-attention sec-wrong eq-ce eq-adam eq-schedule eq-normalise",
    "10": "ch-recipe sec-10-decay sec-10-schedule sec-10-scaling sec-10-augment sec-10-mix sec-10-smooth "
    "sec-10-ema sec-10-muon sec-10-ladder sec-10-speed sec-10-minute sec-10-fifty eq-10-gap eq-10-ema",
    "11": "ch-inductive-bias sec-11-local sec-11-order sec-11-shift sec-11-conv sec-11-runs sec-11-data sec-11-wrong "
    "eq-11-field eq-11-equivariant eq-11-conv",
    "12": "ch-scaling sec-12-spend sec-12-shape sec-12-compute sec-12-memory sec-12-parallel sec-12-thousand "
    "sec-12-wrong eq-12-flops eq-12-bytes",
    "13": "ch-attention-maps sec-13-row sec-13-hooks sec-13-scale sec-13-entropy sec-13-even sec-13-temperature "
    "sec-13-resolution sec-13-place sec-13-values sec-13-other sec-13-wrong",
    "14": "ch-rollout sec-14-test sec-14-rollout sec-14-relevance sec-14-gradcam sec-14-occlusion sec-14-faithful",
    "15": "ch-what-it-learns sec-15-filters sec-15-positions sec-15-distance sec-15-lens sec-15-heads sec-15-sinks",
    "16": "ch-transfer sec-16-head sec-16-probe sec-16-finetune sec-16-size sec-16-study sec-16-weights sec-16-own "
    "sec-16-wrong eq-16-head eq-16-ridge eq-16-closed eq-16-loo eq-16-momentum",
    "17": "ch-masked sec-17-corrupt sec-17-targets sec-17-guess sec-17-live sec-17-worth sec-17-after sec-17-wrong "
    "eq-17-input eq-17-mean",
    "18": "ch-axial sec-18-axial sec-18-study sec-18-windows sec-18-after sec-18-segment sec-18-wrong eq-18-axial "
    "eq-18-deit eq-18-clip eq-18-flexi eq-18-iou",
}
chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
page = pytest.mark.parametrize("name", toc_pages())


@cache
def soup(name: str):
    """The built page ``name``, parsed."""
    from bs4 import BeautifulSoup

    file = HTML / f"{name}.html"
    if not file.is_file():
        pytest.fail(f"{file} does not exist: build the book first (make book)")
    return BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")


# Notebooks, as they are kept in git


def test_every_chapter_is_in_the_table_of_contents():
    assert CHAPTERS
    listed = toc_pages()
    assert [f"book/{path.stem}" for path in CHAPTERS] == [
        name for name in listed if re.match(r"book/\d\d-", name)
    ]
    for name in listed:
        assert any((ROOT / f"{name}{ending}").is_file() for ending in (".md", ".ipynb")), f"{name} is missing"


@chapter
def test_code_cells_are_short(path):
    lengths = sorted(len(source(cell).splitlines()) for cell in code_cells(path))
    assert lengths[-1] <= 25, f"the longest code cell has {lengths[-1]} lines, at most 25 are wanted"
    assert lengths[len(lengths) // 2] <= 8, (
        f"the median code cell has {lengths[len(lengths) // 2]} lines, not 8"
    )


@chapter
def test_a_chapter_can_be_read_in_a_sitting(path):
    assert 60 <= len(read(path)["cells"]) <= 100
    read_by_all = re.sub(
        r"!\[[^]]*\]\([^)]*\)", "", prose(path)
    )  # who sees a picture does not read its description
    assert len(read_by_all.split()) <= 5000


@chapter
def test_code_fits_the_page(path):
    """A page shows some 90 columns without scrolling."""
    for cell in code_cells(path):
        if not HIDDEN & set(tags(cell)):
            longest = max(source(cell).splitlines() or [""], key=len)
            assert len(longest) <= 95, (
                f"{len(longest)} columns, 88 are wanted and 95 the most: {longest.strip()}"
            )


@chapter
def test_set_up_cells(path):
    cells = code_cells(path)
    assert "colab-setup" in tags(cells[0]), "the first code cell is the one for Colab"
    assert source(cells[0]) == colab_cell(read_url()), "run: make set-url"
    assert "remove-cell" in tags(cells[0])
    assert sum("colab-setup" in tags(cell) for cell in cells) == 1
    assert "vl.seed_everything(0)" in source(cells[1]), "the second code cell seeds"
    assert "vl.__version__" in source(cells[1]), "the second code cell says which versions run"


@chapter
def test_outputs_in_git(path):
    """Small text stays, images go, and execution counts are kept (without them nbval compares nothing)."""
    counts = []
    for number, cell in enumerate(code_cells(path), 1):
        counts.append(cell["execution_count"])
        for output in cell["outputs"]:
            kinds = set(output.get("data", {}))
            assert not any(kind.startswith(("image/", "video/", "application/")) for kind in kinds), (
                f"code cell {number} keeps {kinds}; run: make refresh"
            )
            assert len(json.dumps(output)) < 4000, (
                f"code cell {number} keeps a large output; run: make refresh"
            )
            if output["output_type"] == "error":
                assert "raises-exception" in tags(cell), (
                    f"code cell {number} keeps an error: {output['ename']}"
                )
    assert None not in counts, "a code cell has not been run: make refresh"
    assert counts == sorted(counts), "the cells were not run from top to bottom"
    metadata = read(path)["metadata"]
    assert metadata["kernelspec"]["name"] == "python3"
    assert "widgets" not in metadata


@chapter
def test_golden_text(path):
    golden = [cell for cell in code_cells(path) if "nbval-check-output" in tags(cell)]
    assert len(golden) >= 3, "tag at least three cells whose printed text is the lesson nbval-check-output"
    for cell in golden:
        assert any(
            output["output_type"] in {"stream", "execute_result", "error"} for output in cell["outputs"]
        ), f"tagged nbval-check-output, but it keeps no text to compare:\n{source(cell)}"


@chapter
def test_sections(path):
    text = prose(path)
    first = source(read(path)["cells"][0])
    assert re.match(r"(\([\w-]+\)=\n)?# .+\n\n[^#\s]", first), "title, then the one-line promise"
    assert re.search(r"\{admonition\} At a glance\n:class:.*\bglance\b", text)
    assert re.search(r"\{admonition\} What goes wrong.*\n:class:.*\bgoes-wrong\b", text)
    headings = re.findall(r"^## +(.+?)\s*$", text, re.M)
    wanted = ["Summary", "Key terms", "Exercises", "References"]
    assert [heading for heading in headings if heading in wanted] == wanted
    assert "{bibliography}" in text


@chapter
def test_glance(path):
    """The first box says what one will be able to do, what one needs, how long it takes, and where the paper has it."""
    box = re.search(r"\{admonition\} At a glance\n(.+?)\n:::", prose(path), re.S)[1]
    for wanted in (
        r"\bcan\b|be able to",
        r"need first",
        r"\bminutes to read\b",
        r"In the paper",
        r"cite:[pt]\}`dosov",
    ):
        assert re.search(wanted, box), f"the glance box of {path.stem} has nothing like {wanted!r}"


@chapter
def test_the_bug_runs(path):
    """What goes wrong is shown, not told: code runs in the section of the box."""
    cells = read(path)["cells"]
    place = next(i for i, cell in enumerate(cells) if "{admonition} What goes wrong" in source(cell))
    is_new = [
        cell["cell_type"] == "markdown" and bool(re.search(r"^## ", source(cell), re.M)) for cell in cells
    ]
    start = max(i for i in range(place + 1) if is_new[i])
    end = next(i for i in range(place + 1, len(cells)) if is_new[i])
    assert any(cell["cell_type"] == "code" for cell in cells[start:end])


@chapter
def test_labels_that_others_link_to(path):
    text = prose(path)
    defined = set(re.findall(r"^\(([\w-]+)\)=|:label: *([\w-]+)|\$\$ *\(([\w-]+)\)", text, re.M))
    defined = {name for names in defined for name in names if name}
    missing = set(LABELS.get(path.stem[:2], "").split()) - defined
    assert not missing, f"{path.stem} does not define {', '.join(sorted(missing))}"


@chapter
def test_titles_agree(path):
    """The name in the chapter, in the table of contents and on the map is the same."""
    title = re.search(r"^# (.+)$", source(read(path)["cells"][0]), re.M)[1]
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert f"- file: book/{path.stem}\n        title: {path.stem[:2]} {title}\n" in toc
    for part in PARTS:
        if part.number == path.stem[:2]:
            assert part.page == path.stem and title.startswith(part.name)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_planned_is_said_of_planned_chapters_only(path):
    text = prose(path)
    for words in re.findall(r"[Cc]hapters?((?:(?![Cc]hapter|planned).){1,40})planned", text):
        named = {f"{int(n):02d}" for n in re.findall(r"\b\d\d?\b", words)}
        assert not named & NUMBERS, f"{path.name} says of a chapter that exists that it is planned: {words!r}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_chapters_that_are_linked_exist(path):
    text = prose(path)
    stems = {path.stem for path in CHAPTERS}
    links = re.findall(r"\]\((?:book/)?(\d\d-[\w-]+)(?:\.\w+)?(?:#[\w-]*)?\)", text)
    links += re.findall(r"<(\d\d-[\w-]+)>`", text) + re.findall(r"\{doc\}`(\d\d-[\w-]+)`", text)
    gone = set(links) - stems
    assert not gone, f"{path.name} links to {', '.join(sorted(gone))}"


@chapter
def test_boxes_that_should_fold_do(path):
    open_ = re.findall(r"\{admonition\} ([^\n]*)\n:class:[^\n]*\bdropdown\b", prose(path))
    assert not open_, f"write {{dropdown}}, not {{admonition}}: the theme leaves it open: {open_}"


@chapter
def test_exercises_have_folded_solutions(path):
    text = prose(path)
    exercises = re.findall(r"\{exercise(?:-start)?\}[^\n]*\n(?::\w+:[^\n]*\n)*?:label: *(\S+)", text)
    solutions = re.findall(r"\{solution(?:-start)?\} *(\S+)\n((?::\w+:[^\n]*\n)*)", text)
    assert 5 <= len(exercises) <= 8, f"{len(exercises)} exercises, 5 to 8 are wanted"
    assert sorted(exercises) == sorted(label for label, _ in solutions), "each exercise has one solution"
    for label, options in solutions:
        assert re.search(r":class:.*\bdropdown\b", options), f"the solution of {label} is not folded"
    graded = len(re.findall(r"[Dd]ifficulty", text.split("## Exercises")[1]))
    assert graded >= len(exercises), "each exercise says how difficult it is"
    timed = len(re.findall(r"[Dd]ifficulty[^\n]*\b\d+ minutes", text.split("## Exercises")[1]))
    assert timed >= len(exercises), "each exercise says how many minutes it takes"


@chapter
def test_alt_text_is_a_sentence(path):
    for cell in code_cells(path):
        alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt")
        if alt is not None:
            assert len(alt) >= 20 and " " in alt, f"alt text that says little: {alt!r}"


def test_nothing_large_in_git():
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    sizes = {
        name: (ROOT / name).stat().st_size for name in listing.stdout.split("\0") if (ROOT / name).is_file()
    }
    assert max(sizes.values()) <= 12e6, max(sizes, key=sizes.get)
    results = sum(size for name, size in sizes.items() if name.startswith("vitlib/results/"))
    assert results <= 25e6, f"vitlib/results holds {results / 1e6:.1f} MB"


def test_package_data_names_what_results_hold():
    held = {
        path.suffix for path in (ROOT / "vitlib/results").iterdir() if path.is_file() and path.suffix != ".py"
    }
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"][
        "vitlib"
    ]
    assert held <= {Path(pattern).suffix for pattern in listed}


# Pages, as they were built


@page
def test_every_entry_has_its_page(name):
    title = soup(name).find("h1")
    assert title and title.get_text(strip=True)


def test_the_front_door_leads_to_the_title_page():
    assert f"{toc_pages()[0]}.html" in (HTML / "index.html").read_text(encoding="utf-8")


@page
def test_images_have_alt_text(name):
    for image in soup(name).find_all("img"):
        alt = (image.get("alt") or "").strip()
        assert alt, f"no alt text: {image.get('src')}"
        assert not re.search(r"\.(png|svg|jpe?g|gif|webp)$|^[./_\w-]*/[\w./-]*$|^[0-9a-f]{16,}", alt), (
            f"the alt text is a file name: {alt}"
        )
        assert " " in alt, f"the alt text is one word: {alt}"


@page
def test_nothing_comes_from_another_host(name):
    for tag, attribute in [
        ("script", "src"),
        ("link", "href"),
        ("img", "src"),
        ("iframe", "src"),
        ("source", "src"),
    ]:
        for element in soup(name).find_all(tag):
            address = element.get(attribute) or ""
            if tag == "link" and {"canonical", "next", "prev"} & set(element.get("rel", [])):
                continue
            assert not re.match(r"(https?:)?//", address), f"{tag} {address}"


@cache
def anchors(name: str) -> set[str]:
    """Where links to the built page ``name`` may lead."""
    found = soup(name).find_all(lambda tag: tag.get("id") or tag.get("name"))
    return {tag[key] for tag in found for key in ("id", "name") if tag.get(key)}


@page
def test_internal_links_lead_somewhere(name):
    here = (HTML / f"{name}.html").resolve()
    for link in soup(name).find_all("a", href=True):
        address = urlsplit(link["href"])
        if address.scheme or address.netloc:
            continue
        target = (here.parent / unquote(address.path)).resolve() if address.path else here
        assert target.is_file(), f"broken link {link['href']!r} ({link.get_text(strip=True)!r})"
        if address.fragment and target.suffix == ".html" and address.fragment != "top":
            other = target.relative_to(HTML.resolve()).with_suffix("").as_posix()
            assert unquote(address.fragment) in anchors(other), f"no anchor {link['href']!r}"


@chapter
def test_the_map_opens_the_chapter(path):
    """After title and promise stands the strip, in two shapes, each with this chapter's part lit."""
    article = soup(f"book/{path.stem}").find("article")
    places = article.find_all("nav", class_="vit-map-place")
    assert len(places) == 1
    before = places[0].find_previous_sibling()
    assert before.name == "p" and before.find_previous_sibling().name == "h1"
    drawings = places[0].find_all("svg", class_="vit-map")
    assert ["wide" in drawing["class"] for drawing in drawings] == [True, False]
    for drawing in drawings:
        parts = drawing.find_all(class_="part")
        assert sorted(part["data-part"] for part in parts) == [part.number for part in PARTS]
        assert all(part.name == "a" and part["href"].startswith(part["data-part"]) for part in parts)
        assert all(len(part["aria-label"]) > 30 for part in parts)
        lit = [part for part in parts if "lit" in part["class"] or part.get("aria-current")]
        assert [part["data-part"] for part in lit] == [path.stem[:2]]
        assert lit[0]["aria-current"] == "page" and "you are here" in lit[0]["aria-label"]
        assert drawing.get_text().count("you are here") == 2  # the tooltip, and the words on the map


@chapter
def test_numbers_begin_with_the_chapters(path):
    """Equations, figures and exercises are counted within their chapter."""
    article, number = soup(f"book/{path.stem}").find("article"), int(path.stem[:2])
    equations = [re.sub(r"[^\d.]", "", each.get_text()) for each in article.find_all(class_="eqno")]
    assert equations == [f"{number}.{i}" for i in range(1, len(equations) + 1)]
    titles = [each.get_text() for each in article.select("div.exercise > p.admonition-title")]
    assert len(titles) >= 5
    for i, title in enumerate(titles, 1):
        assert f"Exercise {number}.{i} " in title
    for each in article.find_all(class_="caption-number"):
        assert f" {number}." in each.get_text()


def test_the_whole_map_has_its_own_page():
    article = soup("book/map").find("article")
    drawings = article.select("nav.vit-map-place svg.vit-map")
    assert len(drawings) == 2
    for drawing in drawings:
        parts = drawing.find_all(class_="part")
        assert sorted(part["data-part"] for part in parts) == [part.number for part in PARTS]
        assert all(part.name == "a" for part in parts) and not drawing.find_all(class_="lit")
    in_table = [row.find("a")["href"] for row in article.select("table tr") if row.find("a")]
    assert in_table == [f"{part.page}.html" for part in PARTS], (
        "the same in words, for those who do not see the map"
    )


def test_no_id_stands_twice_on_a_page_with_maps():
    for name in ("book/map", "book/01-patchify"):
        ids = [element["id"] for svg in soup(name).select("svg.vit-map") for element in svg.find_all(id=True)]
        assert len(ids) == len(set(ids)), ids


@page
def test_buttons_lead_only_to_the_books_address(name):
    """Until the address is set, no page offers a repository or Colab; afterwards, only the book's own."""
    url = read_url()
    launch = [a["href"] for a in soup(name).find_all("a", href=True) if "colab.research" in a["href"]]
    header = soup(name).find(class_="article-header-buttons")
    outside = [a["href"] for a in header.find_all("a", href=re.compile("^http"))] if header else []
    if not url:
        assert not outside, outside
    else:
        place = url.removeprefix("https://")
        assert all(place in href or place.removeprefix("github.com/") in href for href in outside + launch)


@page
def test_no_directive_is_left_unread(name):
    """Text such as `{ref}` or `:::` on a page is MyST that was mistyped."""
    article = soup(name).find("article")
    for element in article.find_all(["p", "li", "td"]):
        text = "".join(
            part
            for part in element.find_all(string=True, recursive=True)
            if not part.find_parent(["pre", "code"])
        )
        roles = r"ref|numref|eq|cite(:\w)?|doc|py:\w+|glue\S*|term|result|model|download"
        found = re.search(rf":::|\{{({roles})\}}|^\s*```", text)
        assert not found, f"unread markup: {text.strip()[:120]!r}"
