"""What a model is trained for: how a batch is made, what its loss is, how the model is scored on held-out images.

The loop in `vitlib.train.loop` knows nothing else of the task. Another task is another `Objective`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Generator, Tensor, nn

from vitlib.config import ViTConfig
from vitlib.data.dataset import Dataset, normalize, to_float
from vitlib.device import derive_seed
from vitlib.model.patches import patchify
from vitlib.model.vit import build_model
from vitlib.tensors import check_labels
from vitlib.train.augment import augment_batch, augment_images
from vitlib.train.evaluate import evaluate
from vitlib.train.masked import (
    LEVELS,
    MaskedPatchModel,
    corrupt_patches,
    guess_patches,
    patch_colours,
    take_patches,
)
from vitlib.train.recipe import Recipe

__all__ = ["OBJECTIVES"]

# the model's arguments, and what it should answer
Batch = tuple[tuple[Tensor, ...], Tensor]


class Objective(ABC):
    """What the loop asks of whatever a model is trained for; the `recipe`'s model is what `build` makes.

    Source: chapter 09.
    """

    metric = "accuracy"  # what stands beside the loss in a log; at most 1, and more is better

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def build(self) -> nn.Module:
        """The model to train, its weights drawn from PyTorch's random numbers."""
        return build_model(self.recipe.model)

    def check(self, data: Dataset) -> None:
        """Refuse `data` that do not fit the model."""
        model, images = self.recipe.model, data.images
        want = (model.in_chans, *model.image_shape)
        if (
            images.ndim != 4
            or tuple(images.shape[1:]) != want
            or images.dtype != torch.uint8
        ):
            fix = "resize them, as vl.load_image(path, size) does, or change the recipe's model"
            if images.is_floating_point():
                fix = "give bytes: vl.denormalize(images) if they are normalised, then (255 * images).round().byte()"
            elif images.dtype != torch.uint8:
                fix = "if they are 0 to 255, give images.byte()"
            raise ValueError(
                f"expected raw uint8 images (n, {', '.join(map(str, want))}), "
                f"got {images.dtype} {tuple(images.shape)}; {fix}"
            )
        if len(images) == 0:
            raise ValueError("expected at least one image to train on, got none")

    @abstractmethod
    def draw(
        self,
        images: Tensor,
        labels: Tensor,
        generator: Generator,
        step: int,
        total: int,
    ) -> Batch:
        """One `step` of `total`, of uint8 images (B, C, H, W) and labels, drawn from a CPU `generator` of its own."""

    @abstractmethod
    def loss(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """The mean loss of a batch's `outputs` against its `targets`, and B times their `metric`."""

    @abstractmethod
    def score(self, model: nn.Module, data: Dataset) -> dict[str, float]:
        """Mean "loss" and `metric` of a `model` on held-out `data`, without augmentation; more may follow."""


class Classification(Objective):
    """Cross-entropy with the labels, which augmentation may have softened and mixed.

    Source: Section 4.1 and Appendix B.1; chapter 09.
    """

    def check(self, data: Dataset) -> None:
        super().check(data)
        check_labels(data.labels.cpu(), self.recipe.model.num_classes)

    def draw(
        self,
        images: Tensor,
        labels: Tensor,
        generator: Generator,
        step: int,
        total: int,
    ) -> Batch:
        r = self.recipe
        mix = step < (1 - r.mix_off) * total
        images, targets = augment_batch(
            images, labels, r, r.model.num_classes, generator, mix=mix
        )
        return (normalize(images),), targets  # (B, C, H, W), (B, K)

    def loss(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        hits = (outputs.argmax(1) == targets.argmax(1)).sum()
        return F.cross_entropy(outputs.float(), targets), hits

    def score(self, model: nn.Module, data: Dataset) -> dict[str, float]:
        scores = evaluate(model, data.images, data.labels)
        return {"loss": scores["loss"], "accuracy": scores["accuracy"]}


class MaskedPatches(Objective):
    """Half of the patches are corrupted and their mean colours, of 512, predicted from the others. No label is read.

    The recipe's model loses its classes and gets a mask token; of its augmentation, what needs no labels is done.

    Source: Section 4.6 and Appendix B.1.2, target 1; chapter 17.
    """

    def __init__(self, recipe: Recipe) -> None:
        if not isinstance(recipe.model, ViTConfig):
            got = f"{type(recipe.model).__name__}; only patches can be masked"
            raise ValueError(
                f"expected a ViTConfig with objective {recipe.objective!r}, got {got}"
            )
        self.cfg = replace(recipe.model, num_classes=0, mask_token=True)
        super().__init__(replace(recipe, model=self.cfg))
        off = {
            name: getattr(recipe, name)
            for name in ("mixup", "cutmix", "label_smoothing")
        }
        off["model.patch_drop_rate"] = self.cfg.patch_drop_rate
        if wrong := [name for name, value in off.items() if value]:
            got = f"{off[wrong[0]]}; no label is read, and every patch may be asked for"
            raise ValueError(
                f"expected {wrong[0]} 0 with objective {recipe.objective!r}, got {got}"
            )
        self.patch_size = self.cfg.patch_size
        self.corrupt(1, Generator())  # refuses a ratio that does not fit

    def build(self) -> MaskedPatchModel:
        return MaskedPatchModel(self.cfg, self.num_outputs)

    def corrupt(self, n: int, generator: Generator) -> tuple[Tensor, Tensor, Tensor]:
        """`corrupt_patches` for `n` images."""
        return corrupt_patches(
            n, self.cfg.num_patches, self.recipe.mask_ratio, generator
        )

    def draw(
        self,
        images: Tensor,
        labels: Tensor,
        generator: Generator,
        step: int,
        total: int,
    ) -> Batch:
        images = augment_images(images, self.recipe, generator)
        mask, source, corrupted = (
            part.to(images.device) for part in self.corrupt(len(images), generator)
        )
        return (normalize(images), mask, source, corrupted), take_patches(
            self.targets(images), corrupted
        )

    def loss(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        hits = len(targets) * self.measure(
            self.answers(outputs.detach().float()), targets
        )
        return self.error(outputs.float(), targets), hits

    @torch.inference_mode()
    def score(self, model: nn.Module, data: Dataset) -> dict[str, float]:
        """Mean "loss" and `metric`, always with the same masks, and the metric of two guesses.

        "constant" is the best answer that is the same for all; "neighbours" is read off `guess_patches`.
        """
        device, was_training = next(model.parameters()).device, model.training
        masks = self.corrupt(
            len(data), Generator().manual_seed(derive_seed("held-out masks"))
        )
        model.eval()
        losses, found = [], []
        for batch in zip(
            *(part.split(100) for part in (data.images, *masks)), strict=True
        ):
            images, mask, source, corrupted = (part.to(device) for part in batch)
            images = to_float(images)
            outputs = model(normalize(images), mask, source, corrupted).float()
            guess = guess_patches(images, mask, source, self.patch_size)
            right, guessed = (
                take_patches(self.targets(each), corrupted) for each in (images, guess)
            )
            losses.append(self.error(outputs, right).item() * len(images))
            found.append((self.answers(outputs), guessed, right))
        model.train(was_training)
        answers, guesses, targets = (
            torch.cat(parts) for parts in zip(*found, strict=True)
        )
        constant = self.constant(targets).expand_as(targets)
        guessers = {self.metric: answers, "constant": constant, "neighbours": guesses}
        scores = {
            name: self.measure(each, targets).item() for name, each in guessers.items()
        }
        return {"loss": sum(losses) / len(data), **scores}

    @property
    def num_outputs(self) -> int:
        """Numbers K that the model predicts for each patch."""
        return LEVELS**self.cfg.in_chans

    def targets(self, images: Float[Tensor, "B C H W"]) -> Shaped[Tensor, "B N A"]:
        """What is right for every patch of `images` in [0, 1]."""
        return patch_colours(images, self.patch_size)

    def error(
        self, outputs: Float[Tensor, "B M K"], targets: Shaped[Tensor, "B M A"]
    ) -> Float[Tensor, ""]:
        """The mean loss."""
        # (B M, 512)
        return F.cross_entropy(outputs.flatten(0, 1), targets.flatten())

    def answers(self, outputs: Float[Tensor, "B M K"]) -> Shaped[Tensor, "B M A"]:
        """The prediction that `outputs` stand for, in the form of targets."""
        return outputs.argmax(dim=2, keepdim=True)

    def constant(self, targets: Shaped[Tensor, "B M A"]) -> Shaped[Tensor, "*A"]:
        """The best answer that is the same for all patches."""
        return targets.flatten().mode().values  # the most frequent colour

    def measure(
        self, answers: Shaped[Tensor, "B M A"], targets: Shaped[Tensor, "B M A"]
    ) -> Tensor:
        """The `metric`."""
        return (answers == targets).float().mean()


class MaskedPixels(MaskedPatches):
    """The normalised pixels of each patch in place of colours, with the mean squared error.

    Its metric is R^2, the share of the pixels' variance that is explained: 0 for the best constant answer.

    Source: Appendix B.1.2, target 3; chapter 17.
    """

    metric = "r2"

    @property
    def num_outputs(self) -> int:
        return self.patch_size**2 * self.cfg.in_chans

    def targets(self, images: Tensor) -> Tensor:
        return patchify(normalize(images), self.patch_size)

    def error(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs, targets)

    def answers(self, outputs: Tensor) -> Tensor:
        return outputs

    def constant(self, targets: Tensor) -> Tensor:
        return targets.mean(dim=(0, 1))  # (P P C), the mean patch

    def measure(self, answers: Tensor, targets: Tensor) -> Tensor:
        return (
            1
            - F.mse_loss(answers, targets)
            / targets.var(dim=(0, 1), correction=0).mean()
        )


#: What `Recipe.objective` can name. Source: chapter 17.
OBJECTIVES: dict[str, type[Objective]] = {
    "classification": Classification,
    "masked-mean": MaskedPatches,
    "masked-pixels": MaskedPixels,
}
