"""How bad input is refused: the words of each check, and what it lets through."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vitlib import checks


@pytest.mark.parametrize(
    "shape, wanted",
    [
        ((2, 3, 16, 16), "B 3 16 16"),
        ((0, 3, 16, 16), "B 3 16 16"),
        ((1, 2, 5, 3), "B C H W"),  # any number of channels: the shape does not say which axis they are
        ((3, 8, 8), "... C H W"),
        ((2, 5, 3, 8, 8), "... C H W"),
        ((1, 1, 3), "... C H W"),
    ],
)
def test_images_of_the_shape_pass(shape, wanted):
    checks.check_images(torch.zeros(shape), wanted)


@pytest.mark.errors
@pytest.mark.parametrize(
    "shape, wanted, message",
    [
        (
            (3, 16, 16),
            "B 3 16 16",
            r"\(B, 3, 16, 16\), got \(3, 16, 16\); add the batch axis with images\[None\]",
        ),
        ((2, 16, 16, 3), "B 3 16 16", r"move the channels first with images.permute\(0, 3, 1, 2\)"),
        ((2, 1, 16, 16), "B 3 16 16", "the model takes 3 channels"),
        ((2, 3, 16, 32), "B 3 16 16", "resize the images$"),
        ((1, 2, 3, 16, 16), "B 3 16 16", "give 4 axes"),
        ((8, 8), "... C H W", r"\(..., C, H, W\), got \(8, 8\); add the batch axis"),
        ((8, 8, 3), "... C H W", r"images.permute\(2, 0, 1\)"),
        ((5, 2, 8, 8, 4), "... C H W", r"images.permute\(0, 1, 4, 2, 3\)"),
    ],
)
def test_images_of_another_shape_are_refused(shape, wanted, message):
    with pytest.raises(ValueError, match=f"expected images of shape .*{message}"):
        checks.check_images(torch.zeros(shape), wanted)


@pytest.mark.errors
@pytest.mark.parametrize("thing", [np.zeros((2, 3, 4, 4)), [1, 2], None, "cat.png"])
def test_what_is_no_tensor_is_refused(thing):
    with pytest.raises(ValueError, match=rf"got {type(thing).__name__}; turn .*permute\(2, 0, 1\)"):
        checks.check_images(thing)


@pytest.mark.errors
def test_a_fix_that_follows_turns_the_axes_right():
    images = torch.zeros(5, 2, 8, 9, 4)
    with pytest.raises(ValueError) as error:
        checks.check_images(images, "... C H W")
    fix = str(error.value).rpartition("images.permute")[2]
    assert images.permute(eval(fix)).shape == (5, 2, 4, 8, 9)


@pytest.mark.errors
@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: checks.check_dtype(torch.zeros(1, dtype=torch.int8), "uint8 or float", "cast"),
            "got torch.int8; cast",
        ),
        (
            lambda: checks.check_dtype(torch.zeros(1), "uint8", "x"),
            "expected uint8 images, got torch.float32; x",
        ),
        (lambda: checks.check_count("n", True), "n must be a positive integer, got True"),
        (lambda: checks.check_count("n", 2.0), "got 2.0"),
        (lambda: checks.check_rate("p", 1), r"p must be in \[0, 1\), got 1"),
        (lambda: checks.check_rate("p", float("nan")), "got nan"),
        (lambda: checks.check_rate("p", 5, 5), r"p must be in \[0, 5\), got 5"),
        (lambda: checks.check_between("n", 4, 1, 3, " of it"), "expected n from 1 to 3 of it, got 4"),
        (lambda: checks.check_between("n", 0, 1, 3), "got 0"),
        (lambda: checks.check_between("n", 1.0, 1, 3), "got 1.0"),
        (
            lambda: checks.check_choice("split", "tain", ("train", "test")),
            "train, test; got 'tain'; did you mean 'train'",
        ),
        (lambda: checks.check_choice("split", "xyz", ("train", "test")), "got 'xyz'$"),
        (
            lambda: checks.check_multiple("width", 33, 4),
            "width 33 is not a multiple of patch_size 4; try 32 or 36",
        ),
        (lambda: checks.check_multiple("width", 3, 4), "try 4$"),
        (lambda: checks.check_divides(0, 8, 8), "patch_size must be a positive integer, got 0"),
        (lambda: checks.check_divides(4, 8, 10), "image width 10 is not a multiple"),
        (
            lambda: checks.as_pair("size", (8, 0)),
            r"size must be a positive integer or \(height, width\), got \(8, 0\)",
        ),
        (
            lambda: checks.check_grid("grid", 3),
            r"grid must be \(rows, columns\), got 3; at least one of each",
        ),
    ],
)
def test_the_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_passes():
    checks.check_dtype(torch.zeros(1, dtype=torch.bfloat16), "normalised float", "x")
    checks.check_dtype(torch.zeros(1, dtype=torch.uint8), "uint8 or float", "x")
    checks.check_rate("p", 0)
    checks.check_between("n", 3, 1, 3)
    checks.check_choice("split", "test", ("train", "test"))
    assert checks.as_pair("size", 8) == checks.as_pair("size", [8, 8]) == (8, 8)


@pytest.mark.errors
@pytest.mark.parametrize("name", [None, 3, "", ".", "..", " ", "a/b", "../../x", "a\\b", "a\0b", "x" * 201])
def test_names_that_are_no_file_names(name):
    with pytest.raises(ValueError, match="--name must be a file name without folders, got .*; give another"):
        checks.check_name("--name", name, "give another")


def test_names_that_are():
    for name in ("cifar10-laptop", ".hidden", "v1.5", "Été 3", "x" * 200):
        checks.check_name("--name", name, "give another")


@pytest.mark.errors
@pytest.mark.parametrize(
    "weights",
    [
        torch.tensor([1.0, float("nan")]),
        torch.tensor([float("inf")]),
        torch.tensor([1e5]),
        torch.ones(1, dtype=torch.complex64),
        torch.ones(1, dtype=torch.int64),
        torch.ones(1, dtype=torch.bool),
        torch.ones(1, device="meta"),
    ],
)
def test_weights_that_are_no_numbers(weights):
    with pytest.raises(
        ValueError, match="b holds numbers beyond float16's 65504, or NaN, or no floats; mend"
    ):
        checks.check_finite({"a": torch.zeros(1), "b": weights}, torch.float16, "mend")


def test_weights_that_are():
    checks.check_finite({"a": torch.tensor([65504.0, -1e-9]), "b": torch.zeros(0)}, torch.float16, "mend")


@pytest.mark.parametrize(
    "labels",
    [[0, 2, 1], (0, 2, 1), np.array([0, 2, 1], np.int32), torch.tensor([0, 2, 1], dtype=torch.uint8)],
)
def test_labels_become_int64(labels):
    found = checks.as_labels(labels, 3, 3)
    assert found.dtype == torch.int64 and found.tolist() == [0, 2, 1]


def test_labels_that_are_int64_stay_what_they_are():
    labels, none = torch.tensor([0, 7]), torch.zeros(0, dtype=torch.int64)
    assert checks.as_labels(labels, 2) is labels and checks.as_labels(none, 0, 3) is none


@pytest.mark.errors
@pytest.mark.parametrize(
    "labels, classes, message",
    [
        ([0, 1], None, r"as many labels as images, 3 whole numbers, got torch.int64 \(2,\)"),
        (torch.zeros(3), None, r"got torch.float32 \(3,\)"),
        (torch.zeros(3, 1, dtype=torch.int64), None, r"got torch.int64 \(3, 1\)"),
        (None, None, "got None"),
        ("abc", None, "got 'abc'"),
        ([0, 1, 3], 3, r"expected labels in \[0, 3\), got 0 to 3; name every class"),
        ([-100, 1, 2], 3, "got -100 to 2"),
    ],
)
def test_labels_that_are_none(labels, classes, message):
    with pytest.raises(ValueError, match=message):
        checks.as_labels(labels, 3, classes)
