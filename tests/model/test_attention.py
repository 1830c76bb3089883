"""Attention: the fused path, the explicit weights, PyTorch's own layer and timm's."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import vitlib as vl
from vitlib.model.attention import AxialAttention

CLOSE, EITHER = dict(rtol=1e-5, atol=1e-6), st.booleans()


def random_attention(embed_dim=12, num_heads=3, **options) -> vl.Attention:
    torch.manual_seed(0)
    return vl.Attention(embed_dim, num_heads, **options).eval()


@given(
    st.integers(1, 3),
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(1, 5),
    EITHER,
    EITHER,
)
def test_fused_path_is_explicit_weights_times_values(B, T, heads, d, qkv_bias, biased):
    layer = random_attention(heads * d, heads, qkv_bias=qkv_bias)
    x = torch.randn(B, T, heads * d)
    bias = torch.randn(1, heads, T, T) if biased else None
    weights = layer.attention_weights(x, bias)
    mixed = weights @ layer.project(x)[2]  # (B, h, T, d)
    expected = layer.proj(mixed.transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(x, bias), expected, **CLOSE)
    assert weights.shape == (B, heads, T, T) and (weights >= 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, heads, T))


def test_it_is_torchs_multihead_attention():
    ours, theirs = (
        random_attention(),
        nn.MultiheadAttention(12, 3, batch_first=True).eval(),
    )
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.qkv.weight)
        theirs.in_proj_bias.copy_(ours.qkv.bias.normal_())
        theirs.out_proj.weight.copy_(ours.proj.weight)
        theirs.out_proj.bias.copy_(ours.proj.bias.normal_())
    x = torch.randn(2, 5, 12)
    mixed, weights = theirs(x, x, x, average_attn_weights=False)
    torch.testing.assert_close(ours(x), mixed, **CLOSE)
    torch.testing.assert_close(ours.attention_weights(x), weights, **CLOSE)


def test_dropout_acts_in_training_alone():
    layer = random_attention(drop_rate=0.5)
    x = torch.randn(2, 6, 12)
    assert torch.equal(layer(x), layer(x))
    assert (layer.train()(x) == 0).float().mean() > 0.2


# --- along one axis (Appendix D.6) ------------------------------------------------------------------------------

AXES = ("row", "column")


def axial(
    grid=(3, 4), axis="row", embed_dim=12, num_heads=3, **options
) -> AxialAttention:
    torch.manual_seed(0)
    return AxialAttention(embed_dim, num_heads, grid=grid, axis=axis, **options).eval()


def readable(grid: tuple[int, int], axis: str) -> torch.Tensor:
    """Which keys each query may read, (T, T): the slow, obvious rule, one pair at a time."""
    rows, cols = grid
    # CLS has no place
    places = [
        None,
        *((r, c) for r in range(rows) for c in range(cols)),
    ]
    line = 0 if axis == "row" else 1
    # True where both are in one line, or one of them is CLS
    return torch.tensor(
        [[a is None or b is None or a[line] == b[line] for b in places] for a in places]
    )


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("biased", [False, True])
def test_axial_attention_is_full_attention_under_a_mask(axis, biased):
    layer, full = axial(axis=axis), random_attention()
    full.load_state_dict(layer.state_dict())  # the same names and shapes
    x, target = torch.randn(2, 13, 12), torch.randn(2, 13, 12)
    own = (
        torch.randn(1, 3, 13, 13, requires_grad=True)
        if biased
        else torch.zeros(1, 3, 13, 13)
    )
    masked = own.masked_fill(~readable((3, 4), axis), -torch.inf)
    bias = own if biased else None
    torch.testing.assert_close(layer(x, bias), full(x, masked), **CLOSE)
    weights = layer.attention_weights(x, bias)
    torch.testing.assert_close(weights, full.attention_weights(x, masked), **CLOSE)
    assert torch.equal(weights > 0, readable((3, 4), axis).expand(2, 3, -1, -1))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 13))
    gradients = []
    for model, extra in ((layer, bias), (full, masked)):
        wanted = [*model.parameters(), *([own] if biased else [])]
        gradients.append(torch.autograd.grad((model(x, extra) * target).sum(), wanted))
    for fast, slow in zip(*gradients, strict=True):
        torch.testing.assert_close(fast, slow, rtol=1e-4, atol=1e-5)


# --- what it refuses --------------------------------------------------------------------------------------------


@pytest.mark.errors
@pytest.mark.parametrize("method", ["forward", "attention_weights", "project"])
@pytest.mark.parametrize(
    "shape, fix",
    [((5, 12), "add the batch axis"), ((2, 5, 13), "embedded"), ((12,), "embedded")],
)
def test_tokens_of_another_shape_are_refused(method, shape, fix):
    with pytest.raises(
        ValueError, match=rf"expected tokens of shape \(B, T, 12\), got .*{fix}"
    ):
        getattr(random_attention(), method)(torch.randn(shape))
