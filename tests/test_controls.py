"""Controls: each is what it says, and looks at nothing that it must not see."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import vitlib as vl
from vitlib.controls import (
    PixelRidge,
    border_contrast,
    borrowed_scores,
    break_ties,
    laplace_fill,
    paired,
    untrained,
)

TINY = vl.ViTConfig(embed_dim=16, depth=1, num_heads=2, patch_size=8)


@given(st.integers(3, 30), st.integers(2, 4))
def test_ridge_has_the_least_squares(n, classes):
    """Beside a least-squares solver, the decay written as rows of its own; the bias does not decay."""
    torch.manual_seed(n)
    images = torch.randint(0, 256, (n, 3, 2, 2), dtype=torch.uint8)
    labels = torch.randint(0, classes, (n,))
    x = vl.normalize(images).flatten(1).double()
    y = 2 * nn.functional.one_hot(labels, classes).double() - 1
    centred = x - x.mean(0)
    size = centred.square().sum() / min(x.shape)
    rows = torch.cat([centred, size.sqrt() * torch.eye(12)])
    wanted = torch.cat([y - y.mean(0), torch.zeros(12, classes)])
    expected = centred @ torch.linalg.lstsq(rows, wanted).solution + y.mean(0)
    found = PixelRidge(images, labels, classes)(vl.normalize(images))
    torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1e-3)


def test_a_ridge_that_has_seen_mirrored_pictures_answers_them_alike():
    data = vl.load_dataset("drawn10", n=40)
    model = PixelRidge(data.images, data.labels, 10, mirrored=True)
    x = vl.normalize(data.images)
    torch.testing.assert_close(model(x), model(x.flip(-1)), rtol=1e-3, atol=1e-3)


def test_a_filling_is_smooth_and_sees_nothing_hidden():
    """In one hole of a plane that rises evenly, the solution is the plane itself."""
    plane = torch.linspace(0, 1, 16).expand(1, 3, 16, 16)
    hidden = torch.zeros(1, 1, 16, 16, dtype=torch.bool)
    hidden[..., 4:10, 5:12] = True
    noisy = torch.where(hidden, torch.rand(1, 3, 16, 16), plane)
    filled = laplace_fill(noisy, hidden)
    torch.testing.assert_close(filled, plane, atol=1e-4, rtol=0)
    assert torch.equal(filled, laplace_fill(plane * ~hidden, hidden))


def test_contrast_is_told_from_the_border_alone():
    image = torch.zeros(1, 3, 32, 32)
    image[:, 0, 10:20, 10:20] = 0.7
    image[:, :, 0, :5] = 1  # a corner that is not the border's median
    found = border_contrast(image)[0]
    assert torch.equal(found[10:20, 10:20], torch.full((10, 10), 0.7))
    assert found[1:10].sum() == 0


def test_an_untrained_model_is_drawn_anew_and_the_readers_dice_stay():
    torch.manual_seed(3)
    model = vl.VisionTransformer(TINY)
    before = torch.get_rng_state()
    first, again, other = (untrained(model, seed).head for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first.weight, again.weight)
    assert not torch.equal(first.weight, other.weight)
    assert not torch.equal(first.weight, model.head.weight)


def test_a_borrowed_map_is_the_lenders_and_not_the_models():
    torch.manual_seed(0)
    lenders = [vl.VisionTransformer(TINY).eval() for _ in range(2)]
    x = vl.normalize(vl.load_dataset("drawn10", n=3).images)
    one, both = (
        borrowed_scores("occlusion", some, x) for some in (lenders[:1], lenders)
    )
    own = vl.patch_scores("occlusion", lenders[0], x)
    assert torch.equal(one.argsort(1), own.argsort(1))
    second = borrowed_scores("occlusion", lenders[1:], x)
    assert torch.equal(both, (one + second) / 2)


@given(st.integers(0, 1000))
def test_ties_are_broken_at_random_and_nothing_else_moves(seed):
    scores = torch.tensor([[0.2, 0.0, 0.0, 0.0, 0.9, -1.0]])
    ranks = break_ties(scores, seed)
    assert sorted(ranks[0].tolist()) == [0, 1, 2, 3, 4, 5]
    assert ranks[0, [4, 0, 5]].tolist() == [5, 4, 0]


def test_each_of_equal_scores_comes_first_now_and_then():
    ranks = break_ties(torch.zeros(4000, 4))
    share = (ranks == 3).double().mean(0)
    assert (share - 0.25).abs().max() < 0.03


@pytest.mark.parametrize(
    ("shift", "higher", "verdict"),
    [(0.5, True, "passes"), (0.5, False, "fails"), (0.0, True, "open")],
)
def test_a_verdict_needs_two_standard_errors(shift, higher, verdict):
    noise = torch.linspace(-1, 1, 101)
    control = torch.rand(101)
    found = paired(control + noise + shift, control, higher)
    assert found["verdict"] == verdict
    assert found["difference"] == pytest.approx(shift, abs=1e-6)
    assert found["se"] == pytest.approx(noise.std().item() / 101**0.5, rel=1e-4)


@pytest.mark.errors
def test_one_picture_is_no_comparison():
    with pytest.raises(ValueError, match="expected two pictures or more, got 1"):
        paired(torch.ones(1), torch.zeros(1))
