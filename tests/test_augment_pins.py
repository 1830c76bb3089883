"""What each part of the augmentation does, against PIL, SciPy and slow code written out here, with the same draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.ndimage import map_coordinates

import vitlib as vl
from vitlib.train.randaugment import GEOMETRIC, PHOTOMETRIC

Image = pytest.importorskip("PIL.Image")
ImageEnhance = pytest.importorskip("PIL.ImageEnhance")
ImageOps = pytest.importorskip("PIL.ImageOps")

STRENGTHS = (-1.0, -0.63, -0.2, 0.2, 0.5, 0.9, 1.0)
SHAPES = ((3, 16, 16), (3, 12, 20), (1, 15, 9))
NAMES = (
    *("shear_x", "shear_y", "translate_x", "translate_y", "rotate", "brightness", "colour", "contrast"),
    *("sharpness", "posterize", "solarize", "autocontrast", "equalize", "identity"),
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def smooth_pictures(n: int, shape: tuple[int, int, int] = (3, 16, 16), seed: int = 0) -> torch.Tensor:
    """Bytes that do not use their whole range, and change slowly enough that a shifted pixel is another."""
    noise = torch.rand(n, *shape, generator=seeded(seed))
    ramp = torch.linspace(0, 1, shape[1])[:, None] + torch.linspace(0, 0.7, shape[2])
    return (20 + 190 * (0.6 * noise + 0.4 * ramp / 1.7)).to(torch.uint8)


# ------------------------------------------------------------------------- one operation, one image, by PIL or SciPy


def by_pil(name: str, image: np.ndarray, s: float) -> np.ndarray:
    """A photometric operation on bytes (C, H, W): floats 0 to 255."""
    picture = Image.fromarray(image[0] if len(image) == 1 else image.transpose(1, 2, 0))
    done = {
        "brightness": lambda: ImageEnhance.Brightness(picture).enhance(1 + 0.9 * s),
        "colour": lambda: ImageEnhance.Color(picture).enhance(1 + 0.9 * s),
        "contrast": lambda: ImageEnhance.Contrast(picture).enhance(1 + 0.9 * s),
        "sharpness": lambda: ImageEnhance.Sharpness(picture).enhance(1 + 0.9 * s),
        "posterize": lambda: ImageOps.posterize(picture, 8 - round(4 * abs(s))),
        "solarize": lambda: ImageOps.solarize(picture, math.floor(255 * (1 - abs(s))) + 1),
        "autocontrast": lambda: ImageOps.autocontrast(picture),
        "equalize": lambda: ImageOps.equalize(picture),
    }[name]()
    out = np.asarray(done, dtype=np.float64)
    return out[None] if len(image) == 1 else out.transpose(2, 0, 1)


def matrix(name: str, s: float, height: int, width: int) -> np.ndarray:
    """From where a pixel comes: (x, y, 1), in pixels from the image's centre."""
    angle = math.radians(30) * s
    return np.array(
        {
            "shear_x": [[1, 0.3 * s, 0], [0, 1, 0], [0, 0, 1]],
            "shear_y": [[1, 0, 0], [0.3 * s, 1, 0], [0, 0, 1]],
            "translate_x": [[1, 0, 0.45 * s * width], [0, 1, 0], [0, 0, 1]],
            "translate_y": [[1, 0, 0], [0, 1, 0.45 * s * height], [0, 0, 1]],
            "rotate": [
                [math.cos(angle), -math.sin(angle), 0],
                [math.sin(angle), math.cos(angle), 0],
                [0, 0, 1],
            ],
        }[name]
    )


def moved(image: np.ndarray, where: np.ndarray) -> np.ndarray:
    """A (C, H, W) in [0, 1], read at the places a matrix names; grey comes in."""
    _, height, width = image.shape
    y, x = np.mgrid[:height, :width]
    centre = np.array([(width - 1) / 2, (height - 1) / 2, 0])[:, None]
    places = where @ (np.stack([x.ravel(), y.ravel(), np.ones(x.size)]) - centre) + centre
    read = [map_coordinates(c - 0.5, places[[1, 0]], order=1, mode="grid-constant") for c in image]
    return np.stack(read).reshape(image.shape) + 0.5


def close(ours: torch.Tensor, theirs: np.ndarray, atol: float) -> None:
    torch.testing.assert_close(ours.double(), torch.from_numpy(theirs).double(), atol=atol, rtol=0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", PHOTOMETRIC)
def test_an_operation_on_colours_is_that_of_pil(name, shape):
    images = smooth_pictures(len(STRENGTHS), shape)
    ours = PHOTOMETRIC[name](images / 255, torch.tensor(STRENGTHS).view(-1, 1, 1, 1)).clamp(0, 1) * 255
    exact = name in ("posterize", "solarize", "equalize")
    for s, image, out in zip(STRENGTHS, images.numpy(), ours, strict=True):
        close(out, by_pil(name, image, s), atol=0.01 if exact else 1.6)  # PIL rounds in between


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", GEOMETRIC)
def test_an_operation_on_places_is_that_of_scipy(name, shape):
    image, strengths = smooth_pictures(1, shape)[0] / 255, torch.tensor(STRENGTHS)
    theta = GEOMETRIC[name](strengths, shape[1] / shape[2])[:, :2]
    grid = torch.nn.functional.affine_grid(theta, [len(strengths), *shape], align_corners=False)
    ours = torch.nn.functional.grid_sample(
        image.expand(len(strengths), -1, -1, -1) - 0.5, grid, align_corners=False
    )
    for s, out in zip(STRENGTHS, ours + 0.5, strict=True):
        close(out, moved(image.numpy(), matrix(name, s, *shape[1:])), atol=1e-4)


# --------------------------------------------------------------------------------------- all of them, draw by draw


def by_hand(images: np.ndarray, generator: torch.Generator, num_ops: int, magnitude: float) -> np.ndarray:
    """`rand_augment`, one image after the other; colours are done first, then all moves at once."""
    n, _, height, width = images.shape
    out, where = images.astype(np.float64), np.stack([np.eye(3)] * n)
    for _ in range(num_ops):
        choice = torch.randint(14, (n,), generator=generator).tolist()
        noise = torch.randn(n, generator=generator).tolist()
        sign = torch.randint(0, 2, (n,), generator=generator).tolist()
        for i in range(n):
            s = min(1.0, max(0.0, (magnitude + 0.5 * noise[i]) / 10)) * (2 * sign[i] - 1)
            if (name := NAMES[choice[i]]) in GEOMETRIC:
                where[i] = where[i] @ matrix(name, s, height, width)
            elif name in PHOTOMETRIC:
                float_op = PHOTOMETRIC[name](
                    torch.from_numpy(out[i][None]).float(), torch.full((1, 1, 1, 1), s)
                )
                out[i] = float_op[0].clamp(0, 1).double().numpy()  # each was held to PIL above
    return np.stack([moved(image, m) for image, m in zip(out, where, strict=True)])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("num_ops", "magnitude"), [(1, 9.0), (2, 9.0), (3, 4.0), (2, 0.0), (1, 10.0)])
def test_rand_augment_is_what_its_draws_say(shape, num_ops, magnitude):
    images = smooth_pictures(60, shape)
    ours = vl.rand_augment(images, seeded(1), num_ops, magnitude)
    close(ours, by_hand(images.numpy() / 255, seeded(1), num_ops, magnitude), atol=2e-4)


def test_its_defaults_are_two_operations_of_strength_nine():
    images = smooth_pictures(20)
    assert torch.equal(vl.rand_augment(images, seeded()), vl.rand_augment(images, seeded(), 2, 9.0))


@pytest.mark.parametrize(("shape", "padding"), [((3, 9, 7), 3), ((3, 8, 8), 4), ((1, 5, 12), 0)])
def test_a_crop_is_what_its_draws_say(shape, padding):
    images = smooth_pictures(40, shape)
    dy, dx = torch.randint(-padding, padding + 1, (2, 40), generator=seeded(2)).tolist()
    for image, out, y, x in zip(images, vl.random_crop(images, padding, seeded(2)), dy, dx, strict=True):
        padded = np.pad(image.numpy(), [(0, 0), (padding, padding), (padding, padding)], mode="reflect")
        rows, cols = slice(padding + y, padding + y + shape[1]), slice(padding + x, padding + x + shape[2])
        assert (out.numpy() == padded[:, rows, cols]).all()


def test_shifts_are_even_in_both_directions():
    """A picture that says where it is: each of 7 x 7 shifts comes as often as any."""
    y, x = torch.meshgrid(torch.arange(20), torch.arange(20), indexing="ij")
    place = torch.stack([y, x, x]).to(torch.uint8).expand(9800, -1, -1, -1)
    middle = vl.random_crop(place, 3, seeded())[:, :2, 10, 10].int() - 10
    counts = np.bincount(((middle[:, 0] + 3) * 7 + middle[:, 1] + 3).numpy(), minlength=49)
    assert len(counts) == 49 and stats.chisquare(counts).pvalue > 0.01


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_as_many_are_flipped_and_erased_as_asked(p):
    images = smooth_pictures(3000, (1, 24, 24))
    flipped = (vl.random_flip(images, seeded(), p) != images).flatten(1).any(1).sum().item()
    erased = (vl.random_erasing(images, seeded(), p) == 0.5).flatten(1).any(1).sum().item()
    assert stats.binomtest(flipped, 3000, p).pvalue > 0.01
    assert stats.binomtest(erased, 3000, p).pvalue > 0.01


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_erasing_is_what_its_draws_say(shape):
    images = smooth_pictures(200, shape)
    _, H, W = shape
    g = seeded(5)
    area = (0.02 + (1 / 3 - 0.02) * torch.rand(200, generator=g)).tolist()
    ratio = (2 * math.log(3) * torch.rand(200, generator=g) - math.log(3)).exp().tolist()
    cy, cx = torch.rand(2, 200, generator=g).tolist()
    coin = torch.rand(200, generator=g).tolist()
    out, wrong = vl.random_erasing(images, seeded(5), 0.6), 0
    for i in range(200):
        height, width = math.sqrt(area[i] * ratio[i]) * H, math.sqrt(area[i] / ratio[i]) * W
        rows = abs(np.arange(H) + 0.5 - cy[i] * H) < height / 2
        cols = abs(np.arange(W) + 0.5 - cx[i] * W) < width / 2
        expected = np.where(rows[:, None] & cols & (coin[i] < 0.6), 0.5, images[i].numpy() / 255)
        wrong += not np.allclose(out[i].numpy(), expected, atol=1e-6)
    assert wrong <= 1  # an edge may fall on a pixel's centre, and round either way


@pytest.mark.parametrize("alpha", [0.2, 0.8, 1.0, 4.0])
def test_mixup_shares_are_from_its_beta_distribution(alpha):
    n = 2000
    _, targets = vl.mixup(torch.zeros(n, 1, 1, 1), torch.eye(n), alpha, seeded(3))
    share = targets.diagonal()
    assert stats.kstest(share.double().numpy(), stats.beta(alpha, alpha).cdf).pvalue > 0.01
    partner = (targets - torch.diag(share)).argmax(1)[share < 1]
    assert len(partner.unique()) == len(partner)  # nobody is taken twice


def test_cutmix_boxes_are_as_large_as_their_shares():
    """A box whose sides are both sqrt(1 - share) of the image's; where it does not leave the image, exactly."""
    n, (H, W) = 400, (20, 30)
    images = torch.arange(n).view(n, 1, 1, 1).expand(n, 1, H, W) / n
    out, _ = vl.cutmix(images, torch.eye(n), 1.0, seeded(4))
    ratios = []
    for image, own in zip(out[:, 0], images[:, 0], strict=True):
        foreign = (image != own).nonzero()
        if len(foreign):
            low, high = foreign.min(0).values, foreign.max(0).values
            if (low > 0).all() and high[0] < H - 1 and high[1] < W - 1 and len(foreign) > 60:
                ratios.append(((high - low + 1)[1] / (high - low + 1)[0]).item())
    assert len(ratios) > 30 and np.mean(ratios) == pytest.approx(W / H, rel=0.05)


def test_either_mixing_method_is_as_likely_and_each_batch_has_one():
    images, labels = smooth_pictures(8, (1, 6, 6)), torch.arange(8)
    recipe = vl.Recipe(crop=0, flip=False, mixup=0.8, cutmix=1.0)
    blended = 0
    for seed in range(400):
        out, _ = vl.augment_batch(images, labels, recipe, 8, seeded(seed))
        known = torch.isin((out * 255).round(), images.float()) & ((out * 255).round() == out * 255)
        blended += (~known).any().item()
    assert stats.binomtest(blended, 400, 0.5).pvalue > 0.01
