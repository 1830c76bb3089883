"""A cell is read as Jupyter reads it: as Python, else by IPython's rules; a statement that fails spoils no other.

Used by the process in which students' code runs, and by nothing else.
"""

import ast
import contextlib
import inspect
import re
import signal
import time
from typing import Any
from unittest.mock import MagicMock

from IPython.core.inputtransformer2 import TransformerManager

# begins no statement
GOES_ON = re.compile(r"[ \t\n)\]}#]|(?:else|elif|except|finally)\b|$")
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
TIMED = re.compile(r"\A\s*%%(?:time|capture|prun)\b.*")
TIMERS, SIGNALS = ("ITIMER_PROF", "ITIMER_REAL"), ("SIGPROF", "SIGALRM")
Failure = tuple[int, str, str]  # the line, the error's name and what it says


def run(
    text: str, where: str, space: dict[str, Any], end: float, until: float
) -> list[Failure]:
    """Run a cell's statements, each for itself; which lines failed, and why.

    Each has half of what is left up to `end`, by what this process computes, and up to `until`, by the clock.
    """
    # what a command gives is empty
    space |= {
        "get_ipython": MagicMock(),
        "display": MagicMock(),
    }
    statements, failed = parsed(TIMED.sub("", text))
    for node in statements:
        if (
            isinstance(node, ast.Expr)
            and getattr(getattr(node.value, "func", 0), "id", "") == "example"
        ):
            continue  # which the notebook tries, and nobody here
        try:
            _limit(end - time.process_time(), until - time.monotonic())
            code = compile(
                ast.Module([node], []), where, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            )
            waiting = eval(code, space)
            with contextlib.suppress(StopIteration):
                while code.co_flags & inspect.CO_COROUTINE:
                    waiting.send(None)
        except (
            BaseException
        ) as error:  # the student's, whatever it is; what follows may still be right
            failed.append(
                (node.lineno, type(error).__name__, " ".join(str(error).split())[:160])
            )
        _limit(0, 0)
    return sorted(failed)


def _limit(*left: float) -> None:
    """Raise a TimeoutError after half of the seconds that are left of each kind; 0 ends that."""
    if hasattr(signal, "setitimer"):
        for kind, name, seconds in zip(TIMERS, SIGNALS, left, strict=True):
            signal.signal(getattr(signal, name), _late)
            half = max(seconds / 2, 0.1) if seconds else 0
            signal.setitimer(getattr(signal, kind), half)


def _late(*_: Any) -> None:
    raise TimeoutError("still running after half of the time")


def parsed(text: str) -> tuple[list[ast.stmt], list[Failure]]:
    """The statements of a cell; where it cannot be read as a whole, those that can, and the lines that cannot."""
    try:
        return _tree(text), []
    except UNREADABLE as error:
        name = type(error).__name__
    lines, found, failed, at = text.splitlines(keepends=True), [], [], 0
    begins = [
        0,
        *(n for n, line in enumerate(lines) if n and not GOES_ON.match(line)),
        len(lines),
    ]
    while at < len(begins) - 1:
        start, after = begins[at], at + 1
        for end in range(
            at + 1, min(at + 30, len(begins))
        ):  # a statement may go over some lines
            with contextlib.suppress(*UNREADABLE):
                found += [
                    ast.increment_lineno(n, start)
                    for n in _tree("".join(lines[start : begins[end]]))
                ]
                after = end
                break
        else:
            failed.append((start + 1, name, lines[start].strip()[:160]))
        at = after
    return found, failed


def _tree(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except SyntaxError:
        return ast.parse(TransformerManager().transform_cell(text)).body
