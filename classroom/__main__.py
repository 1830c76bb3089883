"""`python -m classroom COMMAND`: write homework for students, grade what they hand in."""

from __future__ import annotations

import argparse
import secrets
import sys
from datetime import datetime
from pathlib import Path

from classroom import capstone, hand, report, roster
from classroom.grade import Graded, Result, Row, grade
from classroom.homework import NUMBERS, homework
from classroom.homework.notebook import write_homework
from classroom.sheet import table
from vitlib.files import printable, read_json, write_atomic
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
    _class(p)
    p.add_argument("--deadline", default="", metavar="TIME", help="what is late, as in '2026-11-30 18:00'")
    p.add_argument("--references", action="store_true", help="show right answers on students' pages")
    p.set_defaults(run=_grade)
    p = commands.add_parser("hand", help="add a row to hand.csv for whatever waits for a person")
    _common(p)
    p.add_argument("--homework", type=int, required=True, choices=NUMBERS, help="which one")
    p.set_defaults(run=_hand)
    p = commands.add_parser("capstone", help="evaluate a folder of checkpoints")
    _common(p)
    p.add_argument("--data", default="drawn10", choices=("drawn10", "cifar10"), help="which pictures")
    _class(p)
    p.set_defaults(run=_capstone)
    return parser


def _common(p: argparse.ArgumentParser) -> None:
    p.add_argument("folder", type=Path, metavar="FOLDER", help="one notebook or one folder a student")
    p.add_argument("--out", type=Path, help="where grades go (default: FOLDER-grades, beside it)")


def _class(p: argparse.ArgumentParser) -> None:
    text = "a table with the columns id and name; also submission (a file's or folder's name), deadline, submitted"
    p.add_argument("--seed", type=int, help="draws what is hidden (default: a secret one, kept in --out)")
    p.add_argument("--roster", type=Path, metavar="CSV", help=text)


def _homework(args: argparse.Namespace) -> None:
    check_out(args.out)
    paths = [*write_homework(args.out), capstone.write_task(args.out)]
    print(f"wrote {', '.join(path.name for path in paths)} in {args.out}")


def _out(args: argparse.Namespace) -> Path:
    check_out(args.out)
    return args.out or args.folder.resolve().with_name(f"{args.folder.resolve().name}-grades")


def _grade(args: argparse.Namespace) -> None:
    out, work, deadline = _out(args), homework(args.homework), roster.moment(args.deadline)
    people = roster.read_roster(args.roster) if args.roster else {}  # before the long part
    words = hand.read_hand(out / "hand.csv", {key: task.points for key, task in work.tasks.items()})
    if args.references and deadline and datetime.now() < deadline:
        raise ValueError(f"expected --references after the deadline, {deadline}; leave it out until then")
    graded = grade(args.folder, args.homework, out, args.seed)
    print(*report.write_reports(out, work, graded, people, words, deadline, args.references), sep="\n")
    print(f"wrote grades.csv, diagnosis.csv, canvas.csv, moodle.csv, class.html and feedback/ in {out}")


def _hand(args: argparse.Namespace) -> None:
    out = _out(args)
    if not (file := out / f"last-{args.homework}.json").exists():
        raise ValueError(f"expected grades in {out}, got none: grade first")
    last = read_json(file, "grade again")
    count = hand.add_rows(out / "hand.csv", last["open"])
    print(f"{count} new rows in {out / 'hand.csv'}: fill in points and comment, save as CSV, and grade again")


def _capstone(args: argparse.Namespace) -> None:
    out, people = _out(args), roster.read_roster(args.roster) if args.roster else {}
    words = hand.read_hand(out / "hand.csv", {"capstone": capstone.POINTS})
    seed = secrets.randbelow(2**32) if args.seed is None else args.seed
    entries = capstone.grade_capstone(args.folder, args.data, seed)
    write_atomic(out / "capstone.csv", table([list(vars(entries[0])), *(vars(e).values() for e in entries)]))
    rows = [Row(e.student, {"capstone": Result(e.points, "told", e.problem)}, e.problem) for e in entries]
    graded = Graded(rows, {}, [])
    print(*roster.apply(people, graded, ["capstone"], None), *hand.apply(words, graded, {}), sep="\n")
    report.write_gradebook(out, "Capstone", capstone.POINTS, rows)
    print(f"wrote capstone.csv, canvas.csv and moodle.csv in {out}; the pictures' seed was {seed}")


if __name__ == "__main__":
    sys.exit(main())
