"""Drawn-10: the same bytes everywhere, train and test apart, and shapes that are where they should be."""

import hashlib
import itertools

import numpy as np
import pytest
import torch

from vitlib.data.drawn10 import (
    DRAWN10_SIZES,
    drawn10_masks,
    load_drawn10,
)

# sha256 of the first 100 training images, then their labels as bytes
GOLDEN = "7dc922b4d6ffa6d9c672e13d9ee38b2530b2302a9c742447095f3192f84f05ab"

MASKS = "cfa993fab04ff7689aad813c7f8dfd2139a086abe2f69f2e5c03260ecd5441f8"  # of the masks of the first 100 test images


def sha256(images: torch.Tensor, labels: torch.Tensor) -> str:
    return hashlib.sha256(
        images.numpy().tobytes() + labels.to(torch.uint8).numpy().tobytes()
    ).hexdigest()


@pytest.fixture(scope="module")
def splits():
    """The whole data set: {split: (images, labels)}."""
    return {split: load_drawn10(split) for split in DRAWN10_SIZES}


def test_the_same_bytes_on_every_machine(splits):
    images, labels = splits["train"]
    assert sha256(images[:100], labels[:100]) == GOLDEN
    others = [load_drawn10("train", 20, seed=seed)[0] for seed in (1, 2**32 - 1)]
    assert not any(
        torch.equal(a, b) for a, b in itertools.combinations([images[:20], *others], 2)
    )


@pytest.mark.parametrize("n", [1, 10, 1003])
def test_n_takes_a_prefix(splits, n):
    images, labels = load_drawn10("test", n)
    assert len(images) == len(labels) == n
    assert torch.equal(images, splits["test"][0][:n])
    assert torch.equal(labels, splits["test"][1][:n])


def test_each_ten_in_a_row_hold_each_class_once(splits):
    for _, labels in splits.values():
        tens = labels.view(-1, 10)
        assert (tens.sort(dim=1).values == torch.arange(10)).all()
        # in another order each time
        assert len({tuple(row) for row in tens.tolist()}) > 0.99 * len(tens)


def test_no_image_is_in_both_splits_or_twice(splits):
    every = [
        image.tobytes() for images, _ in splits.values() for image in images.numpy()
    ]
    assert len(set(every)) == len(every) == sum(DRAWN10_SIZES.values())


def test_masks_are_the_same_on_every_machine():
    assert (
        hashlib.sha256(drawn10_masks("test", 100).numpy().tobytes()).hexdigest()
        == MASKS
    )


def test_masks_belong_to_the_images():
    images, _ = load_drawn10("test", 40)
    masks = drawn10_masks("test", 40)
    assert masks.shape == (40, 32, 32) and masks.dtype == torch.bool
    assert torch.equal(masks[:7], drawn10_masks("test", 7))
    dark = images.float().mean(1)  # things stand out against what is around them
    contrast = [
        (d[m].mean() - d[~m].mean()).abs().item()
        for d, m in zip(dark, masks, strict=True)
    ]
    moved = [
        (d[m].mean() - d[~m].mean()).abs().item()
        for d, m in zip(dark, masks.roll(1, 0), strict=True)
    ]
    assert np.mean(contrast) > 1.5 * np.mean(moved)


@pytest.mark.errors
@pytest.mark.parametrize(
    "arguments, message",
    [
        (("val",), "split must be one of train, test; got 'val'"),
        (("test", 2001), "expected n from 1 to 2000 .* got 2001"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        load_drawn10(*arguments)
