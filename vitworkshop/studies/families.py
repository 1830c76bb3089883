"""ViT, ResNet and hybrid at about equal cost (Sections 4.3 and 4.4), and the least they must beat: ridge on pixels."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vitlib.data.dataset import normalize
from vitlib.device import pick_device
from vitlib.train.evaluate import evaluate
from vitlib.train.recipe import recipe
from vitlib.train.transfer import ridge_weights
from vitworkshop.studies.study import (
    QUICK,
    Job,
    Study,
    draw_images,
    make_row,
    train_variant,
)

# 96 wide, 4 deep, patches of 8 pixels
BASE = recipe(QUICK, **{"model.patch_size": 8})
# what each changes in it; their parameters and MACs for an image
FAMILIES: dict[str, dict[str, Any]] = {
    "ViT": {},  # 321 thousand, 5.5 million
    "ResNet": {"model": "resnet"},  # 268 thousand, 7.3 million
    "hybrid": {"model.patch_embed": "hybrid"},  # 334 thousand, 6.5 million
}


def run_family(study: Study, variant: str, seed: int, job: Job) -> list[dict] | None:
    """Run a variant: a ridge regression if its name begins with "pixels", else see `train_variant`."""
    own, began, device = (
        study.variants[variant],
        time.monotonic(),
        pick_device(job.device),
    )
    if not variant.startswith("pixels"):
        return train_variant(study, variant, seed, job)
    data, n = draw_images(job.data, own.get("n_train"), seed), own.get("n_train")
    model = Pixels(data.images[:n], data.labels[:n], BASE.model.num_classes).to(device)
    val = job.val or job.data
    scores = evaluate(model, val.images, val.labels)
    final = {f"val_{name}": round(scores[name], 5) for name in ("accuracy", "loss")}
    return [make_row(variant, own, seed, final, time.monotonic() - began, device)]


class Pixels(nn.Module):
    """Ridge regression on the pixels (n, C, H, W)."""

    def __init__(self, images: Tensor, labels: Tensor, num_classes: int) -> None:
        super().__init__()
        self.head = ridge(normalize(images).flatten(1), labels, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(images.flatten(1))


def ridge(x: Tensor, labels: Tensor, num_classes: int, decay: float = 1.0) -> nn.Linear:
    """The linear map from x (n, D) to {-1, 1}^K with the least squared error and decay (Section 4.1, "Metrics").

    The decay is added to the features' scatter, as a share of its mean over the directions there are.
    """
    targets = 2 * F.one_hot(labels, num_classes).float() - 1  # (n, K)
    mean, middle = x.mean(dim=0), targets.mean(dim=0)
    x = x - mean
    size = decay * x.square().sum(dim=0).double().sum() / min(x.shape)
    weight = ridge_weights(x, targets - middle, size.item()).T  # (K, D)
    layer = nn.Linear(x.shape[1], num_classes)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(middle - weight @ mean)
    return layer
