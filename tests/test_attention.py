"""Attention: the fused path, the explicit weights, PyTorch's own layer and timm's."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import vitlib as vl

CLOSE = dict(rtol=1e-5, atol=1e-6)


def random_attention(embed_dim=12, num_heads=3, **options) -> vl.Attention:
    torch.manual_seed(0)
    return vl.Attention(embed_dim, num_heads, **options).eval()


@settings(deadline=None, max_examples=25)
@given(
    st.integers(1, 3), st.integers(1, 9), st.integers(1, 4), st.integers(1, 5), st.booleans(), st.booleans()
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


def test_gradients_of_both_paths_agree():
    layer = random_attention()
    x, bias = torch.randn(2, 5, 12), torch.randn(1, 3, 5, 5, requires_grad=True)
    target = torch.randn(2, 5, 12)
    wanted = [*layer.parameters(), bias]
    fused = torch.autograd.grad((layer(x, bias) * target).sum(), wanted)
    mixed = layer.attention_weights(x, bias) @ layer.project(x)[2]
    slow = torch.autograd.grad((layer.proj(mixed.transpose(1, 2).flatten(2)) * target).sum(), wanted)
    for a, b in zip(fused, slow, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("biased", [False, True])
def test_training_in_bfloat16_follows_float32(biased):
    layer, x, target = random_attention(), torch.randn(2, 5, 12), torch.randn(2, 5, 12)
    bias = torch.randn(1, 3, 5, 5, requires_grad=True) if biased else None
    wanted = [*layer.parameters(), *([bias] if biased else [])]
    gradients = []
    for enabled in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            mixed = layer(x, bias)
        assert mixed.dtype == (torch.bfloat16 if enabled else torch.float32)
        gradients.append(torch.autograd.grad((mixed.float() * target).sum(), wanted))
    for exact, rough in zip(*gradients, strict=True):
        torch.testing.assert_close(rough, exact, rtol=0.05, atol=0.02 * exact.abs().max().item() + 1e-3)
    whole = layer.to(torch.bfloat16)(x.bfloat16(), bias.bfloat16() if biased else None)
    assert whole.dtype == torch.bfloat16


def test_it_is_torchs_multihead_attention():
    ours, theirs = random_attention(), nn.MultiheadAttention(12, 3, batch_first=True).eval()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.qkv.weight)
        theirs.in_proj_bias.copy_(ours.qkv.bias.normal_())
        theirs.out_proj.weight.copy_(ours.proj.weight)
        theirs.out_proj.bias.copy_(ours.proj.bias.normal_())
    x = torch.randn(2, 5, 12)
    mixed, weights = theirs(x, x, x, average_attn_weights=False)
    torch.testing.assert_close(ours(x), mixed, **CLOSE)
    torch.testing.assert_close(ours.attention_weights(x), weights, **CLOSE)


def test_it_is_timms_attention(timm):
    from timm.layers import Attention

    ours, theirs = random_attention(), Attention(12, num_heads=3, qkv_bias=True).eval()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 5, 12)
    torch.testing.assert_close(ours(x), theirs(x), **CLOSE)


def test_one_head_by_hand():
    layer = random_attention(4, 1)
    x = torch.randn(1, 3, 4)
    q, k, v = (layer.qkv(x)[0][:, i * 4 : i * 4 + 4] for i in range(3))  # order q, k, v
    weights = torch.stack([torch.stack([q[i] @ k[j] for j in range(3)]) / 2 for i in range(3)]).softmax(-1)
    torch.testing.assert_close(layer(x)[0], layer.proj(weights @ v), **CLOSE)


def test_tokens_are_a_set():
    layer, x, order = random_attention(), torch.randn(2, 7, 12), torch.randperm(7)
    torch.testing.assert_close(layer(x[:, order]), layer(x)[:, order], **CLOSE)


def test_the_bias_of_the_keys_does_nothing():
    layer, x = random_attention(), torch.randn(2, 7, 12)
    before = layer(x)
    with torch.no_grad():
        layer.qkv.bias[12:24] += torch.randn(12)  # q, k, v: the second third
        torch.testing.assert_close(layer(x), before, **CLOSE)
        for third in (slice(0, 12), slice(24, 36)):
            layer.qkv.bias[third] += 1.0
            assert (layer(x) - before).abs().max() > 1e-3


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 3), st.integers(1, 9), st.floats(0.1, 30))
def test_every_output_lies_within_the_values(B, T, loud):
    layer, x = random_attention(), loud * torch.randn(B, T, 12)
    values = layer.project(x)[2]
    mixed = layer.attention_weights(x) @ values  # (B, h, T, d)
    slack = 1e-4 * loud
    assert (mixed >= values.amin(dim=2, keepdim=True) - slack).all()
    assert (mixed <= values.amax(dim=2, keepdim=True) + slack).all()


def test_dropout_acts_in_training_alone():
    layer = random_attention(attn_drop_rate=0.5)
    x = torch.randn(2, 6, 12)
    assert torch.equal(layer(x), layer(x))
    layer.train()
    assert not torch.equal(layer(x), layer(x))
    assert torch.equal(layer.attention_weights(x), layer.attention_weights(x))  # the weights leave it out
    layer = random_attention(drop_rate=0.5).train()
    assert (layer(x) == 0).float().mean() > 0.2


def test_nothing_is_cached_and_the_input_is_left_alone():
    layer, x = random_attention(), torch.randn(1, 4, 12)
    before = x.clone(), set(vars(layer))
    layer(x), layer.attention_weights(x)
    assert torch.equal(x, before[0]) and set(vars(layer)) == before[1]


@pytest.mark.errors
def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="embed_dim 10 is not a multiple of num_heads 3; try embed_dim 12"):
        vl.Attention(10, 3)


@pytest.mark.errors
@pytest.mark.parametrize("heads", [0, -3])
def test_there_is_at_least_one_head(heads):
    with pytest.raises(ValueError, match=f"num_heads must be a positive integer, got {heads}"):
        vl.Attention(12, heads)


@pytest.mark.errors
@pytest.mark.parametrize("method", ["forward", "attention_weights", "project"])
@pytest.mark.parametrize(
    "shape, fix",
    [
        ((5, 12), "add the batch axis"),
        ((2, 5, 13), "embedded"),
        ((2, 3, 5, 12), "embedded"),
        ((12,), "embedded"),
    ],
)
def test_tokens_of_another_shape_are_refused(method, shape, fix):
    with pytest.raises(ValueError, match=rf"expected tokens of shape \(B, T, 12\), got .*{fix}"):
        getattr(random_attention(), method)(torch.randn(shape))
