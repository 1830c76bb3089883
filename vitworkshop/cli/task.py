"""What `train` and `finetune` learn: a data set by name, or a folder of a reader's own pictures; and its test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vitlib.checks import check_choice
from vitlib.data.dataset import Dataset, load_dataset
from vitlib.data.photos import load_folder, split_folder
from vitworkshop.cli.options import SETS

__all__ = ["Task", "load_task"]


@dataclass(frozen=True)
class Task:
    """What a model is to learn.

    Attributes:
        train: The images to train on.
        test: Reads the test images, once.
        card: What the model's card says of them.
    """

    train: Dataset
    test: Callable[[], Dataset]
    card: dict


def load_task(data: str, img_size: tuple[int, int], limit: int | None = None) -> Task:
    """Load images to train on.

    Args:
        data: One of `SETS`, or a folder.
        img_size: (height, width) in pixels; images of a data set are resampled if they have another.
        limit: The first so many images; of a folder so many, each class in proportion.

    Raises:
        ValueError: If there is no such data set or folder, or its pictures will not do.
    """
    if data in SETS:
        train = load_dataset(data, "train", n=limit)
        card = {"classes": list(train.classes)}
        return Task(train.resize(img_size), lambda: load_dataset(train.name, "test").resize(img_size), card)
    if not data or not Path(data).expanduser().exists():
        check_choice("--data", data, (*SETS, "a folder of pictures"))
    everything = load_folder(data, img_size)
    train, test = split_folder(everything)
    counts = zip(everything.classes, everything.labels.bincount().tolist(), strict=True)
    held_out = f"{len(test)} of {len(everything):,} pictures, a tenth of each class by seed 0"
    print(
        f"{everything.label}: {', '.join(f'{name} {n:,}' for name, n in counts)}; held out to test: {held_out}"
    )
    if limit is not None and limit < len(train):
        train = train.hold_out(limit)[1]
    return Task(train, lambda: test, {"classes": list(train.classes), "test_split": held_out})
