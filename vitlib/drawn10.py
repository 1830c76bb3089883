"""Drawn-10: ten classes of small scenes drawn by code, the data set that needs no download.

A scene is a sky, some ground, clutter and one thing. Colours, place, size, tilt, proportions and light are drawn
at random and tell nothing; the arrangement of the parts tells the class, and each class shares its parts with
another (balloon and tree, boat and house, butterfly and flower, fish and rocket, mushroom and umbrella).

Every shape is a signed distance (negative inside), evaluated for many images at once; the distance in pixels,
clipped, is how much of a pixel is covered, which gives soft edges for free. Image i of a split is a function of
(seed, split, i) alone. Pixels go through + - * / sqrt, min, max, abs and floor only, which IEEE 754 fixes to the
bit, so every machine draws the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

DRAWN10_SIZES = {"train": 10_000, "test": 2_000}
_BLOCK = 500  # images drawn together: what they need stays in the processor's cache
_SIDE = (np.arange(32, dtype=np.float32) - 15.5) / 16  # pixel centres, from -1 to 1
_LUMA = np.array([0.3, 0.6, 0.1], np.float32)[:, None, None]


def load_drawn10(
    split: str, n: int | None = None, seed: int = 0
) -> tuple[UInt8[Tensor, "n 3 32 32"], Int64[Tensor, " n"]]:
    """Draws Drawn-10; the 10,000 training images take about 3 s.

    Args:
        split: "train" (10,000 images) or "test" (2,000).
        n: only the first n images; they are the same whatever n is.
        seed: 0 to 2**32 - 1; another seed draws another data set of the same kind.

    Returns:
        uint8 (n, 3, 32, 32) images, RGB, and int64 (n,) labels into `DRAWN10_CLASSES`. Each ten images in a row,
        from the first on, hold each class once.

    Raises:
        ValueError: an unknown split, or n or seed out of range.
    """
    if split not in DRAWN10_SIZES:
        raise ValueError(f"unknown split {split!r}: expected one of {', '.join(DRAWN10_SIZES)}")
    n = DRAWN10_SIZES[split] if n is None else n
    if not isinstance(n, int) or not 1 <= n <= DRAWN10_SIZES[split]:
        raise ValueError(f"expected n from 1 to {DRAWN10_SIZES[split]} for Drawn-10's {split} split, got {n!r}")
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ValueError(f"expected a whole seed from 0 to {2**32 - 1}, got {seed!r}")
    images = np.empty((n, 3, 32, 32), np.uint8)
    labels = _labels(split, n, seed)
    for start in range(0, n, _BLOCK):
        block = labels[start : start + _BLOCK]
        for label in np.unique(block):
            members = start + np.flatnonzero(block == label)
            images[members] = _draw(_Dice(seed, split, members), list(_THINGS.values())[label])
    return torch.from_numpy(images), torch.from_numpy(labels)


# ------------------------------------------------------------------------------------ random numbers


class _Dice:
    """A stream of random numbers for each image: the k-th of image i is a hash of (seed, split, i, k)."""

    def __init__(self, seed: int, stream: str, index: np.ndarray):
        start = np.frombuffer(stream.encode().ljust(8), "<u8") ^ np.uint64(seed)
        self.key = _mix(_mix(start) + index.astype(np.uint64))  # (n,)
        self.count = 0

    def __call__(self, low: float | np.ndarray = 0, high: float | np.ndarray = 1) -> np.ndarray:
        """float32 (n, 1, 1), uniform from low to high."""
        self.count += 1
        bits = _mix(self.key + np.uint64(self.count * 0x9E3779B97F4A7C15 % 2**64)) >> np.uint64(40)
        share = (bits.astype(np.float32) / np.float32(2**24))[:, None, None]
        return low + (high - low) * share

    def coin(self, chance: float = 0.5) -> np.ndarray:
        """float32 (n, 1, 1), 1 with this chance, else 0."""
        return (self() < chance).astype(np.float32)


def _mix(z: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser: uint64 in, well-mixed uint64 out."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _labels(split: str, n: int, seed: int) -> np.ndarray:
    """int64 (n,): each ten in a row are the ten classes, shuffled."""
    dice = _Dice(seed, split + "-10", np.arange(-(-n // 10)))
    order = np.argsort(np.concatenate([dice()[:, 0] for _ in range(10)], axis=1), axis=1, kind="stable")
    return order.reshape(-1)[:n]  # (tens, 10) -> (n,)


# ---------------------------------------------------------------- shapes: signed distances, (n, 32, 32)


def _disc(x, y, a, b=None):
    """A disc of radius a, or an ellipse with half-axes a and b (distance exact on the edge only)."""
    b = a if b is None else b
    return (np.sqrt((x / a) ** 2 + (y / b) ** 2) - 1) * np.minimum(a, b)


def _box(x, y, a, b):
    """A rectangle with half-sides a and b."""
    return np.maximum(np.abs(x) - a, np.abs(y) - b)


def _polygon(x, y, *corners):
    """A convex polygon, its corners clockwise on the screen (y points down)."""
    inside = None
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        dx, dy = np.float32(x1 - x0), np.float32(y1 - y0)
        edge = ((x - x0) * dy - (y - y0) * dx) / np.sqrt(dx * dx + dy * dy)
        inside = edge if inside is None else np.maximum(inside, edge)
    return inside


def _wave(t):
    """A triangle wave from -1 to 1 with period 1: stripes, tiles and ripples."""
    return 4 * np.abs(t - np.floor(t) - 0.5) - 1


# ------------------------------------------------------------------------------------------- a scene


class _Scene:
    """n pictures being painted, and the frame (x, y) of the thing in each: from about -1 to 1, y down."""

    def __init__(self, dice: _Dice):
        self.dice = dice
        n = len(dice.key)
        self.sky = dice(0.25, 0.85)  # how bright
        self.dark = np.where(self.sky > 0.62, 1, np.where(self.sky < 0.42, 0, dice.coin()))
        self.canvas = np.empty((n, 3, 32, 32), np.float32)
        self.frame(0, 0, 1, 0)
        self.backdrop()

    def frame(self, left, top, size, turn):
        """Moves the frame: its centre in the picture (-1 to 1), its half side, its turn in radians."""
        turn = np.asarray(turn, np.float64)
        cos, sin = np.cos(turn).astype(np.float32), np.sin(turn).astype(np.float32)
        x, y = _SIDE[None, None, :] - left, _SIDE[None, :, None] - top
        self.x, self.y = (x * cos + y * sin) / size, (y * cos - x * sin) / size
        self.pixels = size * 16  # in one unit of the frame

    def colour(self, luma, vivid=0.5):
        """A random colour of this brightness, (n, 3, 1, 1)."""
        hue = self.dice() * 6
        rgb = np.concatenate([_hue(hue), _hue(hue + 4), _hue(hue + 2)], 1)[..., None]
        rgb = rgb - (rgb * _LUMA).sum(1, keepdims=True)
        return np.clip(luma[..., None] + rgb * self.dice(0.1, vivid)[..., None], 0, 1)

    def contrasting(self, low=0.22, high=0.5):
        """A colour that stands out against the sky."""
        step = self.dice(low, high)
        return self.colour(np.clip(self.sky + np.where(self.dark > 0, -step, step), 0.04, 0.97))

    def paint(self, distance, colour, opacity=1.0):
        """Lays a colour over the pixels inside."""
        cover = np.clip(0.5 - distance * self.pixels, 0, 1) * opacity
        self.canvas += (colour - self.canvas) * cover[:, None]

    def backdrop(self):
        """Sky, sun, hills or sea, and clutter: the same for every class."""
        dice = self.dice
        self.canvas[:] = self.colour(self.sky, 0.35)
        self.canvas += dice(-0.12, 0.12)[..., None] * self.y[:, None]
        near = np.clip(self.sky + dice(-0.16, 0.16), 0.05, 0.95)
        self.paint(_disc(self.x - dice(-1, 1), self.y - dice(-1, 0.2), dice(0.1, 0.3)), self.colour(near), dice.coin())
        height = dice(0.1, 0.9) + dice(-0.2, 0.2) * self.x + dice(-0.2, 0.2) * _wave(self.x * dice(0.2, 0.6) + dice())
        ripple = dice(0, 0.06) * dice.coin() * _wave(self.y * dice(2, 4) + self.x * dice(-1, 1))
        self.paint(height - self.y, self.colour(near) + ripple[:, None], dice(0.6, 1))
        for _ in range(3):
            near = np.clip(self.sky + dice(-0.2, 0.2), 0.05, 0.95)
            left, top, turn = dice(-1, 1), dice(-1, 1), dice(-3, 3)
            self.frame(left, top, dice(0.1, 0.25), turn)
            shape = np.where(dice.coin() > 0, _disc(self.x, self.y, 1, dice(0.4, 1)), _box(self.x, self.y, 1, dice(0.2, 0.8)))
            self.paint(shape, self.colour(near), dice.coin(0.6))


def _hue(t):
    """One channel of the colour wheel, t from 0 to 12."""
    t = t - 6 * np.floor(t / 6)
    return np.clip(np.abs(t - 3) - 1, 0, 1)


def _draw(dice: _Dice, thing: Callable[[_Scene, _Dice], None]) -> np.ndarray:
    """uint8 (n, 3, 32, 32): the backdrop, the thing, then light and grain."""
    s = _Scene(dice)
    size = dice(0.55, 0.85)
    room = 0.95 - size
    s.frame(dice(-1, 1) * room, dice(-1, 1) * room, size, dice(-0.35, 0.35))
    s.x = s.x * np.where(dice.coin() > 0, 1, -1).astype(np.float32)
    thing(s, dice)
    light = 1 + dice(-0.15, 0.15) * _SIDE[None, :, None] + dice(-0.15, 0.15) * _SIDE[None, None, :]
    key = _mix(dice.key[:, None] + np.arange(1, 1025, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95))
    grain = ((key >> np.uint64(48)).astype(np.float32) / 65536 - 0.5).reshape(-1, 32, 32) * dice(0, 0.08)
    picture = s.canvas * light[:, None] + grain[:, None]
    return (np.clip(picture, 0, 1) * 255 + np.float32(0.5)).astype(np.uint8)


# ------------------------------------------------------------------------------------------ ten things


def _balloon(s: _Scene, dice: _Dice):
    body, band, basket = s.contrasting(), s.contrasting(), s.contrasting()
    r = dice(0.5, 0.65)
    for side in (-1, 1):
        s.paint(_box(s.x - side * (0.1 + (0.75 - s.y) * 0.22), s.y - 0.4, 0.03, 0.4), basket)
    bag = np.maximum(_disc(s.x, s.y + 0.35, r, 0.62), -1)
    s.paint(bag, body)
    s.paint(np.maximum(bag, _wave(s.x * dice(1.6, 2.2) / r / 1.5 * 0.8) * 0.2), band)
    s.paint(_box(s.x, s.y - 0.85, 0.16, 0.11), basket)


def _boat(s: _Scene, dice: _Dice):
    hull, sail, jib = s.contrasting(), s.contrasting(), s.contrasting()
    top = dice(-0.95, -0.7)
    s.paint(_box(s.x, s.y + 0.1, 0.04, 0.75), hull)
    s.paint(_polygon(s.x, s.y, (0.1, -0.85), (0.8, 0.3), (0.1, 0.3)), sail)
    s.paint(_polygon(s.x, s.y, (-0.1, -0.6), (-0.1, 0.3), (-0.65, 0.3)), jib)
    s.paint(_polygon(s.x, s.y, (-0.85, 0.42), (0.85, 0.42), (0.55, 0.85), (-0.55, 0.85)), hull)


def _butterfly(s: _Scene, dice: _Dice):
    wing, low, body = s.contrasting(), s.contrasting(), s.contrasting()
    x = np.abs(s.x)
    s.paint(_disc(x - 0.45, s.y + 0.35, 0.42, 0.45), wing)
    s.paint(_disc(x - 0.36, s.y - 0.4, 0.32, 0.36), low)
    s.paint(_disc(x - 0.48, s.y + 0.38, 0.17), low)
    s.paint(_disc(s.x, s.y, 0.1, 0.7), body)


def _fish(s: _Scene, dice: _Dice):
    body, fin, eye = s.contrasting(), s.contrasting(), s.colour(s.sky)
    s.paint(_polygon(s.x, s.y, (-0.3, 0), (-0.95, -0.5), (-0.95, 0.5)), fin)
    s.paint(_polygon(s.x, s.y, (-0.2, -0.3), (0.0, -0.7), (0.3, -0.3)), fin)
    belly = _disc(s.x - 0.1, s.y, 0.75, dice(0.36, 0.5))
    s.paint(belly, body)
    s.paint(np.maximum(belly, _wave(s.x * dice(2, 3)) * 0.2), fin)
    s.paint(_disc(s.x - 0.55, s.y + 0.1, 0.1), eye)


def _flower(s: _Scene, dice: _Dice):
    petal, heart, stem = s.contrasting(), s.contrasting(), s.contrasting()
    s.paint(_box(s.x, s.y - 0.55, 0.05, 0.45), stem)
    s.paint(_disc(s.x - 0.25, s.y - 0.7, 0.26, 0.12), stem)
    for angle in range(6):
        turn = np.pi / 3 * angle
        x, y = s.x - np.float32(0.42 * np.cos(turn)), s.y + 0.3 - np.float32(0.42 * np.sin(turn))
        s.paint(_disc(x, y, 0.22), petal)
    s.paint(_disc(s.x, s.y + 0.3, 0.22), heart)


def _house(s: _Scene, dice: _Dice):
    wall, roof, door = s.contrasting(), s.contrasting(), s.colour(s.sky)
    s.paint(_box(s.x - 0.4, s.y + 0.6, 0.1, 0.25), roof)
    s.paint(_box(s.x, s.y - 0.4, 0.62, 0.45), wall)
    s.paint(_polygon(s.x, s.y, (0, -0.85), (0.85, 0), (-0.85, 0)), roof)
    s.paint(_box(s.x + 0.25, s.y - 0.58, 0.14, 0.27), door)
    s.paint(_box(s.x - 0.28, s.y - 0.38, 0.15, 0.15), door)


def _mushroom(s: _Scene, dice: _Dice):
    cap, spot, stem = s.contrasting(), s.contrasting(), s.contrasting()
    s.paint(_box(s.x, s.y - 0.4, dice(0.16, 0.26), 0.45), stem)
    dome = np.maximum(_disc(s.x, s.y - 0.05, 0.85, dice(0.7, 0.9)), s.y - 0.1)
    s.paint(dome, cap)
    for left, top in ((-0.42, -0.12), (0, -0.4), (0.42, -0.12)):
        s.paint(_disc(s.x - left, s.y - top, 0.15), spot)


def _rocket(s: _Scene, dice: _Dice):
    body, fin, window = s.contrasting(), s.contrasting(), s.colour(s.sky)
    s.paint(_polygon(s.x, s.y, (-0.15, 0.6), (0.15, 0.6), (0, 1)), fin)
    s.paint(_polygon(s.x, s.y, (0, 0), (0.6, 0.75), (-0.6, 0.75)), fin)
    s.paint(np.maximum(_disc(s.x, s.y - 0.1, 0.34, 0.95), s.y - 0.62), body)
    s.paint(_disc(s.x, s.y + 0.2, 0.16), window)


def _tree(s: _Scene, dice: _Dice):
    crown, patch, trunk = s.contrasting(), s.contrasting(), s.contrasting()
    s.paint(_box(s.x, s.y - 0.5, dice(0.09, 0.16), 0.45), trunk)
    for left, top in ((-0.35, 0), (0.35, 0), (0, -0.35)):
        s.paint(_disc(s.x - left, s.y - top, dice(0.36, 0.5)), crown)
    for left, top in ((-0.3, 0.1), (0.1, -0.4), (0.35, 0)):
        s.paint(_disc(s.x - left, s.y - top, 0.12), patch)


def _umbrella(s: _Scene, dice: _Dice):
    cover, gore, stick = s.contrasting(), s.contrasting(), s.contrasting()
    s.paint(_box(s.x, s.y - 0.2, 0.05, 0.6), stick)
    hook = np.maximum(np.abs(_disc(s.x - 0.15, s.y - 0.78, 0.15)) - 0.05, 0.78 - s.y)
    s.paint(hook, stick)
    dome = np.maximum(_disc(s.x, s.y - 0.0, 0.9, 0.75), s.y)
    s.paint(dome, cover)
    s.paint(np.maximum(dome, np.abs(s.x) - 0.3 * np.sqrt(np.maximum(1 - (s.y / 0.75) ** 2, 0))), gore)


_THINGS = {
    "balloon": _balloon, "boat": _boat, "butterfly": _butterfly, "fish": _fish, "flower": _flower,
    "house": _house, "mushroom": _mushroom, "rocket": _rocket, "tree": _tree, "umbrella": _umbrella,
}  # fmt: skip
DRAWN10_CLASSES = tuple(_THINGS)
