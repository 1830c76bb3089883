"""What the runner costs: a tiny study, and the part of its time that the bare loop takes.

python -m tools.bench study           (or: make bench ARGS="study --threads 1 --clock cpu")
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import torch
from tqdm.auto import tqdm

from vitlib.data.dataset import Dataset
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.runner import run_study

STUDY, N_VAL = "stems", 200
SMALL = {"epochs": 1, "model.patch_size": 8}  # the rest is as in the study


def random_images(n: int) -> Dataset:
    """Images of 32 px with labels, the same each time."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(256, (n + N_VAL, 3, 32, 32), generator=generator, dtype=torch.uint8)
    return Dataset(images, torch.randint(10, (n + N_VAL,), generator=generator))


def measure(
    n: int, rounds: int, device: str, clock: Callable[[], float], changes: dict = SMALL, progress: bool = True
) -> dict[str, list[float]]:
    """Images per second of the "study" and, by the time spent in its runs alone, of the "loop", in each round.

    Both numbers of a round come from the same images at the same time, so a busy machine changes their ratio little.

    Args:
        n: Training images.
        rounds: How many, besides one to warm up.
        device: "auto", "cpu", "cuda" or "mps".
        clock: Gives seconds.
        changes: What makes the study tiny.
        progress: Whether to show a bar.

    Raises:
        ValueError: If n or rounds is below 1.
    """
    if n < 1 or rounds < 1:
        raise ValueError(f"images and rounds must be at least 1, got {n} and {rounds}")
    data, study, spent = random_images(n), STUDIES[STUDY], []

    def timed(*args) -> list[dict] | None:
        began = clock()
        rows = study.run(*args)
        spent.append(clock() - began)
        return rows

    speeds: dict[str, list[float]] = {"study": [], "loop": []}
    more = {"n_val": N_VAL, "seeds": (0,), "device": device, "progress": False, "changes": changes}
    with tempfile.TemporaryDirectory() as folder, patch.dict(STUDIES, {STUDY: replace(study, run=timed)}):
        for i in tqdm(range(rounds + 1), desc="rounds", disable=not progress):
            spent.clear()
            began = clock()
            run_study(STUDY, data, Path(folder) / str(i), **more)
            seen = n * changes["epochs"] * len(study.variants)
            for name, seconds in (("study", clock() - began), ("loop", sum(spent))):
                speeds[name].append(seen / seconds)
    return {name: found[1:] for name, found in speeds.items()}


def table(speeds: dict[str, list[float]]) -> str:
    """Medians over the rounds, and the ratio taken round by round."""
    ratio = statistics.median(a / b for a, b in zip(speeds["study"], speeds["loop"], strict=True))
    runs = f"the study {STUDY!r} made tiny, {len(STUDIES[STUDY].variants)} runs"
    lines = [f"{name:<8}{statistics.median(found):>8,.0f} images/s" for name, found in speeds.items()]
    return "\n".join([runs, *lines, f"ratio   {ratio:>8.3f}, median of {len(speeds['loop'])} rounds"])
