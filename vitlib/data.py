"""Data sets and photographs (the paper's Section 4.1, made small): CIFAR-10, Drawn-10, a reader's own images.

Images are uint8 tensors (n, 3, H, W) in RGB and labels int64 tensors (n,); `normalize` makes them ready for a
model. Nothing but `fetch_cifar10` downloads anything, and nothing is ever unpickled.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int64, Shaped, UInt8
from torch import Tensor

from vitlib.drawn10 import DRAWN10_CLASSES, DRAWN10_SIZES, load_drawn10
from vitlib.fetch import download, unpack

__all__ = [
    "CIFAR10_CLASSES",
    "DRAWN10_CLASSES",
    "Dataset",
    "denormalize",
    "fetch_cifar10",
    "find_cifar10",
    "load_cifar10",
    "load_dataset",
    "load_drawn10",
    "load_folder",
    "load_image",
    "normalize",
    "sample_image",
    "split_validation",
]

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
        classes: The classes' names.
        label: How to call the data beside a number measured on it, e.g. "CIFAR-10 (JPEG q75)".
        name: "cifar10", "drawn10" or "folder".
    """

    images: UInt8[Tensor, "n 3 H W"]
    labels: Int64[Tensor, " n"]
    classes: tuple[str, ...]
    label: str
    name: str

    def __len__(self) -> int:
        return len(self.labels)


# ------------------------------------------------------------------------------------------- CIFAR-10


def find_cifar10(root: str | Path | None = None) -> Path | None:
    """The folder `cifar-10-batches-bin`, or None where there is none.

    Args:
        root: The one place to look in; without it, `$VITLIB_DATA`, then the user's cache folder.
    """
    for place in _places(root):
        if (place / _CIFAR10_FOLDER).is_dir():
            return place / _CIFAR10_FOLDER
    return None


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
        ValueError: An unknown split, or a damaged file.

    Source:
        Krizhevsky, "Learning multiple layers of features from tiny images", 2009.
    """
    _check_name("split", split, _CIFAR10_FILES)
    folder = find_cifar10(root)
    if folder is None:
        places = " or ".join(str(place) for place in _places(root))
        raise FileNotFoundError(
            f"no {_CIFAR10_FOLDER} in {places}; download it with {_FETCH}, or set VITLIB_DATA "
            f"to the folder that holds it (load_dataset('drawn10') needs no download)"
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
        raise ValueError(f"CIFAR-10 is not whole: expected {path}, got no such file; {again}")
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


def fetch_cifar10(
    root: str | Path | None = None,
    urls: Sequence[str] | None = None,
    *,
    md5: str = CIFAR10_MD5,
    size: int = CIFAR10_BYTES,
    progress: bool = True,
) -> Path:
    """Downloads CIFAR-10's official binary archive and unpacks it, unless it is already there and whole.

    The university's host is slow: the 170 MB may take an hour. Stopped at any moment, the same call goes on.

    Args:
        root: The folder to put it in; without it, `$VITLIB_DATA`, else the user's cache folder.
        urls: Where to download from, tried in turn; without it, the addresses in `$VITLIB_MIRRORS`
            (separated by spaces), then the university's.
        md5: The archive's MD5 sum.
        size: The archive's size in bytes.
        progress: Whether to show a bar.

    Returns:
        The folder `cifar-10-batches-bin`.

    Raises:
        ConnectionError: No network, or no address gave the whole file.
        OSError: No space left, or a folder that may not be written.
        ValueError: What was downloaded is not the official archive.
    """
    place = _places(root)[0]
    target = place / _CIFAR10_FOLDER
    part = place / f"{CIFAR10_URL.rpartition('/')[2]}.part"
    try:
        _check_cifar10(target)
        return target
    except ValueError:
        pass  # absent, or damaged and to be replaced
    need = size + 6 * _BATCH * _RECORD - (part.stat().st_size if part.exists() else 0)
    free = shutil.disk_usage(next(p for p in (place, *place.absolute().parents) if p.exists())).free
    if free < need:
        raise OSError(
            f"no space left: expected {need / 1e6:.0f} MB free in {place}, got {free / 1e6:.0f}; "
            f"make room, or choose another folder with --root"
        )
    download(_mirrors() if urls is None else urls, part, size, md5, progress)
    unpack(part, target, _check_cifar10)
    part.unlink()
    return target


def _mirrors() -> list[str]:
    """Addresses of the archive: the user's, then the university's."""
    return [*os.environ.get("VITLIB_MIRRORS", "").split(), CIFAR10_URL]


def _check_cifar10(folder: Path) -> None:
    """Reads every file; ValueError if one is missing or damaged."""
    for name in _CIFAR10_FILES["train"] + _CIFAR10_FILES["test"]:
        _read_batch(folder / name)


# --------------------------------------------------------------------------- data sets, ready for use


def load_dataset(
    name: str = "auto", split: str = "train", n: int | None = None, root: str | Path | None = None
) -> Dataset:
    """CIFAR-10 or Drawn-10, with their names and label.

    Args:
        name: "cifar10", "drawn10", or "auto": CIFAR-10 where it is found, else Drawn-10.
        split: "train" or "test".
        n: Only the first n images.
        root: Where CIFAR-10 lies; see `find_cifar10`.

    Returns:
        a `Dataset` of n images.

    Raises:
        FileNotFoundError: "cifar10" was asked for and is not there.
        ValueError: An unknown name or split, an n out of range, or a damaged file.
    """
    _check_name("data set", name, ("auto", "cifar10", "drawn10"))
    if name == "drawn10" or (name == "auto" and find_cifar10(root) is None):
        images, labels = load_drawn10(split, n)
        return Dataset(images, labels, DRAWN10_CLASSES, "Drawn-10", "drawn10")
    images, labels = load_cifar10(split, root)
    if n is not None and not 1 <= n <= len(images):
        raise ValueError(f"expected n from 1 to {len(images)} for CIFAR-10's {split} split, got {n}")
    return Dataset(images[:n], labels[:n], CIFAR10_CLASSES, _cifar10_label(find_cifar10(root)), "cifar10")


def split_validation(
    images: Shaped[Tensor, "N ..."], labels: Int64[Tensor, " N"], n: int = 5000, seed: int = 0
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Holds n images out of a training set, each class in proportion.

    Choices (learning rates, epochs, recipes) are made on the part held out; the test set is read once.

    Args:
        images: (N, ...).
        labels: int64 (N,).
        n: How many to hold out, 1 to N - 1.
        seed: The same seed holds out the same images, on every machine.

    Returns:
        (train_images, train_labels), (val_images, val_labels): N - n and n of them, in their old order.

    Raises:
        ValueError: Lengths that differ, or n out of range.
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
        mean: One number, or one for each channel.
        std: Likewise, above 0.

    Returns:
        float (..., C, H, W), in [-1, 1] with the default mean and std.

    Raises:
        ValueError: Not a tensor, another dtype, channels last, or values outside [0, 1] (that range is
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
                f"expected float images in [0, 1], got values from {low:.3g} to {high:.3g}; "
                f"divide 0-255 by 255, and do not normalise twice"
            )
    mean, std = _per_channel("mean", mean, images), _per_channel("std", std, images)
    if (std <= 0).any():
        raise ValueError(f"expected std above 0, got {std.flatten().tolist()}")
    return (images - mean) / std


def denormalize(
    images: Float[Tensor, "*B C H W"], mean: float | Sequence[float] = 0.5, std: float | Sequence[float] = 0.5
) -> Float[Tensor, "*B C H W"]:
    """The inverse of `normalize`, for looking at what a model was given.

    Args:
        images: float (..., C, H, W), standardised.
        mean: As given to `normalize`.
        std: As given to `normalize`.

    Returns:
        float (..., C, H, W) in [0, 1].

    Raises:
        ValueError: Not a float tensor (..., C, H, W).
    """
    _check_images(images)
    if images.dtype == torch.uint8:
        raise ValueError("expected standardised float images, got uint8; uint8 images need no denormalize")
    return (images * _per_channel("std", std, images) + _per_channel("mean", mean, images)).clamp(0, 1)


def _check_images(images: Tensor) -> None:
    """Refuses what is not a uint8 or float tensor (..., C, H, W)."""
    if not isinstance(images, Tensor):
        raise ValueError(
            f"expected a torch tensor (..., C, H, W), got {type(images).__name__}; turn a NumPy "
            f"image (H, W, C) into one with torch.from_numpy(image).permute(2, 0, 1)"
        )
    shape = tuple(images.shape)
    if images.ndim < 3:
        raise ValueError(f"expected images (..., C, H, W), got {shape}; add the missing axes with x[None]")
    if shape[-1] in (1, 3, 4) and shape[-3] not in (1, 3, 4):
        raise ValueError(f"expected channels first (..., C, H, W), got {shape}; use x.movedim(-1, -3)")
    if images.dtype != torch.uint8 and not images.is_floating_point():
        raise ValueError(f"expected uint8 or float images, got {images.dtype}; use x.to(torch.uint8)")


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


# ------------------------------------------------------------------------------------------ photographs

SAMPLES = {  # photographs in the public domain that scikit-image's wheel carries
    "astronaut": "astronaut.png",
    "brick": "brick.png",
    "camera": "camera.png",
    "cat": "chelsea.png",
    "coffee": "coffee.png",
    "galaxies": "hubble_deep_field.jpg",
    "grass": "grass.png",
    "gravel": "gravel.png",
    "rocket": "rocket.jpg",
}
_SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")


def load_image(path: str | Path, img_size: int | tuple[int, int] | None = None) -> UInt8[Tensor, "3 H W"]:
    """Reads a photograph, in RGB, and makes it the wanted size.

    Grey images get three equal channels, transparent ones a white ground; a camera's rotation mark is obeyed.

    Args:
        path: A JPEG, PNG, WebP, TIFF or BMP file.
        img_size: Pixels, one number for a square or (height, width); None keeps the file's size. The middle
            of the photograph is cut out in the wanted proportion, then shrunk by averaging areas.

    Returns:
        uint8 (3, H, W).

    Raises:
        FileNotFoundError: No such file; the message proposes the nearest name.
        ValueError: A folder, a file that is no image or damaged, or an impossible img_size.
    """
    cv2 = _import_cv2()
    wanted = _check_size(img_size)
    path = Path(path).expanduser()
    if path.is_dir():
        raise ValueError(f"expected an image file, got the folder {path}; use load_folder for that")
    if not path.is_file():
        around = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, around, 1, 0.5)
        hint = f"; did you mean {near[0]}?" if near else f"; the current folder is {Path.cwd()}"
        raise FileNotFoundError(f"no file {path}{hint}")
    encoded = np.frombuffer(path.read_bytes(), np.uint8)  # cv2.imread fails on some names under Windows
    bgr = cv2.imdecode(encoded, cv2.IMREAD_COLOR) if encoded.size else None
    if bgr is None:
        raise ValueError(
            f"{path} is damaged or no image: expected a JPEG, PNG, WebP, TIFF or BMP file, got "
            f"{encoded.size:,} bytes that OpenCV cannot read; save it (HEIC too) as PNG"
        )
    if encoded[:2].tobytes() != b"\xff\xd8":  # a JPEG is never transparent
        layers = cv2.imdecode(encoded, cv2.IMREAD_UNCHANGED)
        if layers is not None and layers.ndim == 3 and layers.shape[2] == 4 and layers.dtype == np.uint8:
            alpha = layers[..., 3:].astype(np.float32) / 255
            bgr = (layers[..., :3] * alpha + 255 * (1 - alpha)).round().astype(np.uint8)
    rgb = cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB)  # OpenCV's channels come as blue, green, red
    if wanted:
        rgb = _fit(rgb, *wanted)
    return torch.from_numpy(np.ascontiguousarray(rgb.transpose(2, 0, 1)))  # (H, W, 3) -> (3, H, W)


def load_folder(path: str | Path, img_size: int | tuple[int, int] = 32) -> Dataset:
    """Reads a folder that holds one folder of images for each class.

    Args:
        path: For instance `pets`, with `pets/cat/1.jpg`, `pets/dog/1.jpg` and so on. Classes are numbered in
            alphabetical order; hidden files and files that are no images by their name are passed over.
        img_size: Pixels, one number or (height, width); see `load_image`.

    Returns:
        a `Dataset` of uint8 (n, 3, H, W) images, its label the folder's name.

    Raises:
        FileNotFoundError: No such folder.
        ValueError: No class folders, a class without images, a damaged image, or an impossible img_size.
    """
    path = Path(path).expanduser()
    if not path.is_dir():
        raise FileNotFoundError(f"no folder {path}; the current folder is {Path.cwd()}")
    if img_size is None:
        raise ValueError("expected an img_size, got None; the images of a data set share a size, try 32")
    folders = sorted(p for p in path.glob("[!.]*") if p.is_dir())
    if not folders:
        raise ValueError(f"expected one folder for each class in {path}, got none; try cat/1.jpg")
    images, labels = [], []
    for label, folder in enumerate(folders):
        files = sorted(p for p in folder.glob("[!.]*") if p.suffix.lower() in _SUFFIXES)
        if not files:
            raise ValueError(f"expected images in {folder}, got none; put .jpg or .png files there")
        images += [load_image(file, img_size) for file in files]
        labels += [label] * len(files)
    classes = tuple(folder.name for folder in folders)
    return Dataset(torch.stack(images), torch.tensor(labels), classes, path.resolve().name, "folder")


def sample_image(
    name: str = "astronaut", img_size: int | tuple[int, int] | None = None
) -> UInt8[Tensor, "3 H W"]:
    """One of scikit-image's bundled photographs, all in the public domain; no download.

    Args:
        name: "astronaut", "brick", "camera", "cat", "coffee", "galaxies", "grass", "gravel" or "rocket".
        img_size: Pixels, one number or (height, width); see `load_image`.

    Returns:
        uint8 (3, H, W).

    Raises:
        ValueError: An unknown name, or an impossible img_size.
        ImportError: No scikit-image is installed.
    """
    _check_name("sample image", name, SAMPLES)
    found = importlib.util.find_spec("skimage")  # finds the folder without the time an import takes
    if found is None:
        raise ImportError("the sample photographs come with scikit-image: pip install scikit-image")
    return load_image(Path(found.submodule_search_locations[0]) / "data" / SAMPLES[name], img_size)


def _import_cv2():
    """OpenCV, or what to do where the system lacks a library that it needs."""
    try:
        import cv2
    except ImportError as error:
        raise ImportError(
            f"OpenCV does not start ({error}). opencv-python needs the system's libGL: install libgl1, or take the "
            f"headless build, which is the same module: pip install --force-reinstall opencv-python-headless"
        ) from error
    return cv2


def _check_size(img_size: object) -> tuple[int, int] | None:
    """(height, width) in pixels, or None."""
    if img_size is None:
        return None
    pair = tuple(img_size) if isinstance(img_size, tuple | list) else (img_size, img_size)
    if len(pair) != 2 or not all(type(v) is int and v > 0 for v in pair):
        raise ValueError(f"expected img_size in whole pixels, or (height, width), got {img_size!r}; try 224")
    return pair


def _fit(rgb: np.ndarray, height: int, width: int) -> np.ndarray:
    """Cuts out the middle in the proportion height:width, then resizes; (H, W, 3) -> (height, width, 3)."""
    cv2 = _import_cv2()
    H, W, _ = rgb.shape
    scale = min(H / height, W / width)
    h, w = max(1, round(height * scale)), max(1, round(width * scale))
    top, left = (H - h) // 2, (W - w) // 2
    way = cv2.INTER_AREA if scale > 1 else cv2.INTER_CUBIC
    return cv2.resize(rgb[top : top + h, left : left + w], (width, height), interpolation=way)


# ------------------------------------------------------------------------------------- the command line


def configure_parser(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m vitlib data`.

    Args:
        parser: The subcommand's parser.
    """
    parser.add_argument(
        "action",
        nargs="?",
        default="verify",
        choices=("verify", "cifar10"),
        help="verify: say which data are here and whole; cifar10: download CIFAR-10",
    )
    parser.add_argument("--root", help="the folder for data, instead of $VITLIB_DATA or the cache folder")
    parser.add_argument(
        "--mirror",
        action="append",
        default=[],
        metavar="URL",
        help="an address of cifar-10-binary.tar.gz to try first; may be given again",
    )


def run(args: argparse.Namespace) -> int:
    """Runs `python -m vitlib data`.

    Args:
        args: What `configure_parser`'s parser read.

    Returns:
        The exit code.
    """
    if args.action == "cifar10":
        try:
            fetch_cifar10(args.root, [*args.mirror, *_mirrors()])
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; what came is kept, the same command goes on there") from None
    print("Drawn-10: {train:,} training and {test:,} test images, drawn by code".format(**DRAWN10_SIZES))
    folder = find_cifar10(args.root)
    if folder is None:
        print(f"CIFAR-10: not in {' or '.join(map(str, _places(args.root)))}; download it with {_FETCH}")
        return 0
    _check_cifar10(folder)
    print(f"{_cifar10_label(folder)}: 50,000 training and 10,000 test images, all files whole, in {folder}")
    return 0
