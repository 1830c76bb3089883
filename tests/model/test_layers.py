"""The MLP, stochastic depth and LayerScale."""

from __future__ import annotations

import pytest
import torch
from scipy import stats
from torch import nn
from torch.nn import functional as F

import vitlib as vl
from vitlib.model.layers import ACTIVATIONS, init_projection


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


def test_mlp_drops_out_after_the_activation_and_at_the_end():
    layer, x = vl.Mlp(6, 10, drop_rate=0.3).train(), torch.randn(4, 3, 6)
    torch.manual_seed(1)
    out = layer(x)
    torch.manual_seed(1)
    hidden = F.dropout(F.gelu(x @ layer.fc1.weight.T + layer.fc1.bias), 0.3)
    torch.testing.assert_close(out, F.dropout(hidden @ layer.fc2.weight.T + layer.fc2.bias, 0.3))


def test_mlp_is_as_wide_as_told():
    shapes = {name: tuple(p.shape) for name, p in vl.Mlp(6, 10).named_parameters()}
    assert shapes == {"fc1.weight": (10, 6), "fc1.bias": (10,), "fc2.weight": (6, 10), "fc2.bias": (6,)}


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
    layer(x).sum().backward()
    torch.testing.assert_close(layer.gamma.grad, x.sum((0, 1)))


def test_layer_scale_may_start_at_a_whole_number():
    assert torch.equal(vl.LayerScale(3, 1).gamma, torch.ones(3))
    vl.VisionTransformer(vl.ViTConfig(img_size=8, embed_dim=12, depth=1, num_heads=2, layer_scale=1))


@pytest.mark.parametrize("layer", [nn.Conv2d(3, 256, 4), nn.Linear(48, 256)], ids=str)
def test_a_projection_starts_as_a_normal_of_one_over_the_root_of_its_inputs(layer):
    torch.manual_seed(0)
    assert init_projection(layer) is layer and not layer.bias.any()
    weights = layer.weight.detach().flatten().numpy()
    assert stats.kstest(weights, stats.norm(0, 48**-0.5).cdf).pvalue > 1e-5
    assert weights.std() == pytest.approx(48**-0.5, rel=0.03) and abs(weights.mean()) < 0.007


def test_drop_path_drops_nothing_unless_told():
    x = torch.randn(4, 3, 5)
    assert torch.equal(vl.DropPath()(x), x) and vl.DropPath().p == 0


def test_patch_drop_leaves_out_other_patches_of_each_image_and_keeps_cls():
    x = torch.arange(5 * 17, dtype=torch.float32).view(5, 17, 1).expand(-1, -1, 3)
    torch.manual_seed(1)
    out = vl.PatchDrop(0.75)(x)
    assert out.shape == (5, 5, 3) and torch.equal(out[:, 0], x[:, 0])
    places = (out[:, 1:, 0] - x[:, :1, 0]).long()  # (B, n)
    assert all(len(set(row)) == 4 and min(row) >= 1 for row in places.tolist())
    assert len({tuple(sorted(row)) for row in places.tolist()}) == 5
    assert torch.equal(out[:, :, 0], out[:, :, 2])


def test_patch_drop_keeps_each_patch_as_often():
    torch.manual_seed(0)
    kept = vl.PatchDrop(0.5)(torch.arange(9.0).view(1, 9, 1).expand(4000, -1, -1))[:, 1:].flatten().long()
    shares = kept.bincount(minlength=9)[1:] / 4000
    assert (shares - 0.5).abs().max() < 0.03


@pytest.mark.parametrize("layer", [vl.PatchDrop(0.0), vl.PatchDrop(0.5).eval(), vl.PatchDrop()])
def test_patch_drop_is_the_identity_otherwise(layer):
    x = torch.randn(2, 5, 3)
    assert layer(x) is x


def test_one_patch_always_stays_and_is_counted_by_rounding():
    assert vl.PatchDrop(0.99)(torch.zeros(2, 5, 3)).shape == (2, 2, 3)
    assert vl.PatchDrop(0.4)(torch.zeros(2, 65, 3)).shape == (2, 39, 3)


@pytest.mark.errors
@pytest.mark.parametrize("rate", [-0.1, 1.0, "0"])
def test_patch_drop_refuses(rate):
    with pytest.raises(ValueError, match=r"rate must be a number in \[0, 1\)"):
        vl.PatchDrop(rate)
