"""`python -m classroom COMMAND`: write homework for students, grade what they hand in."""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path

from classroom import capstone, report
from classroom.grade import grade
from classroom.homework import NUMBERS, homework
from classroom.homework.notebook import write_homework
from vitlib.files import printable, write_atomic
from vitworkshop.cli.options import Parser, check_out


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0; 2 after an error that can be mended, said in one line; 130 after Ctrl-C."""
    args = _parser().parse_args(argv)
    try:
        args.run(args)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        print(f"error: {printable(' '.join(str(error).split()))}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m classroom", description="Homework for a class, and its grades.")
    commands = parser.add_subparsers(required=True, metavar="command")
    p = commands.add_parser("homework", help="write the notebooks that students get")
    p.add_argument("out", type=Path, metavar="OUT", help="the folder for them")
    p.set_defaults(run=_homework)
    p = commands.add_parser("grade", help="grade a folder of notebooks")
    _common(p)
    p.add_argument("--homework", type=int, required=True, choices=NUMBERS, help="which one")
    p.add_argument("--jobs", type=int, default=2, metavar="N", help="students at a time")
    text = "a table with the columns submission (a file's or folder's name), id, name"
    p.add_argument("--roster", type=Path, metavar="CSV", help=text)
    p.set_defaults(run=_grade)
    p = commands.add_parser("capstone", help="evaluate a folder of checkpoints")
    _common(p)
    p.add_argument("--data", default="drawn10", choices=("drawn10", "cifar10"), help="which pictures")
    p.set_defaults(run=_capstone)
    return parser


def _common(p: argparse.ArgumentParser) -> None:
    p.add_argument("folder", type=Path, metavar="FOLDER", help="one notebook or one folder a student")
    p.add_argument("--out", type=Path, help="where grades go (default: FOLDER-grades, beside it)")
    p.add_argument("--seed", type=int, help="draws what is hidden (default: a secret one, kept in --out)")


def _homework(args: argparse.Namespace) -> None:
    check_out(args.out)
    paths = [*write_homework(args.out), capstone.write_task(args.out)]
    print(f"wrote {', '.join(path.name for path in paths)} in {args.out}")


def _out(args: argparse.Namespace) -> Path:
    check_out(args.out)
    return args.out or args.folder.resolve().with_name(f"{args.folder.resolve().name}-grades")


def _grade(args: argparse.Namespace) -> None:
    out = _out(args)
    graded = grade(args.folder, args.homework, out, args.seed, args.jobs)
    report.write_reports(out, homework(args.homework), graded, args.roster)
    if graded["open_still"]:
        print(f"This system cannot forbid students' code: {', '.join(graded['open_still'])}.")
    print(f"wrote grades.csv, diagnosis.csv, canvas.csv, moodle.csv, class.html and feedback/ in {out}")


def _capstone(args: argparse.Namespace) -> None:
    seed = secrets.randbelow(2**32) if args.seed is None else args.seed
    entries = capstone.grade_capstone(args.folder, args.data, seed)
    path = write_atomic(
        _out(args) / "capstone.csv",
        report.table([list(vars(entries[0])), *(vars(e).values() for e in entries)]),
    )
    print(f"wrote {path}; the pictures' seed was {seed}")


if __name__ == "__main__":
    sys.exit(main())
