"""The clinic: each bug has its letter and cause on the page; the doctor names it, and nothing in the healthy run."""

import re

import pytest
from pages import ROOT, prose

import vitlib as vl
from tools.measure.clinic import ask_doctor
from vitworkshop.studies.clinic import BUGS, HEALTHY

FINDINGS = {
    **{
        "A": "positions",
        "B": "weight decay",
        "C": "attention scale",
        "D": "test normalisation",
    },
    **{
        "E": "patch order",
        "F": "attention axis",
        "G": "test mode",
        "H": "learning rate",
    },
    **{"I": "gradients", "J": "augmentation"},
}

pytestmark = pytest.mark.usefixtures("one_thread")


def test_every_bug_has_a_letter_and_a_cause():
    boxes = re.findall(
        r":::\{dropdown\} What was wrong with ([A-Z])$",
        prose(ROOT / "book/clinic.md"),
        re.M,
    )
    assert set(BUGS) == set(FINDINGS) == set(boxes) and len(boxes) == len(BUGS) >= 8


@pytest.mark.sampled(3)
@pytest.mark.parametrize("letter", FINDINGS)
def test_the_doctor_names_the_bug(letter):
    found = [finding.check for finding in ask_doctor(BUGS[letter])]
    assert (
        found
        == [FINDINGS[letter]]
        == vl.load_results("clinic-symptoms")["symptoms"][letter]["doctor"]
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.weekly) for seed in (1, 2))]
)
def test_the_doctor_finds_nothing_in_the_healthy_run(seed):
    assert ask_doctor(HEALTHY, seed) == []
