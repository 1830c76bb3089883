"""What the doctor's checks look at, always copies of the model, and how a finding is written."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["Case", "Finding"]

FIT = 8  # images in the one batch that is learned


@dataclass(frozen=True)
class Finding:
    """Something wrong, in words; printed as one line.

    Args:
        check: What was checked, e.g. "positions".
        says: What was seen, with its number.
        fix: What to do.

    Source: chapter 10.
    """

    check: str
    says: str
    fix: str

    def __str__(self) -> str:
        return f"{self.check}: {self.says}; {self.fix}"


@dataclass
class Case:
    """A copy of the model in eval mode, the batch, and what else was given to `doctor`.

    Attributes:
        taught: Another copy, which has learned the first eight images.
        losses: Its losses while it did.
        reached: Its parameters that had a gradient.
        entropy: The loss of the best answer that is the same for these eight images.
    """

    model: nn.Module
    images: Tensor
    labels: Tensor
    hooked: list[str]
    recipe: Any = None
    evaluate: Callable | None = None
    augment: Callable | None = None
    resample: Callable | None = None
    losses: list[float] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)

    def teach(self) -> None:
        """Learn one batch, to 0.6 of its entropy, which no model gets below that cannot tell the images apart.

        (At half of it, models of little width stall for long: they have split four classes into two pairs.) The book's
        models need 7 to 10 steps, models 16 wide 25 to 40. Who needs more has two more tries: narrow models with
        larger steps, very wide ones with smaller. The first five steps are made in any case, so that what starts at
        zero (a head, positions) has moved.
        """
        counts = self.labels[:FIT].bincount().float()
        self.entropy = torch.distributions.Categorical(counts).entropy().item()
        for lr, steps in ((2e-3, 100), (1e-2, 100), (2e-4, 50)):
            self.taught = copy.deepcopy(self.model)
            params = [p for p in self.taught.parameters() if p.requires_grad]
            adam = torch.optim.AdamW(params, weight_decay=0.0)
            for step, loss in enumerate(self.descend(self.taught, adam, [lr] * steps)):
                named = self.taught.named_parameters()
                self.reached |= {name for name, p in named if p.grad is not None and p.grad.any()}
                self.losses.append(loss)
                if step >= 5 and self.learned:
                    break
            self.taught.eval()
            if self.learned:
                return

    @property
    def learned(self) -> bool:
        """Whether the one batch was learned."""
        return min(self.losses) < 0.6 * self.entropy

    def descend(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, rates: Iterable[float], clip: float = 1.0
    ) -> Iterator[float]:
        """Train on the first eight images at these learning rates; gives each step's loss, its gradient at hand."""
        quiet(model)
        for lr in rates:
            loss = F.cross_entropy(model(self.images[:FIT]), self.labels[:FIT])
            optimizer.zero_grad()
            loss.backward()
            yield loss.item()
            nn.utils.clip_grad_norm_(model.parameters(), clip or math.inf)
            for group in optimizer.param_groups:
                group["lr"] = lr
            optimizer.step()

    def losses_of(self, images: Tensor) -> tuple[Tensor, bool]:
        """The model's losses on `images`, (n,), and whether it knows more than chance (4 standard deviations)."""
        logits = output_of(self.model, images)  # (n, K)
        n, K = logits.shape
        hits, chance = (logits.argmax(1) == self.labels).sum().item(), n / K
        knows = hits - chance > 4 * math.sqrt(chance * (1 - 1 / K))
        return F.cross_entropy(logits, self.labels, reduction="none"), knows

    def patch_side(self) -> int | None:
        """The patches' side, from the number of tokens that `patch_embed` makes of images; None if it makes none."""
        if not isinstance(getattr(self.model, "patch_embed", None), nn.Module):
            return None
        images = self.images[:2]
        given, tokens = calls(self.model, ["patch_embed"], images).get("patch_embed", ((), images))
        if tokens.ndim != 3 or given[0].shape != images.shape:
            return None
        (H, W), n = images.shape[-2:], tokens.shape[1]
        side = math.isqrt(H * W // n)
        fits = side and H % side == W % side == 0 and n == (H // side) * (W // side)
        return side if fits else None


@torch.no_grad()
def output_of(model: nn.Module, images: Tensor) -> Tensor:
    """What a model, or a part of one, makes of images, in its present mode."""
    return model(images)


def quiet(model: nn.Module) -> nn.Module:
    """Train mode with every dropout off, as far as dropouts are modules."""
    model.train()
    for module in model.modules():
        if any(word in type(module).__name__.lower() for word in ("drop", "stochastic")):
            module.eval()
    return model


def apart(a: Tensor, b: Tensor) -> float:
    """The largest difference of two tensors over the largest number in `b`."""
    return ((a - b).abs().max() / b.abs().max().clamp_min(1e-12)).item()


def calls(model: nn.Module, names: Iterable[str], images: Tensor) -> dict[str, tuple[tuple, Tensor]]:
    """What modules of the model were given and gave, by name, in one forward pass; no entry: not called."""
    seen: dict[str, tuple[tuple, Tensor]] = {}

    def note(name: str) -> Callable:
        def hook(module: nn.Module, args: tuple, kwargs: dict, out: Tensor) -> None:
            seen[name] = (*args, *kwargs.values()), out

        return hook

    modules = {name: model.get_submodule(name) for name in names}
    handles = [m.register_forward_hook(note(name), with_kwargs=True) for name, m in modules.items()]
    output_of(model, images)
    for handle in handles:
        handle.remove()
    return seen
