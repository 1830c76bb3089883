"""ViT, ResNet and hybrid at about equal cost (Sections 4.3 and 4.4), and the least they must beat: ridge on pixels."""

from __future__ import annotations

from torch import nn

from vitlib.controls import PixelRidge
from vitlib.data.dataset import Dataset
from vitlib.train.evaluate import evaluate
from vitlib.train.recipe import recipe
from vitworkshop.studies.study import (
    QUICK,
    Job,
    Study,
    draw_images,
    train_variant,
)

# 96 wide, 4 deep, patches of 8 pixels
BASE = recipe(QUICK, **{"model.patch_size": 8})
# what each changes in it; their parameters and MACs for an image
FAMILIES = {
    "ViT": {},  # 321 thousand, 5.5 million
    "ResNet": {"model": "resnet"},  # 268 thousand, 7.3 million
    "hybrid": {"model.patch_embed": "hybrid"},  # 334 thousand, 6.5 million
}


def run_family(study: Study, variant: str, seed: int, job: Job) -> list[dict]:
    """Run a variant: a ridge regression if its name begins with "pixels", else see `train_variant`."""
    if not variant.startswith("pixels"):
        return train_variant(study, variant, seed, job)
    n = study.variants[variant].get("n_train")
    data = draw_images(job.data, n, seed)
    model = PixelRidge(data.images[:n], data.labels[:n], BASE.model.num_classes)
    return [{"final": scores(model, job.val)}]


def scores(model: nn.Module, data: Dataset) -> dict[str, float]:
    """The accuracy and the loss of a trained model, as a row has them."""
    found = evaluate(model, data.images, data.labels)
    return {f"val_{name}": round(found[name], 5) for name in ("accuracy", "loss")}
