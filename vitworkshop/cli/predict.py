"""`python -m vitlib predict` and `export-web`: what one does with a trained model, and how it is found by name."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from vitlib.device import pick_device
from vitlib.files import printable
from vitlib.train.evaluate import predict
from vitlib.weights.pretrained import class_names, load_pretrained
from vitworkshop.cli.options import add_device
from vitworkshop.cli.pictures import named_pictures
from vitworkshop.web.export import export_web

MODEL = "a model of the book (cifar10-photo, drawn10-small, ...), or the folder of a run (runs/pets-laptop)"
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
    p.add_argument(
        "pictures",
        nargs="+",
        metavar="PICTURE",
        help="a JPEG, PNG, WebP, TIFF or BMP file, or a folder",
    )
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
    p.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where the script goes; by default NAME.js, here",
    )
    p.set_defaults(run=_export)


def _predict(args: argparse.Namespace) -> None:
    model, card = load_pretrained(args.model)
    if model.cfg.num_classes < 2 or card.get("projects"):
        fix = f"python -m vitlib look {args.model} says what takes it"
        raise ValueError(f"{args.model} has no head that names classes; {fix}")
    names = list(map(printable, class_names(card)))
    pictures, errors = named_pictures(args.pictures, model.cfg.image_shape)
    images = [image for _, image in pictures]
    rows = (
        predict(model.to(pick_device(args.device)), torch.stack(images))
        if images
        else ()
    )
    for (path, _), row in zip(pictures, rows, strict=True):
        best = row.topk(min(_TOP, len(row)))
        likely = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        print(
            f"{printable(path)}: {', '.join(f'{names[i]} {p:.1%}' for p, i in likely)}"
        )
    if errors:
        n = len(pictures) + len(errors)
        several = f"{len(errors)} of {n} pictures have no answer: " if n > 1 else ""
        raise ValueError(several + "; ".join(errors))


def _export(args: argparse.Namespace) -> None:
    if args.out is not None and args.out.is_dir():
        raise ValueError(
            f"--out must be a file, got the folder {args.out}; try {args.out / 'model.js'}"
        )
    model, card = load_pretrained(args.model)
    path = export_web(model, card, args.out or Path(f"{card['name']}.js"))
    print(f"wrote {printable(str(path))}, {path.stat().st_size / 1e6:.2f} MB")
