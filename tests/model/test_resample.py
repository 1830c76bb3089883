"""Position embeddings on another grid, beside timm's."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import vitlib as vl
from vitlib.model.posembed import resample_grid

GRIDS = st.tuples(st.integers(1, 9), st.integers(1, 9))


@settings(deadline=None, max_examples=20)
@given(GRIDS, st.integers(0, 2))
def test_resampling_to_the_same_grid_is_the_identity(grid, prefix):
    table = torch.randn(1, prefix + grid[0] * grid[1], 6)
    assert torch.equal(vl.resample_pos_embed(table, grid, grid, prefix), table)


@settings(deadline=None, max_examples=30)
@given(GRIDS, GRIDS, st.integers(0, 2), st.sampled_from([torch.float32, torch.float16, torch.bfloat16]))
def test_resampling_keeps_prefix_dtype_and_constants(old, new, prefix, dtype):
    torch.manual_seed(0)
    table = torch.randn(1, prefix + old[0] * old[1], 4).to(dtype)
    result = vl.resample_pos_embed(table, new, old, prefix)
    assert result.shape == (1, prefix + new[0] * new[1], 4) and result.dtype == dtype
    assert torch.equal(result[:, :prefix], table[:, :prefix])
    ones = vl.resample_pos_embed(torch.ones_like(table), new, old, prefix)
    torch.testing.assert_close(
        ones, torch.ones_like(ones), rtol=0, atol=1e-2 if dtype != torch.float32 else 1e-5
    )


def test_resampling_is_timms(timm):
    from timm.layers import resample_abs_pos_embed

    @settings(deadline=None, max_examples=40)
    @given(GRIDS, GRIDS.filter(lambda new: new[1] > 1), st.integers(0, 2))  # one column: see the test below
    def check(old, new, prefix):
        table = torch.randn(1, prefix + old[0] * old[1], 5)
        expected = resample_abs_pos_embed(table, list(new), list(old), num_prefix_tokens=prefix)
        result = vl.resample_pos_embed(table, new, old, num_prefix_tokens=prefix)
        torch.testing.assert_close(result, expected, rtol=0, atol=0)

    check()


def test_the_old_grid_is_found_if_it_is_square():
    table = torch.randn(1, 1 + 49, 4)
    assert torch.equal(vl.resample_pos_embed(table, (5, 9)), vl.resample_pos_embed(table, (5, 9), (7, 7)))


def test_height_and_width_are_not_swapped():
    rows = torch.arange(4.0)[:, None].expand(4, 6).reshape(1, 24, 1)  # each position holds its row
    wide = vl.resample_pos_embed(rows, (4, 12), (4, 6), num_prefix_tokens=0).reshape(4, 12)
    torch.testing.assert_close(wide, torch.arange(4.0)[:, None].expand(4, 12), rtol=0, atol=1e-5)


def test_resampling_keeps_a_smooth_ramp():
    ramp = torch.linspace(-1, 1, 16)[:, None].expand(16, 16).reshape(1, 256, 1)
    up = vl.resample_pos_embed(ramp, (32, 32), num_prefix_tokens=0).reshape(32, 32)
    positions = (torch.arange(32) + 0.5) / 32 * 16 - 0.5  # where the new rows lie among the old
    torch.testing.assert_close(up[4:-4, 0], (positions / 15 * 2 - 1)[4:-4], rtol=0, atol=1e-4)


@settings(deadline=None, max_examples=40)
@given(GRIDS, GRIDS)
def test_resampling_is_separable(old, new):
    """Rows and columns may be resampled one after the other. PyTorch's own antialiased kernel breaks this where the
    result is one column wide (seen in 2.13): it repeats the first row."""
    grid = torch.randn(1, 2, *old)
    rows, cols = (
        resample_grid(torch.eye(n)[None, :, None], (1, m))[0, :, 0].T for n, m in zip(old, new, strict=True)
    )
    expected = torch.einsum("ij,bdjk,lk->bdil", rows, grid, cols)
    torch.testing.assert_close(resample_grid(grid, new), expected, rtol=0, atol=1e-5)


def test_resample_grid_gradient():
    grid = torch.randn(1, 2, 4, 4, requires_grad=True)
    resample_grid(grid, (3, 5)).sum().backward()
    assert grid.grad.abs().sum() > 0


@pytest.mark.errors
@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((17, 4), dict(new_grid=(2, 2)), r"expected pos_embed of shape \(1, T, D\), got \(17, 4\)"),
        ((2, 17, 4), dict(new_grid=(2, 2)), r"expected pos_embed of shape \(1, T, D\), got \(2, 17, 4\)"),
        (
            (1, 17, 4),
            dict(new_grid=(2, 2), num_prefix_tokens=17),
            r"num_prefix_tokens must be in \[0, 17\), got 17",
        ),
        (
            (1, 17, 4),
            dict(new_grid=(2, 2), num_prefix_tokens=-1),
            r"num_prefix_tokens must be in \[0, 17\), got -1",
        ),
        (
            (1, 16, 4),
            dict(new_grid=(2, 2)),
            r"15 patch positions are not a square grid; give old_grid=\(rows, columns\)",
        ),
        (
            (1, 17, 4),
            dict(new_grid=(2, 2), old_grid=(3, 5)),
            r"old_grid \(3, 5\) has 15 places, but pos_embed has 16",
        ),
        ((1, 17, 4), dict(new_grid=8), r"new_grid must be \(rows, columns\), got 8"),
        (
            (1, 17, 4),
            dict(new_grid=(2, 2), old_grid=[4, 4, 4]),
            r"old_grid must be \(rows, columns\), got \[4, 4, 4\]",
        ),
        (
            (1, 17, 4),
            dict(new_grid=(0, 2)),
            r"new_grid must be \(rows, columns\), got \(0, 2\); at least one of each",
        ),
    ],
)
def test_resample_refuses(shape, options, message):
    with pytest.raises(ValueError, match=message):
        vl.resample_pos_embed(torch.zeros(shape), **options)
