"""The logit lens: what the head would say if it read an earlier layer."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

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
        model: A pre-norm model whose head reads one token or the mean of normalised ones, in evaluation mode.
        images: (B, C, H, W), normalised.

    Returns:
        (depth + 1, B, T, K), tokens in the model's order: CLS, patches, registers.

    Raises:
        ValueError: If the model has no head or one that reads no single tokens, or its tokens are normalised after
            each block.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens"; chapter 15.
    """
    cfg = model.cfg
    reads_tokens = cfg.global_pool in ("token", "avg") and not cfg.fc_norm
    if not cfg.num_classes or cfg.norm_order != "pre" or not reads_tokens:
        got = f"norm_order={cfg.norm_order!r}, num_classes={cfg.num_classes}"
        got += f", global_pool={cfg.global_pool!r}, fc_norm={cfg.fc_norm}"
        wanted = "a pre-norm model with a head that reads CLS, or the mean of normalised patches"
        raise ValueError(f"expected {wanted}, got {got}")
    x, bias = model.embed(images), model.pos_embed.attention_bias()
    answers = [model.head(model.norm(x))]
    for block in model.blocks:
        x = block(x, bias)
        answers.append(model.head(model.norm(x)))
    return torch.stack(answers)
