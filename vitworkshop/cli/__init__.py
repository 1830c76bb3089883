"""The command line, `python -m vitlib COMMAND`; --help lists the commands, and each has its own."""

from __future__ import annotations

import argparse
import errno
import io
import shlex
import sys
import warnings

from vitlib.evidence import COMMAND, VERSION
from vitlib.files import printable
from vitworkshop.cli import data, look, predict, pretrained, study, train
from vitworkshop.cli.options import Parser

__all__ = ["main"]

_MENDABLE = (ValueError, OSError, ImportError, FloatingPointError, MemoryError)
_FULL = (errno.ENOSPC, errno.EDQUOT)


def main(argv: list[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The words after `python -m vitlib`; None takes them from the command line.

    Returns:
        The exit code: 0, 2 after an error the user can mend (one line on stderr), 130 after Ctrl-C or SIGTERM.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, io.TextIOWrapper
        ):  # names may hold letters that its encoding has not
            stream.reconfigure(errors="backslashreplace")
    argv = sys.argv[1:] if argv is None else argv
    args = _parser().parse_args(argv)
    token = COMMAND.set(f"python -m vitlib {shlex.join(argv)}")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _tell
            args.run(args)
    except KeyboardInterrupt as stop:
        print(f"\n{stop}" if str(stop) else "\ninterrupted", file=sys.stderr)
        return 130
    except (*_MENDABLE, RuntimeError) as error:
        if not isinstance(error, _MENDABLE) and "allocate" not in str(
            error
        ):  # what too little memory says
            raise
        print(f"error: {_one_line(error)}", file=sys.stderr)
        return 2
    finally:
        COMMAND.reset(token)
    return 0


def _tell(message: Warning | str, *_where: object, **_more: object) -> None:
    """A warning in one line, without the line of code."""
    print(printable(" ".join(str(message).split())), file=sys.stderr)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        text = (
            f"{error.strerror}: {error.filename}" if error.filename else error.strerror
        )
        text += "; make room there, or write elsewhere" if error.errno in _FULL else ""
    return printable(text)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m vitlib",
        description="Patch by Patch: Vision Transformers you can run.",
        epilog="example: python -m vitlib train --preset laptop",
    )
    parser.add_argument("--version", action="version", version=f"vitlib {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="command")
    for module in (look, train, predict, study, data, pretrained):
        module.configure(commands)
    return parser
