"""Who is in the class: names and numbers for the submissions, who handed in nothing, and what came late."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from classroom.grade import Graded, Result, Row, digest
from classroom.names import matched, shown
from classroom.sheet import Sheet, read_sheet

FORMS = ("%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S")


def moment(text: str) -> datetime | None:
    """A date with its time, here; None for no text."""
    for form in FORMS if text else ():
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    if text:
        raise ValueError(
            f"expected a date and time as in 2026-11-30 18:00 (or 30.11.2026 18:00), got {text!r}; mend it"
        )
    return None


def read_roster(path: Path) -> Sheet:
    """The table: name, id; where the submission is called otherwise than the name, that; deadline, submitted.

    Raises:
        ValueError: If it has other columns, nobody in it, the same submission twice, or what is no date.
    """
    sheet = read_sheet(path, ("id", "name"))
    names = [row.get("submission") or row["name"] for row in sheet.rows]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"expected each submission once in {path}, got {twice[0]!r} twice; mend one of them")
    for row in sheet.rows:
        moment(row.get("deadline", "")), moment(row.get("submitted", ""))
    return sheet


def apply(roster: Sheet | None, graded: Graded, tasks: Iterable[str], deadline: datetime | None) -> list[str]:
    """Give the rows their names, add those of whoever handed in nothing, say what is late; what is odd, in words."""
    people = {row.get("submission") or row["name"]: row for row in (roster.rows if roster else ())}
    meant = matched(list(people), [row.key for row in graded.rows])
    strangers = [row.key for row in graded.rows if roster and row.key not in meant]
    absent = [name for name in people if name not in meant.values()]
    for row in graded.rows:
        person = people[meant[row.key]] if row.key in meant else {}
        row.name, row.id = person.get("name") or row.key, person.get("id", "" if roster else row.key)
        row.late = _late(row.date, person, deadline)
    for name in absent:
        nothing = {key: Result(0, "nothing", "nothing handed in", digest=digest("")) for key in tasks}
        person = people[name]
        graded.rows.append(
            Row(shown(name), nothing, "nothing handed in", name=person["name"], id=person["id"])
        )
    return [
        *(f"in no row of the roster: {key}" for key in strangers),
        *(f"in the roster, and nothing handed in: {shown(name)}" for name in absent),
    ]


def _late(written: float | None, person: dict[str, str], deadline: datetime | None) -> str:
    due, told = moment(person.get("deadline", "")) or deadline, moment(person.get("submitted", ""))
    came = told or (datetime.fromtimestamp(written) if written else None)
    if due is None or came is None or came <= due:
        return ""
    return (
        f"{(came - due).total_seconds() / 3600:.1f} h late by the {'roster' if told else 'date of the file'}"
    )
