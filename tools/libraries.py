"""ViTs of other libraries in the shape of one of ours, for tests and measurements."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from unittest.mock import MagicMock, patch

from torch import nn

from vitlib.config import ViTConfig
from vitlib.model.vit import VisionTransformer


class Empty(MetaPathFinder, Loader):
    """Finds an empty module for torchvision and all that is in it."""

    def find_spec(self, name, path=None, target=None):
        return (
            ModuleSpec(name, self, is_package=True)
            if name.split(".")[0] == "torchvision"
            else None
        )

    def create_module(self, spec):
        return MagicMock(__path__=[])

    def exec_module(self, module):
        pass


def import_library(name: str) -> ModuleType:
    """timm or vit_pytorch, with or without torchvision; ImportError if it is not installed.

    Both import torchvision beside their models, which do not use it; its version must match torch's exactly. Where it
    is missing or broken, an empty module stands in for it during the import, and is gone afterwards.
    """

    def forget() -> None:
        for module in [
            module for module in sys.modules if module.split(".")[0] == "torchvision"
        ]:
            del sys.modules[module]

    try:
        importlib.import_module("torchvision")
        return importlib.import_module(name)
    except Exception:  # missing, or built for another torch
        forget()
        with (
            patch("sys.meta_path", [Empty(), *sys.meta_path]),
            warnings.catch_warnings(action="ignore"),
        ):
            try:
                return importlib.import_module(name)
            finally:
                forget()


def shape(cfg: ViTConfig, names: str) -> dict[str, int]:
    """The model's shape in a library's own words for image, patch, classes, width, depth and heads."""
    values = (
        cfg.img_size,
        cfg.patch_size,
        cfg.num_classes,
        cfg.embed_dim,
        cfg.depth,
        cfg.num_heads,
    )
    return dict(zip(names.split(), values, strict=True))


def timm(cfg: ViTConfig) -> nn.Module:
    names = "img_size patch_size num_classes embed_dim depth num_heads"
    model = import_library("timm").models.vision_transformer.VisionTransformer
    return model(**shape(cfg, names), mlp_ratio=cfg.mlp_ratio)


def vit_pytorch(cfg: ViTConfig) -> nn.Module:
    names = "image_size patch_size num_classes dim depth heads"
    more = {"mlp_dim": cfg.hidden_dim, "dim_head": cfg.embed_dim // cfg.num_heads}
    return import_library("vit_pytorch").ViT(**shape(cfg, names), **more)


def transformers(cfg: ViTConfig) -> nn.Module:
    from transformers import ViTConfig, ViTForImageClassification

    names = "image_size patch_size num_labels hidden_size num_hidden_layers num_attention_heads"
    return ViTForImageClassification(
        ViTConfig(**shape(cfg, names), intermediate_size=cfg.hidden_dim)
    )


LIBRARIES: dict[str, Callable[[ViTConfig], nn.Module]] = {
    "vitlib": VisionTransformer,
    "timm": timm,
    "vit-pytorch": vit_pytorch,
    "transformers": transformers,
}
