"""Checks of what else belongs to a run: recipe, evaluation, augmentation, resampling (Sections 3.2 and 4.1)."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitlib.train.optim import build_optimizer, lr_at
from vitworkshop.doctor.case import Case, Finding

STEPS, WARM = 24, 8  # of a recipe on one batch, and of its warm-up
# Nats that the loss of one batch may go up, summed over the steps. A ResNet's and eight ViTs' shapes, three seeds,
# with warm-up and without: 0 to 0.8 at AdamW's rates up to 3e-3 and SGD's 0.03 (138 runs); ViTs at 1e-2 and 2e-2, and
# SGD's 0.3, go above 1 in 105 of 114 runs.
CLIMB = 1.0


def recipe(case: Case, recipe: Any) -> Iterator[Finding]:
    """Coupled weight decay; and steps too long to lower the loss of the one batch they are made on.

    A model that has learned something is not judged: its loss can only go up.
    """
    r = recipe
    if r.optimizer == "adam" and r.weight_decay:
        says = f"Adam divides the decay of {r.weight_decay:g} by the gradient's size, as it does the gradient"
        yield Finding("weight decay", says, 'decouple it with optimizer="adamw"')
    if case.losses_of(case.images)[1] or (climb := _climb(case, r, r.lr)) <= CLIMB:
        return
    if _climb(case, r, r.lr / 10) <= CLIMB:
        says = f"at {r.lr:g}{'' if r.warmup else ', without a warm-up,'} the loss of one batch goes up by {climb:.2f}"
        fix = f"try {r.lr / 10:.2g} to {r.lr / 3:.2g}" + ("" if r.warmup else ", after a warm-up")
        yield Finding("learning rate", f"{says} in all, at a tenth it does not", fix)


def _climb(case: Case, recipe: Any, lr: float) -> float:
    """The sum of all that the loss goes up, from step to step, in 24 of them; eight warm up, if the recipe does."""
    model, warmup = copy.deepcopy(case.model), WARM if recipe.warmup else 0
    rates = [lr_at(step, STEPS, lr, warmup, "constant") for step in range(STEPS)]
    losses = list(case.descend(model, build_optimizer(model, recipe), rates, recipe.clip_norm))
    if not all(map(math.isfinite, losses)):
        return math.inf
    return sum(max(0.0, after - before) for before, after in itertools.pairwise(losses))


def evaluation(case: Case, evaluate: Callable) -> Iterator[Finding]:
    """What reaches the model in `evaluate`, against the batch: t-tests over images, t > 5, and a size that matters.

    Random parts of CIFAR-10 and of Drawn-10, 16 to 64 training and 16 to 500 test images: none of 2,400 pairs with one
    normalisation had a finding. Of 1,200 with two, as different as [0, 1], [0, 255], 0.5 and the data's own numbers,
    1,190 had one, and all of those with 64 images. CIFAR-10's numbers against ImageNet's are too near.
    """
    modes: list[bool] = []
    seen: list[Tensor] = []

    def note(module: nn.Module, args: tuple, kwargs: dict) -> None:
        modes.append(module.training)
        seen.append(_statistics((*args, *kwargs.values())[0].detach().to(case.images)))

    model = copy.deepcopy(case.model).train()
    model.register_forward_pre_hook(note, with_kwargs=True)
    evaluate(model)
    if not seen:
        raise ValueError("evaluate never called the model; expected a call of the model that it is given")
    if any(modes):
        says = "evaluate calls the model in train mode: dropout is on, batch norms mix the images"
        yield Finding("test mode", says, "call model.eval() before, and model.train() after")
    then, now = _statistics(case.images), torch.cat(seen, dim=1)  # (2, n, C) each
    change, std = now.mean(1) - then.mean(1), then[1].mean().exp()  # (2, C)
    t = change / (then.var(1) / then.shape[1] + now.var(1) / now.shape[1]).sqrt()  # Welch's
    if ((t.abs() > 5) & (change.abs() > torch.tensor([[0.5 * std], [0.3]]).to(change))).any():
        numbers = [f"mean {s[0].mean():.2f} and std {s[1].mean().exp():.2f}" for s in (then, now)]
        says = f"the images have {numbers[0]}, and {numbers[1]} in evaluate"
        yield Finding("test normalisation", says, "use one vl.normalize for both")


def _statistics(images: Tensor) -> Tensor:
    """Each image's mean and logarithm of the standard deviation, by channel: (2, n, C)."""
    return torch.stack([images.mean((2, 3)), images.std((2, 3)).clamp_min(1e-3).log()])


def augmentation(case: Case, augment: Callable) -> Iterator[Finding]:
    """Four copies of one image, 32 times. Drawn for each, a flip in two leaves all alike with a chance of 8^-32."""
    image = case.images[:1] - case.images[:1].min()
    image = (image / image.max()).expand(4, -1, -1, -1)
    outs = [augment(image.clone()) for _ in range(32)]
    batches = torch.stack([out[0] if isinstance(out, tuple) else out for out in outs])  # (32, 4, C, H, W)
    if (batches == batches[:, :1]).all() and (batches != batches[0]).any():
        says = "four copies of an image always come out alike, and otherwise the next time"
        yield Finding("augmentation", says, "draw the parameters for each image, not once a batch")


def resampling(case: Case, resample: Callable) -> Iterator[Finding]:
    """Positions that count rows and columns do so on another grid, whatever the interpolation, if it is in 2-D."""
    counts = torch.cartesian_prod(torch.arange(8.0), torch.arange(8.0)).repeat(1, 2)  # (64, 4)
    table = F.pad(counts, (0, 0, 1, 0), value=100.0)[None]  # (1, 1+64, 4), CLS first
    out = resample(table, (12, 10))  # (1, 1+120, 4)
    kept = 0.0
    if tuple(out.shape) == (1, 121, 4) and torch.allclose(out[0, 0], torch.tensor(100.0)):
        rows, cols = out[0, 1:, :2].unflatten(0, (12, 10)).unbind(-1)  # (120, 2) -> two of (12, 10)
        kept = min((rows.mean(1).var() / rows.var()).item(), (cols.mean(0).var() / cols.var()).item())
    if not kept > 0.9:
        says = f"{kept:.0%} of what tells rows from columns is left on 12 x 10 positions, from 8 x 8 and CLS"
        yield Finding("resampling", says, "interpolate in 2-D, rows and columns apart: vl.resample_pos_embed")
