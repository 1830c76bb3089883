"""A whole Vision Transformer on one page (Equations 1-4), to be read in one go and copied: torch and einops alone.

`ViT` computes what `VisionTransformer` computes. Its parameters have timm's names and shapes, so that each reads the
other's `state_dict`. Letters in shapes: B images, C channels, N patches of side P, T = 1 + N tokens of width D, h heads
of width d = D / h, K classes. Source: Dosovitskiy et al. 2021 (arXiv 2010.11929), Section 3.1; chapter 08.
"""

from __future__ import annotations

import torch
from einops import rearrange, repeat
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["ViT"]


class PatchEmbed(nn.Module):
    """Images are cut into patches; each is flattened and multiplied by E."""

    def __init__(self, patch_size: int, in_chans: int, embed_dim: int) -> None:
        super().__init__()
        self.patch_size = patch_size
        # E has the shape of the convolution that does the same in one step: `self.proj(images)`
        self.proj = nn.Conv2d(in_chans, embed_dim, patch_size, stride=patch_size)

    def forward(self, images: Tensor) -> Tensor:  # (B, C, H, W) -> (B, N, D)
        P = self.patch_size
        cut = "b c (h p1) (w p2) -> b (h w) (c p1 p2)"
        patches = rearrange(images, cut, p1=P, p2=P)  # (B, N, C P P)
        E = rearrange(self.proj.weight, "d c p1 p2 -> d (c p1 p2)")
        return F.linear(patches, E, self.proj.bias)


class Attention(nn.Module):
    """Each head mixes the tokens' values, by how well queries and keys agree (Appendix A)."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, D)
        split = "b t (three h d) -> three b h t d"
        q, k, v = rearrange(self.qkv(x), split, three=3, h=self.num_heads)
        # softmax(q k^T / sqrt(d)) v for each head, (B, h, T, d)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.proj(rearrange(mixed, "b h t d -> b t (h d)"))


class Mlp(nn.Module):
    """Two layers with a GELU between them, for each token by itself."""

    def __init__(self, embed_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(embed_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, D)
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    """Attention, then the MLP; each reads a normalised copy, and its result is added to the stream."""

    def __init__(self, embed_dim: int, num_heads: int, hidden_dim: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim, eps=1e-6)
        self.attn = Attention(embed_dim, num_heads)
        self.norm2 = nn.LayerNorm(embed_dim, eps=1e-6)
        self.mlp = Mlp(embed_dim, hidden_dim)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, D)
        x = x + self.attn(self.norm1(x))  # Equation 2
        return x + self.mlp(self.norm2(x))  # Equation 3


class ViT(nn.Module):
    """A Vision Transformer for images of one size; the defaults suit CIFAR-10.

    Shape: normalised images (B, C, H, W) -> logits (B, K).

    Source: Equations 1-4; chapter 08.

    >>> ViT(img_size=(32, 48), depth=2)(torch.zeros(5, 3, 32, 48)).shape
    torch.Size([5, 10])
    """

    def __init__(
        self,
        # side, or (height, width); multiples of patch_size
        img_size: int | tuple[int, int] = 32,
        patch_size: int = 4,
        in_chans: int = 3,
        num_classes: int = 10,
        embed_dim: int = 192,
        depth: int = 6,
        num_heads: int = 3,  # a divisor of embed_dim
        mlp_ratio: float = 4.0,
        global_pool: str = "token",  # what the head reads: "token" is CLS, "avg" the mean of the patches
    ) -> None:
        super().__init__()
        if isinstance(img_size, int):
            img_size = (img_size, img_size)
        height, width = img_size
        num_patches = (height // patch_size) * (width // patch_size)
        hidden_dim = int(embed_dim * mlp_ratio)
        self.global_pool = global_pool
        self.patch_embed = PatchEmbed(patch_size, in_chans, embed_dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + num_patches, embed_dim))
        self.blocks = nn.Sequential(
            *(Block(embed_dim, num_heads, hidden_dim) for _ in range(depth))
        )
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, num_classes)
        self.init_weights()

    def init_weights(self) -> None:
        """Small matrices and positions, zero biases; E so that tokens start with the pixels' mean square."""
        for name, p in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(p)
            elif name == "patch_embed.proj.weight":
                nn.init.trunc_normal_(p, std=p[0].numel() ** -0.5)
            elif name == "pos_embed" or p.ndim == 2:
                nn.init.trunc_normal_(p, std=0.02)

    def forward(self, images: Tensor) -> Tensor:  # (B, C, H, W) -> (B, K)
        patches = self.patch_embed(images)  # (B, N, D)
        cls = repeat(self.cls_token, "1 1 d -> b 1 d", b=len(images))
        x = torch.cat([cls, patches], dim=1)  # (B, 1+N, D)
        x = x + self.pos_embed  # Equation 1
        x = self.norm(self.blocks(x))  # Equations 2 and 3, once a block
        token = self.global_pool == "token"
        y = x[:, 0] if token else x[:, 1:].mean(dim=1)  # (B, D)
        return self.head(y)  # Equation 4
