"""Drawn-10: ten classes of small scenes drawn by code, the data set that needs no download.

A scene is a sky, some ground, clutter and one thing. Colours, place, size, tilt, light and grain are drawn at random
and tell nothing; the layout of the parts tells the class, and each class shares its parts with another (balloon and
tree, boat and house, butterfly and flower, fish and rocket, mushroom and umbrella).

Every shape is a signed distance (negative inside), computed for many images at once; the distance in pixels,
clipped, is how much of a pixel is covered, which gives soft edges for free. Image i of a split is a function of
(seed, split, i) alone. Pixels go through + - * / sqrt, min, max, abs and floor in float32 only, which IEEE 754 fixes
to the bit, so every machine draws the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Int64, UInt8
from torch import Tensor

from vitlib.checks import Natural, check_between, check_choice, checked

__all__ = ["DRAWN10_CLASSES", "drawn10_masks", "load_drawn10"]

DRAWN10_SIZES = {"train": 10_000, "test": 2_000}
_BLOCK = 500  # images drawn together: what they need stays in the processor's cache
_SIDE = (np.arange(32, dtype=np.float32) - 15.5) / 16  # pixel centres, from -1 to 1


@checked
def load_drawn10(
    split: str, n: int | None = None, seed: Natural = 0
) -> tuple[UInt8[Tensor, "n 3 32 32"], Int64[Tensor, " n"]]:
    """Draws Drawn-10; the 10,000 training images take about three seconds of one core.

    Args:
        split: "train" (10,000 images) or "test" (2,000).
        n: Only the first n images; they are the same whatever n is.
        seed: 0 to 2**32 - 1; another seed draws another data set of the same kind.

    Returns:
        uint8 (n, 3, 32, 32) images, RGB, and int64 (n,) labels into `DRAWN10_CLASSES`. Each ten images in a row,
        from the first on, hold each class once.

    Source: chapter 09.
    """
    images, _, labels = _paint(split, n, seed)
    return images, labels


@checked
def drawn10_masks(split: str, n: int | None = None) -> Bool[Tensor, "n 32 32"]:
    """Which pixels the thing covers, by half or more: bool (n, 32, 32); arguments as for `load_drawn10`, seed 0.

    Source: chapter 18.

    >>> drawn10_masks("test", 4).shape
    torch.Size([4, 32, 32])
    """
    return _paint(split, n, 0)[1]


def _paint(split: str, n: int | None, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Images, what the thing covers, labels."""
    check_choice("split", split, DRAWN10_SIZES)
    size = DRAWN10_SIZES[split]
    n = size if n is None else n
    check_between("n", n, 1, size, f" for Drawn-10's {split} split")
    images, masks = np.empty((n, 3, 32, 32), np.uint8), np.empty((n, 32, 32), bool)
    labels = _labels(split, n, seed)
    for start in range(0, n, _BLOCK):
        block = labels[start : start + _BLOCK]
        for label in np.unique(block):
            members = start + np.flatnonzero(block == label)
            images[members], masks[members] = _draw(
                _Dice(seed, split, members), _THINGS[label]
            )
    return torch.from_numpy(images), torch.from_numpy(masks), torch.from_numpy(labels)


class _Dice:
    """A stream of random numbers for each image: the k-th of image i is a hash of (seed, split, i, k)."""

    def __init__(self, seed: int, stream: str, index: np.ndarray):
        start = np.frombuffer(stream.encode().ljust(8), "<u8") ^ np.uint64(seed)
        self.key = _mix(_mix(start) + index.astype(np.uint64))  # (n,)
        self.count = 0

    def __call__(self, low=0, high=1) -> np.ndarray:
        """float32 (n, 1, 1), uniform from low to high."""
        self.count += 1
        bits = _mix(
            self.key + np.uint64(self.count * 0x9E3779B97F4A7C15 % 2**64)
        ) >> np.uint64(40)
        share = (bits.astype(np.float32) / np.float32(2**24))[:, None, None]
        return low + (high - low) * share

    def coin(self, chance=0.5) -> np.ndarray:
        """bool (n, 1, 1), True with this chance."""
        return self() < chance

    def grain(self) -> np.ndarray:
        """float32 (n, 32, 32), a number from -1/2 to 1/2 for each pixel."""
        steps = np.arange(1, 1025, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95)
        bits = _mix(self.key[:, None] ^ steps) >> np.uint64(48)  # (n, 1024)
        return (bits.astype(np.float32) / np.float32(2**16) - np.float32(0.5)).reshape(
            -1, 32, 32
        )


def _mix(z: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser: uint64 in, well-mixed uint64 out."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _labels(split: str, n: int, seed: int) -> np.ndarray:
    """int64 (n,): each ten in a row are the ten classes, shuffled."""
    dice = _Dice(seed, split + "-10", np.arange(-(-n // 10)))
    order = np.argsort(
        np.concatenate([dice()[:, 0] for _ in range(10)], axis=1), axis=1, kind="stable"
    )
    return order.reshape(-1)[:n].astype(np.int64)  # (tens, 10) -> (n,)


def _disc(x, y, a, b=None):
    """A disc of radius a, or an ellipse with half-axes a and b (its distance is exact at the edge only)."""
    b = a if b is None else b
    return (np.sqrt((x / a) ** 2 + (y / b) ** 2) - 1) * np.minimum(
        a, b, dtype=np.float32
    )


def _box(x, y, a, b):
    """A rectangle with half-sides a and b."""
    return np.maximum(np.abs(x) - a, np.abs(y) - b)


def _polygon(x, y, *corners):
    """A convex polygon; its corners run clockwise as seen on the screen, where y points down."""
    edges = []
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        dx, dy = np.float32(x1 - x0), np.float32(y1 - y0)
        edges.append(((x - x0) * dy - (y - y0) * dx) / np.sqrt(dx * dx + dy * dy))
    return np.maximum.reduce(edges)


def _wave(t):
    """A triangle wave from -1 to 1 with period 1."""
    return 4 * np.abs(t - np.floor(t) - 0.5) - 1


def _stripes(t, period):
    """Stripes across t, as wide as the gaps between them."""
    return _wave(t / period) * (period / 4)


class _Scene:
    """n pictures being painted, (n, 3, 32, 32), and the frame (x, y) in which shapes are given, y down."""

    def __init__(self, dice: _Dice):
        self.dice = dice
        # dark things before a light sky, or light things before a dark one
        self.day = dice.coin(0.9)
        # its brightness
        self.sky = np.where(self.day, dice(0.62, 0.92), dice(0.12, 0.38))
        self.canvas = np.empty((len(dice.key), 3, 32, 32), np.float32)
        # share of each pixel that was painted over
        self.covered = np.zeros_like(self.canvas[:, 0])
        self.frame(0, 0, 1, 0)
        self.backdrop()

    def frame(self, left, top, size, turn):
        """Lays the frame: its middle in the picture (from -1 to 1), its half side, its turn in radians."""
        turn = np.asarray(turn, np.float64)
        cos, sin = np.cos(turn).astype(np.float32), np.sin(turn).astype(np.float32)
        x, y = _SIDE[None, None, :] - left, _SIDE[None, :, None] - top
        self.x, self.y = (x * cos + y * sin) / size, (y * cos - x * sin) / size
        self.pixels = 16 * size  # in one unit of the frame

    def paint(self, distance, colour, opacity=1):
        """Lays a colour over the pixels inside a shape."""
        cover = np.clip(0.5 - distance * self.pixels, 0, 1) * opacity
        self.canvas += (colour - self.canvas) * cover[:, None]
        self.covered += (1 - self.covered) * cover

    def colour(self, brightness, vivid=0.5):
        """A random hue with this brightness, (n, 3, 1, 1)."""
        hue = 6 * self.dice()
        red, green, blue = (
            np.clip(np.abs((hue + k) % 6 - 3) - 1, 0, 1) for k in (0, 4, 2)
        )
        grey = 0.3 * red + 0.6 * green + 0.1 * blue
        strength = self.dice(0.1, vivid)
        parts = [
            np.clip(brightness + (c - grey) * strength, 0, 1)
            for c in (red, green, blue)
        ]
        return np.stack(parts, axis=1)

    def bold(self):
        """A colour that stands out against the sky."""
        step = self.dice(0.26, 0.58)
        return self.colour(self.sky + np.where(self.day, -step, step))

    def faint(self, step):
        """A colour about as bright as the sky."""
        return self.colour(np.clip(self.sky + self.dice(-step, step), 0.05, 0.95))

    def backdrop(self):
        """Sky, sun, hills or sea, and clutter: the same for every class."""
        dice = self.dice
        self.canvas[:] = self.colour(self.sky, 0.35)
        self.canvas += (dice(-0.12, 0.12) * self.y)[:, None]
        sun = _disc(self.x - dice(-1, 1), self.y - dice(-1, 0.2), dice(0.1, 0.3))
        self.paint(sun, self.faint(0.16), dice.coin())
        hills = dice(-0.2, 0.2) * self.x + dice(-0.2, 0.2) * _wave(
            self.x * dice(0.2, 0.6) + dice()
        )
        ripples = (
            dice(0, 0.06)
            * dice.coin()
            * _wave(self.y * dice(2, 4) + self.x * dice(-1, 1))
        )
        self.paint(
            dice(0.1, 0.9) + hills - self.y,
            self.faint(0.16) + ripples[:, None],
            dice(0.6, 1),
        )
        for _ in range(2):
            self.frame(dice(-1, 1), dice(-1, 1), dice(0.1, 0.25), dice(-3, 3))
            pebble, plank = (
                _disc(self.x, self.y, 1, dice(0.4, 1)),
                _box(self.x, self.y, 1, dice(0.2, 0.8)),
            )
            self.paint(
                np.where(dice.coin(), pebble, plank), self.faint(0.15), dice.coin(0.6)
            )


def _draw(
    dice: _Dice, thing: Callable[[_Scene], None]
) -> tuple[np.ndarray, np.ndarray]:
    """The backdrop, the thing, then light and grain: uint8 (n, 3, 32, 32); bool (n, 32, 32) where the thing is."""
    s = _Scene(dice)
    size = dice(0.55, 0.85)
    s.frame(dice(-1, 1) * (1 - size), dice(-1, 1) * (1 - size), size, dice(-0.4, 0.4))
    s.x = np.where(dice.coin(), s.x, -s.x)
    s.covered[:] = 0  # what was painted so far is backdrop
    thing(s)
    light = (
        1
        + dice(-0.15, 0.15) * _SIDE[None, :, None]
        + dice(-0.15, 0.15) * _SIDE[None, None, :]
    )
    picture = s.canvas * light[:, None] + (dice.grain() * dice(0, 0.05))[:, None]
    return (np.clip(picture, 0, 1) * 255 + np.float32(0.5)).astype(
        np.uint8
    ), s.covered >= 0.5


def _balloon(s: _Scene):
    bag, band, basket = s.bold(), s.bold(), s.bold()
    wide = s.dice(0.5, 0.65)
    for side in (-1, 1):
        s.paint(_box(s.x - side * (0.26 - 0.22 * s.y), s.y - 0.4, 0.03, 0.4), basket)
    shape = _disc(s.x, s.y + 0.35, wide, 0.62)
    s.paint(shape, bag)
    s.paint(np.maximum(shape, _stripes(s.x, wide * s.dice(0.8, 1.1))), band)
    s.paint(_box(s.x, s.y - 0.85, 0.16, 0.11), basket)


def _boat(s: _Scene):
    hull, sail, jib = s.bold(), s.bold(), s.bold()
    s.paint(_box(s.x, s.y + 0.1, 0.04, 0.75), hull)
    s.paint(_polygon(s.x, s.y, (0.1, -0.85), (0.8, 0.3), (0.1, 0.3)), sail)
    s.paint(_polygon(s.x, s.y, (-0.1, -0.6), (-0.1, 0.3), (-0.65, 0.3)), jib)
    s.paint(
        _polygon(s.x, s.y, (-0.85, 0.42), (0.85, 0.42), (0.55, 0.85), (-0.55, 0.85)),
        hull,
    )


def _butterfly(s: _Scene):
    wing, tail, body = s.bold(), s.bold(), s.bold()
    x = np.abs(s.x)
    s.paint(_disc(x - 0.45, s.y + 0.35, 0.42, 0.45), wing)
    s.paint(_disc(x - 0.36, s.y - 0.4, 0.32, s.dice(0.3, 0.42)), tail)
    s.paint(_disc(x - 0.48, s.y + 0.38, 0.17), tail)
    s.paint(_disc(x, s.y, 0.1, 0.7), body)


def _fish(s: _Scene):
    body, fin, eye = s.bold(), s.bold(), s.colour(s.sky)
    s.paint(_polygon(s.x, s.y, (-0.3, 0), (-0.95, 0.5), (-0.95, -0.5)), fin)
    s.paint(_polygon(s.x, s.y, (-0.2, -0.3), (0, -0.7), (0.3, -0.3)), fin)
    belly = _disc(s.x - 0.1, s.y, 0.75, s.dice(0.36, 0.5))
    s.paint(belly, body)
    s.paint(np.maximum(belly, _stripes(s.x, s.dice(0.33, 0.5))), fin)
    s.paint(_disc(s.x - 0.55, s.y + 0.1, 0.1), eye)


def _flower(s: _Scene):
    petal, heart, stem = s.bold(), s.bold(), s.bold()
    s.paint(_box(s.x, s.y - 0.55, 0.05, 0.45), stem)
    s.paint(_disc(s.x - 0.25, s.y - 0.7, 0.26, 0.12), stem)
    for left, top in (
        (0.42, 0),
        (0.21, 0.36),
        (-0.21, 0.36),
        (-0.42, 0),
        (-0.21, -0.36),
        (0.21, -0.36),
    ):
        s.paint(_disc(s.x - left, s.y + 0.3 - top, 0.22), petal)
    s.paint(_disc(s.x, s.y + 0.3, s.dice(0.18, 0.26)), heart)


def _house(s: _Scene):
    wall, roof, window = s.bold(), s.bold(), s.colour(s.sky)
    s.paint(_box(s.x - 0.4, s.y + 0.6, 0.1, 0.25), roof)
    s.paint(_box(s.x, s.y - 0.4, s.dice(0.55, 0.68), 0.45), wall)
    s.paint(_polygon(s.x, s.y, (0, -0.85), (0.85, 0), (-0.85, 0)), roof)
    s.paint(_box(s.x + 0.25, s.y - 0.58, 0.14, 0.27), window)
    s.paint(_box(s.x - 0.28, s.y - 0.38, 0.15, 0.15), window)


def _mushroom(s: _Scene):
    cap, spot, stem = s.bold(), s.bold(), s.bold()
    s.paint(_box(s.x, s.y - 0.4, s.dice(0.16, 0.26), 0.45), stem)
    s.paint(np.maximum(_disc(s.x, s.y - 0.05, 0.85, s.dice(0.7, 0.9)), s.y - 0.1), cap)
    for left, top in ((-0.42, -0.12), (0, -0.4), (0.42, -0.12)):
        s.paint(_disc(s.x - left, s.y - top, 0.15), spot)


def _rocket(s: _Scene):
    body, fin, window = s.bold(), s.bold(), s.colour(s.sky)
    s.paint(_polygon(s.x, s.y, (-0.15, 0.6), (0.15, 0.6), (0, 1)), fin)
    s.paint(_polygon(s.x, s.y, (0, 0), (0.6, 0.75), (-0.6, 0.75)), fin)
    s.paint(
        np.maximum(_disc(s.x, s.y - 0.1, s.dice(0.3, 0.38), 0.95), s.y - 0.62), body
    )
    s.paint(_disc(s.x, s.y + 0.2, 0.16), window)


def _tree(s: _Scene):
    crown, fruit, trunk = s.bold(), s.bold(), s.bold()
    s.paint(_box(s.x, s.y - 0.5, s.dice(0.09, 0.16), 0.45), trunk)
    for left, top in ((-0.35, 0), (0.35, 0), (0, -0.35)):
        s.paint(_disc(s.x - left, s.y - top, s.dice(0.36, 0.5)), crown)
    for left, top in ((-0.3, 0.1), (0.1, -0.4), (0.35, 0)):
        s.paint(_disc(s.x - left, s.y - top, 0.12), fruit)


def _umbrella(s: _Scene):
    cloth, gore, stick = s.bold(), s.bold(), s.bold()
    s.paint(_box(s.x, s.y - 0.2, 0.05, 0.6), stick)
    s.paint(
        np.maximum(np.abs(_disc(s.x - 0.15, s.y - 0.78, 0.15)) - 0.05, 0.78 - s.y),
        stick,
    )
    tall = s.dice(0.65, 0.85)
    s.paint(np.maximum(_disc(s.x, s.y, 0.9, tall), s.y), cloth)
    s.paint(np.maximum(_disc(s.x, s.y, 0.3, tall), s.y), gore)


_THINGS = (
    _balloon,
    _boat,
    _butterfly,
    _fish,
    _flower,
    _house,
    _mushroom,
    _rocket,
    _tree,
    _umbrella,
)
#: The classes of Drawn-10, in the order of its labels. Source: chapter 09.
DRAWN10_CLASSES = tuple(thing.__name__[1:] for thing in _THINGS)
