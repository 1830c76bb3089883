"""How answers are judged and survived: forms of right ones, wrong kinds, errors, loops, guesses, hints."""

from __future__ import annotations

import signal
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

import vitlib as vl
from vitworkshop.exercises import answers as judging
from vitworkshop.exercises import engine
from vitworkshop.exercises.engine import Exercise, judge
from vitworkshop.exercises.told import differ

errors = pytest.mark.errors


def double(x):
    y = 2 * x
    return y


def area():
    side = 3.14159
    return {
        "area": side**2,
        "sides": [4, 4],
        "many": 7,
        "name": "square",
        "words": ("b", "a"),
        "any": {"x", "yes"},
        "flat": True,
    }


TASK = Exercise(
    double,
    inputs=lambda: [(torch.randn(3, 4),), (torch.randn(2, 2),)],
    mistakes=[
        ("2 *", "3 *", "three times"),
        ("return y", "return y + 1", "one too many"),
        ("2 *", "x *", "squared"),
    ],
    hints=["Twice.", "Add `x` to itself."],
)
VALUES = Exercise(
    area, mistakes=[("side**2", "side", "a side"), ("[4, 4]", "[4, 3]", "a side is lost")], hints=["a", "b"]
)


def said(entry, answer) -> str:
    (verdict,) = judge(entry, answer).values()
    return str(verdict)


def part(**given) -> str:
    (name,) = given
    return str(judge(VALUES, given)[name])


@pytest.mark.parametrize(
    "given",
    [
        *({"area": x} for x in (3.14159**2, 9.87, 9.8696, np.float32(3.14159**2), torch.tensor(3.14159**2))),
        *(
            {"sides": x}
            for x in (
                [4, 4],
                (4.0, 4),
                np.array([4, 4]),
                torch.tensor([4, 4]),
                [torch.tensor(4), 4],
                (Fraction(4), Fraction(8, 2)),
            )
        ),
        *(
            {"name": x}
            for x in (
                "square",
                " Square ",
                ["SQUARE"],
                "s, q, u, a, r, e",
                "S q u a r e".split(),
                "Squ are",
                "s-q_u,are",
            )
        ),
        *({"words": x} for x in (["B", "a"], "b, a", "ba", ("b", "a"))),
        *({"any": x} for x in ({"yes", "x"}, "X, yes", ["yes", "x"])),
        *({"flat": x} for x in (True, np.True_, torch.tensor(True))),
    ],
)
def test_right_values_pass_in_any_form(given):
    assert part(**given) == "right"


@pytest.mark.parametrize(
    "given, words",
    [
        ({"area": 9.9}, "close"),
        ({"area": 9.88}, "close"),
        ({"area": 3.14159}, "a side"),
        ({"area": 2 * 3.14159**2}, "factor of 2"),
        ({"area": -(3.14159**2)}, "sign"),
        ({"area": 0.0}, "not this number"),
        ({"area": 30.0}, "too large by a good deal"),
        ({"area": 12.0}, "not this number"),
        ({"area": 0}, "not this number"),
        ({"area": True}, "expected one number, got True or False"),
        ({"area": [9.8696]}, "expected one number, got numbers of shape (1,)"),
        ({"area": "9.8696"}, "expected a number or numbers, without quotes, got '9.8696'"),
        ({"area": 9.8696 + 0j}, "complex"),
        ({"area": float("nan")}, "nan"),
        ({"area": print}, "got a function: call it"),
        ({"area": 987}, "in percent, or as a share?"),
        ({"sides": [4, 4, 4]}, "expected 2 numbers, got 3"),
        ({"sides": [4, "four"]}, "expected 2 numbers, got 2 things, 'four' among them"),
        ({"sides": {4}}, "a set keeps no order, and no number twice"),
        ({"sides": [400, 400]}, "all numbers are 100 times what they should be: in percent, or as a share?"),
        ({"sides": [4, 7]}, "number 2 of 2 is wrong: not this number: too large"),
        ({"sides": [4, 3.9]}, "number 2 of 2 is wrong: less than one off"),
        ({"many": 6.8}, "less than one off, and a whole number is asked for"),
        ({"many": 6}, "off by one"),
        ({"sides": [4, 3]}, "a side is lost"),
        ({"sides": 4}, "expected 2 numbers, got one"),
        ({"name": "circle"}, "not this one"),
        ({"words": "a, b"}, "number 1"),
        ({"any": {"x"}}, "more belong here"),
        ({"any": {"x", "yes", "no"}}, "“no” does not belong here"),
        ({"any": 3}, "expected words, got 3"),
        ({"flat": 1}, "return True or False"),
        ({"flat": False}, "the other way round"),
        ({"flat": "yes"}, "expected True or False, got 'yes'"),
    ],
)
def test_wrong_values_are_told_apart(given, words):
    assert part(**given).startswith("not yet: ") and words in part(**given)


def test_parts_wait_for_themselves():
    verdicts = judge(VALUES, {"area": 9.87, "flat": None})
    assert {part: verdict.kind for part, verdict in verdicts.items()} == {
        "area": "right",
        **dict.fromkeys(("sides", "many", "name", "words", "any", "flat"), "waiting"),
    }


@pytest.mark.parametrize(
    "form",
    [
        lambda x: x,
        lambda x: x.numpy(),
        lambda x: x.tolist(),
        tuple,
        list,
        lambda x: x.double(),
        lambda x: x.half(),
    ]
    + [lambda x: x.bfloat16(), lambda x: x.clone().requires_grad_(), lambda x: x.numpy()[::1, ::-1][:, ::-1]],
)
def test_right_functions_pass_in_any_form(form):
    assert said(TASK, lambda x: form(2 * x)) == "right"


def raises(x):
    raise KeyError("oh")


def prints(x):
    print("hello")
    return x + x


def only_prints(x):
    print(2 * x)


def in_place(x):
    x *= 2
    return x


def never_ends(x):
    while True:
        try:
            time.sleep(9)
        except Exception:
            pass


@pytest.mark.parametrize(
    "answer, words",
    [
        (None, "waiting for your answer"),
        (..., "waiting for your answer"),
        (lambda x: None, "waiting for your answer"),
        (only_prints, "it prints, and returns None"),
        (prints, "right (what it printed is not shown)"),
        (raises, "KeyError at `raise KeyError("),
        (lambda: 1, "it is called with (x), yours takes ()"),
        (lambda x: exit(), "SystemExit"),
        (in_place, "it changes its argument number 1"),
        (never_ends, "not done after 0.2 seconds, stopped: does it sleep"),
        (lambda x: 3 * x, "not yet: three times"),
        (lambda x: 3 * x + 1, "not yet: three times; and one too many"),
        (lambda x: x * torch.nan, "nan or inf"),
        (lambda x: 7, "expected shape (3, 4), got ()"),
        (lambda x: torch.zeros(3, 4), "all numbers are the same"),
        (lambda x: 2 * x.T, "expected shape (3, 4), got (4, 3): the axes are in another order"),
        (lambda x: -2 * x, "the sign is the other way round"),
        (lambda x: 2 * x.flip(1), "the order along axis 1 is reversed"),
        (lambda x: 2 * x.roll(1, 0), "shifted by one along axis 0"),
        (lambda x: 5 * x, "2.5 times what they should be"),
        (lambda x: 2 * x + 3, "off by the same amount, 3"),
        (lambda x: (2 * x).round(), "rounded to whole ones"),
        (lambda x: 2 * x if len(x) == 3 else x, "right for (tensor (3, 4)), and wrong for (tensor (2, 2))"),
        (lambda x: "2x", "expected numbers of shape (3, 4), got a word"),
        (3, "a function is asked for"),
    ],
)
def test_whatever_a_function_does_gets_a_sentence(answer, words, monkeypatch, capsys):
    monkeypatch.setattr(judging, "PATIENCE", 0.2)
    assert words in said(TASK, answer)
    assert capsys.readouterr().out == ""


def test_a_large_whole_number_may_have_a_point():
    assert said(Exercise(lambda: 16797267, [], []), 16797267.0) == "right"


def test_two_sentences_are_joined_behind_a_question():
    assert engine.joined(["is it?", "it is", lambda x: f"of {x}"], (3,)) == "is it? And it is; and of 3"


def test_sums_over_the_wrong_axis_are_seen():
    scores = torch.randn(3, 4).double()
    words = differ(scores.softmax(0), scores.softmax(1), 1e-4)
    assert words == "the numbers should sum to 1 along axis 1; they do along axis 0"


def test_square_answers_turned_round_are_seen():
    square = torch.randn(4, 4).double()
    assert differ(square.T, square, 1e-4) == "rows and columns are exchanged"
    assert differ(square[:, :3], square, 1e-4).endswith("one too few along axis 1")


def test_a_modules_weights_must_stay():
    entry = Exercise(lambda layer: 0, [], [], inputs=lambda: [(nn.Linear(2, 2),)])
    assert "changes its argument number 1" in said(entry, lambda layer: layer.weight.data.zero_().sum())


def test_random_numbers_and_timers_stay_as_they_were():
    rang = []
    before = signal.signal(signal.SIGALRM, lambda *_: rang.append(1))
    left = signal.setitimer(signal.ITIMER_REAL, 30)
    try:
        torch.manual_seed(3)
        state = torch.get_rng_state()
        said(TASK, lambda x: torch.randn(3, 4))
        assert torch.equal(torch.get_rng_state(), state)
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 30
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *left)


def test_outside_the_main_thread_there_is_no_limit_and_it_is_said(capsys, monkeypatch):
    monkeypatch.setattr(engine, "_SAID", set())
    thread = threading.Thread(target=vl.check, args=("03.b", lambda table: None))
    thread.start()
    thread.join()
    assert capsys.readouterr().out.splitlines() == [
        "(there is no time limit here: if nothing comes, interrupt the kernel)",
        "03.b: waiting for your answer",
    ]
    assert judging.can_limit()


def test_a_line_for_each_part_unless_they_fare_alike(capsys):
    vl.check("03.1", how_many=None, row_of_4=None, commonest=None, rarest=None)
    vl.check("03.1", how_many=36, commonest=6.0)
    assert capsys.readouterr().out.splitlines() == [
        "03.1: waiting for your answer",
        "03.1 how_many: not yet: these are all pairs; many share an offset",
        "03.1 row_of_4: waiting for your answer",
        "03.1 commonest: right",
        "03.1 rarest: waiting for your answer",
    ]


def test_a_guess_is_kept_and_shown_afterwards(capsys, monkeypatch):
    monkeypatch.setattr(engine, "_GUESSED", {})
    vl.check("05.a", norm1=None, mlp=None, attn=None)
    vl.check("05.a", norm1=65, mlp="one", attn=None)
    vl.check("05.a")
    vl.check("05.a", norm1=65, mlp=1, attn=None)
    vl.check("05.a")
    assert capsys.readouterr().out.splitlines() == [
        "05.a: waiting for your guess",
        "05.a mlp (you guessed 'one'): not yet: expected a number or numbers, without quotes, got 'one'",
        "05.a: waiting for your guess",
        "05.a: your guess is kept; run the next cell",
        "05.a norm1 (you guessed 65): not yet: LayerNorm takes the mean over a token's own numbers, not over tokens",
        "05.a mlp (you guessed 1): right",
        "05.a attn (you guessed None): waiting for your answer",
    ]


def test_hints_come_one_after_the_other(capsys, monkeypatch):
    monkeypatch.setattr(engine, "_HINTED", {})
    for _ in range(3):
        vl.hint("03.b")
    first, second, third = capsys.readouterr().out.splitlines()
    assert (
        first.startswith("03.b, hint 1 of 2: ")
        and second.startswith("03.b, hint 2 of 2: ")
        and third == second
    )


@errors
@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: vl.check("03.9", 1), "exercise must be one of 03.a, .*got '03.9'; did you mean '03"),
        (lambda: vl.check("3.1", 1), "did you mean '03.1'"),
        (lambda: vl.hint("ex-03-offsets"), "exercise must be one of 01.a, "),
        (
            lambda: vl.check("03.1", many=3),
            "expected how_many, row_of_4, commonest, rarest by their names .*got many",
        ),
        (lambda: vl.check("03.1", 15), "expected the parts how_many, .* got 15"),
        (lambda: vl.check("03.4", kinds={"none"}), "expected one answer for exercise 03.4, got kinds"),
        (lambda: vl.check("03.1", 3, how_many=3), "by their names for exercise 03.1"),
    ],
)
def test_bad_calls_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_only_its_own_chapter_is_loaded():
    import subprocess
    import sys

    code = "import sys, vitlib as vl; vl.check('03.b', None); print([m for m in sys.modules if '.exercises.ch' in m])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["03.b: waiting for your answer", "['vitworkshop.exercises.ch03']"]
