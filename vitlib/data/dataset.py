"""A data set with its label, ready for a model: loading by name, holding out, normalising."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64, Shaped, UInt8
from torch import Tensor

from vitlib.checks import (
    Natural,
    Size,
    as_pair,
    check_between,
    check_choice,
    check_value,
    checked,
)
from vitlib.data.cifar10 import (
    CIFAR10_CLASSES,
    cifar10_label,
    find_cifar10,
    load_cifar10,
)
from vitlib.data.drawn10 import DRAWN10_CLASSES, load_drawn10
from vitlib.tensors import (
    as_labels,
    check_dense,
    check_dtype,
    check_images,
    check_pixels,
    check_unit,
)

__all__ = ["Dataset", "denormalize", "load_dataset", "normalize", "split_validation"]


@dataclass(frozen=True)
class Dataset:
    """Raw images, uint8, with their labels and what they are called.

    Attributes:
        images: uint8 (n, 3, H, W), RGB.
        labels: int64 (n,), each an index into `classes`.
        classes: The classes' names.
        label: How to call the data beside a number measured on it, e.g. "CIFAR-10 (JPEG q75)".
        name: "cifar10", "drawn10" or "folder".
        files: Where each image came from, n paths; none, if they came from no files of their own.

    NumPy arrays become tensors, and a list of labels, too.

    Raises:
        ValueError: If images or labels are of another form, do not belong together, or a label names no class.

    Source: chapter 09.
    """

    images: UInt8[Tensor, "n 3 H W"]
    labels: Int64[Tensor, " n"]
    classes: tuple[str, ...] = ()
    label: str = ""
    name: str = "custom"
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        images = (
            torch.from_numpy(self.images)
            if isinstance(self.images, np.ndarray)
            else self.images
        )
        check_images(images)
        check_value("classes", self.classes, Sequence)
        labels = as_labels(self.labels, len(images), len(self.classes))
        if len(self.files) not in (0, len(images)):
            raise ValueError(
                f"expected a file for each of {len(images)} images, got {len(self.files)}; leave them out"
            )
        self.__dict__.update(images=images, labels=labels)  # it is frozen

    def __len__(self) -> int:
        return len(self.labels)

    def hold_out(self, n: int) -> tuple[Dataset, Dataset]:
        """What is left to train on, and n images held out; see `split_validation`."""
        rest, held = map(self.take, held_out(self.labels, n))
        return rest, held

    def take(self, index: Int64[Tensor, " m"]) -> Dataset:
        """The images at these places, in this order."""
        return replace(
            self,
            images=self.images[index.to(self.images.device)],
            labels=self.labels[index.to(self.labels.device)],
            files=tuple(self.files[i] for i in index.tolist()) if self.files else (),
        )

    def resize(self, img_size: Size) -> Dataset:
        """The same images at another size, in pixels; see `resize_images`."""
        return replace(
            self, images=resize_images(self.images, as_pair("img_size", img_size))
        )


@checked
def load_dataset(
    name: str = "auto",
    split: str = "train",
    n: int | None = None,
    root: str | Path | None = None,
) -> Dataset:
    """CIFAR-10 or Drawn-10, with their names and label.

    Args:
        name: "cifar10", "drawn10", or "auto": CIFAR-10 where it is found, else Drawn-10.
        split: "train" or "test".
        n: Only the first n images.
        root: Where CIFAR-10 lies; see `find_cifar10`.

    Raises:
        FileNotFoundError: "cifar10" was asked for and is not there.

    Source: chapter 09.
    """
    check_choice("data set", name, ("auto", "cifar10", "drawn10"))
    folder = find_cifar10(root)
    if name == "drawn10" or (name == "auto" and folder is None):
        images, labels = load_drawn10(split, n)
        return Dataset(images, labels, DRAWN10_CLASSES, "Drawn-10", "drawn10")
    images, labels = load_cifar10(split, root)
    if n is not None:
        check_between("n", n, 1, len(images), f" for CIFAR-10's {split} split")
    return Dataset(
        images[:n],
        labels[:n],
        CIFAR10_CLASSES,
        cifar10_label(Path(folder or "")),
        "cifar10",
    )


def split_validation(
    images: Shaped[Tensor, "N ..."],
    labels: Int64[Tensor, " N"],
    n: int = 5000,
    seed: Natural = 0,
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Holds n images, raw or normalised, out of a training set, each class in proportion.

    Choices (learning rates, epochs, recipes) are made on the part held out; the test set is read once.

    Args:
        images: (N, ...).
        labels: int64 (N,).
        n: How many to hold out, 1 to N - 1.
        seed: The same seed holds out the same images, on every machine.

    Returns:
        (train_images, train_labels), (val_images, val_labels): N - n and n of them, in their old order.

    Raises:
        ValueError: If n is below 1, or leaves no image to train on.

    Source: chapter 09.
    """
    images, total = torch.as_tensor(images), len(images)
    labels = as_labels(labels, total)
    train, val = (
        (images[i.to(images.device)], labels[i.to(labels.device)])
        for i in held_out(labels, n, seed)
    )
    return train, val


def held_out(labels: Tensor, n: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """The places of the images that are left, and of n held out; see `split_validation`."""
    total = len(labels)
    check_between("n", n, 1, total - 1)
    check_value("seed", seed, Natural)
    shuffled = np.random.default_rng(seed).permutation(total)
    y = labels.cpu().numpy()[shuffled]
    # Rank each image within its own class, from 0 to 1: the n smallest are then spread evenly.
    rank = np.empty(total)
    for value in np.unique(y):
        members = np.flatnonzero(y == value)
        rank[members] = (np.arange(len(members)) + 0.5) / len(members)
    order = torch.from_numpy(shuffled[np.argsort(rank, kind="stable")])
    return order[n:].sort().values, order[:n].sort().values


def resize_images(
    images: UInt8[Tensor, "n C H W"], size: tuple[int, int]
) -> UInt8[Tensor, "n C H2 W2"]:
    """Images at another size: bicubic, antialiased, uint8 (n, C, H, W) -> (n, C, *size)."""
    size = as_pair("size", size)
    check_images(images)
    check_dtype(
        images,
        "uint8",
        "make floats in [0, 1] so: (255 * images).round().to(torch.uint8)",
    )
    if tuple(images.shape[-2:]) == tuple(size):
        return images
    new = images.new_empty(*images.shape[:2], *size)
    for part, out in zip(
        images.split(1000), new.split(1000), strict=True
    ):  # floats are four times as big
        big = F.interpolate(
            part.float(), size=tuple(size), mode="bicubic", antialias=True
        )
        out.copy_(big.round().clamp(0, 255))
    return new


def normalize(
    images: Shaped[Tensor, "*B C H W"],
    mean: float | Sequence[float] = 0.5,
    std: float | Sequence[float] = 0.5,
) -> Float[Tensor, "*B C H W"]:
    """Normalises raw images, uint8 or float in [0, 1], for a model: (x - mean) / std, with x in [0, 1].

    Args:
        images: (..., C, H, W); uint8 0 to 255, or float in [0, 1].
        mean: One number, or one for each channel.
        std: Likewise, above 0.

    Returns:
        float (..., C, H, W), in [-1, 1] with the default mean and std.

    Raises:
        ValueError: Channels last, or values outside [0, 1]; on a GPU nobody looks at them, which would stop its queue.

    Source: chapter 09.

    Example:
        >>> normalize(torch.tensor([[[0, 255]]], dtype=torch.uint8)).tolist()
        [[[-1.0, 1.0]]]
    """
    check_images(images, "... C H W")
    check_pixels(images)
    if images.dtype == torch.uint8:
        images = images.to(torch.get_default_dtype()) / 255
    check_unit(images)
    return (images - _per_channel("mean", mean, images)) / _per_channel(
        "std", std, images
    )


def to_float(images: Shaped[Tensor, "B C H W"]) -> Float[Tensor, "B C H W"]:
    """uint8 in [0, 255] to float in [0, 1]; floats in [0, 1] become float32, others are refused."""
    check_pixels(images)
    if images.dtype == torch.uint8:
        return images.float().div_(255)
    check_unit(images)
    return images.float()


def denormalize(
    images: Float[Tensor, "*B C H W"],
    mean: float | Sequence[float] = 0.5,
    std: float | Sequence[float] = 0.5,
) -> Float[Tensor, "*B C H W"]:
    """Raw images, float in [0, 1], from normalised ones: the inverse of `normalize`, to look at what a model was given.

    Args:
        images: float (..., C, H, W), normalised.
        mean: As given to `normalize`.
        std: As given to `normalize`.

    Returns:
        float (..., C, H, W) in [0, 1].

    Raises:
        ValueError: If the images are bytes, or no images.

    Source: chapter 09.
    """
    check_images(images, "... C H W")
    check_dense("images", images)
    check_dtype(images, "normalised float", "uint8 images need no denormalize")
    return (
        images * _per_channel("std", std, images) + _per_channel("mean", mean, images)
    ).clamp(0, 1)


def _per_channel(what: str, value: float | Sequence[float], images: Tensor) -> Tensor:
    """A number, or one for each channel, as (1 or C, 1, 1)."""
    try:
        numbers = torch.as_tensor(
            value, dtype=images.dtype, device=images.device
        ).reshape(-1)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"expected {what} as numbers, got {value!r:.80}; try 0.5"
        ) from error
    if len(numbers) not in (1, images.shape[-3]):
        raise ValueError(
            f"expected one {what}, or {images.shape[-3]} (one a channel), got {len(numbers)}"
        )
    if not (numbers.isfinite() & ((numbers > 0) | (what == "mean"))).all():
        raise ValueError(
            f"expected {what}{' above 0' * (what == 'std')}, got {numbers.tolist()}; try 0.5"
        )
    return numbers[:, None, None]  # (C,) -> (C, 1, 1)
