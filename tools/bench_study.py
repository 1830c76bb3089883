"""What the runner costs: a tiny study beside the bare loop on the same images, turn by turn.

python -m tools.bench study           (or: make bench ARGS="study --threads 1 --clock cpu")
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from tqdm.auto import tqdm

from vitlib.data.dataset import Dataset
from vitlib.studies.registry import STUDIES
from vitlib.studies.runner import run_study
from vitlib.train.loop import train_model
from vitlib.train.recipe import recipe

STUDY, N_VAL = "stems", 200
SMALL = {"epochs": 1, "model.patch_size": 8}  # the rest is as in the study


def random_images(n: int) -> Dataset:
    """Images of 32 px with labels, the same each time."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(256, (n + N_VAL, 3, 32, 32), generator=generator, dtype=torch.uint8)
    return Dataset(images, torch.randint(10, (n + N_VAL,), generator=generator))


def study(data: Dataset, folder: Path, device: str, changes: dict) -> None:
    """Every variant with one seed, by the runner."""
    more = {"n_val": N_VAL, "seeds": (0,), "device": device, "progress": False}
    run_study(STUDY, data, out=folder, **more, **changes)


def loop(data: Dataset, folder: Path, device: str, changes: dict) -> None:
    """The same runs by the loop alone, which keeps its checkpoints."""
    train, val = data.hold_out(N_VAL)
    for i, own in enumerate(STUDIES[STUDY].variants.values()):
        one = recipe(STUDIES[STUDY].base, data=data.name, **changes, **own)
        train_model(one, train, val, out=folder / str(i), device=device, progress=False)


def measure(
    n: int, rounds: int, device: str, clock: Callable[[], float], changes: dict = SMALL, progress: bool = True
) -> dict[str, list[float]]:
    """Images per second of "study" and "loop" in each round; both have their turn in a round.

    Args:
        n: Training images.
        rounds: How many.
        device: "auto", "cpu", "cuda" or "mps".
        clock: Gives seconds.
        changes: What makes the study tiny.
        progress: Whether to show a bar.

    Raises:
        ValueError: If n or rounds is below 1.
    """
    if n < 1 or rounds < 1:
        raise ValueError(f"images and rounds must be at least 1, got {n} and {rounds}")
    data, turns = random_images(n), [study, loop]
    speeds: dict[str, list[float]] = {turn.__name__: [] for turn in turns}
    with tempfile.TemporaryDirectory() as folder:
        for turn in turns:  # to warm up
            turn(random_images(128), Path(folder) / f"warm-up-{turn.__name__}", device, changes)
        for i in tqdm(range(rounds), desc="rounds", disable=not progress):
            for turn in turns[:: 1 if i % 2 else -1]:
                began = clock()
                turn(data, Path(folder) / f"{turn.__name__}-{i}", device, changes)
                seen = n * changes["epochs"] * len(STUDIES[STUDY].variants)
                speeds[turn.__name__].append(seen / (clock() - began))
    return speeds


def table(speeds: dict[str, list[float]]) -> str:
    """Medians over the rounds, and the ratio taken round by round."""
    ratio = statistics.median(a / b for a, b in zip(speeds["study"], speeds["loop"], strict=True))
    runs = f"the study {STUDY!r} made tiny, {len(STUDIES[STUDY].variants)} runs"
    lines = [f"{name:<8}{statistics.median(found):>8,.0f} images/s" for name, found in speeds.items()]
    return "\n".join([runs, *lines, f"ratio   {ratio:>8.3f}, median of {len(speeds['loop'])} rounds"])
