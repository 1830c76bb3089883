"""The paper's ResNet baseline, BiT, and the hybrid whose patches are a ResNet's feature map (Sections 3.1 and 4.1)."""

from __future__ import annotations

import copy
from collections import OrderedDict
from dataclasses import replace

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from vitlib.checks import Count, Size, checked
from vitlib.config import ResNetConfig
from vitlib.tensors import check_images, check_normalised

__all__ = ["GroupNormAct", "PreActBottleneck", "ResNet", "StdConv2d"]


class StdConv2d(nn.Conv2d):
    """A convolution whose weights are standardised: each output channel's have mean 0 and variance 1.

    Args:
        in_chans: Channels in.
        out_chans: Channels out.
        kernel_size: Side k of the kernel, odd; k // 2 pixels of zeros are put around the image.
        stride: Pixels between two places of the kernel.

    Shape: (B, C, H, W) -> (B, C', H / stride, W / stride), rounded up.

    Source: Qiao et al. 2019 (arXiv 1903.10520), which the paper's Section 4.1 takes for its ResNets; chapter 11.
    """

    @checked
    def __init__(
        self, in_chans: Count, out_chans: Count, kernel_size: Count, stride: Count = 1
    ) -> None:
        super().__init__(
            in_chans, out_chans, kernel_size, stride, kernel_size // 2, bias=False
        )

    def forward(self, input: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C2 H2 W2"]:
        # (C', C, k, k), over all but C'
        weight = F.layer_norm(self.weight, self.weight.shape[1:], eps=1e-6)
        return F.conv2d(input, weight, None, self.stride, self.padding)


class GroupNormAct(nn.GroupNorm):
    """Group normalisation, then ReLU; arguments as for `torch.nn.GroupNorm`.

    Source: Wu and He 2018 (arXiv 1803.08494), which the paper's Section 4.1 takes for its ResNets; chapter 11.
    """

    def forward(self, input: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C H W"]:
        return F.relu(super().forward(input), inplace=True)


class PreActBottleneck(nn.Module):
    """Narrow, look around, widen: 1x1, 3x3 and 1x1 convolutions, each after its norm, added to the stream.

    Args:
        in_chans: Channels in.
        out_chans: Channels out; a quarter of them inside.
        stride: Of the 3x3 convolution.
        num_groups: Groups of the norms.
        downsample: Whether a 1x1 convolution brings the stream to the new channels and size.

    Shape: (B, C, H, W) -> (B, C', H / stride, W / stride), rounded up.

    Source: He et al. 2016 (arXiv 1603.05027), with the stride in the 3x3 convolution, as in BiT; chapter 11.
    """

    @checked
    def __init__(
        self,
        in_chans: Count,
        out_chans: Count,
        stride: Count = 1,
        num_groups: Count = 4,
        downsample: bool = False,
    ) -> None:
        super().__init__()
        inner = out_chans // 4
        self.downsample = (
            _named(conv=StdConv2d(in_chans, out_chans, 1, stride))
            if downsample
            else None
        )
        self.norm1 = GroupNormAct(num_groups, in_chans)
        self.conv1 = StdConv2d(in_chans, inner, 1)
        self.norm2 = GroupNormAct(num_groups, inner)
        self.conv2 = StdConv2d(inner, inner, 3, stride)
        self.norm3 = GroupNormAct(num_groups, inner)
        self.conv3 = StdConv2d(inner, out_chans, 1)

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C2 H2 W2"]:
        y = self.norm1(x)
        stream = x if self.downsample is None else self.downsample(y)
        return stream + self.conv3(self.norm3(self.conv2(self.norm2(self.conv1(y)))))


class ResNet(nn.Module):
    """Normalised images to logits: a stem, stages of pre-activation bottlenecks, a norm, the mean of places, a head.

    The `state_dict` has the names and shapes of timm's `ResNetV2`, but for the head, which is `head` here, as in
    `VisionTransformer`, and a 1x1 convolution `head.fc` there.

    Args:
        cfg: The shape of the model.

    Shape: normalised images (B, C, H, W), of any size, -> logits (B, K).

    Raises:
        ValueError: From `forward`, if the images have other channels, or were not normalised.

    Source: Section 4.1, "ResNet (BiT)"; Kolesnikov et al. 2020 (arXiv 1912.11370); chapter 11.

    >>> import torch
    >>> model = ResNet(ResNetConfig())
    >>> images = torch.zeros(2, 3, 32, 32)
    >>> model(images).shape, model.forward_features(images).shape
    (torch.Size([2, 10]), torch.Size([2, 256, 4, 4]))
    """

    @checked
    def __init__(self, cfg: ResNetConfig) -> None:
        super().__init__()
        self.cfg = cfg
        width = cfg.widths[0] // 4
        self.stem = _named(conv=StdConv2d(cfg.in_chans, width, 3, 2))
        befores = (width, *cfg.widths)
        self.stages = nn.Sequential()
        for before, after, depth in zip(befores, cfg.widths, cfg.depths, strict=False):
            stride = 2 if len(self.stages) else 1
            blocks = [
                PreActBottleneck(before, after, stride, cfg.num_groups, downsample=True)
            ]
            blocks += [
                PreActBottleneck(after, after, 1, cfg.num_groups)
                for _ in range(depth - 1)
            ]
            self.stages.append(_named(blocks=nn.Sequential(*blocks)))
        self.norm = GroupNormAct(cfg.num_groups, cfg.embed_dim)
        self.head = (
            nn.Linear(cfg.embed_dim, cfg.num_classes)
            if cfg.num_classes
            else nn.Identity()
        )
        # the convolutions start as PyTorch has them: the scale of standardised weights changes no output
        if isinstance(self.head, nn.Linear):
            nn.init.trunc_normal_(self.head.weight, std=0.02)
            nn.init.zeros_(self.head.bias)

    def forward_features(
        self, images: Float[Tensor, "B C H W"]
    ) -> Float[Tensor, "B D rows cols"]:
        """The feature map of normalised images after the last norm: (B, C, H, W) -> (B, D, rows, columns)."""
        check_images(images, f"B {self.cfg.in_chans} H W")
        check_normalised(images, next(self.parameters()))
        return self.norm(self.stages(self.stem(images)))

    def pool(self, features: Float[Tensor, "B D rows cols"]) -> Float[Tensor, "B D"]:
        """The image's one vector: the mean of the feature map over its places."""
        return features.mean(dim=(2, 3))

    def with_img_size(self, img_size: Size) -> ResNet:
        """A copy for another image size, as `VisionTransformer.with_img_size`; here no weight depends on it."""
        model = copy.deepcopy(self)
        model.cfg = replace(self.cfg, img_size=img_size)
        return model

    def forward(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B K"]:
        """Logits of normalised images: (B, C, H, W) -> (B, K)."""
        return self.head(self.pool(self.forward_features(images)))


def _named(**layers: nn.Module) -> nn.Sequential:
    """Layers in a row, called as in timm."""
    return nn.Sequential(OrderedDict(layers))
