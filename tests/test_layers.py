"""The MLP, stochastic depth and LayerScale."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import vitlib as vl
from vitlib.model.layers import ACTIVATIONS


@pytest.mark.parametrize(
    ("act", "function"),
    [("gelu", F.gelu), ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh")), ("relu", F.relu)],
)
def test_mlp_is_two_layers_and_an_activation(act, function):
    layer, x = vl.Mlp(6, 10, act), torch.randn(2, 3, 6)
    hidden = function(x @ layer.fc1.weight.T + layer.fc1.bias)
    torch.testing.assert_close(layer(x), hidden @ layer.fc2.weight.T + layer.fc2.bias)
    assert set(ACTIVATIONS) == {"gelu", "gelu_tanh", "relu"}


def test_mlp_treats_each_token_alone():
    layer, x = vl.Mlp(6, 10), torch.randn(2, 3, 6)
    torch.testing.assert_close(layer(x)[:, 1:2], layer(x[:, 1:2]))


def test_mlp_drops_out_twice():
    layer = vl.Mlp(6, 10, drop_rate=0.5).train()
    assert 0.3 < (layer(torch.randn(8, 50, 6)) == 0).float().mean() < 0.7
    x = torch.randn(1, 2, 6)
    assert torch.equal(layer.eval()(x), layer(x))


@pytest.mark.errors
def test_mlp_names_the_activations():
    with pytest.raises(ValueError, match="act must be one of gelu, gelu_tanh, relu; got 'swish'"):
        vl.Mlp(6, 10, "swish")


def test_drop_path_drops_whole_images_and_keeps_the_mean():
    torch.manual_seed(0)
    x = torch.ones(20_000, 2, 3)
    y = vl.DropPath(0.25).train()(x)
    assert torch.equal(y, y[:, :1, :1].expand_as(y))  # all or nothing for each image
    assert y.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert y.mean().item() == pytest.approx(1, abs=0.02)
    assert (y == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("shape", [(4,), (4, 2), (4, 2, 3, 5)])
def test_drop_path_takes_any_shape_and_dtype(shape):
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        y = vl.DropPath(0.5).train()(torch.ones(shape, dtype=dtype))
        assert y.shape == shape and y.dtype == dtype and set(y.unique().tolist()) <= {0.0, 2.0}


def test_drop_path_is_the_identity_otherwise():
    x = torch.randn(3, 2)
    assert vl.DropPath(0.9).eval()(x) is x and vl.DropPath(0.0).train()(x) is x
    assert "p=0.900" in repr(vl.DropPath(0.9))


@pytest.mark.errors
@pytest.mark.parametrize("p", [-0.1, 1.0, 2])
def test_drop_path_refuses(p):
    with pytest.raises(ValueError, match=rf"p must be .*in \[0, 1[\)\]], got {p}"):
        vl.DropPath(p)


def test_layer_scale():
    layer, x = vl.LayerScale(4, 0.1), torch.randn(2, 3, 4)
    torch.testing.assert_close(layer(x), x * 0.1)
    assert layer.gamma.shape == (4,) and layer.gamma.requires_grad


def test_layer_scale_may_start_at_a_whole_number():
    assert torch.equal(vl.LayerScale(3, 1).gamma, torch.ones(3))
    vl.VisionTransformer(vl.ViTConfig(img_size=8, embed_dim=12, depth=1, num_heads=2, layer_scale=1))
