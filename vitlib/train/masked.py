"""Masked patches: which are corrupted, the model that predicts what they show, targets, a guess (Section 4.6)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Generator, Tensor, nn

from vitlib.checks import Count, MaskRatio, Natural, check_divides, checked
from vitlib.config import ViTConfig
from vitlib.model.patches import init_projection, patchify, unpatchify
from vitlib.model.posembed import STD
from vitlib.model.vit import VisionTransformer
from vitlib.tensors import check_labels, check_unit

__all__ = ["MaskedPatchModel", "corrupt_patches", "guess_patches", "patch_colours"]

LEVELS = 8  # of a colour of 3 bits
HIDDEN, SWAPPED = 0.8, 0.1  # of the corrupted patches; the others are shown as they are


class MaskedPatchModel(nn.Module):
    """An encoder, and a linear layer that tells from each corrupted patch's token what the patch shows.

    `encoder` is a `VisionTransformer`. It is what stays for fine-tuning, and what `save_pretrained` writes.

    Args:
        cfg: The encoder's shape, with a mask token and without classes.
        num_outputs: Numbers K told of a patch.

    Shape: normalised images (B, C, H, W) and what `corrupt_patches` gives -> (B, M, K).

    Raises:
        ValueError: If the encoder has no mask token.

    Source: Section 4.6 and Appendix B.1.2; chapter 17.
    """

    @checked
    def __init__(self, cfg: ViTConfig, num_outputs: Count) -> None:
        super().__init__()
        if not cfg.mask_token:
            raise ValueError(
                "expected no mask, the model has no mask token; make it with mask_token=True"
            )
        self.encoder = VisionTransformer(cfg)
        self.predict = init_projection(nn.Linear(cfg.embed_dim, num_outputs), STD)

    def forward(
        self,
        images: Float[Tensor, "B C H W"],
        mask: Bool[Tensor, "B N"],
        source: Int64[Tensor, "B N"],
        corrupted: Int64[Tensor, "B M"],
    ) -> Float[Tensor, "B M K"]:
        # (B, N, D)
        tokens = self.encoder.encode(self.embed(images, mask, source))
        tokens = tokens[:, self.encoder.cfg.patches]
        return self.predict(take_patches(tokens, corrupted))  # (B, M, D) -> (B, M, K)

    def embed(
        self,
        images: Float[Tensor, "B C H W"],
        mask: Bool[Tensor, "B N"],
        source: Int64[Tensor, "B N"],
    ) -> Float[Tensor, "B T D"]:
        """The encoder's input of normalised images (Equation 1), other tokens in the patches' places: (B, 1+N, D).

        Args:
            images: (B, C, H, W), normalised.
            mask: (B, N), True for each patch whose token is replaced by the mask token, before its
                position is added. With "overlap", "stem" and "hybrid", pixels of a masked patch still
                reach the tokens of its neighbours.
            source: (B, N), for each place the patch whose token it gets before it is masked, in [0, N).

        Raises:
            ValueError: If the mask or the source is not (B, N), or names no patch.
        """
        patches = self.encoder.embed_patches(images)  # (B, N, D)
        wanted = tuple(patches.shape[:2])
        for name, which in (("mask", mask), ("source", source)):
            if which.shape != wanted:
                got = f"{tuple(which.shape)}; give one value for each patch"
                raise ValueError(f"expected a {name} of shape {wanted}, got {got}")
        patches = take_patches(patches, source)
        patches = torch.where(
            mask[:, :, None], self.encoder.mask_token.to(patches.dtype), patches
        )
        return self.encoder.add_positions(patches)


@checked
def corrupt_patches(
    n: Natural, num_patches: Count, ratio: MaskRatio, generator: Generator
) -> tuple[Bool[Tensor, "n N"], Int64[Tensor, "n N"], Int64[Tensor, "n M"]]:
    """Choose the patches that are to be predicted, and what the model sees in their places.

    Each image has exactly M = round(ratio N) of them. What happens to each is drawn by itself, as in BERT: with 80 %
    it is the mask token, with 10 % another patch of the same image, any one, with 10 % the patch itself.

    Args:
        n: Images.
        num_patches: Patches N of each.
        ratio: Share of the patches that are corrupted.
        generator: A CPU generator.

    Returns:
        The mask (n, N), True where the mask token is put; the source (n, N), the patch whose embedding each place
        shows, mostly its own; and the corrupted patches' indices (n, M), in no order.

    Raises:
        ValueError: If that would corrupt no patch, or leave none.

    Source: Appendix B.1.2, which leaves open from where "a random other patch embedding" comes; chapter 17.

    >>> mask, source, corrupted = corrupt_patches(2, 64, 0.5, Generator().manual_seed(0))
    >>> mask.shape, source.shape, corrupted.shape
    (torch.Size([2, 64]), torch.Size([2, 64]), torch.Size([2, 32]))
    """
    count = round(ratio * num_patches)
    if not 0 < count < num_patches:
        wanted = f"a mask_ratio that corrupts 1 to {num_patches - 1} of {num_patches} patches"
        fix = "the paper takes 0.5, and smaller patches are more"
        raise ValueError(
            f"expected {wanted}, got {ratio}, which corrupts {count}; {fix}"
        )
    # (n, M)
    corrupted = torch.rand(n, num_patches, generator=generator).argsort(dim=1)[
        :, :count
    ]
    fate = torch.rand(n, count, generator=generator)  # (n, M)
    other = (
        corrupted + torch.randint(1, num_patches, (n, count), generator=generator)
    ) % num_patches
    swapped = (fate >= HIDDEN) & (fate < HIDDEN + SWAPPED)
    mask = torch.zeros(n, num_patches, dtype=torch.bool).scatter(
        1, corrupted, fate < HIDDEN
    )
    own = torch.arange(num_patches).repeat(n, 1)  # (n, N)
    return (
        mask,
        own.scatter(1, corrupted, torch.where(swapped, other, corrupted)),
        corrupted,
    )


@checked
def patch_colours(
    images: Float[Tensor, "B C H W"], patch_size: Count
) -> Int64[Tensor, "B N 1"]:
    """The mean colour of each patch of raw images, float in [0, 1], with 3 bits a channel.

    Args:
        images: (B, C, H, W) in [0, 1].
        patch_size: Patch side P.

    Returns:
        (B, N, 1), row by row, each in [0, 512) for RGB: 64 red + 8 green + blue, each the three highest bits of
        the mean of the patch's bytes.

    Raises:
        ValueError: If the images leave [0, 1], or P does not divide H and W.

    Source: Appendix B.1.2, target 1; chapter 17.

    >>> red = torch.tensor([1.0, 0.0, 0.0])[None, :, None, None].expand(1, 3, 4, 4)
    >>> patch_colours(red, 4)
    tensor([[[448]]])
    """
    check_unit(images)
    check_divides(patch_size, *images.shape[2:])
    pixels = (images * 255).round().clamp(0, 255)  # bytes again, whose sums are exact
    means = F.avg_pool2d(pixels, patch_size)  # (B, C, rows, cols)
    colours = torch.zeros_like(means[:, :1], dtype=torch.int64)
    for channel in (means * LEVELS / 256).long().split(1, dim=1):
        colours = LEVELS * colours + channel
    return colours.flatten(2).mT  # (B, 1, rows, cols) -> (B, N, 1)


@checked
def guess_patches(
    images: Float[Tensor, "B C H W"],
    mask: Bool[Tensor, "B N"],
    source: Int64[Tensor, "B N"],
    patch_size: Count,
) -> Float[Tensor, "B C H W"]:
    """What somebody would guess who sees what the model sees, and has learned nothing: images of any scale.

    Where a patch is shown it is believed; a masked one gets the mean colour of the shown ones among its eight
    neighbours, or of all shown ones where none of these is. `mask` and `source` are as from `corrupt_patches`,
    `images` are (B, C, H, W), raw or normalised; `patch_size` is P.

    Raises:
        ValueError: If the mask is of another grid, or hides all patches of an image.

    Source: not in the paper; chapter 17.
    """
    size, pixels = (images.shape[2], images.shape[3]), patch_size**2
    patches = patchify(images, patch_size)  # (B, N, P P C)
    if mask.shape != patches.shape[:2] or mask.all(dim=1).any():
        wanted = f"a mask (B, N) = {tuple(patches.shape[:2])} that shows a patch of each image"
        got = f"{tuple(mask.shape)} with {mask.sum(dim=1).tolist()!r:.60} masked"
        raise ValueError(f"expected {wanted}, got {got}; mask fewer, or see patch_size")
    shown = take_patches(patches, source)
    # (B, N, P P, C) -> (B, N, C)
    colours = shown.unflatten(2, (pixels, -1)).mean(dim=2)
    seen = (~mask).to(colours)[:, :, None]  # (B, N, 1)
    grid = size[0] // patch_size, size[1] // patch_size
    # (B, C+1, rows, columns)
    sums = torch.cat([colours * seen, seen], dim=2).mT.unflatten(2, grid)
    near = F.avg_pool2d(sums, 3, stride=1, padding=1)
    near = torch.where(near[:, -1:] > 0, near, sums.mean(dim=(2, 3), keepdim=True))
    # (B, C, rows, columns) -> (B, N, C)
    means = (near[:, :-1] / near[:, -1:]).flatten(2).mT
    return unpatchify(
        torch.where(mask[:, :, None], means.repeat(1, 1, pixels), shown),
        patch_size,
        size,
    )


def take_patches(
    values: Shaped[Tensor, "B N A"], which: Int64[Tensor, "B M"]
) -> Shaped[Tensor, "B M A"]:
    """The rows of `values` (B, N, A) at the indices `which` (B, M), image by image: (B, M, A)."""
    if not torch.compiler.is_compiling():
        check_labels(
            which, values.shape[1], "places of patches", "count them from 0, row by row"
        )
    return values.gather(1, which[:, :, None].expand(-1, -1, values.shape[2]))
