"""The ResNet baseline and the hybrid: against timm, against slow loops, and what their shapes promise."""

from collections import OrderedDict
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import vitlib as vl
from vitlib.model.resnet import GroupNormAct, PreActBottleneck, StdConv2d

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


def test_the_default_costs_about_what_the_quick_vit_costs():
    vit = vl.recipe("laptop", **{"model.patch_size": 8}).model
    for count, ours, theirs in (
        (vl.count_macs, 7_322_112, 5_531_328),
        (lambda cfg: vl.count_parameters(vl.build_model(cfg)), 267_546, 320_554),
    ):
        assert (count(vl.ResNetConfig()), count(vit)) == (ours, theirs)
        assert 0.75 < ours / theirs < 1.33


def test_weights_are_standardised_one_output_channel_at_a_time():
    layer = StdConv2d(3, 4, 3, stride=2)
    images = torch.randn(2, 3, 7, 8)
    padded = F.pad(images, (1, 1, 1, 1))
    slow = torch.empty(2, 4, 4, 4)
    for c, kernel in enumerate(layer.weight):
        kernel = (kernel - kernel.mean()) / (kernel.var(correction=0) + 1e-6).sqrt()
        for row in range(4):
            for col in range(4):
                window = padded[:, :, 2 * row : 2 * row + 3, 2 * col : 2 * col + 3]
                slow[:, c, row, col] = (window * kernel).sum(dim=(1, 2, 3))
    torch.testing.assert_close(layer(images), slow)
    assert layer.bias is None


def test_a_norm_is_over_groups_and_ends_in_a_relu():
    norm, x = GroupNormAct(2, 6), torch.randn(3, 6, 4, 5)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    kept = x.clone()
    slow = torch.cat(
        [
            (part - part.mean(dim=(1, 2, 3), keepdim=True))
            / (part.var(dim=(1, 2, 3), keepdim=True, correction=0) + norm.eps).sqrt()
            for part in x.split(3, dim=1)
        ],
        dim=1,
    )
    slow = (slow * norm.weight[:, None, None] + norm.bias[:, None, None]).clamp_min(0)
    torch.testing.assert_close(norm(x), slow)
    assert torch.equal(x, kept)  # the ReLU works in place, on the norm's own output


@pytest.mark.parametrize(("stride", "downsample"), [(1, False), (1, True), (2, True)])
def test_a_block_whose_last_convolution_is_zero_is_its_stream(stride, downsample):
    block = PreActBottleneck(16, 16, stride, num_groups=4, downsample=downsample)
    nn.init.zeros_(block.conv3.weight)
    x = torch.randn(2, 16, 6, 6)
    stream = block.downsample(block.norm1(x)) if downsample else x
    assert block(x).shape == (2, 16, 6 // stride, 6 // stride)
    torch.testing.assert_close(block(x), stream)


@pytest.mark.parametrize(
    ("stem_stride", "size", "num_classes"), [(1, 8, 10), (2, 4, 10), (4, 2, 0)]
)
def test_features_are_a_map_and_pooling_is_its_mean(stem_stride, size, num_classes):
    cfg = vl.ResNetConfig(
        widths=(32, 64, 64),
        depths=(1, 1, 1),
        stem_stride=stem_stride,
        num_classes=num_classes,
    )
    model = built(cfg)
    images = torch.randn(2, 3, 32, 48)
    features = model.forward_features(images)
    assert features.shape == (2, 64, size, size * 3 // 2)
    pooled = torch.stack([image.flatten(1).mean(1) for image in features])
    torch.testing.assert_close(model.pool(features), pooled)
    torch.testing.assert_close(
        model(images), model.head(pooled) if num_classes else pooled
    )


def test_the_first_loss_is_that_of_a_guess():
    torch.manual_seed(0)
    loss = F.cross_entropy(
        vl.ResNet(vl.ResNetConfig())(torch.randn(64, 3, 32, 32)), torch.arange(64) % 10
    )
    assert abs(loss.item() - 2.303) < 0.2


# ------------------------------------------------------------------------------------------------- refusals


@pytest.mark.errors
@pytest.mark.parametrize(
    ("images", "message"),
    [
        (
            torch.zeros(1, 1, 16, 16),
            r"of shape \(B, 3, H, W\), got .*; the model takes 3 channels",
        ),
        (torch.zeros(3, 16, 16), "add the batch axis with images"),
        (
            torch.zeros(1, 3, 16, 16, dtype=torch.uint8),
            "expected normalised float images, got torch.uint8",
        ),
    ],
)
def test_images_that_do_not_fit(images, message):
    with pytest.raises(ValueError, match=message):
        vl.ResNet(TINY)(images)
