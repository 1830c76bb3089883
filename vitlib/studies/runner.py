"""Runs studies and tells what they found: every variant with every seed, skipping what is finished."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path

import torch

from vitlib.checks import check_count
from vitlib.data.dataset import Dataset
from vitlib.device import pick_device, pick_precision
from vitlib.evidence import load_results, provenance, summarize, write_json
from vitlib.studies import (
    compute,
    data_size,
    inductive_bias,
    initialisation,
    laptop,
    longest,
    mirroring,
    norm_order,
    pooling,
    position_start,
    positions,
    recipes,
    residuals,
    resolution,
    stems,
)
from vitlib.studies.study import Job, Study
from vitlib.train.checkpoint import checksum, differences
from vitlib.train.recipe import recipe

__all__ = ["STUDIES", "report", "run_study", "tell"]

Place = tuple[str, int]  # variant and seed
STUDIES: dict[str, Study] = {
    "positions": positions.STUDY,
    "pooling": pooling.STUDY,
    "stems": stems.STUDY,
    "resolution": resolution.STUDY,
    "norm-order": norm_order.STUDY,
    "initialisation": initialisation.STUDY,
    "residuals": residuals.STUDY,
    "position-start": position_start.STUDY,
    "recipes": recipes.STUDY,
    "mirroring": mirroring.STUDY,
    "laptop": laptop.STUDY,
    "longest": longest.STUDY,
    "data-size": data_size.STUDY,
    "compute": compute.STUDY,
    "inductive-bias": inductive_bias.STUDY,
}


def run_study(
    name: str,
    data: Dataset,
    *,
    scale: str = "quick",
    seeds: tuple[int, ...] | None = None,
    out: str | Path | None = None,
    n_val: int = 5000,
    device: str = "auto",
    budget_minutes: float | None = None,
    jobs: int = 1,
    progress: bool = True,
    **changes,
) -> dict:
    """Run every variant with every seed, skipping what is finished, and write `<out>/<name>.json`.

    Args:
        name: One of `STUDIES`.
        data: The training images; `n_val` of them are held out. The test set is not read.
        scale: "quick" (a laptop) or "full" (a GPU).
        seeds: Every variant is run with the first before any with the second; None takes the study's.
        out: Folder of the runs and of the results; None is `runs/study-<name>`.
        n_val: Images held out.
        device: "auto", "cpu", "cuda" or "mps".
        budget_minutes: Stop after this time; the same call goes on.
        jobs: Runs at once, each in a process with its share of the threads.
        progress: Whether to show bars and lines.
        **changes: Fields that every run changes, as for `recipe`.

    Returns:
        What the file holds: "runs", each with "variant", "changes", "seed" and "final"; "summary", mean, sd (over
        seeds) and n of each variant; "verdicts" of the study's claims; "finished" says whether all ran.

    Raises:
        ValueError: If the study or the scale is unknown, or the data do not fit.
    """
    study = find(name)
    if scale not in ("quick", "full"):
        raise ValueError(f"scale must be quick or full, got {scale!r}")
    check_count("jobs", jobs)
    seeds = study.seeds if seeds is None else seeds
    if not seeds or len(set(seeds)) != len(seeds):
        raise ValueError(f"seeds must be one or more different numbers, got {tuple(seeds)}")
    where, out = pick_device(device), Path(out or f"runs/study-{name}")
    shared = {"data": data.name, **(study.full if scale == "full" else {}), **changes}
    if study.base is None and changes:
        raise ValueError(
            f"study {name!r} follows no recipe, so nothing of one can be changed, got {sorted(changes)}"
        )
    if taken := sorted({key for own in study.variants.values() for key in own} & set(changes)):
        raise ValueError(
            f"study {name!r} varies {', '.join(taken)} itself; change something else, or write a study"
        )
    base = None if study.base is None else recipe(study.base, **shared)
    if study.n_train:
        data = replace(data, images=data.images[: study.n_train], labels=data.labels[: study.n_train])
    train, val = data.hold_out(n_val) if study.holdout else (data, None)
    precision = "fp32" if base is None else base.precision
    if base is not None and precision == "auto":
        precision = pick_precision(where, base.model)
    result = {
        "name": name,
        "question": study.question,
        "source": study.source,
        "scale": scale,
        "measure": study.measure,
        "metric": study.metric,
        **provenance(data.label, where, precision),
        "n_train": 0 if study.n_train == 0 else len(train),
        "n_val": len(val) if val else 0,
        **({} if base is None else {"base": asdict(base)}),
    }
    same = {"scale": scale, "base": result.get("base"), "data": [data.label, checksum(train)]}
    deadline = None if budget_minutes is None else time.time() + 60 * budget_minutes
    job = Job(train, val, out, scale, shared, device, None, progress and jobs == 1)
    places = [(variant, seed) for seed, variant in itertools.product(seeds, study.variants)]
    about = {variant: {**same, "variant": own} for variant, own in study.variants.items()}
    kept = {place: job.folder(*place) / "rows.json" for place in places}
    done = {place: rows for place in places if (rows := _read_rows(kept[place], about[place[0]])) is not None}

    def write() -> dict:
        runs = [row for place in places for row in done.get(place, [])]
        return _write(out, result, runs, study, len(done) == len(places))

    for place, rows in _work(study, job, deadline, [place for place in places if place not in done], jobs):
        write_json(kept[place], {"about": about[place[0]], "rows": rows})
        done[place] = rows
        if progress and rows:
            score = show(rows[-1]["final"][study.metric], study.metric)
            print(
                f"{name}: {place[0]}, seed {place[1]}: {score} ({len(done)} of {len(places)} runs)",
                flush=True,
            )
        write()
    return write()


def _work(
    study: Study, job: Job, deadline: float | None, places: list[Place], jobs: int
) -> Iterator[tuple[Place, list[dict]]]:
    """Each run that ends in time, with its rows, as it ends; in turn, or `jobs` at once."""
    if jobs == 1:
        for place in places:
            if (rows := _one(study, place, job, deadline)) is None:
                return
            yield place, rows
        return
    threads = max(1, torch.get_num_threads() // jobs)
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), torch.set_num_threads, (threads,))
    try:
        running = {pool.submit(_one, study, place, job, deadline): place for place in places}
        for future in as_completed(running):
            if (rows := future.result()) is not None:
                yield running[future], rows
    finally:  # after Ctrl-C, which every process hears, none is begun
        pool.shutdown(cancel_futures=True)


def _one(study: Study, place: Place, job: Job, deadline: float | None) -> list[dict] | None:
    """The rows of one run; None if the time was over."""
    left = None if deadline is None else (deadline - time.time()) / 60
    return None if left is not None and left <= 0 else study.run(study, *place, replace(job, left=left))


def _read_rows(path: Path, about: dict) -> list[dict] | None:
    """The rows of a finished run, if they are there and it was the same; a changed one is run, or refused, anew."""
    if not path.is_file():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    return kept["rows"] if kept["about"] == json.loads(json.dumps(about)) else None


def find(name: str) -> Study:
    """The study of this name."""
    if name not in STUDIES:
        raise ValueError(f"unknown study {name!r}; choose one of {', '.join(STUDIES)}")
    return STUDIES[name]


def show(value: float, metric: str) -> str:
    """A number as it stands in a report: accuracies in percent."""
    return f"{value:.2%}" if "accuracy" in metric else f"{value:.3f}"


def _write(out: Path, result: dict, runs: list[dict], study: Study, finished: bool) -> dict:
    """Write what is known so far; what all runs share stands once, in the header."""
    heads = ("hardware", "precision", "dataset")
    shared = {
        key: "; ".join(sorted({run[key] for run in runs if key in run})) or result[key] for key in heads
    }
    scores: dict[str, list[float]] = {}
    for run in runs:
        scores.setdefault(run["variant"], []).append(run["final"][study.metric])
    result = {
        **result,
        **shared,
        "seconds": round(sum(run["seconds"] for run in runs), 1),
        "finished": finished,
        "runs": [{key: value for key, value in run.items() if key not in heads[:2]} for run in runs],
        "summary": {variant: summarize(values) for variant, values in scores.items()},
        "verdicts": {claim.says: claim.judge(runs) for claim in study.claims},
    }
    write_json(out / f"{result['name']}.json", result)
    return result


def report(name: str, out: str | Path | None = None) -> str:
    """What a study found, as a Markdown table: from `<out>/<name>.json`, else from the book's own results.

    Raises:
        ValueError: If the study was never run here and is not among the book's results.
    """
    folder = Path(out or f"runs/study-{name}")
    result = load_results(name, folder if (folder / f"{name}.json").exists() else None)
    metric = result["metric"]
    judged = f"{result['n_val']:,} held-out images" if result["n_val"] else result["measure"]
    lines = [
        f"{result['question']} {result['dataset']}, {result['scale']} scale, {judged}.",
        "",
        f"| variant | {metric.removeprefix('val_').replace('_', ' ')} | sd over seeds | seeds |",
        "|---|---|---|---|",
    ]
    for variant, s in result["summary"].items():
        spread = "one seed" if s["sd"] is None else show(s["sd"], metric).removesuffix("%")
        lines.append(f"| {variant} | {show(s['mean'], metric)} | {spread} | {s['n']} |")
    return "\n".join([*lines, "", tell(result)])


def tell(result: dict) -> str:
    """What a study found, as it stands in its docstring: the verdict on each claim, what it cost, the command."""
    lines = []
    for claim, found in result["verdicts"].items():
        verdict = found["verdict"]
        if "se" in found:
            share = "accuracy" in found.get("metric", result["metric"])
            scale, form = (100, "{:+.1f} ± {:.1f} points") if share else (1, "{:+.2f} ± {:.2f}")
            numbers = form.format(scale * found["difference"], scale * found["se"])
            verdict += f", {numbers} (standard error, n = {found['n']})"
            verdict += f"; about {found['seeds']} seeds would decide" if "seeds" in found else ""
        lines.append(f"- {claim}: {verdict}.")
    if lines:
        lines.append("")  # ends the list
    minutes, seeds = result["seconds"] / 60, len({run["seed"] for run in result["runs"]})
    lines.append(
        f"{len(result['runs'])} runs on {result['dataset']} with {seeds} seed{'s' * (seeds > 1)} took "
        f"{minutes:.0f} minutes: `{result['command']}`"
    )
    if older := _since(result):
        lines.append(f"They were run before the study became what it is now: {older}.")
    return "\n".join(lines)


def _since(result: dict) -> str:
    """What a committed study's base had otherwise, in words; "" where nothing differs."""
    study = STUDIES.get(result["name"])
    if study is None or study.base is None or "base" not in result or result["scale"] != "quick":
        return ""
    now = {key: value for key, value in asdict(study.base).items() if key not in ("data", "name", "seed")}
    then = {key: result["base"].get(key, value) for key, value in now.items()}
    # fields that the model did not have yet were as they are by default
    then["model"] = now["model"] | then["model"]
    return "; ".join(differences(then, now))
