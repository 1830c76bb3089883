"""The board of claims: what each study says of the paper and of our own guesses, computed when the book is built.

    ```{claims} positions
    ```

puts a study's question, its claims with their verdicts, and its log on the page; `tally` in place of a name counts the
verdicts of all studies, `undecided` lists what three seeds did not decide. Verdicts are judged anew, by
`Claim.judge` in `vitworkshop/studies/study.py`, from the runs in `vitlib/results`.
"""

from __future__ import annotations

from collections.abc import Iterator

import vitlib as vl
from page.numbers import Computed, hardware, time_taken
from page.typography import NARROW
from vitlib.evidence import RESULTS, load_results
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.report import Outcome, base_changes, outcome_of
from vitworkshop.studies.study import Claim

VERDICTS = ("agrees", "differs", "open", "not run yet")


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
    papers = claim.source.startswith(("Figure", "Table", "Section", "Appendix"))
    return "the paper's" if papers else "ours" if claim.source == "ours" else "others'"


def tally() -> str:
    """How many claims agree, differ, are open or wait for their runs: the paper's, others' and ours."""
    counts = {owner: dict.fromkeys(VERDICTS, 0) for owner in ("the paper's", "others'", "ours")}
    for _, claim, found in all_claims():
        counts[whose(claim)][found.verdict] += 1
    rows = [[owner, *found.values(), sum(found.values())] for owner, found in counts.items()]
    return vl.viz.table(["claims", *VERDICTS, "all"], rows)


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
        raise ValueError(f"no study {name!r}; there are tally, undecided, {', '.join(STUDIES)}")
    study, result = STUDIES[name], result_of(name)
    if result is None:
        said = "\n".join(f"- {sentence(claim)}" for claim in study.claims)
    else:
        found = [(claim, outcome_of(claim, result)) for claim in study.claims]
        rows = [[sentence(claim), measured(one), f"**{one.verdict}**"] for claim, one in found]
        said = vl.viz.table(["claim", "what we got", "verdict"], rows) if rows else ""
    return "\n\n".join([study.question, said, about(name, result)])


def sentence(claim: Claim) -> str:
    """A claim as a sentence, with its source."""
    return f"{claim.says[0].upper()}{claim.says[1:]}. *{claim.source}*"


def measured(found: Outcome) -> str:
    """What we got, with numbers, signs and units unbroken, and from how many seeds if from more than one."""
    seeds = f", {found.seeds} seeds" if int(found.seeds) > 1 else ""
    return f"{found.measured}{seeds}".replace(" ± ", f"{NARROW}±{NARROW}").replace(
        " points", f"{NARROW}points"
    )


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


class Claims(Computed):
    """One study on the board, or what is said of all."""

    make = staticmethod(
        lambda name: {"tally": tally, "undecided": undecided}.get(name, lambda: claims_of(name))()
    )


def setup(app) -> None:
    """Registers the directive with Sphinx."""
    app.add_directive("claims", Claims)
