"""Runs every check of the book and counts them.

    python -m tools.check           (or: make test)
    python -m tools.check --quick   (or: make check): style, types, and the package without its slow tests

The checks are ruff, on style and on layout; the types; the package's tests, with every annotated shape enforced; the
build of the book in both languages, which runs each chapter; how long they are to read; nbval, which compares the
printed text of that run where it is tagged `nbval-check-output`; and the tests of the built book, in a headless browser
where there is one. All of them run, whichever fails; what each printed is in `_build/checks/`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from xml.etree import ElementTree

from page.address import ROOT
from tools.build import BUILD, kernel_environment

REPORTS = BUILD / "checks"
CORES = max(1, min(8, os.cpu_count() or 1))
PYTEST = [
    "pytest",
    "-q",
    "-n",
    str(CORES),
    "--dist",
    "loadfile",
    "-p",
    "no:cacheprovider",
]
OF_THE_BOOK = [
    "tests/book/test_book.py",
    *(
        f"tests/book/{path.name}"
        for path in sorted((ROOT / "tests/book").glob("test_browser*.py"))
    ),
]
PACKAGE = ["tests", *(f"--ignore={path}" for path in OF_THE_BOOK)]
# what the book, the class kit, the browser and the tools are asked is left to make test
NOT_THE_PACKAGE = [
    f"--ignore=tests/{name}" for name in ("book", "classroom", "tools", "web")
]
NBVAL = ["-p", "tools.recorded", "--nbval-lax"]
CHAPTERS = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "book").glob("*.ipynb")
)
# python -m ..., with these variables set
CHECKS: dict[str, tuple[list[str], dict[str, str]]] = {
    "ruff": (["ruff", "check", "."], {}),
    "layout": (["ruff", "format", "--check", "."], {}),
    "types": (["pyrefly", "check"], {}),
    "package": ([*PYTEST, *PACKAGE], {}),
    "build": (["tools.build"], {"LANGUAGES": "en,zh"}),
    "lengths": (["page.lengths"], {}),
    "notebooks": ([*PYTEST, *NBVAL, *CHAPTERS], {}),
    # its pages are opened in turn: whoever is done takes of the other's
    "book": ([*PYTEST, *OF_THE_BOOK, "--dist", "worksteal"], {}),
}
QUICK = {
    **{name: CHECKS[name] for name in ("ruff", "layout", "types")},
    "package": ([*PYTEST, *PACKAGE, *NOT_THE_PACKAGE, "-m", "not slow"], {}),
}


def run(name: str, module: list[str], variables: dict[str, str]) -> Counter:
    """Runs one check and shows its output; returns how many of its tests passed, failed and were skipped."""
    print(f"\n=== {name} ".ljust(95, "="), flush=True)
    start = time.perf_counter()
    report = REPORTS / f"{name}.xml"
    command = [
        sys.executable,
        "-m",
        *module,
        *[f"--junitxml={report}"] * (module[0] == "pytest"),
    ]
    how = {
        "cwd": ROOT,
        "env": kernel_environment(CORES) | variables,
        "stdin": subprocess.DEVNULL,
    }
    how |= {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "encoding": "utf-8",
        "errors": "replace",
    }
    process = subprocess.Popen(command, **how)
    with open(report.with_suffix(".log"), "w", encoding="utf-8") as log:
        for line in process.stdout:
            print(line, end="", flush=True)
            log.write(line)
    status = process.wait()
    counts = Counter(passed=status == 0, failed=status != 0)
    if report.exists():
        found: Counter[str] = Counter()
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            found.update(
                {
                    key: int(suite.get(key, 0))
                    for key in ("tests", "errors", "failures", "skipped")
                }
            )
        failed, skipped = found["errors"] + found["failures"], found["skipped"]
        counts = Counter(
            passed=found["tests"] - failed - skipped, failed=failed, skipped=skipped
        )
        # nothing was collected, or pytest itself broke
        counts["failed"] += bool(status and not failed)
    verdict = "FAILED" if counts["failed"] else "ok"
    print(f"--- {name}: {verdict}, {time.perf_counter() - start:.0f} s", flush=True)
    return counts


def main() -> int:
    """Runs all checks and returns the exit status."""
    start = time.perf_counter()
    REPORTS.mkdir(parents=True, exist_ok=True)
    for old in REPORTS.iterdir():
        old.unlink()
    checks = QUICK if "--quick" in sys.argv[1:] else CHECKS
    results = {name: run(name, *check) for name, check in checks.items()}
    print("\n" + "=" * 95)
    for name, found in results.items():
        print(
            f"{name:12s} "
            + " ".join(
                f"{found[key]:5d} {key}" for key in ("passed", "failed", "skipped")
            )
        )
    total = sum(results.values(), Counter())
    print(f"Logs: {REPORTS}    time: {(time.perf_counter() - start) / 60:.1f} min")
    print(
        f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped"
    )
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
