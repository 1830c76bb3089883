"""Data sets and photographs: CIFAR-10, Drawn-10, a folder of your own images (the paper's section 4.1, made small).

Images are uint8 tensors (n, 3, H, W) in RGB and labels int64 tensors (n,); `normalize` makes them ready
for a model. Nothing here downloads anything but `fetch_cifar10`, and nothing is ever unpickled.
"""

from __future__ import annotations

import argparse
import difflib
import errno
import hashlib
import http.client
import importlib.util
import os
import shutil
import sys
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import torch
from jaxtyping import Float, Int64, Shaped, UInt8
from torch import Tensor

CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
CIFAR10_URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
CIFAR10_MD5 = "c32a1d4ab5d03f1284b67883e8d87530"
CIFAR10_BYTES = 170_052_171
_CIFAR10_FOLDER = "cifar-10-batches-bin"
_CIFAR10_FILES = {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "test": ["test_batch.bin"]}
_RECORD = 1 + 3 * 32 * 32  # a label byte, then the red, green and blue planes
_BATCH = 10_000  # records in every file
_FETCH = "`python -m vitlib data cifar10`"


@dataclass(frozen=True)
class Dataset:
    """Images with their labels and what they are called.

    Attributes:
        images: uint8 (n, 3, H, W), RGB.
        labels: int64 (n,), each an index into `classes`.
        classes: the classes' names.
        label: how to call the data beside a number measured on it, e.g. "CIFAR-10 (JPEG q75)".
        name: "cifar10", "drawn10" or "folder".
    """

    images: UInt8[Tensor, "n 3 H W"]
    labels: Int64[Tensor, "n"]
    classes: tuple[str, ...]
    label: str
    name: str

    def __len__(self) -> int:
        return len(self.labels)


# ------------------------------------------------------------------------------------------- CIFAR-10


def find_cifar10(root: str | Path | None = None) -> Path | None:
    """The folder `cifar-10-batches-bin`, or None where there is none.

    Args:
        root: the one place to look in; without it, `$VITLIB_DATA`, then the user's cache folder.
    """
    for place in _places(root):
        if (place / _CIFAR10_FOLDER).is_dir():
            return place / _CIFAR10_FOLDER
    return None


def load_cifar10(
    split: str, root: str | Path | None = None
) -> tuple[UInt8[Tensor, "n 3 32 32"], Int64[Tensor, "n"]]:
    """CIFAR-10 from its official binary files, already on disk.

    Args:
        split: "train" (50,000 images) or "test" (10,000).
        root: see `find_cifar10`.

    Returns:
        uint8 (n, 3, 32, 32) images and int64 (n,) labels, in the files' order.

    Raises:
        FileNotFoundError: no CIFAR-10 there; the message says how to get it.
        ValueError: an unknown split, or a damaged file.

    Source:
        Krizhevsky, "Learning multiple layers of features from tiny images", 2009.
    """
    _check_name("split", split, _CIFAR10_FILES)
    folder = find_cifar10(root)
    if folder is None:
        places = " or ".join(str(place) for place in _places(root))
        raise FileNotFoundError(
            f"no {_CIFAR10_FOLDER} in {places}; download it with {_FETCH}, or set VITLIB_DATA "
            f"to the folder that holds it (Drawn-10, load_dataset('drawn10'), needs no download)"
        )
    records = np.concatenate([_read_batch(folder / name) for name in _CIFAR10_FILES[split]])
    labels = torch.from_numpy(records[:, 0].astype(np.int64))
    images = torch.from_numpy(records[:, 1:].copy())  # (n, 3072)
    return images.view(-1, 3, 32, 32), labels


def _places(root: str | Path | None) -> list[Path]:
    """Folders that may hold data, the first choice first."""
    if root is not None:
        return [Path(root).expanduser()]
    named = os.environ.get("VITLIB_DATA")
    return ([Path(named).expanduser()] if named else []) + [_cache_folder()]


def _cache_folder() -> Path:
    """Where this system keeps what a program may download again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "vitlib"


def _read_batch(path: Path) -> np.ndarray:
    """One file's records, uint8 (10000, 3073), its size and labels checked."""
    again = f"delete {path.parent} and run {_FETCH}"
    if not path.is_file():
        raise ValueError(f"CIFAR-10 is not whole: expected {path.name} in {path.parent}, got no such file; {again}")
    size = path.stat().st_size
    if size != _BATCH * _RECORD:
        raise ValueError(f"{path} is damaged: expected {_BATCH * _RECORD} bytes, got {size}; {again}")
    records = np.fromfile(path, np.uint8).reshape(_BATCH, _RECORD)
    if records[:, 0].max() > 9:
        raise ValueError(f"{path} is damaged: expected labels 0 to 9, got {records[:, 0].max()}; {again}")
    return records


def _cifar10_label(folder: Path) -> str:
    """What to call this copy: the first line of its label.txt, or CIFAR-10."""
    file = folder / "label.txt"
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n") if file.is_file() else [""]
    return lines[0].strip() or "CIFAR-10"


# --------------------------------------------------------------------------- data sets, ready for use


def load_dataset(
    name: str = "auto", split: str = "train", n: int | None = None, root: str | Path | None = None
) -> Dataset:
    """CIFAR-10 or Drawn-10, with their names and label.

    Args:
        name: "cifar10", "drawn10", or "auto": CIFAR-10 where it is found, else Drawn-10.
        split: "train" or "test".
        n: only the first n images.
        root: where CIFAR-10 lies; see `find_cifar10`.

    Returns:
        a `Dataset` of n images.

    Raises:
        FileNotFoundError: "cifar10" was asked for and is not there.
        ValueError: an unknown name or split, an n out of range, or a damaged file.
    """
    from vitlib.drawn10 import DRAWN10_CLASSES, load_drawn10

    _check_name("data set", name, ("auto", "cifar10", "drawn10"))
    if name == "drawn10" or (name == "auto" and find_cifar10(root) is None):
        images, labels = load_drawn10(split, n)
        return Dataset(images, labels, DRAWN10_CLASSES, "Drawn-10", "drawn10")
    images, labels = load_cifar10(split, root)
    if n is not None and not 1 <= n <= len(images):
        raise ValueError(f"expected n from 1 to {len(images)} for CIFAR-10's {split} split, got {n}")
    return Dataset(images[:n], labels[:n], CIFAR10_CLASSES, _cifar10_label(find_cifar10(root)), "cifar10")


def split_validation(
    images: Shaped[Tensor, "n ..."], labels: Int64[Tensor, "n"], n: int = 5000, seed: int = 0
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Holds n images out of a training set, each class in proportion.

    Choices (learning rates, epochs, recipes) are made on the part held out; the test set is read once.

    Args:
        images: (N, ...).
        labels: int64 (N,).
        n: how many to hold out, 1 to N - 1.
        seed: the same seed holds out the same images, on every machine.

    Returns:
        (train_images, train_labels), (val_images, val_labels): N - n and n of them, in their old order.

    Raises:
        ValueError: lengths that differ, or n out of range.
    """
    total = len(labels)
    if len(images) != total:
        raise ValueError(f"expected as many images as labels, got {len(images)} and {total}")
    if not 1 <= n < total:
        raise ValueError(f"expected n from 1 to {total - 1}, got {n}; hold out fewer than all {total} images")
    shuffled = np.random.default_rng(seed).permutation(total)
    y = labels.cpu().numpy()[shuffled]
    # Give each image its place within its own class, from 0 to 1: the n smallest are then spread evenly.
    place = np.empty(total)
    for value in np.unique(y):
        members = np.flatnonzero(y == value)
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    held = torch.zeros(total, dtype=torch.bool)
    held[torch.from_numpy(shuffled[np.argsort(place, kind="stable")[:n]])] = True
    held = held.to(labels.device)
    rest, held = (~held).nonzero()[:, 0], held.nonzero()[:, 0]
    here = images.device
    return (images[rest.to(here)], labels[rest]), (images[held.to(here)], labels[held])


def normalize(
    images: Shaped[Tensor, "*B C H W"],
    mean: float | Sequence[float] = 0.5,
    std: float | Sequence[float] = 0.5,
) -> Float[Tensor, "*B C H W"]:
    """Standardises images for a model: (x - mean) / std, with x in [0, 1].

    Args:
        images: (..., C, H, W); uint8 0 to 255, or float in [0, 1].
        mean: one number, or one for each channel.
        std: likewise, above 0.

    Returns:
        float (..., C, H, W), in [-1, 1] with the default mean and std.

    Raises:
        ValueError: not a tensor, another dtype, channels last, or values outside [0, 1] (that range is
            looked at on the CPU only: on a GPU the look would stop the queue of work).

    Example:
        >>> normalize(torch.tensor([[[0, 255]]], dtype=torch.uint8)).tolist()
        [[[-1.0, 1.0]]]
    """
    _check_images(images)
    if images.dtype == torch.uint8:
        images = images.to(torch.get_default_dtype()) / 255
    elif images.device.type == "cpu" and images.numel():
        low, high = (v.item() for v in images.aminmax())
        if not (low >= -0.01 and high <= 1.01):  # written so that NaN fails as well
            raise ValueError(
                f"expected float images in [0, 1], got values from {low:.3g} to {high:.3g}; divide 0-255 by 255, "
                f"and do not normalise twice"
            )
    mean, std = _per_channel("mean", mean, images), _per_channel("std", std, images)
    if (std <= 0).any():
        raise ValueError(f"expected std above 0, got {std.flatten().tolist()}")
    return (images - mean) / std


def denormalize(
    images: Float[Tensor, "*B C H W"],
    mean: float | Sequence[float] = 0.5,
    std: float | Sequence[float] = 0.5,
) -> Float[Tensor, "*B C H W"]:
    """The inverse of `normalize`, for looking at what a model was given.

    Args:
        images: float (..., C, H, W), standardised.
        mean: as given to `normalize`.
        std: as given to `normalize`.

    Returns:
        float (..., C, H, W) in [0, 1].

    Raises:
        ValueError: not a float tensor (..., C, H, W).
    """
    _check_images(images)
    if images.dtype == torch.uint8:
        raise ValueError("expected standardised float images, got uint8; uint8 images need no denormalize")
    return (images * _per_channel("std", std, images) + _per_channel("mean", mean, images)).clamp(0, 1)


def _check_images(images: Tensor) -> None:
    """Refuses what is not a uint8 or float tensor (..., C, H, W)."""
    if not isinstance(images, Tensor):
        raise ValueError(
            f"expected a torch tensor (..., C, H, W), got {type(images).__name__}; "
            f"turn a NumPy image (H, W, C) into one with torch.from_numpy(image).permute(2, 0, 1)"
        )
    shape = tuple(images.shape)
    if images.ndim < 3:
        raise ValueError(f"expected images (..., C, H, W), got shape {shape}; add the missing axes with x[None]")
    if shape[-1] in (1, 3, 4) and shape[-3] not in (1, 3, 4):
        raise ValueError(
            f"expected channels first (..., C, H, W), got channels last {shape}; use x.movedim(-1, -3)"
        )
    if images.dtype != torch.uint8 and not images.is_floating_point():
        raise ValueError(f"expected uint8 or float images, got {images.dtype}; use x.to(torch.uint8) for 0-255")


def _per_channel(what: str, value: float | Sequence[float], images: Tensor) -> Tensor:
    """A number, or one for each channel, as (1 or C, 1, 1)."""
    value = torch.as_tensor(value, dtype=images.dtype, device=images.device).reshape(-1)
    if len(value) not in (1, images.shape[-3]):
        raise ValueError(f"expected one {what}, or {images.shape[-3]} (one a channel), got {len(value)}")
    return value[:, None, None]  # (C,) -> (C, 1, 1)


def _check_name(what: str, name: object, known: Sequence[str] | dict) -> None:
    """Refuses an unknown name, proposing the nearest known one."""
    if name not in known:
        near = difflib.get_close_matches(str(name), list(known), 1, 0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"unknown {what} {name!r}: expected one of {', '.join(known)}{hint}")
