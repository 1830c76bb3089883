"""What goes back to Canvas or Moodle: one zip, in it the platform's own table with the points, and students' pages.

The pages are called as the upload of feedback wants them: Canvas's reads the numbers of a student and of a file in the
name, Moodle's the number before "assignsubmission". Both pass over the table, which is imported by itself. Source:
Canvas's infer_comment_context_from_filename and GradebookImporter, Moodle's importziplib.php and importgradeslib.php.
"""

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from classroom.grade import Row
from classroom.homework import Homework
from classroom.names import bare, packed
from classroom.roster import Roster

CANVAS = ("student", "id", "sis user id", "sis login id", "section")


def write_back(
    path: Path, work: Homework, rows: list[Row], roster: Roster, pages: dict[str, str]
) -> None:
    """Write the zip. Of whoever still waits for a person the cell stays as it is, and there is no page."""
    head = {"canvas": work.name, "moodle": "Grade"}[roster.platform]
    done = {row.key: row for row in rows if row.points is not None}
    table = io.StringIO()
    csv.writer(table).writerows(_table(roster, head, done))
    files = {"grades.csv": table.getvalue().encode("utf-8-sig")}
    for key, row in done.items():
        if by := packed(row.file):
            name = f"{by['name']}_{by['id']}_assignsubmission_file_feedback"
            name = name if roster.platform == "moodle" else bare(row.file)
            # of a pair, the one who handed in has the page
            files.setdefault(f"{name}.html", pages[key].encode())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in files.items():
            archive.writestr(zipfile.ZipInfo(name), raw)


def _table(roster: Roster, head: str, done: dict[str, Row]) -> Iterator[list[str]]:
    """The platform's table, of Canvas's only what says who it is, with points in one column."""
    sheet = roster.sheet
    form = re.compile(rf"{head}( \(\d+\))?", re.I)
    place = next((name for name in sheet.columns if form.fullmatch(name)), "")
    if not place:
        got = ", ".join(sheet.heads)
        fix = "download Moodle's in English, and call Canvas's assignment so"
        raise ValueError(f"expected a column {head} in the roster, got {got}; {fix}")
    whole = roster.platform == "moodle"
    keep = [name for name in sheet.columns if whole or name in (*CANVAS, place)]
    heads = dict(zip(sheet.columns, sheet.heads, strict=True))
    yield [heads[name] for name in keep]
    for row in sheet.rows:
        person = done.get(row.get("key", ""))
        # an empty cell would take away what Canvas has, also that somebody is excused
        points = f"{person.points:g}" if person else row[place]
        yield [points if name == place else row[name] for name in keep]
