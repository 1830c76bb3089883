"""The encoder block, with the norm before each branch (the paper, Equations 2-3) or after it (2017)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jaxtyping import Float
from torch import Tensor, nn

from vitlib.checks import Count, DropRate, checked
from vitlib.model.attention import Attention
from vitlib.model.layers import DropPath, LayerScale, Mlp

__all__ = ["BLOCKS", "Block", "PostNormBlock"]

EPS = 1e-6  # LayerNorm's epsilon in the paper's code


class Block(nn.Module):
    """Pre-norm block: x + attention(norm(x)), then x + MLP(norm(x)).

    Args:
        embed_dim: Width D.
        num_heads: Heads h.
        hidden_dim: Hidden width of the MLP.
        qkv_bias: Whether queries, keys and values have a bias.
        drop_rate: Dropout after the attention projection and in the MLP.
        attn_drop_rate: Dropout on the attention weights.
        drop_path: Probability of dropping a branch.
        layer_scale: LayerScale's initial value, or None.
        act: Activation of the MLP.
        attention: Makes the attention from D, h and its three options, as `Attention` does.

    Shape: (B, T, D) -> (B, T, D).

    Source: Equations 2 and 3; chapter 06.
    """

    @checked
    def __init__(
        self,
        embed_dim: Count,
        num_heads: Count,
        hidden_dim: Count,
        qkv_bias: bool = True,
        drop_rate: DropRate = 0.0,
        attn_drop_rate: DropRate = 0.0,
        drop_path: DropRate = 0.0,
        layer_scale: float | None = None,
        act: str = "gelu",
        attention: Callable[..., Attention] = Attention,
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim, eps=EPS)
        self.attn = attention(embed_dim, num_heads, qkv_bias, attn_drop_rate, drop_rate)
        self.ls1 = nn.Identity() if layer_scale is None else LayerScale(embed_dim, layer_scale)
        self.norm2 = nn.LayerNorm(embed_dim, eps=EPS)
        self.mlp = Mlp(embed_dim, hidden_dim, act, drop_rate)
        self.ls2 = nn.Identity() if layer_scale is None else LayerScale(embed_dim, layer_scale)
        self.drop_path = DropPath(drop_path)

    def forward(
        self, x: Float[Tensor, "B T D"], bias: Float[Tensor, "#B h T T"] | None = None
    ) -> Float[Tensor, "B T D"]:
        x = x + self.drop_path(self.ls1(self.attn(self.norm1(x), bias)))
        return x + self.drop_path(self.ls2(self.mlp(self.norm2(x))))

    def attention_weights(
        self, x: Float[Tensor, "B T D"], bias: Float[Tensor, "#B h T T"] | None = None
    ) -> Float[Tensor, "B h T T"]:
        """The weights this block's attention would use on `x`, given `bias`: (B, T, D) -> (B, h, T, T)."""
        return self.attn.attention_weights(self.norm1(x), bias)


class PostNormBlock(Block):
    """Post-norm block: norm(x + attention(x)), then norm(x + MLP(x)); arguments as for `Block`.

    Source: Vaswani et al. 2017 (arXiv 1706.03762). The paper's Section 3.1 chose pre-norm instead;
        chapter 06.
    """

    def forward(
        self, x: Float[Tensor, "B T D"], bias: Float[Tensor, "#B h T T"] | None = None
    ) -> Float[Tensor, "B T D"]:
        x = self.norm1(x + self.drop_path(self.ls1(self.attn(x, bias))))
        return self.norm2(x + self.drop_path(self.ls2(self.mlp(x))))

    def attention_weights(
        self, x: Float[Tensor, "B T D"], bias: Float[Tensor, "#B h T T"] | None = None
    ) -> Float[Tensor, "B h T T"]:
        """The weights this block's attention would use on `x`, given `bias`: (B, T, D) -> (B, h, T, T)."""
        return self.attn.attention_weights(x, bias)


class PositionedBlock(Block):
    """A block that adds positions to what it reads (Appendix D.4, "Add positional embeddings in each layer")."""

    positions: tuple[
        nn.Module
    ]  # the model's, not the block's own: in a tuple, where no parameters are looked for

    def forward(
        self, x: Float[Tensor, "B T D"], bias: Float[Tensor, "#B h T T"] | None = None
    ) -> Float[Tensor, "B T D"]:
        return super().forward(self.positions[0](x), bias)

    def attention_weights(
        self, x: Float[Tensor, "B T D"], bias: Float[Tensor, "#B h T T"] | None = None
    ) -> Float[Tensor, "B h T T"]:
        return super().attention_weights(self.positions[0](x), bias)


class PositionedPostNormBlock(PositionedBlock, PostNormBlock):
    """The same around a post-norm block."""


def give_positions(blocks: Iterable[nn.Module], positions: Iterable[nn.Module]) -> None:
    """Have each of the positioned `blocks` add its `positions`."""
    for block, own in zip(blocks, positions, strict=True):
        block.positions = (own,)


BLOCKS = {"pre": Block, "post": PostNormBlock}
POSITIONED_BLOCKS = {"pre": PositionedBlock, "post": PositionedPostNormBlock}
