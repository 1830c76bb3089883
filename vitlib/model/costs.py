"""What a model costs: parameters and multiply-accumulates (Section 3.1)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vitlib.checks import checked
from vitlib.config import ResNetConfig, ViTConfig
from vitlib.model.patches import PATCH_EMBEDS
from vitlib.model.vit import build_model

__all__ = ["count_macs", "count_parameters"]


@checked
def count_parameters(module: nn.Module) -> int:
    """Number of parameters in `module`; works on the meta device too.

    Source: chapter 08.

    >>> count_parameters(nn.Linear(3, 2))
    8
    """
    return sum(p.numel() for p in module.parameters())


@checked
def count_macs(cfg: ViTConfig | ResNetConfig) -> int:
    """Multiply-accumulates of one forward pass for one image, attention products included.

    Counted: the patch embedding's convolutions (or matrix), the four D x D projections, the two products
    of attention (T x T; axial, T x 1 for CLS and a line and CLS for each patch) and the MLP of each block,
    and the head; of a ResNet, its convolutions and the head. Norms, softmax, activations and biases are left
    out, as is usual, and so is what standardises a ResNet's weights, once a batch; what a convolution
    multiplies with its padding's zeros is in.

    Source: Section 3.1; the page "Data sets and models" lists the values for Ti/S/B/L/H; chapter 08.

    >>> round(count_macs(ViTConfig.preset("vit-b/16")) / 1e9, 4)
    17.5638
    """
    with torch.device("meta"):
        if isinstance(cfg, ResNetConfig):
            return _layer_macs(build_model(cfg), cfg)
        embedding = PATCH_EMBEDS[cfg.patch_embed](cfg.patch_size, cfg.in_chans, cfg.embed_dim)
    tokens, width, pairs = cfg.num_patches + 1, cfg.embed_dim, _attention_pairs(cfg)
    projections = tokens * 4 * width**2
    attention = 2 * sum(pairs) * width  # queries by keys, weights by values
    mlp = tokens * 2 * width * cfg.hidden_dim
    hidden = width**2 if cfg.head == "mlp" and cfg.num_classes else 0
    head = hidden + width * cfg.num_classes
    blocks = cfg.depth * (len(pairs) * (projections + mlp) + attention)
    return _layer_macs(embedding, cfg) + blocks + head


def _attention_pairs(cfg: ViTConfig) -> list[int]:
    """Pairs of a query and a key in each attention of one block's depth."""
    tokens, (rows, cols) = cfg.num_patches + 1, cfg.grid
    axial = [tokens + cfg.num_patches * (1 + length) for length in (cols, rows)]
    return {"full": [tokens**2], "axial": axial}[cfg.attention]


def _layer_macs(module: nn.Module, cfg: ViTConfig | ResNetConfig) -> int:
    """Each weight of a convolution or a matrix, as often as it is applied: once for each place of its output."""
    macs = 0

    def count(layer: nn.Conv2d | nn.Linear, _inputs: tuple, output: Tensor) -> None:
        nonlocal macs
        macs += output.numel() // len(layer.weight) * layer.weight.numel()

    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(count)
    module(torch.empty(1, cfg.in_chans, *cfg.image_shape, device="meta"))  # shapes alone: nothing is computed
    return macs
