"""Changes the packages in one small place at a time, and asks the module's own tests whether they notice.

    python -m tools.measure.mutants vitlib/train        some of them
    python -m tools.measure.mutants vitlib vitworkshop  every module

cosmic-ray makes the changes (another operator, another number, a condition turned round, a loop that does nothing),
each in a copy of the tree. A place is drawn first, then one of the changes it allows: a sum of many terms is not tried
more often than a comparison. Annotations are spared, which say nothing at run time. A change that no test notices is a
survivor: it shows a gap in the tests, or it makes no difference, and then `mutants.toml` says why. A module's own tests
are the file that is called like it, or all of its room; that table names others. Stopped, the same command goes on.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from page.address import ROOT
from tools.build import BUILD

if TYPE_CHECKING:
    from cosmic_ray.work_item import MutationSpec

TABLE = ROOT / "tools/measure/mutants.toml"
DONE = BUILD / "mutants.jsonl"
COMMAND = f"{sys.executable} -m pytest -x -q -p no:cacheprovider"
# between numbers they only raise errors
NONSENSE = (
    "RShift",
    "LShift",
    "BitOr",
    "BitAnd",
    "BitXor",
)


def own_tests(module: str, table: dict) -> list[str]:
    """What the table says, the file called like the module, or its room's; test_checks where calls are checked."""
    path, tests = Path(module), ROOT / "tests"
    names = list(table.get(module, []))
    if not names and not any(tests.rglob(f"test_{path.stem}.py")):
        names = [each.stem[5:] for each in tests.glob(f"{path.parent.name}/test_*.py")]
    names = names or [path.stem]
    if "@checked" in (ROOT / module).read_text(encoding="utf-8"):
        names.append("checks")
    found = {each.stem[5:]: each for each in tests.rglob("test_*.py")}
    if missing := {*names} - {*found}:
        raise FileNotFoundError(
            f"test_{min(missing)}.py is not there; name the tests of {module} in {TABLE.name}"
        )
    return [found[name].relative_to(ROOT).as_posix() for name in dict.fromkeys(names)]


def annotations(source: str) -> set[tuple[int, int]]:
    """The (line, column) of everything in annotations."""
    nodes = list(ast.walk(ast.parse(source)))
    types = [
        getattr(node, field, None)
        for node in nodes
        for field in ("annotation", "returns")
    ]
    return {
        (line, column)
        for node in types
        if isinstance(node, ast.expr)
        for line in range(node.lineno, node.end_lineno + 1)
        for column in range(node.col_offset, node.end_col_offset)
    }


def draw(module: str, n: int) -> list[MutationSpec]:
    """At most `n` changes of a module, each in another place, the same at each call."""
    # here: `make mutants` installs it
    from cosmic_ray.commands.init import init
    from cosmic_ray.work_db import WorkDB

    with tempfile.TemporaryDirectory() as folder:
        work = WorkDB(f"{folder}/work.sqlite", WorkDB.Mode.create)
        init([Path(module)], work, {})
        found = [change for item in work.work_items for change in item.mutations]
        work.close()
    spared, places = (
        annotations(Path(module).read_text(encoding="utf-8")),
        defaultdict(list),
    )
    for change in found:
        if change.start_pos not in spared and not change.operator_name.endswith(
            NONSENSE
        ):
            places[change.start_pos].append(change)
    rng = random.Random(module)
    drawn = rng.sample(sorted(places), min(n, len(places)))
    return [rng.choice(sorted(places[place], key=str)) for place in drawn]


def enter_copy() -> None:
    """Copies the tree, with what is not committed yet, for a process of its own, which then works there."""
    copy = tempfile.mkdtemp(dir=os.environ["MUTANTS"])
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = (
        subprocess.run(listed, cwd=ROOT, capture_output=True, check=True)
        .stdout.decode()
        .split("\0")
    )
    for file in filter(lambda name: name and (ROOT / name).is_file(), files):
        target = Path(copy, file)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / file).read_bytes())
    os.chdir(copy)
    os.environ |= {"PYTHONPATH": copy, "OMP_NUM_THREADS": "1"}


def seconds(file: str) -> float:
    """How long a file of tests takes where nothing was changed."""
    began = time.monotonic()
    ran = subprocess.run([*COMMAND.split(), file], capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(
            f"{file} fails where nothing was changed:\n{ran.stdout[-2000:]}"
        )
    return time.monotonic() - began


def attempt(change: MutationSpec, tests: list[str], limit: float) -> tuple[str, str]:
    """How one change ended ("killed" or "survived"), and its diff."""
    from cosmic_ray.mutating import mutate_and_test

    result = mutate_and_test([change], f"{COMMAND} {' '.join(tests)}", limit)
    if result.test_outcome is None:
        raise RuntimeError(f"{change} changed nothing: {result.output}")
    return result.test_outcome.value, result.diff


def was_and_becomes(diff: str) -> dict[str, str]:
    """What a diff takes away, and what it puts there."""
    kept = [
        line
        for line in diff.splitlines()
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    return {
        name: " ".join(line[1:].strip() for line in kept if line[0] == sign)
        for name, sign in (("was", "-"), ("becomes", "+"))
    }


def key_of(change: MutationSpec, module: str, tests: list[str]) -> str:
    """By which a change is known again, on this module, by these tests."""
    texts = b"".join((ROOT / path).read_bytes() for path in (module, *tests))
    return hashlib.sha256(texts + str(change).encode()).hexdigest()[:16]


def try_all(todo: list[tuple[MutationSpec, str, list[str]]], jobs: int) -> list[dict]:
    """A row for each change: known from before, or tried now; each is kept at once."""
    DONE.parent.mkdir(parents=True, exist_ok=True)
    text = DONE.read_text(encoding="utf-8") if DONE.exists() else ""
    known = {row["mark"]: row for row in map(json.loads, text.splitlines())}
    keys = [key_of(*one) for one in todo]
    left = [i for i, key in enumerate(keys) if key not in known]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        os.environ["MUTANTS"] = folder
        with ProcessPoolExecutor(jobs, initializer=enter_copy) as pool:
            files = sorted({file for i in left for file in todo[i][2]})
            bar = tqdm(pool.map(seconds, files), total=len(files), unit="file")
            took = dict(zip(files, bar, strict=True))
            jobs_of = {}
            for i in left:
                change, _, tests = todo[i]
                limit = 30 + 5 * sum(took[file] for file in tests)
                jobs_of[pool.submit(attempt, change, tests, limit)] = i
            for job in tqdm(as_completed(jobs_of), total=len(left), unit="change"):
                i, (outcome, diff) = jobs_of[job], job.result()
                row = {
                    "mark": keys[i],
                    "module": todo[i][1],
                    "outcome": outcome,
                    **was_and_becomes(diff),
                }
                known[keys[i]] = row
                with DONE.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(row) + "\n")
    return [known[key] for key in keys]


def report(rows: list[dict], accepted: list[dict]) -> int:
    """Prints the survivors and the figure; 1 if there is a survivor that is not accepted."""
    fields = ("module", "was", "becomes")
    known = {tuple(one[field] for field in fields) for one in accepted}
    survived = [row for row in rows if row["outcome"] == "survived"]
    gaps = [
        row for row in survived if tuple(row[field] for field in fields) not in known
    ]
    for row in gaps:
        print(f"{row['module']}\n  - {row['was']}\n  + {row['becomes']}")
    modules = {row["module"] for row in rows}
    killed = len(rows) - len(survived)
    print(
        f"{len(rows)} changes in {len(modules)} modules, {killed} noticed ({killed / max(1, len(rows)):.1%}), "
        f"{len(survived) - len(gaps)} that make no difference, {len(gaps)} gaps"
    )
    return 1 if gaps else 0


def main(argv: list[str] | None = None) -> int:
    """Tries the changes and prints the survivors; 1 if there is one that the table does not accept."""
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("paths", nargs="+", type=Path, help="modules, or folders of them")
    p.add_argument("-n", type=int, default=3, help="changes in a module (default: 3)")
    p.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="at once (default: all cores)"
    )
    args = p.parse_args(argv)
    # a shell's background job would ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(ROOT)
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    modules = set()
    for path in args.paths:
        modules.update(map(str, [path] if path.is_file() else path.rglob("*.py")))
    todo = [
        (change, module, own_tests(module, table["tests"]))
        for module in sorted(modules)
        for change in draw(module, args.n)
    ]
    try:
        rows = try_all(todo, args.jobs)
    except KeyboardInterrupt:
        print("stopped; the same command goes on")
        return 130
    return report(rows, table.get("accepted", []))


if __name__ == "__main__":
    sys.exit(main())
