"""What gradients tell: Grad-CAM on the tokens, relevance through attention, integrated gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from vitlib.checks import Count, Images, checked
from vitlib.model.vit import VisionTransformer

__all__ = ["attention_relevance", "grad_cam", "integrated_gradients"]

# the class to explain: of all, of each, or the predicted one
Target = int | Sequence[int] | Int[Tensor, " B"] | None


@checked
def grad_cam(
    model: VisionTransformer, images: Images, target: Target = None
) -> Float[Tensor, "B H W"]:
    """Which regions of normalised images raise a class's logit: Grad-CAM on the tokens that the last attention reads.

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
        ValueError: If a target is none of the classes.

    Source: Selvaraju et al. 2017 (arXiv 1610.02391), Equations 1 and 2; channels are widths D here;
        chapter 14.
    """
    # (B, 1, rows, cols)
    cam = grad_cam_patches(model, images, target).unflatten(1, (1, *model.cfg.grid))
    # (B, H, W)
    cam = F.interpolate(cam, images.shape[2:], mode="bilinear", align_corners=False)[
        :, 0
    ]
    return cam / cam.amax(dim=(1, 2), keepdim=True).clamp_min(
        torch.finfo(cam.dtype).tiny
    )


def grad_cam_patches(
    model: VisionTransformer, images: Tensor, target: Target = None
) -> Tensor:
    """Grad-CAM of each patch, (B, N), at least 0: what `grad_cam` spreads over the pixels."""
    tokens: list[Tensor] = []

    def catch(_module, args: tuple) -> tuple:
        # the graph starts here: below it nothing is needed
        tokens.append(args[0].detach().requires_grad_())
        return (tokens[0], *args[1:])

    last: Any = model.blocks[-1]
    handle = last.attn.register_forward_pre_hook(catch)
    try:
        with evaluated(model):
            # (B, K); a clone, for images made in inference mode
            logits = model(images.clone())
            # (B, T, D)
            (grads,) = torch.autograd.grad(_score(model, logits, target), tokens)
    finally:
        handle.remove()
    # (B, 1, D): one weight for each channel
    weights = grads[:, model.cfg.patches].mean(dim=1, keepdim=True)
    patches = tokens[0].detach()[:, model.cfg.patches]  # (B, N, D)
    return (weights * patches).sum(dim=-1).relu()


@checked
def attention_relevance(
    model: VisionTransformer, images: Images, target: Target = None
) -> Float[Tensor, "B T T"]:
    """How much output tokens owe input tokens for a class, of normalised images: gradient times attention, by layers.

    In each layer, the weights times the gradients of the class's logit with respect to them, negative ones cut off, the
    heads averaged: A. Relevance starts as the identity and becomes R + A R, layer after layer.

    Args:
        model: A model with a head, which reads CLS or the mean; evaluated as in `model.eval()`.
        images: (B, C, H, W), normalised.
        target: One class for all images, one for each, or None for the predicted ones.

    Returns:
        (B, T, T), at least 0, float32 of a model in half precision, too. Row 0 without its first entry,
        `relevance[:, 0, 1:]`, is the explanation under CLS.

    Raises:
        ValueError: If the head reads something else, or a target is none of the classes.

    Source: Chefer et al. 2021 (arXiv 2103.15679), Equations 5 and 6; chapter 14.
    """
    cfg = model.cfg
    if cfg.global_pool not in ("token", "avg"):
        got = f"global_pool={cfg.global_pool!r}"
        raise ValueError(f"expected a head that reads CLS or the mean, got {got}")
    with evaluated(model), _kept_maps(model) as maps:
        # so maps have gradients where weights are frozen
        images = images.detach().clone().requires_grad_()
        grads = torch.autograd.grad(_score(model, model(images), target), maps)
    T, kind = (
        cfg.num_tokens,
        torch.promote_types(images.dtype, torch.float32),
    )
    relevance = torch.eye(T, dtype=kind, device=images.device).expand(len(images), T, T)
    for weights, grad in zip(maps, grads, strict=True):
        # (B, h, T, T) -> (B, T, T)
        step = (grad.to(kind) * weights.detach().to(kind)).relu().mean(dim=1)
        relevance = relevance + step @ relevance
    return relevance


@checked
def integrated_gradients(
    model: VisionTransformer, images: Images, target: Target = None, steps: Count = 32
) -> Float[Tensor, "B C H W"]:
    """What each number of normalised images adds to a class's logit, from mid-grey to the image in small steps.

    All numbers together add up to the logit of the image minus that of grey, up to the error of the steps.

    Args:
        model: A model with a head; evaluated as in `model.eval()`.
        images: (B, C, H, W), normalised; 0 is mid-grey, where the path begins.
        target: One class for all images, one for each, or None for the predicted ones.
        steps: Points on the path, in the middles of as many equal pieces.

    Raises:
        ValueError: If a target is none of the classes.

    Source: Sundararajan et al. 2017 (arXiv 1703.01365), Equation 1 and Section 5; chapter 14.
    """
    with evaluated(model):
        classes = pick_targets(model, model(images.clone()).detach(), target)
        total = torch.zeros_like(images)
        for i in range(steps):
            point = (images * ((i + 0.5) / steps)).detach().requires_grad_()
            (grad,) = torch.autograd.grad(_score(model, model(point), classes), point)
            total = total + grad
    return images.detach() * total / steps


def pick_targets(model: VisionTransformer, logits: Tensor, target: Target) -> Tensor:
    """The class of each image, (B,); refuses, by ValueError, what is none of the model's classes."""
    if model.cfg.num_classes == 0:
        raise ValueError(
            "expected a model with a head, got num_classes=0; it names no class to explain"
        )
    batch, classes = logits.shape
    if target is None:
        return logits.argmax(dim=1)
    with suppress(TypeError, RuntimeError, ValueError):
        target = torch.as_tensor(target, device=logits.device)
    whole = (
        isinstance(target, Tensor)
        and not target.is_floating_point()
        and target.dtype != torch.bool
    )
    if not whole or target.shape not in ((), (batch,)):
        got = (
            f"{target.dtype} {tuple(target.shape)}"
            if isinstance(target, Tensor)
            else f"{target!r:.80}"
        )
        raise ValueError(
            f"target must be a class, {batch} classes (one for each image) or None, got {got}"
        )
    targets = target.expand(batch)
    if not ((targets >= 0) & (targets < classes)).all():
        raise ValueError(
            f"targets must be classes from 0 to {classes - 1}, got {targets.tolist()}"
        )
    return targets.long()


def _score(model: VisionTransformer, logits: Tensor, target: Target) -> Tensor:
    """The sum of the targets' logits, to differentiate."""
    return logits.gather(1, pick_targets(model, logits, target)[:, None]).sum()


@contextmanager
def evaluated(model: VisionTransformer) -> Iterator[None]:
    """In evaluation mode, with gradients; afterwards as it was."""
    modes = {module: module.training for module in model.modules()}
    try:
        with torch.inference_mode(False), torch.enable_grad():
            model.eval()
            yield
    finally:
        for module, training in modes.items():
            module.training = training


@contextmanager
def _kept_maps(model: VisionTransformer) -> Iterator[list[Tensor]]:
    """A list that gets the attention weights of each layer, (B, h, T, T), as a forward pass forms them."""
    maps: list[Tensor] = []

    def mix(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        maps.append((scores if bias is None else scores + bias).softmax(dim=-1))
        return maps[-1] @ v

    attentions: list[Any] = [block.attn for block in model.blocks]
    try:
        for attn in attentions:
            attn._mix = mix  # in place of the fused one, which forms no weights
        yield maps
    finally:
        for attn in attentions:
            del attn._mix
