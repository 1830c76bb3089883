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
from vitworkshop.exercises.language import Said

ENTRY = re.compile(r"(\S+?)(?: ([^:]+))?: (.+?)(?: -> ([dhvm]) (.*))?\n((?:    .*\n)+)")
AT_HAND = """
import copy, math
from fractions import Fraction
import numpy as np, torch
import torch.nn.functional as F
from einops import einsum, rearrange
from torch import nn
import vitlib as vl
from vitlib.train.masked import guess_patches

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


def answers(table: str) -> list[tuple[str, ...]]:
    """The rows of a table: exercise, part, what it is, the letter and first words on record, its source."""
    assert not ENTRY.sub("", table).strip(), "a line that is not read"
    return ENTRY.findall(table)


def judged(table: str, chapter: str) -> Iterator[tuple[str, str, Verdict]]:
    """Each answer to a chapter's exercises: what it is, the first words on record, the verdict."""
    for number, part, what, _, words, source in answers(table):
        if number.startswith(chapter):
            answer = made(source)
            verdicts = judge(find(number), {part: answer} if part else answer)
            name = f"{number} {part}".strip()
            yield f"{name}: {what}", words, verdicts[part]


CHAPTERS = sorted({number[:2] for number, *_ in answers(RIGHT) + answers(WRONG)})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_right_answer_is_refused(chapter):
    found = judged(RIGHT, chapter)
    assert not [(what, str(v)) for what, _, v in found if v.kind != "right"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_wrong_answer_gets_the_reply_on_record(chapter):
    found = list(judged(WRONG, chapter))
    assert not [what for what, _, verdict in found if verdict.kind == "right"]
    new = [(what, v.says) for what, words, v in found if not v.says.startswith(words)]
    assert not new, "read these replies, and record a letter and the first words"
    assert not [v.says for *_, v in found if not isinstance(v.says, Said)]


def test_most_replies_help():
    """The letters on record: d names the mistake, h helps, v is vague, m misleads."""
    found = answers(WRONG)
    assert all(letter and words for *_, letter, words, _ in found)
    n, count = len(found), Counter(letter for *_, letter, _, _ in found)
    assert count["d"] >= n / 2 and count["m"] <= 0.03 * n, count
    assert count["d"] + count["h"] >= 0.9 * n, count
