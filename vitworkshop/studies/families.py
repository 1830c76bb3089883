"""ViT, ResNet and hybrid at about equal cost (Sections 4.3 and 4.4), and the least they must beat: ridge on pixels."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vitlib.data.dataset import normalize
from vitlib.device import pick_device
from vitlib.train.evaluate import evaluate
from vitlib.train.recipe import recipe
from vitlib.train.transfer import ridge_weights
from vitworkshop.studies.study import QUICK, Job, Look, Study, draw_images, make_row, train_variant

# 96 wide, 4 deep, patches of 8 pixels
BASE = recipe(QUICK, **{"model.patch_size": 8})
# what each changes in it; their parameters and MACs for an image
FAMILIES: dict[str, dict[str, Any]] = {
    "ViT": {},  # 321 thousand, 5.5 million
    "ResNet": {"model": "resnet"},  # 268 thousand, 7.3 million
    "hybrid": {"model.patch_embed": "hybrid"},  # 334 thousand, 6.5 million
}
# on a GPU they see twice as finely, at about four times the cost
FULL = {"epochs": 30, "batch_size": 512, "precision": "bf16"}
_FINER = {
    "ViT": {"model.patch_size": 4},
    "ResNet": {"model.stem_stride": 1},
    "hybrid": {"model.patch_size": 4},
}


def run_family(study: Study, variant: str, seed: int, job: Job, look: Look = None) -> list[dict] | None:
    """Run a variant whose name begins with one of `FAMILIES`, or with "pixels"; see `train_variant`."""
    family, own = variant.partition(",")[0], study.variants[variant]
    if family == "pixels":
        return _fit_pixels(study, variant, seed, job, look)
    finer = _FINER.get(family, {}) if job.scale == "full" else {}
    return train_variant(replace(study, variants={variant: own | finer}), variant, seed, job, look)


def _fit_pixels(study: Study, variant: str, seed: int, job: Job, look: Look) -> list[dict]:
    own, began, device = study.variants[variant], time.monotonic(), pick_device(job.device)
    data, n = draw_images(job.data, own.get("n_train"), seed), own.get("n_train")
    model = Pixels(data.images[:n], data.labels[:n], BASE.model.num_classes).to(device)
    val = job.val or job.data
    scores = evaluate(model, val.images, val.labels)
    final = {f"val_{name}": round(scores[name], 5) for name in ("accuracy", "loss")}
    final |= look(model) if look else {}
    return [make_row(variant, own, seed, final, time.monotonic() - began, device)]


class Pixels(nn.Module):
    """Ridge regression on the pixels (n, C, H, W): no features but what is there, with the methods of a model."""

    def __init__(self, images: Tensor, labels: Tensor, num_classes: int) -> None:
        super().__init__()
        self.head = ridge(normalize(images).flatten(1), labels, num_classes)

    def forward_features(self, images: Tensor) -> Tensor:
        """The images themselves."""
        return images

    def pool(self, features: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C*H*W)."""
        return features.flatten(1)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.pool(self.forward_features(images)))


def ridge(features: Tensor, labels: Tensor, num_classes: int, decay: float = 1.0) -> nn.Linear:
    """The linear map from features (n, D) to {-1, 1}^K with the least squared error and decay (Section 4.1, "Metrics").

    The decay is added to the features' scatter, as a share of its mean over the directions there are.
    """
    targets = 2 * F.one_hot(labels, num_classes).float() - 1  # (n, K)
    mean, middle = features.mean(dim=0), targets.mean(dim=0)
    x = features - mean
    size = decay * x.square().sum(dim=0).double().sum() / min(x.shape)
    weight = ridge_weights(x, targets - middle, size.item()).T  # (K, D)
    layer = nn.Linear(x.shape[1], num_classes)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(middle - weight @ mean)
    return layer


@torch.no_grad()
def embed(model: Any, images: Tensor, batch_size: int = 500) -> Tensor:
    """What the head of a `model` reads of uint8 `images`: (n, D) on the CPU."""
    device = next(model.parameters()).device
    batches = (normalize(batch.to(device)) for batch in images.split(batch_size))
    return torch.cat([model.pool(model.forward_features(batch)).float().cpu() for batch in batches])
