"""How long the chapters are: words, cells, lines of code, and the minutes that these take.

    python -m page.lengths [--write]

prints each chapter with the medians, so that a limit that is being filled shows; `--write` also puts the minutes into
the chapters' boxes "At a glance". Reading is counted up to the exercises; their minutes are those of the core, which
"More exercises" ends.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from pathlib import Path
from typing import NamedTuple

from page.address import chapters, write_if_changed

HIDDEN = {"colab-setup", "remove-cell", "remove-input", "hide-input", "solution"}
WORDS, LINES = 100, 10  # of prose and of code that are read in a minute
TIME = "{} minutes to read; {} for the exercises."
# of an exercise: stars, minutes, how
DIFFICULTY = re.compile(
    r"^(?:Difficulty|难度) ([★☆]{3}) · (\d+) (?:minutes|分钟)(.*)", re.M
)


class Length(NamedTuple):
    """Of one chapter: words of prose, cells, visible lines of code; minutes to read and for the exercises."""

    words: int
    cells: int
    lines: int
    reading: int
    exercises: int

    @property
    def time(self) -> str:
        """The line of the box "At a glance"."""
        return TIME.format(self.reading, self.exercises)


def measure(notebook: dict) -> Length:
    """The length of a notebook. Who sees a picture reads no description of it."""
    parts = [(cell, "".join(cell["source"])) for cell in notebook["cells"]]
    parts = [(cell, re.sub(r"!\[[^]]*\]\([^)]*\)", "", text)) for cell, text in parts]
    starts = [
        i for i, (_, text) in enumerate(parts) if re.search("^## Exercises", text, re.M)
    ]
    body = parts[: starts[0]] if starts else parts
    asked = "\n".join(text for _, text in parts).partition("\n### More exercises")[0]
    minutes = [
        int(minutes)
        for _, minutes, _ in DIFFICULTY.findall(asked.partition("\n## Exercises")[2])
    ]
    reading = words_of(body) / WORDS + lines_of(body) / LINES
    return Length(
        words_of(parts),
        len(parts),
        lines_of(parts),
        5 * round(reading / 5),
        sum(minutes),
    )


def words_of(parts) -> int:
    """The words of the prose."""
    return sum(
        len(text.split()) for cell, text in parts if cell["cell_type"] == "markdown"
    )


def lines_of(parts) -> int:
    """The lines of code that are seen without unfolding anything."""
    shown = (
        text
        for cell, text in parts
        if cell["cell_type"] == "code"
        and not HIDDEN & {*cell["metadata"].get("tags", [])}
    )
    return sum(bool(line.strip()) for text in shown for line in text.splitlines())


def all_lengths() -> dict[Path, Length]:
    """The chapters' files, and how long each is."""
    return {
        path: measure(json.loads(path.read_text(encoding="utf-8")))
        for path in chapters()
    }


def report() -> str:
    """A line for each chapter, and the medians."""
    found = all_lengths()
    medians = [
        statistics.median(column) for column in zip(*found.values(), strict=True)
    ]
    sums = [sum(column) for column in zip(*found.values(), strict=True)]
    rows = [(path.stem, *one) for path, one in found.items()]
    rows += [("median", *map(round, medians)), ("together", *sums)]
    lines = [
        f"{name:28}" + "".join(f"{n:>10,}" for n in numbers) for name, *numbers in rows
    ]
    return "\n".join(
        [f"{'':28}" + "".join(f"{field:>10}" for field in Length._fields), *lines]
    )


def main() -> None:
    """Prints the lengths; with --write the chapters say their minutes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="put the minutes into the chapters"
    )
    if parser.parse_args().write:
        for path, one in all_lengths().items():
            text = path.read_text(encoding="utf-8")
            write_if_changed(path, re.sub(TIME.format(r"\d+", r"\d+"), one.time, text))
    print(report())


if __name__ == "__main__":
    main()
