"""The experiments: each asks one question and leaves one file of results (`python -m vitlib study`)."""

from __future__ import annotations

import itertools
import json
import statistics
import time
from dataclasses import asdict
from pathlib import Path

import torch

import vitlib
from vitlib.data.dataset import Dataset, split_validation
from vitlib.evidence import load_results, write_json
from vitlib.studies import initialisation, laptop, longest, mirroring, pooling, positions, recipes, stems
from vitlib.studies.study import Study
from vitlib.train.loop import train_model
from vitlib.train.recipe import recipe

__all__ = ["STUDIES", "report", "run_study"]

_MODULES = (positions, pooling, stems, initialisation, recipes, mirroring, laptop, longest)
STUDIES = {module.__name__.rpartition(".")[2]: module.STUDY for module in _MODULES}


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
    progress: bool = True,
    command: str = "",
    **changes,
) -> dict:
    """Train every variant with every seed, skipping what is finished, and write `<out>/<name>.json`.

    Args:
        name: One of `STUDIES`.
        data: The training images; `n_val` of them are held out. The test set is not read.
        scale: "quick" (a laptop) or "full" (a GPU).
        seeds: Every variant is trained with the first before any with the second; None takes the study's.
        out: Folder of the runs and of the results; None is `runs/study-<name>`.
        n_val: Images held out.
        device: "auto", "cpu", "cuda" or "mps".
        budget_minutes: Stop after this time; the same call goes on.
        progress: Whether to show bars and lines.
        command: The command line, for the results.
        **changes: Fields that every run changes, as for `recipe`.

    Returns:
        What the file holds: "runs", each with "variant", "changes", "seed", "epochs" and "final", and "summary",
        mean, sd (over seeds) and n of the held-out accuracy of each variant; "finished" says whether all ran.

    Raises:
        ValueError: If the study or the scale is unknown, or the data do not fit.
    """
    if name not in STUDIES:
        raise ValueError(f"unknown study {name!r}; choose one of {', '.join(STUDIES)}")
    if scale not in ("quick", "full"):
        raise ValueError(f"scale must be quick or full, got {scale!r}")
    seeds = STUDIES[name].seeds if seeds is None else seeds
    if not seeds or len(set(seeds)) != len(seeds):
        raise ValueError(f"seeds must be one or more different numbers, got {tuple(seeds)}")
    study, out = STUDIES[name], Path(out or f"runs/study-{name}")
    shared = {"data": data.name, **(study.full if scale == "full" else {}), **changes}
    (images, labels), val = split_validation(data.images, data.labels, n_val)
    began, runs = time.monotonic(), []
    result = {
        "name": name,
        "question": study.question,
        "source": study.source,
        "scale": scale,
        "command": command,
        "vitlib_version": vitlib.__version__,
        "torch_version": str(torch.__version__),
        "dataset": data.label,
        "n_train": len(images),
        "n_val": len(val[0]),
        "base": asdict(recipe(study.base, **shared)),
    }
    for seed, (variant, own) in itertools.product(seeds, study.variants.items()):
        left = None if budget_minutes is None else budget_minutes - (time.monotonic() - began) / 60
        if left is not None and left <= 0:
            break
        one = recipe(study.base, **{**shared, **own, "seed": seed, "name": f"{variant}-s{seed}"})
        log = train_model(
            one,
            images,
            labels,
            val=val,
            out=out / one.name.replace(" ", "-"),
            label=data.label,
            device=device,
            budget_minutes=left,
            progress=progress,
            command=command,
        )
        if log["finished"]:
            last = log["epochs"][-1]
            runs.append(
                {
                    "variant": variant,
                    "changes": own,
                    "seed": seed,
                    "parameters": log["parameters"],
                    "seconds": round(log["seconds"], 1),
                    "hardware": log["hardware"],
                    "precision": log["precision"],
                    "epochs": log["epochs"],
                    "final": {
                        "val_accuracy": last["val_accuracy"],
                        "val_loss": last["val_loss"],
                        "first_val_accuracy": log["epochs"][0]["val_accuracy"],
                    },
                }
            )
            if progress:
                print(
                    f"{name}: {variant}, seed {seed}: {last['val_accuracy']:.2%} of the held-out images",
                    flush=True,
                )
            _write(out, result, runs, study, seeds)
    return _write(out, result, runs, study, seeds)


def _write(out: Path, result: dict, runs: list[dict], study: Study, seeds: tuple[int, ...]) -> dict:
    """Write what is known so far; one machine's hardware and precision stand once."""
    summary = {}
    for variant in study.variants:
        scores = [run["final"]["val_accuracy"] for run in runs if run["variant"] == variant]
        if scores:
            spread = statistics.stdev(scores) if len(scores) > 1 else None
            summary[variant] = {"mean": statistics.fmean(scores), "sd": spread, "n": len(scores)}
    result = {
        **result,
        "hardware": sorted({run["hardware"] for run in runs}),
        "precision": sorted({run["precision"] for run in runs}),
        "seconds": round(sum(run["seconds"] for run in runs), 1),
        "finished": len(runs) == len(study.variants) * len(seeds),
        "runs": [{k: v for k, v in run.items() if k not in ("hardware", "precision")} for run in runs],
        "summary": summary,
        "verdicts": {claim.says: claim.judge(runs) for claim in study.claims},
    }
    write_json(out / f"{result['name']}.json", result)
    return result


def report(name: str, out: str | Path | None = None) -> str:
    """What a study found, as a Markdown table: from `<out>/<name>.json`, else from the book's own results.

    Raises:
        ValueError: If the study was never run here and is not among the book's results.
    """
    path = Path(out or f"runs/study-{name}") / f"{name}.json"
    result = json.loads(path.read_text(encoding="utf-8")) if path.exists() else load_results(name)
    judged = f"{result['n_val']:,} held-out images" if result["n_val"] else "test images"
    lines = [
        f"{result['question']} {result['dataset']}, {result['scale']} scale, {judged}.",
        "",
        "| variant | accuracy | sd over seeds | seeds |",
        "|---|---|---|---|",
    ]
    for variant, s in result["summary"].items():
        spread = "one seed" if s["sd"] is None else f"{100 * s['sd']:.2f}"
        lines.append(f"| {variant} | {s['mean']:.2%} | {spread} | {s['n']} |")
    return "\n".join(lines)
