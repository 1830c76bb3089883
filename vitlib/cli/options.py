"""What several commands are told: where to compute, for how long, and what to change in a recipe."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch

from vitlib.checks import check_count

__all__ = ["SETS", "Formatter", "add_device", "add_runs", "settings", "use_threads"]

SETS = ("auto", "cifar10", "drawn10")


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
    p.add_argument("--set", nargs="*", default=[], metavar="FIELD=VALUE", help=text)
    p.add_argument("--limit", type=int, metavar="N", help="use the first N training images")
    text = "stop cleanly after M minutes; the same command goes on"
    p.add_argument("--budget-minutes", type=float, metavar="M", help=text)
    add_device(p)
    p.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: all cores)")


def use_threads(count: int | None) -> None:
    """Compute with that many threads; None changes nothing."""
    if count is not None:
        check_count("--threads", count)
        torch.set_num_threads(count)


def settings(words: list[str], options: Collection[str], others: Collection[str] = ()) -> dict[str, Any]:
    """The FIELD=VALUE words of --set as a dictionary.

    Args:
        words: What follows --set.
        options: Names that are no fields, but options of the command.
        others: Names that are neither.

    Raises:
        ValueError: If a word is no FIELD=VALUE, or its field is one of those names.
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
    if text.lower() in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
