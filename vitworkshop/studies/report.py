"""Tells what a study found, as a table and in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.rows import read_study
from vitworkshop.studies.runner import folder_of


def report(name: str, out: str | Path | None = None) -> str:
    """What a study found, as a Markdown table: from `<out>/<name>.json`; for None from here, else the book's own."""
    folder = folder_of(name, out)
    here = out or (folder / f"{name}.json").is_file()
    result = read_study(name, folder if here else None)
    head, *rows = (f"| {' | '.join(cells)} |" for cells in summary(result))
    first = f"{result['question']} {result['dataset']}; {result['measure']}."
    claims = [
        f"- {says}: {one['word']}, {difference(one)}, n = {one['n']}"
        for says, one in judged_in(name, result).items()
        if "interval" in one
    ]
    table = [head, "|---|---|---|---|", *rows]
    return "\n".join([first, "", *table, "", *claims])


def summary(result: dict) -> Iterator[list[str]]:
    """The head of a table of all variants, and a row for each: its mean, its deviation and its number of seeds."""
    metric = result["metric"]
    named = metric.removeprefix("val_").replace("_", " ")
    yield ["variant", named, "sd over seeds", "seeds"]
    for variant, s in result["summary"].items():
        spread = "one seed" if s["sd"] is None else show(s["sd"], metric)
        yield [variant, show(s["mean"], metric), spread, str(s["n"])]


def show(value: float, metric: str) -> str:
    """A number as it stands in a report: accuracies in percent."""
    return f"{value:.2%}" if "accuracy" in metric else f"{value:.3f}"


def judged_in(name: str, result: dict) -> dict[str, dict]:
    """What a file of results says of each claim of its study, by its words; see `Claim.judge`."""
    study = STUDIES[name]
    return {
        claim.says: claim.judge(result["runs"], study.choosing)
        | {"metric": claim.metric, "margin": claim.margin}
        for claim in study.claims
    }


@cache
def judged(name: str) -> dict[str, dict]:
    """What the book's own runs say of each claim of a study."""
    return judged_in(name, read_study(name))


def difference(found: dict) -> str:
    """A mean difference, its 95 % interval and the margin; of accuracies in points."""
    points = "accuracy" in found["metric"]
    scale, digits = (100, 1) if points else (1, 2)

    def signed(x: float) -> str:
        text = f"{scale * x:+.{digits}f}"
        return text if float(text) else f"{scale * x:+.{digits + 1}f}"  # on which side

    low, high = map(signed, found["interval"])
    mean = f"{signed(found['difference'])}{' points' * points}"
    return f"{mean} [{low}, {high}], margin {scale * found['margin']:g}"
