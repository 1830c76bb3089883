"""Masked patch prediction: a model tells what corrupted patches show, without any labels (Section 4.6)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Generator, Tensor, nn

from vitlib.checks import Count, checked
from vitlib.config import ViTConfig
from vitlib.data.dataset import Dataset, normalize, to_float
from vitlib.device import derive_seed
from vitlib.model.patches import patchify
from vitlib.model.posembed import STD
from vitlib.model.vit import VisionTransformer
from vitlib.train.augment import augment_images
from vitlib.train.corrupt import LEVELS, corrupt_patches, guess_patches, patch_colours, take_patches
from vitlib.train.objective import Classification, Objective
from vitlib.train.recipe import Recipe

__all__ = ["OBJECTIVES", "MaskedGrid", "MaskedMean", "MaskedPatchModel", "MaskedPatches", "MaskedPixels"]


class MaskedPatchModel(nn.Module):
    """An encoder, and a linear layer that tells from each corrupted patch's token what the patch shows.

    `encoder` is a `VisionTransformer`. It is what stays for fine-tuning, and what `save_pretrained` writes.

    Args:
        cfg: The encoder's shape, with a mask token and without classes.
        num_outputs: Numbers K told of a patch.

    Shape: normalised images (B, C, H, W) and what `corrupt_patches` gives -> (B, M, K).

    Raises:
        ValueError: If the encoder has no mask token.

    Source: Section 4.6 and Appendix B.1.2; chapter 17.
    """

    @checked
    def __init__(self, cfg: ViTConfig, num_outputs: Count) -> None:
        super().__init__()
        if not cfg.mask_token:
            raise ValueError("expected no mask, the model has no mask token; make it with mask_token=True")
        self.encoder = VisionTransformer(cfg)
        self.predict = nn.Linear(cfg.embed_dim, num_outputs)
        nn.init.trunc_normal_(self.predict.weight, std=STD)
        nn.init.zeros_(self.predict.bias)

    def forward(
        self,
        images: Float[Tensor, "B C H W"],
        mask: Bool[Tensor, "B N"],
        source: Int64[Tensor, "B N"],
        corrupted: Int64[Tensor, "B M"],
    ) -> Float[Tensor, "B M K"]:
        tokens = self.encoder.encode(self.embed(images, mask, source))[:, 1:]  # (B, N, D)
        return self.predict(take_patches(tokens, corrupted))  # (B, M, D) -> (B, M, K)

    def embed(
        self, images: Float[Tensor, "B C H W"], mask: Bool[Tensor, "B N"], source: Int64[Tensor, "B N"]
    ) -> Float[Tensor, "B T D"]:
        """The encoder's input (Equation 1) with other tokens in the patches' places: (B, 1+N, D), CLS first.

        Args:
            images: (B, C, H, W), normalised.
            mask: (B, N), True for each patch whose token is replaced by the mask token, before its
                position is added. With "overlap", "stem" and "hybrid", pixels of a masked patch still
                reach the tokens of its neighbours.
            source: (B, N), for each place the patch whose token it gets before it is masked, in [0, N).

        Raises:
            ValueError: If the mask or the source is not (B, N), or of another dtype.
        """
        patches = self.encoder.embed_patches(images)  # (B, N, D)
        for name, which, dtype in (("mask", mask, torch.bool), ("source", source, torch.int64)):
            if which.shape != patches.shape[:2] or which.dtype != dtype:
                raise ValueError(
                    f"expected a {name} of {dtype} {tuple(patches.shape[:2])}, one value for each patch, "
                    f"got {which.dtype} {tuple(which.shape)}"
                )
        patches = patches.gather(1, source[:, :, None].expand_as(patches))
        patches = torch.where(mask[:, :, None], self.encoder.mask_token.to(patches.dtype), patches)
        return self.encoder.add_positions(patches)


class MaskedPatches(Objective):
    """Half of the patches are corrupted and told from the others. No label is read.

    Args:
        recipe: Its model loses its classes and gets a mask token; of its augmentation, what needs no labels is done.

    Raises:
        ValueError: If the recipe's model has no patches, or it would mix or smooth labels, leave out patches,
            or corrupt no patch or all.

    Source: Section 4.6 and Appendix B.1.2; chapter 17.
    """

    def __init__(self, recipe: Recipe) -> None:
        if not isinstance(recipe.model, ViTConfig):
            raise ValueError(
                f"expected a ViTConfig with objective {recipe.objective!r}, got {type(recipe.model).__name__}; "
                "only patches can be masked"
            )
        self.cfg = replace(recipe.model, num_classes=0, mask_token=True)
        super().__init__(replace(recipe, model=self.cfg))
        told = {name: getattr(recipe, name) for name in ("mixup", "cutmix", "label_smoothing")}
        told["model.patch_drop_rate"] = self.cfg.patch_drop_rate
        if wrong := [name for name, value in told.items() if value]:
            raise ValueError(
                f"expected {wrong[0]} 0 with objective {recipe.objective!r}, got {told[wrong[0]]}; no label is read, "
                "and every patch may be asked for"
            )
        self.patch_size = recipe.model.patch_size
        self.corrupt(1, Generator())  # refuses a ratio that does not fit

    @property
    @abstractmethod
    def num_outputs(self) -> int:
        """Numbers that the model gives for each patch."""

    @abstractmethod
    def targets(self, images: Float[Tensor, "B C H W"]) -> Shaped[Tensor, "B N A"]:
        """What is right for every patch of `images` in [0, 1]."""

    @abstractmethod
    def error(self, outputs: Float[Tensor, "B M K"], targets: Shaped[Tensor, "B M A"]) -> Float[Tensor, ""]:
        """The mean loss."""

    @abstractmethod
    def answers(self, outputs: Float[Tensor, "B M K"]) -> Shaped[Tensor, "B M A"]:
        """What `outputs` say, in the form of targets."""

    @abstractmethod
    def constant(self, targets: Shaped[Tensor, "B M A"]) -> Shaped[Tensor, "*A"]:
        """The best answer that is the same for all patches."""

    @abstractmethod
    def measure(self, answers: Shaped[Tensor, "B M A"], targets: Shaped[Tensor, "B M A"]) -> Tensor:
        """The `metric`."""

    def build(self) -> MaskedPatchModel:
        return MaskedPatchModel(self.cfg, self.num_outputs)

    def corrupt(self, n: int, generator: Generator) -> tuple[Tensor, Tensor, Tensor]:
        """`corrupt_patches` for `n` images."""
        return corrupt_patches(n, self.cfg.num_patches, self.recipe.mask_ratio, generator)

    def draw(
        self, images: Tensor, labels: Tensor, generator: Generator, step: int, total: int
    ) -> tuple[tuple[Tensor, ...], Tensor]:
        images = augment_images(images, self.recipe, generator)
        mask, source, corrupted = (which.to(images.device) for which in self.corrupt(len(images), generator))
        return (normalize(images), mask, source, corrupted), take_patches(self.targets(images), corrupted)

    def loss(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        hits = len(targets) * self.measure(self.answers(outputs.detach().float()), targets)
        return self.error(outputs.float(), targets), hits

    @torch.inference_mode()
    def score(self, model: nn.Module, data: Dataset) -> dict[str, float]:
        """Mean "loss" and `metric`, always with the same masks, and the metric of two guesses.

        "constant" is the best answer that is the same for all; "neighbours" is read off `guess_patches`.
        """
        device, was_training = next(model.parameters()).device, model.training
        masks = self.corrupt(len(data), Generator().manual_seed(derive_seed("held-out masks")))
        model.eval()
        losses, found = [], []
        for batch in zip(*(part.split(100) for part in (data.images, *masks)), strict=True):
            images, mask, source, corrupted = (part.to(device) for part in batch)
            images = to_float(images)
            outputs = model(normalize(images), mask, source, corrupted).float()
            guess = guess_patches(images, mask, source, self.patch_size)
            right, guessed = (take_patches(self.targets(each), corrupted) for each in (images, guess))
            losses.append(self.error(outputs, right).item() * len(images))
            found.append((self.answers(outputs), guessed, right))
        model.train(was_training)
        answers, guesses, targets = (torch.cat(parts) for parts in zip(*found, strict=True))
        told = {self.metric: answers, "constant": self.constant(targets).expand_as(targets)}
        told["neighbours"] = guesses
        scores = {name: self.measure(each, targets).item() for name, each in told.items()}
        return {"loss": sum(losses) / len(data), **scores}


class MaskedMean(MaskedPatches):
    """Tell the mean colour of each patch, one class of 512; arguments as for `MaskedPatches`.

    Source: Appendix B.1.2, target 1; chapter 17.
    """

    side = 1  # cells along each side of a patch

    @property
    def num_outputs(self) -> int:
        return min(self.side, self.patch_size) ** 2 * LEVELS**self.recipe.model.in_chans

    def targets(self, images: Tensor) -> Tensor:
        return patch_colours(images, self.patch_size, self.side)

    def error(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(self._classes(outputs).flatten(0, 2), targets.flatten())  # (B M cells, 512)

    def answers(self, outputs: Tensor) -> Tensor:
        return self._classes(outputs).argmax(dim=3)

    def constant(self, targets: Tensor) -> Tensor:
        return targets.flatten().mode().values  # the most frequent colour

    def measure(self, answers: Tensor, targets: Tensor) -> Tensor:
        return (answers == targets).float().mean()

    def _classes(self, outputs: Tensor) -> Tensor:
        return outputs.unflatten(2, (-1, LEVELS**self.recipe.model.in_chans))  # (B, M, cells, 512)


class MaskedGrid(MaskedMean):
    """Tell the 16 colours of each patch shrunk to 4 x 4, at once; arguments as for `MaskedPatches`.

    With patches of 4 x 4 pixels these are the pixels, with 8 x 8 the means of 2 x 2.

    Source: Appendix B.1.2, target 2; chapter 17.
    """

    side = 4


class MaskedPixels(MaskedPatches):
    """Tell the normalised pixels of each patch, with the mean squared error; arguments as for `MaskedPatches`.

    Its metric is R^2, the share of the pixels' variance that is explained: 0 for the best constant answer.

    Source: Appendix B.1.2, target 3; chapter 17.
    """

    metric = "r2"

    @property
    def num_outputs(self) -> int:
        return self.patch_size**2 * self.recipe.model.in_chans

    def targets(self, images: Tensor) -> Tensor:
        return patchify(normalize(images), self.patch_size)

    def error(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs, targets)

    def answers(self, outputs: Tensor) -> Tensor:
        return outputs

    def constant(self, targets: Tensor) -> Tensor:
        return targets.mean(dim=(0, 1))  # (P P C), the mean patch

    def measure(self, answers: Tensor, targets: Tensor) -> Tensor:
        return 1 - F.mse_loss(answers, targets) / targets.var(dim=(0, 1), correction=0).mean()


#: What `Recipe.objective` can name. Source: chapter 17.
OBJECTIVES: dict[str, type[Objective]] = {
    "classification": Classification,
    "masked-mean": MaskedMean,
    "masked-grid": MaskedGrid,
    "masked-pixels": MaskedPixels,
}
