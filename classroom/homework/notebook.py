"""A homework as students get it, in the class's language: statements, stubs, an example; no reference is in it."""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path

import nbformat
import torch
from nbformat import v4

from classroom.homework import NUMBERS, Homework, Task, homework
from vitlib.files import write_atomic
from vitworkshop.exercises.language import Said, language, said_in

TAG = "# task "  # how a cell that is graded begins
ANSWER = "### Answer "  # and one that a person reads
Tell = Callable[[str], str]


def intro(work: Homework, tell: Tell) -> str:
    """What stands at the top."""
    return tell(
        Said(
            """# {name}. {title}

{points} points. You need chapters {chapters}.

Each task is a function in a cell that begins with `# task` and its number: leave that line there, and add cells as you
like. The cell below it tries an example; what is graded are other arguments, of other sizes. A function must not change
what it is given. It may use PyTorch, einops and vitlib, has no network, reads no files, and all cells together have ten
seconds of computing. Run the notebook from top to bottom before you hand it in.""",
            name=work.name,
            title=Said(work.title),
            points=work.points,
            chapters=Said(work.chapters),
        )
    )


SET_UP = '''import torch

import vitlib as vl


def example(task, got, *want):
    """Print whether an example gives what it should."""
    parts = list(got) if isinstance(got, (list, tuple)) else [got]
    pairs = [(torch.as_tensor(g).double(), torch.tensor(w).double()) for g, w in zip(parts, want) if g is not None]
    near = all(g.shape == w.shape and torch.allclose(g, w, atol=1e-3) for g, w in pairs)
    print(f"{task}:", "RIGHT" if near and len(parts) == len(pairs) == len(want) else "WRONG")'''


def set_up(tell: Tell) -> str:
    """The first cell: what it finds, and what it says of an example."""
    right = SET_UP.replace("RIGHT", tell(Said("as it should be")))
    return right.replace("WRONG", tell(Said("not yet")))


def write_homework(folder: Path) -> None:
    """Write the four notebooks into a folder."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for number in NUMBERS:
        name = f"homework-{number}"
        cells = [
            (v4.new_code_cell if kind == "code" else v4.new_markdown_cell)(
                text, id=f"{name}-{i}"
            )
            for i, (kind, text) in enumerate(released(homework(number), language()))
        ]
        whole = v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        write_atomic(folder / f"{name}.ipynb", nbformat.writes(whole).encode())


def released(work: Homework, name: str = "en") -> list[tuple[str, str]]:
    """The cells that students get in a language, each with its kind."""
    tell = partial(said_in, name)
    cells = [("markdown", intro(work, tell)), ("code", set_up(tell))]
    for number, task in work.tasks.items():
        head = Said(
            "## {number} {title} ({points} points, about {minutes} minutes)",
            number=number,
            title=Said(task.title),
            points=task.points,
            minutes=task.minutes,
        )
        cells.append(("markdown", f"{tell(head)}\n\n{tell(task.text)}"))
        if task.exercise:
            answers = _coded(number, task, task.exercise.reference)
            cells += [("code", text) for text in answers]
        else:
            cells.append(("markdown", f"{ANSWER}{number}\n\n…"))
    return cells


def _coded(number: str, task: Task, reference: Callable) -> list[str]:
    """The stub, and the cell that tries its examples."""
    stub = f"{TAG}{number}\ndef {task.name}{inspect.signature(reference)}:\n    ...  # yours"
    tries = []
    for example in task.examples:
        want = reference(*eval(f"({example},)", {"torch": torch}))
        parts = want if isinstance(want, list | tuple) else [want]
        wants = [
            str(torch.as_tensor(x).double().mul(1e4).round().div(1e4).tolist())
            for x in parts
        ]
        tries.append(f'example("{number}", {task.name}({example}), {", ".join(wants)})')
    return [stub, "\n".join(tries)]
