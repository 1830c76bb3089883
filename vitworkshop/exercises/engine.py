"""What an exercise is, and how an answer is judged.

An answer that differs from the reference is compared with the reference as it would be with each known mistake, then
with each two of them; only if it is none of these, general sentences follow (`told`).
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import torch

from vitlib.checks import check_choice
from vitworkshop.exercises.answers import (
    Outcome,
    TooLong,
    limited,
    outcome,
    parts_of,
    plain,
    rounded,
    same,
    spelling,
    words,
)
from vitworkshop.exercises.language import Said
from vitworkshop.exercises.told import differ


class Form(NamedTuple):
    """A value in plain form, and what of it is compared."""

    raw: Any
    made: Any


@dataclass
class Exercise:
    """What is asked for, and the mistakes that are known.

    Args:
        reference: The solution, a function or a class. Where a value is asked for: a function without arguments that
            computes it, or a dict of its parts.
        mistakes: (old, new, sentence): an edit of the reference's source, and what to tell who made that mistake; a
            sentence may be a function of the arguments.
        hints: In stages, from a question to the last step but one; homework has none.
        others: Other right answers, for the test: functions, values, or edits (old, new). Words among them pass.
        inputs: Draws the arguments of each call, as a list of tuples; None where a value is asked for.
        run: run(answer, *arguments) gives what is compared; by default the answer is called, or taken as it is.
        spelled: Other ways to write a word: a word, in small letters, and a pattern of what stands for it.
        probes: Each, of (arguments, got, want) where both are finite tensors of one shape, gives a sentence or None.
        tol: How far numbers may be off, in parts of the largest.
        guess: Whether the answer is a guess, kept until the truth has been seen.
        refused: The calls, from 0, for which an error is right.
        given: A function that the question shows and that gives what is asked for, but not in the form asked for.
    """

    reference: Callable
    mistakes: list[tuple[str, str, str | Callable[..., str]]]
    hints: list[str] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)
    inputs: Callable[[], list[tuple]] | None = None
    run: Callable | None = None
    spelled: dict[str, str] = field(default_factory=dict)
    probes: list[Callable] = field(default_factory=list)
    tol: float = 1e-4
    guess: bool = False
    refused: tuple[int, ...] = ()
    given: Callable | None = None

    @cached_property
    def value(self) -> Any:
        """What is asked for, where it is a value: computed once."""
        return self.reference()

    def edited(self, *edits: tuple) -> Callable | None:
        """The reference with its source edited; None if an edit finds nothing to change."""
        source = textwrap.dedent(inspect.getsource(self.reference))
        for old, new, *_ in edits:
            if old not in source:
                return None
            source = source.replace(old, new)
        space = dict(vars(inspect.getmodule(self.reference)))
        exec(compile(source, "<a known mistake>", "exec"), space)
        return space[self.reference.__name__]

    def wrong(self) -> Iterator[tuple[list, Callable]]:
        """The reference with each known mistake, then with each two, and their sentences."""
        for count in (1, 2):
            for some in itertools.combinations(self.mistakes, count):
                if function := self.edited(*some):
                    yield [sentence for *_, sentence in some], function

    @cached_property
    def right(self) -> dict[str, Form]:
        """What is asked for, part by part, as it is compared."""
        want = parts_of(self.value)
        return {part: form(self, want[part], want[part]) for part in want}

    @cached_property
    def known(self) -> list[tuple[list, dict[str, Form], set[str]]]:
        """The sentences of known mistakes, the values they lead to, as they are compared, and the parts they change."""
        want, found = parts_of(self.value), []
        for sentences, function in self.wrong():
            value = parts_of(function())
            forms = {part: form(self, value[part], want[part]) for part in want}
            fine = {p for p in want if fits(forms[p], self.right[p], self.tol)}
            found.append((sentences, forms, want.keys() - fine))
        return found

    @cached_property
    def cases(self) -> list[tuple]:
        """The arguments of each call; the same whenever they are drawn."""
        return self.drawn(0)

    def drawn(self, seed: int) -> list[tuple]:
        """The arguments of each call, as this seed draws them."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.inputs() if self.inputs else []

    @cached_property
    def wanted(self) -> list[Outcome]:
        """What the reference gives in each call; where it fails, nobody's answer can be judged."""
        found = [outcome(self.run, self.reference, case) for case in self.cases]
        for i, each in enumerate(found):
            if bool(each.error) != (i in self.refused):
                raised = (
                    f"raises {each.error}: {each.says}"
                    if each.error
                    else "raises nothing"
                )
                raise RuntimeError(
                    f"the exercise's own solution {raised}; restart the kernel"
                )
        return found


@dataclass(frozen=True)
class Verdict:
    """How an answer was judged, and why: right, waiting, named (a known mistake), told (in general), error."""

    kind: str
    says: str = ""

    def __str__(self) -> str:
        plain = {
            "right": self.says or Said("right"),
            "waiting": Said("waiting for your answer"),
        }
        return plain.get(self.kind, Said("not yet: {what}", what=self.says))


def judge(exercise: Exercise, answer: Any) -> dict[str, Verdict]:
    """The verdict on each part of an answer; on the answer itself under the name ""."""
    if exercise.inputs:
        return {"": judge_function(exercise, answer)}
    want = parts_of(exercise.value)
    answer = {"": answer} if "" in want else answer or {}
    got = {part: form(exercise, answer.get(part), want[part]) for part in want}
    found = {
        part: judge_value(exercise, answer.get(part), got[part], part) for part in want
    }
    given = {part for part in want if answer.get(part) is not None}
    return {
        part: verdict or judge_mistake(exercise, part, got, given)
        for part, verdict in found.items()
    }


def form(exercise: Exercise, answer: Any, want: Any) -> Form:
    """An answer, or a known value, as it is compared where this is asked for."""
    raw, in_words = plain(answer), words(want, want) is not None
    said = words(raw, want) if in_words else raw
    if isinstance(said, str):
        said = next(
            (word for word, like in exercise.spelled.items() if re.search(like, said)),
            said,
        )
    odd = (
        said is None
        or isinstance(said, torch.Tensor)
        and (said.is_complex() or said.dtype == torch.bool)
    )
    made = plain(exercise.run(said)) if exercise.run and not odd else said
    return Form(raw, words(made, want) if in_words else made)


def fits(got: Form, value: Form, tol: float) -> bool:
    """Whether an answer is this value, whatever its type, or this value rounded."""
    return same(got.made, value.made, tol) or rounded(got.raw, value.raw)


def judge_value(
    exercise: Exercise, answer: Any, got: Form, part: str
) -> Verdict | None:
    """The verdict on a number, numbers or words, without a look at the known mistakes; None if it is wrong."""
    want = parts_of(exercise.value)[part]
    if answer is None or answer is ...:
        return Verdict("waiting")
    if callable(answer):
        return Verdict("told", Said("a value is asked for, got a function: call it"))
    in_words = words(want, want)
    if got.made is None or isinstance(got.made, str) and not isinstance(want, str):
        asked = Said(
            "a word"
            if isinstance(want, str)
            else "words"
            if in_words
            else "True or False"
            if isinstance(want, bool)
            else "a number or numbers, without quotes"
        )
        given = f"{answer!r:.60}"
        return Verdict(
            "told", Said("expected {want}, got {got}", want=asked, got=given)
        )
    others = exercise.others if in_words is not None else []
    right = [exercise.right[part], *(form(exercise, other, want) for other in others)]
    return (
        Verdict("right") if any(fits(got, one, exercise.tol) for one in right) else None
    )


def judge_mistake(
    exercise: Exercise, part: str, answer: dict[str, Form], given: set[str]
) -> Verdict:
    """What a wrong part of an answer is, of which these parts were given.

    Of several mistakes that lead to it those are named that explain the other parts as well, then those that change
    fewest.
    """
    got, right, known = answer[part], exercise.right[part], exercise.known
    named = []
    for sentences, forms, off in known:
        if fits(got, forms[part], exercise.tol):
            mine = off & given
            all_of_it = all(fits(answer[p], forms[p], exercise.tol) for p in mine)
            named.append((sentences, (all_of_it, len(mine), -len(off))))
    best = max((how for sentences, how in named if len(sentences) == 1), default=None)
    single = [sentence for (sentence, *more), how in named if not more and how == best]
    if named:  # several mistakes may lead to one number
        said = joined(single, (), either=True) if single else joined(named[0][0], ())
        return Verdict("named", said)
    want = parts_of(exercise.value)[part]
    if (asked := words(want, want)) is not None:
        spelled = spelling([right.raw, *(forms[part].raw for _, forms, _ in known)])
        said = {got.made} if isinstance(got.made, str) else set(got.made)
        strange = sorted(said - {*spelled})
        if strange and (
            isinstance(asked, tuple) or spelled.keys() - {asked, *asked}
        ):  # else they are the answer
            names = ", ".join(sorted(spelled.values(), key=str.casefold))
            return Verdict(
                "told",
                Said(
                    "unknown word “{word}”; the known ones are {known}",
                    word=spelling([got.raw]).get(strange[0], strange[0]),
                    known=names,
                ),
            )
        if isinstance(got.made, frozenset):  # in the book's spelling
            mine, theirs = (
                frozenset(spelled.get(w, w) for w in x) for x in (got.made, asked)
            )
            return Verdict("told", differ(mine, theirs, 0))
    typed = [isinstance(one.raw, torch.Tensor) for one in (got, right)]
    as_typed = (
        exercise.run
        and all(typed)
        and (got.raw.shape != right.raw.shape or not got.raw.ndim)
    )  # what was typed, not what is compared
    mine, theirs = (got.raw, right.raw) if as_typed else (got.made, right.made)
    return Verdict(
        "told", probed(exercise, (), mine, theirs) or differ(mine, theirs, exercise.tol)
    )


def judge_function(exercise: Exercise, answer: Any) -> Verdict:
    """The verdict on a function, a class, or whatever `run` can use."""
    if answer is None or answer is ...:
        return Verdict("waiting")
    if not callable(answer):
        return Verdict(
            "told",
            Said(
                "a class is asked for: give its name, without calling it"
                if inspect.isclass(exercise.reference)
                else "a function is asked for: give its name, without calling it"
            ),
        )
    if said := misfit(exercise, answer):
        return Verdict("told", said)
    got: list[Outcome] = []
    exercise.wanted  # noqa: B018  outside the limit: what it loads, an answer need not
    try:
        with limited():
            for case in exercise.cases:
                got.append(outcome(exercise.run, answer, case))
                if got[0].value is None and not got[0].error:
                    break
    except TooLong as late:
        return Verdict("error", late.args[0])
    return judge_outcomes(exercise, got)


def misfit(exercise: Exercise, answer: Callable) -> Said | None:
    """Why an answer need not be tried: it takes other arguments, or is, or calls, the function that was given."""
    both = (inspect.unwrap(f) if callable(f) else f for f in (answer, exercise.given))
    mine, given = (getattr(f, "__code__", None) for f in both)
    if mine and given and (body(mine) == body(given) or given.co_name in mine.co_names):
        return Said(
            "this is `{name}`, which was given: write it in the form that is asked for",
            name=given.co_name,
        )
    with contextlib.suppress(TypeError, ValueError):  # built in
        takes, names = inspect.signature(answer), asked(exercise)
        try:
            takes.bind(*names)
        except TypeError:
            return Said(
                "it is called with ({names}), yours takes ({yours})",
                names=", ".join(names),
                yours=", ".join(takes.parameters),
            )
    return None


def body(code: CodeType) -> tuple:
    """What a function does, whatever it and its variables are called."""
    return code.co_code, code.co_names, code.co_consts


def asked(exercise: Exercise) -> list[str]:
    """The names of the arguments that an answer is called with, where no default is."""
    parameters = inspect.signature(exercise.reference).parameters.values()
    return [each.name for each in parameters if each.default is each.empty]


def judge_outcomes(exercise: Exercise, got: list[Outcome]) -> Verdict:
    """The verdict on what a function gave, one outcome for each case; nothing of the student's is called."""
    if got[0].value is None and not got[0].error:
        return (
            Verdict("told", Said("it prints, and returns None"))
            if got[0].printed
            else Verdict("waiting")
        )
    if changed := next((each.changed for each in got if each.changed), 0):
        return Verdict(
            "told",
            Said(
                "it changes its argument number {n}: work on a copy, without += and x[...] =",
                n=changed,
            ),
        )
    want = exercise.wanted
    off = [
        i
        for i, (g, w) in enumerate(zip(got, want, strict=True))
        if not alike(g, w, w, exercise.tol)
    ]
    if not off:
        return Verdict(
            "right",
            Said("right (what it printed is not shown)")
            if any(each.printed for each in got)
            else "",
        )
    for sentences, function in exercise.wrong():
        for case, g, w in zip(exercise.cases, got, want, strict=True):
            if not alike(g, outcome(exercise.run, function, case), w, exercise.tol):
                break
        else:
            return Verdict("named", joined(sentences, exercise.cases[off[0]]))
    return told(exercise, off[0], got, want)


def alike(got: Outcome, theirs: Outcome, want: Outcome, tol: float) -> bool:
    """Whether two calls gave the same; where an error is right, one of its kind is, or an assert."""
    if bool(got.error) != bool(theirs.error):
        return False
    if not got.error:
        return same(got.value, theirs.value, tol)
    if want.error:
        return got.error in (want.error, "AssertionError")
    return (got.error, got.says) == (theirs.error, theirs.says)


def told(
    exercise: Exercise, i: int, got: list[Outcome], want: list[Outcome]
) -> Verdict:
    """What can be said of a function that is wrong for case `i`, by no known mistake."""
    first, fine, arguments = (
        got[i],
        *(f"({', '.join(map(short, exercise.cases[n]))})" for n in (0, i)),
    )
    if first.error and want[i].error:
        return Verdict(
            "error",
            Said(
                "for {arguments} a {wanted} should be raised, on purpose; here {error} comes up: {says}",
                arguments=arguments,
                wanted=want[i].error,
                error=first.error,
                says=first.says,
            ),
        )
    if first.error:
        if (
            first.error == "TypeError"
            and not exercise.run
            and not first.where
            and "positional argument" in first.says
        ):
            return Verdict(
                "error",
                Said(
                    "it is called with ({names}): {says}",
                    names=", ".join(asked(exercise)),
                    says=first.says,
                ),
            )
        return Verdict(
            "error",
            Said(
                "{error} at `{where}`, for {arguments}: {says}"
                if first.where
                else "{error}, for {arguments}: {says}",
                arguments=arguments,
                **vars(first),
            ),
        )
    if want[i].error:
        return Verdict(
            "told",
            Said(
                "for {arguments} an error should be raised, and none is",
                arguments=arguments,
            ),
        )
    if said := probed(exercise, exercise.cases[i], first.value, want[i].value):
        return Verdict("told", said)
    said = differ(first.value, want[i].value, exercise.tol)
    results = [each.value for each in got if not each.error]
    if len(got) > 2 and all(same(value, results[0], 0) for value in results[1:]):
        return Verdict("told", Said("it gives the same whatever it is given"))
    if i > 0:
        said = Said(
            "right for {fine}, and wrong for {wrong}: {what}",
            fine=fine,
            wrong=arguments,
            what=said,
        )
    return Verdict("told", said)


def probed(exercise: Exercise, arguments: tuple, got: Any, want: Any) -> Said | None:
    """What an exercise's own probes say of finite numbers in the right shape."""
    tensors = (
        isinstance(got, torch.Tensor)
        and isinstance(want, torch.Tensor)
        and got.shape == want.shape
    )
    if tensors and got.isfinite().all():
        return next(
            filter(None, (probe(arguments, got, want) for probe in exercise.probes)),
            None,
        )


def joined(sentences: list, arguments: tuple, either: bool = False) -> Said:
    """The sentences of one mistake or of two; with `either` of several, of which one was made."""
    said = dict.fromkeys(
        each(*arguments) if callable(each) else Said(each) for each in sentences
    )
    whole, *more = said
    for each in more:
        asks, both = whole.endswith("?"), {"one": whole, "two": each}
        whole = (
            Said("{one} Or {two}" if asks else "{one}; or {two}", **both)
            if either
            else Said("{one} And {two}" if asks else "{one}; and {two}", **both)
        )
    return whole


def short(x: Any) -> str:
    """An argument in a few words: a tensor's shape, a module's name, a number."""
    if isinstance(x, torch.Tensor) and x.ndim:
        return f"tensor {tuple(x.shape)}"
    return type(x).__name__ if callable(x) else f"{x!r:.40}"


def find(exercise: str) -> Exercise:
    """The entry of an exercise; only its chapter's file is loaded."""
    chapters = sorted(path.stem[2:] for path in Path(__file__).parent.glob("ch*.py"))
    number = exercise.partition(".")[0].zfill(2)
    load = [number] if number in chapters else chapters
    entries = {
        k: e
        for n in load
        for k, e in import_module(f"vitworkshop.exercises.ch{n}").EXERCISES.items()
    }
    check_choice("exercise", exercise, entries)
    return entries[exercise]
