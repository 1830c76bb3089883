"""What a model answers when it is given some of an image's patches: for occlusion, deletion and insertion."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vitlib.checks import check_choice, checked
from vitlib.model.vit import VisionTransformer

__all__ = ["ERASERS", "answer_with", "check_removable", "read_out"]

#: How a patch is taken away: its token is left out, or its pixels become mid-grey, which is 0 after `normalize`.
ERASERS = ("remove", "grey")


@torch.no_grad()
@checked
def answer_with(
    model: VisionTransformer,
    images: Float[Tensor, "B C H W"],
    kept: Int64[Tensor, "B n"],
    erase: str = "remove",
) -> Float[Tensor, "B K"]:
    """Logits when each image has only some of its patches.

    Args:
        model: In evaluation mode.
        images: (B, C, H, W), normalised.
        kept: (B, n), the places of the patches that stay, each image's own, in [0, N); as many in each.
        erase: "remove" leaves the other tokens out; "grey" makes the other patches' pixels 0, mid-grey.

    Returns:
        (B, K). With no patch left, the mean of the patch tokens counts as zero.

    Raises:
        ValueError: If the eraser is not known, the places do not fit, or, for "remove", the model has positions that
            are not added once, at the stem.

    Source: chapter 14.
    """
    check_choice("eraser", erase, ERASERS)
    N = model.cfg.num_patches
    places = kept.sort(dim=1).values
    if kept.numel() and not (places[:, 0].min() >= 0 and places[:, -1].max() < N and places.diff().all()):
        raise ValueError(f"expected places from 0 to {N - 1}, no one twice, got {kept.tolist()!r:.80}")
    if erase == "grey":
        stays = torch.zeros(len(images), N, dtype=torch.bool, device=images.device)
        stays = stays.scatter(1, kept, True).unflatten(1, model.cfg.grid)  # (B, rows, cols)
        for side in (1, 2):
            stays = stays.repeat_interleave(model.cfg.patch_size, dim=side)
        return model(images * stays[:, None])  # (B, H, W) -> (B, 1, H, W)
    check_removable(model)
    x = model.embed(images)
    patches = x[:, 1:].gather(1, kept[:, :, None].expand(-1, -1, x.shape[-1]))
    x = torch.cat([x[:, :1], patches], dim=1)  # (B, 1+n, D)
    for block in model.blocks:
        x = block(x)
    return read_out(model, model.norm(x))


def read_out(model: VisionTransformer, tokens: Float[Tensor, "B T D"]) -> Float[Tensor, "B K"]:
    """Logits of normalised tokens; the mean of no patch is zero.

    Args:
        model: Whose head reads them.
        tokens: (B, 1+n, D) after the last norm, CLS first.

    Source: Equation 4.
    """
    if model.cfg.global_pool == "avg" and tokens.shape[1] == 1:
        return model.head(torch.zeros_like(tokens[:, 0]))
    return model.head(model.pool(tokens))


def check_removable(model: VisionTransformer) -> None:
    """Refuses a model whose tokens cannot be left out: blocks must see neither places nor the number of tokens.

    Args:
        model: To be looked at.

    Raises:
        ValueError: If its positions are not added once, at the stem, or its attention is axial.

    Source: not in the paper.
    """
    cfg = model.cfg
    if cfg.pos_at != "stem" or cfg.attention != "full" or model.pos_embed.attention_bias() is not None:
        raise ValueError(
            "expected a model with full attention and positions that are added once, at the stem, got "
            f"pos_embed={cfg.pos_embed!r}, pos_at={cfg.pos_at!r}, attention={cfg.attention!r}; erase by grey"
        )
