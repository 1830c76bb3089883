"""The encoder block, its norms before the branches (Equations 2-3) or after (2017), and the parts it is made of."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vitlib.checks import Count, Positive, Rate, check_choice, checked
from vitlib.model.attention import Attention, Bias

__all__ = [
    "ACTIVATIONS",
    "BLOCKS",
    "Block",
    "DropPath",
    "GatedMlp",
    "LayerScale",
    "Mlp",
    "PostNormBlock",
]

EPS = 1e-6  # LayerNorm's epsilon in the paper's code


class QuickGELU(nn.Module):
    """x sigmoid(1.702 x), an approximation of GELU: (...) -> (...).

    Source: Hendrycks and Gimpel 2016 (arXiv 1606.08415), Section 2; OpenAI's CLIP has it.
    """

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(1.702 * x)


ACTIVATIONS = {
    "gelu": nn.GELU,
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
    "quick_gelu": QuickGELU,
    "silu": nn.SiLU,
    "relu": nn.ReLU,
}


class Mlp(nn.Module):
    """Two linear layers with an activation between them, applied to each token alone.

    Args:
        embed_dim: Width D, in and out.
        hidden_dim: Width between the layers, 4D in the paper.
        act: A key of `ACTIVATIONS`.
        drop_rate: Dropout after each layer.

    Shape: (B, T, D) -> (B, T, D).

    Source: Section 3.1 ("The MLP contains two layers with a GELU non-linearity"); chapter 06.
    """

    parts = 1  # numbers that `fc1` puts out for each hidden unit

    @checked
    def __init__(
        self,
        embed_dim: Count,
        hidden_dim: Count,
        act: str = "gelu",
        drop_rate: Rate = 0.0,
    ) -> None:
        super().__init__()
        check_choice("act", act, ACTIVATIONS)
        self.fc1 = nn.Linear(embed_dim, self.parts * hidden_dim)
        self.act = ACTIVATIONS[act]()
        self.fc2 = nn.Linear(hidden_dim, embed_dim)
        self.drop = nn.Dropout(drop_rate)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.drop(self.fc2(self.drop(self._hidden(self.fc1(x)))))

    def _hidden(self, x: Float[Tensor, "B T F"]) -> Float[Tensor, "B T M"]:
        """The hidden units, of what `fc1` puts out."""
        return self.act(x)


class GatedMlp(Mlp):
    """SwiGLU, if `act` is "silu": every hidden unit times the activation of a gate; arguments as for `Mlp`.

    `fc1` puts out the gates first, then what they let through, M numbers each.

    Source: Shazeer 2020 (arXiv 2002.05202), Equation 6; DINOv2's giant, DINOv3's S+.
    """

    parts = 2

    def _hidden(self, x: Float[Tensor, "B T F"]) -> Float[Tensor, "B T M"]:
        gates, values = x.chunk(2, dim=-1)  # (B, T, M) each
        return self.act(gates) * values


MLPS = {"plain": Mlp, "gated": GatedMlp}


class DropPath(nn.Module):
    """Stochastic depth: in training, drop a whole residual branch for a random part of the batch.

    The images that keep the branch have it scaled by 1 / (1 - p), so the mean stays the same; in
    evaluation nothing changes.

    Args:
        p: Probability of dropping the branch, in [0, 1).

    Source: Huang et al. 2016 (arXiv 1603.09382); not in the paper; chapter 06.
    """

    @checked
    def __init__(self, p: Rate = 0.0) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Float[Tensor, "B ..."]) -> Float[Tensor, "B ..."]:
        if not self.training or self.p == 0:
            return x
        # (B, 1, 1)
        keep = torch.rand(x.shape[0], *[1] * (x.ndim - 1), device=x.device) >= self.p
        return x * keep.to(x.dtype) / (1 - self.p)

    def extra_repr(self) -> str:
        return f"p={self.p:.3f}"


class LayerScale(nn.Module):
    """A learned factor for each channel of a residual branch, small at first.

    Args:
        embed_dim: Width D.
        init_value: Initial value of every factor.

    Shape: (B, T, D) -> (B, T, D).

    Source: Touvron et al. 2021, CaiT (arXiv 2103.17239); not in the paper; chapter 06.
    """

    @checked
    def __init__(self, embed_dim: Count, init_value: float) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.full((embed_dim,), float(init_value)))

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return x * self.gamma


class Block(nn.Module):
    """Pre-norm block: x + attention(norm(x)), then x + MLP(norm(x)).

    Args:
        embed_dim: Width D.
        num_heads: Heads h.
        hidden_dim: Hidden width of the MLP.
        qkv_bias: Whether queries, keys and values have a bias.
        drop_rate: Dropout after the attention projection and in the MLP.
        drop_path: Probability of dropping a branch.
        layer_scale: LayerScale's initial value, or None.
        act: Activation of the MLP.
        attention: Makes the attention from D, h and its two options, as `Attention` does.
        mlp: A key of `MLPS`.
        norm_eps: Epsilon of both norms.

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
        drop_rate: Rate = 0.0,
        drop_path: Rate = 0.0,
        layer_scale: float | None = None,
        act: str = "gelu",
        attention: Callable[..., Attention] = Attention,
        mlp: str = "plain",
        norm_eps: Positive = EPS,
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim, eps=norm_eps)
        self.attn = attention(embed_dim, num_heads, qkv_bias, drop_rate)
        self.ls1 = (
            nn.Identity() if layer_scale is None else LayerScale(embed_dim, layer_scale)
        )
        self.norm2 = nn.LayerNorm(embed_dim, eps=norm_eps)
        self.mlp = MLPS[mlp](embed_dim, hidden_dim, act, drop_rate)
        self.ls2 = (
            nn.Identity() if layer_scale is None else LayerScale(embed_dim, layer_scale)
        )
        self.drop_path = DropPath(drop_path)

    def forward(
        self, x: Float[Tensor, "B T D"], bias: Bias = None
    ) -> Float[Tensor, "B T D"]:
        x = x + self.drop_path(self.ls1(self.attn(self.norm1(x), bias)))
        return x + self.drop_path(self.ls2(self.mlp(self.norm2(x))))

    def attention_weights(
        self, x: Float[Tensor, "B T D"], bias: Bias = None
    ) -> Float[Tensor, "B h T T"]:
        """The weights this block's attention would use on `x`, given `bias`: (B, T, D) -> (B, h, T, T)."""
        return self.attn.attention_weights(self.norm1(x), bias)


class PostNormBlock(Block):
    """Post-norm block: norm(x + attention(x)), then norm(x + MLP(x)); arguments as for `Block`.

    Source: Vaswani et al. 2017 (arXiv 1706.03762). The paper's Section 3.1 chose pre-norm instead; chapter 06.
    """

    def forward(
        self, x: Float[Tensor, "B T D"], bias: Bias = None
    ) -> Float[Tensor, "B T D"]:
        x = self.norm1(x + self.drop_path(self.ls1(self.attn(x, bias))))
        return self.norm2(x + self.drop_path(self.ls2(self.mlp(x))))

    def attention_weights(
        self, x: Float[Tensor, "B T D"], bias: Bias = None
    ) -> Float[Tensor, "B h T T"]:
        """The weights this block's attention would use on `x`, given `bias`: (B, T, D) -> (B, h, T, T)."""
        return self.attn.attention_weights(x, bias)


BLOCKS = {"pre": Block, "post": PostNormBlock}
