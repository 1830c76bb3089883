"""The doctor's checks of a run: its recipe, its pictures, its evaluation (Sections 3.2 and 4.1)."""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitlib.train.optim import build_optimizer, lr_at
from vitworkshop.doctor.case import Case, Finding, output_of

STEPS, WARMUP = 24, 8  # of a recipe on one batch, and of its warm-up
# Nats that the loss of one batch may go up, summed over the steps. A ResNet's and eight ViTs' shapes, three seeds,
# with warm-up and without: 0 to 0.8 at AdamW's rates up to 3e-3 and SGD's 0.03 (138 runs); ViTs at 1e-2 and 2e-2, and
# SGD's 0.3, go above 1 in 105 of 114 runs.
MAX_CLIMB = 1.0
USUAL = (
    1e-4  # a rate from here on is blamed for a loss that goes up at a tenth of it, too
)
# Share of the first loss that these steps take away at a rate that is not too low: 0.80 to 0.93 with the presets, 0.21
# and more with a tenth of their rates, 0.16 and less with a hundredth (but for Muon, whose matrices have another rate).
MIN_FALL = 0.18


def recipe(case: Case, recipe: Any) -> Iterator[Finding]:
    """Numbers outside what trains; and steps too long, or too short, for the loss of the batch they are made on.

    A model that has learned something is not judged by its loss: that can only go up.
    """
    r, memory = recipe, 1 / max(recipe.lr * recipe.weight_decay, 1e-9)
    if r.optimizer == "adam" and r.weight_decay:
        says = f"Adam divides the decay of {r.weight_decay:g} by the gradient's size, as it does the gradient"
        yield Finding("weight decay", says, 'decouple it with optimizer="adamw"')
    elif r.weight_decay > 1 and memory < 1000:
        yield Finding(
            "weight decay",
            f"{r.weight_decay:g}: weights last {memory:.0f} steps",
            "0.01 to 0.3 is usual",
        )
    if r.label_smoothing > 0.5:
        yield Finding(
            "smoothing",
            f"{r.label_smoothing:g} of the target is spread over all",
            "0.1 is usual",
        )
    if case.losses_on(case.images)[1]:
        return
    climb, losses, norm = _steps(case, r, r.lr)
    if 0 < r.clip_norm < norm / 100:
        yield Finding(
            "clip",
            f"{r.clip_norm:g} cuts all gradients, of norm {norm:.2g} at first",
            "1 is usual",
        )
    lower = [r.lr / 10, *(lr for lr in (r.lr / 100, r.lr / 1000) if lr >= USUAL)]
    calm = (lr for lr in lower if _steps(case, r, lr)[0] <= MAX_CLIMB)
    if climb > MAX_CLIMB and (lr := next(calm, 0)):
        says = f"at {r.lr:g}{'' if r.warmup else ', without a warm-up,'} the loss of one batch goes up by {climb:.2f}"
        fix = f"try {lr:.2g} to {3 * lr:.2g}" + (
            "" if r.warmup else ", after a warm-up"
        )
        yield Finding("learning rate", f"{says} in all, at {lr:.2g} it does not", fix)
    fall = losses[0] - losses[-1]
    if fall < MIN_FALL * losses[0] and all(
        p.requires_grad for p in case.model.parameters()
    ):
        climb, losses, _ = _steps(case, r, 10 * r.lr)
        if climb <= MAX_CLIMB and losses[0] - losses[-1] > 2 * fall:
            says = f"at {r.lr:g} the loss falls by {fall:.3f} in {STEPS} steps, at {10 * r.lr:g} by twice as much"
            yield Finding(
                "learning rate", says, f"try {10 * r.lr:.2g} to {100 * r.lr:.2g}"
            )


def _steps(case: Case, recipe: Any, lr: float) -> tuple[float, list[float], float]:
    """All that the loss goes up in 24 steps, the losses, the first gradient's norm; eight warm up, if recipes do."""
    model, warmup = copy.deepcopy(case.model), WARMUP if recipe.warmup else 0
    rates = [lr_at(step, STEPS, lr, warmup, "constant") for step in range(STEPS)]
    steps = case.train_steps(
        model, build_optimizer(model, recipe), rates, recipe.clip_norm
    )
    losses = [next(steps)]
    norm = nn.utils.get_total_norm(
        [p.grad for p in model.parameters() if p.grad is not None]
    ).item()
    losses += steps
    climb = sum(
        max(0.0, after - before) for before, after in itertools.pairwise(losses)
    )
    return climb if all(map(math.isfinite, losses)) else math.inf, losses, norm


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
    model._forward_hooks.clear()  # what it gives goes to `evaluate` as it is
    model.register_forward_pre_hook(note, with_kwargs=True)
    evaluate(model)
    if not seen:
        raise ValueError(
            "evaluate never called the model; expected a call of the model that it is given"
        )
    if any(modes):
        says = "evaluate calls the model in train mode: dropout is on, batch norms mix the images"
        yield Finding(
            "test mode", says, "call model.eval() before, and model.train() after"
        )
    if (total := _of_all_answers(case, evaluate)) and abs(total - round(total)) > 0.02:
        says = f"an image's classes, answered in turn, are right {total:.2f} times in all, not once"
        yield Finding(
            "evaluation",
            says,
            "logits (B, K): argmax(dim=1), and compare image by image",
        )
    if case.brighter:
        return
    then, now = _statistics(case.images), torch.cat(seen, dim=1)  # (2, n, C) each
    change, std = now.mean(1) - then.mean(1), then[1].mean().exp()  # (2, C)
    # Welch's
    t = change / (then.var(1) / then.shape[1] + now.var(1) / now.shape[1]).sqrt()
    if (
        (t.abs() > 5) & (change.abs() > torch.tensor([[0.5 * std], [0.3]]).to(change))
    ).any():
        numbers = [
            f"mean {s[0].mean():.2f} and std {s[1].mean().exp():.2f}"
            for s in (then, now)
        ]
        says = f"the images have {numbers[0]}, and {numbers[1]} in evaluate"
        yield Finding("test normalisation", says, "use one vl.normalize for both")


def _of_all_answers(case: Case, evaluate: Callable) -> float:
    """The accuracies of answers drawn for each image, of the classes next to them, and so on, added up: 1 is right.

    Of three draws, the sum that is furthest from a whole number. 0 if `evaluate` gives no accuracy: a number that stays
    if logits double, or one of that name.
    """
    K = output_of(case.model, case.images[:2]).shape[1]
    model = copy.deepcopy(case.model)
    model._forward_hooks.clear()

    def score(seed: int, turn: int, size: float) -> float:
        def answer(images: Tensor, *_: Any, **_more: Any) -> Tensor:
            x = images.flatten(1)
            way = torch.randn(x.shape[1], generator=torch.Generator().manual_seed(seed))
            drawn = (1e3 * x.cpu().float() @ way).floor().long()  # by what they show
            return size * F.one_hot((drawn + turn) % K, K).to(images)

        model.forward = answer  # type: ignore[method-assign]
        found = evaluate(model)
        return float(found["accuracy"] if isinstance(found, Mapping) else found)

    try:
        if K > 100 or score(0, 0, 4.0) != score(0, 0, 8.0):
            return 0.0
        sums = [sum(score(seed, turn, 8.0) for turn in range(K)) for seed in range(3)]
    except Exception:  # what else it asks of the model, or gives
        return 0.0
    sums = [total / 100 if total > 10 else total for total in sums]
    return max(sums, key=lambda total: abs(total - round(total)))


def _statistics(images: Tensor) -> Tensor:
    """Each image's mean and logarithm of the standard deviation, by channel: (2, n, C)."""
    return torch.stack([images.mean((2, 3)), images.std((2, 3)).clamp_min(1e-3).log()])


def augmentation(case: Case, augment: Callable) -> Iterator[Finding]:
    """Eight copies of one image, 32 times. Drawn for each, a flip in two leaves all alike with a chance of 128^-32.

    A function that seeds itself leaves the random numbers at one place, wherever they were, or repeats its eight ways.
    Then sixteen pictures: on average they are upright, and have their colours.
    """
    image = case.images[:1] - case.images[:1].min()
    image, outs, places = (image / image.max()).expand(8, -1, -1, -1), [], []
    for _ in range(32):
        torch.rand(1), np.random.random(), random.random()  # noqa: NPY002 - elsewhere than the time before
        outs.append(_given("augment", augment(image.clone()), 8))
        others = str(np.random.get_state()), random.getstate()  # noqa: NPY002
        places.append((torch.get_rng_state().numpy().tobytes(), *others))
    # (32, 8, C, H, W), those of one size
    batches = torch.stack([x for x in outs if x.shape == outs[0].shape])
    again, alike = not (batches != batches[0]).any(), (batches == batches[:, :1]).all()
    if min(len(set(place)) for place in zip(*places, strict=True)) == 1 or (
        again
        and len(batches[0].flatten(1).unique(dim=0))
        > 4  # flips of every second image are two ways
    ):
        says = (
            "it seeds the random numbers anew: each batch is changed as the one before"
        )
        yield Finding("augmentation", says, "seed once, before training")
    elif alike and not again:
        says = "eight copies of an image always come out alike, and otherwise the next time"
        yield Finding(
            "augmentation", says, "draw the parameters for each image, not once a batch"
        )
    for size in sorted(
        {tuple(x.shape[-2:]) for x in outs} - {tuple(case.images.shape[-2:])}
    ):
        try:
            output_of(case.model, F.interpolate(case.images[:2], size))
        except Exception as error:  # whatever the model raises
            reason = str(error).splitlines()[0]
            says = (
                f"it gives {size[0]} x {size[1]} pixels, and the model fails ({reason})"
            )
            yield Finding(
                "augmentation",
                says,
                "crop to the model's size, or resize what was cropped",
            )
            return
    pictures = _smooth(case)
    _given("augment", augment(given := pictures.clone()), 16)
    if not torch.equal(given, pictures):
        says = (
            "it changes the pictures that it is given, and the next epoch's with them"
        )
        yield Finding("augmentation", says, "work on images.clone()")
    outs = [
        _fit(_given("augment", augment(pictures.clone()), 16), pictures)
        for _ in range(32)
    ]
    # (32, 2, 16, C)
    changes = torch.stack([_statistics(x) for x in outs]) - _statistics(pictures)
    means, stds = changes.mean((0, 2)).abs()
    case.brighter = bool((means > 0.5 * pictures.std()).any() or (stds > 0.3).any())
    if how := _turned(torch.stack(outs).mean(0), pictures):
        says = f"most pictures come out with {how} exchanged"
        yield Finding("augmentation", says, "leave half as they are")


def _smooth(case: Case) -> Tensor:
    """Sixteen smooth pictures in [0, 1], (16, C, H, W), which are like no reflection of themselves."""
    coarse = torch.rand(
        16, case.images.shape[1], 5, 5, generator=torch.Generator().manual_seed(0)
    )
    return (
        F.interpolate(coarse, case.images.shape[-2:], mode="bicubic")
        .clamp(0, 1)
        .to(case.images)
    )


def _given(name: str, out: Any, n: int) -> Tensor:
    """The images that a function gave, alone or first of a tuple."""
    images = out[0] if isinstance(out, (tuple, list)) and out else out
    if not isinstance(images, Tensor) or images.ndim != 4 or len(images) != n:
        got = (
            tuple(images.shape) if isinstance(images, Tensor) else type(images).__name__
        )
        raise ValueError(
            f"expected {n} images (B, C, H, W) from {name}, got {got}; return all that it was given"
        )
    return images.float()


def _fit(images: Tensor, like: Tensor) -> Tensor:
    """The images at another's size."""
    same = images.shape == like.shape
    return (
        images
        if same
        else F.interpolate(images, like.shape[-2:], mode="bilinear", antialias=True)
    )


def _turned(a: Tensor, b: Tensor) -> str:
    """What must change places in `a` to make it more like `b`, by a correlation higher by 0.2; else ""."""
    ways = {"": a, "red and blue": a.flip(1), "rows and columns": _fit(a.mT, b)}
    ways |= {"top and bottom": a.flip(2), "left and right": a.flip(3)}
    b = (b - b.mean((2, 3), keepdim=True)).flatten(2)
    alike = {
        how: F.cosine_similarity(
            (x - x.mean((2, 3), keepdim=True)).flatten(2), b, dim=2
        )
        .mean()
        .item()
        for how, x in ways.items()
    }
    best = max(alike, key=lambda how: alike[how])
    return best if alike[best] > max(alike[""], 0.1) + 0.2 else ""


OF_THE_RUN: dict[str, Callable[[Case, Any], Iterator[Finding]]] = {
    "recipe": recipe,
    "augment": augmentation,
    "evaluate": evaluation,
}
