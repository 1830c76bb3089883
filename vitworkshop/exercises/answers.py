"""What a student's answer gives: in one form whatever its type, compared, run under a time limit."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import re
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

LIMIT = 5.0  # seconds for all calls of a check
ROUGH = 0.02  # of the largest number, for answers in half precision


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
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooLong after some seconds, if that can be done; a timer that ran goes on afterwards."""
    if not can_limit():
        yield
        return

    def stop(*_: Any) -> None:
        raise TooLong

    before, start = signal.signal(signal.SIGALRM, stop), time.monotonic()
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - time.monotonic() + start, 0.01), every)


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
        found.error, found.says = type(error).__name__, " ".join(str(error).split())[:160]
        code = getattr(inspect.unwrap(answer), "__code__", None)
        trace = traceback.extract_tb(error.__traceback__)
        frames = [frame for frame in trace if code and frame.filename == code.co_filename]
        found.where = (frames[-1].line or "") if frames else ""
    pairs = enumerate(zip(arguments, mine, strict=True), 1)
    found.changed = next((i for i, (a, b) in pairs if not same(state(b), state(a), 0)), 0)
    found.printed = bool(printed.getvalue().strip())
    return found


def state(argument: Any) -> Any:
    """What of an argument must not change: numbers, or a module's weights."""
    return plain(dict(argument.state_dict()) if isinstance(argument, nn.Module) else argument)


def plain(x: Any) -> Any:
    """Numbers of any type as a tensor of int64, bool or float64 (float32 marks half precision); words as they are."""
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, set | frozenset) or x is None or isinstance(x, str):
        return x
    try:
        x = float(x) if isinstance(x, Fraction) else x
        numbers = np.array(x) if isinstance(x, np.ndarray | np.generic | range | float) else x
        tensor = torch.as_tensor(numbers).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        if not isinstance(x, list | tuple | map | zip):
            return x
        parts = [plain(value) for value in x]
        tensors = parts and all(isinstance(p, Tensor) and p.shape == parts[0].shape for p in parts)
        return torch.stack([p.double() for p in parts]) if tensors else tuple(parts)
    if tensor.is_complex() or tensor.dtype == torch.bool:
        return tensor
    if not tensor.is_floating_point():
        return tensor.long()
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor.double()


def same(got: Any, want: Any, tol: float) -> bool:
    """Whether two plain values are equal, whole numbers exactly, others up to `tol` of the largest."""
    if isinstance(want, Tensor) and isinstance(got, Tensor):
        truth = (got.dtype == torch.bool) == (want.dtype == torch.bool)  # a number is no truth value
        if got.shape != want.shape or got.is_complex() or (want.ndim == 0 and not truth):
            return False
        whole, finite = not want.is_floating_point(), want[want.isfinite()]
        scale = finite.abs().max().item() if finite.numel() and not whole else 0
        rough = max(tol, ROUGH) if got.dtype == torch.float32 else tol
        return torch.allclose(got.double(), want.double(), rtol=0, atol=0 if whole else rough * (scale or 1))
    if isinstance(want, tuple) and isinstance(got, Tensor) and got.ndim and len(got) == len(want):
        got = tuple(got)
    if isinstance(want, tuple) and isinstance(got, tuple):
        return len(got) == len(want) and all(same(g, w, tol) for g, w in zip(got, want, strict=True))
    if isinstance(want, dict) and isinstance(got, dict):
        return got.keys() == want.keys() and all(same(got[key], want[key], tol) for key in want)
    return type(got) is type(want) and bool(got == want)


def words(x: Any, want: Any) -> Any:
    """An answer in words in the form of `want`: one word, words in order, or a set; None if it holds no words."""
    one, parts = isinstance(want, str), x
    if isinstance(x, str):
        parts = re.split(r"[^\w.+*/-]+", x)
        parts = [x] if one and any(len(part) > 1 for part in parts) else parts
    if not isinstance(parts, list | tuple | set | frozenset) or not all(isinstance(p, str) for p in parts):
        return None
    found = [part.strip().casefold() for part in parts if part.strip()]
    if one and all(len(part) == 1 for part in found):
        found = ["".join(found)]  # "b, a, c" for "bac"
    if one:
        return re.sub(r"[\s,_-]", "", found[0]) if len(found) == 1 else None  # "Layer Norm", "B, A, C"
    if all(len(w) == 1 for w in want):
        found = list("".join(found))  # "bac" for b, a, c
    return frozenset(found) if isinstance(want, set | frozenset) else tuple(found)


def rounded(answer: Any, want: Any) -> bool:
    """Whether a typed number is the right one rounded, to three digits or more."""
    if not isinstance(answer, float | int) or isinstance(answer, bool) or not isinstance(want, float):
        return False
    digits = re.fullmatch(r"-?0*\.?0*([\d.]*)", repr(answer))
    if not digits or len(digits[1].replace(".", "")) < 3:
        return False
    places = len(repr(answer).partition(".")[2])
    return bool(abs(answer - want) <= 0.500001 * 10**-places)
