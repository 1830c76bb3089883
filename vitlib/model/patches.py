"""Images to patches and back, ways to embed patches (Section 3.1, Equation 1), and to leave some out in training."""

from __future__ import annotations

import torch
from einops import rearrange
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from vitlib.checks import (
    Count,
    Rate,
    Size,
    as_pair,
    check_divides,
    check_halvings,
    checked,
)
from vitlib.config import ResNetConfig
from vitlib.model.resnet import ResNet
from vitlib.tensors import check_images, check_normalised

__all__ = [
    "PATCH_EMBEDS",
    "ConvPatchEmbed",
    "ConvStem",
    "HybridPatchEmbed",
    "LinearPatchEmbed",
    "OverlapPatchEmbed",
    "PatchDrop",
    "conv_to_linear",
    "patchify",
    "unpatchify",
]


@checked
def patchify(
    images: Shaped[Tensor, "B C H W"], patch_size: Count
) -> Shaped[Tensor, "B N PPC"]:
    """Cut images, raw or normalised, into non-overlapping square patches and flatten each.

    Args:
        images: (B, C, H, W), any dtype.
        patch_size: Patch side P in pixels; it must divide H and W.

    Returns:
        (B, N, P*P*C): N = HW / P^2 patches in reading order (row by row), each flattened as
        "(p1 p2 c)", the channels of one pixel side by side.

    Raises:
        ValueError: If P does not divide H and W.

    Source: Section 3.1; chapter 01.

    >>> patchify(torch.zeros(1, 3, 224, 224), 16).shape
    torch.Size([1, 196, 768])
    """
    check_divides(patch_size, *images.shape[2:])
    return rearrange(
        images, "b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=patch_size, p2=patch_size
    )


@checked
def unpatchify(
    patches: Shaped[Tensor, "B N PPC"], patch_size: Count, img_size: Size
) -> Shaped[Tensor, "B C H W"]:
    """Put flattened patches back together; the inverse of `patchify`.

    Args:
        patches: (B, N, P*P*C), in reading order, flattened as "(p1 p2 c)".
        patch_size: Patch side P in pixels.
        img_size: Image side, or (height, width).

    Returns:
        (B, C, H, W).

    Raises:
        ValueError: If the shapes do not fit each other.

    Source: Section 3.1; chapter 01.
    """
    height, width = as_pair("img_size", img_size)
    if patches.shape[2] % patch_size**2:
        expected = f"patches of shape (B, N, P*P*C) with P = {patch_size}"
        raise ValueError(f"unpatchify expects {expected}, got {tuple(patches.shape)}")
    check_divides(patch_size, height, width)
    rows, cols = height // patch_size, width // patch_size
    if patches.shape[1] != rows * cols:
        expected = f"{rows * cols} patches of side {patch_size}"
        raise ValueError(
            f"an image of {height} x {width} has {expected}, got {patches.shape[1]}"
        )
    return rearrange(
        patches,
        "b (h w) (p1 p2 c) -> b c (h p1) (w p2)",
        h=rows,
        p1=patch_size,
        p2=patch_size,
    )


@checked
def conv_to_linear(weight: Shaped[Tensor, "D C P P"]) -> Shaped[Tensor, "D PPC"]:
    """The weight (D, P*P*C) of a `LinearPatchEmbed` for that of a `ConvPatchEmbed`: `weight`, (D, C, P, P).

    Source: Section 3.1 ("patch embedding projection E"); chapter 02.
    """
    return rearrange(weight, "d c p1 p2 -> d (p1 p2 c)")


def init_projection(
    layer: nn.Conv2d | nn.Linear, std: float | None = None
) -> nn.Conv2d | nn.Linear:
    """Truncated normal, by default of 1/sqrt(fan-in): tokens start with the pixels' mean square; zero bias."""
    nn.init.trunc_normal_(
        layer.weight, std=layer.weight[0].numel() ** -0.5 if std is None else std
    )
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def flatten_map(features: Float[Tensor, "B D rows cols"]) -> Float[Tensor, "B N D"]:
    """Every place of a feature map as a token, row by row: (B, D, H/P, W/P) -> (B, N, D)."""
    return features.flatten(2).transpose(1, 2)


class LinearPatchEmbed(nn.Module):
    """Patch embedding as the paper writes it: flatten each patch, multiply by E.

    Args:
        patch_size: Patch side P.
        in_chans: Channels C.
        embed_dim: Width D.

    Shape: (B, C, H, W) -> (B, N, D).

    Source: Equation 1; chapter 02.
    """

    @checked
    def __init__(self, patch_size: Count, in_chans: Count, embed_dim: Count) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.proj = init_projection(nn.Linear(patch_size**2 * in_chans, embed_dim))

    def forward(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B N D"]:
        _check(images, self.patch_size, self.proj.weight)
        return self.proj(patchify(images, self.patch_size))


class ConvPatchEmbed(nn.Module):
    """Patch embedding as a convolution whose stride is its side; arguments as for `LinearPatchEmbed`.

    The usual implementation, and the same map, its weights rearranged: `conv_to_linear`.

    Source: Equation 1; chapter 02.
    """

    overlap = False

    @checked
    def __init__(self, patch_size: Count, in_chans: Count, embed_dim: Count) -> None:
        super().__init__()
        self.patch_size = patch_size
        margin = patch_size // 2 if self.overlap else 0
        conv = nn.Conv2d(
            in_chans,
            embed_dim,
            patch_size + 2 * margin,
            stride=patch_size,
            padding=margin,
        )
        self.proj = init_projection(conv)

    def forward(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B N D"]:
        # a convolution would drop the last pixels in silence
        _check(images, self.patch_size, self.proj.weight)
        return flatten_map(self.proj(images))


class OverlapPatchEmbed(ConvPatchEmbed):
    """A convolution about twice as wide as its stride: neighbours share pixels; arguments as for `LinearPatchEmbed`.

    The kernel's side is 2P (2P - 1 for odd P), its stride P; the padding leaves the number of tokens at HW / P^2.

    Source: the overlapping patches of T2T-ViT (arXiv 2101.11986); not in the paper; chapter 02.
    """

    overlap = True


class ConvStem(nn.Module):
    """log2(P) small convolutions of stride 2, not one of stride P; arguments as for `LinearPatchEmbed`.

    P is 2, 4, 8, ... Group normalisation stands in for the source's batch normalisation, so that an image's tokens do
    not depend on the other images of its batch.

    Raises:
        ValueError: If P is no power of 2 above 1.

    Source: Xiao et al. 2021, "Early convolutions help transformers see better" (arXiv 2106.14881); chapter 02.
    """

    @checked
    def __init__(self, patch_size: Count, in_chans: Count, embed_dim: Count) -> None:
        super().__init__()
        check_halvings(patch_size)
        self.patch_size = patch_size
        halvings = patch_size.bit_length() - 1
        widths = [in_chans] + [
            max(8, embed_dim >> (halvings - 1 - i)) for i in range(halvings)
        ]
        self.stem = nn.Sequential()
        for before, after in zip(widths, widths[1:], strict=False):
            conv = nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False)
            self.stem.extend([conv, nn.GroupNorm(1, after), nn.ReLU()])
        self.proj = init_projection(nn.Conv2d(widths[-1], embed_dim, kernel_size=1))

    def forward(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B N D"]:
        _check(images, self.patch_size, next(self.stem.parameters()))
        return flatten_map(self.proj(self.stem(images)))


class HybridPatchEmbed(nn.Module):
    """A ResNet's feature map as patches of one place each: the hybrid; arguments as for `LinearPatchEmbed`.

    P is 2, 4, 8, ... The stem and each stage but the first halve the image, one block a stage, the last as wide as the
    tokens.

    Raises:
        ValueError: If P is no power of 2 above 1.

    Source: Section 3.1, "Hybrid Architecture" (1x1 patches), there on an R50; chapter 11.
    """

    @checked
    def __init__(self, patch_size: Count, in_chans: Count, embed_dim: Count) -> None:
        super().__init__()
        check_halvings(patch_size)
        self.patch_size = patch_size
        # ..., D/4, D/2, D, rounded up to multiples of 32: a stage for each halving
        widths = [
            -(-embed_dim // (32 << i)) * 32
            for i in reversed(range(patch_size.bit_length() - 1))
        ]
        depths = [1] * len(widths)
        # groups of four channels in the narrow stem, as in a `ResNet` by default
        cfg = ResNetConfig(
            in_chans=in_chans, num_classes=0, widths=widths, depths=depths, num_groups=2
        )
        self.backbone = ResNet(cfg)
        self.proj = init_projection(nn.Conv2d(widths[-1], embed_dim, kernel_size=1))

    def forward(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B N D"]:
        _check(images, self.patch_size, next(self.backbone.parameters()))
        return flatten_map(self.proj(self.backbone.forward_features(images)))


def _check(images: Tensor, patch_size: int, weights: Tensor) -> None:
    """Refuse images that cannot be cut into whole patches, or that the first layer's `weights` cannot take."""
    in_chans = (
        weights.shape[1] if weights.ndim == 4 else weights.shape[1] // patch_size**2
    )
    check_images(images, f"B {in_chans} H W")
    check_divides(patch_size, *images.shape[2:])
    check_normalised(images, weights)


PATCH_EMBEDS = {
    "conv": ConvPatchEmbed,
    "linear": LinearPatchEmbed,
    "overlap": OverlapPatchEmbed,
    "stem": ConvStem,
    "hybrid": HybridPatchEmbed,
}


class PatchDrop(nn.Module):
    """In training, leave out a random part of each image's patches; CLS stays, and in evaluation nothing changes.

    Args:
        rate: Share of the patches left out, in [0, 1); at least one stays.

    Shape: (B, 1+N, D) -> (B, 1+n, D), n about (1 - rate) N.

    Source: Liu et al. 2023, "PatchDropout" (arXiv 2208.07220); not in the paper; chapter 10.
    """

    @checked
    def __init__(self, rate: Rate = 0.0) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B S D"]:
        if not self.training or self.rate == 0:
            return x
        B, T, D = x.shape
        n = max(1, round((T - 1) * (1 - self.rate)))
        # (B, N), in an order for each image
        places = torch.rand(B, T - 1, device=x.device).argsort(dim=1)
        kept = 1 + places[:, :n, None].expand(-1, -1, D)  # (B, n, D)
        return torch.cat([x[:, :1], x.gather(1, kept)], dim=1)
