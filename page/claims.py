"""The board of claims: what each study says of the paper and of our own guesses, computed when the book is built.

    ```{claims} positions
    ```

puts a study's question, its claims with their verdicts, and its log on the page; in place of a name, `rule` shows the
verdict on each kind of claim for one interval after another, `example` works one out, `tally` counts the verdicts of
all studies, `undecided` lists what three seeds did not decide. Verdicts are judged anew, by `Claim.judge` in
`vitworkshop/studies/study.py`, from the runs in `vitlib/results`.
"""

from __future__ import annotations

from collections.abc import Iterator

from docutils import nodes
from scipy.stats import t

import vitlib as vl
from page.chapters import details, summary
from page.numbers import Computed, hardware, time_taken
from page.typography import NARROW
from vitlib.evidence import RESULTS, load_results
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.report import Outcome, base_changes, bold, outcome_of

SHOWN = ("all", "agrees", "smaller", "differs", "open")
FILTER = f"""<fieldset class="verdicts" onchange="document.querySelectorAll('details.board').forEach(
  one => one.open = !this.querySelector('[value=all]').checked)"><legend>Show claims of the verdict</legend>{
    " ".join(
        f'<label><input type="radio" name="verdict" value="{each}"{" checked" * (each == "all")}> {each}</label>'
        for each in SHOWN
    )
}</fieldset>"""
VERDICTS = ("agrees", "smaller", "differs", "open", "not run yet")
ASIDE = "not counted"
KINDS = ("ahead", "equal", "apart")
EXAMPLES = ((2, 0.6), (0.6, 0.4), (0.8, 1.4), (0.1, 0.6), (-0.7, 1.1), (-2, 0.6))  # mean, reach, in margins


def result_of(name: str) -> dict | None:
    """What the book has of a study, or None."""
    return load_results(name) if (RESULTS / f"{name}.json").is_file() else None


def all_claims() -> Iterator[tuple[str, Claim, Outcome]]:
    """Each claim of each study, with the study's name and what its runs say."""
    for name, study in STUDIES.items():
        result = result_of(name)
        for claim in study.claims:
            yield name, claim, outcome_of(claim, result)


def whose(claim: Claim) -> str:
    """Who says it; the source of the paper's claims is a figure, table, section or appendix of it."""
    if claim.aside:
        return ASIDE
    papers = claim.source.startswith(("Figure", "Table", "Section", "Appendix"))
    return "the paper's" if papers else "ours" if claim.source.startswith("ours") else "others'"


def rule() -> str:
    """The rule in pictures: a mean with its interval, 0 and the margin, and the verdict on a claim of each kind."""
    rows = []
    for mean, reach in EXAMPLES:
        spread = reach * 3**0.5 / float(t.ppf(0.975, 2))
        scores = {"a": (mean - spread, mean, mean + spread), "b": (0.0, 0.0, 0.0)}
        runs = [
            {"variant": name, "seed": seed, "final": {"val_accuracy": score}}
            for name, side in scores.items()
            for seed, score in enumerate(side)
        ]
        kinds = (Claim("", "", "a", "b", margin=1.0, kind=kind).judge(runs)["verdict"] for kind in KINDS)
        rows.append([interval_picture(mean, reach), *kinds])
    return vl.viz.table(["mean and interval", *KINDS], rows)


def interval_picture(mean: float, reach: float) -> str:
    """A mean and its interval in units of the margin, with lines at 0 and at the margin on both sides, as SVG."""
    x = {at: 60 + 20 * at for at in (-1, 0, 1, mean - reach, mean, mean + reach)}
    lines = "".join(
        f'<path d="M{x[at]:g} 1V23" stroke="currentColor" opacity=".5"{dash}/>'
        for at, dash in ((-1, ' stroke-dasharray="2 3"'), (0, ""), (1, ' stroke-dasharray="2 3"'))
    )
    bar = (
        f'<path d="M{x[mean - reach]:.1f} 12H{x[mean + reach]:.1f}" stroke="currentColor" stroke-width="3"/>'
    )
    dot = f'<circle cx="{x[mean]:.1f}" cy="12" r="5" fill="currentColor"/>'
    said = f"mean {mean:g} margins, interval from {mean - reach:.1f} to {mean + reach:.1f}"
    return f'<svg role="img" aria-label="{said}" width="120" height="24">{lines}{bar}{dot}</svg>'


def example() -> str:
    """The first claim of the board, worked out."""
    name = next(iter(STUDIES))
    claim, result = STUDIES[name].claims[0], load_results(name)
    found = claim.judge(result["runs"])
    mean, se, low, high = (100 * number for number in (found["difference"], found["se"], *found["interval"]))
    student = t.ppf(0.975, found["n"] - 1)
    return (
        f"**Worked out: “{claim.says}”** (study `{name}`). The {found['n']} differences between *{found['first']}* and "
        f"*{found['second']}*, one a seed, have a mean of {mean:.2f} points and a standard error of {se:.2f}. "
        f"Student's t for {found['n']} seeds is {student:.2f}, so that the interval reaches {student:.2f} · {se:.2f} = "
        f"{high - mean:.2f} to both sides: from {low:.2f} to {high:.2f}. It leaves 0 out, and the mean reaches the "
        f"margin of {100 * claim.margin:g}: the claim **{found['verdict']}**."
    )


def tally() -> str:
    """How many claims got which verdict: the paper's, others' and ours, and those that test too little to count."""
    counts = {owner: dict.fromkeys(VERDICTS, 0) for owner in ("the paper's", "others'", "ours", ASIDE)}
    for _, claim, found in all_claims():
        counts[whose(claim)][found.verdict] += 1
    rows = [[verdict, *(found[verdict] for found in counts.values())] for verdict in VERDICTS]
    rows.append(["all", *(sum(found.values()) for found in counts.values())])
    return vl.viz.table(["verdict", *counts], rows)


def undecided() -> str:
    """The claims of the paper that were run and are open, with the seeds that would decide if the spread stays."""
    rows = [
        [f"{sentence(claim)}, `{name}`", measured(found), found.seeds_needed]
        for name, claim, found in all_claims()
        if whose(claim) == "the paper's" and found.verdict == "open"
    ]
    return vl.viz.table(["claim", "what we got", "seeds that would decide"], rows)


def claims_of(name: str) -> str:
    """A study on the board: its question, a row for each claim, and where its runs, its rule and its log are."""
    if name not in STUDIES:
        raise ValueError(f"no study {name!r}; there are {', '.join([*OF_ALL, *STUDIES])}")
    study, result = STUDIES[name], result_of(name)
    if result is None:
        said = "\n".join(f"- {sentence(claim)}" for claim in study.claims)
    else:
        found = [(claim, outcome_of(claim, result)) for claim in study.claims]
        rows = [[sentence(claim), measured(one), bold(one)] for claim, one in found]
        said = vl.viz.table(["claim", "what we got", "verdict"], rows) if rows else ""
    return "\n\n".join([study.question, said, about(name, result)])


def sentence(claim: Claim) -> str:
    """A claim as a sentence, with its source, and why it is not counted."""
    aside = f" ({ASIDE}: {claim.aside})" if claim.aside else ""
    return f"{claim.says[0].upper()}{claim.says[1:]}. *{claim.source}*{aside}"


def measured(found: Outcome) -> str:
    """What we got, with numbers, signs and units unbroken, and from how many seeds if from more than one."""
    seeds = f", {found.bounds}, {found.seeds} seeds" if int(found.seeds) > 1 else ""
    unbroken = f"{found.measured}{seeds}".replace(" ± ", f"{NARROW}±{NARROW}").replace(
        " points", f"{NARROW}points"
    )
    return unbroken.replace("margin ", f"margin{NARROW}")


def about(name: str, result: dict | None) -> str:
    """Scale, data, machine and time of a study's runs, its log, and the command that repeats it."""
    again = f"`python -m vitlib study run {name}`"
    if result is None:
        return f"Not run yet: {again}"
    runs = len(result["runs"])
    said = [
        f"*{result['dataset']}, {result['scale']} scale, {runs} run{'s' * (runs != 1)} in "
        f"{time_taken(result)} on {hardware(result['hardware'])}, {result['precision']}.*"
    ]
    if not result.get("finished", True):
        done = {(run.get("run", run["variant"]), run["seed"]) for run in result["runs"]}
        all_runs = len(STUDIES[name].variants) * len(STUDIES[name].seeds)
        said.append(f"*Unfinished: {len(done)} of {all_runs} runs.*")
    if older := base_changes(result):
        said.append(f"*Run before the study became what it is now ({older}).*")
    said.append(f"Log: {{download}}`{name}.json <../vitlib/results/{name}.json>`. Again: {again}")
    return " ".join(said)


OF_ALL = {"rule": rule, "example": example, "tally": tally, "undecided": undecided}


class Claims(Computed):
    """One study on the board, or what is said of all."""

    make = staticmethod(lambda name: OF_ALL.get(name, lambda: claims_of(name))())


def fold_board(app, doctree, docname: str) -> None:
    """Folds each part of the board to how many claims got which verdict; above the first stands the filter."""
    if docname != "book/claims":
        return
    parts = [one for one in doctree.findall(nodes.section) if one.parent.parent is doctree]
    boards = [
        (part, tables) for part in parts if (tables := list(filter(is_board, part.findall(nodes.table))))
    ]
    for part, tables in boards:
        rows = [row for table in tables for row in next(table.findall(nodes.tbody))]
        found = [next(row[2].findall(nodes.strong)).astext() for row in rows]
        for row, verdict in zip(rows, found, strict=True):
            row["classes"].append(verdict.replace(" ", "-"))
        counts = ", ".join(f"{found.count(each)} {each}" for each in VERDICTS if each in found)
        fold = details(
            "", summary("", f"{len(found)} claims: {counts}"), *part.children[1:], classes=["board"]
        )
        part.children[1:] = []
        part += fold
    first = boards[0][0]
    first.parent.insert(first.parent.index(first), nodes.raw("", FILTER, format="html"))


def is_board(table: nodes.table) -> bool:
    """Whether its rows are claims of a study."""
    return table.astext().split()[0] == "claim"


def setup(app) -> None:
    """Registers the directive with Sphinx, and folds the board when search and links have read it."""
    app.add_directive("claims", Claims)
    app.connect("doctree-resolved", fold_board, priority=910)
