"""Parameters and multiply-accumulates: the paper's sizes, and PyTorch's own counter."""

import itertools
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import vitlib as vl
from vitlib.config import CHOICES

# parameters at 1000 classes, without the head, and GMACs per image with the attention products
COUNTS = {
    "vit-ti/16": (5_717_416, 5_524_416, 1.2537),
    "vit-s/16": (22_050_664, 21_665_664, 4.5989),
    "vit-s/32": (22_878_952, 22_493_952, 1.1429),
    "vit-b/16": (86_567_656, 85_798_656, 17.5638),
    "vit-b/32": (88_224_232, 87_455_232, 4.4092),
    "vit-l/16": (304_326_632, 303_301_632, 61.5547),
    "vit-l/32": (306_535_400, 305_510_400, 15.3775),
    "vit-h/14": (632_045_800, 630_764_800, 167.2951),
}


def on_meta(cfg: vl.ViTConfig | vl.ResNetConfig) -> nn.Module:
    with torch.device("meta"):
        return vl.build_model(cfg)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", vl.PRESETS)
def test_counts_of_the_paper_sizes(name):
    with_head, without, gmacs = COUNTS[name]
    assert vl.count_parameters(on_meta(vl.ViTConfig.preset(name))) == with_head
    assert (
        vl.count_parameters(on_meta(vl.ViTConfig.preset(name, num_classes=0)))
        == without
    )
    assert round(vl.count_macs(vl.ViTConfig.preset(name)) / 1e9, 4) == gmacs


def flops(cfg: vl.ViTConfig | vl.ResNetConfig) -> int:
    """What PyTorch counts, its fused attention (which the counter may not know) switched off."""
    model, images = (
        on_meta(cfg),
        torch.empty(1, cfg.in_chans, *cfg.image_shape, device="meta"),
    )
    with (
        torch.no_grad(),
        FlopCounterMode(display=False) as counter,
        sdpa_kernel(SDPBackend.MATH),
    ):
        model(images)
    return counter.get_total_flops()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("patch_embed", CHOICES["patch_embed"])
@pytest.mark.parametrize("head", CHOICES["head"])
def test_macs_are_what_pytorch_counts(patch_embed, head):
    base = dict(
        img_size=(16, 24), embed_dim=24, depth=2, num_heads=2, mlp_ratio=2.5, head=head
    )
    for pos_embed, pool, num_classes in itertools.product(
        CHOICES["pos_embed"], CHOICES["global_pool"], (0, 7)
    ):
        options = dict(pos_embed=pos_embed, global_pool=pool, num_classes=num_classes)
        options["reg_tokens"] = int(pool == "token_reg")
        if pool == "token_reg" and pos_embed in ("learned2d", "relative"):
            continue
        cfg = vl.ViTConfig(patch_embed=patch_embed, **options, **base)
        assert flops(cfg) == 2 * vl.count_macs(cfg), cfg


@pytest.mark.sampled(4)
@pytest.mark.parametrize("pos_embed", CHOICES["pos_embed"])
@pytest.mark.parametrize("img_size", [16, (16, 40), (40, 4), (4, 4)])
def test_macs_of_axial_attention(pos_embed, img_size):
    cfg = vl.ViTConfig(
        img_size,
        embed_dim=24,
        depth=3,
        num_heads=2,
        mlp_ratio=2.5,
        pos_embed=pos_embed,
        attention="axial",
    )
    assert flops(cfg) == 2 * vl.count_macs(cfg)
    assert vl.count_parameters(on_meta(cfg)) == vl.count_parameters(
        on_meta(replace(cfg, depth=6, attention="full"))
    )


@pytest.mark.parametrize(
    "fields",
    [
        dict(img_size=(24, 40), in_chans=1, num_classes=0, stem_stride=1),
        dict(img_size=(30, 50), widths=(32, 96), depths=(2, 3), stem_stride=4),
    ],
)
def test_macs_of_a_resnet_are_what_pytorch_counts(fields):
    cfg = vl.ResNetConfig(**fields)
    assert flops(cfg) == 2 * vl.count_macs(cfg)
