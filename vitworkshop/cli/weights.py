"""What the commands that take others' weights share: the model that a file is of, from it and from what lies beside."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path
from typing import Any

import torch

from vitlib.checks import Count, check_choice, check_value
from vitlib.config import SIZES, ViTConfig
from vitlib.files import printable
from vitlib.model.vit import VisionTransformer
from vitlib.weights.files import beside, read_weights
from vitlib.weights.foreign import check_parts, find_vit, load_weights, sizes_of

# by what mean and deviation others normalise pictures, and what in library, prefix and names tells it
_MEAN_STD = {
    "half": (0.5, 0.5),
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
}
_TELLING = {
    "half": "^Google ",
    "imagenet": r"^torchvision |dinov2|last_layer|(?=.*mask_token)(?=.*ls1\.gamma)",
}
_WHOSE = "half (0.5) for Google's and AugReg's; imagenet for DeiT's, DINO's, MAE's and torchvision's"
_ACTS: dict[str, Any] = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
_NEEDED = (
    "cls_token",
    "pos_embed",
    "patch_embed.proj.weight",
    "blocks.0.mlp.fc1.weight",
)


def add_weights(p: argparse.ArgumentParser) -> None:
    """The options for what a file of weights does not tell."""
    text = "heads of a block, where neither Google's axes nor a config.json beside the file tell them"
    p.add_argument("--heads", type=int, metavar="N", help=text)
    text = f"how the file's pictures were normalised, where nothing beside it tells: {_WHOSE}"
    p.add_argument("--mean-std", choices=tuple(_MEAN_STD), help=text)


def find_weights(path: str | Path) -> Path:
    """The file at `path`, or the weights in a folder of Hugging Face's."""
    path = Path(path).expanduser()
    names = ("model.safetensors", "pytorch_model.bin")
    return next((path / name for name in names if (path / name).is_file()), path)


def open_weights(
    args: argparse.Namespace, path: Path, needs_mean: bool
) -> tuple[VisionTransformer, dict[str, Any]]:
    """The model in a file, for pictures of `normalize` with its defaults; library, act, norm_eps, mean and std it had.

    It has no head where the file has none that reads CLS alone. What is not told is asked for; a mean that is not
    needed may be None.
    """
    if args.heads is not None:
        check_value("--heads", args.heads, Count)
    found = find_vit(read_weights(path))
    state, library, names = found.state, found.library, [*found.state, *found.beside]
    check_parts(names, library)
    if lacking := [name for name in _NEEDED if name not in state]:
        fix = "take those of a ViT with a CLS token and learned positions"
        raise ValueError(
            f"the weights ({library}) have no {' and no '.join(lacking)}; {fix}"
        )
    sizes: dict[str, Any] = sizes_of(state)
    width, hidden = sizes["embed_dim"], sizes.pop("hidden_dim")
    config, count = beside(path, width), state["pos_embed"].numel() // width
    side = math.isqrt(count)  # n + 1 positions, or n: in DeiT III CLS has none
    if count - side**2 > 1:
        raise ValueError(
            f"{count - 1} patch positions are not a square grid; resample them before"
        )
    usual = {(depth, D): h for depth, D, h in SIZES.values()}.get(
        (sizes["depth"], width)
    )
    # timm's, as in vit_base_patch16_224
    by_name = usual if "architecture" in config else None
    heads: Any = (
        args.heads or found.num_heads or config.get("num_attention_heads") or by_name
    )
    text, timm = (
        " ".join([library, found.place, *names]),
        config.get("pretrained_cfg", {}),
    )
    dialect = next(
        (name for name, telling in _TELLING.items() if re.search(telling, text)), ""
    )
    ways = [
        (config.get("image_mean"), config.get("image_std")),
        (timm.get("mean"), timm.get("std")),
    ]
    ways = [_MEAN_STD.get(args.mean_std), *ways, _MEAN_STD.get(dialect)]
    mean, std = next((way for way in ways if way and None not in way), (None, None))
    ask = (
        [f"its heads (--heads {usual or max(1, width // 64)} is usual at this width)"]
        if not heads
        else []
    )
    ask += (
        [f"its pictures' normalisation (--mean-std {_WHOSE})"]
        if needs_mean and mean is None
        else []
    )
    if ask:
        raise ValueError(
            f"neither {path} nor JSON beside it tells {' and '.join(ask)}; say it"
        )
    act = config.get("hidden_act", "gelu_new" if library == "Google" else "gelu")
    check_choice(f"the activation of {path}", act, _ACTS)
    head, ratio = (
        state.get("head.2.weight", state.get("head.weight", torch.empty(0))),
        hidden / width,
    )
    reads_cls = head.shape[-1] == width  # transformers' DINOv2 reads the mean, too
    cfg = ViTConfig(
        img_size=side * sizes["patch_size"],
        num_heads=heads,
        mlp_ratio=ratio
        if int(ratio * width) == hidden
        else math.nextafter(ratio, math.inf),
        qkv_bias="blocks.0.attn.qkv.bias" in state,
        global_pool=config.get("global_pool") or "token",
        head="mlp" if "head.2.weight" in state else "linear",
        layer_scale=1.0 if "blocks.0.ls1.gamma" in state else None,
        act=_ACTS[act],
        **sizes | {"num_classes": len(head) if reads_cls else 0},
    )
    eps = config.get("layer_norm_eps", 1e-12 if library == "transformers" else 1e-6)
    model = VisionTransformer(cfg).eval()
    fold: dict[str, Any] = {} if mean is None else {"mean": mean, "std": std}
    load_weights(model, path, load_head=reads_cls, norm_eps=eps, **fold)
    return model, {
        "library": library,
        "act": cfg.act,
        "norm_eps": eps,
        "mean": mean,
        "std": std,
    }


def described(path: Path, cfg: ViTConfig, told: dict[str, Any]) -> str:
    """In two lines, what was made of a file."""
    shape = f"{cfg.embed_dim} wide, {cfg.depth} deep, {cfg.num_heads} heads, patches of {cfg.patch_size}"
    size = f"{cfg.image_shape[0]} x {cfg.image_shape[1]} pixels, {cfg.num_classes:,} classes"
    way = (
        "0.5, as nothing tells them (--mean-std)"
        if told["mean"] is None
        else f"{told['mean']}, {told['std']}"
    )
    names = (
        f"{printable(path.name)}: by the names of {told['library']}, {shape}, {size}"
    )
    read = "CLS" if cfg.global_pool == "token" else "the mean of the patches"
    run = f"norms before attention and MLP, {told['act']}, LayerNorm's epsilon {told['norm_eps']:g}"
    return f"{names}\nread at {read}; run with {run}, mean and deviation {way}"
