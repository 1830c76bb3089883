"""Who is in the class, whose each file is, who handed in nothing, and what came late.

A person is known by an id: the number that Canvas or Moodle puts into the names of files, or the school's own, if it
stands there. A roster is a table of ids and names, or what Canvas exports as its gradebook, Moodle as its worksheet.
"""

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from classroom.grade import Graded, Result, Row
from classroom.sheet import Sheet, read_sheet

DAYS, TIMES = ("%Y-%m-%d", "%d.%m.%Y"), ("%H:%M", "%H:%M:%S", "%H:%M:%S%z")
IDS = ("identifier", "id", "学号", "student id")
NAMES = ("name", "student", "full name", "姓名", "student name")


@dataclass
class Roster:
    """The people of a class by their ids, each with the row that tells of them, and the table that they stand in."""

    people: dict[str, dict[str, str]]
    sheet: Sheet
    platform: str = ""  # whose table it is

    @property
    def names(self) -> dict[str, str]:
        """Names by ids."""
        return {id_: row["name"] for id_, row in self.people.items()}


def moment(text: str) -> datetime | None:
    """A date with its time, here if it names no zone; None for no text."""
    for form in (f"{day} {time}" for day in DAYS for time in TIMES):
        with contextlib.suppress(ValueError):
            return datetime.strptime(text.replace("T", " "), form).astimezone()
    if text:
        raise ValueError(
            f"expected a time as in 2026-11-30 18:00 or 30.11.2026 18:00, got {text!r}; mend it"
        )
    return None


def read_roster(path: Path, handed_in: Iterable[str]) -> Roster:
    """A roster, in the letters in which its names are those of what was handed in."""
    sheet = read_sheet(path, (), handed_in)
    columns = {*sheet.columns}
    platform = (
        "moodle"
        if "identifier" in columns
        else "canvas"
        if "sis login id" in columns
        else ""
    )
    found = Roster({}, sheet, platform)
    id_column, name_column = (
        next((c for c in some if c in columns), "") for some in (IDS, NAMES)
    )
    if not id_column or not name_column:
        got = ", ".join(sheet.columns)
        raise ValueError(
            f"expected the columns id and name in {path}, got {got}; add them"
        )
    for row in sheet.rows:
        row["name"], id_ = row[name_column], row[id_column]
        id_ = re.sub(r"^\D+(?=\d+$)", "", id_) if platform == "moodle" else id_
        moment(row.get("deadline", "")), moment(row.get("submitted", ""))
        if not id_ and platform == "canvas":
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
    return found


def apply(
    people: dict, graded: Graded, tasks: Iterable[str], deadline: datetime | None
) -> list[str]:
    """Give the rows their names, add those of whoever handed in nothing, say what is late; what is odd, in words."""
    odd = []
    for row in graded.rows:
        person = people.get(row.key, {})
        row.name = person.get("name", "")
        told = moment(person.get("submitted", ""))
        came, by = (
            (told, "roster")
            if told
            else (datetime.fromtimestamp(row.date).astimezone(), "date of the file")
        )
        due = moment(person.get("deadline", "")) or deadline
        hours = (came - due).total_seconds() / 3600 if due else 0
        row.late = f"{hours:.1f} h late by the {by}" if hours > 0 else ""
        odd += [f"nobody's of the roster: {row.key}"] if people and not person else []
    there = {row.key for row in graded.rows}
    for id_ in (id_ for id_ in people if id_ not in there):
        nothing = {key: Result(None, "nothing", "nothing handed in") for key in tasks}
        graded.rows.append(Row(id_, nothing, name=people[id_]["name"]))
        odd.append(f"nothing handed in, and no points: {id_} {people[id_]['name']}")
    return odd
