"""Trained models read at other image sizes (Section 3.2), their positions carried over well and badly.

Nothing is trained. The test images are read again here, at sizes nobody trained for; nothing is chosen by it.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float, Int64, UInt8
from torch import Tensor, nn
from torch.nn import functional as F

import vitlib
from vitlib.data.cifar10 import find_cifar10
from vitlib.data.dataset import Dataset, load_dataset
from vitlib.device import describe_hardware, pick_device
from vitlib.model.posembed import resample_pos_embed
from vitlib.model.vit import VisionTransformer
from vitlib.train.evaluate import evaluate
from vitlib.weights.pretrained import load_pretrained

__all__ = [
    "METHODS",
    "MODELS",
    "QUESTION",
    "SIZES",
    "read_at",
    "resize_images",
    "run",
    "sample_patches",
    "with_table",
]

QUESTION = "What does a trained model keep at another image size, and how must its positions be carried over?"
MODELS = {
    "drawn10": ("drawn10-token", "drawn10-token-s1", "drawn10-token-s2"),
    "cifar10": ("cifar10-plain", "cifar10-modern"),
}
SIZES = (
    (24, 24),
    (40, 40),
    (48, 48),
    (24, 40),
    (40, 32),
    (48, 32),
)  # (rows, columns) in pixels, by every method
MORE_SIZES = ((28, 28), (36, 36), (64, 64))  # for the curve: the first method alone
_QUICK = 2000  # test images

Grid = tuple[int, int]


def _interpolated(**options) -> Callable[[Tensor, Grid, Grid], Tensor]:
    """A method that keeps CLS, lays the patch positions out in 2-D and interpolates them as `options` say."""

    def method(table: Tensor, new: Grid, old: Grid) -> Tensor:
        patches = table[:, 1:].unflatten(1, old).permute(0, 3, 1, 2)  # (1, N, D) -> (1, D, rows, columns)
        patches = F.interpolate(patches, size=new, **options)
        return torch.cat(
            [table[:, :1], patches.flatten(2).mT], dim=1
        )  # (1, D, rows', columns') -> (1, N', D)

    return method


def _bicubic(table: Tensor, new: Grid, old: Grid) -> Tensor:
    return resample_pos_embed(table, new, old)


def _one_line(table: Tensor, new: Grid, old: Grid) -> Tensor:
    """The mistake of interpolating the sequence as if it were one line."""
    return resample_pos_embed(table, (1, math.prod(new)), (1, math.prod(old)))


def _swapped(table: Tensor, new: Grid, old: Grid) -> Tensor:
    """The mistake of giving (columns, rows) for (rows, columns): the shape is right all the same."""
    return resample_pos_embed(table, new[::-1], old)


def _first(table: Tensor, new: Grid, old: Grid) -> Tensor:
    """No resampling: the first N' positions, from the beginning again where there are too few."""
    again = torch.arange(math.prod(new), device=table.device) % math.prod(old)
    return torch.cat([table[:, :1], table[:, 1:][:, again]], dim=1)


def _mean(table: Tensor, new: Grid, old: Grid) -> Tensor:
    """No positions left: every place gets the mean of all, so that the size of the sum stays about right."""
    return torch.cat(
        [table[:, :1], table[:, 1:].mean(dim=1, keepdim=True).expand(-1, math.prod(new), -1)], dim=1
    )


# each takes a table (1, 1+N, D), the new grid and the old one, (rows, columns) both, and returns (1, 1+N', D)
METHODS = {
    "bicubic": _bicubic,
    "bilinear": _interpolated(mode="bilinear", antialias=True),
    "ends aligned": _interpolated(mode="bilinear", align_corners=True),  # as in the paper's code
    "nearest": _interpolated(mode="nearest-exact"),
    "one line": _one_line,
    "swapped": _swapped,
    "first N": _first,
    "mean": _mean,
}


def resize_images(images: UInt8[Tensor, "n C H W"], size: Grid) -> UInt8[Tensor, "n C H2 W2"]:
    """The same pictures at another size: bicubic, antialiased, uint8 (n, C, H, W) -> (n, C, *size).

    A larger picture made like this shows no detail that the smaller one did not have.
    """
    if tuple(images.shape[-2:]) == tuple(size):
        return images
    big = F.interpolate(images.float(), size=tuple(size), mode="bicubic", antialias=True)
    return big.round().clamp(0, 255).to(torch.uint8)


def sample_patches(
    images: UInt8[Tensor, "n C H W"], grid: Grid, patch_size: int
) -> UInt8[Tensor, "n C H2 W2"]:
    """Cut grid[0] x grid[1] patches at evenly spaced places and join them: (n, C, H, W) -> (n, C, rows P, columns P).

    With more places than patches fit side by side they overlap, with fewer there are gaps: the number of tokens
    changes, and what a patch shows does not.

    Raises:
        ValueError: If a patch is larger than the images.
    """
    if patch_size > min(images.shape[-2:]):
        raise ValueError(f"patch_size {patch_size} is larger than the images, {tuple(images.shape[-2:])}")
    for axis, count in ((-2, grid[0]), (-1, grid[1])):
        side = images.shape[axis]
        start = ((torch.arange(count) + 0.5) * side / count - patch_size / 2).round().long()  # (count,)
        start = start.clamp(0, side - patch_size)
        places = (start[:, None] + torch.arange(patch_size)).flatten()  # (count, P) -> (count P,)
        images = images.index_select(axis, places.to(images.device))
    return images


def with_table(model: VisionTransformer, size: Grid, table: Float[Tensor, "1 T D"]) -> VisionTransformer:
    """A copy of the model for images of `size` that adds `table` to its tokens.

    Raises:
        ValueError: If the model has no learned table, or `table` does not fit the new grid.
    """
    if model.cfg.pos_embed != "learned":
        raise ValueError(f'expected a model with pos_embed="learned", got "{model.cfg.pos_embed}"')
    model = model.with_img_size(tuple(size))
    expected = tuple(model.pos_embed.table().shape)
    if tuple(table.shape) != expected:
        raise ValueError(
            f"expected a table of shape {expected} for images of {size[0]} x {size[1]}, "
            f"got {tuple(table.shape)}"
        )
    model.pos_embed.weight = nn.Parameter(table.detach().clone())
    return model


def read_at(
    model: VisionTransformer,
    images: UInt8[Tensor, "n C H W"],
    labels: Int64[Tensor, " n"],
    method: str | Callable = "bicubic",
    device: str | torch.device | None = None,
) -> Bool[Tensor, " n"]:
    """Which images a model names rightly at the size they have, its positions carried over by a method.

    Args:
        model: Trained at any size, with learned positions.
        images: (n, C, H, W) at the new size, uint8 or float in [0, 1].
        labels: (n,).
        method: One of `METHODS`, or a function of (table, new_grid, old_grid).
        device: Where to compute; None is where the model is.

    Returns:
        (n,) on the CPU.

    Raises:
        ValueError: If the method is unknown or the sizes do not fit.
    """
    if not callable(method) and method not in METHODS:
        raise ValueError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}")
    method = method if callable(method) else METHODS[method]
    size = tuple(images.shape[-2:])
    grid = model.with_img_size(size).cfg.grid
    table = model.pos_embed.table().detach()
    if grid != model.cfg.grid:
        table = method(table, grid, model.cfg.grid)
    copy = with_table(model, size, table)
    return evaluate(copy, images, labels, device=device, batch_size=250)["predictions"] == labels.cpu()


def run(
    scale: str = "quick",
    device: str = "auto",
    progress: bool = True,
    *,
    models: Sequence[str] | None = None,
    data: Sequence[Dataset] | None = None,
    command: str = "",
) -> dict:
    """Read the book's models at every size by every method.

    Args:
        scale: "quick" reads the first 2,000 test images, which are all of Drawn-10's; "full" reads all.
        device: "auto", "cpu", "cuda" or "mps".
        progress: Whether to print a line for each model and size.
        models: Names for `load_pretrained`; None takes `MODELS`, those for CIFAR-10 only where it is found.
        data: The test images; None loads what the models need.
        command: The command line, for the results.

    Returns:
        "runs", each with "variant", "method", "size", "model", "dataset", "seed" and "final": "accuracy", its
        binomial standard error "se", "n", and "change" with "change_se", the difference from bicubic on the same
        images. "summary" has mean, sd (over seeds) and n for each group of models and variant.

    Raises:
        ValueError: If the scale is unknown, or there are no images for a model.
    """
    if scale not in ("quick", "full"):
        raise ValueError(f"scale must be quick or full, got {scale!r}")
    where, began, runs = pick_device(device), time.monotonic(), []
    if models is None:
        models = [
            name
            for kind, names in MODELS.items()
            for name in names
            if kind != "cifar10" or find_cifar10() is not None
        ]
    sets = {one.name: one for one in data or ()}
    for name in models:
        model, card = load_pretrained(name)
        kind = card["recipe"]["data"]
        if data is None and kind not in sets:
            sets[kind] = load_dataset(kind, "test")
        if kind not in sets:
            raise ValueError(f"{name} was trained on {kind}, but data holds {', '.join(sets)}")
        runs += _read(model.to(where), name, card["seed"], sets[kind], scale, progress)
    groups: dict[str, list[float]] = {}
    for one in runs:
        groups.setdefault(f"{one['group']}: {one['variant']}", []).append(one["final"]["accuracy"])
    return {
        "name": "resolution",
        "question": QUESTION,
        "source": "Section 3.2",
        "scale": scale,
        "command": command,
        "note": "The test set is read again here, for another question; nothing was chosen by it.",
        "vitlib_version": vitlib.__version__,
        "torch_version": str(torch.__version__),
        "dataset": ", ".join(sorted({one["dataset"] for one in runs})),
        "hardware": [describe_hardware(where)],
        "precision": ["fp32"],
        "seconds": round(time.monotonic() - began, 1),
        "n_train": 0,
        "n_val": 0,
        "n_test": {one["dataset"]: one["final"]["n"] for one in runs},
        "finished": True,
        "runs": runs,
        "summary": {
            name: {
                "mean": statistics.fmean(scores),
                "n": len(scores),
                "sd": statistics.stdev(scores) if len(scores) > 1 else None,
            }
            for name, scores in groups.items()
        },
    }


def _read(
    model: VisionTransformer, name: str, seed: int, data: Dataset, scale: str, progress: bool
) -> list[dict]:
    """Every run of one model."""
    images, labels = (
        (data.images, data.labels) if scale == "full" else (data.images[:_QUICK], data.labels[:_QUICK])
    )
    cfg, runs = model.cfg, []
    shared = {"model": name, "group": name.removesuffix(f"-s{seed}"), "dataset": data.label, "seed": seed}

    def add(variant: str, size: Grid, right: Tensor, bicubic: Tensor) -> None:
        n, change = len(right), right.double() - bicubic.double()
        p = right.double().mean().item()
        final = {
            "accuracy": p,
            "se": math.sqrt(p * (1 - p) / n),
            "n": n,
            "change": change.mean().item(),
            "change_se": (change.var(correction=0) / n).sqrt().item(),
        }
        runs.append(
            {
                "variant": f"{variant} {size[0]}x{size[1]}",
                "method": variant,
                "size": list(size),
                **shared,
                "final": {key: round(value, 6) for key, value in final.items()},
            }
        )

    here = read_at(model, images, labels)
    add("as trained", cfg.image_shape, here, here)
    for size in (*SIZES, *MORE_SIZES):
        began, resized = time.monotonic(), resize_images(images, size)
        bicubic = read_at(model, resized, labels)
        add("bicubic", size, bicubic, bicubic)
        for method in METHODS if size in SIZES else ():
            if method != "bicubic":
                square = method == "swapped" and size[0] == size[1]  # then there is nothing to swap
                add(method, size, bicubic if square else read_at(model, resized, labels, method), bicubic)
        if size[0] == size[1]:  # what changed apart: what a patch shows, and how many patches there are
            grid = size[0] // cfg.patch_size, size[1] // cfg.patch_size
            add(
                "content alone",
                size,
                read_at(model, sample_patches(resized, cfg.grid, cfg.patch_size), labels),
                bicubic,
            )
            add(
                "places alone",
                size,
                read_at(model, sample_patches(images, grid, cfg.patch_size), labels),
                bicubic,
            )
        if progress:
            print(
                f"{name} at {size[0]} x {size[1]}: {bicubic.double().mean():.1%} with bicubic positions, "
                f"{time.monotonic() - began:.0f} s",
                flush=True,
            )
    return runs
