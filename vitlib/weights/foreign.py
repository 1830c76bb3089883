"""Models that other libraries trained (the paper's too): files read without pickle, weights fitted to a model."""

from __future__ import annotations

import argparse
import pickle
import struct
import textwrap
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from vitlib.checks import Grid, Rate, Usual, check_finite, checked
from vitlib.config import ViTConfig
from vitlib.model.posembed import resample_pos_embed
from vitlib.model.vit import VisionTransformer
from vitlib.weights.names import convert_state_dict, shorten

__all__ = ["load_weights", "read_weights"]

# what the readers raise for files of which some bytes are changed or missing
DAMAGE = (
    *(OSError, EOFError, ValueError, TypeError, LookupError, AttributeError, AssertionError, RuntimeError),
    *(SafetensorError, pickle.UnpicklingError, struct.error, zipfile.BadZipFile, zlib.error),
)


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
        ValueError: If the file cannot be read, its names are of no library known here, or a weight is missing,
            left over, of another shape, no number or none that the model's dtype holds.

    Source: Section 3.2, for other sizes and another number of classes; chapter 08.
    """
    state, library = convert_state_dict(read_weights(source) if isinstance(source, str | Path) else source)
    own = model.state_dict()
    if any(value.is_meta for value in own.values()):
        raise ValueError("expected a model with numbers, got one on the meta device; make it on the CPU")
    if not load_head:
        head = {key: value for key, value in own.items() if key.startswith("head.")}
        state = {key: value for key, value in state.items() if not key.startswith("head.")} | head
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
    """What is in the file at `path`, under the names of the library that wrote it; nothing that it holds is run.

    Raises:
        ValueError: If the file is not there, has another ending or is damaged.
    """
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
    except DAMAGE as error:
        raise ValueError(
            f"{path} cannot be read without running code that it holds, or is damaged "
            f"({textwrap.shorten(str(error), 200)}); fetch it again, or as .safetensors"
        ) from error


def _load_torch(path: Path) -> Mapping:
    with torch.serialization.safe_globals([argparse.Namespace]):  # which full DINO checkpoints carry
        return torch.load(path, map_location="cpu", weights_only=True)


def _fit_pos_embed(pos_embed: Tensor, grid: tuple[int, int], old_grid: tuple[int, int] | None) -> Tensor:
    count = pos_embed.shape[1]
    if count == (old_grid[0] * old_grid[1] if old_grid else round(count**0.5) ** 2):
        pos_embed = F.pad(pos_embed, (0, 0, 1, 0))  # positions of patches only: CLS gets zeros
    return resample_pos_embed(pos_embed, grid, old_grid)


def _check_fit(state: dict[str, Tensor], own: dict[str, Tensor], cfg: ViTConfig, library: str) -> None:
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
            problems += [f"{what}: {shorten(found)}"] if found else []
    if problems:
        fix = "make the model with the sizes of the weights"
        if any(p.startswith("left over") for p in problems):
            fix += ", rename what only has another name"
        if any("head" in p or "num_classes" in p for p in problems):
            fix += ", or pass load_head=False to keep the model's own head"
        raise ValueError(f"the weights ({library}) do not fit the model: {'; '.join(problems)}; {fix}")
