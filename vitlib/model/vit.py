"""The Vision Transformer (Section 3.1, Figure 1), made of what stands in the other files of this folder."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vitlib.checks import Size, checked, is_whole
from vitlib.config import ResNetConfig, ViTConfig
from vitlib.model.attention import AttentionPool
from vitlib.model.encoder import BLOCKS, Mlp
from vitlib.model.patches import PATCH_EMBEDS, PatchDrop, init_projection
from vitlib.model.posembed import POS_EMBEDS, STD, PosEmbed, learned, name_as_timm
from vitlib.model.resnet import ResNet
from vitlib.tensors import check_images, check_normalised

__all__ = ["MODELS", "VisionTransformer", "build_model"]


class VisionTransformer(nn.Module):
    """Normalised images to logits: patches, CLS in front, positions, L encoder blocks, one vector read by a head.

    Tokens stand in the order CLS, patches, registers, where there are any: patch n is token 1 + n, or n without CLS.

    The default model's `state_dict` has timm's names and shapes.

    Args:
        cfg: The shape of the model.

    Shape: normalised images (B, C, H, W) -> logits (B, K).

    Raises:
        ValueError: From `forward`, if the images have another size, or were not normalised.

    Source: Equations 1-4; chapter 08.

    >>> model = VisionTransformer(ViTConfig(depth=1))
    >>> model(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    @checked
    def __init__(self, cfg: ViTConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.patch_embed = PATCH_EMBEDS[cfg.patch_embed](
            cfg.patch_size, cfg.in_chans, cfg.embed_dim
        )
        if cfg.class_token:
            self.cls_token = nn.Parameter(torch.zeros(1, 1, cfg.embed_dim))
        self.pos_drop = nn.Dropout(cfg.drop_rate)
        self.patch_drop = PatchDrop(cfg.patch_drop_rate)
        self.blocks = _build_blocks(cfg)
        self.norm_pre = _build_norm(cfg, cfg.pre_norm)
        # the last post-norm block has normalised its output already
        self.norm = _build_norm(cfg, cfg.norm_order == "pre" and not cfg.fc_norm)
        self.fc_norm = _build_norm(cfg, cfg.fc_norm)
        if cfg.global_pool == "map":
            self.attn_pool = _build_question(cfg).apply(_init_weights)
        self.head = _build_head(cfg)
        self.blocks.apply(partial(_init_weights, std=cfg.init_std))
        self.head.apply(_init_weights)
        others = int(cfg.class_token), cfg.reg_tokens
        self.pos_embed = POS_EMBEDS[cfg.pos_embed](
            cfg.grid, cfg.embed_dim, cfg.num_heads, *others
        )
        turning: Any = self.blocks if cfg.turns else []
        for block in turning:
            block.attn.rotary = (self.pos_embed,)
        if cfg.mask_token:  # for `MaskedPatchModel`; drawn last, so that everything else is as without it
            self.mask_token = learned(1, 1, cfg.embed_dim)
        if cfg.reg_tokens:
            self.reg_token = learned(1, cfg.reg_tokens, cfg.embed_dim)
        name_as_timm(self)

    def embed(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B T D"]:
        """The encoder's input (Equation 1), of normalised images: (B, C, H, W) -> (B, T, D), CLS first, T = 1+N."""
        return self.add_positions(self.embed_patches(images))

    def embed_patches(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B N D"]:
        """The patches of normalised images times E, half of Equation 1: (B, C, H, W) -> (B, N, D)."""
        height, width = self.cfg.image_shape
        other_size = "resize the images, or use model.with_img_size(...)"
        check_images(images, f"B {self.cfg.in_chans} {height} {width}", other_size)
        check_normalised(images, next(self.parameters()))
        return self.patch_embed(images)

    def add_positions(self, patches: Float[Tensor, "B N D"]) -> Float[Tensor, "B T D"]:
        """CLS in front, positions added, the second half of Equation 1: (B, N, D) -> (B, T, D)."""
        x = patches
        if self.cfg.class_token:
            cls = self.cls_token.expand(x.shape[0], -1, -1)  # (B, 1, D)
            x = torch.cat([cls, x], dim=1)  # (B, 1+N, D)
        return self.add_registers(self.patch_drop(self.pos_drop(self.pos_embed(x))))

    def add_registers(self, x: Float[Tensor, "B S D"]) -> Float[Tensor, "B T D"]:
        """Registers behind the tokens, and the norm before the first block, where the model has them."""
        if self.cfg.reg_tokens:
            x = torch.cat([x, self.reg_token.expand(x.shape[0], -1, -1)], dim=1)
        return self.norm_pre(x)

    def encode(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Every block (Equations 2 and 3) and the last norm, of what `embed` gives: (B, T, D) -> (B, T, D)."""
        bias = self.pos_embed.attention_bias()
        for block in self.blocks:
            x = block(x, bias)
        return self.norm(x)

    def forward_features(
        self, images: Float[Tensor, "B C H W"]
    ) -> Float[Tensor, "B T D"]:
        """Every token of normalised images after the last norm (Equations 1-3): (B, C, H, W) -> (B, T, D)."""
        return self.encode(self.embed(images))

    def pool(self, tokens: Float[Tensor, "B T D"]) -> Float[Tensor, "B R"]:
        """What the head reads (Equation 4): CLS, the patches' mean, or a question's answer; R is D, or 2D of two."""
        return self.fc_norm(self._pool(tokens))

    def _pool(self, tokens: Tensor) -> Tensor:
        patches, kind = tokens[:, self.cfg.patches], self.cfg.global_pool
        if kind == "map":
            return self.attn_pool(patches)
        if kind == "avg":
            return patches.mean(dim=1)
        if kind == "token":
            return tokens[:, 0]
        second = (
            patches.mean(dim=1)
            if kind == "token_avg"
            else tokens[:, -self.cfg.reg_tokens]
        )
        return torch.cat([tokens[:, 0], second], dim=1)

    def forward(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B K"]:
        """Logits of normalised images (Equations 1-4): (B, C, H, W) -> (B, K)."""
        return self.head(self.pool(self.forward_features(images)))

    def attention_maps(
        self, images: Float[Tensor, "B C H W"], layers: list[int] | None = None
    ) -> Float[Tensor, "L B h T T"]:
        """The attention weights of each layer on normalised images, computed anew; `forward` never forms them.

        Args:
            images: (B, C, H, W), normalised.
            layers: Which blocks, in this order; negative counts from the end. None means all.

        Returns:
            (L, B, h, T, T), rows sum to 1; row 0 is what CLS reads. L x B x h x T^2 floats can be many: use few
            images, and `torch.no_grad()`.

        Raises:
            ValueError: If a layer does not exist.

        Source: Equation 6.
        """
        depth = len(self.blocks)
        layers = list(range(depth)) if layers is None else layers
        known = isinstance(layers, Sequence) and all(
            is_whole(i) and -depth <= i < depth for i in layers
        )
        if not known or not layers:
            raise ValueError(
                f"layers must name blocks from {-depth} to {depth - 1}, got {layers}"
            )
        wanted = {layer % depth for layer in layers}
        x, bias, maps = self.embed(images), self.pos_embed.attention_bias(), {}
        blocks: Any = self.blocks[: max(wanted) + 1]
        for i, block in enumerate(blocks):
            if i in wanted:
                maps[i] = block.attention_weights(x, bias)
            x = block(x, bias)
        return torch.stack([maps[layer % depth] for layer in layers])

    def with_img_size(self, img_size: Size) -> VisionTransformer:
        """A copy for images of another side, or (height, width), in pixels, its positions resampled (Section 3.2)."""
        model = copy.deepcopy(self)
        model.cfg = replace(self.cfg, img_size=img_size)
        for module in model.modules():
            if isinstance(module, PosEmbed):
                module.resample(model.cfg.grid)
        return model


def _build_blocks(cfg: ViTConfig) -> nn.ModuleList:
    """The encoder's blocks; DropPath's rate grows linearly from 0 to that of the last."""
    block = BLOCKS[cfg.norm_order]
    sizes = cfg.embed_dim, cfg.num_heads, cfg.hidden_dim, cfg.qkv_bias, cfg.drop_rate
    kinds = {"layer_scale": cfg.layer_scale, "act": cfg.act, "mlp": cfg.mlp}
    rates = [cfg.drop_path_rate * i / max(1, cfg.depth - 1) for i in range(cfg.depth)]
    return nn.ModuleList(
        block(*sizes, rate, **kinds, norm_eps=cfg.norm_eps) for rate in rates
    )


def _build_norm(cfg: ViTConfig, is_there: bool) -> nn.Module:
    return nn.LayerNorm(cfg.embed_dim, eps=cfg.norm_eps) if is_there else nn.Identity()


def _build_question(cfg: ViTConfig) -> AttentionPool:
    mlp = Mlp(cfg.embed_dim, cfg.hidden_dim, cfg.act)
    return AttentionPool(cfg.embed_dim, cfg.num_heads, _build_norm(cfg, True), mlp)


def _build_head(cfg: ViTConfig) -> nn.Module:
    if cfg.num_classes == 0:
        return nn.Identity()
    width = cfg.embed_dim * (2 if cfg.global_pool in ("token_avg", "token_reg") else 1)
    if cfg.head == "linear":
        return nn.Linear(width, cfg.num_classes)
    last = nn.Linear(cfg.embed_dim, cfg.num_classes)
    return nn.Sequential(nn.Linear(width, cfg.embed_dim), nn.Tanh(), last)


def _init_weights(module: nn.Module, std: float = STD) -> None:
    """Truncated normals and zero biases; the patch embeddings initialise themselves."""
    if isinstance(module, nn.Linear):
        init_projection(module, std)


MODELS = (VisionTransformer, ResNet)  # what `build_model` makes


@checked
def build_model(cfg: ViTConfig | ResNetConfig) -> VisionTransformer | ResNet:
    """The model that a config describes: a `VisionTransformer` or a `ResNet`.

    Both have `forward`, `forward_features`, `pool`, `with_img_size` and `head`;
    `pool(forward_features(images))` is (B, D).

    Args:
        cfg: The shape of the model.

    Source: Section 4.1, "Model Variants"; chapter 11.

    >>> type(build_model(ResNetConfig())).__name__
    'ResNet'
    """
    return ResNet(cfg) if isinstance(cfg, ResNetConfig) else VisionTransformer(cfg)
