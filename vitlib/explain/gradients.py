"""What gradients tell: Grad-CAM on the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from vitlib.model.vit import VisionTransformer

__all__ = ["grad_cam"]


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
        images: (B, C, H, W), normalised.
        target: One class for all images, one for each, or None for the predicted ones.

    Returns:
        (B, H, W) in [0, 1], each image's maximum 1; all 0 where nothing raises the class. Bilinear
        between the patches' centres.

    Raises:
        ValueError: If the images do not fit the model, or a target is not one of its classes.

    Source: Selvaraju et al. 2017 (arXiv 1610.02391), Equations 1 and 2; channels are widths D here;
        chapter 14.
    """
    modes = {module: module.training for module in model.modules()}
    tokens: list[Tensor] = []

    def catch(_module, args: tuple) -> tuple:
        tokens.append(args[0].detach().requires_grad_())  # the graph starts here: below it nothing is needed
        return (tokens[0], *args[1:])

    last: Any = model.blocks[-1]
    handle = last.attn.register_forward_pre_hook(catch)
    try:
        with torch.inference_mode(False), torch.enable_grad():
            logits = model.eval()(images.clone())  # (B, K); a clone, for images made in inference mode
            classes = _targets(target, logits)
            score = logits.gather(1, classes[:, None]).sum()
            (grads,) = torch.autograd.grad(score, tokens)  # (B, T, D)
    finally:
        handle.remove()
        for module, training in modes.items():
            module.training = training
    weights = grads[:, 1:].mean(dim=1, keepdim=True)  # (B, 1, D): one weight for each channel
    cam = (weights * tokens[0].detach()[:, 1:]).sum(dim=-1).relu()  # (B, N)
    cam = cam.unflatten(1, (1, *model.cfg.grid))  # (B, N) -> (B, 1, rows, cols)
    cam = F.interpolate(cam, images.shape[2:], mode="bilinear", align_corners=False)[:, 0]  # (B, H, W)
    return cam / cam.amax(dim=(1, 2), keepdim=True).clamp_min(torch.finfo(cam.dtype).tiny)


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
