"""Runs every check of the book and counts them.

    python -m tools.check           (or: make test)

The checks are ruff; the package's tests; the same tests again with every annotated shape enforced; the
build of the book; nbval, which runs each chapter and compares the printed text that is tagged
`nbval-check-output`; and the tests of the built book, in a headless browser where there is one. All of them
run, whichever fails; what each printed is in `_build/checks/`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree

from tools.build import BUILD, ROOT, kernel_environment

REPORTS = BUILD / "checks"
CORES = max(1, min(8, os.cpu_count() or 1))
OF_THE_BOOK = ["tests/test_book.py", "tests/test_browser.py"]
PYTEST = ["-m", "pytest", "-q", "-n", str(CORES), "--dist", "loadfile", "-p", "no:cacheprovider"]


def run(name: str, arguments: list[str], **variables: str) -> tuple[int, int, int]:
    """Runs one check and shows its output; returns how many of its tests passed, failed and were skipped."""
    print(f"\n=== {name} " + "=" * max(3, 90 - len(name)), flush=True)
    start = time.perf_counter()
    report = REPORTS / f"{name.replace(' ', '-')}.xml"
    is_pytest = arguments[:2] == PYTEST[:2]
    command = [sys.executable, *arguments, *([f"--junitxml={report}"] if is_pytest else [])]
    with open(report.with_suffix(".log"), "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=kernel_environment(CORES) | variables, text=True, encoding="utf-8",
            errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        for line in process.stdout:
            print(line, end="", flush=True)
            log.write(line)
    status = process.wait()
    counts = (1, 0, 0) if status == 0 else (0, 1, 0)
    if is_pytest and report.exists():
        suites = ElementTree.parse(report).getroot().iter("testsuite")
        all_of = {key: 0 for key in ("tests", "errors", "failures", "skipped")}
        for suite in suites:
            for key in all_of:
                all_of[key] += int(suite.get(key, 0))
        failed = all_of["errors"] + all_of["failures"]
        counts = all_of["tests"] - failed - all_of["skipped"], failed, all_of["skipped"]
        if status and not failed:  # nothing was collected, or pytest itself broke
            counts = counts[0], 1, counts[2]
    verdict = "ok" if not counts[1] else "FAILED"
    print(f"--- {name}: {verdict}, {time.perf_counter() - start:.0f} s", flush=True)
    return counts


def main() -> int:
    """Runs all checks and returns the exit status."""
    start = time.perf_counter()
    # A shell that runs this in the background ignores Ctrl-C, and so would the processes that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    REPORTS.mkdir(parents=True, exist_ok=True)
    for old in REPORTS.iterdir():
        old.unlink()
    package = [f"--ignore={path}" for path in OF_THE_BOOK]
    quick = ["--ignore=tests/test_tools.py", "-m", "not slow"]
    nbval = ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=300"]
    notebooks = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "book").glob("*.ipynb"))
    results = {
        "ruff": run("ruff", ["-m", "ruff", "check", "."]),
        "package": run("package", [*PYTEST, "tests", *package]),
        "shapes": run("shapes", [*PYTEST, "tests", *package, *quick], VITLIB_TYPECHECK="1"),
        "build": run("build", ["-m", "tools.build"]),
        # nbval compares stderr too, and a progress bar never reads the same twice
        "notebooks": run("notebooks", [*PYTEST, *nbval, *notebooks], TQDM_DISABLE="1"),
        "book": run("book", [*PYTEST, *OF_THE_BOOK]),
    }
    print("\n" + "=" * 95)
    for name, (passed, failed, skipped) in results.items():
        print(f"{name:12s} {passed:5d} passed {failed:5d} failed {skipped:5d} skipped")
    passed, failed, skipped = (sum(counts) for counts in zip(*results.values(), strict=True))
    print(f"Logs: {REPORTS}    time: {(time.perf_counter() - start) / 60:.1f} min")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
