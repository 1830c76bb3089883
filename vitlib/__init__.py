"""vitlib: the package of Patch by Patch, a book on Vision Transformers (arXiv 2010.11929).

All public names are here, as in `import vitlib as vl`; their homes are the files of the rooms, as in
`vitlib.model.vit.VisionTransformer`. Controls stand in `vl.controls`, figures in `vl.viz`. What needs matplotlib
(`vl.viz`) and what the workshop has (`vl.check`, `vl.doctor`, `vl.explore`, `vl.export_web`, `vl.hint`, `vl.language`,
`vl.look`) are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from vitlib import controls
from vitlib.config import PRESETS, ResNetConfig, ViTConfig
from vitlib.data.cifar10 import CIFAR10_CLASSES
from vitlib.data.dataset import (
    Dataset,
    denormalize,
    load_dataset,
    normalize,
    split_validation,
)
from vitlib.data.drawn10 import DRAWN10_CLASSES, drawn10_masks, load_drawn10
from vitlib.data.photos import load_folder, load_image, sample_image
from vitlib.device import pick_device, seed_everything
from vitlib.evidence import VERSION as __version__
from vitlib.evidence import load_results
from vitlib.explain.attention import (
    attention_distance,
    attention_entropy,
    attention_rollout,
)
from vitlib.explain.erasing import answer_with, head_importance, intervene, occlusion
from vitlib.explain.gradients import attention_relevance, grad_cam, integrated_gradients
from vitlib.explain.lens import logit_lens
from vitlib.explain.scores import (
    EXPLANATIONS,
    curve_area,
    deletion_curve,
    insertion_curve,
    patch_scores,
)
from vitlib.explain.trace import trace
from vitlib.model.attention import Attention
from vitlib.model.costs import count_macs, count_parameters
from vitlib.model.encoder import Block, Mlp
from vitlib.model.patches import (
    ConvPatchEmbed,
    LinearPatchEmbed,
    patchify,
    unpatchify,
)
from vitlib.model.posembed import resample_pos_embed, sincos_2d
from vitlib.model.resnet import ResNet
from vitlib.model.vit import VisionTransformer, build_model
from vitlib.train.augment import augment_batch
from vitlib.train.evaluate import evaluate, predict
from vitlib.train.loop import train_model
from vitlib.train.masked import MaskedPatchModel
from vitlib.train.muon import Muon
from vitlib.train.optim import EMA, build_optimizer, lr_at
from vitlib.train.recipe import RECIPES, Recipe, recipe
from vitlib.train.transfer import features, few_shot, replace_head, sample_shots
from vitlib.weights.foreign import convert_state_dict, load_weights
from vitlib.weights.pretrained import list_pretrained, load_pretrained, save_pretrained

if TYPE_CHECKING:
    from vitlib import viz
    from vitworkshop.cli.look import look
    from vitworkshop.doctor.doctor import doctor
    from vitworkshop.exercises.ask import check, hint
    from vitworkshop.exercises.language import language
    from vitworkshop.web.explore import explore
    from vitworkshop.web.export import export_web

_LATE = {  # loaded when first used: figures, which need matplotlib, and the workshop's
    "viz": "vitlib.viz",
    "doctor": "vitworkshop.doctor.doctor",
    "look": "vitworkshop.cli.look",
    "check": "vitworkshop.exercises.ask",
    "hint": "vitworkshop.exercises.ask",
    "language": "vitworkshop.exercises.language",
    "explore": "vitworkshop.web.explore",
    "export_web": "vitworkshop.web.export",
}
__all__ = [
    "CIFAR10_CLASSES",
    "DRAWN10_CLASSES",
    "EMA",
    "EXPLANATIONS",
    "PRESETS",
    "RECIPES",
    "Attention",
    "Block",
    "ConvPatchEmbed",
    "Dataset",
    "LinearPatchEmbed",
    "MaskedPatchModel",
    "Mlp",
    "Muon",
    "Recipe",
    "ResNet",
    "ResNetConfig",
    "ViTConfig",
    "VisionTransformer",
    "__version__",
    "answer_with",
    "attention_distance",
    "attention_entropy",
    "attention_relevance",
    "attention_rollout",
    "augment_batch",
    "build_model",
    "build_optimizer",
    "check",
    "controls",
    "convert_state_dict",
    "count_macs",
    "count_parameters",
    "curve_area",
    "deletion_curve",
    "denormalize",
    "doctor",
    "drawn10_masks",
    "evaluate",
    "explore",
    "export_web",
    "features",
    "few_shot",
    "grad_cam",
    "head_importance",
    "hint",
    "insertion_curve",
    "integrated_gradients",
    "intervene",
    "language",
    "list_pretrained",
    "load_dataset",
    "load_drawn10",
    "load_folder",
    "load_image",
    "load_pretrained",
    "load_results",
    "load_weights",
    "logit_lens",
    "look",
    "lr_at",
    "normalize",
    "occlusion",
    "patch_scores",
    "patchify",
    "pick_device",
    "predict",
    "recipe",
    "replace_head",
    "resample_pos_embed",
    "sample_image",
    "sample_shots",
    "save_pretrained",
    "seed_everything",
    "sincos_2d",
    "split_validation",
    "trace",
    "train_model",
    "unpatchify",
    "viz",
]

if not TYPE_CHECKING:  # a checker would take any misspelt name for an object

    def __getattr__(name: str) -> object:
        if name not in _LATE:
            raise AttributeError(f"module 'vitlib' has no attribute {name!r}")
        home = importlib.import_module(_LATE[name])
        return home if name == "viz" else getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
