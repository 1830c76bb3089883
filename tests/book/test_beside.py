"""The paper beside ours: every number of the page once more, by other code than the page's, from the raw runs."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy import stats

from vitworkshop.studies import parts
from vitworkshop.studies.registry import STUDIES

beside = pytest.importorskip("page.beside")
ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "vitlib" / "results"
TEXT = (ROOT / "book" / "beside.md").read_text(encoding="utf-8")
ROWS = [
    (name, yaml.safe_load(body))
    for name, body in re.findall(r"^```\{beside\} (\S+)\n(.*?)^```", TEXT, re.M | re.S)
    if body
]
IDS = [f"{name}-{i}" for i, (name, _) in enumerate(ROWS)]


def raw(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def scores(name: str, pattern: str, metric: str = "") -> dict[int, float]:
    """Seed -> score of the best of these variants: by the seed that chooses, or by all seeds where none does."""
    result, choosing = raw(name), STUDIES[name].choosing
    table: dict[str, dict[int, float]] = {}
    for run in result["runs"]:
        if fnmatchcase(run["variant"], pattern):
            score = run["final"][metric or result["metric"]]
            table.setdefault(run["variant"], {})[run["seed"]] = score
    judged = {
        variant: {seed: score for seed, score in of.items() if seed != choosing}
        for variant, of in table.items()
    }
    known = {v: of for v, of in table.items() if judged[v]}
    chosen = max(
        known, key=lambda v: known[v].get(choosing, np.mean([*known[v].values()]))
    )
    return judged[chosen]


def numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"[-+]?\d+\.\d+", text)]


def cells(table: str) -> dict[str, float]:
    """Label -> number of a chart."""
    found = re.findall(r"^\| (.+?) \| <svg.*?</svg> \| ([-+\d.]+) \|$", table, re.M)
    return {label: float(number) for label, number in found}


@pytest.mark.parametrize(("name", "row"), ROWS, ids=IDS)
def test_every_number_of_a_row_follows_from_the_runs(name, row):
    text, _, fold = beside.row(name, row).partition("{dropdown}")
    charts = cells(text)
    for label, pattern in row.get("ours", {}).items():
        mean = 100 * np.mean([*scores(name, pattern).values()])
        assert charts[label] == pytest.approx(mean, abs=0.051), label
    rivals = row.get("ridge", {})
    rivals = rivals if isinstance(rivals, dict) else {"ridge on pixels": rivals}
    for label, place in rivals.items():
        if isinstance(place, str):
            below = np.mean([*scores(name, place).values()])
        else:
            below = raw("ridge")["accuracy"][place[0]][place[1]]
        assert charts[label] == pytest.approx(100 * below, abs=0.051)
    own = {"list", "own"} & row.keys()
    for begins, called in row["claims"].items():
        (claim,) = (c for c in STUDIES[name].claims if c.says.startswith(begins))
        first, second = (
            scores(name, side, claim.metric) for side in (claim.first, claim.second)
        )
        gaps = np.array([first[seed] - second[seed] for seed in first])
        low, high = stats.ttest_1samp(gaps, 0).confidence_interval(0.95)
        scale = 100 if "accuracy" in claim.metric else 1
        (line,) = re.findall(rf"^- {re.escape(called)}: (.*)$", text, re.M)
        told = numbers(line.partition("margin")[0])
        wanted = [scale * gaps.mean(), scale * low, scale * high]
        assert told == pytest.approx(wanted, abs=0.051)
        inside = -claim.margin < low and high < claim.margin
        if claim.kind == "ahead":
            word = "same" if low > 0 else "not" if inside or high < 0 else "cannot"
            word = {"same": "as", "not": "not as"}.get(word, word) if own else word
        else:
            beyond = low > claim.margin or high < -claim.margin
            word = "within" if inside else "not" if beyond else "cannot"
            word = "not as" if word == "not" and own else word
        assert line.startswith(f"*{word} ") and len(gaps) >= 3
        assert f"margin\N{NARROW NO-BREAK SPACE}{scale * claim.margin:g}" in line
    minutes = f"{raw(name)['seconds'] / 60:.0f}\N{NARROW NO-BREAK SPACE}minutes"
    again = f"`python -m vitlib study run {name}`: {minutes} of one core."
    assert (again in fold) == ("runs" in row)


@pytest.mark.parametrize(("name", "row"), ROWS, ids=IDS)
def test_the_papers_numbers_are_the_papers(name, row):
    charts = cells(beside.row(name, row))
    for label, way in row.get("paper", {}).items():
        value = raw("paper")
        rest = way
        while rest:  # a name may hold a stroke itself
            key = next(
                key for key in value if rest == key or rest.startswith(f"{key}/")
            )
            value, rest = value[key], rest[len(key) + 1 :]
        assert value in set(
            map(float, re.findall(r"\d\.\d+", json.dumps(raw("paper"))))
        )
        if label not in row["ours"]:
            assert charts[label] == pytest.approx(100 * value, abs=0.051)


def test_every_study_is_on_the_page_and_its_runs_are_folded_once():
    folds = [name for name, row in ROWS if "runs" in row]
    assert sorted(folds) == sorted(STUDIES.keys() - {"parts"})
    assert "```{beside} parts\n```" in TEXT


def runs_of(costs: dict[str, list[float]]) -> list[dict]:
    """Runs of the study `parts` in which a change costs so much with each seed."""
    base = {seed: 0.75 + seed / 1000 for seed in range(10)}
    rows = [("base, lr=0.01", seed, score) for seed, score in base.items()]
    rows += [
        (f"{change}, lr=0.01", seed, base[seed] - cost)
        for change, each in costs.items()
        for seed, cost in enumerate(each)
    ]
    rows.append(("base, lr=0.01", 100, 0.9))  # the seed that chooses
    return [
        {"variant": name, "seed": seed, "final": {"accuracy": score}}
        for name, seed, score in rows
    ]


COSTS = {
    "no positions": [0.10, 0.11, 0.12],
    "AdamW": [0.02, 0.04, 0.03],
    "post-norm": [0.5, 0.5],  # two seeds: open
}


def test_what_a_part_costs_has_one_deviation_and_room_for_all():
    found = parts.costs(runs_of(COSTS))
    assert found.keys() == {"no positions", "AdamW"}
    pooled = np.sqrt(
        (np.var(COSTS["no positions"], ddof=1) + np.var(COSTS["AdamW"], ddof=1)) / 2
    )
    reach = stats.t.ppf(1 - 0.05 / 2 / 13, 4) * pooled / np.sqrt(3)
    for change, (cost, far) in found.items():
        assert cost == pytest.approx(np.mean(COSTS[change])) and far == pytest.approx(
            reach
        )
    assert parts.equal_deviations(runs_of(COSTS)) == pytest.approx(1.0)
    assert parts.costs(runs_of({})) == {} and parts.equal_deviations([]) is None


def test_who_has_hardly_learned_is_named():
    near = {line.split(" | ")[0]: line for line in beside.glance().splitlines()}
    named = {
        key: line.split(" | ")[3].strip(" |")
        for key, line in near.items()
        if "href" in key
    }
    of = {re.search(r">(.+?)</a>", key)[1]: names for key, names in named.items()}
    assert of["Is depth what pays most?"] == "17 deep; 237 wide"
    assert of["Few pictures: is a CNN ahead?"] == "500, ViT"  # its own ridge
    assert of["Are frozen features better than pixels?"] == ""  # the ridge is a rival
    assert of["Larger pictures in fine-tuning?"] == ""
    name, row = next(one for one in ROWS if one[0] == "minutes")
    assert "Hardly above the ridge, or below it: AdamW." in beside.row(name, row)
