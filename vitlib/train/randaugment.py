"""RandAugment on whole batches, strengths drawn per image (Cubuk et al. 2020, arXiv 1909.13719).

Each operation takes (n, C, H, W) floats in [0, 1] and a strength (n, 1, 1, 1) in [-1, 1], whose sign is random; for
the geometric ones a strength (n,), and they return the matrix that maps output to input coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Generator, Tensor

from vitlib.checks import Count, Magnitude, check_between, checked
from vitlib.data.dataset import to_float

__all__ = ["rand_augment"]


Images = Shaped[Tensor, "B C H W"]
Floats = Float[Tensor, "B C H W"]


@checked
def rand_augment(
    images: Images, generator: Generator, num_ops: Count = 2, magnitude: Magnitude = 9.0
) -> Floats:
    """Give each image `num_ops` operations of its own, drawn evenly from fourteen, at about one strength.

    Shears, shifts and rotations are composed into one matrix per image and sampled once; what comes in is grey.

    Args:
        images: (B, C, H, W) uint8, or float in [0, 1]; C is 1 or 3.
        generator: A CPU generator.
        num_ops: Operations per image, >= 1.
        magnitude: 0 to 10 (the strongest; "autocontrast" and "equalize" have but one); a normal noise of 0.5 is
            added per image.

    Returns:
        (B, C, H, W) float in [0, 1].

    Raises:
        ValueError: If `num_ops` or `magnitude` is out of range.

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
        strength = ((magnitude + 0.5 * torch.randn(B, generator=generator)) / 10).clamp_(0, 1)
        strength *= torch.randint(0, 2, (B,), generator=generator) * 2 - 1
        for k, name in enumerate(names[:-1]):
            index = (choice == k).nonzero().squeeze(1)
            if not len(index):
                continue
            if name in GEOMETRIC:
                matrix[index] = matrix[index] @ GEOMETRIC[name](strength[index], H / W)
            else:
                s, index = strength[index].view(-1, 1, 1, 1).to(device), index.to(device)
                images[index] = PHOTOMETRIC[name](images[index], s).clamp_(0, 1)
    moved = (matrix != torch.eye(3)).flatten(1).any(1).nonzero().squeeze(1)
    if len(moved):
        theta, moved = matrix[moved, :2].to(device), moved.to(device)
        grid = F.affine_grid(theta, [len(moved), C, H, W], align_corners=False)  # (n, H, W, 2)
        images[moved] = F.grid_sample(images[moved] - 0.5, grid, align_corners=False) + 0.5
    return images.clamp_(0, 1)


def _matrix(n: int, **entries: Tensor) -> Tensor:
    matrix = torch.eye(3).repeat(n, 1, 1)
    for place, value in entries.items():  # "m01" is row 0, column 1
        matrix[:, int(place[1]), int(place[2])] = value
    return matrix


def _rotate(s: Tensor, aspect: float) -> Tensor:
    angle = s * math.pi / 6  # 30 degrees
    cos, sin = angle.cos(), angle.sin()
    return _matrix(
        len(s), m00=cos, m01=-sin * aspect, m10=sin / aspect, m11=cos
    )  # square pixels on oblong images


def _grey(x: Tensor) -> Tensor:
    if x.shape[1] == 1:
        return x
    return (x * x.new_tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1)).sum(1, keepdim=True)


def _blend(base: Tensor, x: Tensor, s: Tensor) -> Tensor:
    return base + (x - base) * (1 + 0.9 * s)  # a factor between 0.1 and 1.9


def _sharpness(x: Tensor, s: Tensor) -> Tensor:
    kernel = x.new_tensor([[1, 1, 1], [1, 5, 1], [1, 1, 1]]).div_(13).expand(x.shape[1], 1, 3, 3)
    smooth = x.clone()  # the outermost pixels stay
    smooth[..., 1:-1, 1:-1] = F.conv2d(x, kernel, groups=x.shape[1])
    return _blend(smooth, x, s)


def _posterize(x: Tensor, s: Tensor) -> Tensor:
    step = 2 ** (4 * s.abs()).round()  # drop up to 4 of the 8 bits
    return ((x * 255).round() / step).floor() * step / 255


def _solarize(x: Tensor, s: Tensor) -> Tensor:
    return torch.where(x > 1 - s.abs(), 1 - x, x)


def _autocontrast(x: Tensor, s: Tensor) -> Tensor:
    low, high = x.amin((2, 3), keepdim=True), x.amax((2, 3), keepdim=True)
    return torch.where(high > low, (x - low) / (high - low).clamp_min(1e-6), x)


def _equalize(x: Tensor, s: Tensor) -> Tensor:
    levels = (x * 255).round().long().flatten(2)  # (n, C, H*W)
    counts = torch.zeros(*levels.shape[:2], 256, device=x.device)  # (n, C, 256)
    counts.scatter_add_(2, levels, torch.ones_like(x).flatten(2))
    below = counts.cumsum(2) - counts  # pixels darker than each level
    last = counts.gather(2, levels.amax(2, keepdim=True))  # pixels of the brightest level that occurs
    step = ((levels.shape[2] - last) / 255).floor()  # as in PIL
    table = ((below + (step / 2).floor()) / step.clamp_min(1)).floor().clamp_(0, 255) / 255
    return torch.where(step > 0, table.gather(2, levels), x.flatten(2)).view_as(x)


GEOMETRIC: dict[str, Callable[[Tensor, float], Tensor]] = {
    "shear_x": lambda s, aspect: _matrix(len(s), m01=0.3 * s * aspect),
    "shear_y": lambda s, aspect: _matrix(len(s), m10=0.3 * s / aspect),
    "translate_x": lambda s, aspect: _matrix(
        len(s), m02=0.9 * s
    ),  # coordinates span 2: up to 45 % of the side
    "translate_y": lambda s, aspect: _matrix(len(s), m12=0.9 * s),
    "rotate": _rotate,
}
PHOTOMETRIC: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "brightness": lambda x, s: x * (1 + 0.9 * s),
    "colour": lambda x, s: _blend(_grey(x), x, s),
    "contrast": lambda x, s: _blend(_grey(x).mean((2, 3), keepdim=True), x, s),
    "sharpness": _sharpness,
    "posterize": _posterize,
    "solarize": _solarize,
    "autocontrast": _autocontrast,
    "equalize": _equalize,
}
