"""Every explanation as scores of patches, rankings to hold them against, and whether scores are true of the model."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from vitlib.checks import Count, Images, check_between, check_choice, checked
from vitlib.explain.attention import attention_rollout
from vitlib.explain.erasing import answer_with, occlusion
from vitlib.explain.gradients import (
    Target,
    attention_relevance,
    evaluated,
    grad_cam_patches,
    integrated_gradients,
    pick_targets,
)
from vitlib.explain.lens import logit_lens
from vitlib.model.patches import patchify
from vitlib.model.vit import VisionTransformer

__all__ = [
    "EXPLANATIONS",
    "curve_area",
    "deletion_curve",
    "insertion_curve",
    "patch_scores",
]

Scores = Callable[..., Tensor]  # of model, images, classes (B,): (B, N)


def read_by_head(model: VisionTransformer, images: Tensor, relation: Tensor) -> Tensor:
    """What the head's vector takes from each patch, (B, N), by how tokens relate to inputs, (B, T, T)."""
    cfg = model.cfg
    if cfg.global_pool == "map":
        tokens = model.forward_features(images)[:, cfg.patches]
        question = model.attn_pool.attention_weights(tokens).mean(dim=1)  # (B, 1, N)
        return (question @ relation[:, cfg.patches])[:, 0, cfg.patches]
    read = [relation[:, 0]] if cfg.class_token and cfg.global_pool != "avg" else []
    if cfg.global_pool in ("avg", "token_avg"):
        read.append(relation[:, cfg.patches].mean(dim=1))
    if cfg.global_pool == "token_reg":
        read.append(relation[:, -cfg.reg_tokens])
    return torch.stack(read).mean(dim=0)[:, cfg.patches]


def _integrated(model, images, classes) -> Tensor:
    return patchify(
        integrated_gradients(model, images, classes), model.cfg.patch_size
    ).sum(dim=-1)


def _lens(model, images, classes) -> Tensor:
    logits = logit_lens(model, images)[-1, :, model.cfg.patches]  # (B, N, K)
    return logits[torch.arange(len(images)), :, classes]


def _random(model, images, _classes) -> Tensor:
    draw = torch.Generator().manual_seed(0)
    return torch.rand(len(images), model.cfg.num_patches, generator=draw).to(
        images.device
    )


def _centre(model, images, _classes) -> Tensor:
    axes = [torch.arange(n, device=images.device) - (n - 1) / 2 for n in model.cfg.grid]
    return (
        -torch.hypot(*torch.meshgrid(*axes, indexing="ij"))
        .flatten()
        .expand(len(images), -1)
    )


#: Rankings that know nothing of the model.
BASELINES: dict[str, Scores] = {
    "random": _random,
    "centre": _centre,
    "variance": lambda model, images, _: patchify(images, model.cfg.patch_size).var(
        dim=-1, correction=0
    ),
}

#: What explains a model's answer patch by patch, by name; the baselines are among them. Source: chapter 14.
EXPLANATIONS: dict[str, Scores] = {
    "attention": lambda model, images, _: read_by_head(
        model, images, model.attention_maps(images, [-1])[0].mean(dim=1)
    ),
    "rollout": lambda model, images, _: read_by_head(
        model, images, attention_rollout(model.attention_maps(images))
    ),
    "relevance": lambda model, images, classes: read_by_head(
        model, images, attention_relevance(model, images, classes)
    ),
    "grad-cam": grad_cam_patches,
    "integrated gradients": _integrated,
    "logit lens": _lens,
    "occlusion": occlusion,
    **BASELINES,
}

#: What needs gradients, which a page cannot compute.
GRADIENTS = ("relevance", "grad-cam", "integrated gradients")


@checked
def patch_scores(
    name: str,
    model: VisionTransformer,
    images: Images,
    target: Target = None,
) -> Float[Tensor, "B N"]:
    """How important each patch of normalised images is, by one explanation or by a ranking that knows nothing.

    "attention": of the last layer, heads averaged. "rollout", "relevance", "grad-cam": as their functions; of (T, T)
    the row of CLS; under GAP the mean over the patches' rows, under attention pooling their sum as the question weighs
    them; the mean of both where the head reads two. "integrated gradients": added up over a patch.
    "logit lens": the class's logit that the head reads from the patch's last token. "occlusion": tokens left out.
    "random", "centre" (near it first) and "variance" (of the patch's numbers) ask no model.

    Args:
        name: One of `EXPLANATIONS`.
        model: A model with a head; evaluated as in `model.eval()`.
        images: (B, C, H, W), normalised.
        target: One class for all images, one for each, or None for the predicted ones.

    Returns:
        (B, N), patches row after row.

    Raises:
        ValueError: If `name` is none of `EXPLANATIONS`.

    Source: chapter 14.
    """
    check_choice("explanation", name, EXPLANATIONS)
    with evaluated(model), torch.no_grad():
        classes = pick_targets(model, model(images), target)
        return EXPLANATIONS[name](model, images, classes)


@checked
def deletion_curve(
    model: VisionTransformer,
    images: Images,
    scores: Float[Tensor, "B N"],
    target: Target = None,
    steps: Count | None = None,
    erase: str = "remove",
) -> Float[Tensor, "B S"]:
    """A class's probability while patches of normalised images are erased, highest scores first: a quick fall is good.

    Args:
        model: In evaluation mode.
        images: (B, C, H, W), normalised.
        scores: (B, N), one for each patch; of equal ones the first counts as higher.
        target: One class for all images, one for each, or None for the predicted ones.
        steps: In how many equal parts the patches are erased; by default 16, or N where that is less.
        erase: As for `answer_with`.

    Returns:
        (B, steps + 1): untouched first, nothing left last.

    Source: Petsiuk et al. 2018 (arXiv 1806.07421), Section 4.2; chapter 14.
    """
    return _curve(model, images, scores, target, steps, erase, inserts=False)


@checked
def insertion_curve(
    model: VisionTransformer,
    images: Images,
    scores: Float[Tensor, "B N"],
    target: Target = None,
    steps: Count | None = None,
    erase: str = "remove",
) -> Float[Tensor, "B S"]:
    """A class's probability while patches of normalised images come back, highest scores first: a quick rise is good.

    The arguments as for `deletion_curve`. Returns (B, steps + 1): nothing first, untouched last.

    Source: Petsiuk et al. 2018 (arXiv 1806.07421), Section 4.2; chapter 14.
    """
    return _curve(model, images, scores, target, steps, erase, inserts=True)


@checked
def curve_area(curves: Float[Tensor, "B S"]) -> Float[Tensor, " B"]:
    """The area under each curve, as a mean height in [0, 1]: (B, S) -> (B,), by the trapezoid rule.

    Low is good for deletion, high for insertion. Alone it says little: hold it against a ranking that knows nothing.

    Raises:
        ValueError: If the curves have less than two points.

    Source: Petsiuk et al. 2018 (arXiv 1806.07421), Section 4.2; chapter 14.

    >>> curve_area(torch.tensor([[1.0, 0.5, 0.0], [1.0, 1.0, 1.0]]))
    tensor([0.5000, 1.0000])
    """
    if curves.shape[1] < 2:
        raise ValueError(
            f"expected curves of two points or more, got {tuple(curves.shape)}"
        )
    return torch.trapezoid(curves, dim=1) / (curves.shape[1] - 1)


@torch.no_grad()
def _curve(
    model, images, scores, target, steps: int | None, erase: str, inserts: bool
) -> Tensor:
    """The target's probability after each step, (B, steps + 1)."""
    N = model.cfg.num_patches
    steps = min(16, N) if steps is None else steps
    check_between("steps", steps, 1, N, ", the number of patches")
    if scores.shape != (len(images), N) or not scores.isfinite().all():
        got = tuple(scores.shape)
        raise ValueError(
            f"expected finite scores ({len(images)}, {N}), one for each patch, got {got}"
        )
    classes = pick_targets(model, model(images), target)[:, None]
    order = scores.argsort(dim=1, descending=True, stable=True)  # (B, N)
    points = []
    for step in range(steps + 1):
        k = round(step * N / steps)
        kept = order[:, :k] if inserts else order[:, k:]
        points.append(
            answer_with(model, images, kept, erase)
            .softmax(dim=-1)
            .gather(1, classes)[:, 0]
        )
    return torch.stack(points, dim=1)
