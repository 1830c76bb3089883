"""Which class an explanation is of."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from vitlib.model.vit import VisionTransformer

__all__ = ["pick_targets"]


def pick_targets(
    model: VisionTransformer, logits: Tensor, target: int | Sequence[int] | Tensor | None
) -> Tensor:
    """The class of each image, (B,).

    Args:
        model: Whose classes they are.
        logits: (B, K).
        target: One class for all, one for each, or None for the predicted ones.

    Raises:
        ValueError: If the model has no head, or a target is none of its classes.

    Source: not in the paper.
    """
    if model.cfg.num_classes == 0:
        raise ValueError("expected a model with a head, got num_classes=0; it names no class to explain")
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
