"""Probabilities, loss and accuracy of a trained model."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer, Shaped
from torch import Tensor, nn

from vitlib.data.dataset import normalize

__all__ = ["evaluate", "predict"]


def predict(
    model: nn.Module,
    images: Shaped[Tensor, "n C H W"],
    device: str | torch.device | None = None,
    batch_size: int = 500,
) -> Float[Tensor, "n K"]:
    """Class probabilities, with the model in eval mode and in the precision of its weights.

    Args:
        model: Maps normalised images to logits.
        images: (n, C, H, W), uint8 or float in [0, 1]; normalised here.
        device: Where to compute; None is where the model is, which stays there in any case.
        batch_size: Images at a time.

    Returns:
        (n, K) float32 on the CPU; rows sum to 1.

    Raises:
        ValueError: If there are no images.

    Source: chapter 09.
    """
    return outputs(model, images, device, batch_size).softmax(1)


def evaluate(
    model: nn.Module,
    images: Shaped[Tensor, "n C H W"],
    labels: Integer[Tensor, " n"],
    device: str | torch.device | None = None,
    batch_size: int = 500,
) -> dict:
    """Loss and accuracy on a data set.

    Args:
        model: Maps normalised images to logits.
        images: (n, C, H, W), uint8 or float in [0, 1]; normalised here.
        labels: (n,) integers.
        device: Where to compute; None is where the model is, which stays there in any case.
        batch_size: Images at a time.

    Returns:
        "loss" (the mean cross-entropy), "accuracy" in [0, 1], and "predictions", (n,) integers on the CPU.

    Raises:
        ValueError: If there are no images, or not as many labels.

    Source: chapter 09.
    """
    if len(images) != len(labels):
        raise ValueError(f"expected as many labels as images, got {len(labels)} and {len(images)}")
    logits, labels = outputs(model, images, device, batch_size), labels.cpu()
    predictions = logits.argmax(1)
    return {
        "loss": F.cross_entropy(logits, labels).item(),
        "accuracy": (predictions == labels).double().mean().item(),
        "predictions": predictions,
    }


@torch.inference_mode()
def outputs(model: nn.Module, images: Tensor, device: str | torch.device | None, batch_size: int) -> Tensor:
    """What a model in eval mode makes of images that are normalised here: float32 on the CPU; see `predict`."""
    if len(images) == 0:
        raise ValueError("expected at least one image, got none")
    here = next(model.parameters()).device
    there = here if device is None else torch.device(device)
    if there.type != here.type or there.index not in (None, here.index):
        model, here = copy.deepcopy(model).to(there), there  # the caller's stays where it is
    was_training = model.training
    model.eval()
    found = [model(normalize(batch.to(here))).float().cpu() for batch in images.split(batch_size)]
    model.train(was_training)
    return torch.cat(found)
