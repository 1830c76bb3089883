"""The board: every claim that is admitted, with its verdict, judged anew from the runs by the rule as it is."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from vitlib.evidence import RESULTS, load_results
from vitworkshop.studies.admission import accuracy, why_not
from vitworkshop.studies.claim import OPEN, Claim, rates_of
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.rows import read_study

COLUMNS = (
    "claim",
    "what we got",
    "interval, margin",
    "verdict",
    "rates, seeds",
    "study, data",
)


class Row(NamedTuple):
    """What the runs say of a claim."""

    study: str
    claim: Claim
    found: dict  # by `Claim.judge`
    lacks: list[str]  # what it needs to be admitted; empty for a row of the board
    result: dict  # the study's file

    @property
    def measured(self) -> str:
        """Both sides with their accuracies, and their difference."""
        found, runs = self.found, self.result["runs"]
        if "difference" not in found:
            return ""
        sides = []
        for name in (found["first"], found["second"]):
            share = accuracy(name, STUDIES[self.study], runs)
            sides.append(f"{name} ({share:.1%})" if share is not None else name)
        one_seed = ", one seed" if found["n"] == 1 else ""
        return f"{sides[0]} against {sides[1]}: {difference(found)}{one_seed}"

    @property
    def bounds(self) -> str:
        """The interval and the margin, to one more digit than the difference, so that they can be checked."""
        if "interval" not in self.found:
            return ""
        scale, digits, _ = unit(self.found["metric"])
        low, high = (
            f"{scale * bound:+.{digits + 1}f}" for bound in self.found["interval"]
        )
        return f"[{low}, {high}], margin {scale * self.claim.margin:g}"

    @property
    def verdict(self) -> str:
        """What was found, and whether the claim says so."""
        return f"{self.found['found']}: {self.found['verdict']}"

    @property
    def tried(self) -> str:
        """The learning rates of each side, the best one in brackets, and the seeds."""
        study, sides = STUDIES[self.study], []
        for name in (self.found.get("first"), self.found.get("second")):
            rates = (
                rates_of(name, self.result["runs"], self.claim.metric, study.choosing)
                if name
                else {}
            )
            # of several that are level, the one that was chosen
            own = (name or "").rpartition("lr=")[2]
            best = max(
                rates, key=lambda rate: (rates[rate], f"{rate:g}" == own), default=None
            )
            sides.append(
                ", ".join(
                    f"[{rate:g}]" if rate == best else f"{rate:g}"
                    for rate in sorted(rates)
                )
                or "none"
            )
        apart = (
            f", rates chosen on {len(study.choosing)} more" if study.choosing else ""
        )
        return f"{' against '.join(dict.fromkeys(sides))}; {self.found.get('n', 0)} seeds{apart}"


def unit(metric: str) -> tuple[int, int, str]:
    """How a difference is written: its factor, its digits and its unit; accuracies in points."""
    return (100, 1, " points") if "accuracy" in metric else (1, 2, "")


def difference(found: dict) -> str:
    """A mean difference with its standard error, if it has one."""
    scale, digits, name = unit(found["metric"])
    spread = f" ± {scale * found['se']:.{digits}f}" if "se" in found else ""
    return f"{scale * found['difference']:+.{digits}f}{spread}{name}"


def whole(name: str, out: str | Path | None = None) -> dict | None:
    """A study's file, from the book's results for None or its folder inside `out`; None if it is not whole yet."""
    folder = RESULTS if out is None else Path(out) / f"study-{name}"
    result = read_study(name, folder) if (folder / f"{name}.json").is_file() else None
    return result if result and result["finished"] else None


def rows_of(name: str, result: dict, out: str | Path | None = None) -> list[Row]:
    """A row for each claim of a study; a headline needs its second setting, from `out`, as well."""
    return [
        row._replace(lacks=[*row.lacks, *_second(row, out)]) if row.claim.twin else row
        for row in _own_rows(name, result)
    ]


def _own_rows(name: str, result: dict) -> list[Row]:
    """A row for each claim of a study by its own runs."""
    study, runs = STUDIES[name], result["runs"]
    ridge = load_results("ridge")["accuracy"].get(name, {})
    judged = [(claim, claim.judge(runs, study.choosing)) for claim in study.claims]
    return [
        Row(name, claim, found, why_not(claim, found, study, runs, ridge), result)
        for claim, found in judged
    ]


def _second(row: Row, out: str | Path | None) -> list[str]:
    """What a headline's second setting lacks; nothing if it is admitted and says the same."""
    of = (
        name
        for name, study in STUDIES.items()
        for claim in study.claims
        if claim.says == row.claim.twin
    )
    found = [
        twin
        for name in of
        if (result := whole(name, out)) is not None
        for twin in _own_rows(name, result)
        if twin.claim.says == row.claim.twin
    ]
    if not found:
        said = "was not run yet"
    elif found[0].lacks:
        said = "is not admitted"
    elif _says(found[0]) != _says(row) or OPEN in _says(row):
        said = "says otherwise, or is open"
    else:
        return []
    return [f"a headline needs a second setting, and that {said}"]


def _says(row: Row) -> tuple[str, bool]:
    """A row's verdict, and which side is ahead."""
    return row.found["verdict"], row.found.get("difference", 0.0) > 0


def all_rows(out: str | Path | None = None) -> list[Row]:
    """A row for each claim of all studies that are whole."""
    return [
        row
        for name in STUDIES
        if (result := whole(name, out)) is not None
        for row in rows_of(name, result, out)
    ]


def admitted(out: str | Path | None = None) -> list[Row]:
    """The rows of the board."""
    return [row for row in all_rows(out) if not row.lacks]


def board(out: str | Path | None = None) -> list[str]:
    """A row of Markdown for each claim that is admitted: what was said, what we got, and whether they agree.

    In `out` lie the studies' folders, as `study run --all --out` makes them; None reads the book's own.
    """
    if out is not None and not Path(out).is_dir():
        raise ValueError(f"there is no folder {out}; take that of a study run --all")
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for row in admitted(out):
        says, where = (
            f"{row.claim.says} ({row.claim.source})",
            f"{row.study}, {row.result['dataset']}",
        )
        cells = [says, row.measured, row.bounds, row.verdict, row.tried, where]
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return lines
