"""Which of ten bugs in a small ViT cost accuracy? The page `clinic` shows the same runs, but shorter.

Not in the paper. Four kinds of drawings (mushroom, rocket, tree, umbrella): 3,000 are learned from, 1,000 held out.
33 runs took 22 minutes on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vitlib.config import ViTConfig
from vitlib.data.dataset import normalize
from vitlib.model.attention import Attention
from vitlib.model.patches import LinearPatchEmbed
from vitlib.model.vit import build_model
from vitlib.train.augment import random_flip
from vitlib.train.optim import build_optimizer, lr_at
from vitlib.train.recipe import Recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import Job, Study

KINDS, STEPS = 4, 3000  # the last classes of Drawn-10
SHAPE = ViTConfig(
    patch_size=8,
    num_classes=KINDS,
    embed_dim=64,
    depth=2,
    num_heads=2,
    mlp_ratio=2.0,
    global_pool="avg",
    patch_embed="linear",
    drop_path_rate=0.1,
)
RECIPE = Recipe("healthy", SHAPE, batch_size=40, lr=3e-3, warmup=0.1, precision="fp32")


def flip(images: Tensor) -> Tensor:
    return random_flip(images, torch.default_generator)


@dataclass(frozen=True)
class Case:
    """What a run is made of; a bug replaces one part."""

    name: str
    recipe: Recipe = RECIPE
    embed: type = LinearPatchEmbed
    attention: type = Attention
    augment: Callable[[Tensor], Tensor] = flip
    # how the trained model is read
    normalize: Callable[[Tensor], Tensor] = normalize
    training: bool = False

    def build(self, seed: int) -> Any:
        """A fresh model."""
        torch.manual_seed(seed)
        model: Any = build_model(self.recipe.model)
        model.patch_embed.__class__ = self.embed
        for block in model.blocks:
            block.attn.__class__ = self.attention
        return model

    @torch.no_grad()
    def answers(self, model: nn.Module, images: Tensor) -> Tensor:
        """The classes that a trained model names."""
        return model.train(self.training)(self.normalize(images)).argmax(1)

    def train(
        self,
        images: Tensor,
        labels: Tensor,
        steps: int = STEPS,
        seed: int = 0,
        watch: Callable[[int, Any], object] = lambda step, model: None,
    ) -> tuple[Any, list[float]]:
        """The trained model and its losses. `watch` sees each step's gradients, before clipping and update."""
        model, recipe, losses = self.build(seed), self.recipe, []
        optimizer = build_optimizer(model, recipe)
        n, size = len(images), recipe.batch_size
        batches = (
            i for _ in count() for i in torch.randperm(n).split(size)[: n // size]
        )
        for s, i in zip(range(steps), batches, strict=False):
            loss = F.cross_entropy(
                model.train()(normalize(self.augment(images[i]))), labels[i]
            )
            optimizer.zero_grad()
            loss.backward()
            watch(s, model)
            nn.utils.clip_grad_norm_(model.parameters(), recipe.clip_norm)
            for group in optimizer.param_groups:
                group["lr"] = lr_at(s, steps, recipe.lr, round(steps * recipe.warmup))
            optimizer.step()
            losses.append(loss.item())
        return model, losses


class Unscaled(Attention):
    axis, scale = -1, 1.0

    def attention_weights(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        q, k, _ = self.project(x)
        return (self.scale * q @ k.mT).softmax(self.axis)

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        mixed = self.attention_weights(x) @ self.project(x)[2]
        return self.proj(mixed.transpose(1, 2).flatten(2))  # (B, h, T, d) -> (B, T, D)


class OverQueries(Unscaled):
    axis, scale = -2, (SHAPE.embed_dim // SHAPE.num_heads) ** -0.5


class Strips(LinearPatchEmbed):
    def forward(self, images: Tensor) -> Tensor:
        return self.proj(images.reshape(len(images), -1, 3 * SHAPE.patch_size**2))


class Cut(LinearPatchEmbed):
    def forward(self, images: Tensor) -> Tensor:
        return super().forward(images).detach()


def _twice(images: Tensor) -> Tensor:
    return (normalize(images) - 0.5) / 0.5


def _one_coin(images: Tensor) -> Tensor:
    return images.flip(-1) if torch.rand(()) < 0.5 else images


HEALTHY = Case("healthy")
BUGS = {
    "A": Case(
        "no position embedding", replace(RECIPE, model=replace(SHAPE, pos_embed="none"))
    ),
    "B": Case("decay coupled to Adam", replace(RECIPE, optimizer="adam")),
    "C": Case("scores not divided by the root of d", attention=Unscaled),
    "D": Case("held-out pictures normalised twice", normalize=_twice),
    "E": Case("a reshape in place of patchify", embed=Strips),
    "F": Case("softmax over the queries", attention=OverQueries),
    "G": Case("evaluated in training mode", training=True),
    "H": Case(
        "a rate ten times too large, without a warm-up",
        replace(RECIPE, lr=0.03, warmup=0.0),
    ),
    "I": Case("the embedding is cut off from the gradient", embed=Cut),
    "J": Case("one coin for the whole batch", augment=_one_coin),
}


def of_four_kinds(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The drawings of the last four classes, and labels from 0."""
    first = 10 - KINDS
    return images[labels >= first], labels[labels >= first] - first


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict]:
    images, labels = of_four_kinds(job.data.images, job.data.labels)
    case = BUGS.get(study.variants[variant]["bug"], HEALTHY)
    n = len(images) * 3 // 4
    model, _ = case.train(images[:n], labels[:n], STEPS, seed)
    right = (case.answers(model, images[n:]) == labels[n:]).double().mean().item()
    return [{"final": {"val_accuracy": round(right, 4)}}]


STUDY = Study(
    question="Which of ten bugs in a small ViT cost accuracy?",
    variants={
        case.name: {"bug": letter} for letter, case in {"none": HEALTHY, **BUGS}.items()
    },
    claims=tuple(
        Claim(f"{case.name}: it costs accuracy", "healthy", case.name, margin=0.02)
        for case in BUGS.values()
    ),
    base=None,
    data="drawn10",
    measure="accuracy on the last quarter of the training drawings of four kinds, which is held out; "
    "the test set is not read",
    run=_run,
)
