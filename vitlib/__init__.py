"""vitlib: the package of Patch by Patch, a book on Vision Transformers (arXiv 2010.11929).

`import vitlib as vl` costs little: a name is looked up in its module when it is first used.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

PUBLIC = {
    "config": ("PRESETS", "ViTConfig"),
    "utils": ("count_macs", "count_parameters", "load_results", "pick_device", "seed_everything"),
    "patches": (
        "ConvPatchEmbed",
        "ConvStem",
        "LinearPatchEmbed",
        "OverlapPatchEmbed",
        "conv_to_linear",
        "patchify",
        "unpatchify",
    ),
    "posembed": ("resample_pos_embed", "sincos_2d"),
    "attention": ("Attention",),
    "layers": ("DropPath", "LayerScale", "Mlp"),
    "encoder": ("Block", "PostNormBlock"),
    "vit": ("VisionTransformer",),
    "weights": (
        "convert_state_dict",
        "list_pretrained",
        "load_pretrained",
        "load_weights",
        "save_pretrained",
    ),
    "probe": ("attention_distance", "attention_entropy", "attention_rollout", "grad_cam"),
    "data": (
        "CIFAR10_CLASSES",
        "DRAWN10_CLASSES",
        "denormalize",
        "fetch_cifar10",
        "find_cifar10",
        "load_cifar10",
        "load_dataset",
        "load_drawn10",
        "load_folder",
        "load_image",
        "normalize",
        "sample_image",
        "split_validation",
    ),
    "augment": (
        "augment_batch",
        "cutmix",
        "mixup",
        "rand_augment",
        "random_crop",
        "random_erasing",
        "random_flip",
    ),
    "optim": ("EMA", "build_optimizer", "lr_at", "parameter_groups"),
    "train": ("RECIPES", "Recipe", "evaluate", "predict", "recipe", "train_model"),
    "viz": (),
}
_HOME = {name: module for module, names in PUBLIC.items() for name in names}

__all__ = ["__version__", *PUBLIC, *_HOME]


def __getattr__(name: str):
    if name in _HOME:
        value = getattr(importlib.import_module(f"vitlib.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name in PUBLIC:
        return importlib.import_module(f"vitlib.{name}")
    raise AttributeError(f"module 'vitlib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
