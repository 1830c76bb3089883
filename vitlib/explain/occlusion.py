"""What the answer loses without a patch, asked patch by patch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vitlib.checks import checked
from vitlib.explain.erasing import answer_with
from vitlib.explain.targets import pick_targets
from vitlib.model.vit import VisionTransformer

__all__ = ["occlusion"]


@torch.no_grad()
@checked
def occlusion(
    model: VisionTransformer,
    images: Float[Tensor, "B C H W"],
    target: int | Sequence[int] | Int[Tensor, " B"] | None = None,
    erase: str = "remove",
) -> Float[Tensor, "B N"]:
    """How much a class's logit falls when one patch is taken away, for each patch: N forward passes.

    Args:
        model: In evaluation mode.
        images: (B, C, H, W), normalised.
        target: One class for all images, one for each, or None for the predicted ones.
        erase: "remove" leaves the patch's token out; "grey" makes its pixels 0, mid-grey.

    Returns:
        (B, N), patches row after row; above 0 where the patch speaks for the class.

    Raises:
        ValueError: If a target is no class, the images do not fit, or the eraser does not fit the model.

    Source: Zeiler and Fergus 2014 (arXiv 1311.2901), Section 4.2; chapter 14.
    """
    logits = model(images)
    classes = pick_targets(model, logits, target)[:, None]
    places = torch.arange(model.cfg.num_patches, device=images.device)
    falls = []
    for n in range(len(places)):
        kept = places[places != n].expand(len(images), -1)
        falls.append((logits - answer_with(model, images, kept, erase)).gather(1, classes)[:, 0])
    return torch.stack(falls, dim=1)
