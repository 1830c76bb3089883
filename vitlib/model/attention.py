"""Multi-head self-attention (Equations 5-8): one fused path, and the weights on request."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from vitlib.checks import Count, Rate, check_heads, checked
from vitlib.tensors import check_like

__all__ = ["Attention"]

# added to the scores before the softmax; see `RelativePosEmbed`
Bias = Float[Tensor, "#B h T T"] | None


def _fused_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """softmax(q k^T / sqrt(d) + bias) v without forming the weights, (B, h, T, d) each."""
    if q.dtype == torch.bfloat16 and q.device.type == "cpu" and q.requires_grad:
        # here the kernel's backward pass is almost four times slower than in float32: more than half a train step
        with torch.autocast("cpu", enabled=False):
            bias = None if bias is None else bias.float()
            return _fused_attention(q.float(), k.float(), v.float(), bias).to(q.dtype)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def split_heads(joint: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of every head: (B, T, 3D) -> three of (B, T, D) -> three of (B, h, T, d)."""
    q, k, v = (
        part.unflatten(-1, (num_heads, -1)).transpose(1, 2)
        for part in joint.chunk(3, dim=-1)
    )
    return q, k, v


class Attention(nn.Module):
    """Multi-head self-attention with queries, keys and values in one projection.

    `forward` always takes PyTorch's fused kernel, which never forms the weights; ask
    `attention_weights` for them. Nothing is cached.

    Args:
        embed_dim: Width D.
        num_heads: Heads h, a divisor of D; each is d = D / h wide.
        qkv_bias: Whether the joint projection has a bias.
        drop_rate: Dropout on the output.

    Raises:
        ValueError: If h does not divide D; from `forward`, if the tokens are not D wide.

    Source: Appendix A; chapter 05.
    """

    @checked
    def __init__(
        self,
        embed_dim: Count,
        num_heads: Count,
        qkv_bias: bool = True,
        drop_rate: Rate = 0.0,
    ) -> None:
        super().__init__()
        check_heads(embed_dim, num_heads)
        self.num_heads = num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim, bias=qkv_bias)
        self.proj = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(drop_rate)
        self.rotary: tuple = ()  # the model's `RotaryPosEmbed`, if it has one; a tuple, so that no weight stands twice

    def project(
        self, x: Float[Tensor, "B T D"]
    ) -> tuple[Float[Tensor, "B h T d"], ...]:
        """Queries, keys and values of every head (Equation 5), each (B, h, T, d).

        Raises:
            ValueError: If `x` is not (B, T, D), or not as the weights are (dtype, device, dense).
        """
        width = self.qkv.in_features
        check_like("tokens", x, next(self.qkv.parameters()))
        if (
            x.ndim != 3 or x.shape[-1] != width
        ):  # (T, D) would mix the numbers of a head in place of tokens
            lacks_batch = tuple(x.shape[1:]) == (width,)
            fix = (
                "add the batch axis with x[None]"
                if lacks_batch
                else "is it embedded yet?"
            )
            raise ValueError(
                f"expected tokens of shape (B, T, {width}), got {tuple(x.shape)}; {fix}"
            )
        q, k, v = split_heads(self.qkv(x), self.num_heads)
        for positions in self.rotary:
            q, k = positions.turn(q), positions.turn(k)
        return q, k, v

    def forward(
        self, x: Float[Tensor, "B T D"], bias: Bias = None
    ) -> Float[Tensor, "B T D"]:
        """Mix the tokens `x` (Equations 6-8), their scores raised by a `bias`: (B, T, D) -> (B, T, D)."""
        q, k, v = self.project(x)
        mixed = self._mix(q, k, v, bias)  # (B, h, T, d)
        # (B, T, h, d) -> (B, T, D)
        return self.drop(self.proj(mixed.transpose(1, 2).flatten(2)))

    def _mix(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        """What every query takes from the values, (B, h, T, d) each."""
        return _fused_attention(q, k, v, bias)

    def attention_weights(
        self, x: Float[Tensor, "B T D"], bias: Bias = None
    ) -> Float[Tensor, "B h T T"]:
        """The softmax weights (Equation 6) that `forward` uses without forming them; arguments as there, no dropout.

        Returns:
            (B, h, T, T): row i says how much query i takes from each key; rows sum to 1.
        """
        q, k, _ = self.project(x)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (B, h, T, T)
        return (scores if bias is None else scores + bias).softmax(dim=-1)


class AttentionPool(nn.Module):
    """One learned question reads the tokens, then an MLP: SigLIP's head.

    Args:
        embed_dim: Width D.
        num_heads: Heads h, a divisor of D.
        norm: What normalises the answer before the MLP.
        mlp: What is added to it then, (B, 1, D) -> (B, 1, D).

    Shape: (B, T, D) -> (B, D).

    Source: Zhai et al. 2022 (arXiv 2106.04560), Section 3.3, "MAP head"; SigLIP (arXiv 2303.15343).
    """

    @checked
    def __init__(
        self, embed_dim: Count, num_heads: Count, norm: nn.Module, mlp: nn.Module
    ) -> None:
        super().__init__()
        check_heads(embed_dim, num_heads)
        self.num_heads = num_heads
        latent = torch.empty(1, 1, embed_dim)
        self.latent = nn.Parameter(nn.init.trunc_normal_(latent, std=embed_dim**-0.5))
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.proj = nn.Linear(embed_dim, embed_dim)
        self.norm = norm
        self.mlp = mlp

    def project(self, x: Float[Tensor, "B T D"]) -> tuple[Tensor, ...]:
        """The question's query, (B, h, 1, d), and the tokens' keys and values, each (B, h, T, d)."""
        question = self.latent.expand(x.shape[0], -1, -1)  # (B, 1, D)
        q, k, v = split_heads(self.qkv(torch.cat([question, x], dim=1)), self.num_heads)
        return q[:, :, :1], k[:, :, 1:], v[:, :, 1:]

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B D"]:
        q, k, v = self.project(x)
        mixed = _fused_attention(q, k, v, None)  # (B, h, 1, d)
        answer = self.proj(mixed.transpose(1, 2).flatten(2))  # (B, 1, D)
        return (answer + self.mlp(self.norm(answer)))[:, 0]

    def attention_weights(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B h 1 T"]:
        """How much of each token the question takes: (B, T, D) -> (B, h, 1, T), rows sum to 1."""
        q, k, _ = self.project(x)
        return (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1)
