"""From one task to another: a new head to fine-tune (Section 3.2).

Fine-tuning is training that does not begin at random: `replace_head`, for another size of image
`model.with_img_size`, then `train_model(recipe, data, start=model)` with a recipe like "finetune".
"""

from __future__ import annotations

import copy
import zlib
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import nn

from vitlib.model.vit import VisionTransformer

__all__ = ["replace_head", "start_from"]


def replace_head(model: VisionTransformer, num_classes: int, zero: bool = True) -> VisionTransformer:
    """A copy of the model with another head, one linear layer.

    Args:
        model: Trained on any classes.
        num_classes: Outputs K of the new head; 0 drops the head, and the copy returns the D pooled features.
        zero: Whether the head starts at zero: all classes begin equally likely, and the first gradient reaches
            nothing but the head. False draws it as a new model's.

    Returns:
        The copy.

    Raises:
        ValueError: If `num_classes` is no number of classes.

    Source: Section 3.2; chapter 16.

    >>> from vitlib.config import ViTConfig
    >>> replace_head(VisionTransformer(ViTConfig(depth=1)), 37).head
    Linear(in_features=192, out_features=37, bias=True)
    """
    cfg = replace(model.cfg, num_classes=num_classes, head="linear")
    with torch.device("meta" if zero else "cpu"):  # on "meta" nothing is drawn
        head = type(model)(cfg).head
    new = copy.deepcopy(model)
    new.cfg, new.head = cfg, head.to_empty(device="cpu") if zero else head
    if zero:
        for parameter in new.head.parameters():
            nn.init.zeros_(parameter)
    return new.to(next(model.parameters()))


def start_from(model: nn.Module, start: nn.Module) -> int:
    """Give a `model` the weights of `start`, and return their CRC-32.

    Raises:
        ValueError: If the two are not made alike.
    """
    configs: list[Any] = [getattr(m, "cfg", None) for m in (start, model)]
    theirs, ours = ({} if cfg is None else asdict(cfg) for cfg in configs)
    if differs := [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]:
        words = ", ".join(f"{name} {theirs.get(name)!r} instead of {ours.get(name)!r}" for name in differs)
        raise ValueError(f"expected start to be made as recipe.model says, got {words}; take model=start.cfg")
    model.load_state_dict(start.state_dict())
    crc = 0
    for value in model.state_dict().values():
        crc = zlib.crc32(value.cpu().contiguous().numpy().data, crc)
    return crc
