"""Probabilities, loss and accuracy of a trained model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer, Shaped
from torch import Tensor, nn

from vitlib.checks import Count, checked
from vitlib.data.dataset import normalize
from vitlib.data.photos import as_batch
from vitlib.tensors import as_labels, check_dense

__all__ = ["evaluate", "predict"]


@checked
def predict(
    model: nn.Module,
    images: Shaped[Tensor, "n C H W"] | Any,
    batch_size: Count = 500,
) -> Float[Tensor, "n K"]:
    """Class probabilities of raw images (uint8, or float in [0, 1]; normalised here), with the model in eval mode.

    Args:
        model: Maps normalised images to logits, where it is.
        images: (n, C, H, W), uint8 or float in [0, 1]; normalised here. One picture or a list of them, as
            `load_image` takes them, of the model's size, or arrays (n, H, W, C) will do, too.
        batch_size: Images at a time.

    Returns:
        (n, K) float32 on the CPU; rows sum to 1.

    Source: chapter 09.
    """
    return outputs(model, images, batch_size).softmax(1)


@checked
def evaluate(
    model: nn.Module,
    images: Shaped[Tensor, "n C H W"] | Any,
    labels: Integer[Tensor, " n"] | np.ndarray | Sequence[int],
    batch_size: Count = 500,
) -> dict:
    """Loss and accuracy on raw images (uint8, or float in [0, 1]; normalised here) and their labels.

    Args:
        model: Maps normalised images to logits.
        images: As for `predict`.
        labels: (n,) integers in [0, K).
        batch_size: Images at a time.

    Returns:
        "loss" (the mean cross-entropy), "accuracy" in [0, 1], and "predictions", (n,) integers on the CPU.

    Source: chapter 09.
    """
    logits = outputs(model, images, batch_size)
    labels = as_labels(labels, *logits.shape).cpu()
    predictions = logits.argmax(1)
    return {
        "loss": F.cross_entropy(logits, labels).item(),
        "accuracy": (predictions == labels).double().mean().item(),
        "predictions": predictions,
    }


def _coin(heads: int, n: int) -> float:
    """The probability that a fair coin shows so few heads, or fewer, in n throws."""
    k = torch.arange(heads + 1, dtype=torch.float64)
    ways = math.lgamma(n + 1) - (k + 1).lgamma() - (n - k + 1).lgamma()
    return (ways - n * math.log(2)).exp().sum().item()


def beside(confusion: Tensor, loss: float, classes: Sequence[str]) -> dict:
    """What a card tells beside an accuracy: the commonest class's share, each class's recall, and warnings."""
    counts, hits, warnings = (
        confusion.sum(1).tolist(),
        confusion.diagonal().tolist(),
        [],
    )
    n, most, uniform = sum(counts), max(counts), math.log(len(classes))
    name, found = classes[counts.index(most)], hits[counts.index(most)]
    # images that the model alone, or always saying that class alone, gets right: a fair coin's, were it no better
    model, guess = sum(hits) - found, most - found
    if _coin(guess, model + guess) > 0.025:
        alone = f"of {n:,} images the model gets {model:,} right that this gets wrong, {guess:,} the other way round"
        warnings.append(
            f"{'perhaps ' * (model > guess)}no better than always saying {name}: {alone}"
        )
    if round(loss, 3) > round(uniform, 3):
        above = f"the loss, {loss:.3f}, is above {uniform:.3f}, that of the same probability for each class"
        warnings.append(
            f"{above}: trust no probability of it; if it rose in training, try a third of the lr"
        )
    recall = [
        hit / count if count else None for hit, count in zip(hits, counts, strict=True)
    ]
    return {"commonest": [name, most / n], "recall": recall, "warnings": warnings}


@torch.inference_mode()
def outputs(model: nn.Module, images: Any, batch_size: int = 500) -> Tensor:
    """What a model in eval mode makes of images that are normalised here: float32 on the CPU; see `predict`."""
    images = as_batch(images)
    check_dense("images", images)
    if len(images) == 0:
        raise ValueError("expected at least one image, got none")
    weights = next(model.parameters())
    was_training = model.training
    model.eval()
    batches = (
        normalize(batch.to(weights.device)).to(weights.dtype)
        for batch in images.split(batch_size)
    )
    found = [model(batch).float().cpu() for batch in batches]
    model.train(was_training)
    return torch.cat(found)
