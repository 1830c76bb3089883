"""What tensors must be: images, labels, tokens and weights, refused in a sentence where they are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def check_images(
    images: object, shape: str = "B C H W", fix: str = "resize the images"
) -> None:
    """Refuse what is no tensor of images of this `shape`, as in "B 3 32 32"; "... C H W" allows any axes before."""
    wanted = f"({', '.join(shape.split())})"
    if not isinstance(images, Tensor):
        fix = "turn a NumPy image (H, W, C) into a tensor with torch.from_numpy(image).permute(2, 0, 1)"
        raise ValueError(
            f"expected images of shape {wanted}, got {type(images).__name__}; {fix}"
        )
    axes, got, n = shape.split(), tuple(images.shape), images.ndim
    if loose := axes[0] == "...":
        axes = ["B"] * (n - 3) + axes[1:]

    if n != len(axes):
        fix = (
            "add the batch axis with images[None]"
            if n < len(axes)
            else f"give {len(axes)} axes"
        )
    elif 0 in got[-3:]:
        fix = "these have no pixels"
    else:
        last_is_colour = loose and got[-1] in (1, 3, 4) and got[-3] not in (1, 3, 4)
        if _fits(got, axes) and not last_is_colour:
            return
        order = (*range(n - 3), n - 1, n - 3, n - 2)
        if _fits([got[i] for i in order], axes):
            fix = f"move the channels first with images.permute{order}"
        elif _fits(got[-2:], axes[-2:]):
            fix = f"the model takes {axes[-3]} channels"
    raise ValueError(f"expected images of shape {wanted}, got {got}; {fix}")


def _fits(sizes: Sequence[int], axes: Sequence[str]) -> bool:
    """Whether sizes are those of axes such as "B 3 32 32", where a letter allows any size."""
    return all(
        not axis.isdigit() or int(axis) == size
        for axis, size in zip(axes, sizes, strict=True)
    )


def check_pixels(images: Tensor) -> None:
    """Refuse `images` that are neither uint8 nor float, or hold no numbers."""
    check_dense("images", images)
    check_dtype(
        images,
        "uint8 or float",
        "convert integers in [0, 255] with images.to(torch.uint8)",
    )


def check_dense(name: str, values: Tensor) -> None:
    """Refuse, under this `name`, a tensor that is sparse, or on "meta", where shapes have no numbers."""
    if values.layout != torch.strided or values.is_meta:
        fix = f"write {name}.to_dense(), or load them"
        raise ValueError(
            f"expected dense {name}, got {values.layout} on {values.device}; {fix}"
        )


def check_labels(
    labels: Tensor,
    num_classes: int,
    name: str = "labels",
    fix: str = "count the classes from 0",
) -> None:
    """Refuse labels that name no class; on a GPU nobody looks, because that would make it wait."""
    if labels.device.type == "cpu" and labels.numel():
        low, high = labels.aminmax()
        if not 0 <= low <= high < num_classes:
            raise ValueError(
                f"expected {name} in [0, {num_classes}), got {low} to {high}; {fix}"
            )


def check_unit(images: Tensor) -> None:
    """Refuse float images outside [0, 1]; on a GPU nobody looks, because that would make it wait."""
    if images.device.type == "cpu" and images.numel() and images.is_floating_point():
        low, high = (value.item() for value in images.aminmax())
        if not (low >= -0.01 and high <= 1.01):  # written so that NaN fails as well
            fix = "divide 0-255 by 255, and do not normalise twice (vl.denormalize takes it back)"
            got = f"values from {low:.3g} to {high:.3g}"
            raise ValueError(f"expected float images in [0, 1], got {got}; {fix}")


def check_normalised(images: Tensor, weights: Tensor) -> None:
    """Refuse images that are no floats, or that a model of these `weights` cannot take."""
    check_dtype(images, "normalised float", "use vl.normalize(images)")
    check_like("images", images, weights)


def check_like(name: str, values: object, weights: Tensor) -> None:
    """Refuse, under this `name`, what is no tensor as the `weights` are: dense, on their device, of their dtype."""
    if not isinstance(values, Tensor):
        fix = "write torch.as_tensor(...)"
        raise ValueError(
            f"expected {name} as a tensor, got {type(values).__name__}; {fix}"
        )
    if values.device != weights.device or values.layout != weights.layout:
        got, fix = (
            f"{values.layout} on {values.device}",
            f"{name}.to_dense().to({str(weights.device)!r})",
        )
        raise ValueError(
            f"expected dense {name} on the weights' device {weights.device}, got {got}; {fix}"
        )
    if values.dtype != weights.dtype:
        if not (
            values.is_floating_point() and torch.is_autocast_enabled(values.device.type)
        ):
            kind, fix = (
                str(weights.dtype).removeprefix("torch."),
                f"{name}.to({weights.dtype})",
            )
            raise ValueError(
                f"expected {name} of the weights' dtype {kind}, got {values.dtype}; {fix}"
            )


def check_numbers(name: str, value: object) -> None:
    """Refuse, under this `name`, a tensor of floats with NaN or infinity in it."""
    if (
        isinstance(value, Tensor)
        and value.layout == torch.strided
        and not value.is_meta
    ):
        if not value.isfinite().all():
            raise ValueError(
                f"expected {name} of numbers, got NaN or infinity; look at what made them"
            )


def check_dtype(images: Tensor, kinds: str, fix: str) -> None:
    """Refuse a dtype that is not among these `kinds` ("uint8 or float"), with a `fix`."""
    kind = (
        "float"
        if images.is_floating_point()
        else str(images.dtype).removeprefix("torch.")
    )
    if kind not in kinds.split():
        raise ValueError(f"expected {kinds} images, got {images.dtype}; {fix}")


def check_finite(state: Mapping[str, Tensor], dtype: torch.dtype, fix: str) -> None:
    """Refuse weights that are no floats, or no numbers once they are of this `dtype`."""
    for name, value in state.items():
        if (
            value.is_meta
            or not value.is_floating_point()
            or not value.to(dtype).isfinite().all()
        ):
            limit = f"{str(dtype).removeprefix('torch.')}'s {torch.finfo(dtype).max:g}"
            raise ValueError(
                f"{name} holds numbers beyond {limit}, or NaN, or no floats; {fix}"
            )
        if value.ndim > 1 and value.any() and not value.to(dtype).any():
            raise ValueError(
                f"{name}, at most {value.abs().max():.1g}, would be 0 in {dtype}; scale it up"
            )


def as_labels(labels: Any, count: int, num_classes: int | None = None) -> Tensor:
    """int64 `labels` (count,) of whole numbers, each one of `num_classes` if these are known; refuses others."""
    found: Any = (
        torch.as_tensor(labels)
        if isinstance(labels, list | tuple | np.ndarray)
        else labels
    )
    whole = isinstance(found, Tensor) and not (
        found.is_floating_point() or found.is_complex()
    )
    whole = whole and found.dtype != torch.bool
    if not whole or found.shape != (count,):
        got = (
            f"{found.dtype} {tuple(found.shape)}"
            if isinstance(found, Tensor)
            else repr(found)
        )
        raise ValueError(
            f"expected as many labels as images, {count} whole numbers, got {got}"
        )
    check_dense("labels", found)
    if num_classes:
        check_labels(found.long().cpu(), num_classes, fix="name every class")
    return found.long()
