"""`python -m vitlib predict` and `export-web`: what one does with a trained model, and how it is found by name."""

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
from vitworkshop.cli.options import add_device, printable
from vitworkshop.web.export import export_web

MODEL = "a model of the book (cifar10-laptop, drawn10-small, ...), or the folder of a run (runs/pets-laptop)"
_TOP = 3


def configure(commands) -> None:
    """Add the commands to the parser."""
    p = commands.add_parser(
        "predict",
        help="name what is in pictures",
        description=f"Name what is in pictures: the {_TOP} likeliest classes, with their probabilities. The middle of\n"
        "each picture is cut out and made the size that the model was trained for.",
        epilog="example: python -m vitlib predict runs/pets-laptop holiday.jpg",
    )
    p.add_argument("model", metavar="NAME", help=MODEL)
    p.add_argument("pictures", nargs="+", metavar="PICTURE", help="a JPEG, PNG, WebP, TIFF or BMP file")
    add_device(p)
    p.set_defaults(run=_predict)
    p = commands.add_parser(
        "export-web",
        help="write a model as one script for a web page",
        description="Write a model's weights (float16), sizes and class names as one script, which a page loads\n"
        "beside vitworkshop/web/vit.js, also from a disk.",
        epilog="example: python -m vitlib export-web cifar10-modern --out cifar10-modern.js",
    )
    p.add_argument("model", metavar="NAME", help=MODEL)
    p.add_argument("--out", type=Path, metavar="FILE", help="where the script goes; by default NAME.js, here")
    p.set_defaults(run=_export)


def _predict(args: argparse.Namespace) -> None:
    model, card = find_model(args.model)
    names = list(map(printable, class_names(card)))
    pictures = torch.stack([load_image(path, model.cfg.image_shape) for path in args.pictures])
    rows = predict(model.to(pick_device(args.device)), pictures)
    for path, row in zip(args.pictures, rows, strict=True):
        best = row.topk(min(_TOP, len(row)))
        likely = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        print(f"{printable(path)}: {', '.join(f'{names[i]} {p:.1%}' for p, i in likely)}")


def _export(args: argparse.Namespace) -> None:
    if args.out is not None and args.out.is_dir():
        raise ValueError(f"--out must be a file, got the folder {args.out}; try {args.out / 'model.js'}")
    model, card = find_model(args.model)
    path = export_web(model, card, args.out or Path(f"{card['name']}.js"))
    print(f"wrote {printable(str(path))}, {path.stat().st_size / 1e6:.2f} MB")


def find_model(name: str) -> tuple[VisionTransformer | ResNet, dict]:
    """A model and its card: "cifar10-laptop", "runs/pets-laptop" or "runs/pets-laptop/pets-laptop"."""
    if name in (known := list_pretrained()):
        return load_pretrained(name)
    path = Path(name.removesuffix(".safetensors")).expanduser()
    if path.name in list_pretrained(path.parent):
        return load_pretrained(path.name, path.parent)
    if not path.is_dir():
        there = ", ".join(known)
        raise ValueError(f"no model called {name!r}; there are: {there}, and the folders of your runs")
    if len(found := list_pretrained(path)) != 1:
        fix = f"take one, as in {path / found[0]}" if found else "a run writes it when it has finished"
        raise ValueError(f"expected one model in {path}, got {', '.join(found) or 'none'}; {fix}")
    return load_pretrained(found[0], path)
