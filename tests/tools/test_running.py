"""What a chapter depends on, when it runs again, and nbval on what the build saw."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from jupyter_cache import get_cache

from tools import build, recorded, refresh
from tools.depends import depends_on

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = {
    "vitlib/__init__.py": """
from vitlib.a import make
from vitlib.unsaid import g
if TYPE_CHECKING:
    import vitlib.other
_LATE = {
    "late": "vitlib.late",
    "viz": "vitlib.viz",
}
""",
    "vitlib/__main__.py": "import vitworkshop.cli",
    "vitlib/a.py": "def make():\n    import vitlib.room.b",
    "vitlib/late.py": "",
    "vitlib/other.py": "",
    "vitlib/room/__init__.py": "NAME = 'inside'",
    "vitlib/room/b.py": "",
    "vitlib/room/other.py": "",
    "vitlib/unsaid.py": "",
    "vitlib/viz/__init__.py": "from vitlib.viz.curves import draw\nfrom vitlib.viz.maps import show",
    "vitlib/viz/curves.py": "",
    "vitlib/viz/maps.py": "",
    "vitlib/viz/look.mplstyle": "",
    "vitworkshop/cli.py": "",
    "vitworkshop/exercises/ch03.py": "import vitlib.other",
    "vitworkshop/exercises/ch05.py": "",
    "vitworkshop/studies/registry.py": "from vitworkshop.studies import named_one, other",
    "vitworkshop/studies/named_one.py": "import vitlib.other",
    "vitworkshop/studies/other.py": "",
    **{
        f"vitlib/results/{name}.json": "{}"
        for name in ("named-one", "run-s1", "other", "inside")
    },
}
ALWAYS = {"vitlib/__init__.py", "vitlib/viz/look.mplstyle"}
OF_MAKE = {
    *(f"vitlib/{name}.py" for name in ("a", "room/__init__", "room/b")),
    "vitlib/results/inside.json",
}


def notebook(*codes: str, output: str | None = None, tags: tuple[str, ...] = ()) -> str:
    """A notebook of these code cells, which printed `output`; or did not run."""
    printed = (
        []
        if output is None
        else [{"output_type": "stream", "name": "stdout", "text": output}]
    )
    ran = {
        "execution_count": None if output is None else 1,
        "outputs": printed,
        "metadata": {"tags": [*tags]},
    }
    cells = [
        {"cell_type": "code", "id": f"c{i}", "source": code, **ran}
        for i, code in enumerate(codes)
    ]
    kernel = {
        "kernelspec": {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
    }
    return json.dumps(
        {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    )


@pytest.fixture
def book(tmp_path, monkeypatch) -> Path:
    """An empty book beside small packages, which `tools.build` builds in this process."""
    names = {
        "ROOT": "",
        "BUILD": "_build",
        "CACHE": "_build/.jupyter_cache",
        "KEYS": "_build/keys.json",
    }
    for name, path in names.items():
        monkeypatch.setattr(build, name, tmp_path / path)
    for file, code in PACKAGE.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    for name in ("book", "_build"):
        (tmp_path / name).mkdir()
    # threads see these settings
    monkeypatch.setattr(
        build, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1)
    )
    monkeypatch.setattr(refresh, "CACHE", build.CACHE)
    for name, value in build.kernel_environment(1).items():
        monkeypatch.setenv(name, value)
    return tmp_path / "book"


@pytest.mark.parametrize(
    ("code", "more"),
    [
        ("import vitlib as vl", set()),
        ("import vitlib as vl\nvl.make()", OF_MAKE),
        (
            "import vitlib as vl\nvl.viz.draw()",
            {"vitlib/viz/__init__.py", "vitlib/viz/curves.py"},
        ),
        (
            "from vitlib.viz import maps",
            {"vitlib/viz/__init__.py", "vitlib/viz/maps.py"},
        ),
        (
            "%pip install x\nfrom vitlib.room import other",
            {
                *("vitlib/room/__init__.py", "vitlib/room/other.py"),
                "vitlib/results/inside.json",
            },
        ),
        (
            "from vitworkshop.studies.registry import STUDIES\nSTUDIES['named-one']\nimport vitlib",
            {
                *(
                    "vitworkshop/studies/registry.py",
                    "vitworkshop/studies/named_one.py",
                ),
                *("vitlib/other.py", "vitlib/results/named-one.json"),
            },
        ),
        ("import vitlib\nsome = f'run-s{vitlib}'", {"vitlib/results/run-s1.json"}),
        ("import vitlib, subprocess", {"vitlib/__main__.py", "vitworkshop/cli.py"}),
        (
            'import vitlib as vl\nvl.late("03.1", None)',
            {"vitlib/late.py", "vitworkshop/exercises/ch03.py", "vitlib/other.py"},
        ),
        ("files = !ls", set(PACKAGE)),
        (
            "import vitlib\nvitlib.list_pretrained()",
            {
                f"vitlib/results/{n}.json"
                for n in ("named-one", "run-s1", "other", "inside")
            },
        ),
    ],
)
def test_a_chapter_depends_on_what_it_can_import_and_names(book, code, more):
    (book / "01.ipynb").write_text(notebook(code))
    found = {
        path.relative_to(book.parent).as_posix()
        for path in depends_on(book / "01.ipynb", book.parent)
    }
    assert found == ALWAYS | more


def cache_as_run(path: str) -> tuple[float, str, str]:
    """In place of `build.run_notebook`: what the notebook has stored is what it printed."""
    get_cache(str(build.CACHE)).cache_notebook_file(
        path, check_validity=False, overwrite=True
    )
    return 0.0, "", ""


def test_a_chapter_runs_again_when_what_it_depends_on_changed(book, monkeypatch):
    ran = []
    monkeypatch.setattr(
        build,
        "run_notebook",
        lambda path: ran.append(Path(path).name) or cache_as_run(path),
    )

    def run_all() -> list[str]:
        ran.clear()
        assert build.run_notebooks()
        return ran.copy()

    package = book.parent / "vitlib"
    (book / "01.ipynb").write_text(
        notebook("name = 'import vitlib.room.other'\nprint('as it was')")
    )
    (book / "02.ipynb").write_text(notebook("import vitlib\nprint(vitlib.make)"))
    assert run_all() == ["01.ipynb", "02.ipynb"] and run_all() == []
    (package / "other.py").write_text("# nobody's")
    assert run_all() == []
    (package / "room/b.py").write_text("# changed")
    assert run_all() == ["02.ipynb"]
    (book / "01.ipynb").write_text(notebook("import vitlib\nprint(vitlib.make())"))
    assert run_all() == ["01.ipynb"]
    (package / "a.py").write_text("import vitlib.other")
    assert run_all() == ["01.ipynb", "02.ipynb"]


@pytest.mark.slow
def test_notebooks_run_once_and_are_refreshed_and_a_failing_cell_is_named(book, capsys):
    good, bad = book / "01-good.ipynb", book / "02-bad.ipynb"
    good.write_text(
        notebook(
            "import sys\nprint(6, flush=True)\nprint('progress', file=sys.stderr, flush=True)"
            "\nprint(7, flush=True)\n6 * 7"
        )
    )
    bad.write_text(notebook("x = 1", "raise KeyError('where')"))
    assert not build.run_notebooks()
    said = capsys.readouterr().out
    assert "01-good.ipynb" in said and "FAILED  book/02-bad.ipynb" in said.replace(
        "\\", "/"
    )
    assert (
        "cell 2:" in said
        and "raise KeyError('where')" in said
        and "KeyError: 'where'" in said
    )
    bad.unlink()
    assert build.run_notebooks() and "in the cache" in capsys.readouterr().out
    assert refresh.refresh(good)
    cell = json.loads(good.read_text())["cells"][0]
    assert cell["execution_count"] == 1
    assert [output.get("text") for output in cell["outputs"]] == ["6\n7\n", None]
    good.write_text(notebook("print(7)"))
    assert not refresh.refresh(good), (
        "a notebook that changed since it ran is not refreshed"
    )


def test_every_page_is_written_anew_when_the_set_of_languages_changes(monkeypatch):
    """An English page leads to the Chinese one exactly where there is one, in whatever order they are built."""

    def settings(languages):
        monkeypatch.setenv("LANGUAGES", languages)
        return build.fingerprints("en")["settings"]

    assert settings("en") != settings("en,zh") == settings("zh,en")


class Reports:
    """What a pytest run inside this one says."""

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.failed:
            self.said = f"{report.outcome} {report.longreprtext}"


@pytest.mark.sampled(3)
def test_nbval_judges_what_the_build_saw(book, monkeypatch):
    """It fails where the stored text is not what the run printed, and where the build has not run what there is."""
    monkeypatch.setattr(recorded, "CACHE", build.CACHE)
    # put back afterwards
    monkeypatch.setattr(recorded.IPyNbFile, "setup", recorded.IPyNbFile.setup)
    path, checked = book / "01.ipynb", ("nbval-check-output",)

    def judged(*arguments, **options) -> str:
        path.write_text(notebook(*arguments, **options))
        words = [
            "-q",
            "-c",
            os.devnull,
            "-p",
            "no:cacheprovider",
            "--nbval-lax",
            str(path),
        ]
        pytest.main(words, plugins=[recorded, reports := Reports()])
        return reports.said

    path.write_text(notebook("print(6 * 7)", output="42\n", tags=checked))
    cache_as_run(str(path))
    assert judged("print(6 * 7)", output="42\n", tags=checked).startswith("passed")
    said = judged("print(6 * 7)", output="43\n", tags=checked)
    assert said.startswith("failed") and "Cell outputs differ" in said
    unseen = "the build has not run 01.ipynb as it is now"
    assert unseen in judged("print(6 * 7)  # changed", output="42\n", tags=checked)
    # the cache knows a notebook by its tags, too
    assert unseen in judged("print(6 * 7)", output="43\n")
    path.write_text(notebook("print(6 * 7)", output="42\n"))
    cache_as_run(str(path))
    # no cell asks to be compared
    assert judged("print(6 * 7)", output="43\n").startswith("passed")
