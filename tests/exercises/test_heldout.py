"""Answers written without a look at the entries: no wrong one passes, no right one is refused, the replies help."""

import linecache
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from heldout import RIGHT, WRONG

from vitworkshop.exercises.engine import Verdict, find, judge

ENTRY = re.compile(r"(\S+?)(?: ([^:]+))?: (.+?)(?: -> ([dhvm]) (.*))?\n((?:    .*\n)+)")
AT_HAND = """
import copy, math
from fractions import Fraction
import numpy as np, torch
import torch.nn.functional as F
from einops import einsum, rearrange
from torch import nn
import vitlib as vl

def explained(answers, targets):  # chapter 17's R²
    return 1 - F.mse_loss(answers, targets).item() / targets.var(0, correction=0).mean().item()
"""
pytestmark = pytest.mark.usefixtures("one_thread")


def made(source: str) -> Any:
    """An answer from its source: an expression's value, or the function that is defined."""
    space: dict[str, Any] = {}
    exec(AT_HAND, space)
    source = textwrap.dedent(source)
    linecache.cache["<student>"] = (
        len(source),
        None,
        source.splitlines(True),
        "<student>",
    )
    try:
        return eval(compile(source, "<student>", "eval"), space)
    except SyntaxError:
        exec(compile(source, "<student>", "exec"), space)
        return list(space.values())[-1]


def judged(table: str) -> Iterator[tuple[str, str, str, Verdict]]:
    """Each answer of a table: what it is, the letter and first words on record, the verdict."""
    assert not ENTRY.sub("", table).strip(), "a line that is not read"
    for number, part, what, letter, words, source in ENTRY.findall(table):
        answer = made(source)
        verdicts = judge(find(number), {part: answer} if part else answer)
        yield f"{number} {part}".strip() + f": {what}", letter, words, verdicts[part]


def test_no_right_answer_is_refused():
    refused = [
        (what, str(verdict))
        for what, *_, verdict in judged(RIGHT)
        if verdict.kind != "right"
    ]
    assert not refused


def test_wrong_answers_get_replies_that_help():
    found = list(judged(WRONG))
    passed = [what for what, *_, verdict in found if verdict.kind == "right"]
    assert not passed
    new = [
        (what, v.says)
        for what, _, words, v in found
        if not words or not v.says.startswith(words)
    ]
    assert not new, (
        "read these replies, judge each with a letter, and record its first words"
    )
    n, count = len(found), Counter(letter for _, letter, *_ in found)
    assert (
        count["d"] >= n / 2
        and count["d"] + count["h"] >= 0.9 * n
        and count["m"] <= 0.03 * n
    ), count
