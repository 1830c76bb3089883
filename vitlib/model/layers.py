"""Small parts: the MLP (Section 3.1), stochastic depth, LayerScale, how a projection to tokens starts."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vitlib.checks import Count, DropRate, PatchDropRate, check_choice, checked

__all__ = ["ACTIVATIONS", "DropPath", "LayerScale", "Mlp", "PatchDrop"]

ACTIVATIONS = {"gelu": nn.GELU, "gelu_tanh": lambda: nn.GELU(approximate="tanh"), "relu": nn.ReLU}


class Mlp(nn.Module):
    """Two linear layers with an activation between them, applied to each token alone.

    Args:
        embed_dim: Width D, in and out.
        hidden_dim: Width between the layers, 4D in the paper.
        act: A key of `ACTIVATIONS`.
        drop_rate: Dropout after each layer.

    Shape: (B, T, D) -> (B, T, D).

    Raises:
        ValueError: If the activation is unknown.

    Source: Section 3.1 ("The MLP contains two layers with a GELU non-linearity"); chapter 06.
    """

    @checked
    def __init__(
        self, embed_dim: Count, hidden_dim: Count, act: str = "gelu", drop_rate: DropRate = 0.0
    ) -> None:
        super().__init__()
        check_choice("act", act, ACTIVATIONS)
        self.fc1 = nn.Linear(embed_dim, hidden_dim)
        self.act = ACTIVATIONS[act]()
        self.fc2 = nn.Linear(hidden_dim, embed_dim)
        self.drop = nn.Dropout(drop_rate)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.drop(self.fc2(self.drop(self.act(self.fc1(x)))))


class DropPath(nn.Module):
    """Stochastic depth: in training, drop a whole residual branch for a random part of the batch.

    The images that keep the branch have it scaled by 1 / (1 - p), so the mean stays the same; in
    evaluation nothing changes.

    Args:
        p: Probability of dropping the branch, in [0, 1).

    Raises:
        ValueError: If p is out of range.

    Source: Huang et al. 2016 (arXiv 1603.09382); not in the paper; chapter 06.
    """

    @checked
    def __init__(self, p: DropRate = 0.0) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Float[Tensor, "B ..."]) -> Float[Tensor, "B ..."]:
        if not self.training or self.p == 0:
            return x
        keep = torch.rand(x.shape[0], *[1] * (x.ndim - 1), device=x.device) >= self.p  # (B, 1, 1)
        return x * keep.to(x.dtype) / (1 - self.p)

    def extra_repr(self) -> str:
        return f"p={self.p:.3f}"


class PatchDrop(nn.Module):
    """In training, leave out a random part of each image's patches; CLS stays, and in evaluation nothing changes.

    As many are left out of every image, so the batch stays a tensor.

    Args:
        rate: Share of the patches left out, in [0, 1); at least one stays.

    Shape: (B, 1+N, D) -> (B, 1+n, D), n about (1 - rate) N.

    Source: Liu et al. 2023, "PatchDropout" (arXiv 2208.07220); not in the paper; chapter 10.
    """

    @checked
    def __init__(self, rate: PatchDropRate = 0.0) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B S D"]:
        if not self.training or self.rate == 0:
            return x
        B, T, D = x.shape
        n = max(1, round((T - 1) * (1 - self.rate)))
        kept = (
            1 + torch.rand(B, T - 1, device=x.device).argsort(dim=1)[:, :n]
        )  # (B, n), other ones for each image
        return torch.cat([x[:, :1], x.gather(1, kept[:, :, None].expand(-1, -1, D))], dim=1)


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


def init_projection(layer: nn.Conv2d | nn.Linear) -> nn.Conv2d | nn.Linear:
    """Truncated normal of 1/sqrt(fan-in), so that tokens start with the pixels' mean square; zero bias."""
    nn.init.trunc_normal_(layer.weight, std=layer.weight[0].numel() ** -0.5)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
