"""Graded homework: what a task is, and the four homeworks, a file each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module

from vitlib.checks import check_between
from vitworkshop.exercises.engine import Exercise

NUMBERS = (1, 2, 3, 4)


@dataclass(frozen=True)
class Task:
    """What a student is asked for.

    Args:
        title: In a few words.
        text: The statement, Markdown.
        points: For a right answer.
        minutes: That it should take.
        exercise: Reference, known mistakes and what draws the arguments; None for a question that is answered in words.
        examples: The arguments of each public example, as a student would write them.
        rubric: Of a question in words: what earns which points, by a person.
    """

    title: str
    text: str
    points: int
    minutes: int
    exercise: Exercise | None = None
    examples: list[str] = field(default_factory=list)
    rubric: str = ""

    @property
    def name(self) -> str:
        """The function that is asked for; "" where words are."""
        return self.exercise.reference.__name__ if self.exercise else ""

    def hidden(self, seed: int) -> Exercise:
        """The exercise with arguments that nobody has seen."""
        assert self.exercise
        exercise = replace(self.exercise)
        exercise.cases = exercise.drawn(seed)
        assert exercise.wanted  # a reference that fails here would cost everybody's points
        return exercise


@dataclass(frozen=True)
class Homework:
    """A homework: its tasks by number, as in "1.2"."""

    number: int
    title: str
    chapters: str
    tasks: dict[str, Task]

    @property
    def points(self) -> int:
        """Of all tasks."""
        return sum(task.points for task in self.tasks.values())


@cache
def homework(number: int) -> Homework:
    """One of the four.

    Raises:
        ValueError: If there is no such homework.
    """
    check_between("homework", number, NUMBERS[0], NUMBERS[-1])
    file = import_module(f"classroom.homework.h{number}")
    tasks = {f"{number}.{i}": task for i, task in enumerate(file.TASKS, 1)}
    return Homework(number, file.TITLE, file.CHAPTERS, tasks)
