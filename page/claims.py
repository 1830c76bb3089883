"""The board of claims: what each study says of the paper and of our own guesses, computed when the book is built.

    ```{claims} positions
    ```

puts a study's question, its claims with their verdicts, and its log on the page; `tally` in place of a name counts the
verdicts of all studies, `undecided` lists what three seeds did not decide. Verdicts are judged anew, by the rules in
`vitworkshop/studies`, from the runs in `vitlib/results`.
"""

from __future__ import annotations

from collections.abc import Iterator

from page.computed import NARROW, Computed, table, time_taken
from page.readme import RESULTS, hardware
from vitlib.evidence import load_results
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.report import Judged, judged, since
from vitworkshop.studies.study import Claim

VERDICTS = ("agrees", "differs", "open", "not run yet")


def result_of(name: str) -> dict | None:
    """What the book has of a study, or None."""
    return load_results(name) if (RESULTS / f"{name}.json").is_file() else None


def is_papers(source: str) -> bool:
    """Whether a claim is the paper's: its source is a figure, table, section or appendix of it."""
    return source.startswith(("Figure", "Table", "Section", "Appendix"))


def all_claims() -> Iterator[tuple[str, Claim, Judged]]:
    """Each claim of each study, with the study's name and what its runs say."""
    for name, study in STUDIES.items():
        result = result_of(name)
        for claim in study.claims:
            yield name, claim, judged(claim, result)


def tally() -> list[str]:
    """How many claims agree, differ, are open or wait for their runs: the paper's, others' and ours."""
    counts = {whose: [0] * len(VERDICTS) for whose in ("the paper's", "others'", "ours")}
    for _, claim, found in all_claims():
        others = "ours" if claim.source == "ours" else "others'"
        counts["the paper's" if is_papers(claim.source) else others][VERDICTS.index(found.verdict)] += 1
    rows = [[whose, *map(str, found), str(sum(found))] for whose, found in counts.items()]
    return table(["claims", *VERDICTS, "all"], rows, "|".join([*VERDICTS, "all"]))


def undecided() -> list[str]:
    """The claims of the paper that were run and are open, with the seeds that would decide if the spread stays."""
    rows = [
        [f"{sentence(claim)}, `{name}`", measured(found), found.more]
        for name, claim, found in all_claims()
        if is_papers(claim.source) and found.verdict == "open"
    ]
    return table(["claim", "what we got", "seeds that would decide"], rows, "seeds that would decide")


def claims_of(name: str) -> list[str]:
    """A study on the board: its question, a row for each claim, and where its runs, its rule and its log are.

    Raises:
        ValueError: If there is no such study.
    """
    if name not in STUDIES:
        raise ValueError(f"no study {name!r}; there are tally, undecided, {', '.join(STUDIES)}")
    study, result = STUDIES[name], result_of(name)
    if result is None:
        said = [f"- {sentence(claim)}" for claim in study.claims]
    else:
        found = [(claim, judged(claim, result)) for claim in study.claims]
        rows = [[sentence(claim), measured(one), f"**{one.verdict}**"] for claim, one in found]
        said = table(["claim", "what we got", "verdict"], rows) if rows else []
    return [study.question, "", *said, "", about(name, result)]


def sentence(claim: Claim) -> str:
    """A claim as a sentence, with its source."""
    return f"{claim.says[0].upper()}{claim.says[1:]}. *{claim.source}*".replace("|", "&#124;")


def measured(found: Judged) -> str:
    """What we got, with numbers, signs and units unbroken, and from how many seeds if from more than one."""
    seeds = f", {found.seeds} seeds" if int(found.seeds) > 1 else ""
    return f"{found.got}{seeds}".replace(" ± ", f"{NARROW}±{NARROW}").replace(" points", f"{NARROW}points")


def about(name: str, result: dict | None) -> str:
    """Scale, data, machine and time of a study's runs, its log, and the command that repeats it."""
    again = f"`python -m vitlib study run {name}`"
    if result is None:
        return f"Not run yet: {again}"
    runs = len(result["runs"])
    said = [
        f"*{result['dataset']}, {result['scale']} scale, {runs} run{'s' * (runs != 1)} in "
        f"{time_taken(result)} on {hardware(result['hardware'])}, {result['precision']}.*",
        "" if result.get("finished", True) else f"*{unfinished(name, result)}*",
        f"*Run before the study became what it is now ({older}).*" if (older := since(result)) else "",
        f"Log: {{download}}`{name}.json <../vitlib/results/{name}.json>`. Again: {again}",
    ]
    return " ".join(part for part in said if part)


def unfinished(name: str, result: dict) -> str:
    """How many of a study's runs are there."""
    study = STUDIES[name]
    done = {(run.get("run", run["variant"]), run["seed"]) for run in result["runs"]}
    return f"Unfinished: {len(done)} of {len(study.variants) * len(study.seeds)} runs."


def lines_of(name: str) -> list[str]:
    """One study on the board, or what is said of all."""
    return {"tally": tally, "undecided": undecided}.get(name, lambda: claims_of(name))()


class Claims(Computed):
    """A part of the board."""

    make = staticmethod(lines_of)


def setup(app):
    """Registers the directive with Sphinx."""
    app.add_directive("claims", Claims)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
