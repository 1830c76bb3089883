"""vitlib: the package of Patch by Patch, a book on Vision Transformers (arXiv 2010.11929).

All public names are here, as in `import vitlib as vl`; their homes are the files of the rooms, as in
`vitlib.model.vit.VisionTransformer`. `vl.viz`, which needs matplotlib, and what the workshop has (`vl.check`,
`vl.doctor`, `vl.explore`, `vl.export_web`, `vl.hint`, `vl.language`) are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from vitlib.config import CONFIGS, PRESETS, ResNetConfig, ViTConfig
from vitlib.data.cifar10 import (
    CIFAR10_CLASSES,
    fetch_cifar10,
    find_cifar10,
    load_cifar10,
)
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
from vitlib.model.attention import Attention, AxialAttention
from vitlib.model.costs import count_macs, count_parameters
from vitlib.model.encoder import Block, DropPath, LayerScale, Mlp, PostNormBlock
from vitlib.model.patches import (
    ConvPatchEmbed,
    ConvStem,
    HybridPatchEmbed,
    LinearPatchEmbed,
    OverlapPatchEmbed,
    PatchDrop,
    conv_to_linear,
    patchify,
    unpatchify,
)
from vitlib.model.posembed import resample_pos_embed, sincos_2d
from vitlib.model.resnet import PreActBottleneck, ResNet, StdConv2d
from vitlib.model.vit import VisionTransformer, build_model
from vitlib.train.augment import (
    augment_batch,
    cutmix,
    mixup,
    rand_augment,
    random_crop,
    random_flip,
)
from vitlib.train.evaluate import evaluate, predict
from vitlib.train.loop import train_model
from vitlib.train.masked import (
    MaskedPatchModel,
    corrupt_patches,
    guess_patches,
    patch_colours,
)
from vitlib.train.muon import Muon, orthogonalize
from vitlib.train.objective import OBJECTIVES
from vitlib.train.optim import EMA, build_optimizer, lr_at, parameter_groups
from vitlib.train.recipe import RECIPES, Recipe, recipe
from vitlib.train.transfer import features, few_shot, replace_head, sample_shots
from vitlib.weights.foreign import convert_state_dict, load_weights
from vitlib.weights.pretrained import list_pretrained, load_pretrained, save_pretrained

if TYPE_CHECKING:
    from vitlib import viz
    from vitworkshop.doctor.case import Finding
    from vitworkshop.doctor.doctor import doctor
    from vitworkshop.exercises.ask import check, hint
    from vitworkshop.exercises.language import language
    from vitworkshop.web.explore import Explorer, explore
    from vitworkshop.web.export import export_web

_LATE = {  # loaded when first used: figures, which need matplotlib, and the workshop's
    "viz": "vitlib.viz",
    "Finding": "vitworkshop.doctor.case",
    "doctor": "vitworkshop.doctor.doctor",
    "check": "vitworkshop.exercises.ask",
    "hint": "vitworkshop.exercises.ask",
    "language": "vitworkshop.exercises.language",
    "Explorer": "vitworkshop.web.explore",
    "explore": "vitworkshop.web.explore",
    "export_web": "vitworkshop.web.export",
}
_OURS = {
    name
    for name, value in globals().items()
    if not isinstance(value, ModuleType) and name[0] != "_"
}
__all__ = sorted(
    _OURS - {"TYPE_CHECKING", "ModuleType", "annotations"} | {"__version__", *_LATE}
)


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module 'vitlib' has no attribute {name!r}")
    home = importlib.import_module(_LATE[name])
    return home if name == "viz" else getattr(home, name)
