"""Encoder blocks: the norm before each branch, or after it."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch.nn import functional as F

import vitlib as vl
from vitlib.model.encoder import BLOCKS

CLOSE = dict(rtol=1e-5, atol=1e-6)


def random_block(order="pre", **options):
    torch.manual_seed(0)
    block = BLOCKS[order](12, 3, 24, **options).eval()
    for p in block.parameters():
        torch.nn.init.normal_(p, std=0.3)
    return block


def norm(layer: torch.nn.LayerNorm, x: torch.Tensor) -> torch.Tensor:
    """Equation 4 of layer normalisation (arXiv 1607.06450), with the paper's 1e-6."""
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt() * layer.weight + layer.bias


@pytest.mark.parametrize("bias", [None, torch.linspace(-1, 1, 75).reshape(1, 3, 5, 5)])
def test_pre_norm_is_equations_2_and_3(bias):
    block, x = random_block(), torch.randn(2, 5, 12)
    y = block.attn(norm(block.norm1, x), bias) + x
    torch.testing.assert_close(block(x, bias), block.mlp(norm(block.norm2, y)) + y, **CLOSE)


def test_post_norm_is_the_transformer_of_2017():
    block, x = random_block("post"), torch.randn(2, 5, 12)
    y = norm(block.norm1, block.attn(x) + x)
    torch.testing.assert_close(block(x), norm(block.norm2, block.mlp(y) + y), **CLOSE)


def test_the_orders_share_their_weights():
    assert random_block("pre").state_dict().keys() == random_block("post").state_dict().keys()
    assert issubclass(vl.PostNormBlock, vl.Block)
    block = random_block(layer_scale=0.1)
    assert len(list(block.parameters())) == len(block.state_dict()), "but no part shares another's"


@pytest.mark.parametrize(
    "rates", [(0.3, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 0.6), (0.2, 0.1, 0.4)], ids=str
)
@pytest.mark.parametrize("order", BLOCKS)
def test_in_training_every_drop_scale_and_bias_is_in_its_place(order, rates):
    """Rates of dropout, dropout on the attention weights, and DropPath."""
    drop, attn_drop, path = rates
    names = ("drop_rate", "attn_drop_rate", "drop_path")
    block = random_block(order, layer_scale=0.1, act="relu", **dict(zip(names, rates, strict=True))).train()
    x, bias = torch.randn(9, 5, 12), torch.randn(1, 3, 5, 5)

    def attention(x):
        q, k, v = (part.unflatten(2, (3, 4)).transpose(1, 2) for part in block.attn.qkv(x).chunk(3, dim=2))
        read = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=attn_drop)
        return block.ls1.gamma * F.dropout(block.attn.proj(read.transpose(1, 2).flatten(2)), drop)

    def mlp(x):
        hidden = F.dropout(F.relu(block.mlp.fc1(x)), drop)
        return block.ls2.gamma * F.dropout(block.mlp.fc2(hidden), drop)

    def some(branch):
        return branch * (torch.rand(9, 1, 1) >= path) / (1 - path) if path else branch

    torch.manual_seed(1)
    out = block(x, bias)
    torch.manual_seed(1)
    for branch, layer in ((attention, block.norm1), (mlp, block.norm2)):
        x = x + some(branch(norm(layer, x))) if order == "pre" else norm(layer, x + some(branch(x)))
    torch.testing.assert_close(out, x, **CLOSE)


@pytest.mark.parametrize("order", BLOCKS)
def test_attention_weights_are_those_of_the_branch(order):
    block, x = random_block(order), torch.randn(2, 5, 12)
    seen = {}
    block.attn.register_forward_pre_hook(lambda _, args: seen.update(x=args[0]))
    block(x)
    torch.testing.assert_close(block.attention_weights(x), block.attn.attention_weights(seen["x"]))


def test_it_is_timms_block(timm):
    from timm.models.vision_transformer import Block

    ours = random_block(layer_scale=0.1)
    norm = partial(torch.nn.LayerNorm, eps=1e-6)
    theirs = Block(12, 3, mlp_ratio=2, qkv_bias=True, init_values=0.1, norm_layer=norm).eval()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 5, 12)
    torch.testing.assert_close(ours(x), theirs(x), **CLOSE)


def test_layer_scale_of_zero_leaves_the_residual_stream():
    block, x = vl.Block(12, 3, 24, layer_scale=0.0), torch.randn(2, 5, 12)
    assert torch.equal(block(x), x)


def test_a_dropped_block_leaves_its_images_alone():
    torch.manual_seed(0)
    block, x = vl.Block(12, 3, 24, drop_path=0.5).train(), torch.randn(64, 5, 12)
    untouched = (block(x) == x).flatten(1).all(1)  # both branches dropped: one image in four
    assert 5 < untouched.sum() < 28


@pytest.mark.parametrize("order", BLOCKS)
def test_tokens_are_a_set(order):
    block, x, places = random_block(order), torch.randn(2, 7, 12), torch.randperm(7)
    torch.testing.assert_close(block(x[:, places]), block(x)[:, places], **CLOSE)
