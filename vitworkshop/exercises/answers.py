"""What a student's answer gives: in one form whatever its type, compared, run under a time limit."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vitworkshop.exercises.language import Said

LIMIT = 5.0  # seconds of computing for all calls of a check, whatever else keeps the machine busy
PATIENCE = 120.0  # seconds by the clock, for what sleeps or waits
TICK = 0.05  # seconds between two looks at the time
ROUGH = 5e-3  # of the largest number, for answers in half precision


class TooLong(BaseException):
    """The time limit is over; no Exception, so that `except Exception` does not hide it."""


@dataclass
class Outcome:
    """What a call gave: a value, an error or no end; whether it changed an argument; what it printed."""

    value: Any = None
    error: str = ""  # the type's name
    says: str = ""  # its words
    where: str = ""  # the student's line
    changed: int = 0  # the number of the argument, from 1
    printed: bool = False


def can_limit() -> bool:
    """Whether a call can be stopped: where there are timers (not on Windows), in the main thread."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
    )


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Raise TooLong in an `outcome` that takes too long, if that can be done; a timer that ran goes on afterwards.

    It is what this thread computes that counts. Imports do not, and are not interrupted while it only computes: what
    they have loaded by then would stay, without its package.
    """
    if not can_limit():
        yield
        return
    start, used, seen, known = (
        time.monotonic(),
        0.0,
        time.thread_time(),
        set(sys.modules),
    )

    def look(_: int, frame: FrameType | None) -> None:
        nonlocal used, seen
        imports = False
        while frame and frame.f_code is not outcome.__code__:
            imports, frame = (
                imports or "importlib._bootstrap" in frame.f_code.co_filename,
                frame.f_back,
            )
        now = time.thread_time()
        used, seen = used + (0 if imports else now - seen), now
        waits = time.monotonic() - start > PATIENCE
        if frame and (waits or (used > LIMIT and not imports)):
            # once more, if the answer catches everything
            signal.setitimer(signal.ITIMER_REAL, 1, 1)
            if used > LIMIT:
                raise TooLong(
                    Said(
                        "still computing after {n} seconds, stopped: does a loop never end?",
                        n=f"{LIMIT:g}",
                    )
                )
            raise TooLong(
                Said(
                    "not done after {n} seconds, stopped: does it sleep, or wait for input?",
                    n=f"{PATIENCE:g}",
                )
            )

    before = signal.signal(signal.SIGALRM, look)
    left, every = signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
    try:
        yield
    except BaseException:
        for name in sorted(
            set(sys.modules) - known
        ):  # parts of what was not loaded to the end
            if (package := name.rpartition(".")[0]) and package not in sys.modules:
                del sys.modules[name]
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(
                signal.ITIMER_REAL, max(left - time.monotonic() + start, 0.01), every
            )


def outcome(run: Callable | None, answer: Any, arguments: tuple) -> Outcome:
    """Call an answer with copies of the arguments, under one seed; what it prints is kept from the page."""
    mine, printed, found = copy.deepcopy(arguments), io.StringIO(), Outcome()
    try:
        with (
            torch.random.fork_rng(devices=[]),
            contextlib.redirect_stdout(printed),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            found.value = plain(run(answer, *mine) if run else answer(*mine))
    except (TooLong, KeyboardInterrupt):
        raise
    except BaseException as error:  # the student's, whatever it is; also SystemExit
        found.error = type(error).__name__
        ours = [words for words in error.args if isinstance(words, Said)]
        found.says = ours[0] if ours else " ".join(str(error).split())[:160]
        code = getattr(inspect.unwrap(answer), "__code__", None)
        trace = traceback.extract_tb(error.__traceback__)
        frames = [
            frame for frame in trace if code and frame.filename == code.co_filename
        ]
        found.where = (frames[-1].line or "") if frames else ""
    pairs = enumerate(zip(arguments, mine, strict=True), 1)
    found.changed = next(
        (i for i, (a, b) in pairs if not same(state(b), state(a), 0)), 0
    )
    found.printed = bool(printed.getvalue().strip())
    return found


def state(argument: Any) -> Any:
    """What of an argument must not change: numbers, or a module's weights."""
    return plain(
        dict(argument.state_dict()) if isinstance(argument, nn.Module) else argument
    )


def plain(x: Any) -> Any:
    """Numbers of any type as a tensor of int64, bool or float64 (float32 marks half precision); words as they are.

    Whatever can be gone through is a list; a set is a frozenset of numbers or words.
    """
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if x is None or isinstance(x, str | type | nn.Module):
        return x
    if isinstance(x, set | frozenset):
        parts = [plain(value) for value in x]
        return frozenset(
            p.item() if isinstance(p, Tensor) and p.ndim == 0 else p for p in parts
        )
    if isinstance(x, np.ndarray) and x.dtype.kind in "UO":
        x = x.tolist()
    if isinstance(x, Iterable) and not isinstance(
        x, list | tuple | np.ndarray | Tensor
    ):
        x = list(islice(x, 10**5))
    flat = (
        isinstance(x, list | tuple)
        and x
        and all(isinstance(value, int | float) for value in x)
    )
    try:
        x = float(x) if isinstance(x, Fraction) else x
        numbers = (
            np.array(x) if flat or isinstance(x, np.ndarray | np.generic | float) else x
        )
        tensor = torch.as_tensor(numbers).detach().cpu()
        tensor = tensor if tensor.layout == torch.strided else tensor.to_dense()
    except (TypeError, ValueError, RuntimeError):
        if not isinstance(x, list | tuple):
            return x
        parts = [plain(value) for value in x]
        tensors = parts and all(
            isinstance(p, Tensor) and p.shape == parts[0].shape for p in parts
        )
        return torch.stack([p.double() for p in parts]) if tensors else tuple(parts)
    if tensor.is_complex() or tensor.dtype == torch.bool:
        return tensor
    if not tensor.is_floating_point():
        return tensor.long()
    return (
        tensor.float()
        if tensor.dtype in (torch.float16, torch.bfloat16)
        else tensor.double()
    )


def same(got: Any, want: Any, tol: float) -> bool:
    """Whether two plain values are equal, whole numbers exactly, others up to `tol` of the largest."""
    if isinstance(want, frozenset) and isinstance(got, Tensor) and got.ndim == 1:
        got = frozenset(got.tolist())
    if (
        isinstance(got, frozenset)
        and isinstance(want, Tensor)
        and all(isinstance(x, int | float) for x in got)
    ):
        got = torch.tensor(sorted(got))
    if isinstance(want, Tensor) and isinstance(got, Tensor):
        # a number is no truth value
        truth = (got.dtype == torch.bool) == (want.dtype == torch.bool)
        if (
            got.shape != want.shape
            or got.is_complex()
            or (want.ndim == 0 and not truth)
        ):
            return False
        whole, finite = not want.is_floating_point(), want[want.isfinite()]
        scale = finite.abs().max().item() if finite.numel() and not whole else 0
        rough = max(tol, ROUGH) if got.dtype == torch.float32 else tol
        return torch.allclose(
            got.double(),
            want.double(),
            rtol=0,
            atol=0 if whole else rough * (scale or 1),
        )
    if (
        isinstance(want, tuple)
        and isinstance(got, Tensor)
        and got.ndim
        and len(got) == len(want)
    ):
        got = tuple(got)
    if isinstance(want, tuple) and isinstance(got, tuple):
        return len(got) == len(want) and all(
            same(g, w, tol) for g, w in zip(got, want, strict=True)
        )
    if isinstance(want, dict) and isinstance(got, dict):
        return got.keys() == want.keys() and all(
            same(got[key], want[key], tol) for key in want
        )
    return type(got) is type(want) and bool(got == want)


def words(x: Any, want: Any) -> Any:
    """An answer in words in the form of `want`: one word, words in order, or a set; None if it holds no words."""
    one, parts = isinstance(want, str), x
    if isinstance(x, str):
        parts = re.split(r"[^\w.+*/-]+", x)
        if any(len(part) > 1 for part in parts):
            parts = (
                [x]
                if one
                else re.split(r"[,;\n]| and ", x)
                if re.search(r"[,;\n]| and ", x)
                else x.split()
            )
    if not isinstance(parts, list | tuple | set | frozenset) or not all(
        isinstance(p, str) for p in parts
    ):
        return None
    found = [word for part in parts if (word := bare(part))]
    if one:  # "b, a, c" for "bac"
        return (
            found[0]
            if len(found) == 1
            else "".join(found)
            if all(len(w) == 1 for w in found)
            else None
        )
    if all(len(w) == 1 for w in want):
        found = list("".join(found))  # "bac" for b, a, c
    return frozenset(found) if isinstance(want, set | frozenset) else tuple(found)


def bare(word: str) -> str:
    """A word without what does not matter: capitals, an article, quotes, a possessive, hyphens, spaces, a full stop."""
    word = re.sub(r"(?<=\w)['’]s\b|[\"'`‘’“”]", "", word.casefold()).strip(" \t\n,;.!?")
    return re.sub(r"^(the|an?|and)\s+|[\s,_-]", "", word)


def parts_of(value: Any) -> dict[str, Any]:
    """A value by the names of its parts; one alone has the name ""."""
    return value if isinstance(value, dict) else {"": value}


def spelling(values: list[Any]) -> dict[str, str]:
    """The words of some values, bare, and as they are written."""
    lists = [[value] if isinstance(value, str) else value for value in values]
    return {bare(word): word for each in lists for word in each}


def rounded(got: Any, want: Any, least: int = 3) -> bool:
    """Whether numbers are the right ones rounded, to three digits or more; whole ones may be from 10,000 on."""
    if (
        not isinstance(got, Tensor)
        or not isinstance(want, Tensor)
        or got.shape != want.shape
    ):
        return False
    if (
        got.is_complex()
        or torch.bool in (got.dtype, want.dtype)
        or not want.isfinite().all()
    ):
        return False
    whole, got, want = not want.is_floating_point(), got.double(), want.double()
    off, right = (got - want).abs(), got == want
    for digits in range(least, 10):
        unit = 10 ** ((want.abs().log10() + 1e-12).floor() + 1 - digits)
        right |= ((got / unit - (got / unit).round()).abs() < 1e-3) & (
            off <= 0.500001 * unit
        )
    right &= (got == want) | (want.abs() >= 10_000) | (not whole)
    return bool((right | (not whole) & (off <= 1e-4 * want.abs())).all())
