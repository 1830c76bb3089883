"""Multi-head self-attention (Appendix A, Equations 5-8): one fused path, and the weights on request."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from vitlib.checks import check_count, check_heads

__all__ = ["Attention"]


def _fused_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, dropout: float) -> Tensor:
    """softmax(q k^T / sqrt(d) + bias) v without forming the weights, (B, h, T, d) each."""
    if q.dtype == torch.bfloat16 and q.device.type == "cpu" and q.requires_grad:
        # here the kernel's backward pass is almost four times slower than in float32: more than half a train step
        with torch.autocast("cpu", enabled=False):
            bias = None if bias is None else bias.float()
            return _fused_attention(q.float(), k.float(), v.float(), bias, dropout).to(q.dtype)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=dropout)


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
        ValueError: If h does not divide D; in use, if the tokens are not (B, T, D).

    Source: Appendix A; chapter 05.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        qkv_bias: bool = True,
        attn_drop_rate: float = 0.0,
        drop_rate: float = 0.0,
    ) -> None:
        super().__init__()
        check_count("num_heads", num_heads)
        check_heads(embed_dim, num_heads)
        self.num_heads = num_heads
        self.attn_drop_rate = attn_drop_rate
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim, bias=qkv_bias)
        self.proj = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(drop_rate)

    def project(self, x: Float[Tensor, "B T D"]) -> tuple[Float[Tensor, "B h T d"], ...]:
        """Queries, keys and values of every head, each (B, h, T, d).

        Raises:
            ValueError: If `x` is not (B, T, D).

        Source: Equation 5.
        """
        width = self.qkv.in_features
        if x.ndim != 3 or x.shape[-1] != width:  # (T, D) would mix the numbers of a head in place of tokens
            fix = (
                "add the batch axis with x[None]" if tuple(x.shape[1:]) == (width,) else "is it embedded yet?"
            )
            raise ValueError(f"expected tokens of shape (B, T, {width}), got {tuple(x.shape)}; {fix}")
        parts = self.qkv(x).chunk(3, dim=-1)  # (B, T, 3D) -> three of (B, T, D)
        return tuple(
            part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in parts
        )  # (B, h, T, d)

    def forward(
        self, x: Float[Tensor, "B T D"], bias: Float[Tensor, "#B h T T"] | None = None
    ) -> Float[Tensor, "B T D"]:
        """Mix the tokens.

        Args:
            x: (B, T, D).
            bias: (1, h, T, T), added to the scores before the softmax; see `RelativePosEmbed`.

        Returns:
            (B, T, D).

        Source: Equations 6-8.
        """
        q, k, v = self.project(x)
        mixed = _fused_attention(q, k, v, bias, self.attn_drop_rate if self.training else 0.0)  # (B, h, T, d)
        return self.drop(self.proj(mixed.transpose(1, 2).flatten(2)))  # (B, T, h, d) -> (B, T, D)

    def attention_weights(
        self, x: Float[Tensor, "B T D"], bias: Float[Tensor, "#B h T T"] | None = None
    ) -> Float[Tensor, "B h T T"]:
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
