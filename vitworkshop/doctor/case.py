"""What the doctor's checks look at, always copies of the model, and how a finding is written."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["Case", "Finding"]

NUM_FIT = 8  # images in the one batch that is learned by heart


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
    """A copy of the model in eval mode, and the batch."""

    model: nn.Module
    images: Tensor
    labels: Tensor
    hooked: list[str]  # modules that have a reader's hook, in the model itself
    # all images and labels, of which the batch has 64 at most
    given: tuple[Tensor, Tensor]
    brighter: bool = (
        False  # whether augmented pictures are so, or darker, or of another contrast
    )
    # another copy, which has learned the first eight images
    fitted: nn.Module = field(init=False)
    losses: list[float] = field(default_factory=list)  # while it did
    # the loss of the best answer that is the same for all of the eight
    entropy: float = field(init=False)

    def overfit(self) -> None:
        """Learn the eight images, to a loss that no model reaches which cannot tell them apart: 0.6 of their entropy.

        (Not half of it, where narrow models stall: they have split four classes into two pairs.) The book's models
        need 7 to 10 steps, models 16 wide 25 to 40, what knows the images none. Two more tries are for others: larger
        steps for narrow models, smaller for very wide ones.
        """
        self.entropy = (
            torch.special.entr(self.labels[:NUM_FIT].bincount() / NUM_FIT).sum().item()
        )
        for lr, steps in ((2e-3, 100), (1e-2, 100), (2e-4, 50)):
            self.fitted = copy.deepcopy(self.model)
            adam = torch.optim.AdamW(self.fitted.parameters(), weight_decay=0.0)
            for loss in self.train_steps(self.fitted, adam, [lr] * steps):
                self.losses.append(loss)
                if self.learned:
                    break
            self.fitted.eval()
            if self.learned:
                return

    @property
    def learned(self) -> bool:
        """Whether the eight images are learned."""
        return min(self.losses) < 0.6 * self.entropy

    def train_steps(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        rates: Iterable[float],
        clip: float = 1.0,
    ) -> Iterator[float]:
        """Train on the eight images at these learning rates; yields each step's loss."""
        without_dropout(model)
        for lr in rates:
            loss = F.cross_entropy(model(self.images[:NUM_FIT]), self.labels[:NUM_FIT])
            optimizer.zero_grad()
            if (
                loss.requires_grad
            ):  # else no gradient reaches anything, as `gradients` will say
                loss.backward()
            yield loss.item()
            nn.utils.clip_grad_norm_(model.parameters(), clip or math.inf)
            for group in optimizer.param_groups:
                group["lr"] = lr
            optimizer.step()

    def losses_on(self, images: Tensor) -> tuple[Tensor, bool]:
        """The model's losses on `images`, (n,), and whether it knows more than chance (4 standard deviations)."""
        logits = output_of(self.model, images)  # (n, K)
        n, K = logits.shape
        hits, chance = (logits.argmax(1) == self.labels).sum().item(), n / K
        knows = hits - chance > 4 * math.sqrt(chance * (1 - 1 / K))
        return F.cross_entropy(logits, self.labels, reduction="none"), knows

    @cached_property
    def traced(self) -> dict[str, tuple[tuple, Tensor]]:
        """What each module reads and gives of three images, with gradients; `""` is the model itself."""
        images = self.images[:3].clone().requires_grad_()
        return record_calls(
            self.fitted, [name for name, _ in self.fitted.named_modules()], images
        )

    @cached_property
    def blocks(self) -> list[str]:
        """The encoder's blocks: alike modules with matrices, side by side, each reading what the former gave.

        They read and give tokens (3, T, D), and more than one of them is there.
        """
        alike: dict[tuple[str, str], list[str]] = {}
        for name, (args, out) in self.traced.items():
            module = self.fitted.get_submodule(name)
            if (
                not out.requires_grad
                or out.ndim != 3
                or len(out) != 3
                or not list(module.children())
            ):
                continue
            if args[0].shape == out.shape and any(
                p.ndim > 1 for p in module.parameters()
            ):
                alike.setdefault(
                    (name.rpartition(".")[0], type(module).__name__), []
                ).append(name)
        for names in sorted(alike.values(), key=lambda names: names[0].count(".")):
            pairs = itertools.pairwise(self.traced[name] for name in names)
            if len(names) > 1 and all(
                torch.equal(first[1], then[0][0]) for first, then in pairs
            ):
                return names
        return []

    @cached_property
    def patch_size(self) -> int | None:
        """The patches' side, if a module `patch_embed` makes one token of each square patch of images."""
        x = self.images[:2]
        names = (
            ["patch_embed"]
            if isinstance(getattr(self.model, "patch_embed", None), nn.Module)
            else []
        )
        given, tokens = record_calls(self.model, names, x).get("patch_embed", ((x,), x))
        if (
            tokens.ndim != 3 or given[0].shape != x.shape
        ):  # not (B, N, D), or not of images
            return None
        (H, W), N = x.shape[-2:], tokens.shape[1]
        side = math.isqrt(H * W // N)
        return (
            side
            if side and H % side == W % side == 0 and H * W == N * side**2
            else None
        )


def logits_of(out: Any) -> Any:
    """The logits of a model that gives a dict, an object or a tuple with them."""
    if isinstance(out, Mapping):
        return out.get("logits", next(iter(out.values()), None))
    if isinstance(out, (tuple, list)):
        return next((x for x in out if isinstance(x, Tensor) and x.ndim == 2), None)
    return getattr(out, "logits", out)


@torch.no_grad()
def output_of(model: nn.Module, images: Tensor) -> Tensor:
    """What a model, or a part of one, makes of images, in its present mode."""
    return model(images)


def drops(module: nn.Module) -> bool:
    """Whether it is a dropout of any kind, by the names of its class and of those before."""
    names = " ".join(kind.__name__.lower() for kind in type(module).__mro__)
    return not list(module.children()) and ("drop" in names or "stochastic" in names)


def without_dropout(model: nn.Module) -> nn.Module:
    """The model in train mode with every dropout off, as far as dropouts are modules."""
    model.train()
    for module in filter(drops, model.modules()):
        module.eval()
    return model


def with_larger_head(model: nn.Module, K: int, by: float) -> nn.Module | None:
    """A copy whose matrices to K classes are so many times as large; None if it has none."""
    model = copy.deepcopy(model)
    heads = [p for p in model.parameters() if p.ndim == 2 and K in p.shape]
    for p in heads:
        p.data *= by
    return model if heads else None


def relative_change(a: Tensor, b: Tensor) -> float:
    """The largest difference of two tensors over the largest number in `b`."""
    return ((a - b).abs().max() / b.abs().max().clamp_min(1e-12)).item()


def record_calls(
    model: nn.Module, names: Iterable[str], images: Tensor
) -> dict[str, tuple[tuple, Tensor]]:
    """Name -> (arguments, output) of those of the named modules that one forward pass calls.

    The modules get copies, so that nothing is written over; gradients are kept if `images` asks for them.
    """
    reads: dict[str, tuple] = {}
    seen: dict[str, tuple[tuple, Tensor]] = {}

    def read(
        name: str, module: nn.Module, args: tuple, kwargs: dict
    ) -> tuple[tuple, dict]:
        reads[name] = (*args, *kwargs.values())
        return tuple(map(_copy, args)), {
            key: _copy(value) for key, value in kwargs.items()
        }

    def note(name: str, module: nn.Module, args: tuple, out: Any) -> Any:
        first = out[0] if isinstance(out, tuple) and out else out
        if isinstance(first, Tensor) and reads[name]:
            seen[name] = reads[name], first
        return (
            (_copy(first), *out[1:]) if isinstance(out, tuple) and out else _copy(out)
        )

    handles = []
    for name in names:
        module = model.get_submodule(name)
        handles.append(
            module.register_forward_pre_hook(partial(read, name), with_kwargs=True)
        )
        handles.append(module.register_forward_hook(partial(note, name)))
    with torch.set_grad_enabled(images.requires_grad):
        model(images)
    for handle in handles:
        handle.remove()
    return seen


def _copy(x: Any) -> Any:
    return x.clone() if isinstance(x, Tensor) else x
