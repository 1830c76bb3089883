"""Tells what studies found: one as a table, and the board of all claims."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

from vitlib.evidence import RESULTS, load_results
from vitlib.train.checkpoint import differences
from vitlib.train.recipe import default_fields
from vitworkshop.studies.registry import STUDIES, folders
from vitworkshop.studies.study import Claim

VERDICTS = ("claim", "what we got", "seeds", "verdict")
EDGE = "at the edge of the rates tried"  # the best rate of a side is the first or the last of its grid
TURNS = "turned by a change of 1e-7 in one seed's first weights"


class Outcome(NamedTuple):
    """What the runs say of a claim, as it stands in a table; "" where there is nothing to say."""

    measured: str  # both sides and their difference
    verdict: str  # "agrees", "differs", "smaller", "open" or "not run yet"
    seeds: str  # from how many
    seeds_needed: str = ""  # about how many would decide an open one
    bounds: str = ""  # the interval and the margin
    doubt: str = ""  # that other learning rates might change it, or rounding does


def show(value: float, metric: str) -> str:
    """A number as it stands in a report: accuracies in percent."""
    return f"{value:.2%}" if "accuracy" in metric else f"{value:.3f}"


def report(name: str, out: str | Path | None = None) -> str:
    """What a study found, as a Markdown table: from `<out>/<name>.json`; for None from here, else the book's own."""
    folder = folders(name, out)[name]
    result = load_results(name, folder if out or (folder / f"{name}.json").exists() else None)
    if (metric := result.get("metric")) is None:
        raise ValueError(f"{name}.json in {folder} is of no study; give another folder with --out")
    held_out = result["n_val"] and "accuracy" in metric
    measured = f"{result['n_val']:,} held-out images" if held_out else result["measure"]
    lines = [
        f"{result['question']} {result['dataset']}, {result['scale']} scale, {measured}.",
        "",
        f"| variant | {metric.removeprefix('val_').replace('_', ' ')} | sd over seeds | seeds |",
        "|---|---|---|---|",
    ]
    for variant, s in result["summary"].items():
        spread = "one seed" if s["sd"] is None else show(s["sd"], metric).removesuffix("%")
        lines.append(f"| {variant} | {show(s['mean'], metric)} | {spread} | {s['n']} |")
    return "\n".join([*lines, "", tell(result)])


def tell(result: dict) -> str:
    """What a study found, in sentences: the verdict on each claim, what it cost, the command."""
    study, lines = STUDIES.get(result["name"]), []
    turned = {claim.says for claim in study.claims if turns(claim, result)} if study else ()
    for claim, found in result["verdicts"].items():
        verdict = found["verdict"]
        if "se" in found:
            verdict += f", {_difference(found, result['metric'])} (standard error, n = {found['n']})"
        verdict += f"; about {found['seeds']} seeds would decide" if "seeds" in found else ""
        verdict += f"; {EDGE}" if "at_edge" in found else ""
        verdict += f"; {TURNS}" if claim in turned else ""
        lines.append(f"- {claim}: {verdict}.")
    if lines:
        lines.append("")  # ends the list
    minutes, seeds = result["seconds"] / 60, len({run["seed"] for run in result["runs"]})
    lines.append(
        f"{len(result['runs'])} runs on {result['dataset']} with {seeds} seed{'s' * (seeds != 1)} took "
        f"{minutes:.0f} minutes: `{result['command']}`"
    )
    if older := base_changes(result):
        lines.append(f"They were run before the study became what it is now: {older}.")
    return "\n".join(lines)


def board(out: str | Path | None = None) -> list[str]:
    """A row of Markdown for each claim of all studies: what was said, what we got, and whether they agree.

    The verdicts are judged anew by the studies' rules, from the runs in the files: in the studies' folders inside
    `out`, as `study run --all --out` takes it; None reads the book's own.
    """
    if out is not None and not Path(out).is_dir():
        raise ValueError(f"there is no folder {out}; take that of a study run --all")
    lines = ["| claim | source | what we got | verdict | seeds | study | data |", "|---" * 7 + "|"]
    older = False
    for name, folder in folders(None, out).items():
        folder = RESULTS if out is None else folder
        result = load_results(name, folder) if (folder / f"{name}.json").is_file() else None
        changed = bool(result and base_changes(result))
        older |= changed
        for claim in STUDIES[name].claims:
            found = outcome_of(claim, result)
            got = f"{found.measured}; {found.bounds}" if found.bounds else found.measured
            beside = [f"about {found.seeds_needed} seeds would decide"] if found.seeds_needed else []
            beside += [found.doubt] if found.doubt else []
            verdict = found.verdict + (f" ({'; '.join(beside)})" if beside else "")
            cells = [claim.says, claim.source, got, verdict, found.seeds, f"{name}{' *' * changed}"]
            cells.append("" if result is None else f"{result['dataset']}, {result['scale']}")
            lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    if older:
        lines += ["", r"\* run before the study became what it is now; its report says what was otherwise"]
    return lines


def verdicts(name: str) -> list[tuple[str, ...]]:
    """What the rules of a study say of the book's own runs: a row of `VERDICTS` for each of its claims."""
    result = load_results(name)
    found = [(claim.says, outcome_of(claim, result)) for claim in STUDIES[name].claims]
    return [(says, one.measured, one.seeds, bold(one)) for says, one in found]


def bold(found: Outcome) -> str:
    """A verdict as it stands in a table, with what makes it doubtful."""
    return f"**{found.verdict}**, {found.doubt}" if found.doubt else f"**{found.verdict}**"


def outcome_of(claim: Claim, result: dict | None) -> Outcome:
    """What the runs of a result say of a claim, by its rule as it is; None is a study that was not run."""
    if result is None or not result["runs"]:
        return Outcome("", "not run yet", "")
    found = claim.judge(result["runs"])
    if "difference" not in found:
        return Outcome("", found["verdict"], "0")
    measured = f"{found['first']} against {found['second']}: {_difference(found, result['metric'])}"
    if found["n"] == 1:
        return Outcome(f"{measured}, one seed", found["verdict"], "1")
    scale, digits = _unit(found, result["metric"])[:2]
    low, high = (f"{scale * bound:+.{digits}f}" for bound in found["interval"])
    bounds = f"[{low}, {high}], margin {scale * claim.margin:g}"
    doubts = [EDGE] * ("at_edge" in found) + [TURNS] * turns(claim, result)
    needed = str(found.get("seeds", ""))
    return Outcome(measured, found["verdict"], str(found["n"]), needed, bounds, "; ".join(doubts))


@cache
def moved_runs() -> dict[str, tuple[list[dict], list[dict]]]:
    """Study -> the book's own runs, and those that were run again with moved first weights; read once."""
    moved = load_results("rounding")["studies"]
    return {name: (load_results(name)["runs"], runs) for name, runs in moved.items()}


def turns(claim: Claim, result: dict) -> bool:
    """Whether a verdict is another one with the runs whose first weights were moved (tools/measure_rounding.py).

    These were the book's own runs: what a reader ran has seeds, data and a rounding of its own.
    """
    own, moved = moved_runs().get(result["name"], (None, []))
    if result["runs"] != own:
        return False
    instead = {(run["variant"], run["seed"]) for run in moved}
    others = [run for run in result["runs"] if (run["variant"], run["seed"]) not in instead]
    return claim.judge(others + moved)["verdict"] != claim.judge(result["runs"])["verdict"]


def _unit(found: dict, metric: str) -> tuple[int, int, str]:
    """How a difference is written: its factor, its digits and its unit; accuracies in points."""
    return (100, 1, " points") if "accuracy" in found.get("metric", metric) else (1, 2, "")


def _difference(found: dict, metric: str) -> str:
    """A mean difference with its standard error, if it has one: accuracies in points."""
    scale, digits, unit = _unit(found, metric)
    spread = f" ± {scale * found['se']:.{digits}f}" if "se" in found else ""
    return f"{scale * found['difference']:+.{digits}f}{spread}{unit}"


def base_changes(result: dict) -> str:
    """What a study's base had otherwise when it was run, in words; "" where nothing differs."""
    study = STUDIES.get(result["name"])
    if study is None or study.base is None or "base" not in result or result["scale"] != "quick":
        return ""
    own = ("data", "name", "seed")
    then, now = (
        {key: value for key, value in base.items() if key not in own}
        for base in (result["base"], asdict(study.base))
    )
    return "; ".join(differences(then, now, default_fields(study.base)))
