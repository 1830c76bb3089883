"""Which model a config describes, and what both kinds have in common."""

from __future__ import annotations

import pytest
import torch

import vitlib as vl

CONFIGS = [
    vl.ViTConfig(img_size=16, embed_dim=12, depth=1, num_heads=2),
    vl.ViTConfig(img_size=16, embed_dim=12, depth=1, num_heads=2, global_pool="avg", patch_embed="hybrid"),
    vl.ResNetConfig(img_size=16, widths=(32, 64), depths=(1, 1)),
]


def test_each_config_has_its_model():
    assert [type(vl.build_model(cfg)) for cfg in CONFIGS] == [
        vl.VisionTransformer,
        vl.VisionTransformer,
        vl.ResNet,
    ]
    assert [vl.build_model(cfg).cfg for cfg in CONFIGS] == CONFIGS
    assert {"vit": vl.ViTConfig, "resnet": vl.ResNetConfig} == vl.CONFIGS


@pytest.mark.parametrize("cfg", CONFIGS)
def test_both_kinds_read_their_features_through_one_vector(cfg):
    model, images = vl.build_model(cfg).eval(), torch.randn(2, 3, 16, 16)
    pooled = model.pool(model.forward_features(images))
    assert pooled.shape == (2, cfg.embed_dim)
    assert torch.equal(model(images), model.head(pooled))
    assert (model.head.in_features, model.head.out_features) == (cfg.embed_dim, cfg.num_classes)


@pytest.mark.errors
def test_anything_else_is_refused():
    with pytest.raises(ValueError, match="cfg must be a ViTConfig or a ResNetConfig, got 'resnet'"):
        vl.build_model("resnet")
