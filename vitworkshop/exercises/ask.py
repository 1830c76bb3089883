"""`vl.check` and `vl.hint`: what a student asks, and what is printed."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

from vitlib.checks import checked
from vitworkshop.exercises.answers import can_limit, parts_of
from vitworkshop.exercises.engine import Exercise, Verdict, find, judge
from vitworkshop.exercises.language import Said, say

__all__ = ["check", "hint"]

_HINTED: dict[str, int] = {}  # hints that were given
_GUESSED: dict[str, Any] = {}  # guesses that were kept
_SAID: set[str] = set()


@checked
def check(exercise: str, answer: Any = None, **parts: Any) -> None:
    """Judge an answer to an exercise of the book, and print a line: "right", or which mistake it is.

    Args:
        exercise: Its number, as in "05.3"; tasks in the text have letters, as in "05.a".
        answer: What is asked for: a number, a list, a tensor, a word, a function, a class. None waits.
        **parts: The parts of the answer by their names, where there are several.

    Raises:
        ValueError: If there is no such exercise, or it has no such parts.

    Source: every chapter's exercises, from chapter 01 on.
    """
    entry = find(exercise)
    expected = (
        list(entry.value) if not entry.inputs and isinstance(entry.value, dict) else []
    )
    given = parts or (answer if isinstance(answer, dict) and expected else {})
    if (parts and answer is not None) or [
        name for name in given if name not in expected
    ]:
        raise ValueError(
            say(
                "expected {parts} by their names for exercise {exercise}, got {got}"
                if expected
                else "expected one answer for exercise {exercise}, got {got}",
                parts=", ".join(expected),
                exercise=exercise,
                got=", ".join(map(str, given)),
            )
        )
    if expected and not given and answer is not None:
        raise ValueError(
            say(
                "expected the parts {parts} by their names, got {got}",
                parts=", ".join(expected),
                got=f"{answer!r:.60}",
            )
        )
    if entry.inputs and not can_limit() and "limit" not in _SAID:
        _SAID.add("limit")
        print(
            say("(there is no time limit here: if nothing comes, interrupt the kernel)")
        )
    answer = given or answer
    if entry.guess:
        return _keep(exercise, entry, answer)
    _say(exercise, judge(entry, answer))


def _keep(exercise: str, entry: Exercise, guess: Any) -> None:
    """Keep a guess; called without one, show the guess that was kept, and judge it."""
    if any(each is not None for each in parts_of(guess).values()):
        guess = _own(guess)
        guesses = parts_of(guess)
        judged = judge(entry, guess).items()
        if formless := {
            part: verdict
            for part, verdict in judged
            if verdict.says.startswith(("expected ", "unknown "))
        }:
            return _say(exercise, formless, guesses)  # before the truth is seen
        _GUESSED[exercise] = guess
        print(
            say("{exercise}: your guess is kept; run the next cell", exercise=exercise)
        )
    elif guess is not None or exercise not in _GUESSED:
        print(say("{exercise}: waiting for your guess", exercise=exercise))
    else:
        kept = _GUESSED[exercise]
        _say(exercise, judge(entry, kept), parts_of(kept))


def _own(guess: Any) -> Any:
    """A guess as it is now: what can be gone through once becomes a list, and nobody else changes it later."""
    if isinstance(guess, dict):
        return {part: _own(value) for part, value in guess.items()}
    return copy.deepcopy(
        list(itertools.islice(guess, 10**5)) if isinstance(guess, Iterator) else guess
    )


def _say(
    exercise: str, verdicts: dict[str, Verdict], guesses: dict[str, Any] | None = None
) -> None:
    """A line for the answer if all of its parts fare alike, else one for each part."""
    if guesses is None and len({str(v) for v in verdicts.values()}) == 1:
        verdicts = {"": next(iter(verdicts.values()))}
    for part, verdict in verdicts.items():
        print(
            say(
                "{part} (you guessed {guess}): {what}" if guesses else "{part}: {what}",
                part=f"{exercise} {part}".strip(),
                guess=f"{guesses.get(part)!r:.40}" if guesses else "",
                what=str(verdict),
            )
        )


@checked
def hint(exercise: str) -> None:
    """Print the next hint to an exercise of the book, one stage further at each call.

    Args:
        exercise: Its number, as in "05.3".

    Raises:
        ValueError: If there is no such exercise.

    Source: every chapter's exercises, from chapter 01 on.
    """
    hints = find(exercise).hints
    stage = _HINTED[exercise] = min(_HINTED.get(exercise, 0) + 1, len(hints))
    print(
        say(
            "{exercise}, hint {n} of {all}: {hint}",
            exercise=exercise,
            n=stage,
            all=len(hints),
            hint=Said(hints[stage - 1]),
        )
    )
    if stage == len(hints):
        print(say("This was the last hint; below is the solution, if it is given."))
