"""How numbers are set on the pages: a narrow space before the per cent sign, a real minus."""

from __future__ import annotations

import pytest

typography = pytest.importorskip("page.typography")


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("69.8%", "69.8\u202f%"),
        ("73.6 %", "73.6\u202f%"),
        ("73.6\u00a0% ± 1", "73.6\u202f% ± 1"),
        ("by -0.4 points, or (-3)", "by \u22120.4 points, or (\u22123)"),
        ("-.5", "\u2212.5"),
        ("B-16, CIFAR-10, 2020-11-03, 16-32, x -y", "B-16, CIFAR-10, 2020-11-03, 16-32, x -y"),
        ("100 %d", "100 %d"),
    ],
)
def test_numbers_are_set_in_one_way(typed, written):
    assert typography.set_numbers(typed) == written
