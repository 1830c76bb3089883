"""The model that a config describes."""

from __future__ import annotations

from vitlib.checks import checked
from vitlib.config import ResNetConfig, ViTConfig
from vitlib.model.resnet import ResNet
from vitlib.model.vit import VisionTransformer

__all__ = ["MODELS", "build_model"]

MODELS = (VisionTransformer, ResNet)  # what `build_model` makes


@checked
def build_model(cfg: ViTConfig | ResNetConfig) -> VisionTransformer | ResNet:
    """The model that a config describes: a `VisionTransformer` or a `ResNet`.

    Both have `forward`, `forward_features`, `pool`, `with_img_size` and `head`;
    `pool(forward_features(images))` is (B, D).

    Args:
        cfg: The shape of the model.

    Raises:
        ValueError: If it is neither kind of config.

    Source: Section 4.1, "Model Variants"; chapter 11.

    >>> type(build_model(ResNetConfig())).__name__
    'ResNet'
    """
    return ResNet(cfg) if isinstance(cfg, ResNetConfig) else VisionTransformer(cfg)
