"""Encoder blocks, the norm before each branch or after it, and their parts: MLP, stochastic depth, LayerScale."""

import pytest
import torch
from torch.nn import functional as F

import vitlib as vl
from vitlib.model.encoder import BLOCKS, DropPath

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
    return (
        centred / (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt() * layer.weight
        + layer.bias
    )


@pytest.mark.parametrize(
    "rates",
    [(0.3, 0.0), (0.0, 0.6), (0.2, 0.4)],
    ids=str,
)
@pytest.mark.parametrize("order", BLOCKS)
def test_in_training_every_drop_scale_and_bias_is_in_its_place(order, rates):
    """Rates of dropout and DropPath."""
    drop, path = rates
    names = ("drop_rate", "drop_path")
    block = random_block(
        order, layer_scale=0.1, act="relu", **dict(zip(names, rates, strict=True))
    ).train()
    x, bias = torch.randn(9, 5, 12), torch.randn(1, 3, 5, 5)

    def attention(x):
        q, k, v = (
            part.unflatten(2, (3, 4)).transpose(1, 2)
            for part in block.attn.qkv(x).chunk(3, dim=2)
        )
        read = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return block.ls1.gamma * F.dropout(
            block.attn.proj(read.transpose(1, 2).flatten(2)), drop
        )

    def mlp(x):
        hidden = F.dropout(F.relu(block.mlp.fc1(x)), drop)
        return block.ls2.gamma * F.dropout(block.mlp.fc2(hidden), drop)

    def some(branch):
        return branch * (torch.rand(9, 1, 1) >= path) / (1 - path) if path else branch

    torch.manual_seed(1)
    out = block(x, bias)
    torch.manual_seed(1)
    for branch, layer in ((attention, block.norm1), (mlp, block.norm2)):
        x = (
            x + some(branch(norm(layer, x)))
            if order == "pre"
            else norm(layer, x + some(branch(x)))
        )
    torch.testing.assert_close(out, x, **CLOSE)


# --- parts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "function"),
    [
        ("gelu", F.gelu),
        ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh")),
        ("relu", F.relu),
    ],
)
def test_mlp_is_two_layers_and_an_activation(act, function):
    layer, x = vl.Mlp(6, 10, act), torch.randn(2, 3, 6)
    hidden = function(x @ layer.fc1.weight.T + layer.fc1.bias)
    torch.testing.assert_close(layer(x), hidden @ layer.fc2.weight.T + layer.fc2.bias)


@pytest.mark.errors
def test_mlp_names_the_activations():
    kinds = "gelu, gelu_tanh, quick_gelu, silu, relu"
    with pytest.raises(ValueError, match=f"act must be one of {kinds}; got 'swish'"):
        vl.Mlp(6, 10, "swish")


def test_drop_path_drops_whole_images_and_keeps_the_mean():
    torch.manual_seed(0)
    x = torch.ones(20_000, 2, 3)
    y = DropPath(0.25).train()(x)
    assert torch.equal(y, y[:, :1, :1].expand_as(y))  # all or nothing for each image
    assert y.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert y.mean().item() == pytest.approx(1, abs=0.02)
    assert (y == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)


def test_drop_path_is_the_identity_otherwise():
    x = torch.randn(3, 2)
    assert DropPath(0.9).eval()(x) is x and DropPath(0.0).train()(x) is x
    assert DropPath().p == 0 and "p=0.900" in repr(DropPath(0.9))
