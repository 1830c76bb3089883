"""Who is in the class: names and numbers for the submissions, who handed in nothing, and what came late."""

import contextlib
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from classroom.grade import Graded, Result, Row, digest
from classroom.names import matched, shown
from classroom.sheet import read_sheet

DAYS, TIMES = ("%Y-%m-%d", "%d.%m.%Y"), ("%H:%M", "%H:%M:%S", "%H:%M:%S%z")


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


def read_roster(path: Path) -> dict[str, dict[str, str]]:
    """People by what their submission is called, by default their name."""
    people: dict[str, dict[str, str]] = {}
    for row in read_sheet(path, ("id", "name")).rows:
        moment(row.get("deadline", "")), moment(row.get("submitted", ""))
        if not row["id"]:
            raise ValueError(
                f"expected an id in row {row['row']} of {path}, got none; fill it in"
            )
        if (
            people.setdefault(name := row.get("submission") or row["name"], row)
            is not row
        ):
            fix = "say their submission in a column"
            raise ValueError(f"expected one row for {name} in {path}, got two; {fix}")
    return people


def apply(
    people: dict, graded: Graded, tasks: Iterable[str], deadline: datetime | None
) -> list[str]:
    """Give the rows their names, add those of whoever handed in nothing, say what is late; what is odd, in words."""
    meant, odd = matched([*people], [row.key for row in graded.rows]), []
    for row in graded.rows:
        person = (
            people[meant[row.key]]
            if row.key in meant
            else {"id": "" if people else row.key}
        )
        row.name, row.id = person.get("name") or row.key, person["id"]
        told = moment(person.get("submitted", ""))
        came, by = (
            (told, "roster")
            if told
            else (datetime.fromtimestamp(row.date).astimezone(), "date of the file")
        )
        due = moment(person.get("deadline", "")) or deadline
        hours = (came - due).total_seconds() / 3600 if due else 0
        row.late = f"{hours:.1f} h late by the {by}" if hours > 0 else ""
        odd += (
            [f"in no row of the roster: {row.key}"]
            if people and row.key not in meant
            else []
        )
    for name in [name for name in people if name not in meant.values()]:
        nothing = {
            key: Result(0, "nothing", "nothing handed in", digest=digest(""))
            for key in tasks
        }
        graded.rows.append(
            Row(shown(name), nothing, name=people[name]["name"], id=people[name]["id"])
        )
        odd.append(f"in the roster, and nothing handed in: {shown(name)}")
    return odd
