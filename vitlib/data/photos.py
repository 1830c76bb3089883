"""A reader's own photographs, and samples: the book's, in `pictures` with their credits, and scikit-image's."""

from __future__ import annotations

import difflib
import importlib.util
import re
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from vitlib.checks import Size, as_pair, check_choice, checked
from vitlib.data.dataset import Dataset
from vitlib.data.pixels import channels_last, rgb_pixels
from vitlib.files import is_watched, printable

__all__ = ["load_folder", "load_image", "sample_image"]

# of CIFAR-10's classes; "cat 2" is another cat
PICTURES = Path(__file__).with_name("pictures")
# photographs in the public domain that scikit-image's wheel carries: their names, and those of files where they differ
_NAMES = (
    "astronaut",
    "brick",
    "camera",
    "cat",
    "coffee",
    "galaxies",
    "grass",
    "gravel",
    "rocket",
)
_OTHERS = {
    "cat": "chelsea.png",
    "galaxies": "hubble_deep_field.jpg",
    "rocket": "rocket.jpg",
}
SAMPLES = {name: _OTHERS.get(name, f"{name}.png") for name in _NAMES}
# what systems and disks leave in a folder; what begins with a dot is hidden anyway
_LEFT = ("__MACOSX", "@eaDir", "@Recycle", "#recycle", "$RECYCLE.BIN", "lost+found")
_LEFT += (
    "System Volume Information",
    "Thumbs.db",
    "ehthumbs.db",
    "desktop.ini",
    "Icon\r",
)
LEFT = {name.casefold() for name in _LEFT}
SAMPLES |= {
    name.replace("-", " "): f"{name}.jpg"
    for name in sorted(path.stem for path in PICTURES.glob("*.jpg"))
}


@checked
def load_image(path: Any, img_size: Size | None = None) -> UInt8[Tensor, "3 H W"]:
    """Reads a photograph, in RGB, and makes it the wanted size.

    Grey images get three equal channels, transparent ones a white ground, 16 bits become 8; a camera's rotation mark
    is obeyed. Of an animation, or of several pages, the first is read.

    Args:
        path: A JPEG, PNG, WebP, GIF, TIFF, BMP or PPM file, whatever its name; or its bytes, a PIL picture, an array
            (H, W), (H, W, C) or (C, H, W), a tensor (C, H, W): uint8, 16 bits, bool or float in [0, 1].
        img_size: Pixels, one number for a square or (height, width); None keeps the file's size. The middle
            of the photograph is cut out in the wanted proportion, then shrunk by averaging areas.

    Raises:
        FileNotFoundError: No such file; the message proposes the nearest name.
        ValueError: A folder, or what is no picture, damaged, too large, or of values that may mean several things.

    Source: chapter 01.
    """
    wanted, name = None if img_size is None else as_pair("img_size", img_size), "it"
    if isinstance(path, str | Path):
        path = name = Path(path).expanduser()
        if path.is_dir():
            raise ValueError(
                f"expected an image file, got the folder {path}; use load_folder for that"
            )
        if not path.is_file():
            siblings = (
                [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
            )
            near = difflib.get_close_matches(path.name, siblings, 1, 0.5)
            hint = (
                f"; did you mean {near[0]}?"
                if near
                else f"; the current folder is {Path.cwd()}"
            )
            raise FileNotFoundError(f"no file {path}{hint}")
    try:
        return _fit(rgb_pixels(path), wanted)
    except ValueError as error:
        raise ValueError(f"{name} is {error}") from error


def as_batch(images: Any) -> Tensor:
    """Pictures, one or several, as (n, C, H, W): tensors as they are, arrays of floats as floats, others loaded."""
    if isinstance(images, Tensor):
        return images
    if isinstance(images, list | tuple) or getattr(images, "ndim", 0) == 4:
        batches = [
            as_batch(image[None] if isinstance(image, Tensor) else image)
            for image in images
        ]
        if len(sizes := {tuple(batch.shape[1:]) for batch in batches}) != 1:
            raise ValueError(
                f"expected pictures of one size, got {sorted(sizes)}; give load_image a size"
            )
        return torch.cat(batches)
    if getattr(images, "ndim", 0) == 3 and (
        images.dtype.kind == "f" or images.dtype == np.uint8
    ):
        if (pixels := channels_last(images)).shape[2] < 4:
            return torch.from_numpy(pixels.transpose(2, 0, 1).copy())[None]
    return load_image(images)[None]


@checked
def load_folder(path: str | Path, img_size: Size = 32) -> Dataset:
    """Reads a folder that holds one folder of images for each class; its name becomes the data's label.

    Args:
        path: For instance `pets`, with `pets/cat/1.jpg`, `pets/dog/1.jpg` and so on. Classes are numbered in
            alphabetical order. Hidden files and what systems leave (`Thumbs.db`, `@eaDir`) are passed over; a
            warning names all others that are: because they lie beside the classes' folders, or for the reason for
            which `load_image` refuses them.
        img_size: Pixels, one number or (height, width); see `load_image`.

    Raises:
        FileNotFoundError: No such folder.
        ValueError: No folders of classes, `train` and `val` in their place, or a class without a picture.

    Source: chapter 09.
    """
    path, size = Path(path).expanduser(), as_pair("img_size", img_size)
    if path.is_file():
        raise ValueError(
            f"expected a folder with one folder of images for each class, got the file {path}"
        )
    if not path.is_dir():
        raise FileNotFoundError(f"no folder {path}; the current folder is {Path.cwd()}")
    folders = class_folders(path)
    if not folders:
        raise ValueError(
            f"expected one folder for each class in {path}, got none; try cat/1.jpg"
        )
    # a Mac may write é as e and an accent, others as one letter
    names = [unicodedata.normalize("NFC", folder.name) for folder in folders]
    classes = tuple(sorted({*names}))
    numbers = [classes.index(name) for name in names]
    files = {
        file: label
        for label, folder in zip(numbers, folders, strict=True)
        for file in visible(folder)
    }
    loose = [p for p in visible(path) if p.is_file()]
    images, skipped = read_pictures(path, files, size, loose)
    labels = [files[file] for file in images]
    found = {*labels}
    for label, folder in zip(numbers, folders, strict=True):
        if label not in found:
            inside = ", ".join(p.name for p in class_folders(folder)[:4])
            fix = (
                f"load it by itself if {inside} are classes, else move their pictures up"
                if inside
                else "put .jpg or .png files there, or move it away, if it is no class"
            )
            raise ValueError(
                f"expected pictures in {folder}, got none; {fix}. {skipped}".strip(". ")
            )
    if skipped:
        warnings.warn(skipped, stacklevel=3)
    return Dataset(
        torch.stack([*images.values()]),
        torch.tensor(labels),
        classes,
        path.resolve().name,
        "folder",
        tuple(map(str, images)),
    )


def visible(path: Path) -> list[Path]:
    """What lies in a folder, but for what is hidden or left there by a system."""
    return sorted(p for p in path.glob("*") if not is_left(p.name))


def is_left(name: str) -> bool:
    """Whether a file or folder of this name is hidden, or a system's, not a reader's."""
    return name.startswith(".") or name.casefold() in LEFT


def class_folders(path: Path) -> list[Path]:
    """The folders in a folder, but for hidden ones and those of systems."""
    return [p for p in visible(path) if p.is_dir()]


def read_pictures(
    folder: Path,
    files: Iterable[Path],
    size: tuple[int, int],
    loose: Sequence[Path] = (),
) -> tuple[dict[Path, Tensor], str]:
    """The pictures among a folder's files, and in words what is skipped: what cannot be read, and all `loose` files."""
    from tqdm import tqdm

    how = {"unit": "file", "leave": False, "delay": 2, "disable": not is_watched()}
    images, skipped = {}, {"in no class's folder": [*loose]}
    bar = tqdm([*files], f"reading {printable(folder.name)}", **how)
    for file in bar:
        try:
            images[file] = _fit(rgb_pixels(file), size)
        except (OSError, ValueError) as error:
            text = getattr(error, "strerror", None) or re.sub(
                r" \(.*?\)|[:;].*", "", str(error), flags=re.S
            )
            skipped.setdefault(text, []).append(file)
    n = sum(map(len, skipped.values()))
    told = []
    for text, paths in skipped.items():
        names = ", ".join(str(p.relative_to(folder)) for p in paths[:50]) + ", ..." * (
            len(paths) > 50
        )
        told += [f"{names} ({text})"] if paths else []
    return (
        images,
        f"skipped {n} of {len(images) + n} files in {folder}: {'; '.join(told)}"
        if n
        else "",
    )


@checked
def sample_image(
    name: str = "astronaut", img_size: Size | None = None
) -> UInt8[Tensor, "3 H W"]:
    """A photograph to try, free to use and without a download.

    Args:
        name: Of CIFAR-10's classes, picked because `cifar10-photo` knows them: "airplane", "automobile", "bird",
            "bird 2", "cat", "cat 2", "deer", "dog", "frog", "horse", "ship" or "truck"; "cat" is from scikit-image,
            the others have 256 pixels and credits in `vitlib/data/pictures`. Of none of them, all from scikit-image:
            "astronaut", "brick", "camera", "coffee", "galaxies", "grass", "gravel" or "rocket".
        img_size: Pixels, one number or (height, width); see `load_image`.

    Raises:
        ImportError: No scikit-image is installed, and the picture is one of its.

    Source: chapter 01.
    """
    check_choice("sample image", name, SAMPLES)
    if (file := PICTURES / SAMPLES[name]).is_file():
        return load_image(file, img_size)
    # finds the folder without the time an import takes
    spec = importlib.util.find_spec("skimage")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(
            f'{name!r} is from scikit-image: pip install "vitlib[samples]", or take "cat 2"'
        )
    return load_image(
        Path(spec.submodule_search_locations[0]) / "data" / SAMPLES[name], img_size
    )


def _import_cv2():
    """OpenCV, or what to do where the system lacks a library that it needs."""
    try:
        import cv2
    except ImportError as error:
        why = f"OpenCV does not start ({error}). opencv-python needs the system's libGL: install libgl1, or take"
        fix = "pip install --force-reinstall opencv-python-headless"
        raise ImportError(
            f"{why} the headless build, which is the same module: {fix}"
        ) from error
    return cv2


def _fit(rgb: np.ndarray, size: tuple[int, int] | None) -> Tensor:
    """Cuts out the middle in the proportion of `size`, then resizes; (H, W, 3) -> (3, *size)."""
    if size is not None:
        cv2, (H, W, _) = _import_cv2(), rgb.shape
        scale = min(H / size[0], W / size[1])
        h, w = (max(1, round(side * scale)) for side in size)
        top, left = (H - h) // 2, (W - w) // 2
        interpolation = cv2.INTER_AREA if scale > 1 else cv2.INTER_CUBIC
        rgb = cv2.resize(
            rgb[top : top + h, left : left + w], size[::-1], interpolation=interpolation
        )
    return torch.from_numpy(rgb.transpose(2, 0, 1).copy())
