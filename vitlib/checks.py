"""How bad input is refused: once for each kind, with what was expected, what came and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, SupportsIndex

import numpy as np
import torch
from torch import Tensor


def is_number(value: Any) -> bool:
    """Whether `value` is a number, and not True or False."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether `value` is a whole number, also NumPy's or a tensor's, and not True or False."""
    return isinstance(value, SupportsIndex) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """Whether `value` is a whole number above 0."""
    return isinstance(value, int) and is_number(value) and value > 0


def check_count(name: str, value: object) -> None:
    """Refuse, under this `name`, a `value` that is no whole number above 0."""
    if not is_count(value):
        raise ValueError(f"{name} must be a positive integer, got {value!r}")


def check_classes(num_classes: object) -> None:
    """Refuse a `num_classes` that is no whole number, 0 or more."""
    if not isinstance(num_classes, int) or isinstance(num_classes, bool) or num_classes < 0:
        raise ValueError(f"num_classes must be 0 (no head) or more, got {num_classes!r}")


def check_rate(name: str, value: Any, below: int | float = 1) -> None:
    """Refuse, under this `name`, a `value` that is no number from 0 to `below` (itself left out)."""
    if not is_number(value) or not 0 <= value < below:
        raise ValueError(f"{name} must be in [0, {below}), got {value!r}")


def check_between(name: str, value: object, low: int, high: int, why: str = "") -> None:
    """Refuse, under this `name`, a `value` that is no whole number from `low` to `high`; `why` they are the limits."""
    if not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"expected {name} from {low} to {high}{why}, got {value!r}")


def check_choice(name: str, value: object, known: Collection[str]) -> None:
    """Refuse, under this `name`, a `value` that is not `known`, and propose the nearest."""
    if value not in known:
        near = difflib.get_close_matches(str(value), list(known), 1, 0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}{hint}")


def check_multiple(name: str, size: int, patch_size: int) -> None:
    """Refuse a `size` of this `name` that `patch_size` does not divide, and propose the nearest."""
    if size % patch_size:
        below, above = size // patch_size * patch_size, -(-size // patch_size) * patch_size
        near = f"{below} or {above}" if below else f"{above}"
        raise ValueError(f"{name} {size} is not a multiple of patch_size {patch_size}; try {near}")


def check_divides(patch_size: int, height: int, width: int) -> None:
    """Refuse a `patch_size` that does not divide an image's `height` and `width`."""
    check_count("patch_size", patch_size)
    check_multiple("image height", height, patch_size)
    check_multiple("image width", width, patch_size)


def check_heads(embed_dim: int, num_heads: int) -> None:
    """Refuse an `embed_dim` that cannot be shared out among `num_heads`."""
    if embed_dim % num_heads:
        wider = -(-embed_dim // num_heads) * num_heads
        raise ValueError(
            f"embed_dim {embed_dim} is not a multiple of num_heads {num_heads}; try embed_dim {wider}"
        )


def check_stages(widths: Any, depths: Any, unit: int) -> None:
    """Refuse stages that have no width or no depth, or a width that is no multiple of `unit`."""
    whole = all(
        isinstance(sizes, tuple) and sizes and all(map(is_count, sizes)) for sizes in (widths, depths)
    )
    if not whole or len(widths) != len(depths):
        raise ValueError(
            f"widths and depths must be positive integers, one of each for a stage, got {widths} and {depths}"
        )
    if odd := [width for width in widths if width % unit]:
        raise ValueError(
            f"widths must be multiples of 4 * num_groups = {unit}, got {odd[0]}; try {-(-odd[0] // unit) * unit}"
        )


def check_quarters(name: str, embed_dim: int) -> None:
    """Refuse an `embed_dim` that the positions called `name` cannot split in four."""
    if embed_dim % 4:
        raise ValueError(f"{name} splits embed_dim in four; {embed_dim} is not a multiple of 4")


def check_halvings(patch_size: Any) -> None:
    """Refuse a `patch_size` that a stem of layers with stride 2 cannot reach."""
    if not is_count(patch_size) or patch_size < 2 or patch_size & (patch_size - 1):
        raise ValueError(
            f"a stem halves the image per layer and needs patch_size 2, 4, 8, ...; got {patch_size}"
        )


def as_pair(name: str, size: Any) -> tuple[int, int]:
    """(height, width) of a `size` that is one number or both; refuses, under this `name`, what is no size."""
    pair = list(size) if isinstance(size, tuple | list) else [size, size]
    if len(pair) != 2 or not all(map(is_count, pair)):
        raise ValueError(f"{name} must be a positive integer or (height, width), got {size!r}; try 224")
    return pair[0], pair[1]


def check_grid(name: str, grid: object) -> None:
    """Refuse a `grid` of this `name` that is not (rows, columns)."""
    if not isinstance(grid, tuple | list) or len(grid) != 2 or not all(map(is_count, grid)):
        raise ValueError(f"{name} must be (rows, columns), got {grid!r}; at least one of each")


def check_images(images: object, shape: str = "B C H W", fix: str = "resize the images") -> None:
    """Refuse what is no tensor of images.

    Args:
        images: What was given.
        shape: A name or a number for each axis, as in "B 3 32 32"; "... C H W" allows any axes before.
        fix: What to do about another height or width.

    Raises:
        ValueError: If it is no tensor, or not of that shape.
    """
    expected = f"expected images of shape ({', '.join(shape.split())})"
    if not isinstance(images, Tensor):
        raise ValueError(
            f"{expected}, got {type(images).__name__}; turn a NumPy image (H, W, C) into a tensor with "
            "torch.from_numpy(image).permute(2, 0, 1)"
        )
    loose, got, n = shape.startswith("... "), tuple(images.shape), images.ndim
    axes = ["B"] * (n - 3) + shape.split()[1:] if loose else shape.split()

    def fits(sizes: Sequence[int], axes: Sequence[str]) -> bool:
        return all(not axis.isdigit() or int(axis) == size for axis, size in zip(axes, sizes, strict=True))

    if n != len(axes):
        fix = "add the batch axis with images[None]" if n < len(axes) else f"give {len(axes)} axes"
    else:
        last_is_colour = loose and got[-1] in (1, 3, 4) and got[-3] not in (1, 3, 4)
        if fits(got, axes) and not last_is_colour:
            return
        order = (*range(n - 3), n - 1, n - 3, n - 2)
        if fits([got[i] for i in order], axes):
            fix = f"move the channels first with images.permute{order}"
        elif fits(got[-2:], axes[-2:]):
            fix = f"the model takes {axes[-3]} channels"
    raise ValueError(f"{expected}, got {got}; {fix}")


def check_batch(images: Tensor, shape: str = "B C H W") -> None:
    """Refuse `images` that are not of this `shape`, uint8 or float."""
    check_images(images, shape)
    check_dtype(images, "uint8 or float", "convert integers in [0, 255] with images.to(torch.uint8)")


def check_labels(labels: Tensor, num_classes: int) -> None:
    """Refuse labels that name no class; on a GPU nobody looks, because that would make it wait."""
    if labels.device.type == "cpu" and len(labels) and not 0 <= labels.min() <= labels.max() < num_classes:
        raise ValueError(
            f"expected labels in [0, {num_classes}), got {labels.min()} to {labels.max()}; count the classes from 0"
        )


def check_unit(images: Tensor) -> None:
    """Refuse float images outside [0, 1]; on a GPU nobody looks, because that would make it wait."""
    if images.device.type == "cpu" and images.numel() and images.is_floating_point():
        low, high = (value.item() for value in images.aminmax())
        if not (low >= -0.01 and high <= 1.01):  # written so that NaN fails as well
            span = f"{low:.3g} to {high:.3g}; divide 0-255 by 255, and do not normalise twice"
            raise ValueError(f"expected float images in [0, 1], got values from {span}")


def check_normalised(images: Tensor, weights: Tensor) -> None:
    """Refuse images that are no floats, or of another precision than a model's `weights`."""
    check_dtype(images, "normalised float", "use vl.normalize(images)")
    if images.dtype != weights.dtype and not torch.is_autocast_enabled(images.device.type):
        kind = str(weights.dtype).removeprefix("torch.")
        raise ValueError(
            f"expected images of the weights' dtype {kind}, got {images.dtype}; images.to(torch.{kind})"
        )


def check_dtype(images: Tensor, kinds: str, fix: str) -> None:
    """Refuse a dtype that is not among these `kinds` ("uint8 or float"), with a `fix`."""
    kind = "float" if images.is_floating_point() else str(images.dtype).removeprefix("torch.")
    if kind not in kinds.split():
        raise ValueError(f"expected {kinds} images, got {images.dtype}; {fix}")


def check_name(what: str, name: object, fix: str) -> None:
    """Refuse a `name` that is no file name, or leads to another folder; `what` names it."""
    if not isinstance(name, str) or not name.strip(". ") or {*name} & {*"/\\\0"} or len(name.encode()) > 200:
        raise ValueError(f"{what} must be a file name without folders, got {name!r}; {fix}")


def check_finite(state: Mapping[str, Tensor], dtype: torch.dtype, fix: str) -> None:
    """Refuse weights that are no floats, or no numbers once they are of this `dtype`."""
    for name, value in state.items():
        if value.is_meta or not value.is_floating_point() or not value.to(dtype).isfinite().all():
            limit = f"{str(dtype).removeprefix('torch.')}'s {torch.finfo(dtype).max:g}"
            raise ValueError(f"{name} holds numbers beyond {limit}, or NaN, or no floats; {fix}")


def as_labels(labels: Any, count: int, num_classes: int | None = None) -> Tensor:
    """int64 `labels` (count,) of whole numbers, each one of `num_classes` if these are known; refuses others."""
    found: Any = torch.as_tensor(labels) if isinstance(labels, list | tuple | np.ndarray) else labels
    whole = isinstance(found, Tensor) and not (found.is_floating_point() or found.is_complex())
    whole = whole and found.dtype != torch.bool
    if not whole or found.shape != (count,):
        got = f"{found.dtype} {tuple(found.shape)}" if isinstance(found, Tensor) else repr(found)
        raise ValueError(f"expected as many labels as images, {count} whole numbers, got {got}")
    low, high = found.long().aminmax() if count else (0, 0)
    if num_classes and not 0 <= low <= high < num_classes:
        raise ValueError(f"expected labels in [0, {num_classes}), got {low} to {high}; name every class")
    return found.long()
