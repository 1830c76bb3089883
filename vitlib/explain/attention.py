"""What attention maps tell: rollout, distance and entropy (Section 4.5, Appendices D.7-8)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from vitlib.checks import check_value, checked
from vitlib.config import ViTConfig
from vitlib.tensors import check_dense

__all__ = ["attention_distance", "attention_entropy", "attention_rollout"]


def check_layers(axes: str, name: str, maps: object) -> None:
    """Refuse, under this `name`, what is neither a dense tensor nor a sequence of layers of these `axes`."""
    layers = maps if isinstance(maps, list | tuple) else [maps]
    kinds = dict.fromkeys(
        str(tuple(x.shape)) if isinstance(x, Tensor) else type(x).__name__
        for x in layers
    )
    if len(kinds) != 1 or not isinstance(layers[0], Tensor):
        got, each = ", ".join(kinds) or "none", ", ".join(axes.split())
        eager = '; transformers gives maps with attn_implementation="eager"' * (
            "NoneType" in kinds
        )
        ways = f"a tensor (L, {each}) or a sequence of L tensors ({each})"
        raise ValueError(f"expected {name} as {ways}, all alike, got {got}{eager}")
    for layer in layers:
        check_dense(name, layer)


def stack_layers(maps: Tensor | Sequence[Tensor]) -> Tensor:
    """Maps of all layers as one tensor, layers first."""
    return (
        maps
        if isinstance(maps, Tensor)
        else torch.stack([layer.to(maps[0]) for layer in maps])
    )


Maps = (
    Float[Tensor, "L B h T T"]
    | Annotated[Sequence[Tensor], partial(check_layers, "B h T T")]
)


@torch.no_grad()
@checked
def attention_rollout(maps: Maps) -> Float[Tensor, "B T T"]:
    """How much of each input token reaches each output token, if attention alone moved information.

    Every layer passes half of a token on unchanged (the residual) and half through its attention, the
    mean of its heads; the layers are multiplied, the later one on the left.

    Args:
        maps: (L, B, h, T, T) from `VisionTransformer.attention_maps`, all layers, first to last; or a sequence of
            layers (B, h, T, T), as transformers gives. Numbers do not tell layers from images: of (B, L, h, T, T),
            as vit-pytorch's `Recorder` gives, pass `maps.transpose(0, 1)`.

    Returns:
        (B, T, T), rows sum to 1. Row 0 without its first entry, `rollout[:, 0, 1:]`, is what CLS holds
        of each patch.

    Raises:
        ValueError: If the maps have other axes, or are no weights.

    Source: Abnar and Zuidema 2020 (arXiv 2005.00928); the paper's Appendix D.8 and Figure 6; chapters 09 and 14.

    >>> attention_rollout(torch.full((3, 1, 2, 4, 4), 0.25))[0, 0]
    tensor([0.3438, 0.2188, 0.2188, 0.2188])
    """
    maps = _weights(maps)
    T = maps.shape[-1]
    eye = torch.eye(T, dtype=maps.dtype, device=maps.device)
    rollout = eye.expand(maps.shape[1], -1, -1)  # (B, T, T)
    for layer in maps.mean(dim=2):  # (B, T, T)
        step = layer + eye
        rollout = step / step.sum(dim=-1, keepdim=True) @ rollout
    return rollout


@torch.no_grad()
@checked
def attention_distance(maps: Maps, cfg: ViTConfig) -> Float[Tensor, "L h"]:
    """How far, in pixels, each head looks on average: its receptive field's counterpart.

    CLS and registers are left out as queries and as keys, and the rows over the patches are divided by their sums.
    Between patch centres, so a patch is at distance 0 from itself.

    Args:
        maps: (L, B, h, T, T), or a sequence of layers, as for `attention_rollout`.
        cfg: The model's config, which tells grid, patch side and tokens.

    Returns:
        (L, h) in pixels, the mean over queries and images.

    Raises:
        ValueError: If rows do not sum to 1 or the maps have another number of tokens.

    Source: Figure 7 (right), Figure 11 and Appendix D.7; chapter 15.

    >>> everywhere = torch.full((1, 1, 1, 65, 65), 1 / 65)
    >>> print(f"{attention_distance(everywhere, ViTConfig()).item():.3f}")
    16.546
    """
    maps = _weights(maps)
    rows, cols = cfg.grid
    if cfg.num_tokens != maps.shape[-1]:
        got = f"maps (L, B, h, T, T) of T = {maps.shape[-1]}; use the model's own cfg"
        raise ValueError(
            f"a grid of {rows} x {cols} patches has {cfg.num_tokens} tokens here, got {got}"
        )
    centres = torch.cartesian_prod(
        torch.arange(rows), torch.arange(cols)
    ).double()  # (N, 2)
    # (N, N)
    pixels = torch.cdist(centres, centres, compute_mode="donot_use_mm_for_euclid_dist")
    pixels = (cfg.patch_size * pixels).to(maps)
    patches = maps[..., cfg.patches, cfg.patches]  # (L, B, h, N, N)
    means = (patches * pixels).sum(dim=-1) / patches.sum(dim=-1).clamp_min(
        torch.finfo(maps.dtype).tiny
    )
    return means.mean(dim=(1, 3))  # (L, B, h, N) -> (L, h)


@torch.no_grad()
@checked
def attention_entropy(maps: Maps) -> Float[Tensor, "L h"]:
    """How spread each head's attention is, in bits: 0 on one token, log2(T) on all alike.

    2 to the power of it is the number of tokens that a head in effect reads.

    Args:
        maps: (L, B, h, T, T), or a sequence of layers, as for `attention_rollout`.

    Returns:
        (L, h) in bits, the mean over queries and images.

    Source: Shannon's entropy of a row of Equation 6; chapter 13.

    >>> print(f"{attention_entropy(torch.full((1, 1, 1, 64, 64), 1 / 64)).item():.3f}")
    6.000
    """
    maps = _weights(maps)
    # (L, B, h, T) -> (L, h)
    return torch.special.entr(maps).sum(dim=-1).mean(dim=(1, 3)) / math.log(2)


def _weights(maps: Tensor | Sequence[Tensor]) -> Tensor:
    """Maps as one tensor; refuses what are no attention weights."""
    maps = stack_layers(maps)
    check_value("maps", maps, Float[Tensor, "L B h T T"])
    if not maps.numel():
        raise ValueError(
            f"expected maps (L, B, h, T, T) of one image or more, got {tuple(maps.shape)}"
        )
    # by rounding to both sides, by a token cut off to one
    off = maps.sum(dim=-1, dtype=torch.float32) - 1
    if not (
        (off.abs() < 1e-2).all() and off.mean().abs() < 1e-3 and maps.min() > -1e-3
    ):  # NaN fails, too
        got = f"sums from {1 + off.min():.4g} to {1 + off.max():.4g}, the smallest weight {maps.min():.3g}"
        fix = "use model.attention_maps(images), no token cut off, no scores from before the softmax"
        raise ValueError(
            f"expected maps (L, B, h, T, T) of weights whose rows sum to 1, got {got}; {fix}"
        )
    return maps
