"""How answers are judged and survived: forms of right ones, wrong kinds, errors, loops, guesses, hints."""

import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

import vitlib as vl
from vitworkshop.exercises import answers as judging
from vitworkshop.exercises import ask, engine, language
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
        "root": 64**0.5,
        "name": "square",
        "words": ("b", "a"),
        "any": {"x", "yes"},
        "flat": True,
        "some": {0, 2, 3},
        "range": [0, 1, 2],
        "large": 115605504,
        "pair": [2362368, 2362368],
        "pi": side,
        "kind": "sincos2d",
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
    area,
    mistakes=[
        ("side**2", "side", "a side"),
        ("[4, 4]", "[4, 3]", "a side is lost"),
        ('"sincos2d"', '"learned"', "learned are free numbers"),
        ("side = 3.14159", "side = 3.0", "three"),
        ('"pi": side', '"pi": 3.0', "cut off"),
    ],
    hints=["a", "b"],
)


def said(entry, answer) -> str:
    (verdict,) = judge(entry, answer).values()
    return str(verdict)


def part(**given) -> str:
    return str(judge(VALUES, given)[next(iter(given))])


@pytest.mark.parametrize(
    "given",
    [
        *(
            {"area": x}
            for x in (
                3.14159**2,
                9.87,
                9.8696,
                np.float32(3.14159**2),
                torch.tensor(3.14159**2),
            )
        ),
        *(
            {"sides": x}
            for x in (
                [4, 4],
                (4.0, 4),
                np.full(2, 4),
                torch.full((2,), 4),
                [torch.tensor(4), 4],
            )
        ),
        *({"range": x} for x in (range(3), {2, 0, 1}, (i for i in range(3)))),
        *(
            {"large": x}
            for x in (115605504, 1.156e8, 1.16e8, 115_606_000, np.float32(1.16e8))
        ),
        *({"pi": x} for x in (3.14, 3.142, 3.1416, np.float32(3.14))),
        *(
            {"name": x}
            for x in (
                "square",
                " Square ",
                ["SQUARE"],
                "s, q, u, a, r, e",
                "S q u a r e".split(),
            )
        ),
        *({"words": x} for x in (["B", "a"], "b, a", "ba", ("b", "a"))),
        *(
            {"any": x}
            for x in (
                {"yes", "x"},
                "X, yes",
                ["yes", "x"],
                "the yes and x.",
                {"x": 1, "yes": 2}.keys(),
            )
        ),
        *({"flat": x} for x in (True, np.True_, torch.tensor(True))),
    ],
)
def test_right_values_pass_in_any_form(given):
    assert part(**given) == "right"


@pytest.mark.parametrize(
    "given, words",
    [
        ({"area": 9.9}, "close"),
        ({"area": 3.14159}, "a side"),
        ({"area": 2 * 3.14159**2}, "factor of 2"),
        ({"area": 0.0}, "not this number"),
        ({"area": True}, "expected one number, got True or False"),
        (
            {"area": "9.8696"},
            "expected a number or numbers, without quotes, got '9.8696'",
        ),
        ({"area": 9.8696 + 0j}, "complex"),
        ({"area": float("nan")}, "nan"),
        ({"area": print}, "got a function: call it"),
        ({"sides": [4, 4, 4]}, "expected 2 numbers, got 3"),
        ({"sides": [4, "four"]}, "expected 2 numbers, got 2 things, 'four' among them"),
        (
            {"sides": [400, 400]},
            "all numbers are 100 times what they should be: in percent, or as a share?",
        ),
        ({"sides": [4, 7]}, "number 2 of 2 is wrong: too large"),
        ({"many": 6}, "off by one"),
        ({"sides": [4, 3]}, "a side is lost"),
        ({"name": "circle"}, "not this one"),
        ({"any": {"x"}}, "more belong here"),
        ({"any": {"x", "yes", "no"}}, "“no” does not belong here"),
        (
            {"kind": "sincos"},
            "unknown word “sincos”; the known ones are learned, sincos2d",
        ),
        ({"kind": "the Learned"}, "learned are free numbers"),
        ({"some": {0, 2}}, "right so far, and more belong here"),
        ({"large": 1.15e8}, "close: is something small left out"),
        ({"large": 115605505}, "off by one"),
        ({"pi": 3.1}, "close: rounded to fewer than three digits?"),
        ({"pi": 3.0, "area": 3.14159**2}, "cut off"),
        ({"pi": 3.14159 * 2**0.5}, "off by the root of 2"),
        ({"flat": 1}, "return True or False"),
        ({"flat": False}, "the other way round"),
    ],
)
def test_wrong_values_are_told_apart(given, words):
    assert part(**given).startswith("not yet: ") and words in part(**given)


def test_parts_wait_for_themselves():
    verdicts = judge(VALUES, {"area": 9.87, "flat": None})
    assert {part: verdict.kind for part, verdict in verdicts.items()} == {
        "area": "right",
        **dict.fromkeys(VALUES.value.keys() - {"area"}, "waiting"),
    }


@pytest.mark.parametrize(
    "form",
    [
        Tensor.clone,
        Tensor.numpy,
        Tensor.tolist,
        tuple,
        list,
        Tensor.double,
        Tensor.half,
        Tensor.bfloat16,
    ]
    + [lambda x: x.clone().requires_grad_(), lambda x: x.numpy()[::1, ::-1][:, ::-1]],
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


def spins(x):
    while True:
        pass


def sleeps(x):  # longer than the limit of computing
    time.sleep(0.3)
    return 2 * x


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
        (lambda x: None, "waiting for your answer"),
        (only_prints, "it prints, and returns None"),
        (prints, "right (what it printed is not shown)"),
        (raises, "KeyError at `raise KeyError("),
        (in_place, "it changes its argument number 1"),
        (never_ends, "not done after 0.2 seconds, stopped: does it sleep"),
        (lambda x: 3 * x, "not yet: three times"),
        (lambda x: 3 * x + 1, "not yet: three times; and one too many"),
        (lambda x: 7, "expected shape (3, 4), got ()"),
        (lambda x: torch.zeros(3, 4), "all numbers are the same"),
        (
            lambda x: 2 * x.T,
            "expected shape (3, 4), got (4, 3): the axes are in another order",
        ),
        (lambda x: -2 * x, "the sign is the other way round"),
        (lambda x: 2 * x.flip(1), "the order along axis 1 is reversed"),
        (lambda x: 2 * x.roll(1, 0), "shifted by 1 along axis 0"),
        (lambda x: torch.cat([2 * x[:, 2:], x[:, :2]], 1), "shifted by 2 along axis 1"),
        (
            lambda x: 2 * x[[1, 0, 2][: len(x)]],
            "another order along axis 0: what stands at 0 belongs at 1",
        ),
        (lambda x: 4 * x.square(), "these are the squares of the right ones"),
        (
            lambda x: 2 * x.mean(0),
            "expected shape (3, 4), got (4,): averaged along axis 0",
        ),
        (
            lambda x: torch.cat([2 * x[:-1], x[-1:]]),
            "4 of 12 numbers are wrong, the first at [2, 0], all at 2",
        ),
        (lambda x, y: 2 * x, "it is called with (x), yours takes (x, y)"),
        (lambda x: 5 * x, "2.5 times what they should be"),
        (lambda x: 2 * x + 3, "off by the same amount, 3"),
        (lambda x: (2 * x).round(), "rounded to whole ones"),
        (
            lambda x: 2 * x if len(x) == 3 else x,
            "right for (tensor (3, 4)), and wrong for (tensor (2, 2))",
        ),
        (lambda x: "2x", "expected numbers of shape (3, 4), got a word"),
    ],
)
def test_whatever_a_function_does_gets_a_sentence(answer, words, monkeypatch, capsys):
    if "0.2 seconds" in words:  # the others may take what a busy machine takes
        monkeypatch.setattr(
            judging, "PATIENCE", 30 if answer in (sleeps, spins) else 0.2
        )
        monkeypatch.setattr(judging, "LIMIT", 0.2)
    assert words in said(TASK, answer)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "loads, fate",
    [("while time.thread_time() < end: pass", "right"), ("time.sleep(99)", "not done")],
)
def test_an_import_does_not_count_and_is_never_left_half_done(
    loads, fate, monkeypatch, tmp_path
):
    (tmp_path / "package7").mkdir()
    (tmp_path / "package7/part.py").touch()
    code = f"import time\nfrom package7 import part\nend = time.thread_time() + 0.8\n{loads}"
    (tmp_path / "package7/__init__.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(judging, "LIMIT", 0.5)
    monkeypatch.setattr(judging, "PATIENCE", 600 if fate == "right" else 0.5)

    def answer(x):
        import package7

        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass
        return 2 * x if package7.part else None

    assert fate in said(TASK, answer)
    loaded = {name for name in sys.modules if name.startswith("package7")}
    assert loaded == ({"package7", "package7.part"} if fate == "right" else set())
    for name in loaded:
        del sys.modules[name]


def half(x):
    if len(x) < 3:
        raise ValueError("too short")
    return x / 2


def slips(x):
    return x / 2 if len(x) == 3 else unknown


@pytest.mark.parametrize(
    "answer, words",
    [
        (
            lambda x: x / 2,
            "not yet: for (tensor (2, 2)) an error should be raised, and none is",
        ),
        (half, "right"),
        (
            lambda x: [x / 2][len(x) < 3],
            "a ValueError should be raised, on purpose; here IndexError comes up",
        ),
        (slips, "a ValueError should be raised, on purpose; here NameError comes up"),
        (raises, "not yet: KeyError at `raise KeyError("),
        (
            lambda x: x[:2] / 2 if len(x) == 3 else half(x),
            "expected shape (3, 4), got (2, 4)",
        ),
    ],
)
def test_an_error_is_right_only_where_one_is_declared(answer, words):
    entry = Exercise(half, [], [], inputs=TASK.inputs, refused=(1,))
    assert said(entry, answer).startswith(words) or words in said(entry, answer)
    with pytest.raises(
        RuntimeError, match="own solution raises ValueError: too short; restart"
    ):
        judge(Exercise(half, [], [], inputs=TASK.inputs), answer)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_no_excuse_for_what_is_a_little_off(dtype):
    entry = Exercise(lambda: torch.linspace(0.1, 1, 7), [])
    right = entry.value.to(dtype)
    assert said(entry, right) == "right"
    off = (entry.value * 1.015).to(dtype)
    assert "half precision has three digits" in said(entry, off)


def test_a_sentence_is_told_of_the_case_that_is_wrong():
    mistake = (
        "2 * x",
        "2 * x if len(x) == 3 else x",
        lambda x: language.Said("wrong for {n}", n=len(x)),
    )
    entry = Exercise(double, [mistake], [], inputs=TASK.inputs)
    assert said(entry, lambda x: 2 * x if len(x) == 3 else x) == "not yet: wrong for 2"


def test_two_sentences_are_joined_behind_a_question(monkeypatch):
    assert (
        engine.joined(["is it?", "it is", lambda x: language.Said("of {x}", x=x)], (3,))
        == "is it? And it is; and of 3"
    )
    monkeypatch.setitem(language._CHOSEN, "language", "zh")
    asked, low = "by what factor is each of them off?", "too small"
    more = lambda: language.Said("{n} numbers", n=3)
    said = language.say(engine.joined([asked, low, more], ()))
    assert said.endswith("？另外，偏小；另外，3 个数")


def test_sums_over_the_wrong_axis_are_seen():
    scores = torch.randn(3, 4).double()
    words = differ(scores.softmax(0), scores.softmax(1), 1e-4)
    assert words == "the numbers should sum to 1 along axis 1; they do along axis 0"


def test_square_answers_turned_round_are_seen():
    square = torch.randn(4, 4).double()
    assert differ(square.T, square, 1e-4) == "rows and columns are exchanged"
    assert differ(square[:, :3], square, 1e-4).endswith("one too few along axis 1")


def test_random_numbers_and_timers_stay_as_they_were():
    rang = []
    before = signal.signal(signal.SIGALRM, lambda *_: rang.append(1))
    left = signal.setitimer(signal.ITIMER_REAL, 3600)
    try:
        torch.manual_seed(3)
        state = torch.get_rng_state()
        said(TASK, lambda x: time.sleep(0.2) or torch.randn(3, 4))
        assert torch.equal(torch.get_rng_state(), state)
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] < 3599.7
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *left)


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
    monkeypatch.setattr(ask, "_GUESSED", {})
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


def test_hints_come_one_after_the_other_in_the_language_that_is_chosen(
    capsys, monkeypatch
):
    monkeypatch.setattr(ask, "_HINTED", {})
    monkeypatch.setitem(language._CHOSEN, "language", vl.language())
    assert vl.language("zh") == vl.language() == "zh"
    vl.hint("03.b")
    vl.check("03.1", how_many=36, commonest=[6, 7])
    assert vl.language("en") == "en"
    for _ in range(2):
        vl.hint("03.b")
    said = capsys.readouterr().out.splitlines()
    first, reply, _, shape, _, second, last, *again = said
    assert first == "03.b，提示 1/2：所有行之间的点积，就是一个矩阵乘积。"
    assert reply == "03.1 how_many：还不对：这是所有的对数；许多对的偏移相同"
    assert shape == "03.1 commonest：还不对：应为：一个数；得到：2 个数"
    assert second == "03.b, hint 2 of 2: Divide each row by its length first."
    assert last.startswith("This was the last hint; ") and again == [second, last]


@errors
@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: vl.check("03.9", 1),
            "exercise must be one of 03.a, .*got '03.9'; did you mean '03",
        ),
        (
            lambda: vl.check("03.1", many=3),
            "row_of_4, commonest, rarest by their names .*got many",
        ),
        (lambda: vl.check("03.1", 15), "expected the parts how_many, .* got 15"),
        (lambda: vl.language("fr"), "name must be one of en, zh; got 'fr'"),
    ],
)
def test_bad_calls_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_only_its_own_chapter_is_loaded():
    code = "import sys, vitlib as vl; vl.check('03.b', None); print([m for m in sys.modules if '.exercises.ch' in m])"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines() == [
        "03.b: waiting for your answer",
        "['vitworkshop.exercises.ch03']",
    ]


def test_what_was_given_is_known_by_what_it_does():
    """Under other names; an answer that is built alike and does something else gets its own reply."""

    def blocks_as_they_are(blocks, x):
        for b in blocks:
            x = x + b.attn(b.norm1(x))
            x = x + b.mlp(b.norm2(x))
        return x

    def renamed(some, y):
        for c in some:
            y = y + c.mlp(c.norm2(y))
            y = y + c.attn(c.norm1(y))
        return y

    (own,), (given,) = (
        judge(engine.find("06.4"), f).values() for f in (blocks_as_they_are, renamed)
    )
    assert "four ordinary blocks" in str(own) and "`swapped`, which was given" in str(
        given
    )


def test_a_notebook_shows_figures_in_the_language_that_is_chosen(monkeypatch):
    """One hook for each way in which a notebook shows things, however often the language is chosen."""
    hooks = []
    end = SimpleNamespace(
        register_hook=hooks.append,
        unregister_hook=lambda hook: hook in hooks and hooks.remove(hook),
    )
    shell = SimpleNamespace(display_pub=end, displayhook=None)
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setitem(language._CHOSEN, "language", "en")
    shown = []
    for name in ("en", "zh", "zh"):
        vl.language(name)
        (hook,) = hooks
        data = {"image/svg+xml": "<text>loss</text>", "text/plain": "loss"}
        shown.append(hook({"content": {"data": data}})["content"]["data"])
        assert hook({"content": {"wait": True}}) == {"content": {"wait": True}}
    assert [each["image/svg+xml"][6:-7] for each in shown] == ["loss", "损失", "损失"]
    assert {each["text/plain"] for each in shown} == {"loss"}
