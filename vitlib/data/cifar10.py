"""CIFAR-10 from its official binary files (the paper's Section 4.1): found, fetched, checked, never unpickled."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from vitlib.checks import check_choice, checked

__all__ = ["CIFAR10_CLASSES", "fetch_cifar10", "find_cifar10", "load_cifar10"]

#: The classes of CIFAR-10, in the order of its labels. Source: chapter 09.
CIFAR10_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
CIFAR10_URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
CIFAR10_MD5 = "c32a1d4ab5d03f1284b67883e8d87530"
CIFAR10_BYTES = 170_052_171
_CIFAR10_FOLDER = "cifar-10-batches-bin"
_CIFAR10_FILES = {
    "train": [f"data_batch_{i}.bin" for i in range(1, 6)],
    "test": ["test_batch.bin"],
}
_RECORD = 1 + 3 * 32 * 32  # a label byte, then the red, green and blue planes
_BATCH = 10_000  # records in every file
FETCH = "`python -m vitlib data cifar10`"


@checked
def find_cifar10(root: str | Path | None = None) -> Path | None:
    """The folder `cifar-10-batches-bin`, or None where there is none.

    Args:
        root: The one folder to look in; without it, `$VITLIB_DATA`, then the user's cache folder.

    Source: chapter 09.
    """
    folders = (folder / _CIFAR10_FOLDER for folder in data_folders(root))
    return next((folder for folder in folders if folder.is_dir()), None)


@checked
def load_cifar10(
    split: str, root: str | Path | None = None
) -> tuple[UInt8[Tensor, "n 3 32 32"], Int64[Tensor, " n"]]:
    """CIFAR-10 from its official binary files, already on disk.

    Args:
        split: "train" (50,000 images) or "test" (10,000).
        root: See `find_cifar10`.

    Returns:
        uint8 (n, 3, 32, 32) images and int64 (n,) labels, in the files' order.

    Raises:
        FileNotFoundError: No CIFAR-10 there; the message says how to get it.
        ValueError: A damaged file.

    Source: Krizhevsky, "Learning multiple layers of features from tiny images", 2009; chapter 09.
    """
    check_choice("split", split, _CIFAR10_FILES)
    folder = find_cifar10(root)
    if folder is None:
        searched = " or ".join(map(str, data_folders(root)))
        fix = (
            f"download it with {FETCH}, or set VITLIB_DATA to the folder that holds it"
        )
        others = "load_dataset('drawn10') needs no download"
        raise FileNotFoundError(f"no {_CIFAR10_FOLDER} in {searched}; {fix} ({others})")
    records = np.concatenate(
        [_read_batch(folder / name) for name in _CIFAR10_FILES[split]]
    )
    labels = torch.from_numpy(records[:, 0].astype(np.int64))
    images = torch.from_numpy(records[:, 1:].copy())  # (n, 3072)
    return images.view(-1, 3, 32, 32), labels


def data_folders(root: str | Path | None) -> list[Path]:
    """Folders that may hold data, the first choice first."""
    if root is not None:
        return [Path(root).expanduser()]
    chosen = os.environ.get("VITLIB_DATA")
    return ([Path(chosen).expanduser()] if chosen else []) + [_cache_folder()]


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
    fix = f"delete {path.parent} and run {FETCH}"
    if not path.is_file():
        raise ValueError(
            f"CIFAR-10 is not whole: expected {path}, got no such file; {fix}"
        )
    size = path.stat().st_size
    if size != _BATCH * _RECORD:
        raise ValueError(
            f"{path} is damaged: expected {_BATCH * _RECORD} bytes, got {size}; {fix}"
        )
    records = np.fromfile(path, np.uint8).reshape(_BATCH, _RECORD)
    if records[:, 0].max() > 9:
        raise ValueError(
            f"{path} is damaged: expected labels 0 to 9, got {records[:, 0].max()}; {fix}"
        )
    return records


def cifar10_label(folder: Path) -> str:
    """What to call this copy: the first line of its label.txt, or CIFAR-10."""
    file = folder / "label.txt"
    lines = (
        file.read_text(encoding="utf-8", errors="replace").split("\n")
        if file.is_file()
        else [""]
    )
    return lines[0].strip() or "CIFAR-10"


def fetch_cifar10(
    root: str | Path | None = None,
    urls: Sequence[str] | None = None,
    *,
    progress: bool = True,
) -> Path:
    """Downloads CIFAR-10's official binary archive and unpacks it, unless it is already there and whole.

    The university's host is slow: the 170 MB may take an hour. Stopped at any moment, the same call goes on.

    Args:
        root: The folder to put it in; without it, `$VITLIB_DATA`, else the user's cache folder.
        urls: Where to download from, tried in turn; without it, the addresses in `$VITLIB_MIRRORS`
            (separated by spaces), then the university's.
        progress: Whether to show a bar.

    Returns:
        The folder `cifar-10-batches-bin`.

    Raises:
        ConnectionError: No network, or no address gave the whole file.
        OSError: No space left, or a folder that may not be written.
        ValueError: What was downloaded is not the official archive.

    Source: chapter 09.
    """
    from vitlib.data.download import (
        download,
        unpack,
    )  # urllib and tarfile: only those who fetch pay for them

    folder = data_folders(root)[0]
    target = folder / _CIFAR10_FOLDER
    part = folder / f"{CIFAR10_URL.rpartition('/')[2]}.part"
    with contextlib.suppress(ValueError):  # absent, or damaged and to be replaced
        check_cifar10(target)
        return target
    needed = (
        CIFAR10_BYTES
        + 6 * _BATCH * _RECORD
        - (part.stat().st_size if part.exists() else 0)
    )
    free = shutil.disk_usage(
        next(p for p in (folder, *folder.absolute().parents) if p.exists())
    ).free
    if free < needed:
        got = f"{free / 1e6:.0f}; make room, or choose another folder with --root"
        raise OSError(
            f"no space left: expected {needed / 1e6:.0f} MB free in {folder}, got {got}"
        )
    download(
        mirrors() if urls is None else urls, part, CIFAR10_BYTES, CIFAR10_MD5, progress
    )
    unpack(part, target, check_cifar10)
    part.unlink()
    return target


def mirrors() -> list[str]:
    """Addresses of the archive: the user's, then the university's."""
    return [*os.environ.get("VITLIB_MIRRORS", "").split(), CIFAR10_URL]


def check_cifar10(folder: Path) -> None:
    """Reads every file; ValueError if one is missing or damaged."""
    for name in _CIFAR10_FILES["train"] + _CIFAR10_FILES["test"]:
        _read_batch(folder / name)
