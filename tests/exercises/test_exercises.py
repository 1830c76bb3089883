"""Each exercise: its reference and other right answers pass, each known mistake gets its own sentence; its cells."""

from __future__ import annotations

import time
from importlib import import_module

import numpy as np
import pytest
import torch
from pages import ROOT

from vitworkshop.exercises.engine import Exercise, judge

ROOM = ROOT / "vitworkshop/exercises"
CHAPTER_FILES = sorted(ROOM.glob("ch*.py"))
ENTRIES: dict[str, Exercise] = {
    number: entry
    for file in CHAPTER_FILES
    for number, entry in import_module(f"vitworkshop.exercises.{file.stem}").EXERCISES.items()
}
each = pytest.mark.parametrize("number", ENTRIES)
pytestmark = pytest.mark.usefixtures("one_thread")


def answers(entry: Exercise, function):
    """What a student gives who writes this function: itself, or the value that it computes."""
    return function if entry.inputs else function()


def kinds(entry: Exercise, answer) -> set[str]:
    return {verdict.kind for verdict in judge(entry, answer).values()}


@each
def test_right_answers_pass(number):
    entry = ENTRIES[number]
    assert kinds(entry, answers(entry, entry.reference)) == {"right"}
    assert len(entry.others) >= 2, "give two other right answers"
    for other in entry.others:
        edit = isinstance(other, tuple) and all(isinstance(part, str) for part in other) and len(other) == 2
        made = entry.edited(other) if edit else other
        assert made is not None, f"there is no {other[0]!r} in the reference"
        answer = answers(entry, made) if edit else made
        assert kinds(entry, answer) == {"right"}, (other, judge(entry, answer))


@each
def test_the_type_of_a_right_answer_does_not_matter(number):
    entry = ENTRIES[number]
    if not entry.inputs or entry.run:
        return
    forms = [
        lambda x: x.double(),
        lambda x: x.half(),
        lambda x: x.tolist(),
        np.asarray,
        lambda x: x.requires_grad_(),
    ]
    for form in forms:

        def answer(*arguments, form=form):
            out = entry.reference(*arguments)
            return form(out) if isinstance(out, torch.Tensor) else out

        assert kinds(entry, answer) == {"right"}, judge(entry, answer)


@each
def test_a_known_mistake_is_named(number):
    entry = ENTRIES[number]
    assert len(entry.mistakes) >= (4 if entry.inputs else 2)
    failed = []
    for mistake in entry.mistakes:
        function = entry.edited(mistake)
        assert function, f"there is no {mistake[0]!r} in the reference"
        verdicts = judge(entry, answers(entry, function))
        sentence = mistake[2]
        if callable(sentence):
            sentence = sentence(*entry.cases[0])
        if not any(v.kind == "named" and v.says == sentence for v in verdicts.values()):
            failed.append((sentence, {part: str(v) for part, v in verdicts.items() if v.kind != "right"}))
    assert not failed, failed


@each
def test_hints_come_in_stages_and_sentences_are_short(number):
    entry = ENTRIES[number]
    said = [*entry.hints, *(s for *_, s in entry.mistakes if isinstance(s, str))]
    assert len(entry.hints) >= 2 and len({*entry.hints}) == len(entry.hints)
    assert max(map(len, said)) < 160 and not any("\n" in s for s in said)


@each
def test_a_check_takes_less_than_a_second(number):
    entry = ENTRIES[number]
    wrong = (lambda *_: 12.345) if entry.inputs else None
    for answer in (answers(entry, entry.reference), wrong):
        start = time.process_time()
        judge(entry, answer)
        assert time.process_time() - start < 1


def test_the_room_is_small():
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in CHAPTER_FILES)
    assert lines <= 25 * len(ENTRIES), f"{lines / len(ENTRIES):.1f} lines an exercise; 25 are wanted"
