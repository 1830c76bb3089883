"""Every public function refuses, in words of its own, what its annotations and the names of its arguments exclude."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import traceback
from dataclasses import fields, replace
from types import UnionType
from typing import Any, Literal, get_args, get_type_hints

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from torch import Generator, Tensor, nn

import vitlib as vl
import vitworkshop
from vitlib.checked import NAMED, RANGES, check_values, checked
from vitlib.checks import as_labels, check_labels

pytestmark = pytest.mark.errors

CFG = vl.ViTConfig(img_size=8, patch_size=4, num_classes=4, embed_dim=12, depth=2, num_heads=2)
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
    "Attention": dict(embed_dim=12, num_heads=2),
    "AxialAttention": dict(embed_dim=12, num_heads=2, grid=(2, 2), axis="row"),
    "Block": dict(embed_dim=12, num_heads=2, hidden_dim=24),
    "ConvPatchEmbed": PATCHES,
    "ConvStem": PATCHES,
    "DropPath": dict(p=0.1),
    "EMA": dict(model=MODEL, decay=0.9),
    "HybridPatchEmbed": PATCHES,
    "LayerScale": dict(embed_dim=12, init_value=0.1),
    "LinearPatchEmbed": PATCHES,
    "OverlapPatchEmbed": PATCHES,
    "MaskedPatchModel": dict(cfg=CFG, num_outputs=3),
    "Mlp": dict(embed_dim=12, hidden_dim=24),
    "PostNormBlock": dict(embed_dim=12, num_heads=2, hidden_dim=24),
    "PreActBottleneck": dict(in_chans=16, out_chans=16),
    "ResNet": dict(cfg=vl.ResNetConfig()),
    "ResNetConfig": {},
    "Recipe": {},
    "StdConv2d": dict(in_chans=3, out_chans=4, kernel_size=3),
    "ViTConfig": {},
    "VisionTransformer": dict(cfg=CFG),
    "answer_with": dict(ON, kept=torch.arange(2).expand(3, 2)),
    "attention_distance": dict(maps=MAPS, grid=(2, 2), patch_size=4),
    "attention_entropy": dict(maps=MAPS),
    "attention_relevance": ON,
    "attention_rollout": dict(maps=MAPS),
    "augment_batch": dict(images=IMAGES, labels=LABELS, recipe=TRAIN, num_classes=4, generator=DRAW),
    "build_optimizer": dict(model=MODEL, recipe=TRAIN),
    "conv_to_linear": dict(weight=torch.rand(5, 3, 4, 4)),
    "architecture": dict(cfg=replace(CFG, img_size=16), image=torch.rand(3, 16, 16)),
    "attention_grid": dict(image=IMAGES[0], maps=MAPS[:, 0]),
    "attention_overlay": dict(image=IMAGES[0], weights=SCORES[:1]),
    "confusion_matrix": dict(labels=LABELS, preds=LABELS, classes=["a", "b", "c"]),
    "curve_panels": dict(panels={"a": {"b": ([1, 2], [0.1, 0.2])}}, xlabel="x", ylabel="y"),
    "heat_maps": dict(maps=SCORES[None]),
    "learning_curves": dict(
        results={"a": {"epochs": [{"epoch": 1, "train_loss": 1.0, "train_accuracy": 0.5, "lr": 0.1}]}}
    ),
    "number_grid": dict(image=NUMBERS, tokens=vl.patchify(NUMBERS[None, None], 2)[0], patch_size=2),
    "plot_lines": dict(series={"a": ([1, 2], [0.1, 0.2])}, xlabel="x", ylabel="y"),
    "sample_image": {},
    "shape_flow": dict(flows={"a": {"image": (3, 8, 8), "tokens": (4, 12)}}),
    "show_attention_from_patch": dict(image=IMAGES[0], maps=MAPS[-1, 0], patch=1),
    "show_images": dict(images=IMAGES),
    "show_patches": dict(image=IMAGES[0], patch_size=4),
    "show_predictions": dict(images=IMAGES, probs=TARGETS, labels=LABELS, classes=["a", "b", "c", "d"]),
    "show_tokens": dict(image=IMAGES[0], patch_size=4),
    "similarity_maps": dict(pos_embed=torch.rand(1, 5, 12)),
    "corrupt_patches": dict(n=2, num_patches=4, ratio=0.5, generator=DRAW),
    "count_macs": dict(cfg=CFG),
    "count_parameters": dict(module=MODEL),
    "curve_area": dict(curves=SCORES),
    "cutmix": dict(images=IMAGES, targets=TARGETS, alpha=1.0, generator=DRAW),
    "deletion_curve": dict(ON, scores=SCORES),
    "evaluate": dict(ON, labels=LABELS),
    "features": ON,
    "few_shot": dict(train_x=SCORES, train_y=LABELS, test_x=SCORES, test_y=LABELS),
    "grad_cam": ON,
    "guess_patches": dict(
        images=IMAGES, mask=SCORES < 0.5, source=torch.arange(4).expand(3, 4), patch_size=4
    ),
    "head_importance": dict(ON, labels=LABELS),
    "insertion_curve": dict(ON, scores=SCORES),
    "integrated_gradients": ON,
    "intervene": ON,
    "load_weights": dict(model=MODEL, source=MODEL.state_dict()),
    "logit_lens": ON,
    "lr_at": dict(step=0, total=9, base_lr=0.1),
    "mixup": dict(images=IMAGES, targets=TARGETS, alpha=0.8, generator=DRAW),
    "occlusion": ON,
    "parameter_groups": dict(model=MODEL, weight_decay=0.1),
    "orthogonalize": dict(matrices=torch.rand(2, 3, 4)),
    "patch_colours": dict(images=IMAGES, patch_size=4),
    "patch_scores": dict(ON, name="attention"),
    "predict": ON,
    "rand_augment": dict(images=IMAGES, generator=DRAW),
    "random_crop": dict(images=IMAGES, padding=2, generator=DRAW),
    "random_erasing": dict(images=IMAGES, generator=DRAW),
    "random_flip": dict(images=IMAGES, generator=DRAW),
    "recipe": dict(base="modern"),
    "replace_head": dict(model=MODEL, num_classes=3),
    "resample_pos_embed": dict(pos_embed=torch.rand(1, 5, 12), new_grid=(3, 3)),
    "sample_shots": dict(labels=LABELS, shots=1),
    "sincos_2d": dict(grid=(2, 2), embed_dim=12),
    "train_model": dict(recipe=TRAIN, data=(BYTES, LABELS), device="cpu", progress=False),
    "unpatchify": dict(patches=torch.rand(3, 4, 48), patch_size=4, img_size=8),
}
NAN, INF = float("nan"), float("inf")
NO_NUMBERS = {"str": "4", "bool": True, "nan": NAN, "inf": INF, "list": [1]}
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


def public(name: str) -> Any:
    return getattr(vl if hasattr(vl, name) else vl.viz, name)


def function_of(name: str) -> Any:
    found = public(name)
    return found.__init__ if inspect.isclass(found) else found


def wrong_values(name: str, argument: str, hint: Any) -> dict[str, Any]:
    """What an argument may not be, by its annotation and by its name, and what is wrong with it."""
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    values = dict(NO_KIND.get(kinds[0], {})) if set(kinds[1:]) <= {type(None)} else {}
    good = CALLS[name].get(argument)
    if hasattr(kinds[0], "dim_str") and good is not None:
        values = dict(NO_TENSOR)
        if kinds[0].dim_str.startswith("*"):  # any axes may come first, so too many there cannot be
            values["axes"] = torch.rand(1)
        if (name, argument) not in CONVERTED:
            values |= {"numpy": good.numpy(), "list": good.tolist()}
        if isinstance(kinds[0].dtypes, tuple):
            values["complex"] = torch.ones_like(good) * 1j
    interval = RANGES.get(argument, ("",))[0]
    if interval or argument in NAMED:
        values["negative"] = -1
    if interval in ("[0, 1)", "[0, 1]", "(0, 1)"):
        values["two"] = 2.0
    if interval.startswith("(") or (argument in NAMED and argument != "num_classes"):
        values["zero"] = 0
    return {wrong: value for wrong, value in values.items() if not (value is None and type(None) in kinds)}


def bad_calls():
    """(function, argument, value) for everything that annotations and names exclude."""
    for name in CALLS:
        for argument, hint in get_type_hints(function_of(name)).items():
            if argument not in ("return", "self", "overrides"):
                for wrong, value in wrong_values(name, argument, hint).items():
                    yield pytest.param(name, argument, value, id=f"{name}-{argument}-{wrong}")


@pytest.fixture(autouse=True, scope="module")
def figures_are_closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("name, argument, value", list(bad_calls()))
def test_it_is_refused_in_words_of_our_own(name, argument, value):
    with pytest.raises((ValueError, TypeError)) as refused:
        public(name)(**{**CALLS[name], argument: value})
    where = traceback.extract_tb(refused.tb)[-1].filename
    assert "vitlib" in where and len(str(refused.value)) > 20, refused.value


@pytest.mark.parametrize("name", CALLS)
def test_the_call_that_is_fine_is_fine(name):
    public(name)(**CALLS[name])


def test_every_checked_name_is_called_here():
    names = [name for name in (*vl.__all__, *vl.viz.__all__) if callable(public(name))]
    checked_ones = {name for name in names if hasattr(function_of(name), "__wrapped__")}
    slow_or_of_files = {"doctor", "explore", "export_web", "load_folder", "load_image"}
    assert checked_ones - CALLS.keys() == slow_or_of_files


def test_annotations_of_all_checked_functions_can_be_read():
    seen = 0
    modules = [*pkgutil.walk_packages(vl.__path__, "vitlib.")]
    modules += pkgutil.walk_packages(vitworkshop.__path__, "vitworkshop.")
    for module in modules:
        for thing in vars(importlib.import_module(module.name)).values():
            function = thing.__init__ if inspect.isclass(thing) else thing
            if inspect.isfunction(function) and hasattr(function, "__wrapped__"):
                seen += bool(get_type_hints(function))
    assert seen > 50


def test_names_in_the_tables_are_names_in_the_package():
    used = {name for call in CALLS for name in inspect.signature(public(call)).parameters}
    assert {*RANGES, *NAMED} <= used | {field.name for field in fields(vl.Recipe)} | {"cols", "smoothing"}


def test_one_letter_is_one_size_in_a_call():
    with pytest.raises(ValueError, match=r"expected targets of shape \(B, K\), B = 3, got \(1, 4\)"):
        vl.mixup(IMAGES, TARGETS[:1], 0.8, DRAW)
    with pytest.raises(ValueError, match=r"expected maps of shape \(L, B, h, T, T\), got \(2, 3, 2, 5, 4\)"):
        vl.attention_entropy(MAPS[..., :4])


def test_words_say_what_was_expected_what_came_and_what_helps():
    for call, words in (
        (lambda: vl.random_flip(IMAGES, DRAW, p=2), "p must be a number in [0, 1], got 2"),
        (lambda: vl.Recipe(lr="fast"), "lr must be a number above 0, got 'fast'; 1e-3 is usual"),
        (lambda: vl.Recipe(flip="no"), "flip must be True or False, got 'no'"),
        (lambda: vl.Recipe(model=3), "model must be a ViTConfig or a ResNetConfig, got 3"),
        (lambda: vl.mixup(IMAGES, LABELS, 0.8, DRAW), "expected targets of shape (B, K), B = 3, got (3,)"),
        (lambda: vl.mixup(IMAGES, TARGETS.long(), 0.8, DRAW), "write targets.float()"),
        (
            lambda: vl.grad_cam(MODEL, BYTES),
            "expected images of dtype float, got torch.uint8; use vl.normalize",
        ),
        (lambda: vl.grad_cam(None, BYTES), "model must be a VisionTransformer, got None"),
        (lambda: vl.random_flip(IMAGES, 0), "generator must be a Generator, got 0"),
    ):
        with pytest.raises(ValueError) as refused:
            call()
        assert words in str(refused.value)


def test_a_word_that_is_none_of_those_known_gets_the_nearest():
    with pytest.raises(ValueError, match="axis must be one of row, column; got 'rows'; did you mean 'row'?"):
        check_values({"axis": Literal["row", "column"]}, {"axis": "rows"})


def test_what_is_left_at_its_default_is_not_looked_at():
    @checked
    def odd(seed: int = -1) -> int:
        return seed

    assert odd() == odd(-1) == -1
    with pytest.raises(ValueError, match="seed must be a whole number of 0 or more, got -2"):
        odd(-2)


def test_it_stays_the_function_that_it_was():
    assert vl.mixup.__name__ == "mixup" and "Blend each image" in vl.mixup.__doc__
    assert list(inspect.signature(vl.mixup).parameters) == ["images", "targets", "alpha", "generator"]


@pytest.mark.parametrize(
    "make", [lambda x: x.numpy(), lambda x: x.permute(0, 2, 3, 1).numpy(), Tensor.double, Tensor.half]
)
def test_predict_takes_what_can_be_converted(make):
    torch.testing.assert_close(vl.predict(MODEL, make(IMAGES)), vl.predict(MODEL, IMAGES), atol=1e-3, rtol=0)


def test_predict_takes_a_picture_of_pil():
    image = pytest.importorskip("PIL.Image")
    array = BYTES[0].permute(1, 2, 0).numpy()
    wanted = vl.predict(MODEL, BYTES[:1])
    for picture in (image.fromarray(array), image.fromarray(array).convert("RGBA"), array, array[None]):
        torch.testing.assert_close(vl.predict(MODEL, picture), wanted)


@pytest.mark.parametrize(
    "labels", [[0, 1, 2], np.array([0, 1, 2]), torch.tensor([0, 1, 2], dtype=torch.int32)], ids=type
)
def test_evaluate_takes_labels_that_can_be_converted(labels):
    assert vl.evaluate(MODEL, IMAGES, labels)["loss"] == vl.evaluate(MODEL, IMAGES, LABELS)["loss"]


@pytest.mark.parametrize(
    "labels", [[0, -100, 1], [0, 1, 4], [0, 1], [0.0, 1.0, 2.0], [True, False, True], [[0, 1, 2]]], ids=str
)
def test_evaluate_refuses_labels_that_name_no_class(labels):
    with pytest.raises(ValueError, match="expected"):
        vl.evaluate(MODEL, IMAGES, torch.tensor(labels))


def test_an_array_of_numpy_is_told_the_way_to_a_tensor():
    with pytest.raises(ValueError, match=r"got ndarray; turn .*torch.from_numpy"):
        vl.grad_cam(MODEL, IMAGES.numpy())
    with pytest.raises(ValueError, match="maps must be a tensor"):
        vl.attention_entropy(MAPS.numpy())


def test_images_of_another_precision_are_refused_unless_autocast_takes_them():
    for images in (IMAGES.double(), IMAGES.half()):
        with pytest.raises(
            ValueError, match=r"dtype float32, got torch.float(64|16); images.to\(torch.float32\)"
        ):
            MODEL(images)
    with torch.autocast("cpu", torch.bfloat16):
        assert MODEL(IMAGES.half()).shape == (3, 4)


@pytest.mark.parametrize("bad", [[0, -1, 1], [0, 4, 1]], ids=str)
def test_labels_end_where_the_classes_do(bad):
    labels = torch.tensor(bad)
    with pytest.raises(ValueError, match=r"labels in \[0, 4\)"):
        as_labels(labels, 3, 4)
    with pytest.raises(ValueError, match=r"labels in \[0, 4\)"):
        check_labels(labels, 4)
    assert as_labels([0, 3, 1], 3, 4).dtype == torch.int64
