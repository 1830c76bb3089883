"""How fast the training loop is on each of its paths: ViT, axial ViT, ResNet, hybrid, masked patches; timm beside them.

python -m tools.bench paths          (or: make bench ARGS="paths --threads 1 --clock cpu")
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from tqdm.auto import tqdm

from tools.bench_study import random_images
from vitlib.config import ViTConfig
from vitlib.data.dataset import Dataset, normalize
from vitlib.model.costs import count_macs
from vitlib.train.loop import Trainer
from vitlib.train.objective import OBJECTIVES
from vitlib.train.recipe import Recipe, recipe
from vitworkshop.studies.families import BASE, FAMILIES

#: What each path changes in the base of the studies that compare families: 96 wide, 4 deep, patches of 8 pixels.
PATHS: dict[str, dict[str, Any]] = {
    "ViT": FAMILIES["ViT"],
    "ViT, axial": {"model.attention": "axial"},
    "ResNet": FAMILIES["ResNet"],
    "hybrid": FAMILIES["hybrid"],
    "masked": {"objective": "masked-mean"},
}
BEHIND = "timm, DataLoader"
Step = Callable[[], None]


def base_on(device: torch.device) -> Recipe:
    """What all paths share: bf16 on a GPU, fp32 on a CPU."""
    return replace(BASE, precision="bf16") if device.type == "cuda" else BASE


def our_steps(changes: dict, data: Dataset, device: torch.device, base: Recipe = BASE) -> Step:
    """Steps of the training loop itself, images on the device."""
    one = recipe(base, epochs=10**6, **changes)  # no end to come near
    objective = OBJECTIVES[one.objective](one)
    trainer = Trainer(objective.build().to(device), objective, objective.recipe, data)
    batches = _batches(len(data), trainer.batch_size, device)
    return lambda: trainer.train_step(next(batches))


def _batches(n: int, size: int, device: torch.device) -> Iterator[Tensor]:
    """Places of images, pass after pass: (B,)."""
    while True:
        yield from torch.randperm(n).to(device).split(size)[: n // size]


class Pictures(torch.utils.data.Dataset):
    """One picture at a time, cropped, mirrored and normalised, as most training scripts have it."""

    def __init__(self, data: Dataset) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        padded = F.pad(self.data.images[index], (4, 4, 4, 4))
        top, left = torch.randint(9, (2,)).tolist()
        image = padded[:, top : top + 32, left : left + 32]
        image = image.flip(-1) if torch.rand(()) < 0.5 else image
        return normalize(image[None])[0], self.data.labels[index]


def loader_steps(model: nn.Module, data: Dataset, device: torch.device, base: Recipe = BASE) -> Step:
    """Steps of another library's model behind a `DataLoader`, in the base's precision."""
    model = model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), base.lr, weight_decay=base.weight_decay)
    workers = 0 if device.type == "cpu" else 8  # on a CPU they would compete with the training
    loader = DataLoader(
        Pictures(data),
        base.batch_size,
        shuffle=True,
        drop_last=True,
        num_workers=workers,
        pin_memory=workers > 0,
    )

    def batches() -> Iterator[list[Tensor]]:
        while True:
            yield from loader

    stream = batches()

    def step() -> None:
        images, labels = (part.to(device, non_blocking=True) for part in next(stream))
        with torch.autocast(device.type, torch.bfloat16, enabled=base.precision == "bf16"):
            loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), base.clip_norm)
        optimizer.step()

    return step


def measure(
    n: int,
    rounds: int,
    device: torch.device,
    clock: Callable[[], float],
    timm: Callable[[ViTConfig], nn.Module] | None = None,
    steps: int = 8,
    progress: bool = True,
) -> dict[str, list[float]]:
    """Images per second of each path in each round; every path has its turn in a round.

    Args:
        n: Training images, random ones.
        rounds: How many, besides one to warm up.
        device: Where to train; see `base_on`.
        clock: Gives seconds.
        timm: Builds timm's model; None leaves it out.
        steps: Training steps of a turn.
        progress: Whether to show a bar.

    Raises:
        ValueError: If n is below a batch, or rounds or steps below 1.
    """
    base = base_on(device)
    if n < base.batch_size or min(rounds, steps) < 1:
        raise ValueError(
            f"images must be at least {base.batch_size}, rounds and steps at least 1, got {n}, {rounds} and {steps}"
        )
    data = random_images(n)
    paths = {name: our_steps(changes, data, device, base) for name, changes in PATHS.items()}
    if timm is not None:
        paths[BEHIND] = loader_steps(timm(base.model), data, device, base)
    speeds: dict[str, list[float]] = {name: [] for name in paths}
    for _ in tqdm(range(rounds + 1), desc="rounds", disable=not progress):
        for name, step in paths.items():
            _wait(device)
            began = clock()
            for _ in range(steps):
                step()
            _wait(device)
            speeds[name].append(steps * base.batch_size / (clock() - began))
    return {name: found[1:] for name, found in speeds.items()}


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def table(speeds: dict[str, list[float]]) -> str:
    """Medians over the rounds, and each path's ratio to the first, taken round by round."""
    first, lines = speeds["ViT"], [f"{'':<18}{'MMACs':>8}{'train':>16}{'ratio':>8}"]
    for name, found in speeds.items():
        ratio = statistics.median(a / b for a, b in zip(found, first, strict=True))
        macs = count_macs(recipe(BASE, **PATHS.get(name, {})).model) / 1e6
        lines.append(f"{name:<18}{macs:>8.1f}{statistics.median(found):>9,.0f} images/s{ratio:>6.2f}")
    return "\n".join(
        [*lines, f"ratio: speed over the ViT's in the same round, median of {len(first)} rounds"]
    )
