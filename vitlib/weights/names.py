"""What other libraries call the parts of a ViT: their weights under timm's and vitlib's names (the paper's own too)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from vitlib.checks import checked

__all__ = ["convert_state_dict", "shorten"]

# the pattern of a name that only this library has, and what it calls the parts: regular expressions, in this order
LIBRARIES = {
    "torchvision": (
        r"^conv_proj\.",
        {
            r"^class_token$": "cls_token",
            r"^encoder\.pos_embedding$": "pos_embed",
            r"^conv_proj\.": "patch_embed.proj.",
            r"^encoder\.layers\.encoder_layer_(\d+)\.": r"blocks.\1.",
            r"\.ln_(\d)\.": r".norm\1.",
            r"\.self_attention\.in_proj_": ".attn.qkv.",
            r"\.self_attention\.out_proj\.": ".attn.proj.",
            r"\.mlp\.(0|linear_1)\.": ".mlp.fc1.",
            r"\.mlp\.(3|linear_2)\.": ".mlp.fc2.",
            r"^encoder\.ln\.": "norm.",
            r"^heads\.": "",
        },
    ),
    "transformers": (
        r"^embeddings\.patch_embeddings\.",
        {  # version 4's names, which files keep, and version 5's
            r"^embeddings\.cls_token$": "cls_token",
            r"^embeddings\.position_embeddings$": "pos_embed",
            r"^embeddings\.patch_embeddings\.projection\.": "patch_embed.proj.",
            r"^(encoder\.layer|layers)\.(\d+)\.": r"blocks.\2.",
            r"\.layernorm_before\.": ".norm1.",
            r"\.layernorm_after\.": ".norm2.",
            r"\.attention\.(attention\.)?([qkv])(uery|ey|alue|_proj)\.": r".attn.\2.",
            r"\.attention\.(output\.dense|o_proj)\.": ".attn.proj.",
            r"\.intermediate\.dense\.": ".mlp.fc1.",
            r"(\d)\.output\.dense\.": r"\1.mlp.fc2.",
            r"^layernorm\.": "norm.",
            r"^classifier\.": "head.",
            r"^pooler\.dense\.": "pre_logits.",
        },
    ),
    "Google": (
        r"^embedding\.kernel$",
        {  # the paper's own files, and big_vision's
            r"^cls$": "cls_token",
            r"^(Transformer\.)?(posembed_input\.)?pos_embedding$": "pos_embed",
            r"^embedding\.": "patch_embed.proj.",
            r"^Transformer\.encoderblock_(\d+)\.": r"blocks.\1.",
            r"\.LayerNorm_0\.": ".norm1.",
            r"\.LayerNorm_[12]\.": ".norm2.",
            r"\.MultiHeadDotProductAttention_\d\.": ".attn.",
            r"\.([qkv])(uery|ey|alue)\.": r".\1.",
            r"\.out\.": ".proj.",
            r"\.MlpBlock_\d\.Dense_0\.": ".mlp.fc1.",
            r"\.MlpBlock_\d\.Dense_1\.": ".mlp.fc2.",
            r"^Transformer\.encoder_norm\.": "norm.",
            r"\.(kernel|scale)$": ".weight",
        },
    ),
    # DINO, DeiT, MAE and vitlib itself, too
    "timm": (r"^blocks\.0\.", {r"^pre_logits\.fc\.": "pre_logits."}),
}
# where training checkpoints keep weights
WRAPPERS = ("teacher", "state_dict_ema", "model_ema", "state_dict", "model")
PREFIX = re.compile(r"^((module|_orig_mod|model|backbone|vit|opt\.target|params)\.)+")
DINO_HEAD = re.compile(r"^head\.(mlp|last_layer)\.")  # for its training only


@checked
def convert_state_dict(state: Mapping) -> tuple[dict[str, Tensor], str]:
    """A foreign state dict under timm's and vitlib's names.

    Args:
        state: Names and tensors or arrays, as a library saves them; also inside a training checkpoint, of which
            the averaged weights are taken where there are some (DINO's teacher).

    Returns:
        The weights, queries, keys and values in one, and the library whose names they had.

    Raises:
        ValueError: If the names are of no library known here.

    Source: chapter 08.
    """
    weights = [
        (PREFIX.sub("", str(key).replace("/", ".")), torch.as_tensor(value))
        for key, value in _unwrap(state).items()
    ]
    keys = [key for key, _ in weights]
    found = (name for name, (own, _) in LIBRARIES.items() if any(re.search(own, key) for key in keys))
    if (library := next(found, None)) is None:
        raise ValueError(
            f"expected a ViT's weights under the names of {', '.join(LIBRARIES)}, "
            f"got {shorten(keys)}; rename them, then use model.load_state_dict"
        )
    converted = {}
    for key, value in _unstack(weights):
        if DINO_HEAD.match(key):
            continue
        for pattern, name in LIBRARIES[library][1].items():
            key = re.sub(pattern, name, key)
        if key in converted:
            raise ValueError(f"expected one {key}, got two under different names; keep one of them")
        converted[key] = _from_flax(key, value) if library == "Google" else value
    return _rename_head(_fuse_qkv(converted)), library


def _unwrap(state: Mapping) -> Mapping:
    def is_array(value):
        return isinstance(value, Tensor) or isinstance(value, np.ndarray) and value.dtype.kind in "fiu"

    if not isinstance(state, Mapping):
        raise ValueError(
            f"expected a state dict or a path, got {type(state).__name__}; try model.state_dict()"
        )
    if not any(map(is_array, state.values())):
        inner = next((state[name] for name in WRAPPERS if isinstance(state.get(name), Mapping)), None)
        if inner is None:
            raise ValueError(
                f"expected weights, or a checkpoint that holds them under {', '.join(WRAPPERS)}; "
                f"got {shorten(state) or 'nothing'}"
            )
        return _unwrap(inner)
    others = [key for key, value in state.items() if not is_array(value)]
    if others:
        raise ValueError(f"expected numbers only, got {shorten(others)} beside them; leave that out")
    return state


def _unstack(weights: Iterable[tuple[str, Tensor]]) -> Iterator[tuple[str, Tensor]]:
    """big_vision can keep all blocks in one array, layers first."""
    for key, value in weights:
        if ".encoderblock." in key:
            yield from ((key.replace("block.", f"block_{i}."), layer) for i, layer in enumerate(value))
        else:
            yield key, value


def _from_flax(key: str, value: Tensor) -> Tensor:
    """Flax keeps inputs before outputs, and heads apart."""
    if key == "patch_embed.proj.weight":
        return value.permute(3, 2, 0, 1)  # (P, P, C, D) -> (D, C, P, P)
    if re.search(r"attn\.[qkv]\.", key):
        # (D, h, d) -> (D, D); (h, d) -> (D,)
        return value.flatten(-2).T if value.ndim == 3 else value.flatten()
    if key.endswith("attn.proj.weight"):
        value = value.flatten(0, 1)  # (h, d, D) -> (D, D)
    return value.T if value.ndim == 2 else value


def _fuse_qkv(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Three (D, D) matrices become one (3D, D), and three (D,) biases one (3D,)."""
    fused = {}
    for key, value in state.items():
        three = [re.sub(r"attn\.[qkv]\.", f"attn.{letter}.", key) for letter in "qkv"]
        if three[0] != three[1] and all(name in state for name in three):
            key, value = three[0].replace("attn.q.", "attn.qkv."), torch.cat([state[name] for name in three])
        fused[key] = value
    return fused


def _rename_head(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """A hidden layer before the head makes it an MLP head."""
    if not any(key.startswith("pre_logits.") for key in state):
        return state
    new = {"pre_logits": "head.0", "head": "head.2"}
    return {re.sub("^(pre_logits|head)", lambda m: new[m[0]], key): value for key, value in state.items()}


def shorten(names: Iterable) -> str:
    """The first four of these `names`, in alphabetical order, and how many more there are."""
    names = sorted(map(str, names))
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
