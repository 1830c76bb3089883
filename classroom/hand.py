"""What a person says of answers, in hand.csv: points, words, penalties. It stands, whatever is graded again.

A row belongs to the answer whose digest it names; where it names none, to the answer that was there when it was first
read. Once the answer has changed, its points are not used, and the table says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from classroom.grade import Graded
from classroom.homework import Homework
from classroom.names import matched, shown
from classroom.sheet import read_sheet, table
from vitlib.files import write_atomic

COLUMNS = ("student", "task", "points", "comment", "answer")
NUMBER = re.compile(r"[-−]?\d+(?:[.,]\d+)?")
LATE = "late"  # stands for a task, and takes points away


@dataclass
class Word:
    """A row."""

    student: str
    task: str
    points: float | None
    comment: str
    answer: str

    def mark(self, number: int) -> str:
        """What it is known by, once it was read."""
        return f"{number} {self.student} {self.task} {self.points} {self.comment}"


def read_hand(path: Path, work: Homework) -> tuple[list[Word], str]:
    """The rows that say something, of a homework, and what stands between cells; none where there is no file.

    Raises:
        ValueError: If a task or a number cannot be, or two rows differ on one answer.
    """
    if not path.exists():
        return [], ""
    sheet, found = read_sheet(path, COLUMNS), {}
    for n, row in enumerate(sheet.rows, 2):
        key = re.sub(r"^task\s*", "", row["task"], flags=re.I).replace(",", ".").casefold()
        if re.match(r"\d\.\d$", key) and key[0] != str(work.number):
            continue  # of another homework
        if key not in work.tasks and key != LATE:
            fix = "a spreadsheet may have taken it for a date; write  task 1.5"
            raise ValueError(
                f"expected a task of homework {work.number} or {LATE!r} in row {n} of {path}, got "
                f"{row['task']!r}; {fix}"
            )
        most = work.tasks[key].points if key != LATE else 0
        least = 0 if key != LATE else -sum(task.points for task in work.tasks.values())
        text = row["points"].replace("−", "-").replace(",", ".")
        if text and not (NUMBER.fullmatch(text) and least <= float(text) <= most):
            raise ValueError(
                f"expected {least} to {most} points for {key} in row {n} of {path}, got {row['points']!r}; mend it"
            )
        if not text and not row["comment"]:
            continue
        word = Word(
            row["student"], key, float(text) if text else None, row["comment"], row["answer"].casefold()
        )
        if found.setdefault((word.student, key, word.answer), word) != word:
            raise ValueError(
                f"expected one row for {key} of {word.student} in {path}, got two that differ; delete one"
            )
    return list(found.values()), sheet.delimiter


def apply(words: list[Word], graded: Graded, seen: dict[str, str], number: int) -> list[str]:
    """Put a person's points and words into the rows; what is odd, in words.

    Args:
        words: All there are.
        graded: Its rows are changed.
        seen: Of rows without a digest that of the answer they were first read with; new ones are added.
        number: Of the homework.
    """
    keys = [row.key for row in graded.rows]
    meant = {word.student: next(iter(matched([word.student], keys)), "") for word in words}
    for row in graded.rows:
        own = [word for word in words if meant[word.student] == row.key]
        for word in own:
            if word.task == LATE:
                row.penalty, row.comment = word.points or 0.0, word.comment
        for key, result in row.results.items():
            fits = [w for w in own if w.task == key and w.answer == result.digest]
            for word in own:
                if word.task == key and not word.answer:
                    if seen.setdefault(word.mark(number), result.digest) == result.digest:
                        fits.append(word)
            given = [word.points for word in fits if word.points is not None]
            result.points = given[0] if given else result.points
            result.comment = next((word.comment for word in fits if word.comment), "")
            old = [word.points for word in own if word.task == key and word.points is not None]
            if old and not given:
                result.again = f"look again: the answer is another than the one that got {old[-1]:g}"
    return [f"in hand.csv, and nobody's: {shown(w.student)}" for w in words if not meant[w.student]]


def add_rows(path: Path, rows: list[list[str]], delimiter: str) -> int:
    """Add empty rows, of student, task and digest, to a person's file, which else stays as it is; how many."""
    if not path.exists():
        write_atomic(path, table([COLUMNS], delimiter))
    sheet = read_sheet(path, COLUMNS)
    there = {(row["student"], row["task"].casefold(), row["answer"].casefold()) for row in sheet.rows}
    new = [(student, f"task {task}", answer) for student, task, answer in rows]
    new = [row for row in new if row not in there]
    cells = [dict(zip(("student", "task", "answer"), row, strict=True)) for row in new]
    text = table([[each.get(column, "") for column in sheet.columns] for each in cells], sheet.delimiter)
    before = path.read_bytes()
    text = text.decode("utf-8-sig")
    end = "" if before.decode(sheet.encoding, "replace").endswith("\n") else "\r\n"
    try:
        write_atomic(path, before + (end + text).encode(sheet.encoding))
    except UnicodeEncodeError as error:
        raise ValueError(
            f"expected {path} in UTF-8, got {sheet.encoding} ({error}); save it as CSV UTF-8"
        ) from None
    return len(new)
