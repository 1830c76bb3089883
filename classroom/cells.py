"""A cell is read as Jupyter reads it: as Python, else by IPython's rules; a statement that fails spoils no other.

Used by the process in which students' code runs, and by nothing else.
"""

import ast
import contextlib
import inspect
import re
import signal
from typing import Any
from unittest.mock import MagicMock

from IPython.core.inputtransformer2 import TransformerManager

GOES_ON = re.compile(r"[ \t\n)\]}#]|(?:else|elif|except|finally)\b|$")  # begins no statement
BLOCKS = (ast.If, ast.For, ast.With, ast.Try)
DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
DEFINES += (ast.Assign, ast.AnnAssign, *BLOCKS)
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
TIMED = re.compile(r"\A\s*%%(?:time|capture|prun)\b.*")
Failure = tuple[int, str, str]  # the line, the error's name and what it says


def run(text: str, where: str, space: dict[str, Any], only_definitions: bool) -> list[Failure]:
    """Run a cell's statements, each for itself; which lines failed, and why.

    With only definitions, what defines nothing is left out, also within `if`, `for`, `with` and `try`, and what takes
    longer than a second.
    """
    space |= {"get_ipython": MagicMock(), "display": MagicMock()}  # what a command gives is empty
    statements, failed = parsed(TIMED.sub("", text))
    limit = getattr(signal, "alarm", int) if only_definitions else int
    if limit is not int:
        signal.signal(signal.SIGALRM, _late)
    for node in kept(statements, only_definitions):
        try:
            limit(1)
            code = compile(ast.Module([node], []), where, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            waiting = eval(code, space)
            with contextlib.suppress(StopIteration):
                while code.co_flags & inspect.CO_COROUTINE:
                    waiting.send(None)
        except BaseException as error:  # the student's, whatever it is; what follows may still be right
            failed.append((node.lineno, type(error).__name__, " ".join(str(error).split())[:160]))
        limit(0)
    return sorted(failed)


def _late(*_: Any) -> None:
    raise TimeoutError("still running after a second")


def parsed(text: str) -> tuple[list[ast.stmt], list[Failure]]:
    """The statements of a cell; where it cannot be read as a whole, those that can, and the lines that cannot."""
    try:
        return _tree(text), []
    except UNREADABLE as error:
        name = type(error).__name__
    lines, found, failed, at = text.splitlines(keepends=True), [], [], 0
    begins = [0, *(n for n, line in enumerate(lines) if n and not GOES_ON.match(line)), len(lines)]
    while at < len(begins) - 1:
        start, after = begins[at], at + 1
        for end in range(at + 1, min(at + 30, len(begins))):  # a statement may go over some lines
            with contextlib.suppress(*UNREADABLE):
                found += [ast.increment_lineno(n, start) for n in _tree("".join(lines[start : begins[end]]))]
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


def kept(body: list[ast.stmt], only_definitions: bool) -> list[ast.stmt]:
    """Statements without the examples that are tried; of definitions alone, those."""
    found = []
    for node in body:
        if only_definitions and isinstance(node, BLOCKS):
            for part in (node, *getattr(node, "handlers", ())):
                for name in ("body", "orelse", "finalbody"):
                    if inner := getattr(part, name, None):
                        setattr(part, name, kept(inner, True) or [ast.copy_location(ast.Pass(), node)])
        tried = isinstance(node, ast.Expr) and getattr(getattr(node.value, "func", 0), "id", "") == "example"
        if not tried and (isinstance(node, DEFINES) or not only_definitions):
            found.append(node)
    return found
