"""How bad input is refused: which functions check what they are given, and the words."""

import inspect
from typing import Any, Literal

import numpy as np
import pytest
import torch

import vitlib as vl
from vitlib import checks, tensors
from vitlib.train.augment import mixup, random_flip

errors = pytest.mark.errors

CFG = vl.ViTConfig(
    img_size=8, patch_size=4, num_classes=4, embed_dim=12, depth=2, num_heads=2
)
MODEL = vl.VisionTransformer(CFG).eval()
IMAGES, LABELS = torch.rand(3, 3, 8, 8), torch.tensor([0, 1, 2])
BYTES, TARGETS = (255 * IMAGES).byte(), torch.eye(4)[LABELS]
MAPS = torch.rand(2, 3, 2, 5, 5).softmax(-1)
DRAW = torch.Generator()
# Public functions that refuse all by themselves, because they convert what they are given or name the choices.
BY_HAND = {
    "denormalize",
    "language",
    "normalize",
    "pick_device",
    "save_pretrained",
    "split_validation",
}


def public(name: str) -> Any:
    spaces = (vl, vl.viz, vl.controls)
    return next(getattr(space, name) for space in spaces if hasattr(space, name))


def function_of(name: str) -> Any:
    found = public(name)
    return found.__init__ if inspect.isclass(found) else found


NAMES = [
    name
    for name in (*vl.__all__, *vl.viz.__all__, *vl.controls.__all__)
    if callable(public(name))
]
CONFIGS = {"ViTConfig", "ResNetConfig", "Recipe"}  # refuse in `__post_init__`


def is_checked(function: Any) -> bool:
    """Whether `@checked` stands above a function."""
    inside = inspect.unwrap(function)
    if inside.__code__.co_filename == "<string>":  # written by `dataclass`
        return False
    return "@checked" in inspect.getsource(inside).partition("def ")[0]


@errors
def test_every_public_function_is_checked():
    found = {name for name in NAMES if is_checked(function_of(name))}
    data_only = {"Dataset", "table", "use_style"}
    assert set(NAMES) - found == BY_HAND | data_only | CONFIGS


@errors
def test_a_check_goes_with_the_parameter_whatever_its_name():
    @checks.checked
    def odd(much: checks.Rate = -1, grid: checks.Size = 0) -> float:
        return much

    assert odd() == odd(-1) == -1  # what is left at its default is not looked at
    with pytest.raises(ValueError, match=r"much must be a number in \[0, 1\), got -2"):
        odd(-2)
    with pytest.raises(
        ValueError,
        match=r"grid must be a positive integer or \(height, width\), got \[1\]",
    ):
        odd(grid=[1])


@errors
def test_one_letter_is_one_size_in_a_call():
    with pytest.raises(
        ValueError, match=r"expected targets of shape \(B, K\), B = 3, got \(1, 4\)"
    ):
        mixup(alpha=0.8, targets=TARGETS[:1], images=IMAGES, generator=DRAW)
    with pytest.raises(
        ValueError,
        match=r"expected maps of shape \(L, B, h, T, T\), got \(2, 3, 2, 5, 4\)",
    ):
        vl.attention_entropy(MAPS[..., :4])


# --- the words --------------------------------------------------------------------------------------------------


@errors
@pytest.mark.parametrize(
    "function, arguments, words",
    [
        (random_flip, (IMAGES, DRAW, 2), "p must be a number in [0, 1], got 2"),
        (mixup, (IMAGES, LABELS, 0.8, DRAW), "expected targets of shape (B, K), B = 3, got (3,)"),
        (mixup, (IMAGES, TARGETS, 0, DRAW), "alpha must be a number above 0, got 0"),
        (vl.grad_cam, (MODEL, BYTES), "expected images of dtype float, got torch.uint8; use vl.normalize(images)"),
        (vl.grad_cam, (None, BYTES), "model must be a VisionTransformer, got None"),
        (vl.grad_cam, (MODEL, IMAGES.numpy()), "got ndarray; turn a NumPy image"),
        (vl.viz.show_images, (IMAGES, None, 0), "cols must be a positive integer, or None, got 0"),
        (checks.check_value, ("flip", "no", bool), "flip must be True or False, got 'no'"),
        (checks.check_value, ("n", 11, checks.Magnitude), "n must be a number in [0, 10], got 11"),
        (checks.check_value, ("n", 2.0, checks.Count), "n must be a positive integer, got 2.0"),
        (checks.check_value, ("a", "rows", Literal["row"]), "a must be one of row; got 'rows'; did you mean 'row'?"),
        (checks.check_below, ("p", 1), "p must be in [0, 1), got 1"),
        (checks.check_below, ("p", float("nan")), "got nan"),
        (checks.check_between, ("n", 4, 1, 3, " of it"), "expected n from 1 to 3 of it, got 4"),
        (checks.check_between, ("n", 0, 1, 3), "got 0"),
        (checks.check_choice, ("split", "tain", ("train", "test")), "train, test; got 'tain'; did you mean 'train'"),
        (checks.check_multiple, ("width", 33, 4), "width 33 is not a multiple of patch_size 4; try 32 or 36"),
        (checks.check_multiple, ("width", 3, 4), "patch_size 4; try 4"),
        (checks.check_divides, (4, 8, 10), "image width 10 is not a multiple"),
        (checks.as_pair, ("size", (8, 0)), "size must be a positive integer or (height, width), got (8, 0)"),
        (checks.check_grid, ("grid", 3), "grid must be (rows, columns), got 3; at least one of each"),
        (tensors.check_labels, (torch.tensor([0, 4]), 4), "labels in [0, 4), got 0 to 4"),

    ],
)  # fmt: skip
def test_the_words(function, arguments, words):
    with pytest.raises(ValueError) as refused:
        function(*arguments)
    assert words in str(refused.value)


# --- images, labels, names, weights -----------------------------------------------------------------------------


@errors
@pytest.mark.parametrize(
    "shape, wanted, message",
    [
        (
            (3, 16, 16),
            "B 3 16 16",
            r"\(B, 3, 16, 16\), got .*; add the batch axis with images\[None\]",
        ),
        (
            (2, 16, 16, 3),
            "B 3 16 16",
            r"move the channels first with images.permute\(0, 3, 1, 2\)",
        ),
        ((2, 1, 16, 16), "B 3 16 16", "the model takes 3 channels"),
        ((8, 8), "... C H W", r"\(..., C, H, W\), got \(8, 8\); add the batch axis"),
    ],
)
def test_images_of_another_shape_are_refused(shape, wanted, message):
    with pytest.raises(ValueError, match=f"expected images of shape .*{message}"):
        tensors.check_images(torch.zeros(shape), wanted)


@errors
@pytest.mark.parametrize(
    "name",
    [None, "", "a/b", "../../x"],
)
def test_names_that_are_no_file_names(name):
    with pytest.raises(
        ValueError,
        match="--name must be a file name without folders, got .*; give another",
    ):
        checks.check_name("--name", name, "give another")


@errors
@pytest.mark.parametrize(
    "weights",
    [
        *(
            torch.tensor([1.0, float("nan")]),
            torch.tensor([float("inf")]),
            torch.tensor([1e5]),
        ),
        *(
            torch.ones(1, dtype=dtype)
            for dtype in (torch.complex64, torch.int64, torch.bool)
        ),
        torch.ones(1, device="meta"),
    ],
)
def test_weights_that_are_no_numbers(weights):
    with pytest.raises(
        ValueError,
        match="b holds numbers beyond float16's 65504, or NaN, or no floats; mend",
    ):
        tensors.check_finite({"a": torch.zeros(1), "b": weights}, torch.float16, "mend")


@pytest.mark.parametrize(
    "labels",
    [
        (0, 2, 1),
        np.array([0, 2, 1], np.int32),
    ],
)
def test_labels_become_int64(labels):
    found = tensors.as_labels(labels, 3, 3)
    assert found.dtype == torch.int64 and found.tolist() == [0, 2, 1]


@errors
@pytest.mark.parametrize(
    "labels, classes, message",
    [
        (
            [0, 1],
            None,
            r"as many labels as images, 3 whole numbers, got torch.int64 \(2,\)",
        ),
        (torch.zeros(3), None, r"got torch.float32 \(3,\)"),
        ([0, 1, 3], 3, r"expected labels in \[0, 3\), got 0 to 3; name every class"),
    ],
)
def test_labels_that_are_none(labels, classes, message):
    with pytest.raises(ValueError, match=message):
        tensors.as_labels(labels, 3, classes)


@pytest.mark.parametrize(
    "labels", [[0, 1, 2], np.array([0, 1, 2]), LABELS.int()], ids=type
)
def test_evaluate_takes_labels_that_can_be_converted(labels):
    assert (
        vl.evaluate(MODEL, IMAGES, labels)["loss"]
        == vl.evaluate(MODEL, IMAGES, LABELS)["loss"]
    )


@errors
def test_images_of_another_precision_are_refused_unless_autocast_takes_them():
    for images in (IMAGES.double(), IMAGES.half()):
        with pytest.raises(
            ValueError,
            match=r"dtype float32, got torch.float(64|16); images.to\(torch.float32\)",
        ):
            MODEL(images)
    with torch.autocast("cpu", torch.bfloat16):
        assert MODEL(IMAGES.half()).shape == (3, 4)
