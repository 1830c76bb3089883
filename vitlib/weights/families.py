"""Which family a file is of, and so what no file tells: heads, activation, epsilon, who reads, mean and deviation."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from vitlib.checks import as_pair, check_choice
from vitlib.config import CHOICES, ViTConfig
from vitlib.weights.files import LISTS
from vitlib.weights.names import Weights, some

# how others normalise their pictures: mean and deviation of red, green and blue in [0, 1]
MEAN_STD = {
    "half": (0.5, 0.5),
    "none": (0.0, 1.0),
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "clip": (
        (0.48145466, 0.4578275, 0.40821073),
        (0.26862954, 0.26130258, 0.27577711),
    ),
}
# by a pattern of `Weights.text`, the first that fits: what its published files have. The page has the same table
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "DINOv3": (
        r"^(?!.* pos_embed )(?=.* reg_token )(?=.* cls_token )",
        {"norm_eps": 1e-5, "mean_std": "imagenet"},
    ),
    "DINOv2": (
        r"^(?=.* blocks\.0\.ls1\.gamma )(?=.* (mask_token|patch:14|reg_token|place:\S*dinov2\S*) )",
        {"mean_std": "imagenet"},
    ),
    "DeiT III": (
        r"^(?=.* blocks\.0\.ls1\.gamma )(?=.* cls:unplaced )",
        {"mean_std": "imagenet"},
    ),
    "distilled DeiT (transformers)": (
        r"^(?=.* library:transformers )(?=.* dist_token )",
        {"norm_eps": 1e-12, "mean_std": "imagenet"},
    ),
    "distilled DeiT": (r" dist_token ", {"mean_std": "imagenet"}),
    "SigLIP (transformers)": (
        r"^(?=.* library:transformers )(?=.* attn_pool\.latent )",
        {"act": "gelu_tanh"},
    ),
    "SigLIP (so400m, giant)": (
        r"^(?=.* attn_pool\.latent )(?=.* width:(1152|1536) )",
        {"act": "gelu_tanh"},
    ),
    "SigLIP": (r" attn_pool\.latent ", {}),
    "BLIP": (
        r" encoder\.layers\.0\.self_attn\.qkv\.weight ",
        {"norm_eps": 1e-5, "mean_std": "clip"},
    ),
    "CLIP (timm)": (
        r"^(?=.* library:timm )(?=.* norm_pre\.weight )",
        {"norm_eps": 1e-5, "mean_std": "clip"},
    ),
    "CLIP": (
        r" norm_pre\.weight ",
        {"act": "quick_gelu", "norm_eps": 1e-5, "mean_std": "clip"},
    ),
    "MAE (transformers)": (
        r"^(?=.* library:transformers )(?=.* cls_token )(?=.* beside:decoder )",
        {"norm_eps": 1e-12, "mean_std": "imagenet"},
    ),
    "MAE": (
        r"^(?=.* cls_token )(?=.* (decoder\S*|fc_norm\.weight) )",
        {"mean_std": "imagenet"},
    ),
    "DINO": (r"^(?=.* library:timm )(?=.* \S*last_layer)", {"mean_std": "imagenet"}),
    "MoCo, BYOL": (r" place:\S*momentum_\S* ", {"mean_std": "imagenet"}),
    "ViT without a head": (  # DINO's and MAE's, most often
        r"^(?=.* library:timm )(?!.* (heads?|fc|classifier|linear)\.)",
        {"mean_std": "imagenet"},
    ),
    "ViT (torchvision)": (r" library:torchvision ", {"mean_std": "imagenet"}),
    "ViT (Google)": (r" library:Google ", {"act": "gelu_tanh"}),
    "ViT (transformers)": (r" library:transformers ", {"norm_eps": 1e-12}),
    "ViT": ("", {}),
}
# heads by width, where they are not 64 wide
HEADS = {1152: 16, 1280: 16, 1408: 16, 1664: 16}
# what a reader may say of a file: fields of `ViTConfig`, and a key of `MEAN_STD`
ASSUMABLE = ("num_heads", "act", "norm_eps", "global_pool", "img_size", "mean_std")
# how transformers' config.json calls them; timm's has our names, in its `model_args`
TOLD = {
    "num_heads": "num_attention_heads",
    "norm_eps": "layer_norm_eps",
    "act": "hidden_act",
    "global_pool": "global_pool",
    "img_size": "image_size",
}
# words in timm's names of models of other kinds, whose names of parts are the usual ones
OTHER_KINDS = re.compile(r"rpn|rope|relpos|parallel|_xp_|beit|eva0|eva_")
ACTS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}
# fields of a `ViTConfig`, and whose size they are along which axis
SIZES = {
    "embed_dim": ("patch_embed.proj.weight", 0),
    "patch_size": ("patch_embed.proj.weight", -1),
    "in_chans": ("patch_embed.proj.weight", 1),
    "num_classes": ("head.weight", 0),
    "hidden_dim": ("blocks.0.mlp.fc2.weight", 1),
    "reg_tokens": ("reg_token", 1),
}


class Found(NamedTuple):
    """What a file is of: the model's config, how its pictures were normalised, and what of that nothing told."""

    family: str
    config: ViTConfig
    mean: Any
    std: Any
    assumed: dict[str, Any]
    classes: list[str]
    called: str  # what JSON beside it says
    projects: bool  # whether its head leads to what pictures and words share, and names no classes


def sizes_of(state: Mapping[str, Tensor]) -> dict[str, int]:
    """What weights tell of a model's sizes, by the names of `ViTConfig`."""
    depth = len({key.split(".")[1] for key in state if key.startswith("blocks.")})
    known = {
        name: at
        for name, at in SIZES.items()
        if at[0] in state and -state[at[0]].ndim <= at[1] < state[at[0]].ndim
    }
    return {"depth": depth} | {
        name: state[key].shape[axis] for name, (key, axis) in known.items()
    }


def family_of(found: Weights, config: Mapping[str, Any], **said: Any) -> Found:
    """The config of the ViT in a file, from its shapes and names, from `config` beside it, from what the reader said.

    Args:
        found: The weights.
        config: A config.json of transformers or timm, or {}.
        **said: Of `ASSUMABLE`; they go before all else.

    Raises:
        ValueError: If the shapes are those of no ViT, or something is told that no model here has.
    """
    for name in said:
        check_choice("what is to be assumed", name, ASSUMABLE)
    way = said.get("mean_std", "half")
    if not (isinstance(way, tuple | list) and len(way) == 2):
        check_choice("mean_std", way, MEAN_STD)
    architecture = str(config.get("architecture"))
    if other := OTHER_KINDS.search(architecture):
        raise ValueError(
            f"the JSON beside it calls it {architecture}: {other[0]!r} is of another kind; {LISTS}"
        )
    state = found.state
    told = _told(config) | ({"num_heads": found.num_heads} if found.num_heads else {})
    family, usual = next(
        (family, fields)
        for family, (pattern, fields) in FAMILIES.items()
        if re.search(pattern, found.text)
    )
    shaped = _shaped(state, said.get("img_size", told.get("img_size")))
    width = shaped["embed_dim"]
    if shaped["mlp"] == "gated":  # whatever its config.json says
        told.pop("act", None)
    guessed: dict[str, Any] = {
        "num_heads": HEADS.get(width, max(1, width // 64)),
        "act": "silu" if shaped["mlp"] == "gated" else "gelu",
        "norm_eps": 1e-6,
        "mean_std": "half",
        "img_size": 224,
    } | usual
    if "global_pool" not in shaped:
        guessed["global_pool"] = "token" if shaped["class_token"] else "avg"
    known = told | shaped | said
    assumed = {key: value for key, value in guessed.items() if key not in known}
    if "img_size" in shaped and "img_size" not in told | said:
        assumed["img_size"] = shaped["img_size"]  # of a square grid
    fields: dict[str, Any] = guessed | known
    way = fields.pop("mean_std")
    mean, std = MEAN_STD[way] if isinstance(way, str) else way
    cfg = ViTConfig(**fields)
    classes = _classes(config, cfg.num_classes)
    bias = state.get("head.bias", state.get("head.2.bias"))
    # pictures' and words'
    of_two = cfg.pre_norm or re.search(r"visual\.|vision_model\.", found.place)
    projects = bool(of_two) and cfg.num_classes > 0 and (bias is None or not bias.any())
    called = config.get("called", "")
    return Found(family, cfg, mean, std, assumed, classes, called, projects)


def _shaped(state: Mapping[str, Tensor], told: Any) -> dict[str, Any]:
    """The fields of a `ViTConfig` that names and shapes tell; the image size where it is `told` and fits."""
    sizes: dict[str, Any] = sizes_of(state)
    kernel = tuple(state["patch_embed.proj.weight"].shape)
    if len(kernel) != 4 or kernel[2] != kernel[3]:
        raise ValueError(
            f"expected patches cut by a square kernel (D, C, P, P), got {kernel}; {LISTS}"
        )
    needed = SIZES.keys() - {"num_classes", "reg_tokens"}
    lacking = [name for name in SIZES if name in needed and SIZES[name][0] not in state]
    if "pos_embed" not in state and "reg_token" not in state:
        lacking.append("positions")
    if lacking:
        words = ", ".join(
            "the MLP's width" if one == "hidden_dim" else one for one in lacking
        )
        first = some(key for key in state if not re.match(r"blocks\.[1-9]", key))
        raise ValueError(
            f"expected weights that tell {words}, got {first}: a part of a ViT, or another kind of model; {LISTS}"
        )
    width, hidden = sizes["embed_dim"], sizes.pop("hidden_dim")
    ratio = hidden / width
    if int(ratio * width) != hidden:
        ratio = math.nextafter(ratio, math.inf)
    first = state.get("blocks.0.mlp.fc1.weight")
    cls = "cls_token" in state
    fields = sizes | {
        "mlp_ratio": ratio,
        "mlp": "gated" if first is not None and len(first) == 2 * hidden else "plain",
        "class_token": cls,
        "pos_embed": "learned" if "pos_embed" in state else "rope_unit",
        "qkv_bias": "blocks.0.attn.qkv.bias" in state,
        "layer_scale": 1.0 if "blocks.0.ls1.gamma" in state else None,
        "pre_norm": "norm_pre.weight" in state,
        "fc_norm": "fc_norm.weight" in state,
        "head": "mlp" if "head.2.weight" in state else "linear",
    }
    if "head.2.weight" in state:
        square = state.get("head.0.weight", torch.empty(0)).shape == (width, width)
        fields["num_classes"] = len(state["head.2.weight"]) if square else 0
    fields.setdefault("num_classes", 0)
    if "pos_embed" in state:
        count, patch = state["pos_embed"].shape[1], sizes["patch_size"]
        if told and _places(told, patch) in (count, count - cls):
            fields["img_size"] = told
        else:
            fields["img_size"] = _side(count, cls) * patch
    head = state.get("head.0.weight", state.get("head.weight"))
    if "attn_pool.latent" in state:
        fields["global_pool"] = "map"
    elif head is not None and head.shape[-1] == 2 * width:
        is_distilled = sizes.get("reg_tokens") == 1
        fields["global_pool"] = "token_reg" if is_distilled else "token_avg"
    elif not cls or fields["fc_norm"]:
        fields["global_pool"] = "avg"
    return fields


def _places(img_size: Any, patch_size: int) -> int:
    """Patches of an image of this size."""
    height, width = as_pair("img_size", img_size)
    return (height // patch_size) * (width // patch_size)


def _side(count: int, cls: bool) -> int:
    """The side of a square of patches; of n + 1 positions, or of n where CLS has none (DeiT III) or is none."""
    for patches in (count - 1, count) if cls else (count,):
        if patches and math.isqrt(patches) ** 2 == patches:
            return math.isqrt(patches)
    fix = "of a plain ViT, tell its size, --assume img_size=HEIGHT,WIDTH; models of poses, boxes and sound are not read"
    raise ValueError(f"{count} positions are not those of a square grid; {fix}")


def _classes(config: Mapping[str, Any], count: int) -> list[str]:
    """The names of the classes in a config.json, if it names each; transformers writes "LABEL_0" for want of one."""
    names = config.get("label_names") or []
    if isinstance(numbered := config.get("id2label"), dict):
        names = [numbered[key] for key in sorted(numbered, key=int)]
    is_named = len(names) == count and not str(names[:1]).startswith("['LABEL_")
    return [str(name) for name in names] if is_named else []


def _told(config: Mapping[str, Any]) -> dict[str, Any]:
    """What JSON beside a file tells, under the names of `ViTConfig`."""
    args = config.get("model_args") or {}  # timm's
    told = {
        field: value
        for field, name in TOLD.items()
        if (value := args.get(field) or config.get(name))
    }
    timm = config.get("pretrained_cfg") or {}
    if size := timm.get("input_size"):
        told.setdefault(
            "img_size", tuple(size[-2:]) if size[-1] != size[-2] else size[-1]
        )
    for mean, std in (
        (config.get("image_mean"), config.get("image_std")),
        (timm.get("mean"), timm.get("std")),
    ):
        if mean is not None and std is not None:
            told.setdefault("mean_std", (mean, std))
    if "quickgelu" in str(config.get("architecture")):
        told.setdefault("act", "quick_gelu")
    if "act" in told:
        told["act"] = ACTS.get(str(told["act"]), told["act"])
    for field in ("act", "global_pool"):
        if told.get(field, CHOICES[field][0]) not in CHOICES[field]:
            wanted = ", ".join(CHOICES[field])
            raise ValueError(
                f"expected {wanted} as {field} in the JSON beside it, got {told[field]!r}"
            )
    return told
