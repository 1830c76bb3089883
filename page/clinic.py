"""The tables of the page `clinic`: the symptoms of its ten runs, what each bug costs, and what `vl.doctor` finds."""

from __future__ import annotations

import vitlib as vl
from page.values import unbroken
from vitworkshop.studies.claim import NOT_HERE, OPEN, SAME
from vitworkshop.studies.clinic import BUGS
from vitworkshop.studies.report import judged


def symptoms() -> str:
    """A row for each run: what was answered rightly, losses, gradients by part, and what attention looked like."""
    heads = [
        "run",
        "right",
        "first",
        "last",
        "embed",
        "pos",
        "block 1",
        "block 2",
        "head",
        "bits",
        "rows",
    ]
    rows = []
    for name, run in vl.load_results("clinic-symptoms")["symptoms"].items():
        numbers = [run["first"], run["last"], *run["parts"].values()]
        low, high = run["rows"]
        shown = [f"{n:.2f}" if n else "0" for n in numbers] + [
            ", ".join(f"{b:.1f}" for b in run["bits"])
        ]
        rows.append(
            [name, f"{run['right']:.0%}", *shown, unbroken(f"{low:.1f} to {high:.1f}")]
        )
    return vl.viz.table(heads, rows)


def costs() -> str:
    """What each bug costs in the study's long runs, and what the doctor says of it beforehand."""
    study, seen = (
        vl.load_results("clinic"),
        vl.load_results("clinic-symptoms")["symptoms"],
    )
    verdicts = judged("clinic")
    rows = [
        ["", "none", f"{study['summary']['healthy']['mean']:.1%}", "", "", "nothing"]
    ]
    for letter, case in BUGS.items():
        found = verdicts[f"{case.name}: it costs accuracy"]
        gains = found["interval"][1] < 0
        says = {SAME: "yes", OPEN: "open", NOT_HERE: "it gains" if gains else "no"}[
            found["word"]
        ]
        change = unbroken(
            f"{-100 * found['difference']:+.1f} ± {100 * found['se']:.1f}"
        )
        right = f"{study['summary'][case.name]['mean']:.1%}"
        rows.append(
            [
                letter,
                case.name,
                right,
                change,
                says,
                ", ".join(seen[letter]["doctor"]) or "nothing",
            ]
        )
    return vl.viz.table(
        ["run", "bug", "right", "change, points", "does it cost?", "`vl.doctor` names"],
        rows,
    )


def doctor() -> str:
    """How many bugs the doctor found of those that it had never met, and of those that its checks were made for."""
    found, rows = vl.load_results("doctor"), []
    for which, cases in (
        ("written by somebody else", "unseen"),
        ("known before", "known"),
    ):
        bugs, fine = (
            [row for row in found[cases].values() if row["kind"] == kind]
            for kind in ("bug", "healthy")
        )
        alarms = f"{sum(bool(row['says']) for row in fine)} of {len(fine)}"
        rows.append(
            [which, f"{sum(row['found'] for row in bugs)} of {len(bugs)}", alarms]
        )
    return vl.viz.table(["bugs", "found", "false alarms on what is right"], rows)


TABLES = {"clinic-symptoms": symptoms, "clinic-costs": costs, "doctor": doctor}
