"""Answers written without a look at the entries: no wrong function passes, no right answer is refused, replies help."""

from __future__ import annotations

import copy
import linecache
import math
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from einops import einsum, rearrange, reduce, repeat
from heldout import RIGHT, WRONG
from torch import nn

import vitlib as vl
from vitworkshop.exercises.engine import find, judge

ENTRY = re.compile(r"(\S+?)(?: ([^:]+))?: (.+)\n((?:    .*\n)+)(?:  (\w) (.*)\n)?")
pytestmark = pytest.mark.usefixtures("one_thread")


def explained(answers, targets):
    """Chapter 17's R²."""
    return 1 - F.mse_loss(answers, targets).item() / targets.var(0, correction=0).mean().item()


NAMES = {name: value for name, value in globals().items() if not name.startswith("_")}


def made(source: str):
    """An answer from its source: an expression's value, or the function that is defined last."""
    source = re.sub(r"^    ", "", source, flags=re.M)
    linecache.cache["<student>"] = (len(source), None, source.splitlines(True), "<student>")
    space = dict(NAMES)
    try:
        return eval(compile(source, "<student>", "eval"), space)
    except SyntaxError:
        exec(compile(source, "<student>", "exec"), space)
        return [*space.values()][-1]


def judged(table: str) -> Iterator[tuple]:
    """Each answer of a table with its reply: (number and part, what, letter, first words, verdict, a function?)."""
    assert ENTRY.sub("", table).strip() == ""
    for number, part, what, source, letter, words in ENTRY.findall(table):
        answer = made(source)
        verdict = judge(find(number), {part: answer} if part else answer)[part]
        yield f"{number} {part}".strip() + f": {what}", letter, words, verdict, callable(answer)


def test_no_right_answer_is_refused():
    refused = [(what, str(verdict)) for what, _, _, verdict, _ in judged(RIGHT) if verdict.kind != "right"]
    assert not refused


def test_wrong_answers_get_replies_that_help():
    found = list(judged(WRONG))
    passed = [what for what, _, _, verdict, _ in found if verdict.kind == "right"]
    assert not passed
    changed = [
        (what, words, verdict.says)
        for what, _, words, verdict, _ in found
        if not words or not verdict.says.startswith(words)
    ]
    assert not changed, "read these replies, judge them and record their first words"
    count, n = Counter(letter for _, letter, *_ in found), len(found)
    assert count["d"] >= n / 2 and count["d"] + count["h"] >= 0.9 * n and count["m"] <= 0.03 * n
