"""The logit lens: what the head would say if it read an earlier layer."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vitlib.checks import Images, checked
from vitlib.model.vit import VisionTransformer

__all__ = ["logit_lens"]


@torch.no_grad()
@checked
def logit_lens(model: VisionTransformer, images: Images) -> Float[Tensor, "L B T K"]:
    """Logits of every token of normalised images before the first block and after each: the head, read too early.

    The head was trained on what leaves the last block. What it says of earlier tokens is what the head makes of
    them, not what a layer "thinks". With a linear head, an image's logits under GAP are the mean of its patches'
    logits; under CLS they are those of token 0.

    Args:
        model: A pre-norm model with a head, in evaluation mode.
        images: (B, C, H, W), normalised.

    Returns:
        (depth + 1, B, 1+N, K).

    Raises:
        ValueError: If the model has no head, or its tokens are normalised after each block.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens"; chapter 15.
    """
    if isinstance(model.head, nn.Identity) or model.cfg.norm_order != "pre":
        got = (
            f"norm_order={model.cfg.norm_order!r}, num_classes={model.cfg.num_classes}"
        )
        raise ValueError(f"expected a pre-norm model with a head, got {got}")
    x, bias = model.embed(images), model.pos_embed.attention_bias()
    answers = [model.head(model.norm(x))]
    for block in model.blocks:
        x = block(x, bias)
        answers.append(model.head(model.norm(x)))
    return torch.stack(answers)
