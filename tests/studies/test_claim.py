"""The rule of verdicts, what admits a row to the board, how rates are chosen, and that no row is changed by hand."""

from __future__ import annotations

import itertools
import json
import shutil

import numpy as np
import pytest
from scipy.stats import t
from toys import DATA, only, row, toy

from vitlib.files import read_json, write_json
from vitworkshop.studies import board as boards
from vitworkshop.studies.admission import why_not
from vitworkshop.studies.choosing import at_edge, choice, to_try, trials
from vitworkshop.studies.claim import (
    MATTERS,
    MATTERS_NOT,
    OPEN,
    SEEDS,
    Claim,
    hold,
    rates_of,
)
from vitworkshop.studies.rows import machine, read_study
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
    ("interval", "found"),
    [
        ([1.1, 3.0], MATTERS),
        ([-3.0, -1.1], MATTERS),
        ([-0.9, 0.9], MATTERS_NOT),
        ([0.1, 0.9], MATTERS_NOT),  # an effect that is there, and too small to matter
        ([0.5, 1.5], OPEN),
        ([-1.5, -0.5], OPEN),
        ([-2.0, 2.0], OPEN),
        ([1.0, 2.0], OPEN),  # it touches the margin
        ([-1.0, 0.0], OPEN),
        (None, OPEN),
    ],
)
def test_an_interval_is_held_against_the_margin_alone(interval, found):
    assert hold(interval, 1.0) == found


@pytest.mark.parametrize(
    ("found", "difference", "ahead", "equal"),
    [
        (MATTERS, 1.0, "agrees", "differs"),
        (MATTERS, -1.0, "differs", "differs"),
        (MATTERS_NOT, 0.1, "differs", "agrees"),
        (OPEN, 1.0, "open", "open"),
    ],
)
def test_what_was_found_agrees_with_the_claim_or_differs(
    found, difference, ahead, equal
):
    verdicts = [
        Claim("", "", "a", "b", kind=kind).verdict(found, difference)
        for kind in ("ahead", "equal")
    ]
    assert verdicts == [ahead, equal]


@pytest.mark.parametrize("true", [0.0, 0.3, 2.0, 3.0])
@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0])
def test_false_verdicts_are_rare_and_more_seeds_never_make_a_right_one_rarer(
    true, spread
):
    """Simulated: true differences in margins, their deviation over seeds, 3 to 30 seeds, 4,000 studies each."""
    drawn, before = (
        true + spread * np.random.default_rng(0).standard_normal((4000, 30)),
        0.0,
    )
    for seeds in (3, 5, 8, 12, 20, 30):
        right, false, first = judged(drawn[:, :seeds], true)
        some = runs_of(a=drawn[0, :seeds], b=[0.0] * seeds)
        assert Claim("", "", "a", "b", margin=1.0).judge(some)["found"] == first
        # 0.01: of 4,000 studies
        assert false <= 0.05 and right >= before - 0.01, (
            seeds,
            before,
        )
        before = right
    assert before > (0.8 if spread <= 1 else 0.2)


def judged(drawn, true: float) -> tuple[float, float, str]:
    """Of simulated studies (a row of differences each) the shares of right and of false verdicts, and the first."""
    mean, seeds = drawn.mean(axis=1), drawn.shape[1]
    reach = t.ppf(0.975, seeds - 1) * drawn.std(axis=1, ddof=1) / seeds**0.5
    found = np.array(
        [hold([m - r, m + r], 1.0) for m, r in zip(mean, reach, strict=True)]
    )
    right = (found == MATTERS) & (mean > 0) if true > 1 else found == MATTERS_NOT
    return right.mean(), (~right & (found != OPEN)).mean(), found[0]


@pytest.mark.parametrize(
    ("apart", "seeds", "spread", "rare"),
    [
        (1, 5, 1.0, True),
        (0, 3, 2.0, True),
        (0, 30, 2.0, True),
        (1, 5, 2.0, False),
        (1, 30, 1.0, False),
    ],
)
def test_with_a_choice_of_rates_false_verdicts_are_rare_while_one_seed_can_choose(
    apart, seeds, spread, rare
):
    """Simulated: each side at three rates, chosen by a seed apart or by those that judge; the claim is of the best."""
    dice, worst = np.random.default_rng(0), 0.0
    for true, loss in itertools.product(
        (0.0, 0.3, 2.0, 3.0), (0.3, 1.0, 1.5, 3.0)
    ):  # of the other two rates
        sides = []
        for best in (true, 0.0):
            scores = best - loss * np.array([[1], [0], [1]])
            scores = scores + spread / 2**0.5 * dice.standard_normal(
                (4000, 3, apart + seeds)
            )
            choice = (scores[..., :1] if apart else scores).mean(axis=2).argmax(axis=1)
            sides.append(scores[np.arange(4000), choice, apart:])
        worst = max(worst, judged(sides[0] - sides[1], true)[1])
    assert (worst <= 0.05) == rare, worst


@pytest.mark.parametrize(
    ("a", "b"), [([0.9], [0.1]), ([0.9, 0.91], [0.1, 0.11]), ([0.9] * 3, [])]
)
def test_fewer_than_three_shared_seeds_decide_nothing(a, b):
    found = Claim("", "", "a", "b").judge(runs_of(a=a, b=b))
    assert found["found"] == found["verdict"] == OPEN and SEEDS == 3
    assert "interval" not in found or len(b) == 2


def test_a_side_is_read_by_its_best_variant_and_pairs_go_by_seed():
    claim = Claim("", "", ("a", "c"), "b")
    found = claim.judge(
        runs_of(a=[0.5, 0.5, 0.5], c=[0.7, 0.6, 0.8], b=[0.6, 0.5, 0.69])
    )
    assert (found["first"], found["second"], found["n"]) == ("c", "b", 3)
    assert found["difference"] == pytest.approx(0.31 / 3)
    # of 0.10, 0.10 and 0.11; unpaired it would be 0.08
    assert found["se"] == pytest.approx(0.01 / 3)
    assert found["interval"][0] == pytest.approx(0.31 / 3 - 4.3027 * 0.01 / 3, abs=1e-5)


def test_seeds_that_choose_judge_nothing():
    """On seed 0 the first rate is the better one, on all others the second."""
    runs = runs_of(
        **{
            "a, lr=1": [0.9, 0.1, 0.1, 0.1],
            "a, lr=2": [0.8, 0.5, 0.5, 0.5],
            "b": [0.3] * 4,
        }
    )
    claim = Claim("", "", ("a, lr=1", "a, lr=2"), "b")
    assert (
        claim.judge(runs, (0,))["first"] == "a, lr=1"
        and claim.judge(runs, (0,))["n"] == 3
    )
    assert claim.judge(runs, (0,))["difference"] == pytest.approx(-0.2)
    assert claim.judge(runs)["first"] == "a, lr=2" and claim.judge(runs)["n"] == 4
    assert rates_of("a, lr=1", runs, "val_accuracy", (0,)) == {1.0: 0.9, 2.0: 0.8}


# What admits a row


RATES = tuple(f"a, lr={rate}" for rate in (1, 2, 3))


def admitted(scores, seeds=3, ridge=0.4, study=None, other=None, **claim) -> str:
    """What a row lacks: variants at three rates against one that needs none, or `other` against a model at three."""
    runs = runs_of(
        **{name: [score] * seeds for name, score in zip(RATES, scores, strict=False)}
    )
    runs += runs_of(pixels=[0.3] * seeds)
    if other:
        runs += runs_of(
            **{f"a, b, lr={i}": [other - 0.01 * abs(i - 2)] * seeds for i in (1, 2, 3)}
        )
    one = Claim(
        "",
        "",
        RATES,
        tuple(f"a, b, lr={i}" for i in (1, 2, 3)) if other else "pixels",
        **claim,
    )
    study = study or toy(variants={run["variant"]: {} for run in runs})
    return "; ".join(
        why_not(one, one.judge(runs), study, runs, {"a*": ridge} if ridge else {})
    )


@pytest.mark.parametrize(
    ("how", "lacks"),
    [
        ({"scores": (0.6, 0.7, 0.5)}, ""),
        (
            {"scores": (0.7, 0.6, 0.5)},
            "the best learning rate of “a, lr=1” is the last on its side",
        ),
        (
            {"scores": (0.5, 0.6, 0.7)},
            "the best learning rate of “a, lr=3” is the last on its side",
        ),
        ({"scores": (0.7,)}, "one learning rate was tried of “a, lr=1”"),
        ({"scores": (0.6, 0.7, 0.5), "seeds": 2}, "2 seeds, 3 are needed"),
        (
            {"scores": (0.5, 0.54, 0.5)},
            "“a, lr=2” has 54.0%, less than 15 points above",
        ),
        ({"scores": (0.5, 0.56, 0.5)}, ""),
        (
            {"scores": (0.5, 0.56, 0.5), "other": 0.54},
            "“a, b, lr=2” has 54.0%, less than 15 points above",
        ),
        ({"scores": (0.5, 0.56, 0.5), "other": 0.56}, ""),
        (
            {"scores": (0.6, 0.7, 0.5), "ridge": None},
            "no ridge regression on the pixels of the same pictures",
        ),
        ({"scores": (0.6, 0.7, 0.5), "metric": "loss"}, "0 seeds"),
    ],
)
def test_a_row_is_admitted_or_says_what_it_lacks(how, lacks):
    said = admitted(**how)
    assert lacks in said and bool(said) == bool(lacks)


def test_what_trains_nothing_has_no_rate_to_choose():
    nothing = toy(n_train=0, variants=dict.fromkeys((*RATES, "pixels"), {}))
    assert admitted((0.7,)) and not admitted((0.7,), study=nothing)


# How rates are chosen

GRID = tuple(f"a, lr={rate:g}" for rate in (0.1, 0.3, 1, 3, 10))


def chosen(best: int) -> tuple[list[str], list[str]]:
    """The rates that are tried, in turn, where the score falls off from the best one, and the chosen one's trials."""

    def score(name: str) -> float:
        return -abs(GRID.index(name) - best) / 10

    study, runs = (
        toy(
            variants={**{name: {"lr": 1} for name in GRID}, "pixels": {}},
            choosing=(100,),
        ),
        [],
    )
    while new := [
        trial
        for trial in trials(study, (0, 1), runs)
        if trial not in [(r["variant"], r["seed"]) for r in runs]
    ]:
        runs += [
            row(name, seed, 0.5 if name == "pixels" else score(name))
            for name, seed in new
        ]
    tried = [run["variant"] for run in runs if run["seed"] == 100]
    return (
        tried,
        sorted({run["variant"] for run in runs if run["seed"] != 100} - {"pixels"}),
        at_edge(study, runs),
    )


@pytest.mark.parametrize(
    ("best", "tried", "edge"),
    [
        (2, [1, 2, 3], []),
        (1, [1, 2, 3, 0], []),
        (3, [1, 2, 3, 4], []),
        (0, [1, 2, 3, 0], [0]),
        (4, [1, 2, 3, 4], [4]),
    ],
)
def test_rates_are_tried_until_the_best_lies_between_others(best, tried, edge):
    found, judged, last = chosen(best)
    assert found == [GRID[i] for i in tried] and judged == [GRID[best]]
    assert last == [GRID[i] for i in edge]


def test_no_rate_is_tried_twice_and_one_is_enough_where_there_is_one():
    assert to_try(["pixels"], {"pixels": 0.5}) == [] and to_try(["pixels"], {}) == [
        "pixels"
    ]


def test_what_noise_alone_tells_apart_is_a_plateau():
    level = dict.fromkeys(GRID[1:4], 0.5)
    assert to_try(list(GRID), level) == [GRID[0], GRID[4]]  # who knows what lies beyond
    assert to_try(list(GRID), level | dict.fromkeys(GRID, 0.5)) == []
    assert choice(list(GRID), level) == GRID[2]
    scores = dict(zip(GRID, (0.40, 0.751, 0.757, 0.7525, 0.97), strict=True))
    tried = {name: scores[name] for name in GRID[1:4]}
    assert to_try(list(GRID), tried, 0.01) == [GRID[0], GRID[4]] and to_try(
        list(GRID), tried, 0.005
    ) == [GRID[4]]
    assert (
        choice(list(GRID), scores, 0.01) == GRID[4]
        and choice(list(GRID), tried, 0.01) == GRID[2]
    )
    # of two in the middle the better
    assert choice(list(GRID), {GRID[1]: 0.5, GRID[2]: 0.505}, 0.01) == GRID[2]


def test_ways_have_their_turns_and_some_take_the_rate_of_another():
    ways = {f"{way}, lr={rate}": {} for way in ("a", "b", "c") for rate in (1, 2, 3)}
    turns = (
        Turn("a", (0, 1)),
        Turn("b", (0,), rate_from="a"),
        Turn("c", (0,)),
        Turn("a", (2,)),
    )
    study = toy(variants=ways, choosing=(7,), seeds=(0, 1, 2), turns=turns)
    best, runs, order = {"a": "2", "c": "3"}, [], []
    while new := [
        trial for trial in trials(study, study.seeds, runs) if trial not in order
    ]:
        order += new
        runs += [
            row(name, seed, 1.0 if best.get(name[0]) == name[-1] else 0.5)
            for name, seed in new
        ]
    tried = [(f"a, lr={rate}", 7) for rate in (1, 2, 3)]
    judged = [("a, lr=2", 0), ("a, lr=2", 1), ("b, lr=2", 0)]
    assert (
        order[:6] == tried + judged
        and order[-2:] == [("c, lr=3", 0), ("a, lr=2", 2)]
        and len(order) == 11
    )


def test_a_file_of_results_alone_is_enough_to_go_on(file):
    for folder in file.parent.glob("*-s*"):
        shutil.rmtree(folder)
    before = json.loads(file.read_text())["runs"]
    with only(stems=toy(**PEAKED, run=None)):  # nothing is run
        run_study("stems", DATA, file.parent, seeds=(0, 1), progress=False)
    assert json.loads(file.read_text())["runs"] == before


def peaked(machine: str):
    """A run of a study of GRID whose rate in the middle is the best."""

    def run_on(study, variant, seed, job):
        own = {
            "changes": study.variants[variant],
            "hardware": machine,
            "precision": "fp32",
        }
        return [row(variant, seed, 0.9 if variant == GRID[2] else 0.5) | own]

    return run_on


PEAKED = {
    "variants": {**{name: {"lr": 1} for name in GRID}, "pixels": {}},
    "choosing": (7,),
    "seeds": (0, 1),
}


def test_a_study_whose_seeds_choose_runs_them_first_and_then_the_best_alone(tmp_path):
    with only(stems=toy(**PEAKED, run=peaked("A"))):
        result = run_study("stems", DATA, tmp_path, seeds=(0, 1), progress=False)
    order = [(run["variant"], run["seed"]) for run in result["runs"]]
    assert [name for name, seed in order if seed == 7] == list(GRID[1:4]) and result[
        "finished"
    ]
    assert {name for name, seed in order if seed != 7} == {"pixels", GRID[2]}
    assert result["summary"].keys() == {"pixels", GRID[2]}


# That no row is changed by hand


@pytest.fixture
def file(tmp_path):
    """The file of a study with two seeds, and one that chooses."""
    with only(stems=toy(**PEAKED, run=peaked("A"))):
        run_study("stems", DATA, tmp_path, seeds=(0, 1), progress=False)
        yield tmp_path / "stems.json"


@pytest.mark.errors
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda run: run["final"].update(val_accuracy=0.99),
            "was changed after it was written",
        ),
        (
            lambda run: run.update(variant="c", seal=None),
            "'c, seed 1' is of no variant",
        ),
        (
            lambda run: run.update(seed=0, seal=None),
            "'a, lr=1, seed 0' stands there twice",
        ),
        (lambda run: run.update(final={}, seal=None), "has no val_accuracy"),
        (
            lambda run: run.update(changes={"lr": 2}, seal=None),
            "was run with {'lr': 2}, the variant is {'lr': 1}",
        ),
        (
            lambda run: run.update(hardware="B", seal=None),
            "ran on A, the rest of its seed on B",
        ),
    ],
)
def test_a_row_that_is_not_what_was_run_is_refused_by_its_name(file, change, message):
    result = read_json(file, "")
    (last,) = [
        run for run in result["runs"] if run["seed"] == 1 and run["variant"] != "pixels"
    ]
    read_study("stems", file.parent)
    change(last)
    if last.get("seal") is None:
        last.pop("seal", None)
        write_json(file, result)
    else:
        file.write_text(json.dumps(result))
    with pytest.raises(
        ValueError, match=f"stems.json: the row .*{message}.*; delete the file, and run"
    ):
        read_study("stems", file.parent)


@pytest.mark.errors
def test_a_seed_stays_on_one_machine(file):
    """Whoever goes on elsewhere is told so before anything is run; how many threads it has is no matter."""
    (last,) = [path for path in file.parent.glob("a*-s1/rows.json")]
    last.unlink()
    file.unlink()
    with pytest.raises(
        ValueError,
        match="the row 'pixels, seed 1' ran on A, and this is .*; one seed stays on one",
    ):
        run_study("stems", DATA, file.parent, seeds=(0, 1), progress=False)
    assert not last.exists()
    run_study("stems", DATA, file.parent, seeds=(0,), progress=False)  # which is whole
    assert (
        machine("Xeon, 1 of 2 cores") == machine("Xeon, 2 of 2 cores")
        and machine("H200") == "H200"
    )


# The board


def test_a_headline_needs_a_second_setting_that_says_the_same(monkeypatch):
    def study(says: str, twin: str, better: float, pixels: float = 0.3):
        claim = Claim(says, "ours", RATES, "pixels", twin=twin)
        scores = dict(zip(RATES, (better - 0.1, better, better - 0.1), strict=True))
        runs = runs_of(
            pixels=[pixels] * 3, **{name: [score] * 3 for name, score in scores.items()}
        )
        result = {
            "runs": runs,
            "metric": "val_accuracy",
            "dataset": "toys",
            "finished": True,
        }
        return toy(
            claims=(claim,), variants=dict.fromkeys((*RATES, "pixels"), {})
        ), result

    def lacks(second: float, pixels: float = 0.3, *, there: bool = True) -> list[str]:
        one, other = (
            study("it is so", "it is so there", 0.9),
            study("it is so there", "it is so", second, pixels),
        )
        results = {"one": one[1], "other": other[1] if there else None}
        ridge = {name: {"*": 0.4} for name in results}
        monkeypatch.setattr(boards, "whole", lambda name, out: results[name])
        monkeypatch.setattr(boards, "load_results", lambda name: {"accuracy": ridge})
        with only(one=one[0], other=other[0]):
            return ["; ".join(row.lacks) for row in boards.all_rows()]

    assert lacks(0.8) == ["", ""]
    assert (
        "a headline needs a second setting, and that was not run yet"
        in lacks(0.8, there=False)[0]
    )
    assert "and that is not admitted" in lacks(0.5)[0]
    assert all(
        "and that says otherwise, or is open" in row for row in lacks(0.6, pixels=0.9)
    )
    assert all(
        "and that says otherwise, or is open" in row for row in lacks(0.605, pixels=0.6)
    )


def test_every_number_of_a_row_can_be_checked_on_the_board():
    head, _, *lines = boards.board()
    assert head == f"| {' | '.join(boards.COLUMNS)} |" and lines
    for line, found in zip(
        lines, [one for one in boards.all_rows() if not one.lacks], strict=True
    ):
        low, high = found.found["interval"]
        assert (
            f"[{100 * low:+.2f}, {100 * high:+.2f}], margin {100 * found.claim.margin:g}"
            in line
        )
        assert (
            f"{found.found['found']}: {found.found['verdict']}" in line
            and found.tried in line
        )
        assert hold([low, high], found.claim.margin) == found.found["found"]
