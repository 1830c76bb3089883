"""Augmentation: shapes and ranges, parameters per image, one seed one result, labels that stay whole."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import vitlib as vl
from vitlib.train.augment import PHOTOMETRIC, soft_targets


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pictures(n: int = 8, height: int = 16, width: int = 16, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 256, (n, 3, height, width), dtype=torch.uint8, generator=seeded(seed))


IMAGES = {"crop": 4, "flip": True, "randaugment": 2, "magnitude": 9.0, "erasing": 0.5}
ALL = SimpleNamespace(**IMAGES, mixup=0.8, cutmix=1.0, label_smoothing=0.1)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 9), height=st.integers(5, 20), width=st.integers(5, 20), seed=st.integers(0, 10**6))
def test_augment_keeps_shapes_ranges_and_whole_labels(n, height, width, seed):
    images, labels = pictures(n, height, width, seed), torch.randint(0, 7, (n,), generator=seeded(seed))
    x, y = vl.augment_batch(images, labels, ALL, 7, seeded(seed))
    assert x.shape == images.shape and x.dtype == torch.float32 and 0 <= x.min() and x.max() <= 1
    assert y.shape == (n, 7) and y.min() >= 0
    torch.testing.assert_close(y.sum(1), torch.ones(n))


def test_one_seed_one_result_and_the_input_and_the_global_random_state_stay():
    images, labels = pictures(16), torch.arange(16) % 10
    kept, state = images.clone(), torch.get_rng_state()
    x, y = vl.augment_batch(images, labels, ALL, 10, seeded(3))
    again = vl.augment_batch(images, labels, ALL, 10, seeded(3))
    other = vl.augment_batch(images, labels, ALL, 10, seeded(4))
    assert torch.equal(x, again[0]) and torch.equal(y, again[1]) and not torch.equal(x, other[0])
    assert torch.equal(images, kept) and torch.equal(state, torch.get_rng_state())


def test_flip_is_exact():
    images = pictures(64)
    out = vl.random_flip(images, seeded())
    flipped = (out == images.flip(-1)).flatten(1).all(1)
    assert out.dtype == torch.uint8 and (flipped | (out == images).flatten(1).all(1)).all()
    assert 16 < flipped.sum() < 48
    assert torch.equal(vl.random_flip(images, seeded(), p=1.0), images.flip(-1))
    assert torch.equal(vl.random_flip(images, seeded(), p=0.0), images)


def test_soft_targets_golden():
    assert torch.allclose(soft_targets(torch.tensor([1]), 4, 0.2), torch.tensor([[0.05, 0.85, 0.05, 0.05]]))


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


@pytest.mark.errors
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: vl.random_crop(pictures(), 16, g), r"padding must be in \[0, 16\), got 16"),
        (lambda g: vl.random_crop(pictures(2, 8, 12), 8, g), r"padding must be in \[0, 8\), got 8"),
        (lambda g: vl.random_crop(pictures()[0], 2, g), r"got \(3, 16, 16\); add the batch axis"),
        (lambda g: vl.random_flip(pictures().long(), g), "got torch.int64; convert"),
        (lambda g: vl.mixup(pictures(), torch.eye(8), 0.0, g), "alpha must be a number above 0, got 0.0"),
        (
            lambda g: soft_targets(torch.zeros(2).long(), 3, 1.0),
            r"smoothing must be a number in \[0, 1\), got",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(seeded())
