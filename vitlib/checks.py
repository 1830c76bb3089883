"""How a bad call is refused: types, shapes and ranges stand at the parameters, the words of the refusals here."""

from __future__ import annotations

import difflib
import functools
import inspect
import operator
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import astuple, fields
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    SupportsIndex,
    TypeVar,
    get_args,
    get_origin,
)

import torch
from annotated_types import Ge, Gt, Le, Lt
from jaxtyping import Float
from torch import Tensor, nn

from vitlib.tensors import check_images, check_numbers

P = ParamSpec("P")
R = TypeVar("R")
# side of an image in pixels; beyond it neither a picture nor a table of positions fits into memory
LARGEST = 8192
# numbers below it are seeds that PyTorch takes, and what float32 holds
REACH = {int: 2**64, float: torch.finfo(torch.float32).max}
BOUNDS = {Gt: operator.gt, Ge: operator.ge, Lt: operator.lt, Le: operator.le}


def is_number(value: Any) -> bool:
    """Whether `value` is a number, and not True or False."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether `value` is a whole number, also NumPy's or a tensor's, and not True or False."""
    return isinstance(value, SupportsIndex) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """Whether `value` is a whole number above 0."""
    return isinstance(value, int) and is_number(value) and value > 0


def check_classes(name: str, number: object) -> None:
    """Refuse a number of classes that is no whole number, 0 or more."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"{name} must be 0 (no head) or more, got {number!r}")


def check_below(name: str, value: Any, below: int | float = 1) -> None:
    """Refuse, under this `name`, a `value` that is no number from 0 to `below` (itself left out)."""
    if not is_number(value) or not 0 <= value < below:
        raise ValueError(f"{name} must be in [0, {below}), got {value!r}")


def check_between(name: str, value: object, low: int, high: int, why: str = "") -> None:
    """Refuse, under this `name`, a `value` that is no whole number from `low` to `high`; `why` they are the limits."""
    if not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"expected {name} from {low} to {high}{why}, got {value!r}")


def check_choice(name: str, value: object, known: Collection[str]) -> None:
    """Refuse, under this `name`, a `value` that is not `known`, and propose the nearest."""
    if value not in known:
        near = difflib.get_close_matches(str(value), list(known), 1, 0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"{name} must be one of {', '.join(known)}; got {value!r}{hint}"
        )


def check_multiple(name: str, size: int, patch_size: int) -> None:
    """Refuse a `size` of this `name` that `patch_size` does not divide, and propose the nearest."""
    if size % patch_size:
        below, above = (
            size // patch_size * patch_size,
            -(-size // patch_size) * patch_size,
        )
        near = f"{below} or {above}" if below else f"{above}"
        raise ValueError(
            f"{name} {size} is not a multiple of patch_size {patch_size}; try {near}"
        )


def check_divides(patch_size: int, height: int, width: int) -> None:
    """Refuse a `patch_size` that does not divide an image's `height` and `width`."""
    check_multiple("image height", height, patch_size)
    check_multiple("image width", width, patch_size)


def check_heads(embed_dim: int, num_heads: int) -> None:
    """Refuse an `embed_dim` that cannot be shared out among `num_heads`."""
    if embed_dim % num_heads:
        fix = f"try embed_dim {-(-embed_dim // num_heads) * num_heads}"
        raise ValueError(
            f"embed_dim {embed_dim} is not a multiple of num_heads {num_heads}; {fix}"
        )


def check_stages(widths: Any, depths: Any) -> None:
    """Refuse stages that have no width or no depth."""
    whole = all(
        isinstance(sizes, tuple) and all(map(is_count, sizes))
        for sizes in (widths, depths)
    )
    if not whole or not widths or len(widths) != len(depths):
        got = f"{widths} and {depths}"
        raise ValueError(
            f"widths and depths must be positive integers, one of each for a stage, got {got}"
        )


def check_quarters(name: str, embed_dim: int) -> None:
    """Refuse an `embed_dim` that the positions called `name` cannot split in four."""
    if embed_dim % 4:
        raise ValueError(
            f"{name} splits embed_dim in four; {embed_dim} is not a multiple of 4"
        )


def check_halvings(patch_size: Any) -> None:
    """Refuse a `patch_size` that a stem of layers with stride 2 cannot reach."""
    if not is_count(patch_size) or patch_size < 2 or patch_size & (patch_size - 1):
        raise ValueError(
            f"a stem halves at each layer and needs patch_size 2, 4, 8, ...; got {patch_size}"
        )


def as_pair(name: str, size: Any) -> tuple[int, int]:
    """(height, width) of a `size` that is one number or both; refuses, under this `name`, what is no size."""
    pair = list(size) if isinstance(size, tuple | list) else [size, size]
    if len(pair) != 2 or not all(map(is_count, pair)):
        raise ValueError(
            f"{name} must be a positive integer or (height, width), got {size!r}; try 224"
        )
    if max(pair) > LARGEST:
        raise ValueError(
            f"{name} must be at most {LARGEST} pixels a side, got {size!r}; try 224"
        )
    return pair[0], pair[1]


def check_grid(name: str, grid: object) -> None:
    """Refuse a `grid` of this `name` that is not (rows, columns)."""
    if (
        not isinstance(grid, tuple | list)
        or len(grid) != 2
        or not all(map(is_count, grid))
    ):
        raise ValueError(
            f"{name} must be (rows, columns), got {grid!r}; at least one of each"
        )
    if max(grid) > LARGEST:
        raise ValueError(
            f"{name} must be at most {LARGEST} rows or columns, got {grid!r}; try (14, 14)"
        )


def check_name(what: str, name: object, fix: str) -> None:
    """Refuse a `name` that is no file name, or leads to another folder; `what` names it."""
    if (
        not isinstance(name, str)
        or not name.strip(". ")
        or {*name} & {*"/\\\0"}
        or len(name.encode()) > 200
    ):
        raise ValueError(
            f"{what} must be a file name without folders, got {name!r}; {fix}"
        )


# --- what stands at a parameter ---------------------------------------------------------------------------------


Count = Annotated[int, Gt(0)]
Natural = Annotated[int, Ge(0)]
Classes = Annotated[int, check_classes]  # a function refuses in words of its own
Images = Annotated[Float[Tensor, "B C H W"], check_numbers]  # normalised
# one side, or (height, width)
Size = Annotated[int | tuple[int, int] | list[int], as_pair]
Grid = Annotated[tuple[int, int], check_grid]  # (rows, columns)
Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
# of a figure, in inches; near 0 Python aborts
Height = Annotated[float, Ge(1), Le(100)]
Rate = Annotated[float, Ge(0), Lt(1)]
Share = Annotated[float, Ge(0), Le(1)]
MaskRatio = Annotated[float, Gt(0), Lt(1)]
Magnitude = Annotated[float, Ge(0), Le(10)]  # of RandAugment


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse, in words, a call that the annotations of the function's parameters exclude.

    One letter of a shape is one size throughout a call. What two arguments together exclude, the function checks
    itself; what is left at its default is not looked at.
    """
    usual = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
    }

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = dict(zip(usual, args, strict=False)) | kwargs
        _check(
            _rules(function),
            {n: given[n] for n in usual if n in given and given[n] is not usual[n]},
        )
        return function(*args, **kwargs)

    return call


def check_fields(config: Any) -> None:
    """The same for the fields of a dataclass, in its `__post_init__`."""
    _check(
        _rules(type(config)),
        {field.name: getattr(config, field.name) for field in fields(config)},
    )


@functools.cache
def _rules(owner: Any) -> dict[str, tuple[list, list]]:
    """What the annotations of a function's parameters, or of a dataclass's fields, allow."""
    return {
        name: _read(hint)
        for name, hint in typing.get_type_hints(owner, include_extras=True).items()
    }


def _read(hint: Any) -> tuple[list, list]:
    """The kinds of value that an annotation names, and the marks beside them: bounds, functions."""
    parts = get_args(hint) if get_origin(hint) in (typing.Union, UnionType) else (hint,)
    kinds = [
        part.__origin__ if get_origin(part) is Annotated else part for part in parts
    ]
    return kinds, [mark for part in parts for mark in getattr(part, "__metadata__", ())]


def check_value(name: str, value: Any, hint: Any) -> None:
    """Refuse, under this `name`, a `value` that an annotation excludes."""
    _check({name: _read(hint)}, {name: value})


def _check(rules: Mapping[str, tuple[list, list]], values: Mapping[str, Any]) -> None:
    """Refuse, by its name, the first of the `values` that its rule excludes."""
    sizes: dict[str, int] = {}
    for name, value in values.items():
        kinds, marks = rules.get(name, ([Any], []))
        if value is not None or NoneType not in kinds:
            for look in filter(callable, marks):
                look(name, value)
        kind = next((kind for kind in kinds if _fits(value, kind)), None)
        if kind is None or (
            is_number(value) and not all(_holds(mark, value) for mark in marks)
        ):
            _refuse(name, value, kinds, marks)
        if hasattr(kind, "dim_str"):
            _check_tensor(name, value, kind, sizes)


def _holds(mark: Any, value: Any) -> bool:
    """Whether a number is within a bound."""
    compare = BOUNDS.get(type(mark))
    return compare is None or compare(value, *astuple(mark))


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of the kind that an annotation names; what is no class is not looked at."""
    if hasattr(kind, "dim_str"):
        dense = isinstance(value, Tensor) and value.layout == torch.strided
        # "any dtype" is never read
        return dense and not (value.is_meta and isinstance(kind.dtypes, tuple))
    if kind in (int, float):
        return (
            is_number(value)
            and abs(value) < REACH[kind]
            and isinstance(value, kind | int)
        )
    if isinstance(kind, UnionType):
        return any(_fits(value, part) for part in get_args(kind))
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return value in parts
    if origin is tuple and parts and ... not in parts:
        return (
            isinstance(value, tuple | list)
            and len(value) == len(parts)
            and all(map(_fits, value, parts))
        )
    return kind is Any or not isinstance(origin, type) or isinstance(value, origin)


def _refuse(name: str, value: Any, kinds: list, marks: list) -> None:
    """Say what a value of another kind, or out of range, should have been."""
    if get_origin(kinds[0]) is Literal and len(kinds) == 1:
        check_choice(name, value, get_args(kinds[0]))
    if any(map(_holds_images, kinds)):
        check_images(value)
    match [mark for mark in marks if type(mark) in BOUNDS]:
        case [Gt(0)] if kinds[0] is int:
            expected = "a positive integer"
        case [Gt(low)]:
            expected = f"{_called(kinds)} above {low}"
        case [Ge(low)]:
            expected = f"{_called(kinds)} of {low} or more"
        case [Gt(low) | Ge(low) as first, Lt(high) | Le(high) as last]:
            ends = (
                "[" if isinstance(first, Ge) else "(",
                "]" if isinstance(last, Le) else ")",
            )
            expected = f"{_called(kinds)} in {ends[0]}{low}, {high}{ends[1]}"
        case _:
            expected = _called(kinds)
    expected += ", or None" * (NoneType in kinds)
    fix = ""
    if isinstance(value, str) and (named := [k for k in kinds if hasattr(k, "preset")]):
        fix = f"; {named[0].__name__}.preset(name) makes one, as of 'vit-b/16'"
    got = f"{value!r:.200}"
    if isinstance(value, nn.Module):
        home = type(value).__module__.partition(".")[0]
        got = f"a {type(value).__name__} of {home}"
        if Mapping in kinds:
            got += "; pass its state_dict()"
        elif "VisionTransformer" in expected and home != "vitlib":
            got += "; vl.load_weights(model, theirs.state_dict()) reads its weights"
    raise ValueError(f"{name} must be {expected}, got {got}{fix}")


def _called(kinds: list) -> str:
    """The kinds of value in words."""
    words = {
        int: "a whole number",
        float: "a number",
        bool: "True or False",
        str: "a string",
    }
    return " or ".join(
        f"a tensor ({', '.join(kind.dim_str.split())})"
        if hasattr(kind, "dim_str")
        else words.get(kind)
        or f"a {getattr(get_origin(kind) or kind, '__name__', kind)}"
        for kind in kinds
        if kind is not NoneType
    )


def _holds_images(kind: Any) -> bool:
    """Whether an annotation is of a tensor whose last axes are those of an image."""
    return getattr(kind, "dim_str", "").endswith(("C H W", "3 H W"))


def _check_tensor(name: str, value: Tensor, kind: Any, sizes: dict[str, int]) -> None:
    """Refuse a tensor of another shape or dtype; `sizes` are those of the axes met so far in this call."""
    axes, shape, known = kind.dim_str.split(), tuple(value.shape), dict(sizes)
    if _holds_images(kind):
        check_images(value, kind.dim_str.replace("*B", "..."))
    named, got = axes, shape
    if axes[0][0] == "*":  # any axes may come first
        named, got = axes[1:], shape[max(0, len(shape) - len(axes) + 1) :]
    if len(got) != len(named) or any(
        size != (int(axis) if axis.isdigit() else sizes.setdefault(axis, size))
        for axis, size in zip(named, got, strict=True)
    ):
        so_far = "".join(
            f", {axis} = {known[axis]}"
            for axis in dict.fromkeys(named)
            if axis in known
        )
        raise ValueError(
            f"expected {name} of shape ({', '.join(axes)}){so_far}, got {shape}"
        )
    if (
        isinstance(kind.dtypes, tuple)
        and str(value.dtype).removeprefix("torch.") not in kind.dtypes
    ):
        family = kind.__name__.split("[")[0].lower()
        to = {"float": "float", "bool": "bool", "uint8": "byte"}.get(family, "long")
        normal = _holds_images(kind) and to == "float"
        fix = f"use vl.normalize({name})" if normal else f"write {name}.{to}()"
        raise ValueError(f"expected {name} of dtype {family}, got {value.dtype}; {fix}")
