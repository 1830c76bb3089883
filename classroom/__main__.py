"""`python -m classroom COMMAND`: grade what students hand in; their pages in Chinese with LANGUAGES=zh."""

import argparse
import os
import re
import sys
from pathlib import Path

from classroom import capstone, hand, report, roster
from classroom.back import write_back
from classroom.confine import check_out_of_reach
from classroom.grade import grade, secret
from classroom.homework import NUMBERS, homework
from classroom.submissions import handed_in
from vitlib.files import printable
from vitworkshop.cli.options import Parser
from vitworkshop.exercises.language import language


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0; 2 after an error that can be mended, said in one line; 130 after Ctrl-C."""
    args = _parser().parse_args(argv)
    try:
        language(*sorted(re.findall(r"\w+", os.environ.get("LANGUAGES", "en")))[-1:])
        _run(args)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        print(f"error: {printable(' '.join(str(error).split()))}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m classroom",
        description="Grades for homework, and for the capstone.",
    )
    commands = parser.add_subparsers(required=True, metavar="command", dest="command")
    graded = commands.add_parser("grade", help="grade a homework")
    graded.add_argument("--homework", type=int, required=True, choices=NUMBERS)
    graded.add_argument(
        "--again",
        choices=["stopped"],
        default="",
        help="run such answers once more",
    )
    for p in (graded, commands.add_parser("capstone", help="evaluate models")):
        text = "a folder of what was handed in, the zip that Canvas or Moodle gives, or one notebook"
        p.add_argument("folder", type=Path, metavar="FOLDER", help=text)
        text = "a table with the columns id and name, or Canvas's gradebook or Moodle's grading worksheet"
        p.add_argument("--roster", type=Path, metavar="CSV", help=text)
    return parser


def _run(args: argparse.Namespace) -> None:
    out = Path(f"{str(args.folder.resolve()).removesuffix('.zip')}-grades")
    check_out_of_reach(Path(__file__).parent, args.folder, out)
    work = homework(args.homework) if args.command == "grade" else capstone.WORK
    files = handed_in(args.folder)
    names = [file.name for file in files]
    # what a person wrote comes before the long part
    people = roster.read_roster(args.roster, names) if args.roster else roster.Roster()
    words = hand.read_hand(out / "hand.csv", work)
    if args.command == "grade":
        graded = grade(files, work, out, people.people, args.again)
    else:
        graded = capstone.grade_capstone(files, secret(out), people.people)
    said = roster.apply(people.people, graded, work.tasks)
    said += hand.apply(words, out / "hand.csv", graded)
    said, pages = report.write_reports(out, work, graded, said)
    print(*said, sep="\n")
    print(f"wrote class.html, grades.csv, hand.csv and feedback/ in {out}")
    if people.platform:
        write_back(out / "back.zip", work, graded.rows, people, pages)
        print("and back.zip: in it is nothing of whoever still waits")


if __name__ == "__main__":
    sys.exit(main())
