"""Is an explanation true of the model? Deletion and insertion: erase patches by its ranking, and watch the answer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vitlib.checks import Count, check_between, checked
from vitlib.explain.erasing import answer_with
from vitlib.explain.targets import pick_targets
from vitlib.model.vit import VisionTransformer

__all__ = ["curve_area", "deletion_curve", "insertion_curve"]


@checked
def deletion_curve(
    model: VisionTransformer,
    images: Float[Tensor, "B C H W"],
    scores: Float[Tensor, "B N"],
    target: int | Sequence[int] | Int[Tensor, " B"] | None = None,
    steps: Count | None = None,
    erase: str = "remove",
) -> Float[Tensor, "B S"]:
    """A class's probability while patches are erased, highest scores first. The sooner it falls, the truer the scores.

    Args:
        model: In evaluation mode.
        images: (B, C, H, W), normalised.
        scores: (B, N), one for each patch; of equal ones the first counts as higher.
        target: One class for all images, one for each, or None for the predicted ones.
        steps: In how many equal parts the patches are erased; by default 16, or N where that is less.
        erase: "remove" leaves tokens out, "grey" makes pixels 0, mid-grey.

    Returns:
        (B, steps + 1): untouched first, nothing left last.

    Raises:
        ValueError: If the scores do not fit or are not finite, or as `occlusion` does.

    Source: Petsiuk et al. 2018 (arXiv 1806.07421), Section 4.2; chapter 14.
    """
    return _curve(model, images, scores, target, steps, erase, inserts=False)


@checked
def insertion_curve(
    model: VisionTransformer,
    images: Float[Tensor, "B C H W"],
    scores: Float[Tensor, "B N"],
    target: int | Sequence[int] | Int[Tensor, " B"] | None = None,
    steps: Count | None = None,
    erase: str = "remove",
) -> Float[Tensor, "B S"]:
    """A class's probability while patches come back, highest scores first. The sooner it rises, the truer the scores.

    Args:
        model: As in `deletion_curve`.
        images: As there.
        scores: As there.
        target: As there.
        steps: As there.
        erase: As there.

    Returns:
        (B, steps + 1): nothing first, untouched last.

    Raises:
        ValueError: As `deletion_curve` does.

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
        raise ValueError(f"expected curves of two points or more, got {tuple(curves.shape)}")
    return torch.trapezoid(curves, dim=1) / (curves.shape[1] - 1)


@torch.no_grad()
def _curve(model, images, scores, target, steps: int | None, erase: str, inserts: bool) -> Tensor:
    N = model.cfg.num_patches
    steps = min(16, N) if steps is None else steps
    check_between("steps", steps, 1, N, ", the number of patches")
    if scores.shape != (len(images), N) or not scores.isfinite().all():
        raise ValueError(
            f"expected finite scores ({len(images)}, {N}), one for each patch, got {tuple(scores.shape)}"
        )
    classes = pick_targets(model, model(images), target)[:, None]
    order = scores.argsort(dim=1, descending=True, stable=True)  # (B, N)
    points = []
    for step in range(steps + 1):
        k = round(step * N / steps)
        kept = order[:, :k] if inserts else order[:, k:]
        points.append(answer_with(model, images, kept, erase).softmax(dim=-1).gather(1, classes)[:, 0])
    return torch.stack(points, dim=1)
