"""Who is in the class, whose each file is, and who handed in nothing.

A person is known by an id: the number that Canvas or Moodle puts into the names of files, or the school's own, if it
stands there. A roster is a table of ids and names, or what Canvas exports as its gradebook, Moodle as its worksheet.
"""

import copy
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from classroom.grade import Graded, Result, Row
from classroom.sheet import Sheet, read_sheet

IDS = ("identifier", "id", "学号", "student id")
NAMES = ("name", "student", "full name", "姓名", "student name")


@dataclass
class Roster:
    """The people of a class by their ids, each with the row that tells of them, and the table that they stand in."""

    people: dict[str, dict[str, str]] = field(default_factory=dict)
    sheet: Sheet = field(default_factory=lambda: Sheet([], [], [], ","))
    platform: str = ""  # whose table it is


def read_roster(path: Path, handed_in: Iterable[str] = ()) -> Roster:
    """A roster, in the letters in which its names are those of what was handed in.

    Refuses one without ids or names, or with two rows for one id.
    """
    sheet = read_sheet(path, known=handed_in)
    found = Roster({}, sheet)
    for column, platform in (("identifier", "moodle"), ("sis login id", "canvas")):
        if column in sheet.columns:
            found.platform = platform
    id_column, name_column = (
        next((column for column in some if column in sheet.columns), "")
        for some in (IDS, NAMES)
    )
    if not id_column or not name_column:
        got = ", ".join(sheet.columns)
        raise ValueError(
            f"expected the columns id and name in {path}, got {got}; add them"
        )
    for row in sheet.rows:
        row["name"], id_ = row[name_column], row[id_column]
        id_ = re.sub(r"^\D+(?=\d+$)", "", id_) if found.platform == "moodle" else id_
        if not id_ and found.platform == "canvas":
            continue  # what the tasks are worth
        if not id_:
            raise ValueError(
                f"expected an id in row {row['row']} of {path}, got none; fill it in"
            )
        row["key"] = id_
        if found.people.setdefault(id_, row) is not row:
            raise ValueError(
                f"expected one row for {id_} in {path}, got two; delete one"
            )
    for row in found.people.values():
        if row.get("with", "") not in ("", *found.people):
            raise ValueError(
                f"expected an id that stands in {path} in the column with, got {row['with']}; mend it"
            )
    return found


def apply(people: dict, graded: Graded, tasks: Iterable[str]) -> list[str]:
    """Give the rows their names, add whose partner handed in and who handed in nothing; what is odd, in words."""
    there = {row.key: row for row in graded.rows}
    odd = []
    if people:
        odd += [f"nobody's of the roster: {key}" for key in there if key not in people]
    for key, person in people.items():
        if key in there:
            continue
        if partner := there.get(person.get("with", "")):
            own = copy.deepcopy(partner.results)
            graded.rows.append(replace(partner, key=key, results=own))
        else:
            nothing = {
                task: Result(None, "nothing", "nothing handed in") for task in tasks
            }
            graded.rows.append(Row(key, nothing))
            odd.append(f"nothing handed in, and no points: {key} {person['name']}")
    for row in graded.rows:
        row.name = people[row.key]["name"] if row.key in people else ""
    return odd
