"""What can be said of any wrong answer beside the right one: how they differ, never the solution."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from vitworkshop.exercises.answers import rounded, same
from vitworkshop.exercises.language import Said

# by how much a number may be off, and what to ask then
FACTORS = {
    1024: "off by a factor of 1024: KiB, MiB or GiB?",
    2**20: "off by a factor of 1024 times 1024: bytes or MiB?",
    2**30: "off by a factor of 1024, three times: bytes or GiB?",
    1.024**2: "units of 1000 and of 1024 are mixed up (MB and MiB)",
    1.024**3: "units of 1000 and of 1024 are mixed up (GB and GiB)",
    1000: "off by a factor of 1000: which unit?",
    10**6: "off by a factor of a million: which unit?",
    100: "off by a factor of 100: in percent, or as a share?",
    10: "off by a factor of 10: is a decimal point in the wrong place?",
    2: "off by a factor of 2: is something counted twice, or only half of it?",
    3: "off by a factor of 3: is something counted once that comes three times, or the reverse?",
    4: "off by a factor of 4: bytes, or numbers of 4 bytes; or both sides of a square?",
    8: "off by a factor of 8: bits or bytes?",
    2**0.5: "off by the root of 2: how do the squares of two numbers add up?",
    math.pi: "off by a factor of π",
    2 * math.pi: "off by a factor of 2π",
    math.log(2): "off by a factor of log 2: in bits, or by the natural logarithm?",
    math.log(
        10
    ): "off by a factor of log 10: to the base of ten, or the natural logarithm?",
}

# what may have been done to each of the right numbers
DONE: dict[str, Callable[[Tensor], Tensor]] = {
    "the squares of the right ones": torch.square,
    "the roots of the right ones": torch.sqrt,
    "the right ones without their signs": torch.abs,
    "the right ones with those below 0 at 0": torch.relu,
    "the logarithms of the right ones": torch.log,
    "e to the power of the right ones": torch.exp,
    "1 divided by the right ones": torch.reciprocal,
}
ALONG = {"summed": torch.sum, "averaged": torch.mean, "at their largest": torch.amax}


def kind(x: Any) -> str:
    """What an answer is, in words."""
    if isinstance(x, Tensor):
        if x.ndim:
            if x.ndim == 1 < len(x):
                return Said("{n} numbers", n=len(x))
            return Said("numbers of shape {shape}", shape=tuple(x.shape))
        return Said("True or False" if x.dtype == torch.bool else "one number")
    if isinstance(x, tuple):
        words = [f"{part!r:.40}" for part in x if isinstance(part, str)]
        if words:
            return Said("{n} things, {word} among them", n=len(x), word=words[0])
        return Said("{n} things", n=len(x))
    names = {
        str: Said("a word"),
        type(None): "None",
        set: Said("a set"),
        frozenset: Said("a set of words"),
    }
    return names.get(type(x), Said("a value of type {name}", name=type(x).__name__))


def differ(got: Any, want: Any, tol: float) -> Said:
    """How a wrong value differs from the right one, by the most telling sentence that is true."""
    if (
        isinstance(want, tuple | dict)
        and isinstance(got, type(want))
        and len(got) == len(want)
    ):
        keys = want if isinstance(want, dict) else range(len(want))
        for place, key in enumerate(keys, 1):
            if not (isinstance(got, dict) and key not in got) and not same(
                got[key], want[key], tol
            ):
                what = differ(got[key], want[key], tol)
                return Said(
                    "number {place} of what is returned: {what}", place=place, what=what
                )
    if isinstance(got, frozenset) and isinstance(want, Tensor):
        return Said("a set keeps no order, and no number twice: give a list")
    if isinstance(want, frozenset) and isinstance(got, Tensor) and got.ndim == 1:
        got = frozenset(got.tolist())
    if isinstance(want, frozenset) and isinstance(got, frozenset):
        extra = sorted(got - want, key=str)
        if extra:
            return Said("“{word}” does not belong here", word=extra[0])
        return Said("right so far, and more belong here")
    if isinstance(want, str) and isinstance(got, str):
        return Said("not this one")
    if not isinstance(got, Tensor) or not isinstance(want, Tensor):
        return Said("expected {want}, got {got}", want=kind(want), got=kind(got))
    if got.is_complex():
        return Said("the numbers are complex; real ones are asked for")
    if want.ndim == 0 and want.dtype == torch.bool:
        if got.ndim == 0 and got.dtype == torch.bool:
            return Said("the other way round")
        return Said("return True or False; bool(...) turns a number into one")
    if want.ndim == 0 and (got.ndim or got.dtype == torch.bool):
        return Said(
            "expected {want}, got {got}", want=Said("one number"), got=kind(got)
        )
    if got.dtype == torch.float32 and same(got.double(), want, 0.05):
        return Said(
            "close, but half precision has three digits at most: compute in float32"
        )
    whole, got, want = not want.is_floating_point(), got.double(), want.double()
    if got.shape != want.shape:
        return of_shape(got, want, tol)
    if not got[want.isfinite()].isfinite().all():
        bad = ~got.isfinite()
        return Said(
            "{n} of {all} numbers are nan or inf: print the step before",
            n=int(bad.sum()),
            all=got.numel(),
        )
    return next(
        of_number(got, want, whole)
        if want.ndim == 0
        else of_array(got, want, whole, tol)
    )


def of_shape(got: Tensor, want: Tensor, tol: float) -> Said:
    """A wrong shape."""
    if want.ndim == 1 and got.ndim < 2:
        return Said("expected {n} numbers, got {got}", n=len(want), got=got.numel())
    shapes = Said(
        "expected shape {want}, got {got}", want=tuple(want.shape), got=tuple(got.shape)
    )
    if got.squeeze().shape == want.squeeze().shape:
        return Said("{shapes}: an axis of length 1 too many or too few", shapes=shapes)
    more, less = (got, want) if got.ndim > want.ndim else (want, got)
    for axis in range(more.ndim if more.ndim == less.ndim + 1 else 0):
        for how, along in ALONG.items():
            if more.numel() and same(along(more, axis), less, tol):
                return Said(
                    "{shapes}: right once {how} along axis {axis}"
                    if more is got
                    else "{shapes}: {how} along axis {axis}",
                    shapes=shapes,
                    how=Said(how),
                    axis=axis,
                )
    if sorted(got.shape) == sorted(want.shape):
        return Said("{shapes}: the axes are in another order", shapes=shapes)
    if got.numel() == want.numel():
        right = same(got.flatten(), want.flatten(), tol)
        return Said(
            "{shapes}: the right numbers, laid out in other axes"
            if right
            else "{shapes}: as many numbers, laid out in other axes",
            shapes=shapes,
        )
    if got.ndim == want.ndim:
        off = [i for i in range(got.ndim) if got.shape[i] != want.shape[i]]
        if len(off) == 1 and abs(got.shape[off[0]] - want.shape[off[0]]) == 1:
            return Said(
                "{shapes}: one too many along axis {axis}"
                if got.shape > want.shape
                else "{shapes}: one too few along axis {axis}",
                shapes=shapes,
                axis=off[0],
            )
    return shapes


def closely(got: Tensor, want: Tensor, whole: bool) -> Said:
    """What is said of numbers that are nearly right."""
    if (not whole or want.abs().min() >= 10_000) and rounded(got, want, 1):
        return Said("close: rounded to fewer than three digits?")
    return Said(
        "close: is something small left out, or a step too rough?"
        if whole
        else "close, not by rounding: is something small left out, or a step too rough?"
    )


def of_number(got: Tensor, want: Tensor, whole: bool) -> Iterator[Said]:
    """A wrong number; `whole` is one that is counted."""
    g, w = got.item(), want.item()
    if w and g:
        ratio = abs(g / w)
        if abs(g + w) <= 1e-3 * abs(w):
            yield Said("the sign is the other way round")
        for factor, sentence in FACTORS.items():
            near = 0.01 if factor == 100 else 1e-3  # 37 for 0.368
            if min(abs(ratio / factor - 1), abs(ratio * factor - 1)) < near:
                yield Said(sentence)
        if whole and abs(g - w) == 1:
            yield Said("off by one: is the first counted, or the last?")
        if abs(g * w - 1) < 1e-3:
            yield Said("upside down: what is divided by what?")
        if w % 1 and abs(g + w - 1) < 1e-3 * w < abs(g - w):
            yield Said("this is what is missing to 1: the other part is asked for")
        if whole and g % 1 and abs(g - w) < 1:
            yield Said("less than one off, and a whole number is asked for")
        if abs(ratio - 1) < 0.05 or (w % 1 and rounded(got, want, 1)):
            yield closely(got, want, w % 1 == 0)
        if w > 1 and min(abs(g / w**2 - 1), abs(g / w**0.5 - 1)) < 1e-3:
            yield Said("a square too many, or one that is missing")
    way = Said("too large" if g > w else "too small")
    if g * w > 0 and max(g / w, w / g) > 2:
        yield Said("{way} by a good deal", way=way)
    yield Said("not this number: {what}", what=way)


def of_array(got: Tensor, want: Tensor, whole: bool, tol: float) -> Iterator[Said]:
    """Wrong numbers in the right shape."""
    if want.numel() > 1 and got.unique().numel() == 1 and want.unique().numel() > 1:
        yield Said("all numbers are the same")
    for i in range(want.ndim):
        for j in range(i):
            if want.shape[i] == want.shape[j] and same(got.transpose(i, j), want, tol):
                yield (
                    Said("rows and columns are exchanged")
                    if want.ndim == 2
                    else Said("axes {one} and {two} are exchanged", one=j, two=i)
                )
    if same(-got, want, tol):
        yield Said("the sign is the other way round")
    for axis in range(want.ndim):
        yield from moved(got, want, axis, tol)
    if want.unique().numel() > 1 and (got - want).std() <= tol * want.std():
        by = f"{(got - want).mean():.3g}"
        yield Said("all numbers are off by the same amount, {by}", by=by)
    ratio = (got * want).sum() / want.square().sum()
    few_whole = (
        want.ndim == 1
        and len(want) < 13
        and abs(max(ratio, 1 / ratio) % 1 - 0.5) < 0.49
    )
    if (
        want.any()
        and ratio
        and abs(ratio - 1) > 0.05
        and not few_whole
        and same(got / ratio, want, tol)
    ):
        yield Said(
            "all numbers are {by} times what they should be: in percent, or as a share?"
            if abs(ratio / 100 - 1) < 0.01
            else "all numbers are {by} times what they should be",
            by=f"{ratio:.3g}",
        )
    if not want.equal(want.round()) and any(
        got.equal(f(want)) for f in (torch.round, torch.trunc, torch.floor)
    ):
        yield Said(
            "the numbers are rounded to whole ones: is an integer dtype in the way?"
        )
    for what, done in DONE.items():
        if (
            want.unique().numel() > 2
            and done(want).isfinite().all()
            and same(got, done(want), tol)
        ):
            yield Said("these are {what}", what=Said(what))
    sums = [
        [
            same(x.sum(axis), torch.ones_like(x.sum(axis)), 1e-3)
            for axis in range(x.ndim)
        ]
        for x in (got, want)
    ]
    right = [axis for axis, (a, b) in enumerate(zip(*sums, strict=True)) if b and not a]
    if right and want.ndim > 1:
        other = sums[0].index(True) if True in sums[0] else None
        yield Said(
            "the numbers should sum to 1 along axis {axis}"
            if other is None
            else "the numbers should sum to 1 along axis {axis}; they do along axis {other}",
            axis=right[0],
            other=other,
        )
    off = ~torch.isclose(
        got, want, rtol=0, atol=tol * (want[want.isfinite()].abs().max().item() or 1)
    )
    most = off.double().mean() > 0.5
    for axis in range(want.ndim if want.ndim > 1 and most else 0):
        if want.shape[axis] > 2:
            scale = (got * want).sum(axis, keepdim=True) / want.square().sum(
                axis, keepdim=True
            )
            if same(got, scale * want, tol):
                yield Said(
                    "right up to factors that differ, each the same along axis {axis}",
                    axis=axis,
                )
            if same(got, want + (got - want).mean(axis, keepdim=True), tol):
                yield Said(
                    "right up to terms that differ, each the same along axis {axis}",
                    axis=axis,
                )
    another = same(got.flatten().sort()[0], want.flatten().sort()[0], tol)
    if another and (want.ndim < 2 or most):
        yield Said("the right numbers in another order")
    near = ((got - want).abs() < 0.05 * want.abs())[off].all()
    close = closely(got[off], want[off], whole) if near else None
    if want.ndim == 1 and len(want) < 13:
        at = off.nonzero().flatten().tolist()
        said = {next(of_number(got[i], want[i], whole)) for i in at}
        which = Said(
            "number {at} of {all} is wrong"
            if len(at) == 1
            else "numbers {at} of {all} are wrong",
            at=", ".join(str(i + 1) for i in at),
            all=len(want),
        )
        what = said.pop()  # without "not this number: "
        what = what.values.get("what", what)
        yield which if said else Said("{part}: {what}", part=which, what=what)
    n, by = int(off.sum()), f"{(got - want).abs().max():.2g}"
    wrong = (
        Said("the shape is right, the numbers are not: off by up to {by}", by=by)
        if most
        else Said(
            "{n} of {all} numbers is wrong, at {place}"
            if n == 1
            else "{n} of {all} numbers are wrong, the first at {place}",
            n=n,
            all=off.numel(),
            place=off.nonzero()[0].tolist(),
        )
    )
    if not most and (places := only(off)):
        wrong = Said("{what}, all at {places} along axis {axis}", what=wrong, **places)
    yield Said("{what}; {close}", what=wrong, close=close) if close else wrong


def moved(got: Tensor, want: Tensor, axis: int, tol: float) -> Iterator[Said]:
    """The right numbers in other places along an axis."""
    n, along = want.shape[axis], {"axis": axis} if want.ndim > 1 else {}
    if same(got.flip(axis), want, tol):
        yield Said(
            "the order along axis {axis} is reversed"
            if along
            else "the order is reversed",
            **along,
        )
    for by in range(1, min(n - 1, 9)):
        for a, b in ((got, want), (want, got)):
            if same(a.narrow(axis, by, n - by), b.narrow(axis, 0, n - by), tol):
                yield Said(
                    "shifted by {by} along axis {axis}" if along else "shifted by {by}",
                    by=by,
                    **along,
                )
            if same(a.roll(by, axis), b, tol):
                yield Said(
                    "shifted by {by} along axis {axis}, around the end"
                    if along
                    else "shifted by {by}, around the end",
                    by=by,
                    **along,
                )
    if 1 < n <= 256 and want.ndim > 1:
        rows = [x.movedim(axis, 0).flatten(1) for x in (got, want)]
        fit = torch.cdist(*rows, p=torch.inf) <= tol * want.abs().max()
        if fit.any(0).all() and fit.any(1).all() and not fit.diagonal().all():
            i = int((~fit.diagonal()).nonzero()[0])
            yield Said(
                "in another order along axis {axis}: what stands at {place} belongs at {other}",
                axis=axis,
                place=i,
                other=int(fit[i].nonzero()[0]),
            )


def only(off: Tensor) -> dict[str, Any]:
    """Where along an axis all wrong numbers are, if that is in a few places."""
    places = {
        i: off.movedim(i, 0).flatten(1).any(1).nonzero().flatten().tolist()
        for i in range(off.ndim)
    }
    axis = min(places, key=lambda i: len(places[i]) / off.shape[i])
    if off.ndim < 2 or off.sum() < 2 or len(places[axis]) > min(3, off.shape[axis] / 2):
        return {}
    return {"places": ", ".join(map(str, places[axis])), "axis": axis}
