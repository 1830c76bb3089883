"""The board of claims: what each study says of the paper and of our own guesses, computed when the book is built.

    ```{claims} positions
    ```

puts a study's question, its claims with their verdicts, and its log on the page; `tally` in place of a name counts the
verdicts of all studies, `undecided` lists what three seeds did not decide. Verdicts are judged anew, by the rules in
`vitlib/studies`, from the runs in `vitlib/results`.
"""

from __future__ import annotations

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from book._ext.computed import NARROW, note_results, table
from tools.site.readme import RESULTS, duration, hardware
from vitlib.evidence import load_results
from vitlib.studies.registry import STUDIES
from vitlib.studies.report import judged, since
from vitlib.studies.study import Claim

VERDICTS = ("agrees", "differs", "open", "not run yet")


def result_of(name: str) -> dict | None:
    """What the book has of a study, or None."""
    return load_results(name) if (RESULTS / f"{name}.json").is_file() else None


def is_papers(source: str) -> bool:
    """Whether a claim is the paper's: its source is a figure, table, section or appendix of it."""
    return source.startswith(("Figure", "Table", "Section", "Appendix"))


def tally() -> list[str]:
    """How many claims agree, differ, are open or wait for their runs: the paper's, others' and ours."""
    counts = {whose: [0] * len(VERDICTS) for whose in ("the paper's", "others'", "ours")}
    for name, study in STUDIES.items():
        for claim in study.claims:
            whose = (
                "the paper's" if is_papers(claim.source) else "ours" if claim.source == "ours" else "others'"
            )
            verdict = judged(claim, result_of(name))[1].partition(" (")[0]
            counts[whose][VERDICTS.index(verdict)] += 1
    rows = [[whose, *map(str, found), str(sum(found))] for whose, found in counts.items()]
    return table(["claims", *VERDICTS, "all"], rows, "|".join([*VERDICTS, "all"]))


def undecided() -> list[str]:
    """The claims of the paper that were run and are open, with the seeds that would decide if the spread stays."""
    rows = []
    for name, study in STUDIES.items():
        for claim in study.claims:
            got, verdict, seeds = judged(claim, result_of(name))
            if is_papers(claim.source) and verdict.startswith("open"):
                more = verdict.partition("about ")[2].partition(" ")[0]
                rows.append([f"{sentence(claim)}, `{name}`", f"{tidy(got)}{count(seeds)}", more])
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
        return [
            study.question,
            "",
            *(f"- {sentence(claim)}" for claim in study.claims),
            "",
            about(name, None),
        ]
    rows = [
        [sentence(claim), f"{tidy(got)}{count(seeds)}", f"**{verdict.partition(' (')[0]}**"]
        for claim in study.claims
        for got, verdict, seeds in [judged(claim, result)]
    ]
    return [
        study.question,
        "",
        *(table(["claim", "what we got", "verdict"], rows) if rows else []),
        "",
        about(name, result),
    ]


def sentence(claim: Claim) -> str:
    """A claim as a sentence, with its source."""
    return f"{claim.says[0].upper()}{claim.says[1:]}. *{claim.source}*".replace("|", "&#124;")


def count(seeds: str) -> str:
    """From how many seeds, where that is not said already."""
    return f", {seeds} seeds" if int(seeds) > 1 else ""


def about(name: str, result: dict | None) -> str:
    """Scale, data, machine and time of a study's runs, its log, and the command that repeats it."""
    again = f"`python -m vitlib study run {name}`"
    if result is None:
        return f"Not run yet: {again}"
    runs = len(result["runs"])
    seconds = result.get("seconds") or sum(run["seconds"] for run in result["runs"])
    said = [
        f"*{result['dataset']}, {result['scale']} scale, {runs} run{'s' * (runs != 1)} in "
        f"{duration(seconds).replace(' ', NARROW)} on {hardware(result['hardware'])}, {result['precision']}.*",
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


def tidy(got: str) -> str:
    """Numbers with their signs and units, unbroken."""
    return (
        got.replace(" ± ", f"{NARROW}±{NARROW}").replace(" points", f"{NARROW}points").replace("|", "&#124;")
    )


class Claims(SphinxDirective):
    """One study on the board, or what is said of all."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        note_results(self.env)
        name = self.arguments[0]
        try:
            lines = {"tally": tally, "undecided": undecided}.get(name, lambda: claims_of(name))()
        except ValueError as error:
            raise self.error(str(error)) from None
        place = nodes.Element()
        self.state.nested_parse(StringList(lines, source=self.env.docname), self.content_offset, place)
        return place.children


def setup(app):
    """Registers the directive with Sphinx."""
    app.add_directive("claims", Claims)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
