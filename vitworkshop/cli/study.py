"""`python -m vitlib study`: run the book's experiments."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from vitlib.checks import check_between
from vitlib.device import pick_device
from vitlib.evidence import RESULTS, load_results
from vitworkshop.cli.options import add_device, check_out
from vitworkshop.studies.registry import STUDIES, find
from vitworkshop.studies.report import report
from vitworkshop.studies.runner import run_study


def configure(commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "study",
        help="run the book's experiments",
        description="Run the book's experiments. Each asks one question, runs every variant with several seeds and\n"
        "judges them, most on held-out training images.",
        epilog="example: python -m vitlib study run positions",
    )
    actions = p.add_subparsers(required=True, metavar="action")
    p = actions.add_parser(
        "list", help="every study, what it asks, and how long the book's runs took"
    )
    p.set_defaults(run=_list)
    p = actions.add_parser("report", help="what one study found")
    p.add_argument("name", help="the study")
    text = "its folder (default: runs/study-<name>, else the book's own)"
    p.add_argument("--out", type=Path, help=text)
    p.set_defaults(run=_report)
    p = actions.add_parser(
        "run",
        help="run one study",
        description="Run one study. Stopped or killed, the same command goes on where it was, and skips what is\n"
        "finished.",
    )
    p.add_argument("name", help="the study")
    text = "the folder (default: runs/study-<name>)"
    p.add_argument("--out", type=Path, help=text)
    add_device(p)
    text = "CPU threads; the book's runs had one"
    p.add_argument("--threads", type=int, default=1, metavar="N", help=text)
    p.set_defaults(run=_run)


def _list(_args: argparse.Namespace) -> None:
    for name, study in STUDIES.items():
        print(f"{name:18s} {study.question} ({price(name)})")


def price(name: str) -> str:
    """How long the book's runs of a study took."""
    if not (RESULTS / f"{name}.json").is_file():
        return "not run yet"
    book = load_results(name)
    return (
        f"the book's {len(book['runs'])} runs took {book['seconds'] / 60:.0f} minutes"
    )


def _report(args: argparse.Namespace) -> None:
    print(report(args.name, args.out))


def _run(args: argparse.Namespace) -> None:
    study = find(args.name)
    check_out(args.out)
    check_between("--threads", args.threads, 1, 256)
    pick_device(args.device)
    torch.set_num_threads(args.threads)
    print(f"{study.question} On one core {price(args.name)}.", flush=True)
    run_study(args.name, out=args.out, device=args.device)
    print(report(args.name, args.out))
