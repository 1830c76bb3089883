"""The tools around the book: the public address, the lock, the build's hashes and reports, make, the workflows."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
import yaml
from nbformat import v4

from page import address
from page.fonts import DRAWN
from page.map import DRAWINGS, STATIC, drawing, drawn, on_the_wall
from page.map import source as map_source
from tools import build, lock
from tools.depends import PACKAGES
from tools.measure import mutants
from vitlib import evidence

ROOT = Path(__file__).resolve().parents[2]
URL = "https://github.com/org/repo"


@pytest.fixture
def project(tmp_path):
    """A small copy of the project: its settings, a README and one chapter."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    address.write_if_changed(
        tmp_path / "pyproject.toml", (ROOT / "pyproject.toml").read_text()
    )
    (tmp_path / "README.md").write_text(
        "# Book\n\n<!-- links -->\n<!-- /links -->\n\nEnd.\n"
    )
    (tmp_path / "book").mkdir()
    set_up = v4.new_code_cell(
        address.colab_cell(""), metadata={"tags": ["colab-setup", "remove-cell"]}
    )
    cells = [
        v4.new_markdown_cell("# 01 Toy\n\nA promise."),
        set_up,
        v4.new_code_cell("print(1)"),
    ]
    kernel = {
        "kernelspec": {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        },
        "part": dict.fromkeys(("name", "kind", "question", "gist"), "Toy"),
    }
    nbformat.write(
        v4.new_notebook(cells=cells, metadata=kernel), tmp_path / "book/01-toy.ipynb"
    )
    address.set_url("", tmp_path)
    return tmp_path


# The public address


def test_set_url_writes_the_setting_the_notebooks_and_the_readme(project):
    changed = address.set_url(URL, project)
    assert [path.name for path in changed] == [
        "pyproject.toml",
        "01-toy.ipynb",
        "README.md",
    ]
    assert address.read_url(project) == URL
    cell = json.loads((project / "book/01-toy.ipynb").read_text())["cells"][1]
    assert "".join(cell["source"]) == address.colab_cell(URL)
    readme = (project / "README.md").read_text()
    assert (
        "[01 Toy](https://colab.research.google.com/github/org/repo/blob/main/book/01-toy.ipynb)"
        in readme
    )
    assert "<https://org.github.io/repo/>" in readme
    assert readme.endswith("End.\n")


def test_set_url_is_idempotent_and_can_be_undone(project):
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    address.set_url(URL, project)
    assert address.set_url(URL + "/", project) == []
    assert address.set_url(URL + ".git", project) == []
    address.set_url("", project)
    assert (
        address.pages_url("https://github.com/Org/org.github.io")
        == "https://org.github.io/"
    )
    assert before == {
        path: path.read_bytes() for path in project.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize(
    "url",
    ["https://github.com/org", "https://example.org/a/b"],
)
def test_set_url_refuses_what_is_no_repository(project, url):
    with pytest.raises(
        ValueError,
        match=r"expected the address of a GitHub repository, got .* try https://",
    ):
        address.set_url(url, project)
    assert address.read_url(project) == ""


# The lock


def pinned() -> list[str]:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return [
        line.removeprefix("# --no-deps ")
        for line in lines
        if re.match(r"(# --no-deps )?[A-Za-z]", line)
    ]


def test_the_lock_pins_everything_and_fits_pyproject():
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    locked = {}
    for pin in pinned():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", pin), (
            f"not a pin that every index has: {pin}"
        )
        name, version = pin.split("==")
        locked[canonicalize_name(name)] = version
    assert not [
        name
        for name in locked
        if name.startswith(("nvidia", "torchvision", "triton", "vitlib"))
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = ("samples", "test", "check", "book")
    lines = [line for name in names for line in extras[name]]
    for line in [*project["dependencies"], *lines]:
        wanted = Requirement(line)
        found = locked.get(canonicalize_name(wanted.name))
        assert found and wanted.specifier.contains(found), (
            f"{line}: the lock has {found}; run make lock"
        )


def test_every_pin_admits_the_first_release_of_every_python():
    """As the installed packages themselves say, so without a network: Debian 12 has 3.11.2."""
    from packaging.specifiers import SpecifierSet

    refused = []
    for pin in pinned():
        name = pin.split("==")[0]
        try:
            wanted = metadata(name).get("Requires-Python", "")
        except PackageNotFoundError:
            pytest.skip(f"{name} is not installed: this is not the lock's environment")
        admitted = SpecifierSet(wanted)
        refused += [
            f"{name} requires Python {wanted}, not {python}.0"
            for python in lock.pythons()
            if f"{python}.0" not in admitted
        ]
    assert not refused


def test_a_pin_has_its_reason_beside_it():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pins = re.findall(r'^ *"[\w.-]+==[^"]+",(.*)$', text, re.M)
    assert len(pins) == text.count("==") - text.count("(==)") > 10
    assert not [
        reason for reason in pins if len(reason.removeprefix(" # ").split()) < 4
    ]


def test_all_promise_the_same_pythons():
    oldest, *_, newest = lock.pythons()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["requires-python"] == f">={oldest}"
    assert project["tool"]["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"
    for path in (
        "README.md",
        "book/how-to-run.md",
        "book/teach.md",
        "classroom/editions.py",
    ):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert f"Python {oldest} to {newest}" in text, path
    troubles = (ROOT / "book/how-to-run.md").read_text(encoding="utf-8")
    assert f"Python is older than {oldest}, newer than {newest}," in troubles
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    tested = workflow["jobs"]["all"]["strategy"]["matrix"]["python"]
    assert tested == lock.pythons()


# The build


@pytest.mark.sampled(4)
@pytest.mark.slow
def test_buttons_follow_the_address(project):
    """A page built by Jupyter Book offers Colab and the repository; without an address, `test_book` sees none."""
    pytest.importorskip("jupyter_book")
    address.set_url(URL, project)
    for name in ("tools", "page", "book/_static", "book/_templates"):
        shutil.copytree(
            ROOT / name,
            project / name,
            ignore=shutil.ignore_patterns("__pycache__", "figures"),
        )
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    config["execute"]["execute_notebooks"] = "off"
    (project / "_config.yml").write_text(yaml.safe_dump(config))
    toc = {"format": "jb-book", "root": "book/01-toy", "chapters": []}
    for path in address.chapters()[1:]:  # the map leads to all
        chapter = nbformat.read(path, as_version=4)
        chapter.cells = [v4.new_markdown_cell(f"# {path.stem}\n\nA promise.")]
        nbformat.write(chapter, project / f"book/{path.name}")
        toc["chapters"].append({"file": f"book/{path.stem}"})
    (project / "_toc.yml").write_text(yaml.safe_dump(toc))
    (project / "book/references.bib").write_text("")
    jupyter_book = shutil.which("jupyter-book", path=str(Path(sys.executable).parent))
    command, how = (
        [jupyter_book, "build", str(project), "-W"],
        {"capture_output": True, "text": True},
    )
    done = subprocess.run(command, cwd=project, env=build.kernel_environment(1), **how)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    html = (project / "_build/html/book/01-toy.html").read_text()
    colab = (
        "https://colab.research.google.com/github/org/repo/blob/main/book/01-toy.ipynb"
    )
    site = address.pages_url(URL)
    picture = f'property="og:image" content="{site}_static/'
    page = f'property="og:url" content="{site}book/01-toy.html"'
    for expected in (colab, f'href="{URL}"', picture, page):
        assert expected in html, expected
    assert (
        project / "_build/html/sitemap.xml"
    ).exists() and "thebe" not in html.lower()


# mutants


def test_every_module_has_tests_of_its_own():
    table = tomllib.loads(mutants.TABLE.read_text(encoding="utf-8"))
    paths = [path for name in PACKAGES for path in (ROOT / name).rglob("*.py")]
    modules = [path.relative_to(ROOT).as_posix() for path in paths]
    assert len(modules) > 100 and table["tests"].keys() <= {*modules}
    for module in modules:
        assert mutants.own_tests(module, table["tests"])


# make and the workflows


def make(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    fresh = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS"))
    }
    return subprocess.run(
        ["make", *arguments], cwd=cwd, env=fresh, capture_output=True, text=True
    )


def test_help_is_what_make_says_first():
    """Without what only maintainers use."""
    said = make().stdout
    assert said == make("help").stdout
    for target in ("lab", "book", "test", "serve", "clean", "colab", "class"):
        assert f"make {target} " in said
    assert "TORCH=cpu" in said
    for target in ("set-url", "refresh", "bench", "campaign", "mutants", "lock"):
        assert f"make {target} " not in said


def test_a_new_lock_makes_a_new_environment_and_a_new_address_does_not(tmp_path):
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "book").mkdir()

    def stamp():
        return re.search(
            r"^venv: (\S+)", make("-np", "help", cwd=tmp_path).stdout, re.M
        )[1]

    first = stamp()
    (tmp_path / ".venv").mkdir()
    (tmp_path / first).touch()
    address.set_url("", tmp_path)
    address.set_url(URL, tmp_path)
    assert "is at .venv" in make("venv", cwd=tmp_path).stdout.splitlines()[0], (
        "nothing to do"
    )
    with open(tmp_path / "requirements.txt", "a") as pins:
        pins.write("# changed\n")
    assert stamp() != first


def test_workflows_can_be_read():
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        workflow = yaml.safe_load(text := path.read_text())
        assert all(
            (ROOT / test).exists() for test in re.findall(r"\btests/[\w/]+\.py", text)
        )
        assert "-e . " not in text, "install .[samples,test]: what the tests import"
        assert workflow["name"] and all(
            job["steps"] and job["runs-on"] for job in workflow["jobs"].values()
        )


# The map of the ViT


def parsed(
    lit: str = "", shape: str = "wide", address=lambda part: f"{part.page}.html"
):
    """A drawing of the map, parsed: a chapter's strip, or the whole map, which is wide, for ""."""
    return ElementTree.fromstring(
        drawing("strip" if lit else "whole", shape, address, lit)
    )


def with_class(svg, name: str) -> list:
    return [
        element for element in svg.iter() if name in element.get("class", "").split()
    ]


def variables(theme: str) -> dict[str, str]:
    """The map's colours in the style sheet."""
    css = (STATIC / "map.css").read_text(encoding="utf-8")
    block = css.split('html[data-theme="dark"] ' if theme == "dark" else "*/", 1)[
        1
    ].split("}")[0]
    return dict(re.findall(r"--map-([\w-]+): (#[0-9a-f]{6});", block))


def contrast(one: str, other: str) -> float:
    """The ratio that WCAG 2 defines."""
    light = []
    for colour in (one, other):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [
            v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4
            for v in channels
        ]
        light.append(
            sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
        )
    return (max(light) + 0.05) / (min(light) + 0.05)


NUMBERS = [part.number for part in drawn()]


@pytest.mark.parametrize(
    ("lit", "shape"), [("", "wide"), *product(NUMBERS, ("wide", "tall"))]
)
def test_every_drawing_of_the_map_has_every_part_once_and_inside(lit, shape):
    svg = parsed(lit, shape)
    parts = with_class(svg, "part")
    assert sorted(part.get("data-part") for part in parts) == NUMBERS
    assert all(
        part.tag.endswith("}a") and part.get("href").startswith(part.get("data-part"))
        for part in parts
    )
    assert [part.get("data-part") for part in with_class(svg, "lit")] == [lit] * bool(
        lit
    )
    assert len(with_class(svg, "pill-text")) == bool(lit), (
        "the words say it too, not the colour alone"
    )

    # and nothing leaves its edges
    _, _, width, height = map(float, svg.get("viewBox").split())
    boxes = [
        e
        for e in [*svg.findall("*"), *svg.findall("*[@data-part]/*")]
        if e.get("width")
    ]
    assert len(boxes) > len(NUMBERS) + bool(lit)
    for box in (
        boxes
    ):  # what is drawn there, parts and what is in them, and the words "you are here"
        x, y, w, h = (float(box.get(name, 0)) for name in ("x", "y", "width", "height"))
        assert x >= 0 and y >= 0 and x + w <= width and y + h <= height, box.attrib


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_maps_colours_stand_out(theme):
    """4.5 : 1 for what is read, 3 : 1 for edges and arrows; a lit part differs by more than its hue."""
    colour = variables(theme)
    kinds = ("token", "encoder", "read", "whole", "train", "look", "further")
    for ground in [*(colour[f"{kind}-back"] for kind in kinds), colour["paper"]]:
        assert contrast(colour["ink"], ground) >= 7
        assert contrast(colour["soft"], ground) >= 4.5
        assert contrast(colour["line"], ground) >= 3
    for kind in kinds:
        assert contrast(colour[kind], colour[f"{kind}-back"]) >= 4.5, kind
        assert contrast(colour[kind], colour["lit-ink"]) >= 4.5, kind
        assert contrast(colour[kind], colour["whole-back"]) >= 3, kind
        assert contrast(colour[kind], colour[f"{kind}-back"]) >= 3, (
            "lit and unlit differ in lightness"
        )
    assert contrast(colour["ink"], colour["paper"]) >= 7  # the words "you are here"


def test_the_stand_alone_map_is_the_same_drawing():
    text = (STATIC / "figures" / "map.svg").read_text(encoding="utf-8")
    assert text == on_the_wall(), "run: python -m page.map"
    style = ElementTree.fromstring(text).findtext("{*}style")
    assert "svg.vit-map { --map-ink: #14171c;" in style and style.count(
        "{"
    ) == style.count("}")
    # its letters
    assert style.count('font-family: "Patch by Patch Sans"; font-style: normal;') == 2
    assert "nav." not in style


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_drawings_say_what_the_list_of_parts_says_in_letters_of_their_font(name):
    words = "".join(
        "".join(text.itertext()) for text in map_source()[name].findall(".//{*}text")
    )
    assert len(words) > 100 and not {c for c in words if ord(c) not in DRAWN}
    for part in drawn():
        place = map_source()[name].find(f"*[@data-part='{part.number}']")
        assert part.kind in place.get("class").split()
        words = " ".join("".join(text.itertext()) for text in place.findall("{*}text"))
        bare = name.startswith("strip") and part.number > "09"  # there only numbers fit
        assert (
            words == part.number
            if bare
            else words.startswith(f"{part.number} {part.name}")
        )


# Numbers and tables on pages


@pytest.fixture
def computed(tmp_path, monkeypatch):
    """The extension, with one result of our own."""
    module = pytest.importorskip("page.numbers")
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    monkeypatch.setattr(evidence, "RESULTS", tmp_path)
    summary = {
        "token lr=0.001": {"mean": 0.5, "sd": 0.0123, "n": 2},
        "one": {"mean": 0.4, "sd": None, "n": 1},
        "model: as trained": {"mean": 0.3, "sd": 0.1, "n": 3},
        "B/16": {"mean": 0.98127, "sd": 0.1, "n": 3},
    }
    study = {
        "name": "toy",
        "final": {"test_accuracy": 0.98765},
        "parameters": 1234567,
        "seconds": 5530.0,
    }
    (tmp_path / "toy.json").write_text(
        json.dumps(study | {"epochs": [{"loss": 2.5}], "summary": summary})
    )
    return module


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("toy: final/test_accuracy", "98.8 %"),
        ("toy: parameters", "1,234,567"),
        ("toy: seconds as duration", "1 h 32 min"),
        ("toy: epochs/-1/loss as .2f", "2.50"),
        ("toy: summary/token lr=0.001 as spread", "50.0 ± 1.2 %"),
        ("toy: summary/model: as trained/mean as .1f", "0.3"),
        ("toy: summary/B/16/mean as .2%", "98.13 %"),
    ],
)
def test_a_result_as_it_stands_in_a_sentence(computed, text, wanted):
    assert computed.result(text).replace("\u00a0", " ") == wanted


@pytest.mark.errors
@pytest.mark.parametrize(
    "text, message",
    [
        ("toy", "expected `file: key/key`, got 'toy'"),
        ("tay: seconds", "no results called 'tay'; there are: toy"),
        (
            "toy: final/accuracy",
            "has no 'accuracy' on the way 'final/accuracy'; there is: test_accuracy",
        ),
    ],
)
def test_a_wrong_result_is_refused(computed, text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        computed.result(text)


def test_a_models_numbers(computed):
    assert computed.model("vit-b/16 tokens") == "196"
    assert (
        computed.model("vit-b/16 img_size=[480,640] grid").replace("\u00a0", " ")
        == "30 × 40"
    )
    assert computed.model("vit-b/16 img_size=384 parameters") == "86,859,496"
    assert computed.model("vit-l/16 gmacs") == "61.6"


@pytest.mark.errors
@pytest.mark.parametrize(
    "text, message",
    [
        ("vit-b/16 weight", "unknown quantity 'weight'; there are tokens"),
        ("vit-b/16 img_size=225 tokens", "225"),
    ],
)
def test_a_wrong_model_is_refused(computed, text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        computed.model(text)
