"""The word that follows from numbers, how rates are chosen, and that no row is changed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t
from toys import DATA, toy

from vitlib.files import read_json, write_json
from vitworkshop.studies.choosing import choice, to_try, trials
from vitworkshop.studies.claim import (
    NOT_HERE,
    OPEN,
    SAME,
    WITHIN,
    Claim,
    bracketed,
    rates_of,
    word,
)
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.rows import read_study, seal
from vitworkshop.studies.runner import run_study
from vitworkshop.studies.study import Turn


def runs_of(**scores) -> list[dict]:
    """Runs of variants by their scores, seed by seed."""
    return [
        {"variant": name, "seed": seed, "final": {"val_accuracy": score}}
        for name, values in scores.items()
        for seed, score in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("interval", "ahead", "equal"),
    [
        ([1.1, 3.0], SAME, NOT_HERE),
        ([0.5, 1.5], SAME, OPEN),
        ([0.1, 0.9], SAME, WITHIN),  # an effect that is there, and too small to matter
        ([-1.5, -0.5], NOT_HERE, OPEN),
        ([-3.0, -1.1], NOT_HERE, NOT_HERE),
        ([-1.0, 0.0], OPEN, OPEN),  # it touches the margin
    ],
)
def test_a_word_follows_from_an_interval_and_a_margin(interval, ahead, equal):
    found = [
        word({"interval": interval, "n": 3}, 1.0, kind) for kind in ("ahead", "equal")
    ]
    assert found == [ahead, equal]
    assert word({"interval": interval, "n": 2}, 1.0) == OPEN
    assert word({}, 1.0) == OPEN


@pytest.mark.sampled(3)
@pytest.mark.parametrize("true", [0.0, 0.3, 2.0, 3.0])
@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0])
def test_false_words_are_rare(true, spread):
    """Simulated: true differences in margins, their deviation over seeds, 3 to 30 seeds, 4,000 studies each.

    False are: the wrong direction, or any at all where there is no difference; not here, where there is one that
    matters; alike, where they are not, and not, where they are.
    """
    drawn = true + spread * np.random.default_rng(0).standard_normal((4000, 30))
    false = {
        "ahead": {SAME} if true == 0 else {NOT_HERE} if true > 1 else set(),
        "equal": {WITHIN} if true > 1 else {NOT_HERE},
    }
    for seeds in (3, 5, 8, 30):
        few = drawn[:, :seeds]
        reach = t.ppf(0.975, seeds - 1) * few.std(axis=1, ddof=1) / seeds**0.5
        intervals = zip(few.mean(axis=1) - reach, few.mean(axis=1) + reach, strict=True)
        paired = [{"interval": one, "n": seeds} for one in intervals]
        for kind, wrong in false.items():
            words = [word(one, 1.0, kind) for one in paired]
            assert np.mean([one in wrong for one in words]) <= 0.05, (kind, seeds)


def test_a_side_is_read_by_its_best_variant_and_pairs_go_by_seed():
    runs = runs_of(
        **{"a, 1": [0.5] * 3, "a, 2": [0.7, 0.6, 0.8], "b": [0.6, 0.5, 0.69]}
    )
    found = Claim("", "a, *", "b").judge(runs)
    assert (found["first"], found["second"], found["n"]) == ("a, 2", "b", 3)
    assert found["difference"] == pytest.approx(0.31 / 3)
    # of 0.10, 0.10 and 0.11; unpaired it would be 0.08
    assert found["se"] == pytest.approx(0.01 / 3) and found["word"] == SAME
    assert found["interval"][0] == pytest.approx(0.31 / 3 - 4.3027 * 0.01 / 3, abs=1e-5)
    assert Claim("", "c", "b").judge(runs) == {"word": OPEN}


def test_the_seed_that_chooses_judges_nothing():
    """On seed 0 the first rate is the better one, on all others the second."""
    runs = runs_of(
        **{
            "a, lr=1": [0.9, 0.1, 0.1, 0.1],
            "a, lr=2": [0.8, 0.5, 0.5, 0.5],
            "b": [0.3] * 4,
        }
    )
    claim = Claim("", "a, lr=*", "b")
    found = claim.judge(runs, choosing=0)
    assert found["first"] == "a, lr=1" and found["n"] == 3
    assert found["difference"] == pytest.approx(-0.2)
    assert claim.judge(runs)["first"] == "a, lr=2" and claim.judge(runs)["n"] == 4
    rates = rates_of("a, lr=1", runs, "val_accuracy", 0)
    assert rates == {1.0: 0.9, 2.0: 0.8} and not bracketed(rates)
    assert rates_of("b", runs, "val_accuracy") == {}
    assert bracketed({1.0: 0.5, 2.0: 0.6, 3.0: 0.5})


# How rates are chosen

GRID = tuple(f"a, lr={rate:g}" for rate in (0.1, 0.3, 1, 3, 10))


def in_order(study, score) -> list[tuple[str, int]]:
    """What is run, in turn, if a variant's score is as told."""
    runs, order = [], []
    while new := [trial for trial in trials(study, runs) if trial not in order]:
        order += new[:1]
        name, seed = new[0]
        final = {"val_accuracy": score(name)}
        runs.append({"variant": name, "seed": seed, "final": final})
    return order


@pytest.mark.parametrize(
    ("best", "tried"),
    [(2, "123"), (3, "1234"), (0, "1230")],
)
def test_rates_are_tried_until_the_best_lies_between_others(best, tried):
    variants = {**{name: {"lr": 1} for name in GRID}, "pixels": {}}
    study = toy(variants=variants, choosing=100)

    def score(name: str) -> float:
        return 0.5 if name == "pixels" else -abs(GRID.index(name) - best) / 10

    judged = [(GRID[best], 0), (GRID[best], 1), ("pixels", 0), ("pixels", 1)]
    assert in_order(study, score) == [(GRID[int(i)], 100) for i in tried] + judged


def test_what_noise_alone_tells_apart_is_a_plateau():
    level = dict.fromkeys(GRID[1:4], 0.5)
    assert to_try(list(GRID), level) == [GRID[0], GRID[4]]  # who knows what lies beyond
    assert to_try(list(GRID), dict.fromkeys(GRID, 0.5)) == []
    assert choice(list(GRID), level) == GRID[2]
    scores = dict(zip(GRID, (0.40, 0.751, 0.757, 0.7525, 0.97), strict=True))
    tried = {name: scores[name] for name in GRID[1:4]}
    assert to_try(list(GRID), tried, 0.01) == [GRID[0], GRID[4]]
    assert to_try(list(GRID), tried, 0.005) == [GRID[4]]
    assert choice(list(GRID), scores, 0.01) == GRID[4]
    assert choice(list(GRID), tried, 0.01) == GRID[2]
    # of two in the middle the better
    assert choice(list(GRID), {GRID[1]: 0.5, GRID[2]: 0.505}, 0.01) == GRID[2]


def test_ways_have_their_turns_and_some_take_the_rate_of_another():
    ways = {f"{way}, lr={rate}": {} for way in "abc" for rate in (1, 2, 3)}
    turns = (
        Turn("a", (0, 1)),
        Turn("b", (0,), rate_from="a"),
        Turn("c", (0,)),
        Turn("a", (2,)),
    )
    study = toy(variants=ways, choosing=7, turns=turns)
    best = {"a": "2", "c": "3"}
    order = in_order(study, lambda name: float(best.get(name[0]) == name[-1]))
    tried = [(f"a, lr={rate}", 7) for rate in (1, 2, 3)]
    judged = [("a, lr=2", 0), ("a, lr=2", 1), ("b, lr=2", 0)]
    assert order[:6] == tried + judged and len(order) == 11
    assert order[-2:] == [("c, lr=3", 0), ("a, lr=2", 2)]


# That no row is changed by hand


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The file of a study with two seeds, and one that chooses."""
    study = toy(variants={name: {"lr": 1} for name in GRID}, choosing=7)
    monkeypatch.setitem(STUDIES, "stems", study)
    run_study("stems", lambda _: DATA, tmp_path, progress=False)
    return tmp_path / "stems.json"


@pytest.mark.errors
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"final": {"val_accuracy": 0.99}}, "was changed after it was written"),
        ({"seal": "0123456789ab"}, "was changed after it was written"),
        ({"variant": "c", "seal": None}, "'c, seed 1' is of no variant"),
        ({"changes": {"lr": 2}, "seal": None}, "was not run with {'lr': 1}"),
    ],
)
def test_a_row_that_is_not_what_was_run_is_refused_by_its_name(file, change, message):
    result = read_json(file, "")
    read_study("stems", file.parent)
    result["runs"][-1] |= change
    if not result["runs"][-1]["seal"]:  # whoever knows how to seal
        result["runs"][-1] = seal(result["runs"][-1])
    write_json(file, result)
    with pytest.raises(ValueError, match=message):
        read_study("stems", file.parent)
    with pytest.raises(ValueError, match=message):  # nor does a study go on with it
        run_study("stems", lambda _: DATA, file.parent, progress=False)
