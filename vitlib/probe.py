"""What a model looks at: rollout, Grad-CAM, attention distance and entropy (Section 4.5, Appendices D.7-8)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from vitlib.vit import VisionTransformer

__all__ = ["attention_distance", "attention_entropy", "attention_rollout", "grad_cam"]


@torch.no_grad()
def attention_rollout(maps: Float[Tensor, "L B h T T"]) -> Float[Tensor, "B T T"]:
    """How much of each input token reaches each output token, if attention alone moved information.

    Every layer passes half of a token on unchanged (the residual) and half through its attention, the
    heads averaged; the layers are multiplied, the later one on the left.

    Args:
        maps: (L, B, h, T, T) from `VisionTransformer.attention_maps`, all layers, first to last.

    Returns:
        (B, T, T), rows sum to 1. Row 0 without its first entry, `rollout[:, 0, 1:]`, is what CLS holds
        of each patch.

    Raises:
        ValueError: If the maps do not have that shape or their rows do not sum to 1.

    Source: Abnar and Zuidema 2020 (arXiv 2005.00928); the paper's Appendix D.8 and Figure 6.

    >>> attention_rollout(torch.full((3, 1, 2, 4, 4), 0.25))[0, 0]
    tensor([0.3438, 0.2188, 0.2188, 0.2188])
    """
    _check_maps(maps)
    eye = torch.eye(maps.shape[-1], dtype=maps.dtype, device=maps.device)
    rollout = eye.expand(maps.shape[1], -1, -1)  # (B, T, T)
    for layer in maps.mean(dim=2):  # (B, T, T), heads averaged
        rollout = (0.5 * layer + 0.5 * eye) @ rollout
    return rollout


def grad_cam(
    model: VisionTransformer,
    images: Float[Tensor, "B C H W"],
    target: int | Sequence[int] | Int[Tensor, " B"] | None = None,
) -> Float[Tensor, "B H W"]:
    """Which regions raise a class's logit: Grad-CAM on the tokens that the last attention reads.

    They are the last block's `norm1` output (of a post-norm model, its input). At the last block's
    output it would not work: under CLS pooling the patch tokens' gradients are exactly 0 there.
    The model is left as it was: no hook, no gradient on a parameter, the same training mode.

    Args:
        model: A model with a head; evaluated as in `model.eval()`.
        images: (B, C, H, W), standardised.
        target: One class for all images, one for each, or None for the predicted ones.

    Returns:
        (B, H, W) in [0, 1], each image's maximum 1; all 0 where nothing raises the class. Bilinear
        between the patches' centres.

    Raises:
        ValueError: If the images do not fit the model, or a target is not one of its classes.

    Source: Selvaraju et al. 2017 (arXiv 1610.02391), Equations 1 and 2; channels are widths D here.
    """
    modes = {module: module.training for module in model.modules()}
    kept: list[Tensor] = []

    def keep(_module, args: tuple) -> tuple:
        kept.append(args[0].detach().requires_grad_())  # the graph starts here: below it nothing is needed
        return (kept[0], *args[1:])

    handle = model.blocks[-1].attn.register_forward_pre_hook(keep)
    try:
        with torch.inference_mode(False), torch.enable_grad():
            logits = model.eval()(images.clone())  # (B, K); a clone, for images made in inference mode
            classes = _targets(target, logits)
            score = logits.gather(1, classes[:, None]).sum()
            (grads,) = torch.autograd.grad(score, kept)  # (B, T, D)
    finally:
        handle.remove()
        for module, training in modes.items():
            module.training = training
    weights = grads[:, 1:].mean(dim=1, keepdim=True)  # (B, 1, D): one weight for each channel
    cam = (weights * kept[0].detach()[:, 1:]).sum(dim=-1).relu()  # (B, N)
    cam = cam.unflatten(1, (1, *model.cfg.grid))  # (B, N) -> (B, 1, rows, cols)
    cam = F.interpolate(cam, images.shape[2:], mode="bilinear", align_corners=False)[:, 0]  # (B, H, W)
    return cam / cam.amax(dim=(1, 2), keepdim=True).clamp_min(torch.finfo(cam.dtype).tiny)


@torch.no_grad()
def attention_distance(
    maps: Float[Tensor, "L B h T T"], grid: tuple[int, int], patch_size: int
) -> Float[Tensor, "L h"]:
    """How far, in pixels, each head looks on average: its receptive field's counterpart.

    CLS is left out as query and as key, and the rows over the patches are divided by their sums.
    Between patch centres, so a patch is at distance 0 from itself.

    Args:
        maps: (L, B, h, 1+N, 1+N) from `VisionTransformer.attention_maps`.
        grid: (rows, cols) of patches, `model.cfg.grid`.
        patch_size: Patch side P in pixels.

    Returns:
        (L, h) in pixels, the mean over queries and images.

    Raises:
        ValueError: If the maps do not have that shape, their rows do not sum to 1 or the grid does not fit.

    Source: Figure 7 (right), Figure 11 and Appendix D.7.

    >>> print(f"{attention_distance(torch.full((1, 1, 1, 65, 65), 1 / 65), (8, 8), 4).item():.3f}")
    16.546
    """
    _check_maps(maps)
    rows, cols = grid
    if patch_size < 1:
        raise ValueError(f"patch_size must be a positive number of pixels, got {patch_size}")
    if rows * cols + 1 != maps.shape[-1]:
        raise ValueError(
            f"a grid of {rows} x {cols} patches has {rows * cols + 1} tokens with CLS, "
            f"got maps of {maps.shape[-1]}; use model.cfg.grid"
        )
    places = torch.cartesian_prod(torch.arange(rows), torch.arange(cols)).to(maps)  # (N, 2)
    pixels = patch_size * torch.cdist(places, places, compute_mode="donot_use_mm_for_euclid_dist")  # (N, N)
    patches = maps[..., 1:, 1:]  # (L, B, h, N, N)
    means = (patches * pixels).sum(dim=-1) / patches.sum(dim=-1).clamp_min(torch.finfo(maps.dtype).tiny)
    return means.mean(dim=(1, 3))  # (L, B, h, N) -> (L, h)


@torch.no_grad()
def attention_entropy(maps: Float[Tensor, "L B h T T"]) -> Float[Tensor, "L h"]:
    """How spread each head's attention is, in bits: 0 on one token, log2(T) on all alike.

    2 to the power of it is the number of tokens that a head in effect reads.

    Args:
        maps: (L, B, h, T, T) from `VisionTransformer.attention_maps`.

    Returns:
        (L, h) in bits, the mean over queries and images.

    Raises:
        ValueError: If the maps do not have that shape or their rows do not sum to 1.

    Source: Shannon's entropy of a row of Equation 6.

    >>> print(f"{attention_entropy(torch.full((1, 1, 1, 64, 64), 1 / 64)).item():.3f}")
    6.000
    """
    _check_maps(maps)
    return torch.special.entr(maps).sum(dim=-1).mean(dim=(1, 3)) / math.log(2)  # (L, B, h, T) -> (L, h)


def _check_maps(maps: Tensor) -> None:
    square = maps.ndim == 5 and maps.shape[-1] == maps.shape[-2]
    if not square or not maps.numel() or not maps.is_floating_point():
        raise ValueError(
            f"expected float maps of shape (L, B, h, T, T), got {maps.dtype} {tuple(maps.shape)}; "
            "use model.attention_maps(images)"
        )
    sums = maps.sum(dim=-1, dtype=torch.float32)
    if not ((sums - 1).abs() < 1e-2).all():  # written so that NaN fails too
        raise ValueError(
            "expected weights whose rows sum to 1, got sums from "
            f"{sums.min():.3g} to {sums.max():.3g}; use model.attention_maps(images), "
            "no token cut off, no scores from before the softmax"
        )


def _targets(target: int | Sequence[int] | Tensor | None, logits: Tensor) -> Tensor:
    """The class of each image, (B,)."""
    batch, classes = logits.shape
    if target is None:
        return logits.argmax(dim=1)
    targets = torch.as_tensor(target, device=logits.device)
    targets = targets.expand(batch) if targets.ndim == 0 else targets
    if targets.is_floating_point() or targets.dtype == torch.bool or targets.shape != (batch,):
        raise ValueError(
            f"target must be a class, {batch} classes (one for each image) or None, "
            f"got {targets.dtype} of shape {tuple(targets.shape)}"
        )
    if not ((targets >= 0) & (targets < classes)).all():
        raise ValueError(f"targets must be classes from 0 to {classes - 1}, got {targets.tolist()}")
    return targets.long()
