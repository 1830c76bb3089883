"""Multi-head self-attention (Appendix A, Equations 5-8): one fused path, and the weights on request."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["Attention"]


class Attention(nn.Module):
    """Multi-head self-attention with queries, keys and values in one projection.

    `forward` always takes PyTorch's fused kernel, which never forms the weights; ask
    `attention_weights` for them. Nothing is cached.

    Args:
        embed_dim: Width D.
        num_heads: Heads h; each is d = D / h wide.
        qkv_bias: Whether the joint projection has a bias.
        attn_drop_rate: Dropout on the attention weights.
        drop_rate: Dropout on the output.

    Raises:
        ValueError: If h does not divide D.

    Source: Appendix A.
    """

    def __init__(self, embed_dim: int, num_heads: int, qkv_bias: bool = True,
                 attn_drop_rate: float = 0.0, drop_rate: float = 0.0) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} is not a multiple of num_heads {num_heads}; "
                             f"try embed_dim {-(-embed_dim // num_heads) * num_heads}")
        self.num_heads = num_heads
        self.attn_drop_rate = attn_drop_rate
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim, bias=qkv_bias)
        self.proj = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(drop_rate)

    def project(self, x: Float[Tensor, "B T D"]) -> tuple[Float[Tensor, "B h T d"], ...]:
        """Queries, keys and values of every head, each (B, h, T, d) (Equation 5)."""
        qkv = self.qkv(x).unflatten(-1, (3, self.num_heads, -1))  # (B, T, 3D) -> (B, T, 3, h, d)
        return qkv.permute(2, 0, 3, 1, 4).unbind(0)  # (3, B, h, T, d) -> three of (B, h, T, d)

    def forward(self, x: Float[Tensor, "B T D"],
                bias: Float[Tensor, "#B h T T"] | None = None) -> Float[Tensor, "B T D"]:
        """Mix the tokens.

        Args:
            x: (B, T, D).
            bias: (1, h, T, T), added to the scores before the softmax; see `RelativePosEmbed`.

        Returns:
            (B, T, D).

        Source: Equations 6-8.
        """
        q, k, v = self.project(x)
        dropout = self.attn_drop_rate if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=dropout)  # (B, h, T, d)
        return self.drop(self.proj(mixed.transpose(1, 2).flatten(2)))  # (B, T, h, d) -> (B, T, D)

    def attention_weights(self, x: Float[Tensor, "B T D"],
                          bias: Float[Tensor, "#B h T T"] | None = None) -> Float[Tensor, "B h T T"]:
        """The softmax weights that `forward` uses without forming them (dropout left out).

        Args:
            x: (B, T, D).
            bias: (1, h, T, T) or None, as in `forward`.

        Returns:
            (B, h, T, T): row i says how much query i takes from each key; rows sum to 1.

        Source: Equation 6.
        """
        q, k, _ = self.project(x)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (B, h, T, T)
        return (scores if bias is None else scores + bias).softmax(dim=-1)
