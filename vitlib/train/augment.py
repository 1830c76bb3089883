"""Augmentation of whole batches on their device, with parameters drawn per image (DeiT, arXiv 2012.12877).

Every parameter comes from a CPU `torch.Generator`: the same seed gives the same augmentation on every device, and
picking the images that drew an operation never makes a GPU wait. Images are (B, C, H, W), uint8 or float in [0, 1].
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Generator, Tensor

from vitlib.checks import (
    Classes,
    Natural,
    Positive,
    Rate,
    Share,
    Usual,
    check_labels,
    check_pixels,
    checked,
)
from vitlib.data.dataset import to_float
from vitlib.train.randaugment import Floats, Images, rand_augment

__all__ = [
    "augment_batch",
    "augment_images",
    "cutmix",
    "mixup",
    "random_crop",
    "random_erasing",
    "random_flip",
    "soft_targets",
]


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
    """Apply a recipe's augmentation to a batch: crop, flip, RandAugment, erasing, then Mixup or CutMix.

    Args:
        images: (B, 3, H, W) uint8, or float in [0, 1].
        labels: (B,) integers in [0, num_classes).
        recipe: Anything with `crop` (pixels), `flip`, `randaugment` (operations per image), `magnitude`, `erasing`
            (probability), `mixup` and `cutmix` (alphas; 0 is off) and `label_smoothing`.
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
        method, alpha = methods[int(torch.randint(len(methods), (1,), generator=generator))]
        images, targets = method(images, targets, alpha, generator)
    return images, targets


def augment_images(images: Images, recipe, generator: Generator) -> Floats:
    """The part of `augment_batch` that needs no labels: crop, flip, RandAugment, erasing.

    Source: each part names its own; the order is timm's.
    """
    if recipe.crop:
        images = random_crop(images, recipe.crop, generator)
    if recipe.flip:
        images = random_flip(images, generator)
    images = to_float(images)
    if recipe.randaugment:
        images = rand_augment(images, generator, recipe.randaugment, recipe.magnitude)
    if recipe.erasing:
        images = random_erasing(images, generator, recipe.erasing)
    return images


@checked
def soft_targets(
    labels: Integer[Tensor, " B"], num_classes: Classes, smoothing: Annotated[Rate, Usual(0.1)] = 0.0
) -> Targets:
    """Label smoothing: 1 - smoothing on the label, and `smoothing` spread evenly over all classes.

    Args:
        labels: (B,) integers.
        num_classes: K.
        smoothing: In [0, 1).

    Returns:
        (B, K) float; rows sum to 1.

    Raises:
        ValueError: If the smoothing is outside [0, 1) or a label is no class.

    Source: Szegedy et al. (2016, arXiv 1512.00567), Section 7.
    """
    check_labels(labels, num_classes)
    return F.one_hot(labels.long(), num_classes).float() * (1 - smoothing) + smoothing / num_classes


@checked
def random_crop(images: Images, padding: Natural, generator: Generator) -> Images:
    """Shift each image by up to `padding` pixels both ways; what comes in at the border is its mirror image.

    Args:
        images: (B, C, H, W), any dtype.
        padding: Largest shift, 0 <= padding < min(H, W).
        generator: A CPU generator.

    Returns:
        (B, C, H, W), the same dtype.

    Raises:
        ValueError: If the padding does not fit the image.

    Source: He et al. (2016, arXiv 1512.03385), Section 4.2, there with black borders; chapter 09.
    """
    check_pixels(images)
    B, C, H, W = images.shape
    if not 0 <= padding < min(H, W):
        raise ValueError(f"padding must be in [0, {min(H, W)}), got {padding}; 4 is usual for 32 pixels")
    dy, dx = torch.randint(-padding, padding + 1, (2, B, 1), generator=generator)
    rows, cols = _mirror(torch.arange(H) + dy, H), _mirror(torch.arange(W) + dx, W)  # (B, H), (B, W)
    flat = (rows.unsqueeze(2) * W + cols.unsqueeze(1)).view(B, 1, H * W).to(images.device)  # (B, 1, H*W)
    return images.reshape(B, C, H * W).gather(2, flat.expand(B, C, H * W)).view(B, C, H, W)


def _mirror(index: Tensor, size: int) -> Tensor:
    """... 2 1 | 0 1 2 ... size-1 | size-2 ..."""
    return size - 1 - (size - 1 - index.abs()).abs()


@checked
def random_flip(images: Images, generator: Generator, p: Share = 0.5) -> Images:
    """Mirror each image left to right with probability p.

    Args:
        images: (B, C, H, W), any dtype.
        generator: A CPU generator.
        p: Probability.

    Returns:
        (B, C, H, W), the same dtype.

    Source: He et al. (2016, arXiv 1512.03385), Section 4.2; chapter 09.
    """
    check_pixels(images)
    flip = (torch.rand(len(images), generator=generator) < p).to(images.device)
    return torch.where(flip.view(-1, 1, 1, 1), images.flip(-1), images)


@checked
def mixup(
    images: Images, targets: Targets, alpha: Annotated[Positive, Usual(0.8)], generator: Generator
) -> tuple[Floats, Targets]:
    """Blend each image with another: lam * x + (1 - lam) * x', and the targets alike, lam ~ Beta(alpha, alpha).

    Args:
        images: (B, C, H, W), uint8 or float.
        targets: (B, K) float.
        alpha: > 0; 0.8 is usual.
        generator: A CPU generator.

    Returns:
        Float images (B, C, H, W) and targets (B, K).

    Source: Zhang et al. (2018), with lam drawn per image; chapter 10.
    """
    images = to_float(images)
    lam = _beta(alpha, len(images), generator).to(images.device)
    other = torch.randperm(len(images), generator=generator).to(images.device)
    return (
        torch.lerp(images[other], images, lam.view(-1, 1, 1, 1)),
        torch.lerp(targets[other], targets, lam.view(-1, 1)),
    )


@checked
def cutmix(
    images: Images, targets: Targets, alpha: Annotated[Positive, Usual(1)], generator: Generator
) -> tuple[Floats, Targets]:
    """Paste a box of another image into each image, and mix the targets by the box's true share of the pixels.

    Args:
        images: (B, C, H, W), uint8 or float.
        targets: (B, K) float.
        alpha: > 0; the share kept is drawn from Beta(alpha, alpha).
        generator: A CPU generator.

    Returns:
        Float images (B, C, H, W) and targets (B, K).

    Source: Yun et al. (2019), with boxes drawn per image; chapter 10.
    """
    images = to_float(images)
    B, _, H, W = images.shape
    side = (1 - _beta(alpha, B, generator)).sqrt()
    box = _boxes(side * H, side * W, H, W, generator)  # (B, H, W)
    lam = 1 - box.float().mean((1, 2))
    other = torch.randperm(B, generator=generator).to(images.device)
    box, lam = box.unsqueeze(1).to(images.device), lam.unsqueeze(1).to(images.device)
    return torch.where(box, images[other], images), torch.lerp(targets[other], targets, lam)


@checked
def random_erasing(images: Images, generator: Generator, p: Share = 0.25) -> Floats:
    """Paint a grey box over each image with probability p: 2 to 33 % of its area, sides up to 1:3.

    Args:
        images: (B, C, H, W), uint8 or float.
        generator: A CPU generator.
        p: Probability.

    Returns:
        (B, C, H, W) float.

    Source: Zhong et al. (2020); chapter 10.
    """
    images = to_float(images)
    B, _, H, W = images.shape
    area = torch.empty(B).uniform_(0.02, 1 / 3, generator=generator)
    ratio = torch.empty(B).uniform_(-math.log(3), math.log(3), generator=generator).exp()
    side = math.sqrt(H * W)  # so that the box's sides have this ratio on oblong images, too
    box = _boxes((area * ratio).sqrt() * side, (area / ratio).sqrt() * side, H, W, generator)
    box &= (torch.rand(B, generator=generator) < p).view(B, 1, 1)
    return images.masked_fill(box.unsqueeze(1).to(images.device), 0.5)


def _beta(alpha: float, n: int, generator: Generator) -> Tensor:
    """n draws from Beta(alpha, alpha): a / (a + b) of two gamma draws."""
    a, b = torch._standard_gamma(torch.full((2, n), float(alpha), dtype=torch.float64), generator=generator)
    return (a / (a + b)).float()


def _boxes(height: Tensor, width: Tensor, H: int, W: int, generator: Generator) -> Tensor:
    """Boxes of the given sizes (B,) around uniform centres, clipped to the image: a mask (B, H, W)."""
    cy, cx = torch.rand(2, len(height), generator=generator) * torch.tensor([[H], [W]])  # (B,), (B,)
    rows = (torch.arange(H) + 0.5 - cy.unsqueeze(1)).abs() < height.unsqueeze(1) / 2  # (B, H)
    cols = (torch.arange(W) + 0.5 - cx.unsqueeze(1)).abs() < width.unsqueeze(1) / 2  # (B, W)
    return rows.unsqueeze(2) & cols.unsqueeze(1)
