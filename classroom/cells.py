"""A cell is read as Jupyter reads it: as Python, else by IPython's rules; a statement that fails spoils no other.

Used by the process in which students' code runs, and by nothing else.
"""

import ast
import contextlib
import inspect
import re
import signal
import time
from functools import partial
from typing import Any
from unittest.mock import MagicMock

from IPython.core.inputtransformer2 import TransformerManager

# begins no statement
GOES_ON = re.compile(r"[ \t\n)\]}#]|(?:else|elif|except|finally)\b|$")
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
TIMED = re.compile(r"\A\s*%%(?:time|capture|prun)\b.*")
Failure = tuple[int, str, str]  # the line, the error's name and what it says


def run(text: str, where: str, space: dict[str, Any], end: float) -> list[Failure]:
    """Run a cell's statements, each for itself and in half of the time that is left; which lines failed, and why."""
    # what a command gives is empty
    space |= {
        "get_ipython": MagicMock(),
        "display": MagicMock(),
    }
    statements, failed = parsed(TIMED.sub("", text))
    limit = (
        partial(signal.setitimer, signal.ITIMER_REAL)
        if hasattr(signal, "setitimer")
        else float
    )
    if limit is not float:
        signal.signal(signal.SIGALRM, _late)
    for node in statements:
        if (
            isinstance(node, ast.Expr)
            and getattr(getattr(node.value, "func", 0), "id", "") == "example"
        ):
            continue  # which the notebook tries, and nobody here
        try:
            limit(max((end - time.monotonic()) / 2, 0.1))
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
        limit(0)
    return sorted(failed)


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
