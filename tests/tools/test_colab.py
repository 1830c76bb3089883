"""Colab and Kaggle: the zip that `make colab` writes, and the chapters' first cell, which installs from it."""

import builtins
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import requires
from pathlib import Path
from types import SimpleNamespace

import pytest

from page.address import colab_cell
from tools import colab

ROOT = Path(__file__).resolve().parents[2]
URL = "https://github.com/org/repo"
PIP = '%pip install -q --no-deps "{source}" jaxtyping wadler-lindig'
NAMED = {"jaxtyping", "wadler-lindig"}
# What Colab has without being asked (its list of February 2026); Kaggle's image is made from Colab's.
HOSTS_HAVE = {
    "torch",
    "numpy",
    "einops",
    "safetensors",
    "tqdm",
    "matplotlib",
    "opencv-python-headless",
}
# pydantic brings the last
HOSTS_HAVE |= {
    "scikit-image",
    "scipy",
    "filelock",
    "pillow",
    "annotated-types",
}


def names_of(requirements: list[str]) -> set[str]:
    """The packages that these requirements name, without versions and without what only an extra needs."""
    return {
        re.match(r"[\w-]+", line)[0].lower()
        for line in requirements
        if "extra ==" not in line
    }


# The zip


@pytest.fixture
def project(tmp_path):
    """A small project with what belongs into the zip and what does not."""
    for name in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "Makefile",
        "requirements.txt",
    ):
        shutil.copy(ROOT / name, tmp_path)
    inside = ("vitlib/__init__.py", "vitlib/data/x.py", "vitlib/results/x.json")
    for name in (*inside, "data/x.bin", ".git/x", "book/x.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    given = "tools/*.py page/*.py vitworkshop/__init__.py vitworkshop/words/*.*"
    given += " book/01*.ipynb book/api.md book/zh/01*.md book/*.bib book/_static/figures/explorers/patches.webp"
    for path in (path for each in given.split() for path in ROOT.glob(each)):
        (target := tmp_path / path.relative_to(ROOT)).parent.mkdir(
            parents=True, exist_ok=True
        )
        shutil.copy(path, target)
    return tmp_path


def names(path: Path) -> list[str]:
    """The names in a zip, without the folder that holds all of them."""
    with zipfile.ZipFile(path) as archive:
        assert all(name.startswith("patch-by-patch/") for name in archive.namelist())
        return [name.removeprefix("patch-by-patch/") for name in archive.namelist()]


def test_the_zip_has_what_pip_needs_and_nothing_else(tmp_path):
    colab.write(tmp_path / "a.zip")
    package = {
        path.relative_to(ROOT).as_posix()
        for name in ("vitlib", "vitworkshop")
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name[0] != "."
    }
    assert set(names(tmp_path / "a.zip")) == {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        *package,
    }
    assert {
        "vitlib/results/cifar10-photo.safetensors",
        "vitworkshop/web/vit.js",
    } <= package
    size = f"some {(tmp_path / 'a.zip').stat().st_size / 1e6:.0f} MB"
    assert size in (ROOT / "book/how-to-run.md").read_text(encoding="utf-8")


def test_the_same_files_give_the_same_bytes(project):
    first, second = project / "first.zip", project / "second.zip"
    colab.write(first, project)
    assert names(first) == sorted(names(first))
    for path in project.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    (project / "README.md").chmod(0o600)
    colab.write(second, project)
    assert first.read_bytes() == second.read_bytes()


def test_make_colab_needs_no_package_and_says_what_to_do(project):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    plain = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS"))
    }
    # make wants a path without spaces; -S: no installed package is found
    command = [
        "make",
        "colab",
        f"PYTHON={Path(sys.executable).resolve()} -S",
        "LANGUAGES=zh",
    ]
    said = subprocess.run(
        command, cwd=project, env=plain, capture_output=True, text=True, check=True
    ).stdout
    made = project / "_build/patch-by-patch.zip"
    package = ["vitlib/__init__.py", "vitlib/data/x.py", "vitlib/results/x.json"]
    for name in ("__init__.py", "words/__init__.py", "words/*.mo", "words/*.po"):
        ours = sorted((ROOT / "vitworkshop").glob(name))
        package += [path.relative_to(ROOT).as_posix() for path in ours]
    assert names(made) == ["LICENSE", "README.md", "pyproject.toml", *package]
    assert (
        said.startswith(f"Wrote {made} (")
        and "\nColab: " in said
        and "Kaggle: " in said
    )
    assert "练习 1.1：" in (project / "_build/colab/01-patchify.ipynb").read_text(
        encoding="utf-8"
    )


# The first cell


@pytest.fixture
def run_cell(tmp_path, monkeypatch):
    """Runs the first cell in an empty folder; returns what it would install and what it says."""
    monkeypatch.chdir(tmp_path)
    inputs = tmp_path / "kaggle-input"

    def run(
        host: str, url: str = "", has_vitlib: bool = False
    ) -> tuple[list[str], list[str]]:
        monkeypatch.delenv("KAGGLE_KERNEL_RUN_TYPE", raising=False)
        monkeypatch.delitem(sys.modules, "google.colab", raising=False)
        if host == "kaggle":
            monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
        elif host == "colab":
            monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
        source = colab_cell(url)
        assert (
            source.count(PIP) == 1
            and source.count("%") == 1
            and len(source.splitlines()) <= 20
        )
        source = source.replace(PIP, "installed.append(str(source))").replace(
            "/kaggle/input", str(inputs)
        )
        installed, said = [], []
        with monkeypatch.context() as patch:
            patch.setattr(importlib.util, "find_spec", lambda name: has_vitlib or None)
            patch.setattr(builtins, "print", said.append)
            exec(source, {"installed": installed})
        return installed, said

    return run


@pytest.mark.parametrize(
    ("host", "installed"), [("own", False), ("colab", True), ("kaggle", True)]
)
def test_on_an_own_computer_and_where_it_is_installed_the_cell_does_nothing(
    run_cell, tmp_path, host, installed
):
    (tmp_path / "patch-by-patch.zip").touch()
    assert run_cell(host, URL, has_vitlib=installed) == ([], [])


@pytest.mark.parametrize("host", ["colab", "kaggle"])
def test_the_uploaded_zip_goes_before_the_address(run_cell, tmp_path, host):
    assert run_cell(host, URL) == ([f"git+{URL}"], [])
    (tmp_path / "patch-by-patch.zip").touch()
    assert run_cell(host, URL) == (["patch-by-patch.zip"], [])


@pytest.mark.parametrize(
    "place", ["book", "datasets/me/book", "datasets/me/book/patch-by-patch"]
)
def test_what_kaggle_has_unpacked_is_packed_again(run_cell, tmp_path, place):
    """Where its inputs lie pip could not build: nothing can be written there."""
    package = tmp_path / "kaggle-input" / place / "vitlib"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package.parent / "pyproject.toml").touch()
    assert run_cell("kaggle") == (["patch-by-patch.zip"], [])
    with zipfile.ZipFile(tmp_path / "patch-by-patch.zip") as archive:
        assert {"pyproject.toml", "vitlib/__init__.py"} <= set(archive.namelist())


def test_what_the_hosts_lack_is_named_in_the_cell_and_in_the_workflow():
    """pip looks for no dependency, so that it never replaces the host's torch."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = names_of(project["dependencies"])
    needed |= names_of(project["optional-dependencies"]["samples"])
    needed |= names_of(requires("jaxtyping"))
    assert needed - HOSTS_HAVE == NAMED
    workflow = (ROOT / ".github/workflows/colab.yml").read_text()
    flags, named = re.fullmatch(r'%pip install -q (.+) "\{source\}" (.+)', PIP).groups()
    assert f"{flags} _build/patch-by-patch.zip {named}\n" in workflow
