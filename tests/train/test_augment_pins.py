"""What each part of the augmentation does, against PIL, SciPy and slow code written out here, with the same draws."""

import math
from collections import defaultdict
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.ndimage import map_coordinates

import vitlib as vl
from vitlib.train.augment import GEOMETRIC, PHOTOMETRIC, augment_images, soft_targets

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


def test_grey_has_the_eyes_weights():
    pure = torch.eye(3).view(3, 3, 1, 1)
    for name in ("colour", "contrast"):  # at its weakest, nine tenths grey
        out = PHOTOMETRIC[name](pure, torch.full((3, 1, 1, 1), -1.0))
        expected = 0.1 * torch.eye(3) + 0.9 * torch.tensor([[0.299], [0.587], [0.114]])
        torch.testing.assert_close(out.flatten(1), expected)


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
    ("num_ops", "magnitude"), [(1, 9.0), (2, 9.0), (3, 4.0), (2, 0.0), (1, 10.0)]
)
def test_rand_augment_is_what_its_draws_say(shape, num_ops, magnitude):
    images = smooth_pictures(60, shape)
    ours = vl.rand_augment(images, seeded(1), num_ops, magnitude)
    close(ours, by_hand(images.numpy() / 255, seeded(1), num_ops, magnitude), atol=2e-4)


@pytest.mark.parametrize(
    ("part", "default"),
    [(vl.rand_augment, (2, 9.0)), (vl.random_flip, (0.5,))],
)
def test_defaults(part, default):
    images = smooth_pictures(200)
    assert torch.equal(part(images, seeded()), part(images, seeded(), *default))


def test_there_are_fourteen_and_the_last_does_nothing():
    assert (*GEOMETRIC, *PHOTOMETRIC, "identity") == NAMES and len(set(NAMES)) == 14
    images = smooth_pictures(300)
    idle = torch.randint(14, (300,), generator=seeded(1)) == 13
    assert idle.any() and torch.equal(
        vl.rand_augment(images, seeded(1), 1)[idle], images[idle] / 255
    )


def noted(monkeypatch, n: int, num_ops: int, magnitude: float) -> tuple[dict, dict]:
    """What operations were called with, while nothing was done: strengths by name, and by number of the image."""
    strengths, calls = defaultdict(list), defaultdict(list)

    def place(name, s, aspect):
        assert aspect == 1 / 2
        strengths[name] += s.tolist()
        return torch.eye(3).repeat(len(s), 1, 1)

    def colour(name, x, s):
        strengths[name] += s.flatten().tolist()
        for number, strength in zip(
            (x[:, 0, 0, 0] * n).round().int().tolist(),
            s.flatten().tolist(),
            strict=True,
        ):
            calls[number].append((name, strength))
        return x

    for table, note in ((GEOMETRIC, place), (PHOTOMETRIC, colour)):
        for name in table:
            monkeypatch.setitem(
                table, name, lambda a, b, name=name, note=note: note(name, a, b)
            )
    numbered = (torch.arange(n) / n).view(n, 1, 1, 1).expand(n, 1, 1, 2)
    assert torch.equal(
        vl.rand_augment(numbered, seeded(), num_ops, magnitude), numbered
    )
    return strengths, calls


@pytest.mark.parametrize("magnitude", [0.0, 5.0, 9.0, 10.0])
def test_strengths_are_normal_cut_at_0_and_1_of_either_sign(monkeypatch, magnitude):
    strengths, _ = noted(monkeypatch, 28_000, 1, magnitude)
    normal = stats.norm(magnitude / 10, 0.05)
    for name in NAMES[:-1]:
        s = np.array(strengths[name])
        size = abs(s)
        inside = size[(size > 0) & (size < 1)]
        assert (
            stats.binomtest(int((size == 0).sum()), len(s), normal.cdf(0)).pvalue
            > UNLIKELY
        )
        assert (
            stats.binomtest(int((size == 1).sum()), len(s), normal.sf(1)).pvalue
            > UNLIKELY
        )
        low, high = normal.cdf([0, 1])
        assert (
            stats.kstest((normal.cdf(inside) - low) / (high - low), "uniform").pvalue
            > UNLIKELY
        )
        assert (
            stats.binomtest(int((s > 0).sum()), int((s != 0).sum())).pvalue > UNLIKELY
        )
    counts = [len(strengths[name]) for name in NAMES[:-1]]
    assert stats.chisquare([*counts, 28_000 - sum(counts)]).pvalue > UNLIKELY


def test_an_images_second_operation_and_strength_know_nothing_of_its_first(monkeypatch):
    _, calls = noted(monkeypatch, 12_000, 2, 5.0)
    both = [call for call in calls.values() if len(call) == 2]
    pairs = [(first[0], second[0]) for first, second in both]
    counts = [pairs.count(pair) for pair in product(PHOTOMETRIC, PHOTOMETRIC)]
    assert stats.chisquare(counts).pvalue > UNLIKELY
    (first, second) = np.array([[first[1], second[1]] for first, second in both]).T
    assert stats.pearsonr(first, second).pvalue > UNLIKELY
    assert stats.pearsonr(abs(first), abs(second)).pvalue > UNLIKELY
    assert stats.binomtest(len(both), 12_000, (8 / 14) ** 2).pvalue > UNLIKELY


@pytest.mark.parametrize(
    ("shape", "padding"),
    [((3, 9, 7), 3), ((3, 8, 8), 4), ((1, 5, 12), 0), ((3, 4, 9), 3)],
)
def test_a_crop_is_what_its_draws_say(shape, padding):
    images = smooth_pictures(40, shape)
    dy, dx = torch.randint(-padding, padding + 1, (2, 40), generator=seeded(2)).tolist()
    for image, out, y, x in zip(
        images, vl.random_crop(images, padding, seeded(2)), dy, dx, strict=True
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


def test_shifts_are_even_in_both_directions():
    """A picture that says where it is: each of 7 x 7 shifts comes as often as any."""
    y, x = torch.meshgrid(torch.arange(20), torch.arange(20), indexing="ij")
    place = torch.stack([y, x, x]).to(torch.uint8).expand(9800, -1, -1, -1)
    middle = vl.random_crop(place, 3, seeded())[:, :2, 10, 10].int() - 10
    counts = np.bincount(
        ((middle[:, 0] + 3) * 7 + middle[:, 1] + 3).numpy(), minlength=49
    )
    assert len(counts) == 49 and stats.chisquare(counts).pvalue > UNLIKELY


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_as_many_are_flipped_as_asked(p):
    images = smooth_pictures(3000, (1, 24, 24))
    flipped = (
        (vl.random_flip(images, seeded(), p) != images).flatten(1).any(1).sum().item()
    )
    assert stats.binomtest(flipped, 3000, p).pvalue > UNLIKELY


@pytest.mark.parametrize("alpha", [0.2, 0.8, 1.0, 4.0])
def test_mixup_shares_are_from_its_beta_distribution(alpha):
    n = 2000
    _, targets = vl.mixup(torch.zeros(n, 1, 1, 1), torch.eye(n), alpha, seeded(3))
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
    _, targets = vl.mixup(torch.zeros(n, 1, 1, 1), torch.eye(n), 0.02, seeded(3))
    share, beta = targets.diagonal(), stats.beta(0.02, 0.02)
    between = int(((share > 0.1) & (share < 0.9)).sum())
    assert stats.binomtest(between, n, beta.cdf(0.9) - beta.cdf(0.1)).pvalue > UNLIKELY
    assert stats.binomtest(int((share > 0.5).sum()), n).pvalue > UNLIKELY


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mix", [vl.mixup, vl.cutmix])
def test_every_partner_is_as_likely_and_taken_once(mix):
    """Image number i is white in channel i alone, and so its pixels have to say what its targets say."""
    n, batches = 5, 2000
    counts, images = torch.zeros(n, n), torch.eye(n).view(n, n, 1, 1).expand(n, n, 6, 6)
    for seed in range(batches):
        out, targets = mix(images, torch.eye(n), 1.0, seeded(seed))
        torch.testing.assert_close(out.mean((2, 3)), targets)
        own = targets.diagonal()
        # the others were their own partner, or got a box without a pixel
        met = (own < 1).nonzero().squeeze(1)
        partner = (targets - torch.diag(own)).argmax(1)[met]
        assert len(partner.unique()) == len(partner)
        counts[met, partner] += 1
    assert (
        stats.chisquare(counts[~torch.eye(n, dtype=torch.bool)].numpy()).pvalue
        > UNLIKELY
    )
    if mix is vl.mixup:
        alone = int(n * batches - counts.sum())
        assert stats.binomtest(alone, n * batches, 1 / n).pvalue > UNLIKELY


def boxes(dice, height: np.ndarray, width: np.ndarray, H: int, W: int) -> np.ndarray:
    """Boxes around places anywhere in the image, as far as they are in it: (n, H, W)."""
    n = len(height)
    rows = abs(np.arange(H) + 0.5 - dice.uniform(0, H, (n, 1))) < height[:, None] / 2
    cols = abs(np.arange(W) + 0.5 - dice.uniform(0, W, (n, 1))) < width[:, None] / 2
    return rows[:, :, None] & cols[:, None, :]


def assert_alike(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Two sets of boxes have the same distribution: of area, height, width, and of where they lie."""
    for measure in (
        lambda box: box.sum((1, 2)),
        lambda box: box.any(2).sum(1),
        lambda box: box.any(1).sum(1),
        lambda box: box.any(1).sum(1) / np.maximum(1, box.any(2).sum(1)),
    ):
        assert stats.ks_2samp(measure(ours), measure(theirs)).pvalue > UNLIKELY
    covered = (ours.mean(0), theirs.mean(0))
    assert abs(covered[0] - covered[1]).max() < 5 * math.sqrt(2 * 0.25 / len(ours))


SIZES = pytest.mark.parametrize(("H", "W"), [(24, 24), (16, 40)])


@SIZES
@pytest.mark.parametrize("alpha", [0.3, 1.0, 3.0])
def test_cutmix_boxes_are_as_large_as_their_shares(alpha, H, W):
    """A box's sides are both sqrt(1 - share) of the image's; the targets have what is left of it in the image."""
    n = 4000
    images = (torch.arange(n) % 2.0).view(n, 1, 1, 1).expand(n, 1, H, W)
    out, targets = vl.cutmix(images, images[:, 0, 0, :1], alpha, seeded(4))
    ours = (out != images)[:, 0].numpy()
    torch.testing.assert_close(out.mean((1, 2, 3)), targets[:, 0])
    dice = np.random.default_rng(0)
    side = np.sqrt(1 - dice.beta(alpha, alpha, n))
    theirs = boxes(dice, side * H, side * W, H, W)
    # a partner of the same colour leaves no trace
    theirs &= dice.random((n, 1, 1)) < 0.5
    assert_alike(ours, theirs)


@pytest.mark.sampled(4)
def test_either_mixing_method_is_as_likely_and_each_batch_has_one():
    images, labels = smooth_pictures(8, (1, 6, 6)), torch.arange(8)
    recipe = vl.Recipe(crop=0, flip=False, mixup=0.8, cutmix=1.0)
    blended = 0
    for seed in range(400):
        out, _ = vl.augment_batch(images, labels, recipe, 8, seeded(seed))
        known = torch.isin((out * 255).round(), images.float()) & (
            (out * 255).round() == out * 255
        )
        blended += (~known).any().item()
    assert stats.binomtest(blended, 400, 0.5).pvalue > UNLIKELY


# ------------------------------------------------------------------------------------------------- one after the other

FULL = dict(
    crop=3,
    flip=True,
    randaugment=3,
    magnitude=4.0,
    mixup=0.4,
    cutmix=2.0,
    label_smoothing=0.2,
)
OFF = dict.fromkeys(FULL, 0) | {"magnitude": 4.0}


@pytest.mark.parametrize("mix", [True, False])
@pytest.mark.parametrize(
    "recipe",
    [
        FULL,
        OFF,
        *(OFF | {name: FULL[name]} for name in FULL if name != "magnitude"),
        *(FULL | {name: 0} for name in FULL if name != "magnitude"),
    ],
    ids=lambda recipe: " ".join(name for name, value in recipe.items() if value),
)
def test_a_batch_is_cropped_flipped_changed_and_mixed_in_this_order(recipe, mix):
    r, labels, images = (
        SimpleNamespace(**recipe),
        torch.arange(12) % 5,
        smooth_pictures(12, (3, 10, 14)),
    )
    for seed in range(4):  # Mixup and CutMix are drawn
        g, x = seeded(seed), images
        if r.crop:
            x = vl.random_crop(x, 3, g)
        if r.flip:
            x = vl.random_flip(x, g, 0.5)
        x = x / 255
        if r.randaugment:
            x = vl.rand_augment(x, g, 3, 4.0)
        y = torch.full((12, 5), r.label_smoothing / 5)
        y[torch.arange(12), labels] += 1 - r.label_smoothing
        ways = [(vl.mixup, 0.4)] * bool(r.mixup) + [(vl.cutmix, 2.0)] * bool(r.cutmix)
        if mix and ways:
            way, alpha = ways[torch.randint(len(ways), (), generator=g)]
            x, y = way(x, y, alpha, g)
        out, targets = vl.augment_batch(images, labels, r, 5, seeded(seed), mix)
        close(out, x.numpy(), atol=1e-6)
        close(targets, y.numpy(), atol=1e-6)
    if not mix or not (r.mixup or r.cutmix):
        assert torch.equal(augment_images(images, r, seeded(seed)), out)


@pytest.mark.parametrize(
    "part",
    [
        lambda x, g: vl.random_crop(x, 3, g),
        vl.random_flip,
        vl.rand_augment,
        lambda x, g: vl.mixup(x, torch.eye(40), 0.8, g)[0],
        lambda x, g: vl.cutmix(x, torch.eye(40), 1.0, g)[0],
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


def test_one_seed_one_result_and_the_input_and_the_global_random_state_stay():
    images, labels, recipe = (
        smooth_pictures(16),
        torch.arange(16) % 10,
        SimpleNamespace(**FULL),
    )
    kept, state = images.clone(), torch.get_rng_state()
    x, y = vl.augment_batch(images, labels, recipe, 10, seeded(3))
    again = vl.augment_batch(images, labels, recipe, 10, seeded(3))
    other = vl.augment_batch(images, labels, recipe, 10, seeded(4))
    assert (
        torch.equal(x, again[0])
        and torch.equal(y, again[1])
        and not torch.equal(x, other[0])
    )
    assert torch.equal(images, kept) and torch.equal(state, torch.get_rng_state())


def test_flip_is_exact():
    images = smooth_pictures(64)
    out = vl.random_flip(images, seeded())
    flipped = (out == images.flip(-1)).flatten(1).all(1)
    assert (
        out.dtype == torch.uint8 and (flipped | (out == images).flatten(1).all(1)).all()
    )
    assert torch.equal(vl.random_flip(images, seeded(), p=1.0), images.flip(-1))
    assert torch.equal(vl.random_flip(images, seeded(), p=0.0), images)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x, g: vl.random_crop(x, 16, g),
            r"padding must be in \[0, 16\), got 16",
        ),
        (
            lambda x, g: vl.random_crop(x[:, :, :8], 8, g),
            r"padding must be in \[0, 8\), got 8",
        ),
        (lambda x, g: vl.random_crop(x.long(), 2, g), "got torch.int64; convert"),
        (lambda x, g: vl.random_flip(x.long(), g), "got torch.int64; convert"),
        (
            lambda x, g: soft_targets(torch.zeros(2).long(), 3, 1.0),
            r"smoothing must be .* in \[0, 1\), got",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(smooth_pictures(2), seeded())
