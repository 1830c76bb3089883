"""What a model answers when something is done to its patches, positions or heads: questions, put to it by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from vitlib.checks import check_images, check_normalised, checked, is_whole
from vitlib.explain.erasing import read_out
from vitlib.model.vit import VisionTransformer

__all__ = ["intervene", "switched_off"]


@torch.no_grad()
@checked
def intervene(
    model: VisionTransformer,
    images: Float[Tensor, "B C H W"],
    *,
    order: Sequence[int] | None = None,
    positions: Literal["none"] | Sequence[int] | None = None,
    remove: Sequence[int] = (),
    heads: Sequence[tuple[int, int]] = (),
) -> Float[Tensor, "B K"]:
    """Logits after an intervention, the same for all images; several may be made at once.

    Places are counted from 0, row after row. `vitworkshop/web/vit.js` does the same in a page.

    Args:
        model: A pre-norm model whose positions are a table, in evaluation mode.
        images: (B, C, H, W), normalised.
        order: For each of the N places, the patch whose content stands there.
        positions: "none" takes the patches' position embeddings away; or for each of the N places, the place
            whose position embedding it gets.
        remove: Places whose tokens are left out, as if the image had no such patch. If all are, the mean of
            the patch tokens counts as zero.
        heads: Pairs (layer, head) whose output is zero.

    Returns:
        (B, K).

    Raises:
        ValueError: If the images do not fit, a place or a head does not exist, an order is no list of N
            places, or positions are no table that is added once.

    Source: Naseer et al. 2021 (arXiv 2105.10497) drop and shuffle patches in this way; chapter 15.

    >>> import vitlib as vl
    >>> model = vl.VisionTransformer(vl.ViTConfig(depth=1)).eval()
    >>> image = torch.rand(1, 3, 32, 32)
    >>> torch.allclose(intervene(model, image), model(image))
    True
    """
    cfg, N = model.cfg, model.cfg.num_patches
    check_images(images, f"B {cfg.in_chans} {cfg.image_shape[0]} {cfg.image_shape[1]}")
    check_normalised(images, model.cls_token)
    if cfg.norm_order != "pre" or cfg.pos_at != "stem" or model.pos_embed.attention_bias() is not None:
        raise ValueError("expected a pre-norm model with a table of positions at the stem; see ViTConfig")
    for name, places, whole in (
        ("order", order, True),
        ("positions", positions, True),
        ("remove", remove, False),
    ):
        if places is not None and not isinstance(places, str):
            _check_places(name, places, N, whole)
    if isinstance(positions, str) and positions != "none":
        raise ValueError(f'expected positions "none" or {N} places, got {positions!r}')
    patches, table = model.patch_embed(images), model.pos_embed.table()  # (B, N, D), (1, 1+N, D)
    if order is not None:
        patches = patches[:, list(order)]
    cls_pos, pos = table[:, :1], table[:, 1:]
    if positions is not None:
        pos = torch.zeros_like(pos) if isinstance(positions, str) else pos[:, list(positions)]
    keep = [n for n in range(N) if n not in set(remove)]
    cls = (model.cls_token + cls_pos).expand(len(images), -1, -1)
    x = torch.cat([cls, (patches + pos)[:, keep]], dim=1)  # (B, 1+kept, D)
    with switched_off(model, heads):
        for block in model.blocks:
            x = block(x)
    return read_out(model, model.norm(x))


@contextmanager
def switched_off(model: VisionTransformer, heads: Sequence[tuple[int, int]]) -> Iterator[None]:
    """Makes heads' outputs zero before the projection joins them, for as long as the context lasts.

    Args:
        model: Whose heads they are.
        heads: Pairs (layer, head), counted from 0.

    Raises:
        ValueError: If a head does not exist.

    Source: not in the paper.
    """
    hooks: list[Any] = []
    d = model.cfg.embed_dim // model.cfg.num_heads

    def silence(head: int) -> Callable:
        def hook(_module, args: tuple[Tensor]) -> tuple[Tensor]:
            x = args[0].clone()
            x[..., head * d : (head + 1) * d] = 0
            return (x,)

        return hook

    for layer, head in heads:
        if not (
            is_whole(layer)
            and is_whole(head)
            and 0 <= layer < len(model.blocks)
            and 0 <= head < model.cfg.num_heads
        ):
            raise ValueError(
                f"expected heads as (layer, head) below ({len(model.blocks)}, {model.cfg.num_heads}), "
                f"got ({layer}, {head})"
            )
    blocks: Any = model.blocks
    try:
        for layer, head in heads:
            hooks.append(blocks[layer].attn.proj.register_forward_pre_hook(silence(head)))
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _check_places(name: str, places: Sequence[int], N: int, whole: bool) -> None:
    if not all(is_whole(n) and 0 <= n < N for n in places) or (whole and len(places) != N):
        wanted = f"{N} places" if whole else "places"
        raise ValueError(f"expected {name} to be {wanted} from 0 to {N - 1}, got {list(places)[:8]} ...")
