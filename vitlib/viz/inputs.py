"""Checked inputs of figures, not from the paper: images, classes, grids of patches, titles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from vitlib.data.dataset import to_float
from vitlib.tensors import as_labels, check_dense, check_images


def image_arrays(images: Tensor | np.ndarray | Sequence[Tensor]) -> list[np.ndarray]:
    """Checked images as float arrays (H, W, 3) in [0, 1]."""
    if isinstance(images, (list, tuple)):
        return [array for item in images for array in image_arrays(item)]
    array = (
        images.detach()
        if isinstance(images, Tensor)
        else torch.as_tensor(np.asarray(images))
    )
    check_images(array, "... C H W")
    check_dense("images", array)
    array = array[None] if array.ndim == 3 else array
    if array.ndim != 4 or array.shape[1] not in (1, 3) or not array.numel():
        raise ValueError(
            f"expected images of shape (3, H, W) or (n, 3, H, W), got {tuple(np.shape(images))}"
        )
    # (n, C, H, W) -> (n, H, W, C)
    array = to_float(array.cpu()).clamp(0, 1).permute(0, 2, 3, 1)
    return list(array.expand(-1, -1, -1, 3).numpy())


def image_array(image: Tensor) -> np.ndarray:
    """One checked image as a float array (H, W, 3) in [0, 1]."""
    arrays = image_arrays(image)
    if len(arrays) != 1:
        raise ValueError(
            f"expected one image (3, H, W), got {len(arrays)}; take images[0]"
        )
    return arrays[0]


def class_array(
    what: str, values: Tensor | Sequence, n: int, num_classes: int
) -> np.ndarray:
    """Checked class numbers, (n,)."""
    try:
        return as_labels(values, n, num_classes).cpu().numpy()
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def patch_grid(n: int, grid: tuple[int, int] | None) -> tuple[int, int]:
    """(rows, cols) of n patches: the checked grid, or a square."""
    rows, cols = (round(n**0.5),) * 2 if grid is None else grid
    if rows * cols != n:
        fix = (
            "pass grid=model.cfg.grid"
            if grid is None
            else "is CLS still among them? Take [1:]"
        )
        raise ValueError(
            f"expected {rows} x {cols} = {rows * cols} patches, got {n}; {fix}"
        )
    return rows, cols


def checked_titles(titles: Sequence[str] | None, n: int, of: str) -> Sequence[str]:
    """Titles of n things, empty where there are none."""
    titles = [""] * n if titles is None else titles
    if len(titles) != n:
        raise ValueError(
            f"expected {n} titles, one for each of the {n} {of}, got {len(titles)}"
        )
    return titles
