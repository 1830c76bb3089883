"""Models that other libraries trained (the paper's too), loaded into ours; nothing is changed unless all fits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from vitlib.checks import Grid, Positive, Share, checked
from vitlib.config import ViTConfig
from vitlib.data.dataset import normalize
from vitlib.model.posembed import resample_pos_embed
from vitlib.model.vit import VisionTransformer
from vitlib.tensors import check_finite
from vitlib.weights.families import Found, family_of, sizes_of
from vitlib.weights.files import IN_FOLDERS, LISTS, beside, find_weights, read_weights
from vitlib.weights.names import HEAD, Weights, check_parts, find_vit, some

__all__ = ["convert_state_dict", "load_weights"]

# layers whose bias, where the weights have none, is zero
UNBIASED = re.compile(r"(qkv|proj|fc[12]|head(\.2)?)\.bias$")


@checked
def load_weights(
    model: VisionTransformer,
    source: str | Path | Mapping,
    *,
    load_head: bool = True,
    old_grid: Grid | None = None,
    mean: Share | Sequence[float] = 0.5,
    std: Positive | Sequence[float] = 0.5,
) -> str:
    """Load weights that another library made, in place; nothing is changed unless everything fits.

    The names of timm, DINO (1 to 3), DeiT, MAE, torchvision, transformers (4 and 5; CLIP's and SigLIP's towers, too),
    OpenAI's CLIP and Google's .npz files (the paper's and big_vision's) are known, behind any prefix and inside any
    checkpoint. Position embeddings of another grid are resampled; LayerScale (DINOv2) goes into the layers before it
    where the model has none. What no file tells (heads, activation, epsilon, who reads) is the model's; to have it
    found out, take `load_pretrained(FILE)`.

    Args:
        model: Of the weights' sizes; heads are compared if Google's axes or a config.json beside the file tell them.
        source: A state dict, or the path of a safetensors, .npz or PyTorch file or of a folder that holds one, of
            which nothing is run.
        load_head: Whether the head is loaded; False leaves the model's own as it is.
        old_grid: Rows and columns of the patches that the weights were made for, if not a square.
        mean: Of the weights' images, in [0, 1]: 0.5 for Google's and AugReg's; (0.485, 0.456, 0.406) for DeiT, DINO,
            MAE, torchvision. It goes into the patch embedding; the model still takes `normalize`'s default images.
        std: Likewise; (0.229, 0.224, 0.225) for those.

    Returns:
        The library whose names they were: "timm", "torchvision", "transformers", "OpenAI" or "Google".

    Raises:
        ValueError: If the file cannot be read, its names are of no library known here or of a part that no model here
            has (relative positions, say), or a weight is missing, left over, of another shape or no number that the
            model's dtype holds.

    Source: Section 3.2, for other sizes and another number of classes; chapter 08.
    """
    is_file = isinstance(source, str | Path)
    found = find_vit(read_weights(source) if is_file else source)
    if is_file and not found.num_heads:
        config = beside(source, sizes_of(found.state).get("embed_dim"))
        found = found._replace(num_heads=config.get("num_attention_heads"))
    _load(model, found, load_head, old_grid, mean, std)
    return found.library


def open_vit(path: str | Path, **said: Any) -> tuple[VisionTransformer, Found, Weights]:
    """The ViT in a file of others, for pictures of `normalize` with its defaults; what it is; how it lay there."""
    weights = read_weights(path)
    own = _without_card(path, weights)
    try:
        found = find_vit(weights)
        check_parts([*found.state, *found.beside], found.library)
        width = sizes_of(found.state).get("embed_dim")
        what = family_of(found, beside(path, width) or own, **said)
        model = VisionTransformer(what.config).eval()
        head = bool(what.config.num_classes)
        _load(model, found, head, None, what.mean, what.std, made_for_it=True)
    except ValueError as error:
        called = (beside(path) or own).get("called")
        if called and called not in str(error):
            raise ValueError(f"{error}; it is {called}") from error
        raise
    return model, what, found


def _without_card(path: str | Path, weights: Any) -> dict[str, str]:
    """What is said of a file in half precision alone, as runs of this book leave them, with a card beside."""
    file = find_weights(path)
    if file.suffix != ".safetensors" or file.name in IN_FOLDERS:
        return {}
    if any(value.dtype != torch.float16 for value in weights.values()):
        return {}
    card = f"its card {file.stem}.json, which tells more, is missing"
    return {"called": f"made by this book, perhaps ({card})"}


def _load(
    model: VisionTransformer,
    found: Weights,
    load_head: bool,
    old_grid: tuple[int, int] | None,
    mean: Any,
    std: Any,
    made_for_it: bool = False,
) -> None:
    """Put what was found into a model, the reader's or one that was made for it, if all of it fits."""
    own = model.state_dict()
    if any(value.is_meta for value in own.values()):
        raise ValueError(
            "expected a model with numbers, got one on the meta device; make it on the CPU"
        )
    strange = [name for name in (*found.state, *found.beside) if name not in own]
    check_parts(strange, found.library)
    state = {
        key: value
        for key, value in found.state.items()
        if key != "mask_token" or key in own
    }
    if not load_head:
        heads = [key for key in state if HEAD.match(key) or "pre_logits." in key]
        state = {key: value for key, value in state.items() if key not in heads}
        state |= {key: value for key, value in own.items() if key.startswith("head.")}
    for key in own.keys() - state.keys():
        if UNBIASED.search(key) and key.replace("bias", "weight") in state:
            state[key] = torch.zeros(own[key].shape)
    if "blocks.0.ls1.gamma" not in own:
        state = fold_scales(state)
    state = {
        key: value for key, value in own.items() if key == "pos_embed.extent"
    } | state
    _check_fit(state, own, model.cfg.num_heads, found, made_for_it)
    if (mean, std) != (0.5, 0.5):
        state |= _fold(state, model.cfg, mean, std)
    check_finite(
        state, next(model.parameters()).dtype, "fetch the weights again, as floats"
    )
    if "pos_embed" in state and (
        old_grid or state["pos_embed"].shape != own["pos_embed"].shape
    ):
        state["pos_embed"] = _regrid(state["pos_embed"], model.cfg, old_grid)
    model.load_state_dict(state)


def _regrid(table: Tensor, cfg: ViTConfig, old_grid: Any) -> Tensor:
    """Positions for the model's grid; CLS, where the weights give it none, gets zeros."""
    count, cls = table.shape[1], int(cfg.class_token)
    places = old_grid[0] * old_grid[1] if old_grid else round(count**0.5) ** 2
    if cls and count == places:
        table = F.pad(table, (0, 0, 1, 0))
    return resample_pos_embed(table, cfg.grid, old_grid, cls)


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


def _check_fit(
    state: dict[str, Tensor],
    own: dict[str, Tensor],
    num_heads: int,
    found: Weights,
    made_for_it: bool,
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
            problems += [f"{what}: {some(names)}"] if names else []
    if problems and made_for_it:
        raise ValueError(
            f"the weights ({found.library}) are not those of one plain ViT: {'; '.join(problems)}; {LISTS}"
        )
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
