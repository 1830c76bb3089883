"""The board of claims and the runs behind the chapters, computed when the book is built.

    ```{claims} board
    ```

puts every admitted claim on the page; in place of `board`, `rule` shows what is found of one interval after another,
`example` works one out, `tally` counts the verdicts, `missing` lists what the plan has not run yet, with its price, and
the name of a study tells its runs: question, how they were made, every claim with its verdict and what it lacks for the
board.
Verdicts are judged anew, by `Claim.judge` in `vitworkshop/studies/claim.py`, from the runs in `vitlib/results`.
"""

from __future__ import annotations

import inspect
from collections import Counter
from importlib import import_module

from docutils import nodes
from scipy.stats import t

import vitlib as vl
from page.numbers import Computed, hardware, time_taken
from page.typography import NARROW
from vitworkshop.studies import budget
from vitworkshop.studies.board import Row, admitted, all_rows, rows_of, unit, whole
from vitworkshop.studies.claim import OPEN, Claim
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.report import summary

KINDS = ("ahead", "equal")
# mean, reach, in margins
EXAMPLES = (
    (2, 0.6),
    (0.5, 0.3),
    (1.2, 0.6),
    (0.1, 0.6),
    (-0.7, 1.1),
    (-2, 0.6),
)


def whose(claim: Claim) -> str:
    """Who says it; the source of the paper's claims is a figure, table, section or appendix of it."""
    papers = claim.source.startswith(("Figure", "Table", "Section", "Appendix"))
    return (
        "the paper's"
        if papers
        else "ours"
        if claim.source.startswith("ours")
        else "others'"
    )


def rule() -> str:
    """The rule in pictures: a mean with its interval, 0 and the margins, what is found, and what claims say of it."""
    rows = []
    for mean, reach in EXAMPLES:
        spread = reach * 3**0.5 / float(t.ppf(0.975, 2))
        scores = {"a": (mean - spread, mean, mean + spread), "b": (0.0, 0.0, 0.0)}
        runs = [
            {"variant": name, "seed": seed, "final": {"val_accuracy": score}}
            for name, side in scores.items()
            for seed, score in enumerate(side)
        ]
        found = [
            Claim("", "", "a", "b", margin=1.0, kind=kind).judge(runs) for kind in KINDS
        ]
        rows.append(
            [
                interval_picture(mean, reach),
                found[0]["found"],
                *(one["verdict"] for one in found),
            ]
        )
    return vl.viz.table(["mean and interval", "found", *KINDS], rows)


def interval_picture(mean: float, reach: float) -> str:
    """A mean and its interval in units of the margin, with lines at 0 and at the margin on both sides, as SVG."""
    x = {at: 60 + 20 * at for at in (-1, 0, 1, mean - reach, mean, mean + reach)}
    lines = "".join(
        f'<path d="M{x[at]:g} 1V23" stroke="currentColor" opacity=".5"{dash}/>'
        for at, dash in (
            (-1, ' stroke-dasharray="2 3"'),
            (0, ""),
            (1, ' stroke-dasharray="2 3"'),
        )
    )
    bar = f'<path d="M{x[mean - reach]:.1f} 12H{x[mean + reach]:.1f}" stroke="currentColor" stroke-width="3"/>'
    dot = f'<circle cx="{x[mean]:.1f}" cy="12" r="5" fill="currentColor"/>'
    said = (
        f"mean {mean:g} margins, interval from {mean - reach:.1f} to {mean + reach:.1f}"
    )
    return f'<svg role="img" aria-label="{said}" width="120" height="24">{lines}{bar}{dot}</svg>'


def example() -> str:
    """The first claim of the board, worked out."""
    row = admitted()[0]
    found, (scale, _, name) = row.found, unit(row.found["metric"])
    mean, se, low, high = (
        scale * number
        for number in (found["difference"], found["se"], *found["interval"])
    )
    student = t.ppf(0.975, found["n"] - 1)
    return (
        f"**Worked out: “{row.claim.says}”.** The {found['n']} differences between *{found['first']}* and "
        f"*{found['second']}*, one a seed, have a mean of {mean:.2f}{name} and a standard error of {se:.2f}. "
        f"Student's t for {found['n']} seeds is {student:.2f}, so that the interval reaches {student:.2f} · {se:.2f} = "
        f"{high - mean:.2f} to both sides: from {low:.2f} to {high:.2f}. Against the margin of "
        f"{scale * row.claim.margin:g}, the difference **{found['found']}**, and the claim **{found['verdict']}**."
    )


def board() -> str:
    """Every claim that is admitted, with its numbers, its rates and its verdict."""
    rows = [
        [
            sentence(row.claim),
            f"{unbroken(row.measured)}, {unbroken(row.bounds)}",
            row.tried,
            told(row),
            f"`{row.study}`",
        ]
        for row in admitted()
    ]
    return vl.viz.table(
        ["claim", "what we got", "rates [best]; seeds", "verdict", "study"], rows
    )


def tally() -> str:
    """How many claims got which verdict, on the board and of all that were run, by who says them."""
    counts = {
        where: Counter((whose(row.claim), row.found["verdict"]) for row in some)
        for where, some in (("on the board", admitted()), ("run", all_rows()))
    }
    owners, verdicts = ("the paper's", "others'", "ours"), ("agrees", "differs", "open")
    lines = [
        [f"{owner}, {where}", *(counted[owner, verdict] for verdict in verdicts)]
        for where, counted in counts.items()
        for owner in owners
    ]
    return vl.viz.table(["claims", *verdicts], lines)


def missing() -> str:
    """What the plan holds and the book has not run to its end, with its price."""
    rows = [
        [
            f"{STUDIES[name].question} `{name}`",
            price.runs,
            f"{price.core_minutes / 60:.1f}",
        ]
        for name, price in budget.prices().items()
        if whole(name) is None
    ]
    return (
        vl.viz.table(["planned", "runs", "core-hours"], rows)
        if rows
        else "Everything that was planned has been run."
    )


def study(name: str) -> str:
    """The runs of a study: its question, how they were made, each claim, what they do not say, how to repeat them."""
    if name not in STUDIES:
        raise ValueError(
            f"no study {name!r}; there are {', '.join([*OF_ALL, *STUDIES])}"
        )
    one, result = STUDIES[name], whole(name)
    if result is None:
        return f"**{one.question}** Not run to its end yet: `python -m vitlib study run {name}`"
    rows = rows_of(name, result)
    claims = [
        [sentence(row.claim), measured(row), told(row), lacks(row)] for row in rows
    ]
    heads = ["claim", "what we got", "verdict", "on the board?"]
    parts = [
        f"**{one.question}**",
        how(name),
        vl.viz.table(heads, claims) if claims else "",
        variants(name, result),
    ]
    return "\n\n".join([*filter(None, parts), about(name, result)])


def how(name: str) -> str:
    """How the runs were made, as the study's own file tells it, without its first line."""
    module = import_module(f"vitworkshop.studies.{name.replace('-', '_')}")
    text = inspect.getdoc(module) or ""
    return text.partition("\n")[2].strip()


def variants(name: str, result: dict) -> str:
    """Every variant of a study with its mean, folded."""
    head, *rows = summary(result)
    return f":::{{dropdown}} All {len(rows)} variants of {name}: {result['measure']}\n{vl.viz.table(head, rows)}\n:::"


def sentence(claim: Claim) -> str:
    """A claim as a sentence, with its source."""
    return f"{claim.says[0].upper()}{claim.says[1:]}. *{claim.source}*"


def told(row: Row) -> str:
    """What was found, and what that says of the claim."""
    return (
        f"{row.found['found']}: **{row.found['verdict']}**"
        if row.found["found"] != OPEN
        else f"**{OPEN}**"
    )


def lacks(row: Row) -> str:
    """Why a row is not on the board."""
    return "; ".join(row.lacks) or "yes"


def measured(row: Row) -> str:
    """What we got, with interval, margin and seeds."""
    seeds = f", {row.bounds}, {row.found['n']} seeds" if row.bounds else ""
    return unbroken(f"{row.measured}{seeds}")


def unbroken(text: str) -> str:
    """Numbers, signs and units stay on a line."""
    return (
        text.replace(" ± ", f"{NARROW}±{NARROW}")
        .replace(" points", f"{NARROW}points")
        .replace("margin ", f"margin{NARROW}")
    )


def about(name: str, result: dict) -> str:
    """Data, machine and time of a study's runs, its log, and the command that repeats it."""
    runs = len(result["runs"])
    said = [
        f"*{result['dataset']}, {runs} run{'s' * (runs != 1)} in "
        f"{time_taken(result)} on {hardware(result['hardware'])}, {result['precision']}.*"
    ]
    again = f"`python -m vitlib study run {name}`"
    said.append(
        f"Log: {{download}}`{name}.json <../vitlib/results/{name}.json>`. Again: {again}"
    )
    return " ".join(said)


OF_ALL = {
    "rule": rule,
    "example": example,
    "board": board,
    "tally": tally,
    "missing": missing,
}


class Claims(Computed):
    """The board, what is said of it, or the runs of one study."""

    make = staticmethod(lambda name: OF_ALL.get(name, lambda: study(name))())

    def run(self) -> list[nodes.Node]:
        """The nodes, with a class by which a phone stacks the cells of a row."""
        found = super().run()
        for table in (table for node in found for table in node.findall(nodes.table)):
            if table.astext().lstrip().startswith("claim\n"):
                table["classes"].append("board")
        return found


def setup(app) -> None:
    """Registers the directive with Sphinx."""
    app.add_directive("claims", Claims)
