"""Which heads matter: what it costs to do without each."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn import functional as F

from vitlib.checks import check_labels, checked
from vitlib.explain.intervene import switched_off
from vitlib.model.vit import VisionTransformer

__all__ = ["head_importance"]


@torch.no_grad()
@checked
def head_importance(
    model: VisionTransformer,
    images: Float[Tensor, "B C H W"],
    labels: Int64[Tensor, " B"],
) -> Float[Tensor, "L h"]:
    """How much the loss rises when one head's output is zero, for each head: L x h forward passes.

    Args:
        model: In evaluation mode.
        images: (B, C, H, W), normalised.
        labels: (B,), the right classes.

    Returns:
        (L, h), mean cross-entropy without the head minus that with all; below 0 where the model does better without.

    Raises:
        ValueError: If the images or the labels do not fit the model.

    Source: Michel et al. 2019 (arXiv 1905.10650), Section 3.2; chapter 15.
    """
    check_labels(labels, model.cfg.num_classes)
    whole = F.cross_entropy(model(images), labels)
    rises = torch.empty(len(model.blocks), model.cfg.num_heads)
    for layer in range(rises.shape[0]):
        for head in range(rises.shape[1]):
            with switched_off(model, [(layer, head)]):
                rises[layer, head] = F.cross_entropy(model(images), labels) - whole
    return rises
