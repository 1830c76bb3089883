"""Every explanation as scores of patches, and rankings that know nothing of the model to hold them against."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vitlib.checks import Seed, check_choice, checked
from vitlib.explain.attention import attention_rollout
from vitlib.explain.gradients import (
    attention_relevance,
    evaluated,
    grad_cam_patches,
    integrated_gradients,
)
from vitlib.explain.lens import logit_lens
from vitlib.explain.occlusion import occlusion
from vitlib.explain.targets import pick_targets
from vitlib.model.patches import patchify
from vitlib.model.vit import VisionTransformer

__all__ = ["BASELINES", "EXPLANATIONS", "GRADIENTS", "patch_scores"]

Scores = Callable[
    [VisionTransformer, Tensor, Tensor, int], Tensor
]  # model, images, classes (B,), seed -> (B, N)


def _read(model: VisionTransformer, relation: Tensor) -> Tensor:
    """What the head's token takes from each patch: of (B, T, T) the row of CLS, or the mean over the patches' rows."""
    rows = relation[:, 0] if model.cfg.global_pool == "token" else relation[:, 1:].mean(dim=1)
    return rows[:, 1:]


@torch.no_grad()
def _attention(model, images, _classes, _seed) -> Tensor:
    return _read(model, model.attention_maps(images, [-1])[0].mean(dim=1))


@torch.no_grad()
def _rollout(model, images, _classes, _seed) -> Tensor:
    return _read(model, attention_rollout(model.attention_maps(images)))


def _relevance(model, images, classes, _seed) -> Tensor:
    return _read(model, attention_relevance(model, images, classes))


def _grad_cam(model, images, classes, _seed) -> Tensor:
    return grad_cam_patches(model, images, classes)


def _integrated(model, images, classes, _seed) -> Tensor:
    return patchify(integrated_gradients(model, images, classes), model.cfg.patch_size).sum(dim=-1)


def _occlusion(model, images, classes, _seed) -> Tensor:
    return occlusion(model, images, classes)


def _lens(model, images, classes, _seed) -> Tensor:
    return logit_lens(model, images)[-1, :, 1:].gather(
        2, classes[:, None, None].expand(-1, model.cfg.num_patches, 1)
    )[..., 0]


def _random(model, images, _classes, seed) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.rand(len(images), model.cfg.num_patches, generator=draw).to(images.device)


def _centre(model, images, _classes, _seed) -> Tensor:
    axes = [torch.arange(n, device=images.device) - (n - 1) / 2 for n in model.cfg.grid]
    return -torch.hypot(*torch.meshgrid(*axes, indexing="ij")).flatten().expand(len(images), -1)


def _variance(model, images, _classes, _seed) -> Tensor:
    return patchify(images, model.cfg.patch_size).var(dim=-1, correction=0)


#: Rankings that know nothing of the model.
BASELINES: dict[str, Scores] = {"random": _random, "centre": _centre, "variance": _variance}

#: What needs gradients, which a page cannot compute.
GRADIENTS = ("relevance", "grad-cam", "integrated gradients")

#: What explains a model's answer patch by patch, by name; the baselines are among them. Source: chapter 14.
EXPLANATIONS: dict[str, Scores] = {
    "attention": _attention,
    "rollout": _rollout,
    "relevance": _relevance,
    "grad-cam": _grad_cam,
    "integrated gradients": _integrated,
    "logit lens": _lens,
    "occlusion": _occlusion,
    **BASELINES,
}


@checked
def patch_scores(
    name: str,
    model: VisionTransformer,
    images: Float[Tensor, "B C H W"],
    target: int | Sequence[int] | Int[Tensor, " B"] | None = None,
    seed: Seed = 0,
) -> Float[Tensor, "B N"]:
    """How important each patch is, by one explanation or by a ranking that knows nothing.

    "attention": of the last layer, heads averaged. "rollout", "relevance", "grad-cam": as their functions; of (T, T)
    the row of CLS or, under GAP, the mean over the patches' rows. "integrated gradients": added up over a patch.
    "logit lens": the class's logit that the head reads from the patch's last token. "occlusion": tokens left out.
    "random", "centre" (near it first) and "variance" (of the patch's numbers) ask no model.

    Args:
        name: One of `EXPLANATIONS`.
        model: A model with a head; evaluated as in `model.eval()`.
        images: (B, C, H, W), normalised.
        target: One class for all images, one for each, or None for the predicted ones.
        seed: For "random".

    Returns:
        (B, N), patches row after row.

    Raises:
        ValueError: If the name is not known, or as the explanation does.

    Source: chapter 14.
    """
    check_choice("explanation", name, EXPLANATIONS)
    with evaluated(model):
        classes = pick_targets(model, model(images).detach(), target)
        return EXPLANATIONS[name](model, images, classes, seed)
