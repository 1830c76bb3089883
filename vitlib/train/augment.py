"""Augmentation of whole batches on their device, with parameters drawn per image (DeiT, arXiv 2012.12877).

Every parameter comes from a CPU `torch.Generator`: the same seed gives the same augmentation on every device, and
picking the images that drew an operation never makes a GPU wait. Images are (B, C, H, W), uint8 or float in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer, Shaped
from torch import Generator, Tensor

from vitlib.checks import (
    Classes,
    Count,
    Magnitude,
    Natural,
    Positive,
    Rate,
    check_between,
    checked,
)
from vitlib.data.dataset import to_float
from vitlib.tensors import check_labels, check_pixels

__all__ = [
    "augment_batch",
    "augment_images",
    "cutmix",
    "mixup",
    "rand_augment",
    "random_crop",
    "random_flip",
    "soft_targets",
]

Images = Shaped[Tensor, "B C H W"]
Floats = Float[Tensor, "B C H W"]
Targets = Float[Tensor, "B K"]


@checked
def augment_batch(
    images: Images,
    labels: Integer[Tensor, " B"],
    recipe,
    num_classes: Classes,
    generator: Generator,
    mix: bool = True,
) -> tuple[Floats, Targets]:
    """Apply a recipe's augmentation to a batch of raw images: crop, flip, RandAugment, then Mixup or CutMix.

    Args:
        images: (B, 3, H, W).
        labels: (B,) integers in [0, num_classes).
        recipe: Anything with `crop` (pixels), `flip`, `randaugment` (operations per image), `magnitude`,
            `mixup` and `cutmix` (alphas; 0 is off) and `label_smoothing`.
        num_classes: K.
        generator: A CPU generator.
        mix: False leaves Mixup and CutMix out, as recipes do towards their end.

    Returns:
        Float images (B, 3, H, W) in [0, 1], not yet normalised, and soft targets (B, K) whose rows sum to 1.

    Source: each part names its own; the order is timm's; chapter 09.
    """
    images = augment_images(images, recipe, generator)
    targets = soft_targets(labels, num_classes, recipe.label_smoothing)
    methods = [(f, a) for f, a in ((mixup, recipe.mixup), (cutmix, recipe.cutmix)) if a]
    if mix and methods:  # one of them per batch, its parameters per image
        method, alpha = methods[
            int(torch.randint(len(methods), (1,), generator=generator))
        ]
        images, targets = method(images, targets, alpha, generator)
    return images, targets


def augment_images(images: Images, recipe, generator: Generator) -> Floats:
    """The part of `augment_batch` that needs no labels: crop, flip, RandAugment.

    Source: each part names its own; the order is timm's.
    """
    if recipe.crop:
        images = random_crop(images, recipe.crop, generator)
    if recipe.flip:
        images = random_flip(images, generator)
    images = to_float(images)
    if recipe.randaugment:
        images = rand_augment(images, generator, recipe.randaugment, recipe.magnitude)
    return images


@checked
def soft_targets(
    labels: Integer[Tensor, " B"], num_classes: Classes, smoothing: Rate = 0.0
) -> Targets:
    """Label smoothing: 1 - smoothing on the label, and `smoothing` spread evenly over all classes.

    Source: Szegedy et al. (2016, arXiv 1512.00567), Section 7.
    """
    check_labels(labels, num_classes)
    return (
        F.one_hot(labels.long(), num_classes).float() * (1 - smoothing)
        + smoothing / num_classes
    )


@checked
def random_crop(images: Images, padding: Natural, generator: Generator) -> Images:
    """Shift each raw image by up to `padding` pixels both ways; what comes in at the border is its mirror image.

    Args:
        images: (B, C, H, W); their dtype stays.
        padding: Largest shift, below min(H, W).
        generator: A CPU generator.

    Raises:
        ValueError: If the padding does not fit the image.

    Source: He et al. (2016, arXiv 1512.03385), Section 4.2, there with black borders; chapter 09.
    """
    check_pixels(images)
    B, C, H, W = images.shape
    if not 0 <= padding < min(H, W):
        raise ValueError(
            f"padding must be in [0, {min(H, W)}), got {padding}; 4 is usual for 32 pixels"
        )
    dy, dx = torch.randint(-padding, padding + 1, (2, B, 1), generator=generator)
    # (B, H), (B, W)
    rows, cols = (
        _mirror(torch.arange(H) + dy, H),
        _mirror(torch.arange(W) + dx, W),
    )
    # (B, 1, H*W)
    flat = (
        (rows.unsqueeze(2) * W + cols.unsqueeze(1)).view(B, 1, H * W).to(images.device)
    )
    return (
        images.reshape(B, C, H * W).gather(2, flat.expand(B, C, H * W)).view(B, C, H, W)
    )


def _mirror(index: Tensor, size: int) -> Tensor:
    """... 2 1 | 0 1 2 ... size-1 | size-2 ..."""
    return size - 1 - (size - 1 - index.abs()).abs()


@checked
def random_flip(images: Images, generator: Generator) -> Images:
    """Mirror each of the raw `images` left to right or not, as a coin of a CPU `generator` falls.

    Raises:
        ValueError: If the images are no bytes and no floats in [0, 1].

    Source: He et al. (2016, arXiv 1512.03385), Section 4.2; chapter 09.
    """
    check_pixels(images)
    flip = (torch.rand(len(images), generator=generator) < 0.5).to(images.device)
    return torch.where(flip.view(-1, 1, 1, 1), images.flip(-1), images)


@checked
def mixup(
    images: Images, targets: Targets, alpha: Positive, generator: Generator
) -> tuple[Floats, Targets]:
    """Blend raw images x with partners x', lam * x + (1 - lam) * x', and targets alike; lam ~ Beta(alpha, alpha).

    Args:
        images: (B, C, H, W).
        targets: (B, K), as from `soft_targets`.
        alpha: Small values hardly mix; 0.8 is usual.
        generator: A CPU generator.

    Returns:
        Float images and targets of the same shapes.

    Source: Zhang et al. (2018), with lam drawn per image; chapter 10.
    """
    images = to_float(images)
    lam = _beta(alpha, len(images), generator).to(images.device)
    other = torch.randperm(len(images), generator=generator).to(images.device)
    mixed = torch.lerp(images[other], images, lam.view(-1, 1, 1, 1))
    return mixed, torch.lerp(targets[other], targets, lam.view(-1, 1).to(targets))


@checked
def cutmix(
    images: Images, targets: Targets, alpha: Positive, generator: Generator
) -> tuple[Floats, Targets]:
    """Paste a box of another raw image into each, and mix the targets by the box's true share of the pixels.

    Args:
        images: (B, C, H, W).
        targets: (B, K), as from `soft_targets`.
        alpha: The share kept is drawn from Beta(alpha, alpha).
        generator: A CPU generator.

    Returns:
        Float images and targets of the same shapes.

    Source: Yun et al. (2019), with boxes drawn per image; chapter 10.
    """
    images = to_float(images)
    B, _, H, W = images.shape
    side = (1 - _beta(alpha, B, generator)).sqrt()
    box = _boxes(side * H, side * W, H, W, generator)  # (B, H, W)
    lam = 1 - box.float().mean((1, 2))
    other = torch.randperm(B, generator=generator).to(images.device)
    box, lam = box.unsqueeze(1).to(images.device), lam.unsqueeze(1).to(images.device)
    return torch.where(box, images[other], images), torch.lerp(
        targets[other], targets, lam.to(targets)
    )


def _beta(alpha: float, n: int, generator: Generator) -> Tensor:
    """n draws from Beta(alpha, alpha): a / (a + b) of two gamma draws."""
    a, b = torch._standard_gamma(
        torch.full((2, n), float(alpha), dtype=torch.float64), generator=generator
    )
    return (a / (a + b)).float()


def _boxes(
    height: Tensor, width: Tensor, H: int, W: int, generator: Generator
) -> Tensor:
    """Boxes of the given sizes (B,) around uniform centres, clipped to the image: a mask (B, H, W)."""
    # (B,), (B,)
    cy, cx = torch.rand(2, len(height), generator=generator) * torch.tensor([[H], [W]])
    rows = (torch.arange(H) + 0.5 - cy.unsqueeze(1)).abs() < height.unsqueeze(
        1
    ) / 2  # (B, H)
    cols = (torch.arange(W) + 0.5 - cx.unsqueeze(1)).abs() < width.unsqueeze(
        1
    ) / 2  # (B, W)
    return rows.unsqueeze(2) & cols.unsqueeze(1)


# --- RandAugment ------------------------------------------------------------------------------------------------


@checked
def rand_augment(
    images: Images, generator: Generator, num_ops: Count = 2, magnitude: Magnitude = 9.0
) -> Floats:
    """Give each raw image `num_ops` operations of its own, drawn evenly from fourteen, at about one strength.

    Shears, shifts and rotations are composed into one matrix per image and sampled once; what comes in is grey.

    Args:
        images: (B, C, H, W); C is 1 or 3.
        generator: A CPU generator.
        num_ops: Operations per image.
        magnitude: 0 to 10 (the strongest; "autocontrast" and "equalize" have but one); a normal noise of 0.5 is
            added per image.

    Returns:
        (B, C, H, W) float in [0, 1].

    Raises:
        ValueError: If the images have other than 1 or 3 channels.

    Source: Cubuk et al. (2020), with the ranges of timm's `rand-m9-mstd0.5`; chapter 10.
    """
    check_between("C, the channels of the images,", images.shape[1], 1, 3)
    images = to_float(images).clone()
    B, C, H, W = images.shape
    device = images.device
    names = [*GEOMETRIC, *PHOTOMETRIC, "identity"]
    matrix = torch.eye(3).repeat(B, 1, 1)  # (B, 3, 3)
    for _ in range(num_ops):
        choice = torch.randint(len(names), (B,), generator=generator)
        strength = (
            (magnitude + 0.5 * torch.randn(B, generator=generator)) / 10
        ).clamp_(0, 1)
        strength *= torch.randint(0, 2, (B,), generator=generator) * 2 - 1
        for k, name in enumerate(names[:-1]):
            index = (choice == k).nonzero().squeeze(1)
            if not len(index):
                continue
            if name in GEOMETRIC:
                matrix[index] = matrix[index] @ GEOMETRIC[name](strength[index], H / W)
            else:
                s, index = (
                    strength[index].view(-1, 1, 1, 1).to(device),
                    index.to(device),
                )
                images[index] = PHOTOMETRIC[name](images[index], s).clamp_(0, 1)
    moved = (matrix != torch.eye(3)).flatten(1).any(1).nonzero().squeeze(1)
    if len(moved):
        theta, moved = matrix[moved, :2].to(device), moved.to(device)
        # (n, H, W, 2)
        grid = F.affine_grid(theta, [len(moved), C, H, W], align_corners=False)
        images[moved] = (
            F.grid_sample(images[moved] - 0.5, grid, align_corners=False) + 0.5
        )
    return images.clamp_(0, 1)


# Each operation takes (n, C, H, W) floats in [0, 1] and a strength (n, 1, 1, 1) in [-1, 1], whose sign is random; the
# geometric ones a strength (n,) and H / W, and they return the matrix that maps output to input coordinates.


def _matrix(n: int, **entries: Tensor) -> Tensor:
    matrix = torch.eye(3).repeat(n, 1, 1)
    for place, value in entries.items():  # "m01" is row 0, column 1
        matrix[:, int(place[1]), int(place[2])] = value
    return matrix


def _rotate(s: Tensor, aspect: float) -> Tensor:
    angle = s * math.pi / 6  # 30 degrees
    cos, sin = angle.cos(), angle.sin()  # on oblong images pixels stay square
    return _matrix(len(s), m00=cos, m01=-sin * aspect, m10=sin / aspect, m11=cos)


def _grey(x: Tensor) -> Tensor:
    if x.shape[1] == 1:
        return x
    return (x * x.new_tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1)).sum(
        1, keepdim=True
    )


def _blend(base: Tensor, x: Tensor, s: Tensor) -> Tensor:
    return base + (x - base) * (1 + 0.9 * s)  # a factor between 0.1 and 1.9


def _sharpness(x: Tensor, s: Tensor) -> Tensor:
    kernel = (
        x.new_tensor([[1, 1, 1], [1, 5, 1], [1, 1, 1]])
        .div_(13)
        .expand(x.shape[1], 1, 3, 3)
    )
    smooth = x.clone()  # the outermost pixels stay
    smooth[..., 1:-1, 1:-1] = F.conv2d(x, kernel, groups=x.shape[1])
    return _blend(smooth, x, s)


def _posterize(x: Tensor, s: Tensor) -> Tensor:
    step = 2 ** (4 * s.abs()).round()  # drop up to 4 of the 8 bits
    return ((x * 255).round() / step).floor() * step / 255


def _autocontrast(x: Tensor, s: Tensor) -> Tensor:
    low, high = x.amin((2, 3), keepdim=True), x.amax((2, 3), keepdim=True)
    return torch.where(high > low, (x - low) / (high - low).clamp_min(1e-6), x)


def _equalize(x: Tensor, s: Tensor) -> Tensor:
    levels = (x * 255).round().long().flatten(2)  # (n, C, H*W)
    counts = torch.zeros(*levels.shape[:2], 256, device=x.device)  # (n, C, 256)
    counts.scatter_add_(2, levels, torch.ones_like(x).flatten(2))
    below = counts.cumsum(2) - counts  # pixels darker than each level
    # pixels of the brightest level that occurs
    last = counts.gather(2, levels.amax(2, keepdim=True))
    step = ((levels.shape[2] - last) / 255).floor()  # as in PIL
    table = ((below + (step / 2).floor()) / step.clamp_min(1)).floor().clamp_(
        0, 255
    ) / 255
    return torch.where(step > 0, table.gather(2, levels), x.flatten(2)).view_as(x)


GEOMETRIC: dict[str, Callable[[Tensor, float], Tensor]] = {
    "shear_x": lambda s, aspect: _matrix(len(s), m01=0.3 * s * aspect),
    "shear_y": lambda s, aspect: _matrix(len(s), m10=0.3 * s / aspect),
    # coordinates span 2: up to 45 % of the side
    "translate_x": lambda s, aspect: _matrix(len(s), m02=0.9 * s),
    "translate_y": lambda s, aspect: _matrix(len(s), m12=0.9 * s),
    "rotate": _rotate,
}
PHOTOMETRIC: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "brightness": lambda x, s: x * (1 + 0.9 * s),
    "colour": lambda x, s: _blend(_grey(x), x, s),
    "contrast": lambda x, s: _blend(_grey(x).mean((2, 3), keepdim=True), x, s),
    "sharpness": _sharpness,
    "posterize": _posterize,
    "solarize": lambda x, s: torch.where(x > 1 - s.abs(), 1 - x, x),
    "autocontrast": _autocontrast,
    "equalize": _equalize,
}
