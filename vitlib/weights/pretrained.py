"""The book's own models, on disk as float16 beside their cards."""

from __future__ import annotations

import hashlib
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn

from vitlib.checks import check_finite, check_name, checked
from vitlib.config import CONFIGS
from vitlib.data.cifar10 import CIFAR10_CLASSES
from vitlib.data.drawn10 import DRAWN10_CLASSES
from vitlib.evidence import RESULTS, read_json, write_atomic, write_json
from vitlib.model.resnet import ResNet
from vitlib.model.vit import MODELS, VisionTransformer, build_model

__all__ = ["list_pretrained", "load_pretrained", "save_pretrained"]


@checked
def list_pretrained(folder: str | Path = RESULTS) -> list[str]:
    """Names that `load_pretrained` knows.

    Source: chapter 09.
    """
    return sorted(path.stem for path in Path(folder).glob("*.safetensors"))


@checked
def load_pretrained(name: str, folder: str | Path = RESULTS) -> tuple[VisionTransformer | ResNet, dict]:
    """A model the book trained, and its card.

    Args:
        name: One of `list_pretrained()`.
        folder: Where `<name>.safetensors` and `<name>.json` lie; by default inside the package.

    Returns:
        The model in float32 and evaluation mode, and the card: command, data set, hardware, recipe,
        curves and final metrics of the run that made it.

    Raises:
        ValueError: If there is no such model, or a file is damaged or does not fit its card.

    Source: chapter 09.
    """
    folder = Path(folder)
    if name not in (known := list_pretrained(folder)):
        raise ValueError(f"no model called {name!r}; there are: {', '.join(known) or 'none yet'}")
    try:
        card = read_json(folder / f"{name}.json", "train the model again")
        check_name("the card's name", card["name"], "train the model again")
        model = build_model(CONFIGS[card.get("kind", "vit")](**card["config"]))
        raw = (folder / f"{name}.safetensors").read_bytes()
        digest = hashlib.sha256(raw).hexdigest()
        if card.get("sha256", digest) != digest:
            raise ValueError("the weights are not those that its card knows by their sha256")
        state = load(raw)
        check_finite(state, torch.float32, "it was damaged")
        model.load_state_dict({key: value.float() for key, value in state.items()})
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError, SafetensorError) as error:
        raise ValueError(
            f"{name} in {folder} is damaged or incomplete ({textwrap.shorten(str(error), 200)}); "
            "reinstall vitlib, or train the model again"
        ) from error
    return model.eval(), card


def save_pretrained(model: nn.Module, card: dict, folder: str | Path) -> Path:
    """Write a model's weights in float16 and its card, each atomically; a pair that does not match is not loaded.

    Args:
        model: A `VisionTransformer` or `ResNet`, or a `MaskedPatchModel`, whose encoder is written; any device, any
            float dtype.
        card: What is known of the run; `card["name"]` names the files; "config", the weights' "sha256" and, for a
            ResNet, "kind" are filled in.
        folder: Made if needed.

    Returns:
        The path of the weights.

    Raises:
        ValueError: If it is another model, the card's name names no file, or a weight does not fit into float16.

    Source: chapter 09.
    """
    check_name('the card\'s "name"', card.get("name"), "it names the files")
    vit: Any = getattr(model, "encoder", model)
    if not isinstance(vit, MODELS):
        raise ValueError(f"expected a VisionTransformer or ResNet, got {type(vit).__name__}")
    folder, state = Path(folder), {key: value.detach().cpu() for key, value in vit.state_dict().items()}
    check_finite(state, torch.float16, "the model has diverged, train it again with a lower learning rate")
    state = {key: value.half().contiguous() for key, value in state.items()}
    kind = {} if isinstance(vit, VisionTransformer) else {"kind": "resnet"}  # a card without it is a ViT's
    raw = save(state)
    about = {"config": asdict(vit.cfg), "sha256": hashlib.sha256(raw).hexdigest()}
    path = write_atomic(folder / f"{card['name']}.safetensors", raw)
    write_json(folder / f"{card['name']}.json", {**card, **kind, **about})
    return path


def class_names(card: dict) -> list[str]:
    """The names of a model's classes, from its card; those of the book's own models are older than that entry."""
    known = {"cifar10": CIFAR10_CLASSES, "drawn10": DRAWN10_CLASSES}
    names = card.get("classes") or known.get(card.get("recipe", {}).get("data"), ())
    count = card["config"]["num_classes"]
    return list(names) if len(names) == count else [f"class {i}" for i in range(count)]
