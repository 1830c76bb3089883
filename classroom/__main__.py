"""`python -m classroom COMMAND`: write homework for students, grade what they hand in."""

import argparse
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from classroom import capstone, hand, report, roster
from classroom.back import write_back
from classroom.confine import check_out_of_reach
from classroom.grade import Graded, grade, kept
from classroom.homework import NUMBERS, Homework, homework
from classroom.homework.notebook import write_homework
from classroom.submissions import entries, opened
from vitlib.files import printable, read_json, write_atomic
from vitworkshop.cli.options import Parser, check_out


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0; 2 after an error that can be mended, said in one line; 130 after Ctrl-C."""
    args = _parser().parse_args(argv)
    try:
        check_out(args.out)
        beside = (
            f"{str(args.folder.resolve()).removesuffix('.zip')}-grades"
            if not args.out
            else ""
        )
        args.run(args, args.out or Path(beside))
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        print(f"error: {printable(' '.join(str(error).split()))}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m classroom", description="Homework for a class, and its grades."
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    for run in (_homework, _grade, _hand, _capstone):
        p = commands.add_parser(run.__name__[1:], help=run.__doc__)
        p.set_defaults(run=run)
        if run is _homework:
            p.add_argument("out", type=Path, metavar="OUT", help="the folder for them")
            continue
        p.add_argument(
            "folder",
            type=Path,
            metavar="FOLDER",
            help="what was handed in: a folder, or the zip that Canvas or Moodle gives",
        )
        p.add_argument(
            "--out",
            type=Path,
            help="where grades go (default: FOLDER-grades, beside it)",
        )
        if run is not _capstone:
            p.add_argument(
                "--homework", type=int, required=True, choices=NUMBERS, help="which one"
            )
        if run is _hand:
            continue
        p.add_argument(
            "--seed",
            type=int,
            help="draws what is hidden (default: a secret one, kept in --out)",
        )
        text = "a table with the columns id and name, or Canvas's gradebook or Moodle's grading worksheet"
        p.add_argument("--roster", type=Path, metavar="CSV", help=text)
        text = "what is late, as in '2026-11-30 18:00'"
        p.add_argument("--deadline", default="", metavar="TIME", help=text)
        text = "write points and pages for the platform's upload"
        p.add_argument("--back", type=Path, metavar="ZIP", help=text)
        p.set_defaults(references=False)
        if run is _grade:
            p.add_argument(
                "--again", choices=["stopped"], default="", help="what is run once more"
            )
            p.add_argument(
                "--references",
                action="store_true",
                help="show right answers on students' pages",
            )
    return parser


def _homework(args: argparse.Namespace, out: Path) -> None:
    """write the notebooks that students get"""
    paths = [
        *write_homework(out),
        write_atomic(out / "capstone.md", capstone.TASK.encode()),
    ]
    print(f"wrote {', '.join(path.name for path in paths)} in {out}")


def _grade(args: argparse.Namespace, out: Path) -> None:
    """grade what a class handed in"""
    _report(
        args,
        out,
        homework(args.homework),
        lambda folder, people: grade(
            folder, args.homework, out, args.seed, people, args.again
        ),
    )


def _capstone(args: argparse.Namespace, out: Path) -> None:
    """evaluate a folder of checkpoints"""
    _report(
        args,
        out,
        capstone.WORK,
        lambda folder, people: capstone.grade_capstone(
            folder, kept(out, args.seed)["seed"], people
        ),
    )


def _report(
    args: argparse.Namespace,
    out: Path,
    work: Homework,
    grade: Callable[[Path, dict[str, str]], Graded],
) -> None:
    check_out_of_reach(Path(__file__).parent, args.folder, out)
    with opened(args.folder) as folder:
        # what a person wrote comes before the long part
        deadline = roster.moment(args.deadline)
        names = [path.name for path in entries(folder)]
        people = roster.read_roster(args.roster, names) if args.roster else None
        known = people.names if people else {}
        most = {key: task.points for key, task in work.tasks.items()}
        words = hand.read_hand(out / "hand.csv", most, known.values())
        if args.references and deadline and datetime.now().astimezone() < deadline:
            raise ValueError(
                f"expected --references after the deadline, {deadline}; leave it out until then"
            )
        if args.back and not (people and people.platform):
            raise ValueError(
                "expected for --back the --roster that Canvas gives (Grades, Export) or "
                "Moodle (the grading worksheet), got another, or none"
            )
        graded = grade(folder, known)
    rows = people.people if people else {}
    said, pages = report.write_reports(
        out, work, graded, rows, words, deadline, args.references
    )
    print(*said, sep="\n")
    print(f"wrote grades.csv, diagnosis.csv, class.html and feedback/ in {out}")
    if people and args.back:
        write_back(args.back, work, graded.rows, people, pages)
        print(
            f"wrote {args.back}; whoever still waits has an empty cell in it, and no page"
        )


def _hand(args: argparse.Namespace, out: Path) -> None:
    """add a row to hand.csv for whatever waits for a person"""
    if not (file := out / f"last-{args.homework}.json").exists():
        raise ValueError(f"expected grades in {out}, got none: grade first")
    count = hand.add_rows(out / "hand.csv", read_json(file, "grade again")["open"])
    print(
        f"{count} new rows in {out / 'hand.csv'}: fill in points and comment, save as CSV, and grade again"
    )


if __name__ == "__main__":
    sys.exit(main())
