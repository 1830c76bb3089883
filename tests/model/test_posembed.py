"""Position embeddings of every kind: their interface, their numbers, another grid."""

from __future__ import annotations

import pytest
import torch

import vitlib as vl
from vitlib.model.posembed import POS_EMBEDS, PosEmbed


def test_sincos_golden():
    table = vl.sincos_2d((2, 3), 8)
    assert table.shape == (6, 8)
    frequencies = torch.tensor([1.0, 0.01])
    position = torch.tensor([1.0, 2.0])  # row 1, column 2: the last
    row, col = position[0] * frequencies, position[1] * frequencies
    torch.testing.assert_close(table[5], torch.cat([row.sin(), row.cos(), col.sin(), col.cos()]))
    assert torch.equal(table[0], torch.tensor([0.0, 0, 1, 1, 0, 0, 1, 1]))


def test_sincos_similarity_depends_on_the_offset_alone():
    table = vl.sincos_2d((6, 6), 32)
    likeness = (table @ table.T).reshape(6, 6, 6, 6)
    torch.testing.assert_close(likeness[1, 2, 3, 4], likeness[2, 1, 4, 3])
    assert likeness[0, 0, 0, 1] > likeness[0, 0, 0, 2] > likeness[0, 0, 0, 3]


@pytest.mark.errors
def test_sincos_refuses():
    with pytest.raises(ValueError, match="sincos_2d splits embed_dim in four; 10 is not a multiple of 4"):
        vl.sincos_2d((2, 2), 10)


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
        assert bias.shape == (1, 2, 13, 13) and pos.attention_bias().shape == (1, 2, 16, 16)


@pytest.mark.parametrize("kind", POS_EMBEDS)
def test_resampling_to_the_same_grid_changes_nothing(kind):
    pos = POS_EMBEDS[kind]((3, 4), 8, 2)
    before = {name: value.clone() for name, value in pos.state_dict().items()}
    pos.resample((3, 4))
    assert all(torch.equal(value, before[name]) for name, value in pos.state_dict().items())


def test_resampled_parameters_are_still_trained():
    for kind in ("learned", "learned2d", "relative"):
        pos = POS_EMBEDS[kind]((3, 4), 8, 2)
        pos.resample((4, 5))
        assert all(p.requires_grad and p.is_leaf for p in pos.parameters())


def test_learned_resamples_like_the_function():
    pos = POS_EMBEDS["learned"]((4, 4), 8, 2)
    expected = vl.resample_pos_embed(pos.table().detach(), (2, 7), (4, 4))
    pos.resample((2, 7))
    assert torch.equal(pos.table(), expected)


def test_learned2d_is_a_sum_of_rows_and_columns_also_after_resampling():
    pos = POS_EMBEDS["learned2d"]((4, 5), 8, 2)
    pos.resample((6, 3))
    patches = pos.table()[0, 1:].unflatten(0, (6, 3))
    assert torch.equal(patches[..., :4], pos.rows[:, None].expand(6, 3, 4))
    assert torch.equal(patches[..., 4:], pos.cols[None].expand(6, 3, 4))
    assert torch.equal(pos.table()[0, :1], pos.cls[0])


def test_learned2d_resamples_rows_as_a_grid_would():
    pos = POS_EMBEDS["learned2d"]((4, 5), 8, 2)
    whole = vl.resample_pos_embed(pos.table().detach(), (7, 3), (4, 5))
    pos.resample((7, 3))
    torch.testing.assert_close(pos.table(), whole, rtol=0, atol=1e-6)  # separable: both ways agree


def test_sincos_is_fixed_and_recomputed():
    pos = POS_EMBEDS["sincos2d"]((3, 3), 8, 2)
    assert not list(pos.parameters()) and not pos.state_dict()
    pos.resample((2, 5))
    assert torch.equal(pos.table()[0, 1:], vl.sincos_2d((2, 5), 8)) and not pos.table()[0, 0].any()


def test_relative_bias_depends_on_the_offset_alone():
    pos = POS_EMBEDS["relative"]((3, 4), 8, 2)
    with torch.no_grad():
        pos.cls_bias.copy_(torch.tensor([[1.0, 2, 3], [4, 5, 6]]))
    bias = pos.attention_bias()[0]
    grid = bias[:, 1:, 1:].reshape(2, 3, 4, 3, 4)
    for r in range(3):
        for c in range(4):
            for s in range(3):
                for d in range(4):
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
    torch.testing.assert_close(
        pos.bias[:, 7], torch.zeros(2, 15), rtol=0, atol=1e-5
    )  # no offset stays no offset
    assert (pos.bias[:, 1:, 0] > pos.bias[:, :-1, 0]).all()
