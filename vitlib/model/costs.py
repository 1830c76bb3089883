"""What a model costs: parameters and multiply-accumulates (Section 3.1)."""

from __future__ import annotations

from torch import nn

from vitlib.config import ViTConfig

__all__ = ["count_macs", "count_parameters"]


def count_parameters(module: nn.Module) -> int:
    """Number of parameters in `module`; works on the meta device too.

    Source: chapter 08.

    >>> count_parameters(nn.Linear(3, 2))
    8
    """
    return sum(p.numel() for p in module.parameters())


def count_macs(cfg: ViTConfig) -> int:
    """Multiply-accumulates of one forward pass for one image, attention products included.

    Counted: the patch embedding, the four D x D projections, the two T x T products and the MLP of
    each block, and a linear head. Norms, softmax and activations are left out, as is usual. An
    overlapping or stem embedding and an MLP head are counted as the plain ones.

    Source: Section 3.1; the appendix of the book lists the values for Ti/S/B/L/H; chapter 08.

    >>> round(count_macs(ViTConfig.preset("vit-b/16")) / 1e9, 4)
    17.5638
    """
    tokens, width = cfg.num_patches + 1, cfg.embed_dim
    embedding = cfg.num_patches * cfg.patch_size**2 * cfg.in_chans * width
    projections = tokens * 4 * width**2
    attention = 2 * tokens**2 * width  # queries by keys, weights by values
    mlp = tokens * 2 * width * cfg.hidden_dim
    return embedding + cfg.depth * (projections + attention + mlp) + width * cfg.num_classes
