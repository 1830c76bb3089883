"""`python -m vitlib study`: run the book's experiments."""

from __future__ import annotations

import argparse

from vitlib.cli.options import SETS, Formatter, add_runs, settings, use_threads
from vitlib.data.dataset import load_dataset
from vitlib.studies.runner import STUDIES, find, report, run_study

__all__ = ["configure"]

_OPTIONS = ("data", "scale", "seeds", "out", "device", "budget_minutes", "jobs")
_NO_FIELDS = ("name", "seed", "n_val", "progress")  # nor options of that name


def configure(commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "study",
        help="run the book's experiments",
        formatter_class=Formatter,
        description="Run the book's experiments. Each asks one question, runs every variant with several seeds and\n"
        "judges them, most on held-out training images. Stopped or killed, the same command goes on\n"
        "where it was and skips what is finished.",
        epilog="example: python -m vitlib study run positions --budget-minutes 30",
    )
    text = "report prints what was found, as a table"
    p.add_argument("action", choices=("list", "run", "report"), help=text)
    p.add_argument("name", nargs="?", help="the study")
    text = "the data set; auto takes CIFAR-10 if it is there (default: the study's)"
    p.add_argument("--data", choices=SETS, help=text)
    add_runs(p, out="runs/study-<name>")
    p.add_argument("--seeds", type=int, nargs="+", metavar="N", help="seeds (default: the study's)")
    p.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at once, each in its own process")
    p.set_defaults(run=_study)


def _study(args: argparse.Namespace) -> int:
    if args.action == "list":
        for name, study in STUDIES.items():
            print(f"{name:15s} {study.question} ({study.source}; {len(study.variants)} variants)")
        return 0
    study = find(args.name)
    if args.action == "report":
        print(report(args.name, args.out))
        return 0
    use_threads(args.threads)
    changes = settings(args.set, _OPTIONS, _NO_FIELDS)
    data = load_dataset(args.data or study.data, "train", n=args.limit)
    result = run_study(
        args.name,
        data,
        scale=args.scale,
        seeds=args.seeds and tuple(args.seeds),
        out=args.out,
        n_val=min(5000, len(data) // 10),
        device=args.device,
        budget_minutes=args.budget_minutes,
        jobs=args.jobs,
        **changes,
    )
    print(report(args.name, args.out))
    if not result["finished"]:
        print("the budget is used up; the same command goes on")
    return 0
