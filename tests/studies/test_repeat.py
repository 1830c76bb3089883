"""A row of the book runs again."""

from __future__ import annotations

import pytest

from vitlib.data.dataset import Dataset, load_dataset
from vitworkshop.studies.repeat import repeat


def drawn(_kind: str) -> Dataset:
    return load_dataset("drawn10", "train")


@pytest.mark.sampled(7)
@pytest.mark.slow
def test_a_row_of_the_book_repeats():
    book, here = repeat("norm-order", drawn)
    assert [row["variant"] for row in book] == [row["variant"] for row in here]
    assert here[0]["final"].keys() == book[0]["final"].keys()


@pytest.mark.errors
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("norms", drawn), "unknown study 'norms'"),
        (
            ("norm-order", drawn, ["pre"]),
            "the book has no run 'pre' of 'norm-order'; choose one of",
        ),
        (
            ("norm-order", drawn, None, 12),
            r"no run of 'norm-order' with seed 12; choose one of \[0, 1, .*, 11\]",
        ),
        (
            ("stems", drawn),
            "the book's runs were on CIFAR-10 .JPEG q75.; here there is Drawn-10",
        ),
    ],
)
def test_what_the_book_has_not_run_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        repeat(*arguments)
