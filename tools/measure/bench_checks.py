"""How long `vl.check` takes to judge an answer; `python -m tools.measure.bench checks` calls it."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import torch
from tqdm.auto import tqdm

from vitlib import viz
from vitworkshop.exercises import engine
from vitworkshop.exercises.engine import judge

EXERCISES = Path(engine.__file__).parent


def measure(
    args: argparse.Namespace, device: torch.device, clock: Callable[[], float]
) -> tuple[str, dict]:
    """Seconds that judging each exercise's reference takes, and a wrong answer, in each round after the first."""
    rooms = (
        f"vitworkshop.exercises.{file.stem}"
        for file in sorted(EXERCISES.glob("ch*.py"))
    )
    entries = {
        number: entry
        for room in rooms
        for number, entry in import_module(room).EXERCISES.items()
    }
    seconds: dict[str, dict[str, list[float]]] = {}
    for number, entry in tqdm(entries.items(), unit="exercise"):
        right, wrong = (
            (entry.reference, lambda *_: 12.345)
            if entry.inputs
            else (entry.reference(), None)
        )
        for name, answer in (("right", right), ("wrong", wrong)):
            took = []
            for _ in range(args.rounds + 1):
                began = clock()
                judge(entry, answer)
                took.append(round(clock() - began, 3))
            seconds.setdefault(number, {})[name] = took[1:]
    return "fp32", {"seconds": seconds}


def table(result: dict) -> str:
    """The ten slowest exercises."""
    rows = [
        [
            number,
            *(f"{statistics.median(found[name]):.2f}" for name in ("right", "wrong")),
        ]
        for number, found in result["seconds"].items()
    ]
    rows.sort(key=lambda row: -max(map(float, row[1:])))
    return viz.table(["the ten slowest", "right (s)", "wrong (s)"], rows[:10])
