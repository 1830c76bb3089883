"""`python -m vitlib study`: run the book's experiments."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import torch

from vitlib.checks import check_between
from vitlib.data.dataset import load_dataset
from vitlib.device import describe_hardware
from vitlib.evidence import RESULTS, load_results
from vitworkshop.cli.options import SETS, add_runs, prepare, settings
from vitworkshop.studies.board import board
from vitworkshop.studies.registry import STUDIES, find, folders
from vitworkshop.studies.repeat import repeat
from vitworkshop.studies.report import report
from vitworkshop.studies.runner import run_studies

_OPTIONS = ("data", "seeds", "out", "device", "budget_minutes", "jobs")
_NO_FIELDS = ("name", "seed")  # nor options of that name


def configure(commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "study",
        help="run the book's experiments",
        description="Run the book's experiments. Each asks one question, runs every variant with several seeds and\n"
        "judges them, most on held-out training images.",
        epilog="example: python -m vitlib study run positions --budget-minutes 30",
    )
    actions = p.add_subparsers(required=True, metavar="action")
    p = actions.add_parser(
        "list", help="every study, what it asks, and how long the book's runs took"
    )
    p.set_defaults(run=_list)
    p = actions.add_parser("report", help="what one study found")
    p.add_argument("name", help="the study")
    p.add_argument(
        "--out",
        type=Path,
        help="its folder (default: runs/study-<name>, else the book's own)",
    )
    p.set_defaults(run=_report)
    p = actions.add_parser(
        "board", help="every claim that is admitted, and what we got"
    )
    p.add_argument(
        "--out",
        type=Path,
        help="the folder of all studies' runs (default: the book's own)",
    )
    p.set_defaults(run=_board)
    p = actions.add_parser(
        "repeat", help="run one of the book's rows again, and show the difference"
    )
    p.add_argument("name", help="the study")
    p.add_argument("--variant", help="which of its variants (default: the quickest)")
    p.add_argument("--seed", type=int, default=0, metavar="N", help="which seed")
    p.add_argument(
        "--threads",
        type=int,
        default=1,
        metavar="N",
        help="CPU threads; the book's had one",
    )
    p.set_defaults(run=_repeat)
    p = actions.add_parser(
        "run",
        help="run one study, or the plan",
        description="Run one study, or the plan. Stopped or killed, the same command goes on where it was, and skips\n"
        "what is finished.",
    )
    p.add_argument("name", nargs="?", help="the study")
    p.add_argument("--all", action="store_true", help="run the plan")
    text = "the data set; auto takes CIFAR-10 if it is there (default: the study's)"
    p.add_argument("--data", choices=SETS, help=text)
    add_runs(p, out="runs/study-<name>; of --all, runs")
    p.add_argument(
        "--seeds", type=int, nargs="+", metavar="N", help="seeds (default: the study's)"
    )
    p.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="runs at once, also on one GPU"
    )
    p.set_defaults(run=_run)


def _list(_args: argparse.Namespace) -> None:
    for name, study in STUDIES.items():
        took = "not run yet"
        if (RESULTS / f"{name}.json").is_file():
            book = load_results(name)
            took = f"the book's {len(book['runs'])} runs took {book['seconds'] / 60:.0f} minutes"
        print(f"{name:18s} {study.question} ({study.source}; {took})")


def _report(args: argparse.Namespace) -> None:
    find(args.name)
    print(report(args.name, args.out))


def _board(args: argparse.Namespace) -> None:
    print("\n".join(board(args.out)))


def _repeat(args: argparse.Namespace) -> None:
    check_between("--threads", args.threads, 1, 256)
    torch.set_num_threads(args.threads)
    variants = [args.variant] if args.variant else None
    book, here = repeat(
        args.name, partial(load_dataset, split="train"), variants, args.seed
    )
    print(
        f"the book's: {load_results(args.name)['hardware']}; here: {describe_hardware(torch.device('cpu'))}"
    )
    for one, other in zip(book, here, strict=True):
        print(
            f"\n{one['variant']}, seed {args.seed}\n{'':24s} {'the book':>10s} {'here':>10s} {'difference':>10s}"
        )
        for metric, value in one["final"].items():
            print(
                f"{metric:24s} {value:10.4f} {other['final'][metric]:10.4f} {other['final'][metric] - value:+10.4f}"
            )


def _run(args: argparse.Namespace) -> None:
    if args.all == (args.name is not None):
        raise ValueError(
            "name one study, or give --all; python -m vitlib study list shows them"
        )
    prepare(args)
    if args.limit is not None and args.limit < 10:
        raise ValueError(
            f"--limit must be 10 or more, as a tenth is held out, got {args.limit}"
        )
    if args.name and (study := find(args.name)).n_train == 0:
        if (
            args.limit
            or args.budget_minutes
            or not {*(args.seeds or ())} <= {*study.seeds}
        ):
            own = f"only --seeds of {study.seeds}, as it reads the book's models"
            raise ValueError(
                f"{args.name} takes no --limit, no --budget-minutes and {own}; leave them out"
            )
    load = partial(load_dataset, split="train", n=args.limit)
    results = run_studies(
        folders(args.name, args.out),
        load if args.data is None else lambda _: load(args.data),
        jobs=args.jobs,
        budget_minutes=args.budget_minutes,
        seeds=args.seeds and tuple(args.seeds),
        device=args.device,
        changes=settings(args.set, _OPTIONS, _NO_FIELDS),
    )
    print(
        "\n".join(board(args.out or "runs"))
        if args.all
        else report(args.name, args.out)
    )
    if not all(result["finished"] for result in results.values()):
        print("the budget is used up; the same command goes on")
