"""What several commands are told: where to compute, for how long, and what to change in a recipe."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

import torch

from vitlib.checks import Count, check_between, check_rate, check_value
from vitlib.device import pick_device

__all__ = ["SETS", "Formatter", "Parser", "add_device", "add_runs", "prepare", "settings"]

SETS = ("auto", "cifar10", "drawn10")


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """End the program."""
        self.exit(2, f"error: {' '.join(message.split())}; {self.prog} --help tells more\n")


class Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Text as it was written, and the defaults there are."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return super()._get_help_string(action) if action.default else action.help  # no "(default: False)"


def add_device(p: argparse.ArgumentParser) -> None:
    """Where a command computes."""
    p.add_argument(
        "--device", default="auto", choices=("auto", "cpu", "cuda", "mps"), help="where to compute"
    )


def add_runs(p: argparse.ArgumentParser, out: str) -> None:
    """What every command that trains can be told."""
    p.add_argument("--out", type=Path, help=f"the folder (default: {out})")
    p.add_argument("--scale", default="quick", choices=("quick", "full"), help="quick: a laptop; full: a GPU")
    text = "change other fields of the recipe or, as model.FIELD, of the model: --set mixup=0 model.depth=8"
    p.add_argument("--set", nargs="*", action="extend", default=[], metavar="FIELD=VALUE", help=text)
    p.add_argument("--limit", type=int, metavar="N", help="use the first N training images")
    text = "stop cleanly after M minutes; the same command goes on"
    p.add_argument("--budget-minutes", type=float, metavar="M", help=text)
    add_device(p)
    p.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: all cores)")


def prepare(args: argparse.Namespace) -> None:
    """Take the threads asked for, before anything is loaded.

    Raises:
        ValueError: If something that `add_runs` took cannot be.
    """
    if args.limit is not None:
        check_value("--limit", args.limit, Count)
    if args.budget_minutes is not None:
        check_rate("--budget-minutes", args.budget_minutes, below=float("inf"))
    if args.out is not None and args.out.is_file():
        raise ValueError(f"--out must be a folder, got the file {args.out}")
    pick_device(args.device)
    if args.threads is not None:
        check_between("--threads", args.threads, 1, 256)
        torch.set_num_threads(args.threads)


def settings(words: list[str], options: Collection[str], others: Collection[str] = ()) -> dict[str, Any]:
    """The FIELD=VALUE words of --set as a dictionary.

    Raises:
        ValueError: If a word is none, or its field one of the `options` of the command, or of the `others`.
    """
    changes: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            raise ValueError(f"--set takes FIELD=VALUE, got {word!r}; for instance mixup=0")
        if key in {*options, *others}:
            instead = f"use --{key.replace('_', '-')}" if key in options else "see --help"
            raise ValueError(f"--set changes fields of the recipe, not {key!r}; {instead}")
        changes[key] = _value(text)
    return changes


def _value(text: str) -> object:
    for kind in ({"true": True, "false": False, "none": None}.__getitem__, int, float):
        with contextlib.suppress(KeyError, ValueError):
            return kind(text.lower())
    return text
