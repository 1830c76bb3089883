"""Graded homework: what a task is, and the four homeworks, a file each.

Who has the repository can read them, right answers too; only the arguments are secret. To change tasks, copy a file to
references/, which git ignores, and edit it there: it is taken instead.
"""

import sys
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from vitworkshop.exercises.engine import Exercise
from vitworkshop.exercises.language import Said

NUMBERS = (1, 2, 3, 4)
MADE = Path(__file__).parents[2] / "references"


@dataclass(frozen=True)
class Task:
    """What a student is asked for."""

    title: str
    text: str  # the statement, Markdown
    points: int  # for a right answer
    minutes: int
    exercise: Exercise | None = None  # None for a question that is answered in words
    # arguments, as a student would write them
    examples: list[str] = field(default_factory=list)
    read: str = (
        ""  # the number of a chapter, and its section that teaches what is asked for
    )
    parts: tuple[
        str, ...
    ] = ()  # what each part of the answer is, where the parts count alone
    rubric: str = ""  # of a question in words: what earns which points, by a person
    forbidden: str = ""  # a pattern: the answer counts, and a person is asked to look

    @property
    def name(self) -> str:
        """The function that is asked for; "" where words are."""
        return self.exercise.reference.__name__ if self.exercise else ""

    def hidden(self, seed: int) -> Exercise:
        """The exercise with arguments that nobody has seen."""
        assert self.exercise
        exercise = replace(self.exercise)
        exercise.cases = exercise.drawn(seed)
        # a reference that fails here would cost everybody's points
        assert exercise.wanted
        return exercise


@dataclass(frozen=True)
class Homework:
    """A homework: its tasks by number, as in "1.2"."""

    number: int
    name: str
    title: str
    chapters: str
    points: int
    tasks: dict[str, Task]


@cache
def homework(number: int) -> Homework:
    """One of the four."""
    spec = spec_from_file_location(f"homework_{number}", source(number))
    assert spec and spec.loader
    # where its functions' source is looked for
    file = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(file)
    tasks = {f"{number}.{i}": task for i, task in enumerate(file.TASKS, 1)}
    points = sum(task.points for task in file.TASKS)
    name = Said("Homework {n}", n=number)
    return Homework(number, name, file.TITLE, file.CHAPTERS, points, tasks)


def source(number: int) -> Path:
    """The file of a homework: the class's own, where there is one."""
    name = f"h{number}.py"
    return MADE / name if (MADE / name).exists() else Path(__file__).with_name(name)
