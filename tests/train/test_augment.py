"""Augmentation: shapes and ranges, parameters per image, one seed one result, labels that stay whole."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import vitlib as vl
from vitlib.data.dataset import to_float
from vitlib.train.augment import soft_targets
from vitlib.train.randaugment import GEOMETRIC, PHOTOMETRIC


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pictures(n: int = 8, height: int = 16, width: int = 16, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 256, (n, 3, height, width), dtype=torch.uint8, generator=seeded(seed))


def same_picture(n: int = 32) -> torch.Tensor:
    return pictures(1).expand(n, -1, -1, -1).contiguous()


def all_of_it(**changes) -> SimpleNamespace:
    fields = dict(
        crop=4,
        flip=True,
        randaugment=2,
        magnitude=9.0,
        erasing=0.5,
        mixup=0.8,
        cutmix=1.0,
        label_smoothing=0.1,
    )
    return SimpleNamespace(**(fields | changes))


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 9), height=st.integers(5, 20), width=st.integers(5, 20), seed=st.integers(0, 10**6))
def test_augment_keeps_shapes_ranges_and_whole_labels(n, height, width, seed):
    images, labels = pictures(n, height, width, seed), torch.randint(0, 7, (n,), generator=seeded(seed))
    x, y = vl.augment_batch(images, labels, all_of_it(), 7, seeded(seed))
    assert x.shape == images.shape and x.dtype == torch.float32 and 0 <= x.min() and x.max() <= 1
    assert y.shape == (n, 7) and y.min() >= 0
    torch.testing.assert_close(y.sum(1), torch.ones(n))


def test_one_seed_one_result_and_the_input_stays():
    images, labels = pictures(16), torch.arange(16) % 10
    kept = images.clone()
    x, y = vl.augment_batch(images, labels, all_of_it(), 10, seeded(3))
    again = vl.augment_batch(images, labels, all_of_it(), 10, seeded(3))
    other = vl.augment_batch(images, labels, all_of_it(), 10, seeded(4))
    assert torch.equal(x, again[0]) and torch.equal(y, again[1]) and not torch.equal(x, other[0])
    assert torch.equal(images, kept)


def test_the_global_random_state_is_left_alone():
    state = torch.get_rng_state()
    vl.augment_batch(pictures(), torch.zeros(8, dtype=torch.long), all_of_it(), 10, seeded())
    assert torch.equal(state, torch.get_rng_state())


def test_everything_off_gives_the_images_and_hard_labels():
    off = all_of_it(
        crop=0, flip=False, randaugment=0, erasing=0.0, mixup=0.0, cutmix=0.0, label_smoothing=0.0
    )
    images, labels = pictures(), torch.arange(8)
    x, y = vl.augment_batch(images, labels, off, 10, seeded())
    assert torch.equal(x, images.float() / 255) and torch.equal(y.argmax(1), labels) and y.max() == 1


def test_mixing_can_be_switched_off():
    recipe = all_of_it(label_smoothing=0.0)
    labels = torch.arange(8)
    _, mixed = vl.augment_batch(pictures(), labels, recipe, 10, seeded())
    _, hard = vl.augment_batch(pictures(), labels, recipe, 10, seeded(), mix=False)
    assert (
        torch.equal(hard.argmax(1), labels)
        and hard.max(1).values.eq(1).all()
        and not torch.equal(mixed, hard)
    )


@pytest.mark.parametrize(
    "method",
    [
        lambda x, g: vl.random_crop(x, 4, g),
        vl.random_flip,
        vl.rand_augment,
        lambda x, g: vl.random_erasing(x, g, p=1.0),
    ],
)
def test_parameters_are_drawn_per_image(method):
    out = method(same_picture(), seeded())
    distinct = {tuple(image.flatten().tolist()) for image in out}
    assert len(distinct) >= (2 if method is vl.random_flip else 12)


def test_flip_is_exact():
    images = pictures(64)
    out = vl.random_flip(images, seeded())
    flipped = (out == images.flip(-1)).flatten(1).all(1)
    assert out.dtype == torch.uint8 and (flipped | (out == images).flatten(1).all(1)).all()
    assert 16 < flipped.sum() < 48
    assert torch.equal(vl.random_flip(images, seeded(), p=1.0), images.flip(-1))
    assert torch.equal(vl.random_flip(images, seeded(), p=0.0), images)


@settings(max_examples=25, deadline=None)
@given(
    height=st.integers(5, 12), width=st.integers(5, 12), padding=st.integers(0, 4), seed=st.integers(0, 10**6)
)
def test_each_crop_is_a_window_of_the_mirrored_image(height, width, padding, seed):
    images = pictures(3, height, width, seed)
    padded = torch.nn.functional.pad(images.float(), (padding,) * 4, mode="reflect").to(torch.uint8)
    windows = padded.unfold(2, height, 1).unfold(3, width, 1)  # (3, C, 2p+1, 2p+1, H, W)
    for out, theirs in zip(vl.random_crop(images, padding, seeded(seed)), windows, strict=True):
        assert (theirs.permute(1, 2, 0, 3, 4) == out).flatten(2).all(2).any()


def test_mixup_mixes_images_and_labels_alike():
    images = torch.rand(64, 1, 2, 2, generator=seeded())
    targets = images[:, 0, 0, :1] * torch.ones(1, 3)  # a target that is a linear function of the image
    x, y = vl.mixup(images, targets, 0.8, seeded(1))
    torch.testing.assert_close(x[:, 0, 0, :1] * torch.ones(1, 3), y)
    assert not torch.equal(x, images)


def test_cutmix_labels_hold_the_share_of_pixels():
    n = 200
    images = (
        torch.arange(n, dtype=torch.float32).div(n).view(n, 1, 1, 1).expand(n, 3, 10, 14)
    )  # own grey each
    x, y = vl.cutmix(images, torch.eye(n), 1.0, seeded(1))
    share = (x == images).all(1).flatten(1).float().mean(1)
    torch.testing.assert_close(y.diagonal(), share)
    for i in (share < 1).nonzero().flatten().tolist():  # what is not its own is one other image, in one box
        foreign = (x[i, 0] != images[i, 0]).nonzero()
        rows, cols = foreign.max(0).values - foreign.min(0).values + 1
        assert rows * cols == len(foreign) and len(x[i].unique()) <= 2
    assert 0.35 < share.mean() < 0.75 and share.std() > 0.15


def test_erasing_paints_grey_boxes_on_the_share_asked_for():
    images = torch.zeros(400, 3, 16, 16)
    out = vl.random_erasing(images, seeded(), p=0.25)
    hit = out.flatten(1).any(1)
    assert 0.15 < hit.float().mean() < 0.35 and set(out.unique().tolist()) == {0.0, 0.5}
    assert (out[hit] > 0).float().mean((1, 2, 3)).max() <= 0.45


def test_soft_targets_golden():
    assert torch.allclose(soft_targets(torch.tensor([1]), 4, 0.2), torch.tensor([[0.05, 0.85, 0.05, 0.05]]))


@pytest.mark.parametrize("name", PHOTOMETRIC)
def test_photometric_strength_zero_changes_little(name):
    x = to_float(pictures())
    out = PHOTOMETRIC[name](x, torch.zeros(8, 1, 1, 1))
    assert out.shape == x.shape
    if name not in ("autocontrast", "equalize"):  # these have no strength
        torch.testing.assert_close(out, x, atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", GEOMETRIC)
def test_geometric_strength_zero_is_the_identity(name):
    assert torch.equal(GEOMETRIC[name](torch.zeros(2), 0.5), torch.eye(3).expand(2, 3, 3))


def test_photometric_operations_golden():
    x = torch.tensor([0.0, 0.2, 0.6, 1.0]).view(1, 1, 2, 2).expand(1, 3, 2, 2)
    one = torch.ones(1, 1, 1, 1)

    def op(name, s=one, image=x):
        return PHOTOMETRIC[name](image, s)[0, 0].flatten().tolist()

    assert op("brightness", -one) == pytest.approx([0, 0.02, 0.06, 0.1])
    assert op("contrast", -one) == pytest.approx([0.405, 0.425, 0.465, 0.505])
    assert op("colour") == pytest.approx([0, 0.2, 0.6, 1])  # grey has no colour
    assert op("posterize") == pytest.approx([0, 48 / 255, 144 / 255, 240 / 255])  # 4 bits left
    assert op("solarize", 0.5 * one) == pytest.approx([0, 0.2, 0.4, 0.0])
    assert op("autocontrast", image=x / 2 + 0.1) == pytest.approx([0, 0.2, 0.6, 1])


def test_equalize_equals_pil():
    image_module = pytest.importorskip("PIL.Image")
    from PIL import ImageOps

    images = (pictures(4).float() * 0.4 + 30).to(torch.uint8)
    ours = (PHOTOMETRIC["equalize"](to_float(images), torch.zeros(4, 1, 1, 1)) * 255).round().to(torch.uint8)
    for image, out in zip(images, ours, strict=True):
        theirs = ImageOps.equalize(image_module.fromarray(image.permute(1, 2, 0).numpy()))
        assert out.permute(1, 2, 0).flatten().tolist() == list(theirs.tobytes())


def test_rotation_keeps_square_pixels_on_oblong_images():
    x = torch.zeros(1, 1, 20, 40)
    x[..., 8:12, 18:22] = 1  # a square in the middle
    theta = GEOMETRIC["rotate"](torch.tensor([3.0]), 20 / 40)[:, :2]  # 90 degrees
    grid = torch.nn.functional.affine_grid(theta, [1, 1, 20, 40], align_corners=False)
    torch.testing.assert_close(
        torch.nn.functional.grid_sample(x, grid, align_corners=False), x, atol=1e-5, rtol=0
    )


def test_translation_moves_by_its_share_of_the_side():
    x = torch.zeros(1, 1, 20, 40)
    x[..., 10, 30] = 1
    theta = GEOMETRIC["translate_x"](torch.tensor([10 / 18]), 0.5)[:, :2]  # 10/18 of 45 % of 40 pixels
    grid = torch.nn.functional.affine_grid(theta, [1, 1, 20, 40], align_corners=False)
    moved = torch.nn.functional.grid_sample(x, grid, align_corners=False)
    assert moved[0, 0, 10, 20].item() == pytest.approx(1, abs=1e-4)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: vl.random_crop(pictures(), 16, g), r"padding must be in \[0, 16\), got 16"),
        (lambda g: vl.random_crop(pictures(2, 8, 12), 8, g), r"padding must be in \[0, 8\), got 8"),
        (lambda g: vl.random_crop(pictures()[0], 2, g), r"got \(3, 16, 16\); add the batch axis"),
        (lambda g: vl.random_flip(pictures().long(), g), "got torch.int64; convert"),
        (lambda g: vl.mixup(pictures(), torch.eye(8), 0.0, g), "alpha must be a number above 0, got 0.0"),
        (lambda g: vl.rand_augment(pictures(), g, num_ops=0), "num_ops must be a positive integer, got 0"),
        (
            lambda g: vl.rand_augment(pictures(), g, magnitude=11),
            r"magnitude must be a number in \[0, 10\], got 11",
        ),
        (
            lambda g: soft_targets(torch.zeros(2, dtype=torch.long), 3, 1.0),
            r"smoothing must be a number in \[0, 1\), got 1.0",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(seeded())
