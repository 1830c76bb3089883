"""Drawn-10: the same bytes everywhere, train and test apart, and shapes that are where they should be."""

import hashlib
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vitlib.data import drawn10
from vitlib.data.drawn10 import (
    DRAWN10_CLASSES,
    DRAWN10_SIZES,
    drawn10_masks,
    load_drawn10,
)
from vitlib.evidence import load_results

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


def test_sizes_and_types(splits):
    assert len(DRAWN10_CLASSES) == 10 and sorted(DRAWN10_CLASSES) == list(
        DRAWN10_CLASSES
    )
    for split, (images, labels) in splits.items():
        assert (
            images.shape == (DRAWN10_SIZES[split], 3, 32, 32)
            and images.dtype == torch.uint8
        )
        assert labels.shape == (DRAWN10_SIZES[split],) and labels.dtype == torch.int64
        assert images.is_contiguous()


def test_the_same_bytes_on_every_machine(splits):
    images, labels = splits["train"]
    assert sha256(images[:100], labels[:100]) == GOLDEN
    others = [load_drawn10("train", 20, seed=seed)[0] for seed in (1, 2**32 - 1)]
    assert not any(
        torch.equal(a, b) for a, b in itertools.combinations([images[:20], *others], 2)
    )


@pytest.mark.parametrize("n", [1, 7, 10, 499, 501, 1003])
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


def test_no_training_image_is_a_near_copy_of_a_test_image(splits):
    test, train = (
        splits[split][0][:1000].flatten(1).float() for split in ("test", "train")
    )
    assert torch.cdist(test, train).min() / 3072**0.5 > 5, (
        "grey levels, root mean square"
    )


def test_colour_and_place_tell_little(splits):
    """Classes hardly differ in mean colour: the spread between classes is small beside that within one."""
    images, labels = splits["train"]
    mean = images.float().mean((2, 3))  # (n, 3)
    between = torch.stack([mean[labels == k].mean(0) for k in range(10)]).std(0)
    assert (between < 0.25 * mean.std(0)).all()


def test_pictures_use_the_whole_range_and_are_not_flat(splits):
    images = splits["train"][0][:500].float()
    assert images.amin() == 0 and images.amax() == 255
    assert images.std((1, 2, 3)).min() > 8


def test_the_recorded_difficulty_is_as_promised():
    record, model = (
        load_results("drawn10-difficulty"),
        load_results("drawn10-small")["final"],
    )
    assert record["ridge"]["test_accuracy"] < 0.45 < 0.8 < model["test_accuracy"]
    assert (
        record["dataset"] == "Drawn-10"
        and record["command"] == "python -m tools.measure_drawn10"
    )
    assert (
        record["mean_colour"]["test_accuracy"]
        < 0.15
        < record["grey_histogram"]["test_accuracy"]
        < 0.25
    )


@pytest.mark.parametrize("label", range(10))
def test_masks_are_where_the_thing_changed_the_picture(label):
    scene = drawn10._Scene(drawn10._Dice(0, "test", np.arange(200)))
    scene.frame(0, 0, 0.7, 0.1)
    backdrop, scene.covered[:] = scene.canvas.copy(), 0
    drawn10._THINGS[label](scene)
    changed = np.abs(scene.canvas - backdrop).max(axis=1) > 1e-6
    assert not changed[scene.covered == 0].any()
    assert changed[scene.covered > 0.5].mean() > 0.99  # a colour may be the backdrop's
    share = (scene.covered >= 0.5).mean(axis=(1, 2))
    assert (0.03 < share).all() and (share < 0.6).all()


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


def test_everything_is_float32():
    """float64 would be rounded differently by another version of NumPy, and cost twice the time."""
    dice = drawn10._Dice(0, "train", np.arange(3))
    scene = drawn10._Scene(dice)
    painted = []
    scene.paint = lambda distance, colour, opacity=1: painted.append((distance, colour))
    for thing in drawn10._THINGS:
        thing(scene)
    assert scene.canvas.dtype == scene.x.dtype == scene.y.dtype == np.float32
    assert len(painted) > 40
    for distance, colour in painted:
        assert distance.dtype == colour.dtype == np.float32
        assert distance.shape == (3, 32, 32) and colour.shape == (3, 3, 1, 1)


@pytest.mark.parametrize(
    "shape, inside, outside",
    [
        (lambda x, y: drawn10._disc(x, y, 0.5), (0.3, 0.3), (0.4, 0.4)),
        (lambda x, y: drawn10._disc(x, y, 0.5, 0.2), (0.4, 0.0), (0.0, 0.4)),
        (lambda x, y: drawn10._box(x, y, 0.5, 0.2), (0.4, 0.1), (0.4, 0.3)),
        (
            lambda x, y: drawn10._polygon(x, y, (0, -1), (1, 1), (-1, 1)),
            (0.0, 0.9),
            (0.9, -0.5),
        ),
        (lambda x, y: drawn10._stripes(x, 1.0), (0.5, 0.0), (1.0, 0.0)),
    ],
)
def test_distances_are_negative_inside(shape, inside, outside):
    assert shape(*map(np.float32, inside)) < 0 < shape(*map(np.float32, outside))


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_distances_never_overstate(x, y):
    """The distance of a disc and of a polygon changes by at most the way gone, so edges are one pixel soft."""
    step = np.float32(0.01)
    x, y = np.float32(x), np.float32(y)
    for shape in (
        lambda x, y: drawn10._disc(x, y, 0.5),
        lambda x, y: drawn10._polygon(x, y, (0, -1), (1, 1), (-1, 1)),
    ):
        assert abs(shape(x + step, y) - shape(x, y)) <= step * 1.01 + 1e-6


def test_dice_are_uniform_and_independent():
    dice = drawn10._Dice(0, "train", np.arange(10_000))
    rolls = np.concatenate([dice()[:, 0] for _ in range(8)], axis=1)  # (10000, 8)
    assert rolls.min() >= 0 and rolls.max() < 1
    assert (
        np.abs(rolls.mean(0) - 0.5).max() < 0.015
        and np.abs(rolls.std(0) - 12**-0.5).max() < 0.01
    )
    assert np.abs(np.corrcoef(rolls.T) - np.eye(8)).max() < 0.05
    assert np.abs(np.corrcoef(rolls[:-1, 0], rolls[1:, 0])[0, 1]) < 0.05, (
        "neighbouring images"
    )
    low, high = dice(-3, -2), dice(5, 7)
    assert -3 <= low.min() and low.max() < -2 and 5 <= high.min() and high.max() < 7
    assert abs(dice.coin(0.3).mean() - 0.3) < 0.03
    grain = drawn10._Dice(0, "train", np.arange(50)).grain()
    assert abs(grain.mean()) < 0.01 and -0.5 <= grain.min() and grain.max() < 0.5


@pytest.mark.errors
@pytest.mark.parametrize(
    "arguments, message",
    [
        (("val",), "split must be one of train, test; got 'val'"),
        (("train", 0), "expected n from 1 to 10000 for Drawn-10's train split, got 0"),
        (("test", 2001), "expected n from 1 to 2000 .* got 2001"),
        (("test", 2.5), "got 2.5"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        load_drawn10(*arguments)
