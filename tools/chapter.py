"""Checks one chapter: runs it, stores what it printed, and asks all that is asked of it alone.

    python -m tools.chapter 05      (or: make chapter N=05)

What was printed before stands in git: `git diff` shows what changed. The chapter's page is built and asked, too, where
the book is built and no other chapter has to run for it; else the last line says that it was not.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from jupyter_cache import get_cache

from page.address import ROOT, chapters
from page.browser import HTML
from tools.build import CACHE, build_pages, kernel_environment, run_notebooks
from tools.check import NBVAL
from tools.refresh import store

PYTEST = ["pytest", "-q", "-p", "no:cacheprovider"]
# what is asked of chapters one by one: a test's name says which
OF_A_CHAPTER = [
    "tests/exercises/test_exercises.py",
    "tests/book/test_claims.py",
    "tests/book/test_book.py",  # without NO_PAGE, its page, too
]
OF_A_PAGE = ["tests/book/test_browser.py"]


def find(number: str) -> Path:
    """The notebook whose name begins with this number."""
    found = [path for path in chapters() if path.stem.startswith(f"{number}-")]
    if len(found) != 1:
        numbers = ", ".join(path.stem[:2] for path in chapters())
        raise ValueError(f"there is no chapter {number!r}; try one of {numbers}")
    return found[0]


def of_this(stem: str) -> str:
    """What the names of a chapter's tests hold: the chapter, an exercise of it, or a sentence of it."""
    number = stem[:2]
    return f"({stem} or [{number}. or [{number}:) and not zh"


def stale() -> list[str]:
    """The chapters that are not in the cache as they are now."""
    cache = get_cache(str(CACHE))
    for path in chapters():
        cache.add_nb_to_project(str(path))
    return [Path(one.uri).stem for one in cache.list_unexecuted()]


def main() -> int:
    """Checks the chapter that was asked for and returns the exit status."""
    start = time.perf_counter()
    try:
        path = find(sys.argv[1] if len(sys.argv) > 1 else "")
    except ValueError as error:
        print(f"{error}: make chapter N=05")
        return 2
    environment = kernel_environment(1) | {"EVERY": "1"}  # of it all that is sampled
    if not run_notebooks([path]):
        return 1
    store([path])
    name, built = str(path.relative_to(ROOT)), (HTML / "book").is_dir()
    if built and (others := stale()):
        print(f"No page is built: {', '.join(others)} must run first (make book).")
        built = False
    if built and build_pages("en", everything=False):
        return 1
    if not built:
        environment["NO_PAGE"] = "1"
    asked = [
        ["page.lengths"],
        [*PYTEST, *NBVAL, name],
        [*PYTEST, *OF_A_CHAPTER, *OF_A_PAGE * built, "-k", of_this(path.stem)],
    ]
    failed = 0
    for module in asked:
        command = [sys.executable, "-m", *module]
        failed += bool(subprocess.run(command, cwd=ROOT, env=environment).returncode)
    verdict = "Something failed" if failed else "All is well"
    print(f"{verdict} with {name}: {time.perf_counter() - start:.0f} s.")
    if not built:
        print("Its page was not asked: make book, then this once more.")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
