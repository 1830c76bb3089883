"""What a person says of answers, in hand.csv: points, words, penalties. It stands, whatever is graded again.

A row belongs to the answer whose digest it names; where it names none, to the answer that was there when it was first
read. Once the answer has changed, its points are not used, and the table says so.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from classroom.answers import DIGEST
from classroom.grade import Graded
from classroom.names import short_id, shown
from classroom.sheet import read_sheet, table
from vitlib.files import write_atomic

COLUMNS = ("student", "task", "points", "comment", "answer")
NEW = ("student", "name", *COLUMNS[1:])
LATE = "late"  # stands for a task, and takes points away


@dataclass
class Word:
    """A row."""

    student: str
    task: str
    points: float | None
    comment: str
    answer: str


def read_hand(
    path: Path, most: dict[str, int], known: Iterable[str] = ()
) -> list[Word]:
    """The rows on these tasks that say something; none where there is no file. Names may be `known`."""
    found: dict[tuple[str, ...], Word] = {}
    for row in read_sheet(path, COLUMNS, known).rows if path.exists() else ():
        key = re.sub(r"^task\s*", "", row["task"].casefold()).replace(",", ".")
        if re.fullmatch(r"[1-4]\.\d|capstone", key) and not any(
            key[:2] == other[:2] for other in most
        ):
            continue  # of another homework
        where, points = (
            f"in row {row['row']} of {path}",
            row["points"].replace("−", "-").replace(",", "."),
        )
        if key not in {*most, LATE}:
            fix = "a spreadsheet may have taken it for a date; write  task 1.5"
            raise ValueError(
                f"expected a task {where}, or {LATE}, got {row['task']!r}; {fix}"
            )
        low, high = (0, most[key]) if key != LATE else (-sum(most.values()), 0)
        if points and not (
            re.fullmatch(r"-?\d+(\.\d+)?", points) and low <= float(points) <= high
        ):
            raise ValueError(
                f"expected {low} to {high} points for {key} {where}, got {row['points']!r}; mend it"
            )
        if not re.fullmatch(DIGEST, answer := row["answer"].casefold()):
            fix = "leave it empty, and put what has commas in quotes"
            raise ValueError(
                f"expected eight letters as the answer {where}, got {answer!r}; {fix}"
            )
        if points or row["comment"]:
            word = Word(
                row["student"],
                key,
                float(points) if points else None,
                row["comment"],
                answer,
            )
            if found.setdefault((word.student, key, answer), word) != word:
                raise ValueError(
                    f"expected one row of {word.student} for {key}, got two, one {where}; delete one"
                )
    return list(found.values())


def apply(words: list[Word], graded: Graded, seen: dict[str, str]) -> list[str]:
    """Put a person's points and words into the rows; what is odd, in words.

    Of words without a digest, `seen` keeps that of the answer which was there when they were first read.
    """
    keys = {short_id(row.key) for row in graded.rows}
    for row in graded.rows:
        own = sorted(
            (w for w in words if short_id(w.student) == short_id(row.key)),
            key=lambda word: word.answer,
        )
        row.penalty, row.comment = next(
            ((w.points or 0, w.comment) for w in own if w.task == LATE), (0, "")
        )
        for key, result in row.results.items():
            mine = [w for w in own if w.task == key]
            fits = [
                w
                for w in mine
                if (w.answer or seen.setdefault(str(w), result.digest)) == result.digest
            ]
            given, old = (
                [w.points for w in some if w.points is not None]
                for some in (fits, mine)
            )
            result.comment = next(
                (word.comment for word in fits[::-1] if word.comment), ""
            )
            if given:
                result.points, result.again = given[-1], ""
            elif old:
                result.again = f"look again: the answer is another than the one that got {old[-1]:g}"
    return [
        f"in hand.csv, and nobody's: {shown(w.student)}"
        for w in words
        if short_id(w.student) not in keys
    ]


def add_rows(path: Path, rows: list[dict[str, str]]) -> int:
    """Add rows of student, name, task and digest to a person's file, which else stays as it is; how many."""
    if not path.exists():
        write_atomic(path, table([NEW]))
    names = [each["name"] for each in rows]
    sheet, before = read_sheet(path, COLUMNS, names), path.read_bytes()
    mark = lambda row: (short_id(row["student"]), row["task"], row["answer"])
    there = {mark(row) for row in sheet.rows}
    new = [each for each in rows if mark(each) not in there]
    text = table(
        ([each.get(column, "") for column in sheet.columns] for each in new),
        sheet.delimiter,
    )
    end = "" if before.decode(sheet.encoding, "replace").endswith("\n") else "\r\n"
    try:
        write_atomic(
            path, before + (end + text.decode("utf-8-sig")).encode(sheet.encoding)
        )
    except UnicodeEncodeError as error:
        raise ValueError(
            f"expected {path} in UTF-8, got {sheet.encoding} ({error}); save it so"
        ) from None
    return len(new)
