"""One way to refuse a call: its annotations say the types and shapes, the names of its arguments the ranges."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from torch import Tensor

from vitlib.checks import (
    as_pair,
    check_choice,
    check_classes,
    check_count,
    check_grid,
    check_images,
    is_number,
)

P = ParamSpec("P")
R = TypeVar("R")

# What names of arguments and fields mean wherever they stand: the range, and what is usual.
RANGES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("drop_rate", "attn_drop_rate", "drop_path", "drop_path_rate"), ("[0, 1)", "0.1")),
    "patch_drop_rate": ("[0, 1)", "0.5"),
    **dict.fromkeys(("decay", "ema_decay"), ("[0, 1)", "0.999")),
    **dict.fromkeys(("smoothing", "label_smoothing"), ("[0, 1)", "0.1")),
    **dict.fromkeys(("mask_ratio", "ratio"), ("(0, 1)", "0.5")),
    **dict.fromkeys(("p", "erasing", "mix_off", "patch_drop_off"), ("[0, 1]", "")),
    **dict.fromkeys(("mixup", "cutmix"), ("[0, inf)", "0.8")),
    **dict.fromkeys(("crop", "randaugment", "padding", "seed", "step", "n"), ("[0, inf)", "0")),
    **dict.fromkeys(("lr", "base_lr"), ("(0, inf)", "1e-3")),
    "muon_lr": ("(0, inf)", "0.02"),
    **dict.fromkeys(("final_lr", "clip_norm"), ("[0, inf)", "0")),
    "weight_decay": ("[0, inf)", "0.05"),
    "discard": ("[0, 1)", "0"),
    "alpha": ("(0, inf)", "0.8 (Mixup) or 1 (CutMix)"),
    "magnitude": ("[0, 10]", "9"),
    "norm_eps": ("[0, 1)", "1e-6"),
    "init_std": ("[0, inf)", "0.02"),
    "mlp_ratio": ("(0, inf)", "4.0"),
}
_COUNTS = (
    *("patch_size", "in_chans", "out_chans", "embed_dim", "depth", "num_heads", "hidden_dim", "num_groups", "stride"),
    *("kernel_size", "num_patches", "num_outputs", "side", "steps", "total", "shots", "num_ops", "batch_size"),
    *("epochs", "cols"),
)  # fmt: skip
NAMED: dict[str, Callable[[str, Any], object]] = {
    **dict.fromkeys(_COUNTS, check_count),
    **dict.fromkeys(("grid", "new_grid", "old_grid"), check_grid),
    "img_size": as_pair,
    "num_classes": lambda _, value: check_classes(value),
}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse, in words, a call that the function's own annotations and the names of its arguments exclude.

    Types and shapes are those of the annotations, one letter being one size throughout a call; ranges are those of
    `RANGES`. What two arguments together exclude, the function checks itself.
    """
    signature = inspect.signature(function)
    usual = {name: parameter.default for name, parameter in signature.parameters.items()}

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = signature.bind(*args, **kwargs).arguments
        check_values(
            _hints(function), {name: value for name, value in given.items() if value is not usual[name]}
        )
        return function(*args, **kwargs)

    return call


def check_fields(config: Any) -> None:
    """The same for the fields of a dataclass, in its `__post_init__`."""
    check_values(_hints(type(config)), {field.name: getattr(config, field.name) for field in fields(config)})


_hints = functools.cache(get_type_hints)


def check_values(hints: dict[str, Any], values: dict[str, Any]) -> None:
    """Refuse, by its name, the first of the `values` that its type or its range excludes."""
    sizes: dict[str, int] = {}
    for name, value in values.items():
        hint = hints.get(name, object)
        if name in NAMED and value is not None:
            NAMED[name](name, value)
        kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        kind = next((kind for kind in kinds if _fits(value, kind)), None)
        if kind is None:
            _refuse(name, value, kinds)
        elif hasattr(kind, "dim_str"):
            _check_tensor(name, value, kind, sizes)
        elif is_number(value) and not _in_range(name, value):
            _refuse(name, value, kinds)


def _in_range(name: str, value: float) -> bool:
    """Whether a number is in the range that its name stands for."""
    text, _ = RANGES.get(name, ("(-inf, inf)", ""))
    low, high = map(float, text[1:-1].split(","))
    inside = value >= low if text[0] == "[" else value > low
    return inside and (value <= high if text[-1] == "]" else value < high)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of the kind that an annotation names; what is no class is not looked at."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return value in parts
    if isinstance(kind, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is tuple and parts and ... not in parts:
        return isinstance(value, tuple | list) and len(value) == len(parts) and all(map(_fits, value, parts))
    if hasattr(kind, "dim_str"):
        return isinstance(value, Tensor)
    if kind in (int, float):
        return is_number(value) and math.isfinite(value) and isinstance(value, kind | int)
    return kind is Any or not isinstance(origin, type) or isinstance(value, origin)


def _refuse(name: str, value: Any, kinds: tuple) -> None:
    """Say what a value of another kind should have been."""
    if get_origin(kinds[0]) is Literal:
        check_choice(name, value, get_args(kinds[0]))
    if name == "images" and any(hasattr(kind, "dim_str") for kind in kinds):
        check_images(value)
    text, usual = RANGES.get(name, ("", ""))
    where = {"": "", "(0, inf)": " above 0", "[0, inf)": " of 0 or more"}.get(text, f" in {text}")
    expected = " or ".join(_called(kind) for kind in kinds if kind is not NoneType) + where
    expected += ", or None" if NoneType in kinds else ""
    raise ValueError(
        f"{name} must be {expected}, got {value!r:.200}" + (f"; {usual} is usual" if usual else "")
    )


def _called(kind: Any) -> str:
    """An annotation in words."""
    if hasattr(kind, "dim_str"):
        return f"a tensor ({', '.join(kind.dim_str.split())})"
    words = {int: "a whole number", float: "a number", bool: "True or False", str: "a string"}
    return words.get(kind) or f"a {getattr(get_origin(kind) or kind, '__name__', kind)}"


def _check_tensor(name: str, value: Tensor, kind: Any, sizes: dict[str, int]) -> None:
    """Refuse a tensor of another shape or dtype; `sizes` are those of the axes met so far in this call."""
    axes, shape, before = kind.dim_str.split(), tuple(value.shape), dict(sizes)
    if name == "images":
        check_images(value, kind.dim_str.replace("*B", "..."))
    loose = next((i for i, axis in enumerate(axes) if axis[0] in "*."), None)
    named, got = axes, shape
    if loose is not None:  # any number of axes in this place
        after = len(axes) - loose - 1
        named, got = axes[:loose] + axes[loose + 1 :], shape[:loose] + shape[max(loose, len(shape) - after) :]
    if len(got) != len(named) or any(
        size != (int(axis) if axis.isdigit() else sizes.setdefault(axis, size))
        for axis, size in zip(named, got, strict=True)
    ):
        known = "".join(f", {axis} = {before[axis]}" for axis in dict.fromkeys(named) if axis in before)
        raise ValueError(f"expected {name} of shape ({', '.join(axes)}){known}, got {shape}")
    dtype, family = str(value.dtype).removeprefix("torch."), kind.__name__.split("[")[0].lower()
    if isinstance(kind.dtypes, tuple) and dtype not in kind.dtypes:
        to = {"float": "float", "bool": "bool", "uint8": "byte"}.get(family, "long")
        fix = "use vl.normalize(images)" if (name, to) == ("images", "float") else f"write {name}.{to}()"
        raise ValueError(f"expected {name} of dtype {family}, got {value.dtype}; {fix}")
