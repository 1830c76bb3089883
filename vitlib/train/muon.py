"""Muon: steps about as long in every direction of a matrix, for the encoder's blocks (chapter 10)."""

from __future__ import annotations

from collections import defaultdict

import torch
from jaxtyping import Float
from torch import Tensor

from vitlib.checks import Positive, checked

__all__ = ["Muon", "orthogonalize"]

MOMENTUM = 0.95


@checked
def orthogonalize(matrices: Float[Tensor, "*B M N"]) -> Float[Tensor, "*B M N"]:
    """Draw every singular value towards one and leave the singular vectors: U S V^T -> about U V^T.

    Newton-Schulz: each of five steps takes X to a X + b (X X^T) X + c (X X^T)^2 X, which does a s + b s^3 + c s^5 to
    each singular value s. With (a, b, c) = (3.4445, -4.7750, 2.0315) small ones grow fast: of a matrix of norm 1, all
    above 0.003 end between 0.68 and 1.21. That is near enough, and five steps need no decomposition, only products.

    Of `matrices` (..., M, N), those of zeros stay zeros.

    Source: Jordan et al. 2024, "Muon" (https://kellerjordan.github.io/posts/muon/); not in the paper; chapter 10.

    >>> orthogonalize(torch.diag(torch.tensor([3.0, 0.3]))).diagonal().round(decimals=1)
    tensor([0.7000, 0.7000])
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrices.shape[-2] > matrices.shape[-1]
    # X X^T is then the smaller of the two squares
    X = matrices.mT if tall else matrices
    X = X / (X.norm(dim=(-2, -1), keepdim=True) + 1e-7)  # no singular value above 1
    for _ in range(5):
        A = X @ X.mT  # (..., M, M)
        X = a * X + (b * A + c * A @ A) @ X
    return X.mT if tall else X


class Muon(torch.optim.AdamW):
    """Momentum, orthogonalised, for the groups that say "parts"; AdamW for all others.

        M <- 0.95 M + 0.05 G
        W <- W - lr * wd * W - lr * sqrt(max(1, rows / columns)) * orthogonalize(0.95 M + 0.05 G)

    Query, key and value are three matrices that stand in one, `qkv`: a group with "parts" 3 cuts its matrices into
    three, top to bottom, and orthogonalises each by itself. Matrices of one shape go through the products together.

    Args:
        groups: As for AdamW. Those with "parts" hold matrices, whose rows "parts" divides; their learning rate is
            "lr" times "lr_scale" (1 if there is none), so that a loop may give all groups the same "lr".
        lr: The learning rate of groups that have none of their own.
        fused: As for AdamW.

    Raises:
        ValueError: If a group with "parts" holds anything but matrices that can be cut so.

    Source: as for `orthogonalize`; AdamW from Loshchilov and Hutter (2019); chapter 10.
    """

    @checked
    def __init__(
        self, groups: list[dict], lr: Positive, fused: bool | None = None
    ) -> None:
        super().__init__(groups, lr=lr, betas=(0.9, 0.999), fused=fused)
        for group in (group for group in self.param_groups if "parts" in group):
            for weight in group["params"]:
                parts = group["parts"]
                if (
                    weight.ndim != 2
                    or parts not in range(1, 1 + len(weight))
                    or len(weight) % parts
                ):
                    got = (
                        f'{tuple(weight.shape)}; leave "parts" out, and AdamW takes it'
                    )
                    raise ValueError(
                        f"expected matrices with rows in {parts} equal parts, got {got}"
                    )

    @torch.no_grad()
    def step(self, closure=None):
        """Take one step; the gradients of matrices with "parts" are used up."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        # (rows, columns) -> each matrix, what it would move by, and its group
        by_shape = defaultdict(list)
        for group in self.param_groups:
            for weight in group["params"] if "parts" in group else ():
                if weight.grad is None:
                    continue
                moves = self._momentum(weight, weight.grad).chunk(group["parts"])
                for part, move in zip(weight.chunk(group["parts"]), moves, strict=True):
                    by_shape[part.shape].append((part, move, group))
                weight.grad = None  # so AdamW passes it by
        for (rows, columns), moves in by_shape.items():
            steps = (
                orthogonalize(torch.stack([move for _, move, _ in moves]))
                * max(1, rows / columns) ** 0.5
            )
            for step, (part, _, group) in zip(steps, moves, strict=True):
                lr = group["lr"] * group.get("lr_scale", 1.0)
                part.mul_(1 - lr * group["weight_decay"]).sub_(step, alpha=lr)
        super().step()
        return loss

    def _momentum(self, weight: Tensor, grad: Tensor) -> Tensor:
        """The mean of the gradients so far, which is kept, and once more the last one (Nesterov)."""
        state = self.state[weight]
        if not state:
            # AdamW looks for a "step"
            state.update(step=torch.zeros(()), momentum=torch.zeros_like(weight))
        state["step"] += 1
        return grad.lerp(state["momentum"].lerp_(grad, 1 - MOMENTUM), MOMENTUM)
