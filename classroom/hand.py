"""What a person says of answers, in hand.csv: points and words. It stands, whatever is graded again.

A row belongs to the answer whose digest it names; where it names none, to the answer that is there when it is first
read. Once the answer has changed, its points are not used, and the table says so.
"""

import re
from pathlib import Path

from classroom.grade import Graded
from classroom.homework import Homework
from classroom.names import short_id, shown
from classroom.sheet import Sheet, read_sheet, table
from vitlib.files import write_atomic

COLUMNS = ["student", "name", "task", "points", "comment", "answer"]
POINTS = re.compile(r"\d+([.,]\d+)?")


def read_hand(path: Path, work: Homework) -> Sheet:
    """The rows there are, each with the "key" of its task, and with its points as "given"."""
    if not path.exists():
        return Sheet(COLUMNS, COLUMNS, [], ",")
    sheet = read_sheet(path, ("student", "task", "points", "comment", "answer"))
    for row in sheet.rows:
        where, points = f"in row {row['row']} of {path}", row["points"]
        key = re.sub(r"^task\s*", "", row["task"].casefold()).replace(",", ".")
        if key not in work.tasks:
            raise ValueError(
                f"expected a task of {work.name} {where}, got {row['task']!r}; write it as in  task 1.5"
            )
        most, given = work.tasks[key].points, points.replace(",", ".")
        if points and not (POINTS.fullmatch(points) and float(given) <= most):
            raise ValueError(
                f"expected 0 to {most} points for {key} {where}, got {points!r}; mend it"
            )
        row |= {"key": key, "given": given}
    return sheet


def apply(sheet: Sheet, path: Path, graded: Graded) -> list[str]:
    """Put a person's points and words into the rows, and a row into the file for whatever waits; what is odd."""
    keys = {short_id(row.key) for row in graded.rows}
    new, odd = [], []
    for row in graded.rows:
        lines = [
            line
            for line in sheet.rows
            if short_id(line["student"]) == short_id(row.key)
        ]
        for key, result in row.results.items():
            mark = result.digest or "none"
            mine = [line for line in lines if line["key"] == key]
            for line in mine:
                line["answer"] = line["answer"] or mark
            fits = [line for line in mine if line["answer"] == mark]
            for line in fits:
                result.comment = line["comment"] or result.comment
            given = [float(line["given"]) for line in fits if line["given"]]
            if given:
                result.points, result.again = given[-1], ""
            elif old := [line["given"] for line in mine if line["given"]]:
                other = f"look again: the answer, or code that it may use, changed since it got {old[-1]}"
                result.again = "; ".join(filter(None, [other, result.again]))
            if len(given) > 1:
                odd.append(
                    f"in hand.csv, several rows with points for {row.key} {key}: the last counts"
                )
            if key in row.open and not fits:
                new.append(
                    {
                        "student": row.key,
                        "name": row.name,
                        "task": f"task {key}",
                        "answer": mark,
                    }
                )
    lines = [*sheet.rows, *new]
    rows = [[line.get(column, "") for column in sheet.columns] for line in lines]
    write_atomic(path, table([sheet.heads, *rows], sheet.delimiter))
    return odd + [
        f"in hand.csv, and nobody's: {shown(line['student'])}"
        for line in sheet.rows
        if short_id(line["student"]) not in keys
    ]
