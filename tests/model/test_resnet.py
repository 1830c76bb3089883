"""The ResNet baseline and the hybrid: against timm, against slow loops, and what their shapes promise."""

from collections import OrderedDict
from functools import partial

import pytest
import torch
from torch import nn

import vitlib as vl

# timm rounds a block's inner width to multiples of 8
TINY = vl.ResNetConfig(
    img_size=16,
    num_classes=5,
    widths=(32, 64),
    depths=(2, 1),
    stem_stride=1,
    num_groups=4,
)
R50 = dict(
    widths=(256, 512, 1024, 2048), depths=(3, 4, 6, 3), stem_stride=4, num_groups=32
)


def built(cfg: vl.ResNetConfig, seed: int = 0) -> vl.ResNet:
    """A model whose every parameter is random, the norms' too."""
    torch.manual_seed(seed)
    model = vl.ResNet(cfg).eval()
    for p in model.parameters():
        nn.init.normal_(p, std=0.5)
    return model


def timms(timm, cfg: vl.ResNetConfig) -> nn.Module:
    """timm's model of the same shape; where it has no such stem, with one put in its place."""
    library = timm.models.resnetv2
    model = library.ResNetV2(
        layers=cfg.depths,
        channels=cfg.widths,
        num_classes=cfg.num_classes,
        in_chans=cfg.in_chans,
        stem_chs=cfg.widths[0] // 4,
        stem_type="fixed",
        norm_layer=partial(library.GroupNormAct, num_groups=cfg.num_groups),
        bottle_ratio=0.25,
    )
    if cfg.stem_stride < 4:
        conv = library.StdConv2d(
            cfg.in_chans, cfg.widths[0] // 4, 3, stride=cfg.stem_stride
        )
        model.stem = nn.Sequential(OrderedDict(conv=conv))
    return model.eval()


@pytest.mark.parametrize(
    "cfg",
    [
        TINY,
        vl.ResNetConfig(widths=(32, 64, 64), depths=(1, 2, 1), in_chans=1),
        vl.ResNetConfig(
            img_size=64, widths=(64, 128), depths=(1, 2), stem_stride=4, num_groups=16
        ),
    ],
)
def test_weights_and_logits_are_timms(timm, cfg):
    model, theirs = built(cfg), timms(timm, cfg)
    state = OrderedDict(
        (
            key.replace("head.", "head.fc."),
            value[..., None, None] if key == "head.weight" else value,
        )
        for key, value in model.state_dict().items()
    )
    assert list(state) == list(theirs.state_dict())
    theirs.load_state_dict(state)
    images = torch.randn(2, cfg.in_chans, cfg.image_shape[0], cfg.image_shape[1] + 8)
    torch.testing.assert_close(
        model.forward_features(images),
        theirs.forward_features(images),
        rtol=1e-4,
        atol=1e-4,
    )
    torch.testing.assert_close(model(images), theirs(images), rtol=1e-4, atol=1e-4)


def test_the_papers_r50_has_its_size():
    with torch.device("meta"):
        model = vl.ResNet(vl.ResNetConfig(224, num_classes=1000, **R50))
    assert vl.count_parameters(model) == 25_549_352  # BiT's R50x1 with 1000 classes
    assert model.forward_features(torch.empty(1, 3, 224, 224, device="meta")).shape == (
        1,
        2048,
        7,
        7,
    )


# ------------------------------------------------------------------------------------------------- refusals


@pytest.mark.errors
@pytest.mark.parametrize(
    ("images", "message"),
    [
        (
            torch.zeros(1, 1, 16, 16),
            r"of shape \(B, 3, H, W\), got .*; the model takes 3 channels",
        ),
        (
            torch.zeros(1, 3, 16, 16, dtype=torch.uint8),
            "expected normalised float images, got torch.uint8",
        ),
    ],
)
def test_images_that_do_not_fit(images, message):
    with pytest.raises(ValueError, match=message):
        vl.ResNet(TINY)(images)
