"""Configs and presets: what they accept, what they refuse, and in which words."""

import json
import pickle
from dataclasses import asdict, replace

import pytest
import torch

import vitlib as vl
from vitlib.config import CHOICES


def test_what_follows_from_the_fields():
    cfg = vl.ViTConfig(img_size=(32, 48), patch_size=8, embed_dim=96, mlp_ratio=2.5)
    assert (
        cfg.image_shape == (32, 48)
        and cfg.grid == (4, 6)
        and cfg.num_patches == 24
        and cfg.hidden_dim == 240
    )
    assert vl.ViTConfig(img_size=64).image_shape == (64, 64)


@pytest.mark.parametrize(
    ("width", "ratio", "hidden"),
    [(12, 2.3, 27), (96, 8 / 3, 256), (10, 0.19, 1), (7, 1, 7)],
)
def test_the_mlps_width_is_rounded_down(width, ratio, hidden):
    cfg = vl.ViTConfig(
        img_size=8, embed_dim=width, num_heads=1, depth=1, mlp_ratio=ratio
    )
    assert (
        cfg.hidden_dim
        == vl.VisionTransformer(cfg).blocks[0].mlp.fc1.out_features
        == hidden
    )


@pytest.mark.parametrize(
    "cfg",
    [
        vl.ViTConfig(),
        vl.ViTConfig(img_size=(32, 64), layer_scale=1e-5),
        vl.ResNetConfig(),
        vl.ResNetConfig((32, 48), widths=[32, 64], depths=[1, 2]),
    ],
)
def test_a_config_survives_json_and_pickle(cfg):
    assert type(cfg)(**json.loads(json.dumps(asdict(cfg)))) == cfg
    assert pickle.loads(pickle.dumps(cfg)) == cfg and len({cfg, replace(cfg)}) == 1


# layers L, width D, heads h
TABLE_1 = {
    "ti": (12, 192, 3),
    "s": (12, 384, 6),
    "b": (12, 768, 12),
    "l": (24, 1024, 16),
    "h": (32, 1280, 16),
}


@pytest.mark.parametrize("name", vl.PRESETS)
def test_presets_are_table_1(name):
    cfg = vl.ViTConfig.preset(name)
    size, patch = name.removeprefix("vit-").split("/")
    assert (cfg.depth, cfg.embed_dim, cfg.num_heads) == TABLE_1[size]
    assert (cfg.img_size, cfg.patch_size, cfg.num_classes, cfg.mlp_ratio) == (
        224,
        int(patch),
        1000,
        4.0,
    )
    assert cfg.embed_dim // cfg.num_heads in (64, 80)  # 80 for H alone


@pytest.mark.errors
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            dict(img_size=225, patch_size=16),
            "img_size 225 is not a .* patch_size 16; try 224 or 240",
        ),
        (
            dict(mlp_ratio=1e-3),
            "mlp_ratio must be a number that gives the MLP hidden units, got 0.001",
        ),
        (dict(mask_token=1), "mask_token must be True or False, got 1"),
        (
            dict(embed_dim=200),
            "embed_dim 200 is not a multiple of num_heads 3; try embed_dim 201",
        ),
        (
            dict(embed_dim=90, pos_embed="sincos2d"),
            "'sincos2d' splits embed_dim in four; 90 is not",
        ),
        (
            dict(patch_drop_rate=0.5, pos_embed="relative"),
            "patch_drop_rate 0.5 needs positions that are added once",
        ),
    ],
)
def test_bad_fields_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        vl.ViTConfig(**fields)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            dict(widths=(64, 128)),
            r"one of each for a stage, got \(64, 128\) and \(1, 1, 3\)",
        ),
        (
            dict(widths=(64, 100, 256)),
            r"multiples of 4 \* num_groups = 16, got 100; try 112",
        ),
    ],
)
def test_bad_fields_of_a_resnet_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        vl.ResNetConfig(**fields)


@pytest.mark.errors
def test_unknown_preset_lists_the_known():
    message = "preset must be one of vit-ti/16, vit-s/16, .* got 'vit-b16'; did you mean 'vit-b/16'"
    with pytest.raises(ValueError, match=message):
        vl.ViTConfig.preset("vit-b16")


def test_every_word_makes_a_model_of_its_own():
    known = {
        "patch_embed",
        "pos_embed",
        "norm_order",
        "act",
        "head",
        "global_pool",
        "attention",
        "mlp",
    }
    assert set(CHOICES) == known
    images = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    for field, words in CHOICES.items():
        logits = []
        for word in words:
            torch.manual_seed(0)
            registers = int(word == "token_reg")
            cfg = vl.ViTConfig(
                img_size=8,
                embed_dim=8,
                depth=2,
                num_heads=2,
                reg_tokens=registers,
                **{field: word},
            )
            logits.append(vl.VisionTransformer(cfg).eval()(images))
        assert len({tuple(row.flatten().tolist()) for row in logits}) == len(words), (
            field
        )
