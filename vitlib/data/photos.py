"""A reader's own photographs, and scikit-image's."""

from __future__ import annotations

import difflib
import importlib.util
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from vitlib.checks import Size, as_pair, check_choice, checked
from vitlib.data.dataset import Dataset

__all__ = ["load_folder", "load_image", "sample_image"]

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
_TURNED = re.compile(rb"\x12\x01\x03\0\x01\0\0\0[\x02-\x08]|\x01\x12\0\x03\0\0\0\x01\0[\x02-\x08]")  # Exif's
_SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")


@checked
def load_image(path: str | Path, img_size: Size | None = None) -> UInt8[Tensor, "3 H W"]:
    """Reads a photograph, in RGB, and makes it the wanted size.

    Grey images get three equal channels, transparent ones a white ground; a camera's rotation mark is obeyed.

    Args:
        path: A JPEG, PNG, WebP, TIFF or BMP file.
        img_size: Pixels, one number for a square or (height, width); None keeps the file's size. The middle
            of the photograph is cut out in the wanted proportion, then shrunk by averaging areas.

    Raises:
        FileNotFoundError: No such file; the message proposes the nearest name.
        ValueError: A folder, or a file that is no image, damaged, or transparent and turned.

    Source: chapter 01.
    """
    cv2 = _import_cv2()
    wanted = None if img_size is None else as_pair("img_size", img_size)
    path = Path(path).expanduser()
    if path.is_dir():
        raise ValueError(f"expected an image file, got the folder {path}; use load_folder for that")
    if not path.is_file():
        siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, siblings, 1, 0.5)
        hint = f"; did you mean {near[0]}?" if near else f"; the current folder is {Path.cwd()}"
        raise FileNotFoundError(f"no file {path}{hint}")
    encoded = np.frombuffer(path.read_bytes(), np.uint8)  # cv2.imread fails on some names under Windows
    try:
        bgr = cv2.imdecode(encoded, cv2.IMREAD_COLOR) if encoded.size else None
    except cv2.error:  # its header claims more than 2**30 pixels
        bgr = None
    if bgr is None:
        raise ValueError(
            f"{path} is damaged or no image: expected a JPEG, PNG, WebP, TIFF or BMP file, got "
            f"{encoded.size:,} bytes that OpenCV cannot read; save it (HEIC too, or one too large) as PNG"
        )
    if encoded[:2].tobytes() != b"\xff\xd8":  # a JPEG is never transparent
        layers = cv2.imdecode(encoded, cv2.IMREAD_UNCHANGED)
        if layers is not None and layers.ndim == 3 and layers.shape[2] == 4:
            layers = layers.astype(np.float32) * (1 if layers.dtype == np.uint8 else 255 / 65535)
            alpha = layers[..., 3:] / 255
            if alpha.min() < 1 and _TURNED.search(encoded.tobytes()):
                raise ValueError(f"{path} is transparent and marked as turned, got both; save it upright")
            bgr = (layers[..., :3] * alpha + 255 * (1 - alpha)).round().astype(np.uint8)
    rgb = cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB)  # OpenCV's channels come as blue, green, red
    if wanted:
        rgb = _fit(rgb, *wanted)
    return torch.from_numpy(np.ascontiguousarray(rgb.transpose(2, 0, 1)))  # (H, W, 3) -> (3, H, W)


@checked
def load_folder(path: str | Path, img_size: Size = 32) -> Dataset:
    """Reads a folder that holds one folder of images for each class; its name becomes the data's label.

    Args:
        path: For instance `pets`, with `pets/cat/1.jpg`, `pets/dog/1.jpg` and so on. Classes are numbered in
            alphabetical order. Hidden files are passed over; a warning names other files that are passed over, as
            they lie beside the classes' folders or are no images by their name (GIFs, for instance).
        img_size: Pixels, one number or (height, width); see `load_image`.

    Raises:
        FileNotFoundError: No such folder.
        ValueError: No folders of classes, a class without images, or a damaged image.

    Source: chapter 09.
    """
    path = Path(path).expanduser()
    if path.is_file():
        raise ValueError(f"expected a folder with one folder of images for each class, got the file {path}")
    if not path.is_dir():
        raise FileNotFoundError(f"no folder {path}; the current folder is {Path.cwd()}")
    folders = sorted(p for p in path.glob("[!.]*") if p.is_dir())
    if not folders:
        raise ValueError(f"expected one folder for each class in {path}, got none; try cat/1.jpg")
    images, labels = [], []
    skipped = [p for p in sorted(path.glob("[!.]*")) if p.is_file()]
    for label, folder in enumerate(folders):
        there = sorted(folder.glob("[!.]*"))
        files = [p for p in there if p.suffix.lower() in _SUFFIXES]
        if not files:
            found = f"none among {len(there)} files like {there[0].name}" if there else "none"
            raise ValueError(f"expected images in {folder}, got {found}; put .jpg or .png files there")
        skipped += [p for p in there if p not in files]
        images += [load_image(file, img_size) for file in files]
        labels += [label] * len(files)
    _tell_skipped(path, skipped, len(images))
    classes = tuple(folder.name for folder in folders)
    return Dataset(torch.stack(images), torch.tensor(labels), classes, path.resolve().name, "folder")


def picture_files(folder: Path) -> list[Path]:
    """The pictures in a folder and in the folders inside, by their names; a warning names the other files."""
    there = [p for p in sorted(folder.rglob("[!.]*")) if p.is_file()]
    files = [p for p in there if p.suffix.lower() in _SUFFIXES]
    if not files:
        raise ValueError(f"expected pictures in {folder}, got none among {len(there)} files")
    _tell_skipped(folder, [p for p in there if p not in files], len(files))
    return files


def _tell_skipped(folder: Path, skipped: Sequence[Path], taken: int) -> None:
    """Warn that files were passed over: how many, why, and the first of them."""
    if skipped:
        names = ", ".join(str(p.relative_to(folder)) for p in skipped[:4]) + ", ..." * (len(skipped) > 4)
        warnings.warn(
            f"skipped {len(skipped)} of {len(skipped) + taken} files in {folder}, because they lie in no class's "
            f"folder or end in none of {' '.join(_SUFFIXES)}: {names}; save them as PNG",
            stacklevel=4,
        )


def split_folder(data: Dataset) -> tuple[Dataset, Dataset]:
    """The images of a folder to train on, and a tenth of each class to test by, the same in every run."""
    if len(data.classes) < 2:
        found = ", ".join(data.classes) or "none"
        raise ValueError(f"expected two classes or more, got only {found}; give each a folder of its own")
    counts = data.labels.bincount(minlength=len(data.classes)).tolist()
    for name, count in zip(data.classes, counts, strict=True):
        if count < 10:
            raise ValueError(
                f"expected 10 images or more of each class, as one in ten is held out to test by, got {count} "
                f"of {name}; add some, or leave that folder out"
            )
    return data.hold_out(len(data) // 10)


@checked
def sample_image(name: str = "astronaut", img_size: Size | None = None) -> UInt8[Tensor, "3 H W"]:
    """One of scikit-image's bundled photographs, all in the public domain; no download.

    Args:
        name: "astronaut", "brick", "camera", "cat", "coffee", "galaxies", "grass", "gravel" or "rocket".
        img_size: Pixels, one number or (height, width); see `load_image`.

    Raises:
        ImportError: No scikit-image is installed.

    Source: chapter 01.
    """
    check_choice("sample image", name, SAMPLES)
    spec = importlib.util.find_spec("skimage")  # finds the folder without the time an import takes
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("the sample photographs come with scikit-image: pip install scikit-image")
    return load_image(Path(spec.submodule_search_locations[0]) / "data" / SAMPLES[name], img_size)


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


def _fit(rgb: np.ndarray, height: int, width: int) -> np.ndarray:
    """Cuts out the middle in the proportion height:width, then resizes; (H, W, 3) -> (height, width, 3)."""
    cv2 = _import_cv2()
    H, W, _ = rgb.shape
    scale = min(H / height, W / width)
    h, w = max(1, round(height * scale)), max(1, round(width * scale))
    top, left = (H - h) // 2, (W - w) // 2
    interpolation = cv2.INTER_AREA if scale > 1 else cv2.INTER_CUBIC
    return cv2.resize(rgb[top : top + h, left : left + w], (width, height), interpolation=interpolation)
