"""Drawn-10: ten classes of small scenes drawn by code, the data set that needs no download.

A scene is a sky, some ground, clutter, and one thing: its colours, place, size, tilt, proportions and light are
drawn at random and tell nothing; the arrangement of its parts tells its class. Half of the classes share their
parts with another (balloon and tree, boat and house, butterfly and flower, fish and rocket, mushroom and umbrella).

Every shape is a signed distance (negative inside, in units of half the thing's size), evaluated for a whole batch at
once; the distance in pixels, clipped, is the coverage of a pixel, which gives soft edges for free. Image i of a split
is a function of (seed, split, i) alone. Pixels go through + - * / sqrt, min, max and floor only, which IEEE 754 fixes
to the bit, so every machine draws the same bytes.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

DRAWN10_CLASSES = (
    "balloon", "boat", "butterfly", "fish", "flower", "house", "mushroom", "rocket", "tree", "umbrella",
)  # fmt: skip
DRAWN10_SIZES = {"train": 10_000, "test": 2_000}
_BLOCK = 1000  # images drawn together; a multiple of 10, so that each class has as many
_PIXELS = (np.arange(32, dtype=np.float32) - 15.5) / 16  # pixel centres from -1 to 1


def load_drawn10(
    split: str, n: int | None = None, seed: int = 0
) -> tuple[UInt8[Tensor, "n 3 32 32"], Int64[Tensor, " n"]]:
    """Draws Drawn-10; about 3 s for the 10,000 training images.

    Args:
        split: "train" (10,000 images) or "test" (2,000).
        n: only the first n images; they are the same whatever n is.
        seed: another seed draws another data set of the same kind.

    Returns:
        uint8 (n, 3, 32, 32) images, RGB, and int64 (n,) labels into `DRAWN10_CLASSES`. Every ten images from
        the first on hold each class once.

    Raises:
        ValueError: an unknown split, n out of range, or a seed that is no whole number from 0 to 2**32 - 1.
    """
    if split not in DRAWN10_SIZES:
        raise ValueError(f"unknown split {split!r}: expected one of {', '.join(DRAWN10_SIZES)}")
    n = DRAWN10_SIZES[split] if n is None else n
    if not isinstance(n, int) or not 1 <= n <= DRAWN10_SIZES[split]:
        raise ValueError(f"expected n from 1 to {DRAWN10_SIZES[split]} for Drawn-10's {split} split, got {n!r}")
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ValueError(f"expected a whole seed from 0 to {2**32 - 1}, got {seed!r}")
    images = np.empty((n, 32, 32, 3), np.uint8)
    labels = _labels(split, n, seed)
    for start in range(0, n, _BLOCK):
        for label, draw in enumerate(_THINGS):
            members = start + np.flatnonzero(labels[start : start + _BLOCK] == label)
            if len(members):
                images[members] = _Scene(_Dice(seed, split, members), draw).finished()
    return torch.from_numpy(images.transpose(0, 3, 1, 2).copy()), torch.from_numpy(labels)


def _labels(split: str, n: int, seed: int) -> np.ndarray:
    """int64 (n,): every ten images in a row hold the ten classes, shuffled."""
    tens = np.arange(-(-n // 10))
    dice = _Dice(seed, split + " labels", tens)
    order = np.argsort(np.concatenate([dice(0, 1)[:, 0] for _ in range(10)], 1), axis=1)  # (tens, 10)
    return order.reshape(-1)[:n].astype(np.int64)


class _Dice:
    """A stream of random numbers for each image, without state shared between images.

    The k-th number of image i is a hash (splitmix64) of (seed, split, i, k).
    """

    def __init__(self, seed: int, split: str, index: np.ndarray):
        start = int.from_bytes(split.encode()[:8].ljust(8), "little") ^ (seed << 20)
        self.key = _mix(_mix(np.uint64(start % 2**64) + index.astype(np.uint64)))
        self.count = 0

    def __call__(self, low: float, high: float, size: int = 1) -> np.ndarray:
        """float32 (n, 1, size), uniform in [low, high)."""
        step = np.arange(self.count, self.count + size, dtype=np.uint64)
        self.count += size
        bits = _mix(self.key[:, None] + step * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)  # 24 bits
        return (low + (high - low) * (bits.astype(np.float32) / np.float32(2**24)))[:, None].astype(np.float32)

    def coin(self, chance: float = 0.5) -> np.ndarray:
        """bool (n, 1, 1), true with this chance."""
        return self(0, 1) < chance


def _mix(z: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser: uint64 in, well-mixed uint64 out."""
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
