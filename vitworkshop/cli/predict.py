"""`python -m vitlib predict`: what a model sees in a picture, and how models are found by name."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from vitlib.data.photos import load_image
from vitlib.device import pick_device
from vitlib.model.resnet import ResNet
from vitlib.model.vit import VisionTransformer
from vitlib.train.evaluate import predict
from vitlib.weights.pretrained import class_names, list_pretrained, load_pretrained
from vitworkshop.cli.options import Formatter, add_device

__all__ = ["MODEL", "configure", "find_model"]

MODEL = "a model of the book (cifar10-laptop, drawn10-small, ...), or the folder of a run (runs/pets-laptop)"
_TOP = 3


def configure(commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "predict",
        help="name what is in pictures",
        formatter_class=Formatter,
        description=f"Name what is in pictures: the {_TOP} likeliest classes, with their probabilities. The middle of\n"
        "each picture is cut out and made the size that the model was trained for.",
        epilog="example: python -m vitlib predict runs/pets-laptop holiday.jpg",
    )
    p.add_argument("model", metavar="NAME", help=MODEL)
    p.add_argument("pictures", nargs="+", metavar="PICTURE", help="a JPEG, PNG, WebP, TIFF or BMP file")
    add_device(p)
    p.set_defaults(run=_predict)


def _predict(args: argparse.Namespace) -> int:
    model, card = find_model(args.model)
    names = class_names(card)
    pictures = torch.stack([load_image(path, model.cfg.image_shape) for path in args.pictures])
    rows = predict(model.to(pick_device(args.device)), pictures)
    for path, row in zip(args.pictures, rows, strict=True):
        best = row.topk(min(_TOP, len(row)))
        likely = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        print(f"{path}: {', '.join(f'{names[i]} {p:.1%}' for p, i in likely)}")
    return 0


def find_model(name: str) -> tuple[VisionTransformer | ResNet, dict]:
    """A model and its card: one of the book's by name, or a run's by its folder, where need be with its name.

    Args:
        name: As in "cifar10-laptop", "runs/pets-laptop" or "runs/pets-laptop/pets-laptop".

    Raises:
        ValueError: If there is no such model, or more than one.
    """
    if name in (known := list_pretrained()):
        return load_pretrained(name)
    path = Path(name.removesuffix(".safetensors")).expanduser()
    if path.name in list_pretrained(path.parent):
        return load_pretrained(path.name, path.parent)
    if not path.is_dir():
        raise ValueError(
            f"no model called {name!r}; there are: {', '.join(known)}, and the folders of your runs"
        )
    if len(found := list_pretrained(path)) != 1:
        fix = f"take one, as in {path / found[0]}" if found else "a run writes it when it has finished"
        raise ValueError(f"expected one model in {path}, got {', '.join(found) or 'none'}; {fix}")
    return load_pretrained(found[0], path)
