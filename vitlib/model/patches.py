"""Images to patches and back, and ways to embed patches (Section 3.1, Equation 1)."""

from __future__ import annotations

from einops import rearrange
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from vitlib.checks import Count, Size, as_pair, check_divides, check_halvings, check_images, checked
from vitlib.model.layers import init_projection
from vitlib.model.resnet import HybridPatchEmbed

__all__ = [
    "PATCH_EMBEDS",
    "ConvPatchEmbed",
    "ConvStem",
    "LinearPatchEmbed",
    "OverlapPatchEmbed",
    "conv_to_linear",
    "patchify",
    "unpatchify",
]


@checked
def patchify(images: Shaped[Tensor, "B C H W"], patch_size: Count) -> Shaped[Tensor, "B N PPC"]:
    """Cut images into non-overlapping square patches and flatten each.

    Args:
        images: (B, C, H, W), any dtype.
        patch_size: Patch side P in pixels; it must divide H and W.

    Returns:
        (B, N, P*P*C): N = HW / P^2 patches in reading order (row by row), each flattened as
        "(p1 p2 c)", the channels of one pixel side by side.

    Raises:
        ValueError: If `images` does not have four axes or P does not divide H and W.

    Source: Section 3.1; chapter 01.

    >>> import torch
    >>> patchify(torch.zeros(1, 3, 224, 224), 16).shape
    torch.Size([1, 196, 768])
    """
    check_divides(patch_size, *images.shape[2:])
    return rearrange(images, "b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=patch_size, p2=patch_size)


def _check(images: Tensor, patch_size: int) -> None:
    check_images(images)
    check_divides(patch_size, *images.shape[2:])


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
        raise ValueError(
            f"unpatchify expects patches of shape (B, N, P*P*C) with P = {patch_size}, "
            f"got {tuple(patches.shape)}"
        )
    check_divides(patch_size, height, width)
    rows, cols = height // patch_size, width // patch_size
    if patches.shape[1] != rows * cols:
        raise ValueError(
            f"an image of {height} x {width} has {rows * cols} patches of side {patch_size}, "
            f"got {patches.shape[1]}"
        )
    return rearrange(patches, "b (h w) (p1 p2 c) -> b c (h p1) (w p2)", h=rows, p1=patch_size, p2=patch_size)


@checked
def conv_to_linear(weight: Shaped[Tensor, "D C P P"]) -> Shaped[Tensor, "D PPC"]:
    """The weight of a `LinearPatchEmbed` that computes what a convolution with `weight` computes.

    Args:
        weight: (D, C, P, P), a convolution's kernel, its stride equal to its side.

    Returns:
        (D, P*P*C), in `patchify`'s order "(p1 p2 c)".

    Raises:
        ValueError: If `weight` does not have these axes.

    Source: Section 3.1 ("patch embedding projection E"); chapter 02.
    """
    return rearrange(weight, "d c p1 p2 -> d (p1 p2 c)")


class ConvPatchEmbed(nn.Module):
    """Patch embedding as a convolution whose stride is its side: the usual implementation.

    Args:
        patch_size: Patch side P.
        in_chans: Channels C.
        embed_dim: Width D.

    Shape: (B, C, H, W) -> (B, N, D).

    Source: Equation 1; the same map as `LinearPatchEmbed`, weights rearranged; chapter 02.
    """

    overlap = False

    @checked
    def __init__(self, patch_size: Count, in_chans: Count, embed_dim: Count) -> None:
        super().__init__()
        self.patch_size = patch_size
        margin = patch_size // 2 if self.overlap else 0
        kernel_size = patch_size + 2 * margin
        self.proj = init_projection(
            nn.Conv2d(in_chans, embed_dim, kernel_size, stride=patch_size, padding=margin)
        )

    def forward(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B N D"]:
        _check(images, self.patch_size)  # a convolution would drop the last pixels in silence
        return self.proj(images).flatten(2).transpose(1, 2)  # (B, D, H/P, W/P) -> (B, D, N) -> (B, N, D)


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
        return self.proj(patchify(images, self.patch_size))


class OverlapPatchEmbed(ConvPatchEmbed):
    """A convolution about twice as wide as its stride, so that neighbouring patches share pixels.

    The padding is chosen to leave the number of tokens at HW / P^2.

    Args:
        patch_size: Stride P; the kernel's side is 2P (2P - 1 for odd P).
        in_chans: Channels C.
        embed_dim: Width D.

    Shape: (B, C, H, W) -> (B, N, D).

    Source: the overlapping patches of T2T-ViT (arXiv 2101.11986); not in the paper; chapter 02.
    """

    overlap = True


class ConvStem(nn.Module):
    """log2(P) small convolutions of stride 2 instead of one large one of stride P.

    Group normalisation stands in for the source's batch normalisation, so that an image's tokens
    do not depend on the other images of its batch.

    Args:
        patch_size: Total stride P, a power of two.
        in_chans: Channels C.
        embed_dim: Width D.

    Shape: (B, C, H, W) -> (B, N, D).

    Raises:
        ValueError: If `patch_size` is not a power of two, 2 or more.

    Source: Xiao et al. 2021, "Early convolutions help transformers see better" (arXiv 2106.14881);
        chapter 02.
    """

    @checked
    def __init__(self, patch_size: Count, in_chans: Count, embed_dim: Count) -> None:
        super().__init__()
        check_halvings(patch_size)
        self.patch_size = patch_size
        halvings = patch_size.bit_length() - 1
        widths = [in_chans] + [max(8, embed_dim >> (halvings - 1 - i)) for i in range(halvings)]
        layers: list[nn.Module] = []
        for before, after in zip(widths, widths[1:], strict=False):
            layers += [
                nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False),
                nn.GroupNorm(1, after),
                nn.ReLU(),
            ]
        self.stem = nn.Sequential(*layers)
        self.proj = init_projection(nn.Conv2d(widths[-1], embed_dim, kernel_size=1))

    def forward(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B N D"]:
        _check(images, self.patch_size)
        return self.proj(self.stem(images)).flatten(2).transpose(1, 2)  # (B, D, H/P, W/P) -> (B, N, D)


PATCH_EMBEDS = {
    "conv": ConvPatchEmbed,
    "linear": LinearPatchEmbed,
    "overlap": OverlapPatchEmbed,
    "stem": ConvStem,
    "hybrid": HybridPatchEmbed,
}
