"""How bad input is refused: every argument of every public function, the words, and what passes."""

import inspect
import traceback
from dataclasses import replace
from types import NoneType
from typing import Any, Literal, get_origin, get_type_hints

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Generator, Tensor, nn

import vitlib as vl
from vitlib import checks, tensors
from vitlib.train.augment import cutmix, mixup, random_flip

errors = pytest.mark.errors

CFG = vl.ViTConfig(
    img_size=8, patch_size=4, num_classes=4, embed_dim=12, depth=2, num_heads=2
)
MODEL = vl.VisionTransformer(CFG).eval()
IMAGES, LABELS = torch.rand(3, 3, 8, 8), torch.tensor([0, 1, 2])
BYTES, TARGETS = (255 * IMAGES).byte(), torch.eye(4)[LABELS]
MAPS, SCORES = torch.rand(2, 3, 2, 5, 5).softmax(-1), torch.rand(3, 4)
DRAW = torch.Generator()
NUMBERS = torch.arange(16).view(4, 4)
TRAIN = vl.Recipe("t", CFG, epochs=1, batch_size=3, precision="fp32")
ON = dict(model=MODEL, images=IMAGES)
PATCHES = dict(patch_size=4, in_chans=3, embed_dim=12)
# a call of each that is fine
CALLS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("ConvPatchEmbed", "LinearPatchEmbed"), PATCHES),
    **dict.fromkeys(
        ("attention_relevance", "features", "grad_cam", "integrated_gradients"), ON
    ),
    **dict.fromkeys(("intervene", "logit_lens", "occlusion", "predict", "trace"), ON),
    **dict.fromkeys(("ResNetConfig", "Recipe", "ViTConfig"), {}),
    **dict.fromkeys(("sample_image", "list_pretrained"), {}),
    **dict.fromkeys(("VisionTransformer", "build_model", "count_macs"), dict(cfg=CFG)),
    **dict.fromkeys(("attention_entropy", "attention_rollout"), dict(maps=MAPS)),
    **dict.fromkeys(
        ("show_patches", "show_tokens"), dict(image=IMAGES[0], patch_size=4)
    ),
    **dict.fromkeys(("evaluate", "head_importance"), dict(ON, labels=LABELS)),
    **dict.fromkeys(("deletion_curve", "insertion_curve"), dict(ON, scores=SCORES)),
    "Block": dict(embed_dim=12, num_heads=2, hidden_dim=24),
    "drawn10_masks": dict(split="test", n=2),
    "load_drawn10": dict(split="test", n=2, seed=0),
    **dict.fromkeys(("check", "hint"), dict(exercise="03.1")),
    **dict.fromkeys(("load_pretrained", "load_results"), dict(name="cifar10-plain")),
    "look": dict(thing="cifar10-plain"),
    "Attention": dict(embed_dim=12, num_heads=2),
    "Muon": dict(groups=[{"params": [nn.Parameter(torch.ones(2, 2))]}], lr=0.1),
    "EMA": dict(model=MODEL, decay=0.9),
    "PixelRidge": dict(images=BYTES, labels=LABELS, num_classes=3),
    "laplace_fill": dict(images=IMAGES, hidden=torch.rand(3, 1, 8, 8) < 0.3),
    "border_contrast": dict(images=IMAGES),
    "untrained": dict(model=MODEL),
    "borrowed_scores": dict(name="occlusion", lenders=[MODEL], images=IMAGES),
    "break_ties": dict(scores=SCORES),
    "paired": dict(ours=SCORES[:, 0], control=SCORES[:, 1]),
    "MaskedPatchModel": dict(cfg=replace(CFG, mask_token=True), num_outputs=3),
    "Mlp": dict(embed_dim=12, hidden_dim=24),
    "ResNet": dict(cfg=vl.ResNetConfig()),
    "show_images": dict(images=IMAGES),
    "answer_with": dict(ON, kept=torch.arange(2).expand(3, 2)),
    "attention_distance": dict(maps=MAPS, cfg=vl.ViTConfig(img_size=8, patch_size=4)),
    "augment_batch": dict(
        images=IMAGES, labels=LABELS, recipe=TRAIN, num_classes=4, generator=DRAW
    ),
    "build_optimizer": dict(model=MODEL, recipe=TRAIN),
    "architecture": dict(cfg=replace(CFG, img_size=16), image=torch.rand(3, 16, 16)),
    "attention_overlay": dict(image=IMAGES[0], weights=SCORES[:1]),
    "confusion_matrix": dict(labels=LABELS, preds=LABELS, classes=["a", "b", "c"]),
    "curve_panels": dict(
        panels={"a": {"b": ([1, 2], [0.1, 0.2])}}, xlabel="x", ylabel="y"
    ),
    "heat_maps": dict(maps=SCORES[None]),
    "number_grid": dict(
        image=NUMBERS, tokens=vl.patchify(NUMBERS[None, None], 2)[0], patch_size=2
    ),
    "plot_lines": dict(series={"a": ([1, 2], [0.1, 0.2])}, xlabel="x", ylabel="y"),
    "shape_flow": dict(flows={"a": {"image": (3, 8, 8), "tokens": (4, 12)}}),
    "show_attention_from_patch": dict(image=IMAGES[0], maps=MAPS[-1, 0], patch=1),
    "show_predictions": dict(
        images=IMAGES, probs=TARGETS, labels=LABELS, classes=["a", "b", "c", "d"]
    ),
    "similarity_maps": dict(pos_embed=torch.rand(1, 5, 12)),
    "convert_state_dict": dict(state=MODEL.state_dict()),
    "count_parameters": dict(module=MODEL),
    "curve_area": dict(curves=SCORES),
    "load_dataset": dict(name="drawn10", split="test", n=2),
    "few_shot": dict(train_x=SCORES, train_y=LABELS, test_x=SCORES, test_y=LABELS),
    "load_weights": dict(model=MODEL, source=MODEL.state_dict()),
    "lr_at": dict(step=0, total=9, base_lr=0.1),
    "patchify": dict(images=IMAGES, patch_size=4),
    "patch_scores": dict(ON, name="attention"),
    "recipe": dict(base="modern"),
    "replace_head": dict(model=MODEL, num_classes=3),
    "resample_pos_embed": dict(pos_embed=torch.rand(1, 5, 12), new_grid=(3, 3)),
    "sample_shots": dict(labels=LABELS, shots=1),
    "seed_everything": dict(seed=0),
    "sincos_2d": dict(grid=(2, 2), embed_dim=12),
    "train_model": dict(
        recipe=TRAIN, data=(BYTES, LABELS), device="cpu", progress=False
    ),
    "unpatchify": dict(patches=torch.rand(3, 4, 48), patch_size=4, img_size=8),
}
NO_NUMBERS = {
    "str": "4",
    "bool": True,
    "nan": float("nan"),
    "inf": float("inf"),
    "list": [1],
}
NO_KIND = {
    int: NO_NUMBERS | {"part": 1.5, "none": None},
    float: NO_NUMBERS | {"none": None},
    bool: {"word": "no", "one": 1},
    str: {"none": None, "number": 3},
    Generator: {"none": None, "seed": 0},
    nn.Module: {"none": None, "name": "vit", "config": CFG},
    vl.VisionTransformer: {"none": None, "name": "vit", "other": nn.Linear(3, 4)},
    vl.ViTConfig: {"none": None, "name": "vit-b/16", "dict": {"depth": 3}},
    vl.Recipe: {"none": None, "name": "modern"},
}
NO_TENSOR = {"none": None, "word": "cat.png", "axes": torch.rand(1, 1, 1, 1, 1, 1, 1)}
CONVERTED = {("predict", "images"), ("evaluate", "images"), ("evaluate", "labels")}
# Public functions that refuse all by themselves, because they convert what they are given or name the choices.
BY_HAND = {
    "denormalize",
    "language",
    "normalize",
    "pick_device",
    "save_pretrained",
}
BY_HAND |= {"split_validation"}
OF_FILES = {
    "doctor",
    "explore",
    "export_web",
    "load_folder",
    "load_image",
}
# Numbers without a range of their own: any has a meaning, or another argument decides.
UNBOUNDED = {
    "n": {"drawn10_masks", "load_dataset", "load_drawn10", "split_validation"},
    "target": {
        "attention_relevance",
        "borrowed_scores",
        "deletion_curve",
        "grad_cam",
        "insertion_curve",
        "integrated_gradients",
    }
    | {"occlusion", "patch_scores"},
    "gamma": {"attention_overlay"},
    "floor": {"attention_overlay"},
    **dict.fromkeys(("mean", "std"), {"normalize", "denormalize"}),
    **dict.fromkeys(("first", "last"), {"show_tokens"}),
    "layer_scale": {"Block", "ViTConfig"},
    "num_prefix_tokens": {"resample_pos_embed"},
    "warmup": {"lr_at"},
    "ridge": {"few_shot"},
    "budget_minutes": {"train_model"},
    "patch": {"show_attention_from_patch"},
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


def rules(name: str) -> dict[str, tuple[list, list]]:
    """For each argument of a public function, the kinds of value it takes and the marks beside them."""
    hints = get_type_hints(function_of(name), include_extras=True)
    return {
        key: checks._read(hint)
        for key, hint in hints.items()
        if key not in ("return", "self", "overrides")
    }


def wrong_values(name: str, argument: str, kinds: list, marks: list) -> dict[str, Any]:
    """What an argument may not be, by its annotation, and what is wrong with it."""
    first, good = kinds[0], CALLS[name].get(argument)
    values = dict(NO_KIND.get(first, {})) if {*kinds[1:]} <= {NoneType} else {}
    if hasattr(first, "dim_str") and good is not None:
        values = dict(NO_TENSOR)
        if first.dim_str.startswith(
            "*"
        ):  # any axes may come first, so too many there cannot be
            values["axes"] = torch.rand(1)
        if (name, argument) not in CONVERTED:
            values |= {"numpy": good.numpy(), "list": good.tolist()}
        if isinstance(first.dtypes, tuple):
            values["complex"] = torch.ones_like(good) * 1j
    if get_origin(first) is Literal and {*kinds[1:]} <= {NoneType}:
        values = {"word": "no such word", "number": 3, "none": None}
    for mark in marks:
        match mark:
            case Gt(low):
                values |= {"at": low, "below": low - 1}
            case Ge(low):
                values |= {"below": low - 1}
            case Lt(high):
                values |= {"end": high, "above": high + 1.0}
            case Le(high):
                values |= {"above": high + 1.0}
            case _:
                values |= {"negative": -1} | (
                    {"zero": 0} if mark in (checks.as_pair, checks.check_grid) else {}
                )
    return {
        wrong: value
        for wrong, value in values.items()
        if not (value is None and NoneType in kinds)
    }


def bad_calls():
    """(function, argument, value) for everything that annotations exclude."""
    for name in CALLS:
        for argument, (kinds, marks) in rules(name).items():
            for wrong, value in wrong_values(name, argument, kinds, marks).items():
                yield pytest.param(
                    name, argument, value, id=f"{name}-{argument}-{wrong}"
                )


@pytest.fixture(autouse=True, scope="module")
def figures_are_closed():
    yield
    plt.close("all")


# --- every argument ---------------------------------------------------------------------------------------------


@errors
@pytest.mark.parametrize("name, argument, value", list(bad_calls()))
def test_it_is_refused_in_words_of_our_own(name, argument, value):
    with pytest.raises((ValueError, TypeError, FileNotFoundError)) as refused:
        public(name)(**{**CALLS[name], argument: value})
    where = traceback.extract_tb(refused.tb)[-1].filename
    assert "vitlib" in where and len(str(refused.value)) > 20, refused.value


@errors
@pytest.mark.parametrize("name", CALLS)
def test_the_call_that_is_fine_is_fine(name):
    public(name)(**CALLS[name])


def is_checked(function: Any) -> bool:
    """Whether `@checked` stands above a function."""
    inside = inspect.unwrap(function)
    if inside.__code__.co_filename == "<string>":  # written by `dataclass`
        return False
    return "@checked" in inspect.getsource(inside).partition("def ")[0]


@errors
def test_every_public_function_is_checked_and_called_here():
    found = {name for name in NAMES if is_checked(function_of(name))}
    found |= CONFIGS
    data_only = {"Dataset"} | {"table"}
    assert set(NAMES) - found == BY_HAND | data_only
    assert found - CALLS.keys() == OF_FILES


@errors
def test_every_number_has_a_range_or_is_known_to_have_none():
    numbers = {
        (name, argument): marks
        for name in NAMES
        for argument, (kinds, marks) in rules(name).items()
        if {int, float} & {*kinds} or checks.as_pair in marks
    }
    unbounded = {
        (name, argument) for argument, names in UNBOUNDED.items() for name in names
    }
    assert {key for key, marks in numbers.items() if not marks} == unbounded
    assert len(numbers) > 120


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


def test_it_stays_the_function_that_it_was():
    assert mixup.__name__ == "mixup" and "Blend raw" in mixup.__doc__
    assert list(inspect.signature(mixup).parameters) == [
        "images",
        "targets",
        "alpha",
        "generator",
    ]


# --- the words --------------------------------------------------------------------------------------------------


@errors
@pytest.mark.parametrize(
    "function, arguments, words",
    [
        (random_flip, (IMAGES, 0), "generator must be a Generator, got 0"),
        (mixup, (IMAGES, LABELS, 0.8, DRAW), "expected targets of shape (B, K), B = 3, got (3,)"),
        (mixup, (IMAGES, TARGETS.long(), 0.8, DRAW), "write targets.float()"),
        (mixup, (IMAGES, TARGETS, 0, DRAW), "alpha must be a number above 0, got 0"),
        (cutmix, (IMAGES, TARGETS, 0, DRAW), "alpha must be a number above 0, got 0"),
        (vl.grad_cam, (MODEL, BYTES), "expected images of dtype float, got torch.uint8; use vl.normalize(images)"),
        (vl.grad_cam, (None, BYTES), "model must be a VisionTransformer, got None"),
        (vl.grad_cam, (MODEL, IMAGES.numpy()), "got ndarray; turn a NumPy image"),
        (vl.attention_entropy, (MAPS.numpy(),), "sequence of L tensors (B, h, T, T), all alike, got ndarray"),
        (vl.viz.show_images, (IMAGES, None, 0), "cols must be a positive integer, or None, got 0"),
        (vl.patchify, (IMAGES, 0), "patch_size must be a positive integer, got 0"),
        (checks.check_value, ("flip", "no", bool), "flip must be True or False, got 'no'"),
        (checks.check_value, ("n", 11, checks.Magnitude), "n must be a number in [0, 10], got 11"),
        (checks.check_value, ("n", 0, checks.MaskRatio), "n must be a number in (0, 1), got 0"),
        (checks.check_value, ("n", 2.0, checks.Count), "n must be a positive integer, got 2.0"),
        (checks.check_value, ("n", -1, checks.Natural), "n must be a whole number of 0 or more, got -1"),
        (checks.check_value, ("n", -1, checks.Classes), "n must be 0 (no head) or more, got -1"),
        (checks.check_value, ("a", "rows", Literal["row"]), "a must be one of row; got 'rows'; did you mean 'row'?"),
        (tensors.check_dtype, (torch.zeros(1, dtype=torch.int8), "uint8 or float", "cast"), "got torch.int8; cast"),
        (tensors.check_dtype, (torch.zeros(1), "uint8", "x"), "expected uint8 images, got torch.float32; x"),
        (checks.check_below, ("p", 1), "p must be in [0, 1), got 1"),
        (checks.check_below, ("p", float("nan")), "got nan"),
        (checks.check_below, ("p", 5, 5), "p must be in [0, 5), got 5"),
        (checks.check_between, ("n", 4, 1, 3, " of it"), "expected n from 1 to 3 of it, got 4"),
        (checks.check_between, ("n", 0, 1, 3), "got 0"),
        (checks.check_between, ("n", 1.0, 1, 3), "got 1.0"),
        (checks.check_choice, ("split", "tain", ("train", "test")), "train, test; got 'tain'; did you mean 'train'"),
        (checks.check_choice, ("split", "xyz", ("train", "test")), "one of train, test; got 'xyz'"),
        (checks.check_multiple, ("width", 33, 4), "width 33 is not a multiple of patch_size 4; try 32 or 36"),
        (checks.check_multiple, ("width", 3, 4), "patch_size 4; try 4"),
        (checks.check_divides, (4, 8, 10), "image width 10 is not a multiple"),
        (checks.as_pair, ("size", (8, 0)), "size must be a positive integer or (height, width), got (8, 0)"),
        (checks.check_grid, ("grid", 3), "grid must be (rows, columns), got 3; at least one of each"),
        (checks.check_grid, ("grid", [4, 4, 4]), "grid must be (rows, columns), got [4, 4, 4]"),
        (checks.check_grid, ("grid", (0, 4)), "grid must be (rows, columns), got (0, 4)"),
        (tensors.check_labels, (torch.tensor([0, 4]), 4), "labels in [0, 4), got 0 to 4"),
        (tensors.check_labels, (torch.tensor([0, -1]), 4), "labels in [0, 4), got -1 to 0"),
    ],
)  # fmt: skip
def test_the_words(function, arguments, words):
    with pytest.raises(ValueError) as refused:
        function(*arguments)
    assert words in str(refused.value)


def test_what_passes():
    tensors.check_dtype(torch.zeros(1, dtype=torch.bfloat16), "normalised float", "x")
    tensors.check_dtype(torch.zeros(1, dtype=torch.uint8), "uint8 or float", "x")
    checks.check_below("p", 0)
    checks.check_between("n", 3, 1, 3)
    checks.check_choice("split", "test", ("train", "test"))
    tensors.check_finite(
        {"a": torch.tensor([65504.0, -1e-9]), "b": torch.zeros(0)},
        torch.float16,
        "mend",
    )
    for name in ("cifar10-plain", ".hidden", "v1.5", "Été 3", "x" * 200):
        checks.check_name("--name", name, "give another")
    assert checks.as_pair("size", 8) == checks.as_pair("size", [8, 8]) == (8, 8)


# --- images, labels, names, weights -----------------------------------------------------------------------------


def test_images_of_the_shape_pass():
    for shape in ((2, 3, 16, 16), (0, 3, 16, 16)):
        tensors.check_images(torch.zeros(shape), "B 3 16 16")
    for shape in ((3, 8, 8), (2, 5, 3, 8, 8), (1, 1, 3)):
        tensors.check_images(torch.zeros(shape), "... C H W")
    # the shape does not say which axis the channels are
    tensors.check_images(torch.zeros(1, 2, 5, 3))


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
        ((2, 3, 16, 32), "B 3 16 16", "resize the images$"),
        ((1, 2, 3, 16, 16), "B 3 16 16", "give 4 axes"),
        ((8, 8), "... C H W", r"\(..., C, H, W\), got \(8, 8\); add the batch axis"),
        ((8, 8, 3), "... C H W", r"images.permute\(2, 0, 1\)"),
        ((5, 2, 8, 8, 4), "... C H W", r"images.permute\(0, 1, 4, 2, 3\)"),
    ],
)
def test_images_of_another_shape_are_refused(shape, wanted, message):
    with pytest.raises(ValueError, match=f"expected images of shape .*{message}"):
        tensors.check_images(torch.zeros(shape), wanted)


def test_the_ends_of_a_range_belong_to_it_where_its_words_say_so():
    for value, hint in (
        (0, checks.Share),
        (1, checks.Share),
        (10, checks.Magnitude),
        (0, checks.Rate),
    ):
        checks.check_value("x", value, hint)


@errors
@pytest.mark.parametrize(
    "name", [None, 3, "", ".", "..", " ", "a/b", "../../x", "a\\b", "a\0b", "x" * 201]
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
        [0, 2, 1],
        (0, 2, 1),
        np.array([0, 2, 1], np.int32),
        torch.tensor([0, 2, 1], dtype=torch.uint8),
    ],
)
def test_labels_become_int64(labels):
    found = tensors.as_labels(labels, 3, 3)
    assert found.dtype == torch.int64 and found.tolist() == [0, 2, 1]


def test_labels_that_are_int64_stay_what_they_are():
    labels, none = torch.tensor([0, 7]), torch.zeros(0, dtype=torch.int64)
    assert (
        tensors.as_labels(labels, 2) is labels and tensors.as_labels(none, 0, 3) is none
    )


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
        (torch.zeros(3, 1, dtype=torch.int64), None, r"got torch.int64 \(3, 1\)"),
        (None, None, "got None"),
        ("abc", None, "got 'abc'"),
        ([0, 1, 3], 3, r"expected labels in \[0, 3\), got 0 to 3; name every class"),
        ([-100, 1, 2], 3, "got -100 to 2"),
    ],
)
def test_labels_that_are_none(labels, classes, message):
    with pytest.raises(ValueError, match=message):
        tensors.as_labels(labels, 3, classes)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.numpy(),
        lambda x: x.permute(0, 2, 3, 1).numpy(),
        Tensor.double,
        Tensor.half,
    ],
)
def test_predict_takes_what_can_be_converted(make):
    torch.testing.assert_close(
        vl.predict(MODEL, make(IMAGES)), vl.predict(MODEL, IMAGES), atol=1e-3, rtol=0
    )


@pytest.mark.parametrize(
    "labels", [[0, 1, 2], np.array([0, 1, 2]), LABELS.int()], ids=type
)
def test_evaluate_takes_labels_that_can_be_converted(labels):
    assert (
        vl.evaluate(MODEL, IMAGES, labels)["loss"]
        == vl.evaluate(MODEL, IMAGES, LABELS)["loss"]
    )


@errors
@pytest.mark.parametrize(
    "labels",
    [
        [0, -100, 1],
        [0, 1, 4],
        [0, 1],
        [0.0, 1.0, 2.0],
        [True, False, True],
        [[0, 1, 2]],
    ],
    ids=str,
)
def test_evaluate_refuses_labels_that_name_no_class(labels):
    with pytest.raises(ValueError, match="expected"):
        vl.evaluate(MODEL, IMAGES, torch.tensor(labels))


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
