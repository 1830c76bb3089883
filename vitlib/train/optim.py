"""Parameter groups, learning-rate schedules, optimisers and weight averaging (Section 4.1, Appendix B.1)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from vitlib.checks import (
    Count,
    Natural,
    NonNegative,
    Positive,
    Rate,
    check_choice,
    checked,
)
from vitlib.train.muon import Muon

__all__ = ["EMA", "build_optimizer", "lr_at", "parameter_groups"]

# from share t of the way after the warm-up, the peak and the end, to a learning rate
SCHEDULES: dict[str, Callable[[float, float, float], float]] = {
    "cosine": lambda t, peak, end: (
        end + (peak - end) * 0.5 * (1 + math.cos(math.pi * t))
    ),
    "linear": lambda t, peak, end: peak + (end - peak) * t,
    "constant": lambda t, peak, end: peak,
}
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adamw": partial(torch.optim.AdamW, betas=(0.9, 0.999)),
    "adam": partial(torch.optim.Adam, betas=(0.9, 0.999)),
    "sgd": partial(torch.optim.SGD, momentum=0.9),
    "muon": Muon,
}
# parts of the names of matrices that do not decay
NO_DECAY = (
    "cls_token",
    "latent",
    "mask_token",
    "pos_embed",
    "reg_token",
)


@checked
def parameter_groups(model: nn.Module, weight_decay: NonNegative) -> list[dict]:
    """Split a model's parameters into those that decay and those that do not.

    Decay pulls weights towards zero. That is sensible for matrices, but not for biases and norms (one number per
    channel), nor for the class token and the position embeddings, whose size carries meaning.

    Args:
        model: Any module; frozen parameters are left out.
        weight_decay: Decay of the first group.

    Returns:
        Two groups for a torch optimiser, with keys `params` and `weight_decay`.

    Raises:
        ValueError: If nothing in the model is trainable.

    Source: not in the paper; usual since DeiT (arXiv 2012.12877); chapter 09.
    """
    decay, rest = [], []
    for name, p in model.named_parameters():
        if p.requires_grad:
            (
                rest if p.ndim < 2 or any(part in name for part in NO_DECAY) else decay
            ).append(p)
    if not decay and not rest:
        raise ValueError(
            "expected trainable parameters, got none; call model.requires_grad_(True)"
        )
    return [
        {"params": decay, "weight_decay": weight_decay},
        {"params": rest, "weight_decay": 0.0},
    ]


@checked
def build_optimizer(model: nn.Module, recipe) -> torch.optim.Optimizer:
    """The optimiser a recipe names, over `parameter_groups`.

    AdamW's decay is decoupled: w <- w - lr * wd * w, beside the Adam step. Adam's is added to the gradient and then
    divided by its running size like everything else, so a weight decay of 0.05 means something quite different there.

    Args:
        model: The module to train; Muon needs one with blocks of matrices, as a ViT has.
        recipe: Anything with `optimizer` ("adamw", "adam", "sgd" or "muon"), `lr`, `weight_decay` and, for Muon,
            `muon_lr`.

    Returns:
        A torch optimiser; SGD has momentum 0.9. Set "lr" in all its groups alike, also for `Muon`.

    Raises:
        ValueError: If the recipe names another optimiser, or Muon is given a model without blocks.

    Source: Adam's betas (0.9, 0.999) from section 4.1; decoupled decay from Loshchilov and Hutter (2019);
        chapter 09.
    """
    check_choice("optimizer", recipe.optimizer, OPTIMIZERS)
    groups = parameter_groups(model, recipe.weight_decay)
    if recipe.optimizer == "muon":
        groups += _muon_groups(model, groups[0], recipe.muon_lr / recipe.lr)
    fused = all(p.device.type in ("cpu", "cuda") for p in model.parameters())
    return OPTIMIZERS[recipe.optimizer](groups, lr=recipe.lr, fused=fused)


def _muon_groups(model: nn.Module, decaying: dict, lr_scale: float) -> list[dict]:
    """What `Muon` takes of the `decaying`: the blocks' `qkv`, cut into three, and their other matrices."""
    named = {
        f".{name}": p
        for name, p in model.named_parameters()
        if p.ndim == 2 and p.requires_grad
    }
    blocks = {name: p for name, p in named.items() if ".blocks." in name}
    if not blocks:
        fix = 'take optimizer "adamw"'
        raise ValueError(
            f"expected a ViT, whose blocks have trainable matrices, got none for Muon; {fix}"
        )
    taken = {id(p) for p in blocks.values()}
    decaying["params"] = [p for p in decaying["params"] if id(p) not in taken]
    joint = [p for name, p in blocks.items() if name.endswith(".qkv.weight")]
    single = [p for name, p in blocks.items() if not name.endswith(".qkv.weight")]
    shared = {"weight_decay": decaying["weight_decay"], "lr_scale": lr_scale}
    return [
        {"params": joint, "parts": 3, **shared},
        {"params": single, "parts": 1, **shared},
    ]


@checked
def lr_at(
    step: Natural,
    total: Count,
    base_lr: Positive,
    warmup: int = 0,
    schedule: str = "cosine",
    final_lr: NonNegative = 0.0,
) -> float:
    """The learning rate of one step: linear warm-up, then the schedule.

    Args:
        step: 0 for the first step.
        total: Steps in the whole run; at `step == total` the schedule reaches `final_lr`.
        base_lr: The peak, reached on the last warm-up step.
        warmup: Warm-up steps; the first one already has `base_lr / warmup`.
        schedule: "cosine", "linear" or "constant".
        final_lr: Where cosine and linear end.

    Raises:
        ValueError: If the warm-up is not shorter than the run.

    Source: Appendix B.1, Table 3 (linear warm-up, then cosine or linear decay); chapter 09.

    >>> [round(lr_at(s, 6, 1.0, warmup=2, schedule="linear"), 2) for s in range(6)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    check_choice("schedule", schedule, SCHEDULES)
    if not 0 <= warmup < total:
        raise ValueError(
            f"warmup must be in [0, total), got {warmup} of {total} steps; 5 % is usual"
        )
    if step < warmup:
        return base_lr * (step + 1) / warmup
    # 0 at the end of the warm-up, 1 at the end of the run
    t = min(1.0, (step - warmup) / (total - warmup))
    return SCHEDULES[schedule](t, base_lr, final_lr)


class EMA:
    """An exponential moving average of a model's weights: a second model that is better than its last step.

        average <- d * average + (1 - d) * weights,   d = min(decay, (1 + t) / (10 + t))

    The second term of `d` lets the average forget its random start quickly: 0.1 at the first update, 0.99 at the 890th.

    Args:
        model: The model to follow; `EMA.model` is a copy in eval mode.
        decay: 0.999 averages over about the last thousand steps.

    Source: Polyak and Juditsky (1992) average all steps alike; the paper averages its largest models when
        fine-tuning (table 4); chapter 10.
    """

    @checked
    def __init__(self, model: nn.Module, decay: Rate) -> None:
        self.decay, self.updates = decay, 0
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    @checked
    def update(self, model: nn.Module) -> None:
        """Take the model's weights into the average; buffers are copied as they are."""
        d = min(self.decay, (1 + self.updates) / (10 + self.updates))
        mine: list[Tensor] = list(self.model.parameters())
        theirs = [p.detach() for p in model.parameters()]
        self.updates += 1
        torch._foreach_lerp_(mine, theirs, 1 - d)
        for buffer, theirs in zip(self.model.buffers(), model.buffers(), strict=True):
            buffer.copy_(theirs)

    def state_dict(self) -> dict:
        """What a checkpoint needs: the averaged weights and the number of updates."""
        return {"model": self.model.state_dict(), "updates": self.updates}

    def load_state_dict(self, state: dict) -> None:
        """Restore what `state_dict` gave."""
        self.model.load_state_dict(state["model"])
        self.updates = state["updates"]
