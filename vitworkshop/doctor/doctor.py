"""A doctor for image classifiers: finds the usual bugs of a model and of its training (Section 4.1)."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from vitlib.checks import check_choice, checked
from vitlib.tensors import check_labels
from vitlib.train.recipe import RECIPES
from vitworkshop.doctor.case import NUM_FIT, Case, Finding, logits_of, output_of
from vitworkshop.doctor.checks import OF_THE_MODEL, batch_size
from vitworkshop.doctor.run import OF_THE_RUN

__all__ = ["doctor"]


@checked
def doctor(
    model: nn.Module,
    images: Float[Tensor, "B C H W"],
    labels: Integer[Tensor, " B"],
    *,
    recipe: Any = None,
    evaluate: Callable[[nn.Module], Any] | None = None,
    augment: Callable[[Tensor], Any] | None = None,
) -> list[Finding]:
    """Look for the usual bugs of a ViT, or another classifier, on normalised images, and print a line for each.

    All is tried on copies: the model, its mode, its gradients and all random numbers stay as they are. It checks
    the first loss, the images and their labels, eight images learned by heart, gradients, positions, whether an image
    changes with its batch or its mode, attention's formula, patches, what the blocks pass on, which tokens read which
    and which give the answer, norms, dropout, and what stands behind the head. What does not apply is left out:
    patches are those of a module `patch_embed`; blocks are alike modules side by side, tokens (B, T, D) in and out;
    whether red and blue are exchanged, only a model that has learned something can tell. What a model and a batch
    cannot show, the other arguments do.

    Args:
        model: Maps images (B, C, H, W) to logits (B, K), alone or in a dict ("logits") or a tuple; trained or not.
        images: (B, C, H, W), a shuffled batch as training feeds it: float, normalised; 16 or more, 64 are good, and
            with 500 it is asked whether the labels are theirs.
        labels: (B,) integers in [0, K).
        recipe: A `Recipe`, or its name. Shows coupled or enormous weight decay, too much label smoothing and, if the
            model is untrained, a learning rate that is too high, needs a warm-up or is far too low, and a tiny clip.
        evaluate: Scores the model it is given on held-out images, 64 or more. Shows a forgotten `model.eval()`, and
            images normalised otherwise than `images`.
        augment: Takes float images (B, C, H, W) in [0, 1], gives augmented ones, or a tuple with them first. Shows
            parameters drawn once for a whole batch, random numbers that are seeded anew each time, a size at which the
            model fails, and pictures that are always turned.

    Returns:
        The findings; none for a healthy model.

    Raises:
        ValueError: If images, labels and logits do not fit each other, all labels are equal, nothing can be trained,
            the model is no classifier or cannot be copied, `evaluate` does not call it, there is no recipe of that
            name, or a function gives other than what it should.

    Source: Section 4.1; its checks are chapter 09's and chapter 10's.
    """
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError(
            "expected a model with parameters to train, got none; model.requires_grad_(True)"
        )
    if getattr(getattr(model, "cfg", None), "num_classes", None) == 0:
        raise ValueError(
            "expected a model with classes, got num_classes 0; vl.replace_head(model, K)"
        )
    if len(images) < 2 * NUM_FIT:
        raise ValueError(
            f"expected at least {2 * NUM_FIT} images, got {len(images)}; 64 are good"
        )
    if len(labels.unique()) < 2:
        raise ValueError(
            f"expected two classes or more, got class {labels[0].item()} only; shuffle"
        )
    device = next(model.parameters()).device
    images, labels = images.to(device).float(), labels.to(device).long()
    if isinstance(recipe, str):
        check_choice("recipe", recipe, RECIPES)
        recipe = RECIPES[recipe]
    given = {"recipe": recipe, "evaluate": evaluate, "augment": augment}
    missing = [name for name, value in given.items() if value is None]
    with _as_found(device):
        findings = list(_look(model, images, labels, given))
    not_given = f" (not given: {', '.join(missing)})" if missing else ""
    print(*findings, f"findings: {len(findings)}{not_given}", sep="\n")
    return findings


@contextmanager
def _as_found(device: torch.device) -> Iterator[None]:
    """Full precision on GPUs, too; afterwards that, and the random numbers, are as they were."""
    precision, devices = (
        torch.get_float32_matmul_precision(),
        [device] if device.type == "cuda" else [],
    )
    others = random.getstate(), np.random.get_state()  # noqa: NPY002 - an augmentation's, perhaps
    exact = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
    with torch.random.fork_rng(devices), torch.enable_grad(), exact:
        torch.manual_seed(0)
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(precision)
            random.setstate(others[0]), np.random.set_state(others[1])  # noqa: NPY002


def _look(
    model: nn.Module, images: Tensor, labels: Tensor, given: dict[str, Any]
) -> Iterator[Finding]:
    """All findings, on a copy in float32 without a reader's hooks, which must not note what is tried here."""
    hooked = [
        name
        for name, m in model.named_modules()
        if m._forward_hooks or m._forward_pre_hooks
    ]
    try:
        model = copy.deepcopy(model).float().eval()
    except RuntimeError as error:
        raise ValueError(
            f"the model cannot be copied: {error}; keep no tensor of a forward pass, scale before nn.Parameter"
        ) from error
    for module in model.modules():
        module._forward_hooks.clear()
    model.register_forward_hook(lambda module, args, out: logits_of(out))
    try:
        logits = output_of(model, images)
    except TypeError as error:  # such as a `MaskedPatchModel`, which needs masks too
        fix = "of a masked model give vl.replace_head(model.encoder, K)"
        raise ValueError(
            f"expected a model of images alone, got: {error}; {fix}"
        ) from error
    if not isinstance(logits, Tensor):
        got = type(logits).__name__
        raise ValueError(
            f"expected logits from the model, got {got}; return them, or a dict with 'logits'"
        )
    if logits.ndim != 2 or len(logits) != len(labels) or logits.shape[1] < 2:
        raise ValueError(
            f"expected logits ({len(labels)}, K) from the model, got {tuple(logits.shape)}"
        )
    check_labels(labels.cpu(), logits.shape[1])
    if failed := list(batch_size(model, images)):
        yield from failed  # then eight images can be neither looked at nor learned
        return
    order = torch.randperm(len(labels))[:64].to(labels.device)
    same = labels[order][:, None] == labels[order]  # (n, n)
    # the first of each class, then the second
    order = order[same.tril().sum(1).argsort(stable=True)]
    case = Case(model, images[order], labels[order], hooked, (images, labels))
    case.overfit()
    for check in OF_THE_MODEL:
        yield from check(case)
    for name, check in OF_THE_RUN.items():
        if given[name] is not None:
            yield from check(case, given[name])
