"""The book's own models, on disk as float16 beside their cards."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from vitlib.checks import check_name, check_value, checked
from vitlib.config import CONFIGS, ResNetConfig, ViTConfig, fields_now
from vitlib.data.cifar10 import CIFAR10_CLASSES
from vitlib.data.drawn10 import DRAWN10_CLASSES
from vitlib.evidence import RESULTS
from vitlib.files import as_json, printable, read_json, write_atomic
from vitlib.model.resnet import ResNet
from vitlib.model.vit import MODELS, VisionTransformer, build_model
from vitlib.tensors import check_finite
from vitlib.weights.files import (
    IN_FOLDERS,
    INDEX,
    INDEXES,
    READ,
    find_weights,
    read_weights,
)
from vitlib.weights.foreign import open_vit
from vitlib.weights.names import HEAD, Weights, some

__all__ = ["list_pretrained", "load_pretrained", "save_pretrained"]


@checked
def list_pretrained(folder: str | Path = RESULTS) -> list[str]:
    """Names that `load_pretrained` knows.

    Source: chapter 09.
    """
    return sorted(path.stem for path in Path(folder).glob("*.safetensors"))


@checked
def load_pretrained(
    name: str | Path, folder: str | Path = RESULTS, **assume: Any
) -> tuple[VisionTransformer | ResNet, dict]:
    """A trained model, and its card: one of the book's, of your runs, or the ViT in a file that others published.

    Args:
        name: One of `list_pretrained(folder)`; or, without a folder, the folder of a run, as in "runs/pets-laptop", or
            its checkpoint, wherever it lies;
            or the file, or the folder, of a ViT's weights under the names that `load_weights` knows.
        folder: Where `<name>.safetensors` and `<name>.json` lie; by default inside the package.
        **assume: What no file tells of others' weights: num_heads, act, norm_eps, global_pool, img_size, mean_std
            ("half", "none", "imagenet", "clip"). What is neither said here nor in a config.json beside is taken as is
            usual in its family, and is listed in the card.

    Returns:
        The model in float32 and evaluation mode, and the card: command, data set, hardware, recipe, curves and final
        metrics of the run that made it; of others' weights "library", "family", what JSON beside "called" it, which of
        several was "taken", "mean", "std", "assumed", and whether the head "projects" into what pictures and words
        share (CLIP's), and so names no classes. The model takes `normalize`'s default images: others' mean and
        deviation are in its patch embedding.

    Raises:
        ValueError: If there is no such model, a file is damaged or does not fit its card, or it holds a part that no
            model here has.

    Source: chapter 09; chapter 16 for others' weights.
    """
    path = Path(name).expanduser()
    is_own = Path(folder) != RESULTS or str(name) in list_pretrained()
    if not is_own and is_others(path):
        return _load_others(path, assume)
    if assume:
        names = ", ".join(assume)
        raise ValueError(f"expected no {names} for {name}, whose card tells it")
    is_run = not is_own and is_checkpoint(path)
    name, folder = (
        _find(str(name), Path(folder)) if not is_run else (path.name, path.parent)
    )
    if not is_run and not (folder / f"{name}.json").is_file():
        file = folder / f"{name}.safetensors"
        fix = f"python -m vitlib look {shlex.quote(str(file))} takes it as others' weights"
        raise ValueError(f"{file} has no card {name}.json beside it; {fix}")
    try:
        card, state = _in_run(path) if is_run else _saved(name, folder)
        check_finite(state, torch.float32, "it was damaged")
        kind = CONFIGS[card.get("kind", "vit")]
        card["config"] = fields_now(kind.__name__, card["config"])
        cfg = kind(**card["config"])
        _check_sizes(cfg, state)
        model = build_model(cfg)
        model.load_state_dict({key: value.float() for key, value in state.items()})
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RuntimeError,
        SafetensorError,
    ) as error:
        why, fix = (
            textwrap.shorten(str(error), 200),
            "reinstall vitlib, or train the model again",
        )
        raise ValueError(
            f"{name} in {folder} is damaged or incomplete ({why}); {fix}"
        ) from error
    return model.eval(), card


def _saved(name: str, folder: Path) -> tuple[dict, dict[str, Tensor]]:
    """A card, and the weights that it knows by their sum."""
    card = read_json(folder / f"{name}.json", "train the model again")
    check_name("the card's name", card["name"], "train the model again")
    if card["name"] != name:
        raise ValueError(
            f"its card is that of {card['name']!r}; give both files the card's name"
        )
    raw = (folder / f"{name}.safetensors").read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    if card.get("sha256", digest) != digest:
        raise ValueError(
            "the weights are not those that its card knows by their sha256"
        )
    return card, load(raw)


def _in_run(path: Path) -> tuple[dict, dict[str, Tensor]]:
    """Of a run's checkpoint, its log, which is a card but for the final numbers; its weights, averaged if they are."""
    run = read_weights(path)
    state = {
        key.removeprefix("encoder."): value
        for key, value in (run["ema"] or run)["model"].items()
        if not key.startswith("predict.")  # what masked patches show
    }
    kind = "resnet" if "widths" in run["log"]["config"] else "vit"
    return {**run["log"], "kind": kind}, state


def is_checkpoint(path: Path) -> bool:
    """Whether a run of this book wrote this file, whatever its name: its recipe stands first in it."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        start = file.read(4096)
    return start.startswith(b"PK") and b"identity" in start and b"recipe" in start


def is_others(path: Path) -> bool:
    """Whether weights lie there, as a file or in a folder, that have no card and are no run's."""
    if path.is_dir():
        known = any((path / f"{name}.json").is_file() for name in list_pretrained(path))
        named = any((path / name).is_file() for name in (*IN_FOLDERS, *INDEXES))
        return named or not known and _has_weights(path)
    is_carded = path.with_suffix(".json").is_file() or is_checkpoint(path)
    return path.is_file() and not is_carded


def _has_weights(folder: Path) -> bool:
    files = [file for file in folder.iterdir() if file.suffix in READ]
    return any(not is_checkpoint(file) for file in files)


def _load_others(path: Path, assume: dict[str, Any]) -> tuple[VisionTransformer, dict]:
    """The ViT in a file that others made, and what is known of it in place of a card."""
    model, what, found = open_vit(path, **assume)
    left = list(found.beside.values())
    if not what.config.num_classes:
        own = re.compile(rf"{HEAD.pattern}|pre_logits\.")
        left += filter(own.match, found.state)
    file = find_weights(path)
    is_usual = file.name.removesuffix(INDEX) in IN_FOLDERS
    name = file.name.partition(".")[0]
    if is_usual:  # as its folder, not where links lead; in Hugging Face's cache as the model there
        place = os.path.abspath(file.parent)
        name = re.sub(r".*models--(.*--)?([^/\\]+)[/\\].*|.*[/\\]", r"\2", place)
    card = {
        "name": printable(name),
        "config": asdict(what.config),
        "library": found.library,
        "family": what.family,
        "called": what.called,
        "mean": what.mean,
        "std": what.std,
        "assumed": what.assumed,
        "projects": what.projects,
        "taken": _taken(found),
        "ignored": some(left) if left else "",
    }
    return model, card | ({"classes": what.classes} if what.classes else {})


def _taken(found: Weights) -> str:
    """Which of several models this one is, or ""."""
    others = [place.strip(".") or "the rest" for place in found.over]
    return f"{found.place.strip('.')}, not {some(others)}" if others else ""


def _find(name: str, folder: Path) -> tuple[str, Path]:
    """A model's name and folder: one of the folder's or, of the package's, the folder or file of a run."""
    if name in (known := list_pretrained(folder)):
        return name, folder
    is_book, path = (
        folder == RESULTS,
        Path(name.removesuffix(".safetensors")).expanduser(),
    )
    if is_book and path.name in list_pretrained(path.parent):
        return path.name, path.parent
    if not (is_book and path.is_dir()):
        there = (
            ", ".join(known) or "none yet"
        ) + is_book * ", and the folders of your runs"
        raise ValueError(f"no model called {name!r}; there are: {there}")
    if len(found := list_pretrained(path)) != 1:
        fix = (
            f"take one, as in {path / found[0]}"
            if found
            else "a run writes it when it has finished"
        )
        raise ValueError(
            f"expected one model in {path}, got {', '.join(found) or 'none'}; {fix}"
        )
    return found[0], path


def _check_sizes(cfg: ViTConfig | ResNetConfig, state: dict[str, Tensor]) -> None:
    """Refuse a config that is larger than the weights, before a model is built of it."""
    widest = max((side for value in state.values() for side in value.shape), default=0)
    most = {
        "depth": len(state),
        "embed_dim": widest,
        "hidden_dim": widest,
        "num_classes": widest,
    }
    for name, limit in most.items():
        if (said := getattr(cfg, name, 0)) > limit:
            raise ValueError(
                f"its card says {name} {said}, its weights allow {limit} at most"
            )


def save_pretrained(model: nn.Module, card: dict, folder: str | Path) -> Path:
    """Write a model's weights in float16 and its card, each atomically; a pair that does not match is not loaded.

    Args:
        model: A `VisionTransformer` or `ResNet`, or a `MaskedPatchModel`, whose encoder is written; any device, any
            float dtype.
        card: What is known of the run; `card["name"]` names the files; "config", the weights' "sha256" and, for a
            ResNet, "kind" are filled in. Where its "sha256" is that of other weights, its "final" is left out.
        folder: Made if needed.

    Returns:
        The path of the weights.

    Raises:
        ValueError: If it is another model, the card's name names no file, the card is of another number of classes,
            or a weight does not fit into float16.

    Source: chapter 09.
    """
    vit: Any = getattr(model, "encoder", model)
    if not isinstance(vit, MODELS):
        raise ValueError(
            f"expected a VisionTransformer or ResNet, got {type(vit).__name__}"
        )
    check_value("card", card, dict)
    check_name('the card\'s "name"', card.get("name"), "it names the files")
    card, raw = card_of(vit, card)
    text = as_json(card)  # before there are weights whose card cannot be written
    path = write_atomic(Path(folder) / f"{card['name']}.safetensors", raw)
    write_atomic(path.with_name(f"{card['name']}.json"), text)
    return path


def card_of(model: VisionTransformer | ResNet, card: dict) -> tuple[dict, bytes]:
    """What of a card is true of this model, with its config and sum; and the weights, as they are saved."""
    check_value("the card's config", card.get("config", {}), dict)
    check_value("the card's classes", card.get("classes", ()), list | tuple)
    count, fix = (
        model.cfg.num_classes,
        'write a card for this model: {"name": ..., "classes": [...]}',
    )
    if count and (said := card.get("config", {}).get("num_classes", count)) != count:
        raise ValueError(
            f"expected the card of a model with {count} classes, got {said}; {fix}"
        )
    if count and "classes" in card and len(card["classes"]) != count:
        raise ValueError(
            f"expected {count} names of classes, got {len(card['classes'])}; {fix}"
        )
    state = {key: value.detach().cpu() for key, value in model.state_dict().items()}
    check_finite(
        state,
        torch.float16,
        "the model has diverged, train it again with a lower learning rate",
    )
    raw = save({key: value.half().contiguous() for key, value in state.items()})
    digest = hashlib.sha256(raw).hexdigest()
    if card.get("sha256", digest) != digest:  # its numbers are those of other weights
        card = {key: value for key, value in card.items() if key != "final"}
    # a card without it is a ViT's
    kind = {} if isinstance(model, VisionTransformer) else {"kind": "resnet"}
    return {**card, **kind, "config": asdict(model.cfg), "sha256": digest}, raw


def class_names(card: dict) -> list[str]:
    """The names of a model's classes, from its card; those of the book's own models are older than that entry."""
    known = {"cifar10": CIFAR10_CLASSES, "drawn10": DRAWN10_CLASSES}
    names = card.get("classes") or known.get(card.get("recipe", {}).get("data"), ())
    count = card["config"]["num_classes"]
    return list(names) if len(names) == count else [f"class {i}" for i in range(count)]
