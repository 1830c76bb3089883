"""Position embeddings of every kind: their interface, their numbers, and another grid, beside timm's."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import vitlib as vl
from vitlib.model.posembed import POS_EMBEDS, PosEmbed, resample_grid

GRIDS = st.tuples(st.integers(1, 9), st.integers(1, 9))


def test_sincos_golden():
    table = vl.sincos_2d((2, 3), 8)
    assert table.shape == (6, 8)
    frequencies = torch.tensor([1.0, 0.01])
    position = torch.tensor([1.0, 2.0])  # row 1, column 2: the last
    row, col = position[0] * frequencies, position[1] * frequencies
    torch.testing.assert_close(
        table[5], torch.cat([row.sin(), row.cos(), col.sin(), col.cos()])
    )
    assert torch.equal(table[0], torch.tensor([0.0, 0, 1, 1, 0, 0, 1, 1]))


@pytest.mark.parametrize("kind", POS_EMBEDS)
def test_the_interface_of_every_kind(kind):
    torch.manual_seed(0)
    pos = POS_EMBEDS[kind]((3, 4), 8, 2)
    x = torch.randn(2, 13, 8)
    assert isinstance(pos, PosEmbed)
    assert pos.table().shape == (1, 13, 8)
    torch.testing.assert_close(pos(x), x + pos.table())
    bias = pos.attention_bias()
    assert (bias is None) == (kind != "relative")
    pos.resample((5, 3))
    assert pos.grid == (5, 3) and pos.table().shape == (1, 16, 8)
    assert pos(torch.zeros(1, 16, 8)).shape == (1, 16, 8)
    if bias is not None:
        assert bias.shape == (1, 2, 13, 13) and pos.attention_bias().shape == (
            1,
            2,
            16,
            16,
        )


def test_sincos_is_fixed_and_keeps_each_place_of_the_picture():
    pos = POS_EMBEDS["sincos2d"]((3, 3), 8, 2)
    assert not list(pos.parameters()) and not pos.state_dict()
    assert torch.equal(pos.table()[0, 1:], vl.sincos_2d((3, 3), 8))
    pos.resample((2, 5))
    assert (
        torch.equal(pos.table()[0, 1:], vl.sincos_2d((2, 5), 8, (3, 3)))
        and not pos.table()[0, 0].any()
    )
    # each old row has three new ones, the middle one at its own place
    pos.resample((9, 3))
    assert torch.equal(
        pos.table()[0, 1:].unflatten(0, (9, 3))[1::3].flatten(0, 1),
        vl.sincos_2d((3, 3), 8),
    )
    pos.resample((3, 3))
    assert not pos.state_dict() and torch.equal(
        pos.table()[0, 1:], vl.sincos_2d((3, 3), 8)
    )


@pytest.mark.parametrize(("side", "first"), [(6, 1 / 6), (8, 0.0), (12, -1 / 6)])
def test_fractional_places_are_the_centres_of_the_patches(side, first):
    """As for the learned table: a patch of half the size at the left edge has its centre nearer to the edge."""
    # sin(row w), the lowest w
    slow = vl.sincos_2d((side, side), 400, (8, 8)).unflatten(0, (side, side))[:, 0, 99]
    rows = slow * 10000**0.99
    torch.testing.assert_close(
        rows[[0, -1]], torch.tensor([first, 7 - first]), atol=2e-4, rtol=0
    )
    torch.testing.assert_close(
        rows.diff(), torch.full((side - 1,), 8 / side), atol=2e-4, rtol=0
    )


def test_relative_bias_depends_on_the_offset_alone():
    pos = POS_EMBEDS["relative"]((3, 4), 8, 2)
    with torch.no_grad():
        pos.cls_bias.copy_(torch.tensor([[1.0, 2, 3], [4, 5, 6]]))
    bias = pos.attention_bias()[0]
    grid = bias[:, 1:, 1:].reshape(2, 3, 4, 3, 4)
    for r, c, s, d in itertools.product(range(3), range(4), range(3), range(4)):
        assert torch.equal(grid[:, r, c, s, d], pos.bias[:, r - s + 2, c - d + 3])
    assert bias[:, 0, 1:].unique(dim=1).squeeze().tolist() == [1, 4]  # CLS to patch
    assert bias[:, 1:, 0].unique(dim=1).squeeze().tolist() == [2, 5]  # patch to CLS
    assert bias[:, 0, 0].tolist() == [3, 6]


def test_relative_bias_resamples_offsets():
    pos = POS_EMBEDS["relative"]((4, 4), 8, 2)
    with torch.no_grad():
        pos.bias.copy_(torch.linspace(-1, 1, 7)[None, :, None].expand(2, 7, 7))
    pos.resample((8, 8))
    assert pos.bias.shape == (2, 15, 15)
    # no offset stays none
    torch.testing.assert_close(pos.bias[:, 7], torch.zeros(2, 15), rtol=0, atol=1e-5)
    assert (pos.bias[:, 1:, 0] > pos.bias[:, :-1, 0]).all()


# --- on another grid ----------------------------------------------------------------------------------------------


def test_resampling_is_timms(timm):
    from timm.layers import resample_abs_pos_embed

    @given(
        GRIDS, GRIDS.filter(lambda new: new[1] > 1), st.integers(0, 2)
    )  # one column: see the test below
    def check(old, new, prefix):
        table = torch.randn(1, prefix + old[0] * old[1], 5)
        expected = resample_abs_pos_embed(
            table, list(new), list(old), num_prefix_tokens=prefix
        )
        result = vl.resample_pos_embed(table, new, old, num_prefix_tokens=prefix)
        torch.testing.assert_close(result, expected, rtol=0, atol=0)

    check()


@given(GRIDS, GRIDS)
def test_resampling_is_separable(old, new):
    """Rows and columns may be resampled one after the other. PyTorch's own antialiased kernel breaks this where the
    result is one column wide (seen in 2.13): it repeats the first row."""
    grid = torch.randn(1, 2, *old)
    rows, cols = (
        resample_grid(torch.eye(n)[None, :, None], (1, m))[0, :, 0].T
        for n, m in zip(old, new, strict=True)
    )
    expected = torch.einsum("ij,bdjk,lk->bdil", rows, grid, cols)
    torch.testing.assert_close(resample_grid(grid, new), expected, rtol=0, atol=1e-5)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        (
            (1, 16, 4),
            {},
            r"15 patch positions are not a square grid; give old_grid=\(rows, columns\)",
        ),
        (
            (1, 17, 4),
            dict(old_grid=(3, 5)),
            r"old_grid \(3, 5\) has 15 places, but pos_embed has 16",
        ),
    ],
)
def test_resample_refuses(shape, options, message):
    with pytest.raises(ValueError, match=message):
        vl.resample_pos_embed(torch.zeros(shape), **dict(new_grid=(2, 2)) | options)


def test_rotary_scores_depend_on_offsets_alone_and_cls_does_not_turn():
    """The same query and key at each place: equal scores at equal offsets, others at others; PyTorch's own rotation."""
    pos = POS_EMBEDS["rope"]((3, 4), 16, 2)
    torch.manual_seed(0)
    q, k = (torch.randn(1, 1, 1, 8).expand(1, 1, 13, 8) for _ in range(2))
    scores = (pos.turn(q) @ pos.turn(k).mT)[0, 0, 1:, 1:].view(3, 4, 3, 4)
    torch.testing.assert_close(scores[0, 0, 1, 2], scores[1, 1, 2, 3])
    torch.testing.assert_close(scores[2, 3, 0, 1], scores[2, 2, 0, 0])
    assert not torch.isclose(scores[0, 0, 1, 2], scores[0, 0, 2, 1]), (
        "rows and columns turn different numbers"
    )
    assert torch.equal(pos.turn(q)[:, :, 0], q[:, :, 0])
    pairs = torch.view_as_complex(q[0, 0, 6].view(4, 2))  # patch 5: row 1, column 1
    angles = torch.tensor([1, 0.1, 1, 0.1])
    torch.testing.assert_close(
        torch.view_as_complex(pos.turn(q)[0, 0, 6].view(4, 2)),
        pairs * torch.polar(torch.ones(4), angles),
    )
