"""`python -m vitlib export-web`: a model as one script for a web page."""

from __future__ import annotations

import argparse
from pathlib import Path

from vitworkshop.cli.options import Formatter
from vitworkshop.cli.predict import MODEL, find_model
from vitworkshop.web.export import export_web

__all__ = ["configure"]


def configure(commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "export-web",
        help="write a model as one script for a web page",
        formatter_class=Formatter,
        description="Write a model's weights (float16), sizes and class names as one script, which a page loads\n"
        "beside vitworkshop/web/vit.js, also from a disk.",
        epilog="example: python -m vitlib export-web cifar10-modern --out cifar10-modern.js",
    )
    p.add_argument("model", metavar="NAME", help=MODEL)
    p.add_argument("--out", type=Path, metavar="FILE", help="where the script goes; by default NAME.js, here")
    p.set_defaults(run=_export)


def _export(args: argparse.Namespace) -> int:
    if args.out is not None and args.out.is_dir():
        raise ValueError(f"--out must be a file, got the folder {args.out}; try {args.out / 'model.js'}")
    model, card = find_model(args.model)
    path = export_web(model, card, args.out or Path(f"{card['name']}.js"))
    print(f"wrote {path}, {path.stat().st_size / 1e6:.2f} MB")
    return 0
