"""Models that other libraries trained (the paper's too): files read without pickle, under timm's and vitlib's names."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from vitlib.checks import Grid, Rate, Usual, checked
from vitlib.config import ViTConfig
from vitlib.model.posembed import resample_pos_embed
from vitlib.model.vit import VisionTransformer
from vitlib.tensors import check_finite

__all__ = ["convert_state_dict", "load_weights"]

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
# parts that a `VisionTransformer` has not, by a pattern of their names
ABSENT = {
    r"^(embeddings\.)?(reg_token|register_tokens)$": "registers",
    r"^(attn_pool|MAPHead_0|(vision_model\.)?head\.probe)\b": "pooling by attention (map)",
    r"^(norm_pre|visual\.ln_pre|(vision_model\.)?pre_layrnorm)\.": "a norm before the first block (CLIP's)",
    r"\.attn\.[qk]_norm\.": "norms of queries and keys (qk-norm)",
    r"^fc_norm\.": "a norm after pooling (fc_norm)",
}
NO_SUCH = "a VisionTransformer here has none and would give other answers; take weights of a model without"
# where training checkpoints keep weights
WRAPPERS = ("teacher", "state_dict_ema", "model_ema", "state_dict", "model")
PREFIX = re.compile(r"^((module|_orig_mod|model|backbone|vit|opt\.target|params)\.)+")
DINO_HEAD = re.compile(r"^head\.(mlp|last_layer)\.")  # for its training only


@checked
def load_weights(
    model: VisionTransformer,
    source: str | Path | Mapping,
    *,
    load_head: bool = True,
    old_grid: Grid | None = None,
    norm_eps: Annotated[Rate, Usual("1e-6")] | None = None,
) -> str:
    """Load weights that another library made, in place; nothing is changed unless everything fits.

    The names of timm, DINO, DeiT, torchvision, transformers (4 and 5) and Google's .npz files (the paper's and
    big_vision's) are known. Position embeddings of another grid are resampled. Three things no file of weights tells:
    Google's models have the tanh form of GELU (`act="gelu_tanh"`), each was trained on images normalised in its own
    way, and LayerNorm's epsilon is 1e-12 in transformers, unless a model's config.json has another `layer_norm_eps`.

    Args:
        model: Of the weights' sizes; its number of heads cannot be checked.
        source: A state dict, or the path of a .safetensors, .npz, .pt, .pth or .bin file, read without running
            anything that it holds.
        load_head: Whether the head is loaded; False leaves the model's own as it is.
        old_grid: Rows and columns of the patches that the weights were made for, if not a square.
        norm_eps: LayerNorm's epsilon, which the model then has; None leaves 1e-6, that of timm, torchvision and the
            paper's code. The model's config does not keep another one.

    Returns:
        The library whose names they were: "timm", "torchvision", "transformers" or "Google".

    Raises:
        ValueError: If the file cannot be read, its names are of no library known here or of a part that no model here
            has (registers, say), or a weight is missing, left over, of another shape or no number that the model's
            dtype holds.

    Source: Section 3.2, for other sizes and another number of classes; chapter 08.
    """
    state, library = convert_state_dict(read_weights(source) if isinstance(source, str | Path) else source)
    if absent := _absent(state):
        raise ValueError(f"the weights ({library}) are of a model with {absent}; {NO_SUCH}")
    own = model.state_dict()
    if any(value.is_meta for value in own.values()):
        raise ValueError("expected a model with numbers, got one on the meta device; make it on the CPU")
    if not load_head:
        head = {key: value for key, value in own.items() if key.startswith("head.")}
        state = {key: value for key, value in state.items() if not key.startswith("head.")} | head
    state = {key: value for key, value in own.items() if key == "pos_embed.extent"} | state
    _check_fit(state, own, model.cfg, library)
    check_finite(state, next(model.parameters()).dtype, "fetch the weights again, as floats")
    if "pos_embed" in state and (old_grid or state["pos_embed"].shape != own["pos_embed"].shape):
        state["pos_embed"] = _fit_pos_embed(state["pos_embed"], model.cfg.grid, old_grid)
    model.load_state_dict(state)
    for part in model.modules():
        if norm_eps is not None and isinstance(part, nn.LayerNorm):
            part.eps = norm_eps
    return library


def read_weights(path: str | Path) -> Mapping:
    """What is in the file at `path`, under the names of the library that wrote it; nothing that it holds is run."""
    path = Path(path).expanduser()
    readers = {".safetensors": load_file, ".npz": lambda p: dict(np.load(p, allow_pickle=False))}
    readers |= dict.fromkeys((".pt", ".pth", ".bin"), _load_torch)
    if path.suffix not in readers or not path.is_file():
        raise ValueError(
            f"expected a file that ends in {', '.join(readers)}, got {path}"
            + ("" if path.is_file() else ", which is not there")
        )
    try:
        return readers[path.suffix](path)
    except Exception as error:  # bytes that are changed or missing make the readers raise anything
        raise ValueError(
            f"{path} cannot be read without running code that it holds, or is damaged "
            f"({textwrap.shorten(str(error), 200)}); fetch it again, or as .safetensors"
        ) from error


def _load_torch(path: Path) -> Mapping:
    """A checkpoint of PyTorch, without pickle's freedom."""
    with torch.serialization.safe_globals([argparse.Namespace]):  # which full DINO checkpoints carry
        return torch.load(path, map_location="cpu", weights_only=True)


def _fit_pos_embed(pos_embed: Tensor, grid: tuple[int, int], old_grid: tuple[int, int] | None) -> Tensor:
    """The table at another grid, with a place for CLS."""
    count = pos_embed.shape[1]
    if count == (old_grid[0] * old_grid[1] if old_grid else round(count**0.5) ** 2):
        pos_embed = F.pad(pos_embed, (0, 0, 1, 0))  # positions of patches only: CLS gets zeros
    return resample_pos_embed(pos_embed, grid, old_grid)


def _check_fit(state: dict[str, Tensor], own: dict[str, Tensor], cfg: ViTConfig, library: str) -> None:
    """Refuse weights that are not those of the model, and say which."""
    depth, ours = (len({key.split(".")[1] for key in x if key.startswith("blocks.")}) for x in (state, own))
    problems = [f"depth {depth}, the model has {ours}"] if depth != ours else []
    other = [
        key
        for key in own.keys() & state.keys()
        if state[key].shape != own[key].shape
        and not (key == "pos_embed" and state[key].ndim == 3 and state[key].shape[2] == own[key].shape[2])
    ]
    for name, key, axis in (
        ("embed_dim", "cls_token", 2),
        ("patch_size", "patch_embed.proj.weight", -1),
        ("num_classes", "head.weight", 0),
    ):
        if key in other and state[key].shape[axis] != own[key].shape[axis]:
            problems.append(f"{name} {state[key].shape[axis]}, the model has {getattr(cfg, name)}")
    if not problems:
        shapes = [f"{key} {tuple(state[key].shape)}, the model's is {tuple(own[key].shape)}" for key in other]
        for what, found in (
            ("missing", own.keys() - state.keys()),
            ("left over", state.keys() - own.keys()),
            ("of another shape", shapes),
        ):
            problems += [f"{what}: {_some(found)}"] if found else []
    if problems:
        fix = "make the model with the sizes of the weights"
        if any(p.startswith("left over") for p in problems):
            fix += ", rename what only has another name"
        if any("head" in p or "num_classes" in p for p in problems):
            fix += ", or pass load_head=False to keep the model's own head"
        raise ValueError(f"the weights ({library}) do not fit the model: {'; '.join(problems)}; {fix}")


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
    weights = []
    for key, value in _unwrap(state).items():
        key, value = PREFIX.sub("", str(key).replace("/", ".")), torch.as_tensor(value)
        if ".encoderblock." in key:  # big_vision can keep all blocks in one array, layers first
            weights += [(key.replace("block.", f"block_{i}."), layer) for i, layer in enumerate(value)]
        else:
            weights.append((key, value))
    keys = [key for key, _ in weights]
    found = (name for name, (own, _) in LIBRARIES.items() if any(re.search(own, key) for key in keys))
    if (library := next(found, None)) is None:
        if absent := _absent(keys):
            raise ValueError(f"the weights are of a model with {absent}; {NO_SUCH}")
        raise ValueError(
            f"expected a ViT's weights under the names of {', '.join(LIBRARIES)}, "
            f"got {_some(keys)}; rename them, then use model.load_state_dict"
        )
    converted = {}
    for key, value in weights:
        if DINO_HEAD.match(key):
            continue
        for pattern, name in LIBRARIES[library][1].items():
            key = re.sub(pattern, name, key)
        if key in converted:
            raise ValueError(f"expected one {key}, got two under different names; keep one of them")
        converted[key] = _from_flax(key, value) if library == "Google" else value
    if any(key.startswith("pre_logits.") for key in converted):  # a hidden layer makes it an MLP head
        new = {"pre_logits": "head.0", "head": "head.2"}
        converted = {re.sub("^(pre_logits|head)", lambda m: new[m[0]], k): v for k, v in converted.items()}
    return _fuse_qkv(converted), library


def _absent(names: Iterable[str]) -> str:
    """What these names tell of that no model here has; "" if nothing."""
    found = {part: [name for name in names if re.search(pattern, name)] for pattern, part in ABSENT.items()}
    return ", ".join(f"{part}: {_some(keys)}" for part, keys in found.items() if keys)


def _unwrap(state: Mapping) -> Mapping:
    """The weights alone, out of a training checkpoint where they lie in one."""

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
                f"got {_some(state) or 'nothing'}"
            )
        return _unwrap(inner)
    others = [key for key, value in state.items() if not is_array(value)]
    if others:
        raise ValueError(f"expected numbers only, got {_some(others)} beside them; leave that out")
    return state


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


def _some(names: Iterable) -> str:
    """The first four of these names, in alphabetical order, and how many more there are."""
    names = sorted(map(str, names))
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
