"""What a page needs to judge an answer by itself: right values, known mistakes and their sentences, known words.

`book/_static/guess/guess.js` judges by it as `engine.judge` does. Functions have none, and no part that only Python can
look at (`run`).
"""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor

from vitworkshop.exercises.answers import parts_of, plain, same, spelling, words
from vitworkshop.exercises.engine import Exercise, Form, form, joined
from vitworkshop.exercises.language import say


def has_data(exercise: Exercise, part: str) -> bool:
    """Whether a part of an exercise is judged by values: it is no function, and `run` leaves it as it is."""
    if exercise.inputs or not exercise.run:
        return not exercise.inputs
    forms = [exercise.right[part], *(forms[part] for _, forms, _ in exercise.known)]
    return all(same(one.made, one.raw, 0) for one in forms)


def kind_of(want: Any) -> str:
    """What is asked for, in words."""
    if isinstance(right := words(want, want), str):
        return "a word"
    if right is not None:
        return "words in order" if isinstance(right, tuple) else "words"
    if isinstance(want := plain(want), Tensor) and not want.ndim:
        return "True or False" if want.dtype == torch.bool else "a number"
    return "numbers" if not isinstance(want, frozenset) else "numbers in any order"


def nested(x: Any) -> Any:
    """Numbers as lists, a set in order."""
    if isinstance(x, Tensor):
        return x.tolist()
    return sorted(x) if isinstance(x, frozenset) else [nested(each) for each in x]


def is_whole(x: Any) -> bool:
    """Whether numbers are counted, not measured."""
    if isinstance(x, Tensor):
        return not x.is_floating_point()
    return isinstance(x, frozenset) or all(is_whole(each) for each in x)


def value_of(value: Form, want: Any) -> Any:
    """A value as it is compared: a word, a list of words, or numbers and whether they are counted."""
    if words(want, want) is None:
        return [nested(value.raw), is_whole(value.raw)]
    return sorted(value.made) if isinstance(value.made, frozenset) else value.made


def known_words(want: Any, values: list[Any]) -> dict[str, str]:
    """The words that may be answered, bare and as the book writes them; none if these are the answer itself."""
    if (right := words(want, want)) is None:
        return {}
    known = spelling(values)
    few = not isinstance(right, tuple) and not known.keys() - {right, *right}
    return (
        {} if few else dict(sorted(known.items(), key=lambda pair: pair[1].casefold()))
    )


def data_of(exercise: Exercise, asked: list[str]) -> dict[str, Any]:
    """All by which these parts are judged.

    A known mistake has its sentence, the parts that it makes wrong, and the values that it changes; two at once have
    theirs, and the values that no earlier one leads to.
    """
    want, parts, mistakes, pairs = parts_of(exercise.value), {}, [], []
    seen = {part: [value_of(exercise.right[part], want[part])] for part in asked}
    for sentences, forms, off in exercise.known:
        found = {part: value_of(forms[part], want[part]) for part in asked}
        found = {
            part: value
            for part, value in found.items()
            if not re.search(r"\b(inf|nan)\b", str(value))
        }
        new = {part: value for part, value in found.items() if value not in seen[part]}
        if len(sentences) == 1:
            changed = {
                part: value for part, value in found.items() if value != seen[part][0]
            }
            mistakes.append((say(sentences[0]), [p for p in want if p in off], changed))
        elif new:
            pairs.append((say(joined(sentences, ())), new))
        for part, value in new.items():
            seen[part].append(value)
    for part in asked:
        others = exercise.others if words(want[part], want[part]) is not None else []
        forms = [form(exercise, other, want[part]) for other in others]
        right = [value_of(one, want[part]) for one in (exercise.right[part], *forms)]
        values = [
            exercise.right[part].raw,
            *(forms[part].raw for _, forms, _ in exercise.known),
        ]
        known = known_words(want[part], values)
        right = [
            value
            for i, value in enumerate(right)
            if value is not None and value not in right[:i]
        ]
        parts[part] = {"kind": kind_of(want[part]), "right": right, "known": known}
    about = {"tol": exercise.tol, "spelled": exercise.spelled}
    return about | {"parts": parts, "mistakes": mistakes, "pairs": pairs}
