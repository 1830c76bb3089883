"""What a model answers when patches are erased or moved, or heads switched off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn import functional as F

from vitlib.checks import Images, check_choice, checked, is_whole
from vitlib.explain.gradients import Target, pick_targets
from vitlib.model.vit import VisionTransformer
from vitlib.tensors import check_labels

__all__ = ["answer_with", "head_importance", "intervene", "occlusion"]


@torch.no_grad()
@checked
def answer_with(
    model: VisionTransformer,
    images: Images,
    kept: Int64[Tensor, "B n"],
    erase: str = "remove",
) -> Float[Tensor, "B K"]:
    """Logits of normalised images when each has only some of its patches.

    Args:
        model: In evaluation mode.
        images: (B, C, H, W), normalised.
        kept: (B, n), the places of the patches that stay, each image's own, in [0, N); as many in each.
        erase: "remove" leaves the other tokens out; "grey" makes the other patches' pixels 0, which is mid-grey.

    Returns:
        (B, K). With no patch left, the head finds one token of zeros in their place.

    Raises:
        ValueError: For "remove", also if the model has positions that are not added once, at the stem.

    Source: chapter 14.
    """
    check_choice("eraser", erase, ("remove", "grey"))
    cfg, N = model.cfg, model.cfg.num_patches
    places = kept.sort(dim=1).values
    if kept.numel() and not (
        places[:, 0].min() >= 0 and places[:, -1].max() < N and places.diff().all()
    ):
        raise ValueError(
            f"expected places from 0 to {N - 1}, no one twice, got {kept.tolist()!r:.80}"
        )
    if erase == "grey":
        stays = torch.zeros(len(images), N, dtype=torch.bool, device=images.device)
        stays = stays.scatter(1, kept, True).unflatten(1, cfg.grid)  # (B, rows, cols)
        for side in (1, 2):
            stays = stays.repeat_interleave(cfg.patch_size, dim=side)
        return model(images * stays[:, None])  # (B, H, W) -> (B, 1, H, W)
    # blocks must see neither places nor the number of tokens
    if not cfg.adds_positions_once:
        wanted = "a model with positions that are added once"
        raise ValueError(
            f"expected {wanted}, got pos_embed={cfg.pos_embed!r}; erase by grey"
        )
    x = model.embed(images)
    before, behind = x[:, : cfg.patches.start], x[:, cfg.patches.start + N :]
    patches = x[:, cfg.patches].gather(1, kept[:, :, None].expand(-1, -1, x.shape[-1]))
    return _answer(model, torch.cat([before, patches, behind], dim=1))


@torch.no_grad()
@checked
def occlusion(
    model: VisionTransformer,
    images: Images,
    target: Target = None,
) -> Float[Tensor, "B N"]:
    """How much a class's logit falls when a patch of normalised images is taken away, for each: N + 1 forward passes.

    Args:
        model: In evaluation mode.
        images: (B, C, H, W), normalised.
        target: One class for all images, one for each, or None for the predicted ones.

    Returns:
        (B, N), patches row after row; above 0 where the patch speaks for the class.

    Raises:
        ValueError: If a target is none of the classes.

    Source: Zeiler and Fergus 2014 (arXiv 1311.2901), Section 4.2; chapter 14.
    """
    logits = model(images)
    classes = pick_targets(model, logits, target)[:, None]
    places = torch.arange(model.cfg.num_patches, device=images.device)
    falls = []
    for n in range(len(places)):
        kept = places[places != n].expand(len(images), -1)
        falls.append(
            (logits - answer_with(model, images, kept)).gather(1, classes)[:, 0]
        )
    return torch.stack(falls, dim=1)


@torch.no_grad()
@checked
def intervene(
    model: VisionTransformer,
    images: Images,
    *,
    order: Sequence[int] | None = None,
    positions: Literal["none"] | Sequence[int] | None = None,
    remove: Sequence[int] = (),
    heads: Sequence[tuple[int, int]] = (),
) -> Float[Tensor, "B K"]:
    """Logits of normalised images after an intervention, the same for all of them; several may be made at once.

    Places are counted from 0, row after row. `vitworkshop/web/vit.js` does the same in a page.

    Args:
        model: A pre-norm model whose positions are a table, in evaluation mode.
        images: (B, C, H, W), normalised.
        order: For each of the N places, the patch whose content stands there.
        positions: "none" takes the patches' position embeddings away; or for each of the N places, the place
            whose position embedding it gets.
        remove: Places whose tokens are left out, as if the image had no such patch. If all are, the head finds one
            token of zeros in their place.
        heads: Pairs (layer, head), counted from 0, whose output is zero.

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
    x, kept = moved_tokens(model, model.embed_patches(images), order, positions, remove)
    with switched_off(model, heads):
        return _answer(model, x[:, kept])


@torch.no_grad()
@checked
def head_importance(
    model: VisionTransformer, images: Images, labels: Int64[Tensor, " B"]
) -> Float[Tensor, "L h"]:
    """How much the loss on normalised images rises when one head's output is zero, for each: L x h forward passes.

    Args:
        model: In evaluation mode.
        images: (B, C, H, W), normalised.
        labels: (B,), the right classes.

    Returns:
        (L, h), mean cross-entropy without the head minus that with all; below 0 where the model does better without.

    Raises:
        ValueError: If a label is none of the model's classes.

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


def moved_tokens(
    model: VisionTransformer,
    patches: Tensor,
    order: Sequence[int] | None,
    positions: str | Sequence[int] | None,
    remove: Sequence[int],
) -> tuple[Tensor, list[int]]:
    """The encoder's input (B, T, D) as `intervene` makes it of patches (B, N, D), and which tokens stay."""
    cfg, N = model.cfg, model.cfg.num_patches
    untouched = positions is None and not remove
    if cfg.norm_order != "pre" or not (
        cfg.adds_positions_once or cfg.turns and untouched
    ):
        raise ValueError(
            "expected a pre-norm model with a table of positions at the stem; see ViTConfig"
        )
    for name, places in {
        "order": order,
        "positions": positions,
        "remove": remove,
    }.items():
        wanted = "places" if name == "remove" else f"{N} places"
        if places is None or places == "none":
            continue
        if isinstance(places, str):
            raise ValueError(f'expected {name} "none" or {N} places, got {places!r}')
        whole = wanted == "places" or len(places) == N
        if not whole or not all(is_whole(n) and 0 <= n < N for n in places):
            raise ValueError(
                f"expected {name} to be {wanted} from 0 to {N - 1}, got {list(places)[:8]} ..."
            )
    table = model.pos_embed.table()  # (1, 1+N, D), or (1, N, D) without CLS
    if order is not None:
        patches = patches[:, list(order)]
    cls_pos, pos = table.tensor_split([cfg.patches.start], dim=1)
    if positions is not None:
        pos = (
            torch.zeros_like(pos)
            if isinstance(positions, str)
            else pos[:, list(positions)]
        )
    x = patches + pos
    if cfg.class_token:
        cls = (model.cls_token + cls_pos).expand(len(patches), -1, -1)
        x = torch.cat([cls, x], dim=1)
    gone = {cfg.patches.start + n for n in remove}
    return model.add_registers(x), [n for n in range(cfg.num_tokens) if n not in gone]


def _answer(model: VisionTransformer, x: Tensor) -> Tensor:
    """Logits of tokens (B, T, D) that are yet to pass the blocks, some patches left out."""
    for block in model.blocks:
        x = block(x)
    return read(model, model.norm(x))


def read(model: VisionTransformer, tokens: Tensor) -> Tensor:
    """Logits of normalised tokens (B, T, D); where no patch is left, a token of zeros stands for them."""
    if tokens[:, model.cfg.patches].shape[1] == 0:
        before, behind = tokens.tensor_split([model.cfg.patches.start], dim=1)
        zero = tokens.new_zeros(len(tokens), 1, tokens.shape[2])
        tokens = torch.cat([before, zero, behind], dim=1)
    return model.head(model.pool(tokens))


@contextmanager
def switched_off(
    model: VisionTransformer, heads: Sequence[tuple[int, int]]
) -> Iterator[None]:
    """Makes the outputs of heads (layer, head) zero, before the projection joins them, while the context lasts."""
    L, h, d = (
        len(model.blocks),
        model.cfg.num_heads,
        model.cfg.embed_dim // model.cfg.num_heads,
    )
    for pair in heads:
        whole = (
            isinstance(pair, Sequence) and len(pair) == 2 and all(map(is_whole, pair))
        )
        if not whole or not (0 <= pair[0] < L and 0 <= pair[1] < h):
            fix = "try [(0, 1)]"
            raise ValueError(
                f"expected heads as pairs (layer, head) below ({L}, {h}), got {pair!r}; {fix}"
            )

    def silence(head: int) -> Callable:
        def hook(_module, args: tuple[Tensor]) -> tuple[Tensor]:
            x = args[0].clone()
            x[..., head * d : (head + 1) * d] = 0
            return (x,)

        return hook

    blocks: Any = model.blocks
    hooks = [
        blocks[layer].attn.proj.register_forward_pre_hook(silence(head))
        for layer, head in heads
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
