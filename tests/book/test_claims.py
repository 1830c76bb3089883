"""What the prose says of numbers: verdicts follow from the results, and no measured number is typed by hand."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
from pages import PAGES, cells, prose, source, tags

import vitlib as vl
from vitlib.evidence import paired_difference
from vitlib.explain.scores import BASELINES
from vitworkshop.studies import masked, transfer  # noqa: F401 - conditions name both
from vitworkshop.studies.claim import bracketed, rates_of  # noqa: F401
from vitworkshop.studies.clinic import BUGS  # noqa: F401
from vitworkshop.studies.recipe_ladder import INGREDIENTS  # noqa: F401
from vitworkshop.studies.registry import STUDIES  # noqa: F401 - and this
from vitworkshop.studies.report import judged

KEPT_BY_A_TOOL = {"api.md"}  # `python -m page.api` writes it

# ------------------------------------------------------------------------------- sentences that rest on results

# Beside a sentence, in the metadata of its cell, stands what must hold of the results for its words to stand:
#
#     "holds": {"words of the sentence": ["a condition", "another"]}
#
# In a page that is no notebook, "% holds: words of the sentence" follows its paragraph, each condition on a line of its
# own that begins with "%"; the page does not show it. Conditions are Python, with the names that this file has.

# How many sentences of a page have conditions, so that none is lost when a cell is rewritten
HELD = {
    **{"02": 1, "03": 8, "04": 9, "06": 8, "07": 8, "09": 2, "10": 16},
    **{
        "11": 16,
        "12": 6,
        "14": 7,
        "16": 10,
        "17": 5,
        "18": 2,
        "clinic": 7,
        "learns": 2,
        "questions": 3,
    },
}


def result(name: str) -> dict:
    """A results file of the package."""
    return vl.load_results(name)


def paper(table: str) -> dict:
    """A table of the paper's numbers, and others'."""
    return result("paper")[table]


def claim(study: str, says: str) -> dict:
    """What a study found of a claim, which is named in full or by its beginning."""
    found = judged(study)
    (name,) = [one for one in found if one == says] or [
        one for one in found if one.startswith(says)
    ]
    return found[name]


def word(study: str, says: str) -> str:
    return claim(study, says)["word"]


def interval(study: str, says: str) -> list[float]:
    return claim(study, says)["interval"]


def lead(
    study: str, first: str, second: str, metric: str = "val_accuracy"
) -> tuple[float, float]:
    """The 95 % interval of a variant's lead over another, paired by seed."""
    sides = (
        {run["seed"]: run["final"][metric] for run in runs(study, name)}
        for name in (first, second)
    )
    return paired_difference(*sides)["interval"]


def mean(study: str, variant: str) -> float:
    """The mean over a variant's seeds."""
    return result(study)["summary"][variant]["mean"]


def top(study: str, variants: str) -> float:
    """The best mean of some variants."""
    return max(
        mean(study, name)
        for name in result(study)["summary"]
        if fnmatchcase(name, variants)
    )


def runs(study: str, variants: str) -> list[dict]:
    """The runs of some variants, seed 0 first; a * stands for any characters."""
    found = [
        run for run in result(study)["runs"] if fnmatchcase(run["variant"], variants)
    ]
    return sorted(found, key=lambda run: run["seed"])


def finals(study: str, variants: str, metric: str = "val_accuracy") -> np.ndarray:
    """What each of these runs ended with."""
    return np.array([run["final"][metric] for run in runs(study, variants)])


def curve(study: str, variant: str) -> np.ndarray:
    """Accuracy after each epoch, the mean over seeds."""
    return np.mean(
        [
            [row["val_accuracy"] for row in run["epochs"]]
            for run in runs(study, variant)
        ],
        axis=0,
    )


def epochs(study: str, variant: str) -> int:
    """How many epochs each run of a variant had."""
    # of most only their number is kept
    logs = [run["epochs"] for run in runs(study, variant)]
    (number,) = {len(log) if isinstance(log, list) else log for log in logs}
    return number


def resized(
    ways: str, sizes: str, models: str = "drawn10-token cifar10-plain cifar10-modern"
) -> np.ndarray:
    """Chapter 04's accuracies at other sizes, by way, model and size."""
    names = [
        [[f"{m}: {way} {s}" for s in sizes.split()] for m in models.split()]
        for way in ways.split(", ")
    ]
    return np.vectorize(lambda name: mean("resolution", name))(names)


def five(variants: str) -> np.ndarray:
    """Chapter 11's accuracies of `crossover` that count: not those of the seed that chose the rates."""
    return np.array(
        [
            run["final"]["val_accuracy"]
            for run in runs("crossover", variants)
            if run["seed"] < 5
        ]
    )


def pilot(variants: str) -> float:
    """And the best of the seed that chose."""
    return max(
        run["final"]["val_accuracy"]
        for run in runs("crossover", variants)
        if run["seed"] == 100
    )


def beside(explanation: str, test: str, kind: str) -> list[str]:
    """Chapter 14's worst word, for each model, beside the "blind" orders or the "borrowed" maps."""
    found, sign = [], 1 if test == "insertion" else -1
    for of in result("faithfulness")["models"].values():
        rows = of[test]["beside"][explanation] if test in of else {}
        leads = [
            sign * difference / se
            for control, (difference, se) in rows.items()
            if (control in {*BASELINES, "border"}) == (kind == "blind")
        ]
        if leads:
            worst = min(leads)
            found.append("passes" if worst > 2 else "fails" if worst < -2 else "open")
    return found


def shares(explanation: str) -> list[float]:
    """How much of its gain over a random order the mean of the borrowed maps has, too, for each model."""
    rows = [
        of["deletion"]["beside"][explanation]
        for of in result("faithfulness")["models"].values()
    ]
    return [1 - row["borrowed"][0] / row["random"][0] for row in rows]


def masked_steps(variant: str) -> int:
    """Chapter 17's steps of a variant, before and in fine-tuning; incomplete batches are left out."""
    study, batch = result("masked"), result("masked")["base"]["batch_size"]
    labelled = study["n_train"] // masked.PARTS
    before, after = (study["n_train"] - labelled) // batch, labelled // batch
    (steps,) = {
        run["before"] * before + run["epochs"] * after
        for run in runs("masked", variant)
    }
    return steps


def per_doubling(small: str, large: str, data: str) -> float:
    """What one of the paper's models brought over another, for each doubling of compute (Table 6)."""
    a, b = (paper("table_6")[name] for name in (small, large))
    return (b[data] - a[data]) / math.log2(b["exaflops"] / a["exaflops"])


def vit_b_macs(attention: str, side: int, depth: int = 12) -> int:
    """With "axial", of blocks of two: a query reads its line and CLS, and CLS reads all."""
    blocks = depth if attention == "full" else 2 * depth
    cfg = vl.ViTConfig.preset("vit-b/16", img_size=side, depth=blocks)
    N = cfg.num_patches
    spared = (1 + N) ** 2 - (1 + N * (2 + side // 16))  # pairs
    macs = vl.count_macs(cfg)
    return macs if attention == "full" else macs - 2 * blocks * spared * cfg.embed_dim


def holds() -> Iterator[tuple[str, str, list[str], str]]:
    """Page, words, their conditions, and the text in which the words must stand."""
    for path in PAGES:
        if path.suffix == ".md":
            for words, lines in re.findall(
                r"^% holds: (.+)\n((?:%.+\n)+)", prose(path), re.M
            ):
                yield (
                    path.stem,
                    words,
                    [line.lstrip("% ") for line in lines.splitlines()],
                    prose(path),
                )
        else:
            for cell in cells(path, "markdown"):
                for words, conditions in cell["metadata"].get("holds", {}).items():
                    yield path.stem, words, conditions, source(cell)


@pytest.mark.parametrize(
    ("words", "conditions", "text"),
    [pytest.param(*held, id=f"{page[:2]}: {held[0][:50]}") for page, *held in holds()],
)
def test_a_sentence_follows_from_its_results(words, conditions, text):
    assert words in " ".join(re.sub(r"^%.*", "", text, flags=re.M).split()), (
        "the sentence has changed: do its conditions still fit?"
    )
    assert conditions
    for condition in conditions:
        assert eval(condition, globals()), (
            f"the results no longer say {words!r}: {condition}"
        )


def test_no_sentence_lost_its_conditions():
    assert Counter(page.split("-")[0] for page, *_ in holds()) == HELD, (
        "if that is meant, change HELD"
    )


# what an item of *What to take* rests on: a control that could have failed, or a derivation, or others' work
GROUNDS = (
    r"\{ref\}|\{doc\}`[^`]*<beside>|\b[Dd]eriv|from the literature|From the literature"
)


@pytest.mark.parametrize(
    "path",
    [path for path in PAGES if path.suffix == ".ipynb"],
    ids=lambda path: path.stem[:2],
)
def test_an_item_to_take_says_what_it_rests_on(path):
    (text,) = (
        source(cell).split("## What to take")[1].split("\n## ")[0] + "\n\n"
        for cell in cells(path, "markdown")
        if "## What to take" in source(cell)
    )
    items = re.findall(r"^- (.*?)(?=\n- |\n\n)", text, re.M | re.S)
    assert 3 <= len(items) <= 5
    assert not [item for item in items if not re.search(GROUNDS, item)]


# ---------------------------------------------------------------------------------------------- typed numbers

MEASURES = r"%|per cent|points?\b|±|times\b|seconds?\b|ms\b|µs\b|images/s|[GM]B\b"
NUMBER = re.compile(rf"(?<![\w.,/×-])(\d[\d,]*\.\d+|\d[\d,]*)(?=(\s*(?:{MEASURES}))?)")
NOT_PROSE = (
    r"^`{3,}\{(?:code|computed|beside|raw|bibliography).*?^`{3,}$",  # code, and what a page computes
    r"^`{3,}(?:bash|powershell|python|text|bibtex)$.*?^`{3,}$",
    r"^[`:]{3,}[^\n]*$",  # the fences of boxes and exercises
    r"\$\$.*?\$\$",
    r"\$[^$]+\$",
    r"\{[\w:]+\}`[^`]*`",  # roles, `result` among them
    r"`[^`]*`",
    r"\]\([^)]*\)",
    r"https?://\S+",
    r"^%[^\n]*$",  # comments: conditions among them
    r"^ *:[\w-]+:[^\n]*$",  # options of directives
    r"\*?Difficulty[^\n]*",
    r"\*\*Time\*\*\n[^\n]*",
    r"\b\d\d\.\w (?=\")",  # an exercise, with what its check says
)
KINDS = (  # numbers that are names, or follow from what is said
    r"(?:[Ss]ections?|Tables?|Figures?|Appendix|[Cc]hapters?|[Ee]quations?|arXiv|Python|version|BY) [\w., and]*$",
    r"≈ $",  # computed from what stands before it
    r"(?:rates?|deviation|[Dd]ecay|[Dd]ropout)\b[^;]{0,60}$",  # settings
    r"(?:chance|[Gg]uess\w*|one in ten)[^.]{0,40}$",  # ten classes: 10 %
)
FACTS = {"2.303", "2.30"}  # log 10, the loss of guessing
FACTS |= {"170", "192"}  # MB of two downloads


def typed_numbers(path: Path) -> list[tuple[str, str]]:
    """Decimals, and numbers with a unit that one measures, in a page's prose, each with what stands before it."""
    text = prose(path)
    for pattern in NOT_PROSE:
        text = re.sub(pattern, " ", text, flags=re.S | re.M)
    found = []
    for match in NUMBER.finditer(text):
        number, unit = match[1], match[2]
        if not (unit or "." in number):
            continue
        before = text[max(0, match.start() - 60) : match.start()]
        if any(re.search(kind, before) for kind in KINDS):
            continue
        found.append((number, " ".join((before + match[0] + (unit or "")).split())))
    return found


def sourced(path: Path) -> set[str]:
    """Numbers that a page may quote: others', from their one file, and what its own cells hold or always print."""

    def numbers(value) -> list[float]:
        if isinstance(value, dict | list):
            return [
                n
                for each in (value.values() if isinstance(value, dict) else value)
                for n in numbers(each)
            ]
        return [value] if isinstance(value, int | float) else []

    known = FACTS | set(re.findall(r"\d+\.\d+|\d+", json.dumps(result("paper"))))
    for n in numbers(result("paper")):
        known |= {
            f"{n:g}",
            f"{100 * n:.4g}",
            f"{100 * n:.1f}",
            f"{100 * n:.2f}",
            f"{n:,}",
        }
    for cell in cells(path) if path.suffix == ".ipynb" else ():
        text = source(cell)
        if "nbval-check-output" in tags(cell):
            for output in cell["outputs"]:
                text += "".join(output.get("text", "")) + "".join(
                    output.get("data", {}).get("text/plain", "")
                )
        known |= set(re.findall(r"\d[\d,]*(?:\.\d+)?", text))
    return known


@pytest.mark.parametrize(
    "path",
    [p for p in PAGES if p.name not in KEPT_BY_A_TOOL],
    ids=lambda path: path.stem,
)
def test_no_measured_number_is_typed(path):
    known = sourced(path)
    typed = [words for number, words in typed_numbers(path) if number not in known]
    assert not typed, (
        "take them from a result, a cell or vitlib/results/paper.json:\n"
        + "\n".join(typed)
    )
