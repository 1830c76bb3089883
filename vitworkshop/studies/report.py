"""Tells what a study found, as a table and in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from vitworkshop.studies.board import difference, rows_of
from vitworkshop.studies.registry import STUDIES, folders
from vitworkshop.studies.rows import read_study


def show(value: float, metric: str) -> str:
    """A number as it stands in a report: accuracies in percent."""
    return f"{value:.2%}" if "accuracy" in metric else f"{value:.3f}"


def report(name: str, out: str | Path | None = None) -> str:
    """What a study found, as a Markdown table: from `<out>/<name>.json`; for None from here, else the book's own."""
    folder = folders(name, out)[name]
    result = read_study(
        name, folder if out or (folder / f"{name}.json").exists() else None
    )
    held_out = result["n_val"] and "accuracy" in result["metric"]
    measured = f"{result['n_val']:,} held-out images" if held_out else result["measure"]
    head, *rows = (f"| {' | '.join(cells)} |" for cells in summary(result))
    first = f"{result['question']} {result['dataset']}, {measured}."
    return "\n".join([first, "", head, "|---|---|---|---|", *rows, "", tell(result)])


def summary(result: dict) -> Iterator[list[str]]:
    """The head of a table of all variants, and a row for each: its mean, its deviation and its number of seeds."""
    metric = result["metric"]
    yield [
        "variant",
        metric.removeprefix("val_").replace("_", " "),
        "sd over seeds",
        "seeds",
    ]
    for variant, s in result["summary"].items():
        spread = (
            "one seed" if s["sd"] is None else show(s["sd"], metric).removesuffix("%")
        )
        yield [variant, show(s["mean"], metric), spread, str(s["n"])]


def tell(result: dict) -> str:
    """What a study found, in sentences: the verdict on each claim, what it cost, the command."""
    lines = []
    for row in rows_of(result["name"], result) if result["name"] in STUDIES else ():
        said = f"{row.claim.says}: {row.verdict}"
        if "se" in row.found:
            said += f", {difference(row.found)} (standard error, n = {row.found['n']}), {row.bounds}"
        lines.append(
            f"- {said}.{f' Not on the board: {row.lacks[0]}.' if row.lacks else ''}"
        )
    if lines:
        lines.append("")  # ends the list
    minutes, seeds = (
        result["seconds"] / 60,
        len({run["seed"] for run in result["runs"]}),
    )
    lines.append(
        f"{len(result['runs'])} runs on {result['dataset']} with {seeds} seed{'s' * (seeds != 1)} took "
        f"{minutes:.0f} minutes: `{result['command']}`"
    )
    return "\n".join(lines)


@cache
def judged(name: str) -> dict[str, dict]:
    """What the book's own runs of a study say of each of its claims; see `Claim.judge`."""
    return {row.claim.says: row.found for row in rows_of(name, read_study(name))}
