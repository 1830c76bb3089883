"""What a model costs: parameters and multiply-accumulates (Section 3.1)."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor, nn

from vitlib.checks import checked
from vitlib.config import ResNetConfig, ViTConfig
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
@cache  # a run asks after each epoch
def count_macs(cfg: ViTConfig | ResNetConfig) -> int:
    """Multiply-accumulates of one forward pass for one image, attention products included.

    Counted: the patch embedding's convolutions (or matrix), the four D x D projections, the two products
    of attention (T x T) and the MLP of each block, and the head; of a ResNet, its convolutions and the head.
    Norms, softmax, activations and biases are left out, as is usual, and so is what standardises a ResNet's
    weights, once a batch; what a convolution multiplies with its padding's zeros is in.

    Source: Section 3.1; the page "Data sets and models" lists the values for Ti/S/B/L/H; chapter 08.

    >>> round(count_macs(ViTConfig.preset("vit-b/16")) / 1e9, 4)
    17.5638
    """
    macs = 0
    if isinstance(cfg, ViTConfig):
        # queries by keys, weights by values
        macs = cfg.depth * 2 * cfg.num_tokens**2 * cfg.embed_dim
        if cfg.global_pool == "map":  # one query more
            macs += 2 * cfg.num_patches * cfg.embed_dim
    # each weight of a convolution or a matrix, as often as it is applied: once for each place of its output

    def count(layer: nn.Conv2d | nn.Linear, _inputs: tuple, output: Tensor) -> None:
        nonlocal macs
        macs += output.numel() // len(layer.weight) * layer.weight.numel()

    with torch.device("meta"):  # shapes alone: nothing is computed
        model = build_model(cfg).eval()
        for layer in model.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                layer.register_forward_hook(count)
        model(torch.empty(1, cfg.in_chans, *cfg.image_shape))
    return macs
