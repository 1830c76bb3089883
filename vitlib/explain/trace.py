"""Every tensor of a forward pass, by the name of the module whose output it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from vitlib.checks import Images, checked
from vitlib.explain.erasing import moved_tokens, read, switched_off
from vitlib.model.attention import split_heads
from vitlib.model.vit import VisionTransformer

__all__ = ["trace"]

NAMED = re.compile(
    r"norm|head|blocks\.\d+(\.(norm[12]|attn\.(qkv|proj)|mlp\.(fc[12]|act)))?"
)
# what a module reads, where no module makes it
INPUTS = {
    "proj": "mixed",
    "norm2": "mid",
    "head": "pool",
}


@torch.no_grad()
@checked
def trace(
    model: VisionTransformer,
    images: Images,
    *,
    order: Sequence[int] | None = None,
    positions: Literal["none"] | Sequence[int] | None = None,
    remove: Sequence[int] = (),
    heads: Sequence[tuple[int, int]] = (),
) -> dict[str, Tensor]:
    """Every tensor of a forward pass of normalised images by its name, after an intervention if one is wanted.

    `trace` of `vitworkshop/web/vit.js` does the same in a page. A token that is removed keeps its rows, but no
    other reads it and its own attention is 0.

    Args:
        model: A pre-norm model that cuts patches by a convolution or a matrix, in evaluation mode.
        images: (B, C, H, W), normalised.
        order: As for `intervene`.
        positions: As for `intervene`.
        remove: As for `intervene`.
        heads: As for `intervene`.

    Returns:
        Each with an axis B in front, T tokens, M the width inside the MLP: "patches" (N, C P P), channels first, and
        "patch_embed" (N, D), in their places; "embed" (T, D); of each block l "blocks.l.norm1" (T, D),
        "blocks.l.attn.qkv" (T, 3D), ".attn.scores" (h, T, T), scaled, minus infinity where a token is removed,
        ".attn.weights" (h, T, T), ".attn.mixed" (T, D), what the projection reads, ".attn.proj" (T, D), ".mid" (T, D),
        the sum after attention, ".norm2" (T, D), ".mlp.fc1" and ".mlp.act" (T, M), ".mlp.fc2" (T, D), and "blocks.l"
        (T, D); then "norm" (T, D), "pool" (D) and "head" (K).

    Raises:
        ValueError: If the model is of another kind, or as `intervene` does.

    Source: Equations 1-4; chapter 08.

    >>> import vitlib as vl
    >>> model = vl.VisionTransformer(vl.ViTConfig(depth=1)).eval()
    >>> trace(model, torch.zeros(1, 3, 32, 32))["blocks.0.attn.qkv"].shape
    torch.Size([1, 65, 576])
    """
    cfg = model.cfg
    P, h, d = cfg.patch_size, cfg.num_heads, cfg.embed_dim // cfg.num_heads
    if cfg.patch_embed not in ("conv", "linear"):
        got = f"patch_embed={cfg.patch_embed!r}"
        raise ValueError(f"expected patches cut by one matrix, got {got}")
    patches = model.embed_patches(images)
    x, kept = moved_tokens(model, patches, order, positions, remove)
    places = list(range(cfg.num_patches) if order is None else order)
    found = {
        "patches": F.unfold(images, P, stride=P).mT[:, places],
        "patch_embed": patches[:, places],
        "embed": x,
    }
    absent = torch.ones(x.shape[1], dtype=torch.bool, device=x.device)
    absent[kept] = False

    def silence(_module, args: tuple[Tensor]) -> tuple[Tensor]:
        # a token that is not there reads nothing
        return (args[0].masked_fill(absent[:, None], 0),)

    def keep(name: str) -> Callable:
        room, dot, last = name.rpartition(".")

        def hook(_module, args: tuple, out: Tensor) -> None:
            if last in INPUTS:
                found[room + dot + INPUTS[last]] = args[0]
            found[name] = out
            if last == "qkv":
                q, k, _ = split_heads(out, h)  # (B, h, T, d) each
                if cfg.turns:
                    positions_of: Any = model.pos_embed
                    q, k = positions_of.turn(q), positions_of.turn(k)
                scores = (q @ k.mT / d**0.5).masked_fill(
                    absent | absent[:, None], -torch.inf
                )
                found[f"{room}.scores"] = scores
                found[f"{room}.weights"] = scores.softmax(dim=-1).masked_fill(
                    absent[:, None], 0
                )

        return hook

    with ExitStack() as hooks:
        hooks.enter_context(switched_off(model, heads))
        for name, module in model.named_modules():
            if name.endswith(".attn.proj"):
                hooks.callback(module.register_forward_pre_hook(silence).remove)
            if NAMED.fullmatch(name):
                hooks.callback(module.register_forward_hook(keep(name)).remove)
        unread = (
            x.new_zeros(len(absent))
            .masked_fill(absent, -torch.inf)
            .expand(1, h, len(absent), -1)
        )
        for block in model.blocks:
            x = block(x, unread)
        read(model, model.norm(x)[:, kept])
    return found
