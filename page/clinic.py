"""The tables of the page `clinic`: the symptoms of its ten runs, what each bug costs, and what `vl.doctor` finds."""

from __future__ import annotations

from collections.abc import Iterator

import vitlib as vl
from page.values import unbroken
from page.words import t
from vitworkshop.studies.claim import NOT_HERE, OPEN, SAME
from vitworkshop.studies.clinic import BUGS
from vitworkshop.studies.report import judged


def said() -> Iterator[str]:
    """What the tables take from data."""
    yield from (case.name for case in BUGS.values())
    for name, run in vl.load_results("clinic-symptoms")["symptoms"].items():
        yield from (name, *run["doctor"])


def symptoms() -> str:
    """A row for each run: what was answered rightly, losses, gradients by part, and what attention looked like."""
    heads = [
        *(t("run"), t("right"), t("first"), t("last"), "embed", "pos"),
        *(t("block 1"), t("block 2"), "head", "bits", t("rows")),
    ]
    rows = []
    for name, run in vl.load_results("clinic-symptoms")["symptoms"].items():
        numbers = [run["first"], run["last"], *run["parts"].values()]
        low, high = run["rows"]
        shown = [f"{n:.2f}" if n else "0" for n in numbers] + [
            ", ".join(f"{b:.1f}" for b in run["bits"])
        ]
        rows.append(
            [
                t(name),
                f"{run['right']:.0%}",
                *shown,
                unbroken(t("{a} to {b}", a=f"{low:.1f}", b=f"{high:.1f}")),
            ]
        )
    return vl.viz.table(heads, rows)


def costs() -> str:
    """What each bug costs in the study's long runs, and what the doctor says of it beforehand."""
    study, seen = (
        vl.load_results("clinic"),
        vl.load_results("clinic-symptoms")["symptoms"],
    )
    verdicts = judged("clinic")
    linear = vl.load_results("ridge")["accuracy"]["clinic"]["*"]
    rows = [
        [
            "",
            t("none"),
            f"{study['summary']['healthy']['mean']:.1%}",
            "",
            "",
            t("nothing"),
        ],
        ["", t("ridge on pixels"), f"{linear:.1%}", "", "", ""],
    ]
    for letter, case in BUGS.items():
        found = verdicts[f"{case.name}: it costs accuracy"]
        gains = found["interval"][1] < 0
        not_here = t("it gains") if gains else t("no")
        says = {SAME: t("yes"), OPEN: t("open"), NOT_HERE: not_here}[found["word"]]
        change = unbroken(
            f"{-100 * found['difference']:+.1f} ± {100 * found['se']:.1f}"
        )
        right = f"{study['summary'][case.name]['mean']:.1%}"
        rows.append(
            [
                letter,
                t(case.name),
                right,
                change,
                says,
                t(", ").join(map(t, seen[letter]["doctor"])) or t("nothing"),
            ]
        )
    return vl.viz.table(
        [
            *(t("run"), t("bug"), t("right"), t("change, points")),
            *(t("does it cost?"), t("`vl.doctor` names")),
        ],
        rows,
    )


def doctor() -> str:
    """How many bugs the doctor found of those that it had never met, and its false alarms."""
    rows = [*vl.load_results("doctor")["unseen"].values()]
    bugs, fine = (
        [row for row in rows if row["kind"] == kind] for kind in ("bug", "healthy")
    )
    caught = sum(row["found"] for row in bugs)
    alarms = sum(bool(row["says"]) for row in fine)
    both = ((caught, bugs), (alarms, fine))
    return vl.viz.table(
        [t("bugs"), t("found"), t("false alarms on what is right")],
        [
            [
                t("written by somebody else"),
                *(t("{n} of {m}", n=n, m=len(of)) for n, of in both),
            ]
        ],
    )


TABLES = {"clinic-symptoms": symptoms, "clinic-costs": costs, "doctor": doctor}
