"""The Vision Transformer (Section 3.1, Figure 1), assembled from the other files of this folder."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from vitlib.checks import Size, check_images, check_normalised, checked
from vitlib.config import ViTConfig
from vitlib.model.attention import ATTENTIONS, AxialAttention
from vitlib.model.encoder import BLOCKS, EPS
from vitlib.model.layers import PatchDrop
from vitlib.model.patches import PATCH_EMBEDS
from vitlib.model.posembed import POS_EMBEDS, STD, PosEmbed, learned

__all__ = ["VisionTransformer"]


class VisionTransformer(nn.Module):
    """Patches to tokens, CLS in front, positions added, L encoder blocks, one token read by a head.

    The default model's `state_dict` has timm's names and shapes.

    Args:
        cfg: The shape of the model.

    Shape: normalised images (B, C, H, W) -> logits (B, K).

    Source: Equations 1-4; chapter 08.

    >>> model = VisionTransformer(ViTConfig(depth=1))
    >>> model(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    @checked
    def __init__(self, cfg: ViTConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.patch_embed = PATCH_EMBEDS[cfg.patch_embed](cfg.patch_size, cfg.in_chans, cfg.embed_dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, cfg.embed_dim))
        self.pos_drop = nn.Dropout(cfg.drop_rate)
        self.patch_drop = PatchDrop(cfg.patch_drop_rate)
        attentions = [make for _ in range(cfg.depth) for make in ATTENTIONS[cfg.attention](cfg.grid)]
        last = len(attentions) - 1
        self.blocks = nn.ModuleList(
            BLOCKS[cfg.norm_order](
                cfg.embed_dim,
                cfg.num_heads,
                cfg.hidden_dim,
                cfg.qkv_bias,
                cfg.drop_rate,
                cfg.attn_drop_rate,
                cfg.drop_path_rate * i / max(1, last),
                cfg.layer_scale,
                cfg.act,
                attention,
            )
            for i, attention in enumerate(attentions)
        )
        # the last post-norm block has normalised its output already
        self.norm = nn.LayerNorm(cfg.embed_dim, eps=EPS) if cfg.norm_order == "pre" else nn.Identity()
        self.head = _build_head(cfg)
        self.blocks.apply(partial(_init_weights, std=cfg.init_std))
        self.head.apply(_init_weights)
        positions = partial(POS_EMBEDS[cfg.pos_embed], cfg.grid, cfg.embed_dim, cfg.num_heads)
        self.pos_embed = positions()
        # before the second block and every later one; the first has what is added at the stem
        self.pos_embeds = nn.ModuleList(positions() for _ in range(last if cfg.pos_at == "every" else 0))
        if cfg.mask_token:  # after everything else, which it leaves with the random numbers it had
            self.mask_token = learned(1, 1, cfg.embed_dim)
        self.register_state_dict_post_hook(_save_as_timm)
        self.register_load_state_dict_pre_hook(_load_as_timm)
        self.register_load_state_dict_post_hook(_report_as_timm)

    def embed(
        self,
        images: Float[Tensor, "B C H W"],
        mask: Bool[Tensor, "B N"] | None = None,
        source: Int64[Tensor, "B N"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """The encoder's input (Equation 1): (B, C, H, W) -> (B, 1+N, D), CLS first.

        Args:
            images: (B, C, H, W), normalised.
            mask: (B, N), True for each patch whose token is replaced by the mask token, before its
                position is added. With "overlap", "stem" and "hybrid", pixels of a masked patch still
                reach the tokens of its neighbours.
            source: (B, N), for each place the patch whose token it gets before it is masked, in [0, N); None
                leaves every token in its own place. It comes with a mask, all False where there is none.

        Raises:
            ValueError: If the images do not have the shape or the dtype the model was made for, or the
                mask or the source does not fit, or the model has no mask token.

        Source: Equation 1; for the mask, Section 4.6 and Appendix B.1.2.
        """
        channels, (height, width) = self.cfg.in_chans, self.cfg.image_shape
        other_size = "resize the images, or use model.with_img_size(...)"
        check_images(images, f"B {channels} {height} {width}", other_size)
        check_normalised(images, self.cls_token)
        patches = self.patch_embed(images)  # (B, N, D)
        if mask is not None or source is not None:
            patches = self._corrupt(patches, mask, source)
        tokens = torch.cat([self.cls_token.expand(len(images), -1, -1), patches], dim=1)  # (B, 1+N, D)
        return self.patch_drop(self.pos_drop(self.pos_embed(tokens)))

    def forward_features(
        self,
        images: Float[Tensor, "B C H W"],
        mask: Bool[Tensor, "B N"] | None = None,
        source: Int64[Tensor, "B N"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Every token after the last norm (Equations 1-3), (B, 1+N, D); `images`, `mask`, `source` as in `embed`."""
        x = self.embed(images) if mask is None and source is None else self.embed(images, mask, source)
        bias = self.pos_embed.attention_bias()
        for place, block in self._layers():
            x = block(place(x), bias)
        return self.norm(x)

    def pool(self, tokens: Float[Tensor, "B T D"]) -> Float[Tensor, "B D"]:
        """The image's one vector (Equation 4): the CLS token, or the mean of the patch tokens."""
        return tokens[:, 0] if self.cfg.global_pool == "token" else tokens[:, 1:].mean(dim=1)

    def forward(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B K"]:
        """Logits: (B, C, H, W) -> (B, K).

        Raises:
            ValueError: If the images do not have the shape or the dtype the model was made for.
        """
        return self.head(self.pool(self.forward_features(images)))

    def attention_maps(
        self, images: Float[Tensor, "B C H W"], layers: list[int] | None = None
    ) -> Float[Tensor, "L B h T T"]:
        """The attention weights of each layer, computed anew; `forward` never forms them.

        Args:
            images: (B, C, H, W), normalised.
            layers: Which blocks, in this order; negative counts from the end. None means all.

        Returns:
            (L, B, h, 1+N, 1+N), rows sum to 1; row 0 is what CLS reads. L x B x h x (1+N)^2 floats
            can be many: use few images, and `torch.no_grad()`. Axial attention has 2L maps, of rows and of
            columns in turn, 0 outside of a patch's line.

        Raises:
            ValueError: If a layer does not exist or the images do not fit.

        Source: Equation 6.
        """
        depth = len(self.blocks)
        layers = list(range(depth)) if layers is None else list(layers)
        if not layers or any(not -depth <= layer < depth for layer in layers):
            raise ValueError(f"layers must name blocks from {-depth} to {depth - 1}, got {layers}")
        wanted = {layer % depth for layer in layers}
        x, bias, maps = self.embed(images), self.pos_embed.attention_bias(), {}
        for i, (place, block) in enumerate(self._layers()[: max(wanted) + 1]):
            x = place(x)
            if i in wanted:
                maps[i] = block.attention_weights(x, bias)
            x = block(x, bias)
        return torch.stack([maps[layer % depth] for layer in layers])

    def with_img_size(self, img_size: Size) -> VisionTransformer:
        """A copy of the model for another image size, its positions resampled.

        Args:
            img_size: The new side, or (height, width), in pixels.

        Raises:
            ValueError: If the patch size does not divide it.

        Source: Section 3.2.
        """
        model = copy.deepcopy(self)
        model.cfg = replace(self.cfg, img_size=img_size)
        for module in model.modules():
            if isinstance(module, PosEmbed):
                module.resample(model.cfg.grid)
            elif isinstance(module, AxialAttention):
                module.grid = model.cfg.grid
        return model

    def _layers(self) -> list[tuple[Any, Any]]:
        """Every block, and what adds positions before it."""
        later = len(self.blocks) - 1
        places = {"stem": [_unchanged] * later, "every": self.pos_embeds, "shared": [self.pos_embed] * later}
        return list(zip([_unchanged, *places[self.cfg.pos_at]], self.blocks, strict=False))

    def _corrupt(self, patches: Tensor, mask: Tensor | None, source: Tensor | None) -> Tensor:
        """Other patches' tokens, and the mask token, in the places that `source` and `mask` name, (B, N, D)."""
        if not self.cfg.mask_token:
            raise ValueError("expected no mask, the model has no mask token; make it with mask_token=True")
        if mask is None:
            raise ValueError("expected a mask beside the source, got None; give one that is False everywhere")
        for name, which, dtype in (("mask", mask, torch.bool), ("source", source, torch.int64)):
            if which is not None and (which.shape != patches.shape[:2] or which.dtype != dtype):
                raise ValueError(
                    f"expected a {name} of {dtype} {tuple(patches.shape[:2])}, one value for each patch, "
                    f"got {which.dtype} {tuple(which.shape)}"
                )
        if source is not None:
            patches = patches.gather(1, source[:, :, None].expand_as(patches))
        return torch.where(mask[:, :, None], self.mask_token.to(patches.dtype), patches)


def _unchanged(x: Tensor) -> Tensor:
    return x


def _build_head(cfg: ViTConfig) -> nn.Module:
    if cfg.num_classes == 0:
        return nn.Identity()
    last = nn.Linear(cfg.embed_dim, cfg.num_classes)
    if cfg.head == "linear":
        return last
    return nn.Sequential(nn.Linear(cfg.embed_dim, cfg.embed_dim), nn.Tanh(), last)


def _init_weights(module: nn.Module, std: float = STD) -> None:
    """Truncated normals and zero biases; the patch embeddings initialise themselves."""
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=std)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def _save_as_timm(module: nn.Module, state: dict, prefix: str, _metadata: dict) -> None:
    """timm keeps the learned positions under the model's own `pos_embed`."""
    if f"{prefix}pos_embed.weight" in state:
        state[f"{prefix}pos_embed"] = state.pop(f"{prefix}pos_embed.weight")


def _load_as_timm(module: nn.Module, state: dict, prefix: str, *_rest) -> None:
    if f"{prefix}pos_embed" in state:
        state[f"{prefix}pos_embed.weight"] = state.pop(f"{prefix}pos_embed")


def _report_as_timm(module: nn.Module, keys) -> None:
    keys.missing_keys[:] = [key.replace("pos_embed.weight", "pos_embed") for key in keys.missing_keys]
