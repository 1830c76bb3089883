"""Chapter 10: the doctor names each seeded bug and none in the healthy run."""

import re
from functools import cache

import pytest
from pages import ROOT, read, source

FINDINGS = {
    **{"A": "positions", "B": "weight decay", "C": "attention scale", "D": "test normalisation"},
    **{"E": "patch order", "F": "attention axis", "G": "test mode", "H": "learning rate"},
    **{"I": "gradients", "J": "augmentation"},
}

pytestmark = pytest.mark.usefixtures("one_thread")


@cache
def cells() -> dict[str, str]:
    """The source of each cell, by its id."""
    return {cell["id"]: source(cell) for cell in read(ROOT / "book" / "10-recipe.ipynb")["cells"]}


@cache
def gallery() -> dict:
    """What the cells of the gallery define, without its runs."""
    space: dict = {"__name__": "chapter10"}
    for name in ("imports", "bugs-data", "bugs-doctor"):
        exec(compile(cells()[name], name, "exec"), space)
    return space


def test_every_bug_has_a_letter_and_a_cause():
    letters = set(gallery()["BUGS"])
    boxes = re.findall(r":::\{dropdown\} ([A-Z]): ", "\n".join(cells().values()))
    assert letters == set(FINDINGS) == set(boxes) and len(boxes) == len(letters) >= 8


@pytest.mark.parametrize("letter", FINDINGS)
def test_the_doctor_names_the_bug(letter):
    found = gallery()["ask_doctor"](gallery()["BUGS"][letter])
    assert [finding.check for finding in found] == [FINDINGS[letter]]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.weekly) for seed in (1, 2))])
def test_the_doctor_finds_nothing_in_the_healthy_run(seed):
    assert gallery()["ask_doctor"](gallery()["HEALTHY"], seed) == []
