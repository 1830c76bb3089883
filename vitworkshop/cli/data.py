"""`python -m vitlib data`: fetch and verify data sets."""

from __future__ import annotations

import argparse
from pathlib import Path

from vitlib.data import cifar10
from vitlib.data.drawn10 import DRAWN10_SIZES


def configure(commands) -> None:
    """Add the command to the parser."""
    text = "Fetch and verify data sets."
    p = commands.add_parser("data", help=text, description=text)
    text = "verify: say which data are here and whole; cifar10: download CIFAR-10"
    p.add_argument(
        "action", nargs="?", default="verify", choices=("verify", "cifar10"), help=text
    )
    p.add_argument(
        "--root",
        help="the folder for data, instead of $VITLIB_DATA or the cache folder",
    )
    text = "an address of cifar-10-binary.tar.gz to try first; may be given again"
    p.add_argument("--mirror", action="append", default=[], metavar="URL", help=text)
    p.set_defaults(run=_data)


def _data(args: argparse.Namespace) -> None:
    if args.root is not None and Path(args.root).is_file():
        raise ValueError(f"--root must be a folder, got the file {args.root}")
    if args.action == "cifar10":
        try:
            cifar10.fetch_cifar10(args.root, [*args.mirror, *cifar10.mirrors()])
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                "stopped; what came is kept, the same command goes on there"
            ) from None
    print(
        "Drawn-10: {train:,} training and {test:,} test images, drawn by code".format(
            **DRAWN10_SIZES
        )
    )
    if folder := cifar10.find_cifar10(args.root):
        cifar10.check_cifar10(folder)
        label = cifar10.cifar10_label(folder)
        print(
            f"{label}: 50,000 training and 10,000 test images, all files whole, in {folder}"
        )
    else:
        folders = " or ".join(map(str, cifar10.data_folders(args.root)))
        print(f"CIFAR-10: not in {folders}; download it with {cifar10.FETCH}")
