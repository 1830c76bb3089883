"""Models that other libraries trained (the paper's too): their weights under timm's and vitlib's names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os.path import commonprefix
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vitlib.checks import Grid, Positive, Rate, Share, Usual, checked
from vitlib.config import ViTConfig
from vitlib.data.dataset import normalize
from vitlib.model.posembed import resample_pos_embed
from vitlib.model.vit import VisionTransformer
from vitlib.tensors import check_finite
from vitlib.weights.files import beside, read_weights

__all__ = ["convert_state_dict", "load_weights"]

# whose names they are: one that no other library has, behind any prefix
LIBRARIES = {
    "torchvision": r"conv_proj\.",
    "transformers": r"embeddings\.patch_embeddings\.",
    "Google": r"embedding\.kernel$",  # the paper's own files, and big_vision's
    "timm": r"blocks\.0\.",  # DINO, DeiT, MAE and vitlib itself, too
}
# what they call the parts (torchvision; transformers 4 and 5, ViT and DINOv2; Google), and we: replaced in this order
NAMES = {
    r"(?<=\.)(_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.": "",
    r"^(class_token|embeddings\.cls_token|cls)$": "cls_token",
    r"^(encoder\.|embeddings\.|Transformer\.|posembed_input\.)*(pos_embedding|position_embeddings)$": "pos_embed",
    r"^embeddings\.mask_token$": "mask_token",
    r"^(conv_proj|embeddings\.patch_embeddings\.projection|embedding)\.": "patch_embed.proj.",
    r"^(encoder\.layers\.encoder_layer_|encoder\.layer\.|layers\.|Transformer\.encoderblock_)(\d+)\.": r"blocks.\2.",
    r"^blocks\.\d+\.(\d+)\.": r"blocks.\1.",  # DINOv2's chunks
    r"\.(ln_1|layernorm_before|LayerNorm_0)\.": ".norm1.",
    r"\.(ln_2|layernorm_after|LayerNorm_[12])\.": ".norm2.",
    r"\.MultiHeadDotProductAttention_\d\.": ".attention.",
    r"\.self_attention\.in_proj_": ".attn.qkv.",
    r"\.attention\.(attention\.)?([qkv])(uery|ey|alue|_proj)\.": r".attn.\2.",
    r"\.(self_attention\.out_proj|attention\.(output\.dense|o_proj|out))\.": ".attn.proj.",
    r"\.(mlp\.(0|linear_1)|intermediate\.dense|MlpBlock_\d\.Dense_0)\.": ".mlp.fc1.",
    r"\.(mlp\.(3|linear_2)|output\.dense|MlpBlock_\d\.Dense_1)\.": ".mlp.fc2.",
    r"\.layer_scale(\d)\.lambda1$": r".ls\1.gamma",
    r"^(encoder\.ln|layernorm|Transformer\.encoder_norm)\.": "norm.",
    r"^(heads\.pre_logits|pooler\.dense|pre_logits\.fc)\.": "pre_logits.",
    r"\.(kernel|scale)$": ".weight",
}
# parts that a `VisionTransformer` has not, by a pattern of their names
ABSENT = {
    r"\b(dist(illation)?_token|head_dist|distillation_classifier)\b": "a distillation token (distilled DeiT)",
    r"\b(reg_token|register_tokens|storage_tokens)\b": "registers (DINOv3, some of DINOv2)",
    r"\b(shared_)?rel(ative)?_pos": "relative positions of another kind (BEiT, SAM)",
    r"\b(rope|rotary|freqs_(cos|sin))": "rotary positions (EVA-02, DINOv3)",
    r"\bmlp\.(w\d+|fc1_[gx]|gate_proj|weights_in)\b": "a gated MLP (SwiGLU: EVA-02, DINOv2's giant)",
    r"\.(gamma|lambda)_[12]$": "scales as BEiT, EVA and RoPE-ViTs name them, which differ in more",
    r"^blocks\.\d+\.attn\.[qv](_|\.)bias$": "biases of queries and values alone (BEiT, EVA)",
    r"\b((attn|mlp)\.|[qk]_)norm\.": "norms inside attention or MLP (qk-norm; BEiT-3, EVA-02)",
    r"\bdecoder": "a decoder (MAE's pre-training; the file of its encoder alone is a ViT)",
    r"\b(patch_embed\.backbone|conv_root)\b": "a ResNet before the patches (hybrid)",
    r"\b(attn_pool|MAPHead_0|head\.probe)\b": "pooling by attention (map)",
    r"\b(norm_pre|ln_pre|pre_layrnorm)\.": "a norm before the first block (CLIP's)",
    r"\b(fc_norm|pooler\.layernorm)\.": "a norm after pooling (fc_norm)",
    r"\b(lora_[AB]|base_layer)\b": "low-rank additions (LoRA: merge them first)",
    r"\b(layers|stages)\.\d+\.(blocks|downsample)\.": "stages of several widths (Swin, ConvNeXt)",
}
NO_SUCH = "a VisionTransformer here has none and would give other answers; take weights of a model without"
# of several models in a file (a teacher and its student) this one is an average over training
AVERAGED = re.compile(r"(?<![a-z])(teacher|ema|target)(?![a-z])")
OURS = re.compile(
    r"^(cls_token|pos_embed|mask_token|patch_embed|blocks|norm|pre_logits)\b"
)
HEAD = re.compile(r"^(heads?|classifier|fc|linear)\.")
DINO_HEAD = re.compile(r"^head\.(mlp|last_layer)\.")  # for its training only
# fields of a `ViTConfig`, and whose size they are along which axis
SIZES = {"embed_dim": ("cls_token", -1), "patch_size": ("patch_embed.proj.weight", -1)}
SIZES |= {"in_chans": ("patch_embed.proj.weight", 1), "num_classes": ("head.weight", 0)}
SIZES |= {"hidden_dim": ("blocks.0.mlp.fc1.weight", 0)}


class Weights(NamedTuple):
    """A ViT found in a file or a checkpoint."""

    state: dict[str, Tensor]  # under timm's and vitlib's names
    library: str
    place: str  # what stands before its names there
    beside: list[str]  # names of what is no part of it
    num_heads: int | None  # if Google's axes tell


@checked
def load_weights(
    model: VisionTransformer,
    source: str | Path | Mapping,
    *,
    load_head: bool = True,
    old_grid: Grid | None = None,
    norm_eps: Annotated[Rate, Usual("1e-6")] | None = None,
    mean: Share | Sequence[float] = 0.5,
    std: Positive | Sequence[float] = 0.5,
) -> str:
    """Load weights that another library made, in place; nothing is changed unless everything fits.

    The names of timm, DINO (1 and 2), DeiT, MAE, torchvision, transformers (4 and 5) and Google's .npz files (the
    paper's and big_vision's) are known, behind any prefix and inside any checkpoint. Position embeddings of another
    grid are resampled; LayerScale (DINOv2) goes into the layers before it where the model has none. No weights tell
    that Google's models have the tanh form of GELU (`act="gelu_tanh"`).

    Args:
        model: Of the weights' sizes; heads are compared if Google's axes or a config.json beside the file tell them.
        source: A state dict, or the path of a safetensors, .npz or PyTorch file, of which nothing is run.
        load_head: Whether the head is loaded; False leaves the model's own as it is.
        old_grid: Rows and columns of the patches that the weights were made for, if not a square.
        norm_eps: LayerNorm's epsilon, which the model then has, but not its config: 1e-12 in transformers' ViT. None
            leaves 1e-6, that of timm, torchvision and the paper's code.
        mean: Of the weights' images, in [0, 1]: 0.5 for Google's and AugReg's; (0.485, 0.456, 0.406) for DeiT, DINO,
            MAE, torchvision. It goes into the patch embedding; the model still takes `normalize`'s default images.
        std: Likewise; (0.229, 0.224, 0.225) for those.

    Returns:
        The library whose names they were: "timm", "torchvision", "transformers" or "Google".

    Raises:
        ValueError: If the file cannot be read, its names are of no library known here or of a part that no model here
            has (registers, say), or a weight is missing, left over, of another shape or no number that the model's
            dtype holds.

    Source: Section 3.2, for other sizes and another number of classes; chapter 08.
    """
    is_file = isinstance(source, str | Path)
    found, own = (
        find_vit(read_weights(source) if is_file else source),
        model.state_dict(),
    )
    if is_file and not found.num_heads:
        config = beside(source, sizes_of(found.state).get("embed_dim"))
        found = found._replace(num_heads=config.get("num_attention_heads"))
    if any(value.is_meta for value in own.values()):
        raise ValueError(
            "expected a model with numbers, got one on the meta device; make it on the CPU"
        )
    check_parts(
        [name for name in (*found.state, *found.beside) if name not in own],
        found.library,
    )
    state = {
        key: value
        for key, value in found.state.items()
        if key != "mask_token" or key in own
    }
    if not load_head:
        state = {key: value for key, value in state.items() if not HEAD.match(key)}
        state |= {key: value for key, value in own.items() if key.startswith("head.")}
    if "blocks.0.ls1.gamma" not in own:
        state = fold_scales(state)
    state = {
        key: value for key, value in own.items() if key == "pos_embed.extent"
    } | state
    _check_fit(state, own, model.cfg.num_heads, found)
    if (mean, std) != (0.5, 0.5):
        state |= _fold(state, model.cfg, mean, std)
    check_finite(
        state, next(model.parameters()).dtype, "fetch the weights again, as floats"
    )
    if "pos_embed" in state and (
        old_grid or state["pos_embed"].shape != own["pos_embed"].shape
    ):
        count = state["pos_embed"].shape[1]
        if count == (old_grid[0] * old_grid[1] if old_grid else round(count**0.5) ** 2):
            # CLS, which has none, gets zeros
            state["pos_embed"] = F.pad(state["pos_embed"], (0, 0, 1, 0))
        state["pos_embed"] = resample_pos_embed(
            state["pos_embed"], model.cfg.grid, old_grid
        )
    model.load_state_dict(state)
    for part in model.modules():
        if norm_eps is not None and isinstance(part, nn.LayerNorm):
            part.eps = norm_eps
    return found.library


def _fold(
    state: dict[str, Tensor], cfg: ViTConfig, mean: Any, std: Any
) -> dict[str, Tensor]:
    """The patch embedding that reads pictures normalised by 0.5 as its own reads them normalised by mean and std."""
    if cfg.patch_embed != "conv":
        raise ValueError(
            f'mean and std need patch_embed "conv", got {cfg.patch_embed!r}; leave them out'
        )
    levels = torch.tensor([0, 0.5, 1], dtype=torch.float64).expand(cfg.in_chans, 1, 3)
    black, grey, white = normalize(levels, mean, std).unbind(2)  # three of (C, 1)
    if (black > 0).any() or (white < 0).any():
        raise ValueError(
            f"mean must be of pixels in [0, 1], got {mean}; divide mean and std by 255"
        )
    weight, bias = "patch_embed.proj.weight", "patch_embed.proj.bias"
    W = state[weight].double()  # (D, C, P, P)
    b = state[bias].double() + (W * grey[:, None]).sum((1, 2, 3))
    return {weight: W * (white - grey)[:, None], bias: b}


def fold_scales(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """LayerScale's factors (DINOv2) in the layers before it, which then put out the same numbers."""
    folded = dict(state)
    for key in [key for key in state if re.search(r"\.ls[12]\.gamma$", key)]:
        layer, scale = (
            key.replace("ls1.gamma", "attn.proj").replace("ls2.gamma", "mlp.fc2"),
            state[key].double(),
        )
        names = [f"{layer}.weight", f"{layer}.bias"]
        if all(name in state and len(state[name]) == scale.numel() for name in names):
            del folded[key]
            folded |= {
                name: torch.einsum("o,o...->o...", scale, state[name].double())
                for name in names
            }
    return folded


def sizes_of(state: Mapping[str, Tensor]) -> dict[str, int]:
    """What weights tell of a model's sizes, by the names of `ViTConfig`."""
    depth = len({key.split(".")[1] for key in state if key.startswith("blocks.")})
    known = {
        name: at
        for name, at in SIZES.items()
        if at[0] in state and state[at[0]].ndim > at[1]
    }
    return {"depth": depth} | {
        name: state[key].shape[axis] for name, (key, axis) in known.items()
    }


def _check_fit(
    state: dict[str, Tensor], own: dict[str, Tensor], num_heads: int, found: Weights
) -> None:
    """Refuse weights that are not those of the model, and say which."""
    theirs = sizes_of(state) | {"num_heads": found.num_heads or num_heads}
    ours = sizes_of(own) | {"num_heads": num_heads}
    differ = [name for name, size in ours.items() if theirs.get(name, size) != size]
    problems = [f"{name} {theirs[name]}, the model has {ours[name]}" for name in differ]
    if not problems:
        missing = own.keys() - state.keys()
        shapes = [
            f"{key} {tuple(state[key].shape)}, the model's is {tuple(own[key].shape)}"
            for key in own.keys() & state.keys()
            if state[key].shape != own[key].shape
            and not (
                key == "pos_embed"
                and state[key].ndim == 3
                and state[key].shape[2] == own[key].shape[2]
            )
        ]
        left_over = {*(state.keys() - own.keys()), *(found.beside if missing else ())}
        for what, names in (
            ("missing", missing),
            ("left over", left_over),
            ("of another shape", shapes),
        ):
            problems += [f"{what}: {_some(names)}"] if names else []
    if problems:
        text, fix = "; ".join(problems), "make the model with the sizes of the weights"
        fix += ", rename what only has another name" * ("left over" in text)
        if re.search(r"head\.|num_cl", text):
            fix += ", or pass load_head=False to keep the model's own head"
        raise ValueError(
            f"the weights ({found.library}) do not fit the model: {text}; {fix}"
        )


@checked
def convert_state_dict(state: Mapping) -> tuple[dict[str, Tensor], str]:
    """A foreign state dict under timm's and vitlib's names.

    Args:
        state: Names and tensors or arrays, as a library saves them; also inside a training checkpoint, of which
            the averaged weights are taken where there are some (DINO's teacher).

    Returns:
        The weights, queries, keys and values in one, and the library whose names they had.

    Raises:
        ValueError: If the names are of no library known here, or of several models.

    Source: chapter 08.
    """
    return find_vit(state)[:2]


def find_vit(state: Any) -> Weights:
    """The one ViT in a state dict or a checkpoint, wherever it lies there."""
    if not isinstance(state, Mapping):
        raise ValueError(
            f"expected names and tensors, got a {type(state).__name__}; take its state_dict()"
        )
    arrays, places, library = list(_arrays(state)), set(), ""
    for library, own in LIBRARIES.items():  # noqa: B007
        matches = (
            (where, name, re.search(rf"(?<![^.]){own}", name))
            for where, name, _ in arrays
        )
        if places := {
            (where, name[: match.start()]) for where, name, match in matches if match
        }:
            break
    places = {place for place in places if AVERAGED.search("".join(place))} or places
    if len(places) != 1:
        check_parts(names := [name for _, name, _ in arrays])
        got = (
            _some(map("".join, places) if places else names)
            or f"no tensors ({_some(state)})"
        )
        wanted = f"the weights of one ViT under the names of {', '.join(LIBRARIES)}"
        raise ValueError(
            f"expected {wanted}, got {got}; give one model's state_dict(), renamed if need be"
        )
    ((place, prefix),) = places
    converted, others, num_heads = {}, [], None
    for key, value in ((key, value) for where, key, value in arrays if where == place):
        name = key[commonprefix([key, prefix]).rfind(".") + 1 :]
        for pattern, new in NAMES.items():
            name = re.sub(pattern, new, name)
        if DINO_HEAD.match(name) or not (
            key.startswith(prefix) or OURS.match(name) or HEAD.match(name)
        ):
            others.append(name)
        elif name in converted:
            raise ValueError(
                f"expected one {name}, got two under different names; keep one of them"
            )
        else:
            if (
                library == "Google"
                and name.endswith("attn.q.weight")
                and value.ndim == 3
            ):
                num_heads = value.shape[1]
            converted[name] = _from_flax(name, value) if library == "Google" else value
    return Weights(
        _fuse_qkv(_name_head(converted)), library, place + prefix, others, num_heads
    )


def _arrays(state: Mapping, where: str = "") -> Iterator[tuple[str, str, Tensor]]:
    """Every array but of single numbers: the entries that hold it, its name with dots, its values."""
    for key, value in state.items():
        key = str(key).replace("/", ".")
        if isinstance(value, Mapping) and where.count(".") < 3:
            yield from _arrays(value, f"{where}{key}.")
        is_array = (
            isinstance(value, Tensor)
            or isinstance(value, np.ndarray)
            and value.dtype.kind in "fiu"
        )
        value = torch.as_tensor(value) if is_array else torch.tensor(0)
        if (
            ".encoderblock." in key
        ):  # big_vision can keep all blocks in one array, layers first
            yield from (
                (where, key.replace("block.", f"block_{i}."), layer)
                for i, layer in enumerate(value)
            )
        elif value.ndim:
            yield where, key, value


def _name_head(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """One linear layer, whatever its name, is the head; with a hidden layer before it, an MLP head's last."""
    layers = {key.rpartition(".")[0] for key in state if HEAD.match(key)}
    hidden = any(key.startswith("pre_logits.") for key in state)
    new = (
        dict.fromkeys(layers, "head.2" if hidden else "head")
        if len(layers) == 1
        else {}
    )
    new |= {"pre_logits": "head.0"}
    moved = {key: key.rpartition(".") for key in state}
    return {
        f"{new[at]}.{last}" if at in new else key: state[key]
        for key, (at, _, last) in moved.items()
    }


def check_parts(names: Iterable[str], library: str = "names unknown") -> None:
    """Refuse names of parts that no model here has."""
    found = {
        part: [name for name in names if re.search(pattern, name)]
        for pattern, part in ABSENT.items()
    }
    if absent := ", ".join(
        f"{part}: {_some(keys)}" for part, keys in found.items() if keys
    ):
        raise ValueError(
            f"the weights ({library}) are of a model with {absent}; {NO_SUCH}"
        )


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
            key, value = (
                three[0].replace("attn.q.", "attn.qkv."),
                torch.cat([state[name] for name in three]),
            )
        fused[key] = value
    return fused


def _some(names: Iterable) -> str:
    """The first four of these names, in alphabetical order, and how many more there are."""
    names = sorted(map(str, names))
    return ", ".join(names[:4]) + (
        f" and {len(names) - 4} more" if len(names) > 4 else ""
    )
