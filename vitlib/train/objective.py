"""What a model is trained for: how a batch is made, what its loss is, how the model is scored on held-out images.

The loop in `vitlib.train.loop` knows nothing else of the task. Another task is another `Objective`: this file has
classification, `vitlib.train.masked` has masked patches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from vitlib.checks import check_labels
from vitlib.data.dataset import Dataset, normalize
from vitlib.model.vit import build_model
from vitlib.train.augment import augment_batch
from vitlib.train.evaluate import evaluate
from vitlib.train.recipe import Recipe

__all__ = ["Classification", "Objective"]


class Objective(ABC):
    """What the loop asks of whatever a model is trained for.

    Args:
        recipe: What is to be done; its model is what `build` makes.

    Source: chapter 09.
    """

    metric = "accuracy"  # what stands beside the loss in a log; at most 1, and more is better

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def build(self) -> nn.Module:
        """The model to train, its weights drawn from PyTorch's random numbers."""
        return build_model(self.recipe.model)

    def check(self, data: Dataset) -> None:
        """Refuse `data` that do not fit the model.

        Raises:
            ValueError: If images or labels are not what the model was made for.
        """
        model, images = self.recipe.model, data.images
        want = (model.in_chans, *model.image_shape)
        if images.ndim != 4 or tuple(images.shape[1:]) != want or images.dtype != torch.uint8:
            raise ValueError(
                f"expected uint8 images (n, {', '.join(map(str, want))}), got {images.dtype} "
                f"{tuple(images.shape)}; give them as loaded, or change the recipe's model"
            )
        if len(images) == 0:
            raise ValueError("expected at least one image to train on, got none")

    @abstractmethod
    def draw(
        self, images: Tensor, labels: Tensor, generator: Generator, step: int, total: int
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        """One step's batch.

        Args:
            images: (B, C, H, W) uint8.
            labels: (B,) integers.
            generator: A CPU generator, seeded for this step.
            step: 0 for the first one.
            total: Steps of the whole run.

        Returns:
            The model's arguments, and the targets.
        """

    @abstractmethod
    def loss(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """The mean loss of a batch's `outputs` against its `targets`, and B times their `metric`.

        For classification the second is the number of images that are named rightly.
        """

    @abstractmethod
    def score(self, model: nn.Module, data: Dataset) -> dict[str, float]:
        """Mean "loss" and `metric` of a `model` on held-out `data`, without augmentation; more may follow."""


class Classification(Objective):
    """Cross-entropy with the labels, which augmentation may have softened and mixed.

    Args:
        recipe: Its augmentation, label smoothing and number of classes.

    Source: Section 4.1 and Appendix B.1; chapter 09.
    """

    def check(self, data: Dataset) -> None:
        super().check(data)
        check_labels(data.labels.cpu(), self.recipe.model.num_classes)

    def draw(
        self, images: Tensor, labels: Tensor, generator: Generator, step: int, total: int
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        r = self.recipe
        mix = step < (1 - r.mix_off) * total
        images, targets = augment_batch(images, labels, r, r.model.num_classes, generator, mix=mix)
        return (normalize(images),), targets  # (B, C, H, W), (B, K)

    def loss(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        hits = (outputs.argmax(1) == targets.argmax(1)).sum()
        return F.cross_entropy(outputs.float(), targets), hits

    def score(self, model: nn.Module, data: Dataset) -> dict[str, float]:
        scores = evaluate(model, data.images, data.labels)
        return {"loss": scores["loss"], "accuracy": scores["accuracy"]}
