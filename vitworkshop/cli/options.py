"""What several commands share: how they speak, where they compute, and what they change in a recipe."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

import torch

from vitlib.checks import Count, check_below, check_between, check_value
from vitlib.device import pick_device

SETS = ("auto", "cifar10", "drawn10")


class Formatter(
    argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter
):
    """Text as it was written, and the defaults there are."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        # no "(default: False)"
        return super()._get_help_string(action) if action.default else action.help


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=Formatter, **options)

    def error(self, message: str) -> NoReturn:
        self.exit(
            2, f"error: {' '.join(message.split())}; {self.prog} --help tells more\n"
        )


def add_device(p: argparse.ArgumentParser) -> None:
    """Where a command computes."""
    devices = ("auto", "cpu", "cuda", "mps")
    p.add_argument("--device", default="auto", choices=devices, help="where to compute")


def add_runs(p: argparse.ArgumentParser, out: str) -> None:
    """The options of every command that trains."""
    p.add_argument("--out", type=Path, help=f"the folder (default: {out})")
    text = "change other fields of the recipe or, as model.FIELD, of the model: --set mixup=0 model.depth=8"
    p.add_argument(
        "--set",
        nargs="*",
        action="extend",
        default=[],
        metavar="FIELD=VALUE",
        help=text,
    )
    p.add_argument(
        "--limit", type=int, metavar="N", help="use the first N training images"
    )
    text = "stop cleanly after M minutes; the same command goes on"
    p.add_argument("--budget-minutes", type=float, metavar="M", help=text)
    add_device(p)
    p.add_argument(
        "--threads", type=int, metavar="N", help="CPU threads (default: all cores)"
    )


def prepare(args: argparse.Namespace) -> None:
    """Refuse what `add_runs` took and cannot be, and take the threads, before anything is loaded."""
    if args.limit is not None:
        check_value("--limit", args.limit, Count)
    if args.budget_minutes is not None:
        check_below("--budget-minutes", args.budget_minutes, below=float("inf"))
    check_out(args.out)
    pick_device(args.device)
    if args.threads is not None:
        check_between("--threads", args.threads, 1, 256)
        torch.set_num_threads(args.threads)


def check_out(out: Path | None) -> None:
    """Refuse a file as the folder to write in."""
    if out is not None and out.is_file():
        raise ValueError(f"--out must be a folder, got the file {out}")


def settings(
    words: list[str], options: Collection[str], others: Collection[str] = ()
) -> dict[str, Any]:
    """The FIELD=VALUE words of --set; refuses fields that are `options` of the command, or among the `others`."""
    changes: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            raise ValueError(
                f"--set takes FIELD=VALUE, got {word!r}; for instance mixup=0"
            )
        if key in {*options, *others}:
            instead = (
                f"use --{key.replace('_', '-')}" if key in options else "see --help"
            )
            raise ValueError(
                f"--set changes fields of the recipe, not {key!r}; {instead}"
            )
        changes[key] = value_of(text)
    return changes


def value_of(text: str) -> object:
    """A word of the command line as what it says: true, false, none, a number, several between commas, or itself."""
    if "," in text:
        return tuple(map(value_of, text.split(",")))
    for kind in ({"true": True, "false": False, "none": None}.__getitem__, int, float):
        with contextlib.suppress(KeyError, ValueError):
            return kind(text.lower())
    return text
