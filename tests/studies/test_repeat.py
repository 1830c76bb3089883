"""A row that runs again is the book's, and moved weights are moved by what was said."""

from __future__ import annotations

import pytest
import torch

from vitlib.config import ResNetConfig, ViTConfig
from vitlib.data.dataset import Dataset, load_dataset
from vitlib.evidence import load_results
from vitlib.model.vit import build_model
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.repeat import NUDGE, nudged, repeat
from vitworkshop.studies.report import turned

SMALL = [ViTConfig(embed_dim=12, depth=1, num_heads=3, patch_size=8), ResNetConfig(widths=(16,), depths=(1,))]


def drawn(_kind: str) -> Dataset:
    return load_dataset("drawn10", "train")


@pytest.mark.parametrize("cfg", SMALL, ids=["ViT", "ResNet"])
def test_a_nudge_moves_every_weight_a_little_and_no_other_random_number(cfg):
    torch.manual_seed(0)
    plain, after = build_model(cfg), torch.rand(1)
    torch.manual_seed(0)
    with nudged():
        moved, also = build_model(cfg), torch.rand(1)
    assert torch.equal(after, also)
    for (name, one), other in zip(plain.named_parameters(), moved.parameters(), strict=True):
        assert torch.allclose(one, other, rtol=20 * NUDGE, atol=0), name
        assert not one.any() or not torch.equal(one, other) or one.numel() < 50, name
    torch.manual_seed(0)
    assert torch.equal(next(build_model(cfg).parameters()), next(plain.parameters())), "only meanwhile"


@pytest.mark.slow
def test_a_row_of_the_book_repeats():
    book, here = repeat("norm-order", drawn)
    assert [row["variant"] for row in book] == [row["variant"] for row in here]
    assert here[0]["final"].keys() == book[0]["final"].keys()
    with nudged(0.5):
        _, other = repeat("norm-order", drawn)
    assert other[0]["final"] != here[0]["final"]


@pytest.mark.errors
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("norms", drawn), "unknown study 'norms'"),
        (("norm-order", drawn, ["pre"]), "the book has no run 'pre' of 'norm-order'; choose one of"),
        (
            ("norm-order", drawn, None, 12),
            r"no run of 'norm-order' with seed 12; choose one of \[0, 1, .*, 11\]",
        ),
        (("stems", drawn), "the book's runs were on CIFAR-10 .JPEG q75.; here there is Drawn-10"),
    ],
)
def test_what_the_book_has_not_run_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        repeat(*arguments)


def test_a_verdict_that_rounding_turns_is_told_where_that_was_tried():
    moved = load_results("rounding")["studies"]
    assert turned("positions") is None and "positions" not in moved
    for name in moved:
        runs = load_results(name)["runs"]
        instead = {(row["variant"], row["seed"]): row for row in moved[name]}
        moved_runs = [instead.get((row["variant"], row["seed"]), row) for row in runs]
        assert turned(name) == [
            claim.says
            for claim in STUDIES[name].claims
            if claim.judge(moved_runs)["verdict"] != claim.judge(runs)["verdict"]
        ]
