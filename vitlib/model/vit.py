"""The Vision Transformer (Section 3.1, Figure 1), assembled from the levels below."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vitlib.config import ViTConfig
from vitlib.model.encoder import BLOCKS, EPS
from vitlib.model.patches import PATCH_EMBEDS
from vitlib.model.posembed import POS_EMBEDS, STD

__all__ = ["VisionTransformer"]


class VisionTransformer(nn.Module):
    """Patches to tokens, CLS in front, positions added, L encoder blocks, one token read by a head.

    The default model's `state_dict` has timm's names and shapes.

    Args:
        cfg: The shape of the model.

    Shape: standardised images (B, C, H, W) -> logits (B, K).

    Source: Equations 1-4; chapter 08.

    >>> model = VisionTransformer(ViTConfig(depth=1))
    >>> model(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    def __init__(self, cfg: ViTConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.patch_embed = PATCH_EMBEDS[cfg.patch_embed](cfg.patch_size, cfg.in_chans, cfg.embed_dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, cfg.embed_dim))
        self.pos_drop = nn.Dropout(cfg.drop_rate)
        drop_paths = [cfg.drop_path_rate * i / max(1, cfg.depth - 1) for i in range(cfg.depth)]
        self.blocks = nn.ModuleList(
            BLOCKS[cfg.norm_order](
                cfg.embed_dim,
                cfg.num_heads,
                cfg.hidden_dim,
                cfg.qkv_bias,
                cfg.drop_rate,
                cfg.attn_drop_rate,
                drop_path,
                cfg.layer_scale,
                cfg.act,
            )
            for drop_path in drop_paths
        )
        # the last post-norm block has normalised its output already
        self.norm = nn.LayerNorm(cfg.embed_dim, eps=EPS) if cfg.norm_order == "pre" else nn.Identity()
        self.head = _build_head(cfg)
        self.blocks.apply(partial(_init_weights, std=cfg.init_std))
        self.head.apply(_init_weights)
        self.pos_embed = POS_EMBEDS[cfg.pos_embed](cfg.grid, cfg.embed_dim, cfg.num_heads)
        self.register_state_dict_post_hook(_save_as_timm)
        self.register_load_state_dict_pre_hook(_load_as_timm)
        self.register_load_state_dict_post_hook(_report_as_timm)

    def embed(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B T D"]:
        """The encoder's input (Equation 1): (B, C, H, W) -> (B, 1+N, D), CLS first.

        Raises:
            ValueError: If the images do not have the shape or the dtype the model was made for.
        """
        self._check(images)
        patches = self.patch_embed(images)  # (B, N, D)
        tokens = torch.cat([self.cls_token.expand(len(images), -1, -1), patches], dim=1)  # (B, 1+N, D)
        return self.pos_drop(self.pos_embed(tokens))

    def forward_features(self, images: Float[Tensor, "B C H W"]) -> Float[Tensor, "B T D"]:
        """Every token after the last norm (Equations 1-3): (B, C, H, W) -> (B, 1+N, D)."""
        x, bias = self.embed(images), self.pos_embed.attention_bias()
        for block in self.blocks:
            x = block(x, bias)
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
            images: (B, C, H, W), standardised.
            layers: Which blocks, in this order; negative counts from the end. None means all.

        Returns:
            (L, B, h, 1+N, 1+N), rows sum to 1; row 0 is what CLS reads. L x B x h x (1+N)^2 floats
            can be many: use few images, and `torch.no_grad()`.

        Raises:
            ValueError: If a layer does not exist or the images do not fit.

        Source: Equation 6.
        """
        depth = self.cfg.depth
        layers = list(range(depth)) if layers is None else list(layers)
        if not layers or any(not -depth <= layer < depth for layer in layers):
            raise ValueError(f"layers must name blocks from {-depth} to {depth - 1}, got {layers}")
        wanted = {layer % depth for layer in layers}
        x, bias, maps = self.embed(images), self.pos_embed.attention_bias(), {}
        for i, block in enumerate(self.blocks[: max(wanted) + 1]):
            if i in wanted:
                maps[i] = block.attention_weights(x, bias)
            x = block(x, bias)
        return torch.stack([maps[layer % depth] for layer in layers])

    def with_img_size(self, img_size: int | tuple[int, int]) -> VisionTransformer:
        """A copy of the model for another image size, its positions resampled.

        Args:
            img_size: The new side, or (height, width), in pixels.

        Raises:
            ValueError: If the patch size does not divide it.

        Source: Section 3.2.
        """
        model = copy.deepcopy(self)
        model.cfg = replace(self.cfg, img_size=img_size)
        model.pos_embed.resample(model.cfg.grid)
        return model

    def _check(self, images: Tensor) -> None:
        expected = (self.cfg.in_chans, *self.cfg.image_shape)
        if images.ndim != 4 or tuple(images.shape[1:]) != expected:
            got = tuple(images.shape)
            if got == expected:
                fix = "add the batch axis with images[None]"
            elif got[1:] == (*expected[1:], expected[0]):
                fix = "move the channels first with images.permute(0, 3, 1, 2)"
            elif got[2:] == expected[1:]:
                fix = f"the model takes {expected[0]} channels"
            else:
                fix = "resize the images, or use model.with_img_size(...)"
            raise ValueError(
                f"expected images of shape (B, {', '.join(map(str, expected))}), got {got}; {fix}"
            )
        if not images.is_floating_point():
            raise ValueError(
                f"expected standardised float images, got {images.dtype}; use vl.normalize(images)"
            )


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
