"""What each part of the augmentation does, against PIL, SciPy and slow code written out here, with the same draws."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.ndimage import map_coordinates

import vitlib as vl
from vitlib.train.augment import (
    GEOMETRIC,
    PHOTOMETRIC,
    cutmix,
    mixup,
    rand_augment,
    random_crop,
    random_flip,
)

Image = pytest.importorskip("PIL.Image")
ImageEnhance = pytest.importorskip("PIL.ImageEnhance")
ImageOps = pytest.importorskip("PIL.ImageOps")

STRENGTHS = (-1.0, -0.63, -0.3, 0.2, 0.5, 0.9, 1.0)
SHAPES = ((3, 16, 16), (3, 12, 20), (1, 15, 9))
UNLIKELY = 1e-5  # right code gives a smaller p-value at one seed in 100,000
NAMES = (
    *(
        "shear_x",
        "shear_y",
        "translate_x",
        "translate_y",
        "rotate",
        "brightness",
        "colour",
        "contrast",
    ),
    *("sharpness", "posterize", "solarize", "autocontrast", "equalize", "identity"),
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def smooth_pictures(
    n: int, shape: tuple[int, int, int] = (3, 16, 16), seed: int = 0
) -> torch.Tensor:
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
        "solarize": lambda: ImageOps.solarize(
            picture, math.floor(255 * (1 - abs(s))) + 1
        ),
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
    places = (
        where @ (np.stack([x.ravel(), y.ravel(), np.ones(x.size)]) - centre) + centre
    )
    read = [
        map_coordinates(c - 0.5, places[[1, 0]], order=1, mode="grid-constant")
        for c in image
    ]
    return np.stack(read).reshape(image.shape) + 0.5


def close(ours: torch.Tensor, theirs: np.ndarray, atol: float) -> None:
    torch.testing.assert_close(
        ours.double(), torch.from_numpy(theirs).double(), atol=atol, rtol=0
    )


@pytest.mark.parametrize(
    "shape", (*SHAPES, (3, 40, 26)), ids=str
)  # "equalize" leaves small ones as they are
@pytest.mark.parametrize("name", PHOTOMETRIC)
@pytest.mark.parametrize("contrast", [1, 8])
def test_an_operation_on_colours_is_that_of_pil(name, shape, contrast):
    images = smooth_pictures(len(STRENGTHS), shape) // contrast + 10 * (contrast - 1)
    ours = (
        PHOTOMETRIC[name](
            images / 255, torch.tensor(STRENGTHS).view(-1, 1, 1, 1)
        ).clamp(0, 1)
        * 255
    )
    for s, image, out in zip(STRENGTHS, images.numpy(), ours, strict=True):
        theirs = by_pil(name, image, s)
        if name in ("posterize", "solarize", "equalize"):
            close(out, theirs, atol=1e-3)
        else:  # PIL rounds down at the end, and rounds the picture that it blends with
            rounded = (
                0.45 * abs(s) + 0.02
                if name in ("colour", "contrast", "sharpness")
                else 0
            )
            close(out, theirs + 0.5, atol=0.5 + rounded + 1e-4)


@pytest.mark.parametrize("name", ["posterize", "equalize"])
def test_what_counts_levels_takes_the_nearest_byte(name):
    """What an earlier operation left lies between two bytes."""
    images, half = smooth_pictures(4, (3, 40, 26)), torch.full((4, 1, 1, 1), 0.5)
    between = images + 0.9 * (torch.rand(images.shape, generator=seeded(1)) - 0.5)
    assert torch.equal(
        PHOTOMETRIC[name](between / 255, half), PHOTOMETRIC[name](images / 255, half)
    )


def test_solarize_leaves_its_threshold_alone():
    out = PHOTOMETRIC["solarize"](torch.tensor([0.5, 0.75, 1.0]), torch.tensor(0.25))
    assert out.tolist() == [0.5, 0.75, 0.0]


def test_a_picture_of_one_colour_stays_itself_where_there_is_nothing_to_stretch():
    flat = torch.tensor([0.0, 0.3, 1.0]).view(3, 1, 1, 1).expand(3, 3, 8, 8)
    for name in ("autocontrast", "equalize", "contrast", "sharpness"):
        out = PHOTOMETRIC[name](flat, torch.full((3, 1, 1, 1), 0.9))
        torch.testing.assert_close(out, flat, atol=1e-6, rtol=0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", GEOMETRIC)
def test_an_operation_on_places_is_that_of_scipy(name, shape):
    image, strengths = smooth_pictures(1, shape)[0] / 255, torch.tensor(STRENGTHS)
    theta = GEOMETRIC[name](strengths, shape[1] / shape[2])[:, :2]
    grid = torch.nn.functional.affine_grid(
        theta, [len(strengths), *shape], align_corners=False
    )
    ours = torch.nn.functional.grid_sample(
        image.expand(len(strengths), -1, -1, -1) - 0.5, grid, align_corners=False
    )
    for s, out in zip(STRENGTHS, ours + 0.5, strict=True):
        close(out, moved(image.numpy(), matrix(name, s, *shape[1:])), atol=1e-4)


# --------------------------------------------------------------------------------------- all of them, draw by draw


def by_hand(
    images: np.ndarray, generator: torch.Generator, num_ops: int, magnitude: float
) -> np.ndarray:
    """`rand_augment`, one image after the other; colours are done first, then all moves at once."""
    n, _, height, width = images.shape
    out, where = images.astype(np.float64), np.stack([np.eye(3)] * n)
    for _ in range(num_ops):
        choice = torch.randint(14, (n,), generator=generator).tolist()
        noise = torch.randn(n, generator=generator).tolist()
        sign = torch.randint(0, 2, (n,), generator=generator).tolist()
        for i in range(n):
            s = min(1.0, max(0.0, (magnitude + 0.5 * noise[i]) / 10)) * (
                2 * sign[i] - 1
            )
            if (name := NAMES[choice[i]]) in GEOMETRIC:
                where[i] = where[i] @ matrix(name, s, height, width)
            elif name in PHOTOMETRIC:
                float_op = PHOTOMETRIC[name](
                    torch.from_numpy(out[i][None]).float(), torch.full((1, 1, 1, 1), s)
                )
                # each was held to PIL above
                out[i] = float_op[0].clamp(0, 1).double().numpy()
    return np.stack([moved(image, m) for image, m in zip(out, where, strict=True)])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    ("num_ops", "magnitude"),
    [(2, 9.0), (3, 4.0), (2, 0.0)],
)
def test_rand_augment_is_what_its_draws_say(shape, num_ops, magnitude):
    images = smooth_pictures(60, shape)
    ours = rand_augment(images, seeded(1), num_ops, magnitude)
    close(ours, by_hand(images.numpy() / 255, seeded(1), num_ops, magnitude), atol=2e-4)


@pytest.mark.parametrize(
    ("shape", "padding"),
    [((3, 9, 7), 3), ((1, 5, 12), 0)],
)
def test_a_crop_is_what_its_draws_say(shape, padding):
    images = smooth_pictures(40, shape)
    dy, dx = torch.randint(-padding, padding + 1, (2, 40), generator=seeded(2)).tolist()
    for image, out, y, x in zip(
        images, random_crop(images, padding, seeded(2)), dy, dx, strict=True
    ):
        padded = np.pad(
            image.numpy(),
            [(0, 0), (padding, padding), (padding, padding)],
            mode="reflect",
        )
        rows, cols = (
            slice(padding + y, padding + y + shape[1]),
            slice(padding + x, padding + x + shape[2]),
        )
        assert (out.numpy() == padded[:, rows, cols]).all()


@pytest.mark.parametrize("alpha", [0.2, 0.8, 1.0, 4.0])
def test_mixup_shares_are_from_its_beta_distribution(alpha):
    n = 2000
    _, targets = mixup(torch.zeros(n, 1, 1, 1), torch.eye(n), alpha, seeded(3))
    share = targets.diagonal()
    assert (
        stats.kstest(share.double().numpy(), stats.beta(alpha, alpha).cdf).pvalue
        > UNLIKELY
    )
    partner = (targets - torch.diag(share)).argmax(1)[share < 1]
    assert len(partner.unique()) == len(partner)  # nobody is taken twice


def test_a_small_alpha_hardly_mixes():
    """Half of its gamma draws are below single precision's smallest number; two of them would share evenly."""
    n = 4000
    _, targets = mixup(torch.zeros(n, 1, 1, 1), torch.eye(n), 0.02, seeded(3))
    share, beta = targets.diagonal(), stats.beta(0.02, 0.02)
    between = int(((share > 0.1) & (share < 0.9)).sum())
    assert stats.binomtest(between, n, beta.cdf(0.9) - beta.cdf(0.1)).pvalue > UNLIKELY
    assert stats.binomtest(int((share > 0.5).sum()), n).pvalue > UNLIKELY


# ------------------------------------------------------------------------------------------------- one after the other


@pytest.mark.parametrize(
    "part",
    [
        lambda x, g: random_crop(x, 3, g),
        random_flip,
        rand_augment,
        lambda x, g: mixup(x, torch.eye(40), 0.8, g)[0],
        lambda x, g: cutmix(x, torch.eye(40), 1.0, g)[0],
    ],
)
def test_floats_are_taken_as_they_are_and_left_alone(part):
    """Bytes / 255 give what bytes give, and a batch handed over can be used again."""
    images = smooth_pictures(40)
    floats = images / 255
    out, theirs = part(floats, seeded(1)), part(images, seeded(1))
    assert torch.equal(floats, images / 255)
    torch.testing.assert_close(
        out, theirs / 255 if theirs.dtype == torch.uint8 else theirs
    )


@given(
    n=st.integers(1, 6),
    H=st.integers(5, 12),
    W=st.integers(5, 12),
    seed=st.integers(0, 10**6),
    crop=st.integers(0, 4),
    flip=st.booleans(),
    ops=st.integers(0, 3),
    magnitude=st.floats(0, 10),
    mixup=st.sampled_from([0.0, 0.1, 0.8, 4.0]),
    cutmix=st.sampled_from([0.0, 0.1, 1.0, 4.0]),
    smoothing=st.floats(0, 0.9),
)
def test_augmented_images_stay_images_and_targets_whole(
    n, H, W, seed, smoothing, ops, **fields
):
    g = seeded(seed)
    images = torch.randint(0, 256, (n, 3, H, W), dtype=torch.uint8, generator=g)
    labels = torch.randint(0, 7, (n,), generator=g)
    recipe = vl.Recipe(label_smoothing=smoothing, randaugment=ops, **fields)
    x, y = vl.augment_batch(images, labels, recipe, 7, g)
    assert (
        x.shape == images.shape
        and x.dtype == torch.float32
        and 0 <= x.min()
        and x.max() <= 1
    )
    assert y.min() >= 0 and torch.allclose(y.sum(1), torch.ones(n), atol=1e-5)


def test_flip_is_exact():
    images = smooth_pictures(64)
    out = random_flip(images, seeded())
    flipped = (out == images.flip(-1)).flatten(1).all(1)
    assert (
        out.dtype == torch.uint8 and (flipped | (out == images).flatten(1).all(1)).all()
    )
    assert 16 < flipped.sum() < 48


@pytest.mark.errors
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x, g: random_crop(x, 16, g),
            r"padding must be in \[0, 16\), got 16",
        ),
        (lambda x, g: random_flip(x.long(), g), "got torch.int64; convert"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(smooth_pictures(2), seeded())
