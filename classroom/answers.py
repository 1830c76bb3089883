"""Where a student's answers are: in their places of the released notebook, or wherever else they were written.

What is found is judged; what may be an answer and cannot be told waits for a person. Nothing counts as not answered but
a place that is as it was released, with nothing beside it.
"""

import ast
import inspect
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from classroom.homework import Homework
from classroom.homework.notebook import ANSWER, SET_UP, TAG, released
from classroom.names import digest
from classroom.submissions import Cell
from vitlib.files import printable
from vitworkshop.exercises.language import Said

SECTION = re.compile(r"^#+[ \t]*(\d\.\d)\b", re.M)
FORM = re.M | re.X
# what holds the place of an answer, in code
OPEN = re.compile(
    r"(?<!\w)(?:\.\.\.|pass|return(?: None)?|raise NotImplementedError\b[^#\n]{0,99})[ \t]*(?:# yours)?$",
    re.M,
)
NOTHING = " \t\r\n….*_:#>-–—"
# a function that does nothing yet, and whatever gives a name a value
# (bounded and possessive: a student's text may be made to hold them up)
EMPTY = r"""^def[ ]{}\([^()]*+\)[^:\n]*+:
    (?:\s*+(?:\.\.\.|pass\b|return(?:[ ]None)?(?=\s|\Z)|raise[ ]NotImplementedError\b[^\n]*+
        |\#[^\n]*+|\"{{3}}[^"]*+\"{{3}}))++
    (?=(?:[ \t]*+\n)++\S|\s*+\Z)"""
BOUND = r"""^[ \t]{{0,99}}(?:(?:async[ \t]+)?def|class)[ \t]+{0}\b
    | ^[^\#(\n]{{0,200}}\b{0}\b[^=(\n]{{0,200}}=(?!=)
    | \b{0}[ \t]?:= | \b(?:as|import)[ \t]{0}\b | \[["']{0}["']\][ \t]?="""


@dataclass
class Found:
    """What there is of an answer: cells to run, or its text; why a person should look at it."""

    cells: list[tuple[int, str]] = field(default_factory=list)
    text: str = ""
    odd: str = ""
    code: str = ""  # all of it, without remarks

    @property
    def digest(self) -> str:
        """A mark of what was found."""
        return digest(self.code or self.text)

    @property
    def shown(self) -> str:
        """The text, or its beginning, in letters that print."""
        return "\n".join(map(printable, self.text.strip()[:5000].split("\n")))


class Answers:
    """The answers in the cells of a notebook, numbered from 1 as a student sees them."""

    def __init__(self, cells: list[Cell], work: Homework) -> None:
        self.cells = [*enumerate(cells, 1)]
        # the code of all cells, without remarks
        codes = (_bare(text) for kind, text in cells if kind == "code")
        self.bare = "\n".join(filter(None, codes))
        names = [task.name for task in work.tasks.values() if task.name]
        taken = re.compile("|".join(map(BOUND.format, names)), FORM)
        known = {
            _plain(text) for name in ("en", "zh") for _, text in released(work, name)
        }
        self.whole = {_plain(text) for _, text in cells} & known
        # cells that were not released; each with where it is
        self.strange, section = [], ""
        for i, (kind, text) in self.cells:
            if kind != "code" and (head := SECTION.search(text)):
                section = head[1]
            if _plain(text) not in known | {""} and not (
                kind == "code" and taken.search(text)
            ):
                self.strange.append((i, kind, text, section))

    def code(self, key: str, name: str, reference: Callable) -> Found:
        """All code cells, stubs left out, if one gives the function's name a value."""
        empty, bound = (re.compile(x.format(name), FORM) for x in (EMPTY, BOUND))
        blank = lambda stub: "\n" * stub[0].count("\n")
        cells = [
            (i, empty.sub(blank, text))
            for i, (kind, text) in self.cells
            if kind == "code"
        ]
        places = [(i, text) for i, text in cells if bound.search(text)]
        if places:
            twice = sum(len(bound.findall(text)) for _, text in places) > 1
            says = Said("{name} is defined more than once: the last counts", name=name)
            odd = says if twice else ""
            cells = [(0, SET_UP), *cells]
            return Found(cells, places[-1][1], odd, self.bare)
        parameters = inspect.signature(reference).parameters
        alike = r"\bdef[ \t]+\w+\(\s*" + r"\b[^,()]*,\s*".join(parameters) + r"\b"
        beside = [
            (i, text)
            for i, _, text, section in self.strange
            if section == key or re.search(alike, text)
        ]
        return self._missing(rf"{TAG}{key}\b", beside)

    def words(self, key: str) -> Found:
        """The answer to a question in words, with what was written into cells below it."""
        head = re.compile(
            rf"^[^\w\n]*+answer[^\w\n]*+{key}\b[ \t.:*_#–—-]*", re.M | re.I
        )
        found = ""
        for i, (kind, text) in self.cells:
            if kind != "code" and (begins := head.search(text)):
                below = itertools.takewhile(
                    lambda each: each[0] != "code" and each[1][:1] != "#",
                    (cell for _, cell in self.cells[i:]),
                )
                answer = text[begins.end() :].strip().strip("…").strip()
                parts = [answer, *(text for _, text in below)]
                whole = "\n\n".join(part for part in parts if part.strip(NOTHING))
                found = whole or found
        if found:
            return Found(text=found)
        beside = [
            (i, text)
            for i, kind, text, section in self.strange
            if kind != "code" or section == key
        ]
        return self._missing(rf"{ANSWER}{key}\b", beside)

    def _missing(self, place: str, beside: list[tuple[int, str]]) -> Found:
        """What may be the answer, where its place holds none."""
        if beside:
            cells = ", ".join(str(i) for i, _ in beside)
            text = "\n\n".join(text for _, text in beside)
            says = Said("not in its place; is it in cell {cells}?", cells=cells)
            return Found([], text, says)
        gone = not any(re.match(place, text) for text in self.whole)
        return Found(
            odd=Said("its place is gone or was changed, and no answer was found")
            if gone
            else ""
        )


def _plain(text: str) -> str:
    """A cell's text, however it is spaced, and whatever holds an answer's place."""
    return " ".join(OPEN.sub("", text).split())


class _NoRemarks(ast.NodeTransformer):
    """Leaves out statements that are constants, as docstrings are."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node


def _bare(text: str) -> str:
    """A cell's code, however it is spaced, without comments and docstrings; as it is if it is no Python."""
    try:
        return ast.unparse(_NoRemarks().visit(ast.parse(text)))
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return text
