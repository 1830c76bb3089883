"""`python -m vitlib check-pretrained`: what a ViT that others trained names in a photograph, and where it looks."""

from __future__ import annotations

import argparse
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from vitlib.data.dataset import normalize
from vitlib.data.photos import load_image, sample_image
from vitlib.evidence import provenance
from vitlib.explain.scores import read_by_head
from vitlib.files import printable, write_atomic, write_json
from vitlib.weights.pretrained import load_pretrained
from vitworkshop.cli.options import check_out
from vitworkshop.cli.weights import READS, add_assume, assumed, described

_TOP = 5


def configure(commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "check-pretrained",
        help="run a ViT from timm, Hugging Face or Google on a photograph",
        description=f"Load a ViT that others trained, name the {_TOP} likeliest classes of a photograph, and draw,\n"
        "dated, what the CLS token attends to in the last block (mean over heads). Nothing is downloaded. The\n"
        "middle of the photograph, nine tenths of its shorter side, is taken in the size that the model wants.",
        epilog="example: python -m vitlib check-pretrained model.safetensors --image cat.jpg",
    )
    text = "the weights of a ViT, or a folder of Hugging Face's (python -m vitlib look lists which are read)"
    p.add_argument("file", type=Path, metavar="FILE", help=text)
    p.add_argument(
        "--image",
        type=Path,
        metavar="PHOTO",
        help="a photograph (default: the bundled cat)",
    )
    add_assume(p)
    text = "a file of class names, one a line (default: ImageNet's for 1,000 classes, if timm is installed)"
    p.add_argument("--classes", type=Path, metavar="NAMES", help=text)
    text = "the folder for attention.png and answers.json (default: runs/check-<name>)"
    p.add_argument("--out", type=Path, metavar="FOLDER", help=text)
    p.set_defaults(run=_check)


def _check(args: argparse.Namespace) -> None:
    check_out(args.out)
    opened: tuple[Any, dict] = load_pretrained(args.file, **assumed(args))
    model, card = opened
    if "library" not in card:
        raise ValueError(
            f"{args.file} is a model of this book; python -m vitlib predict takes it"
        )
    cfg, name = model.cfg, card["name"]
    count = 0 if card["projects"] or cfg.num_classes == 1 else cfg.num_classes
    names = _class_names(args.classes, card.get("classes"), count)
    height, width = cfg.image_shape
    # a picture whose rim is cut off, as is usual on ImageNet
    whole = int(height / 0.9), int(width / 0.9)
    top, left = (whole[0] - height) // 2, (whole[1] - width) // 2
    image = (
        sample_image("cat", whole)
        if args.image is None
        else load_image(args.image, whole)
    )
    image = image[:, top : top + height, left : left + width]
    x = normalize(image[None])
    with torch.inference_mode():
        logits = model(x)[0]
        best = logits.softmax(0).topk(min(_TOP, count))
        maps = model.attention_maps(x, [-1])[0].mean(dim=1)  # (1, T, T)
        weights = read_by_head(model, x, maps)[0]  # (N,)

    likely = zip(best.values.tolist(), best.indices.tolist(), strict=True)
    answers = [{"class": i, "name": names[i], "probability": p} for p, i in likely]
    print("\n".join(described(card)))
    photo = "the sample image cat" if args.image is None else args.image.name
    without = "no answers, the file has no head that names classes"
    if cfg.num_classes == 1:
        without = f"one number, {logits.item():.4g}, a measure or a logit, no class"
    print(f"{photo}:" if answers else f"{photo}: {without}")
    for answer in answers:
        print(
            f"{answer['probability']:8.2%}  class {answer['class']}  {printable(answer['name'])}".rstrip()
        )
    out = args.out or Path("runs", f"check-{name.replace('/', '-')}")
    from vitlib.viz import (
        attention_overlay,
    )  # brings matplotlib, for which no other command waits

    day = date.today().isoformat()
    title = f"{READS[cfg.global_pool]} in the last block, {day}"
    for answer in answers[:1]:
        called = answer["name"] or f"class {answer['class']}"
        title += f"\n{printable(called)[:40]}, {answer['probability']:.0%}"
    figure = attention_overlay(image, weights, cfg.grid, titles=[title])
    picture = write_atomic(
        out / "attention.png", lambda path: figure.savefig(path, format="png")
    )
    record = (
        provenance(photo, torch.device("cpu"), "fp32")
        | {key: card[key] for key in ("library", "family", "mean", "std", "assumed")}
        | {"date": day, "model": name}
    )
    record |= {"file": args.file.name, "config": card["config"]}
    print(
        f"wrote {picture} and {write_json(out / 'answers.json', record | {'answers': answers})}"
    )


def _class_names(path: Path | None, told: list[str] | None, count: int) -> list[str]:
    """What the classes are called, by the reader's file, JSON beside the weights or timm; "" where none says it."""
    if path is not None:
        names = path.expanduser().read_text(encoding="utf-8").splitlines()
        if len(names) != count:
            raise ValueError(
                f"expected {count:,} names in {path}, got {len(names):,}; write one a line"
            )
        return names
    if told:
        return told
    # finds its folder without the seconds that an import takes
    timm = find_spec("timm")
    folder = (
        Path(timm.origin).parent / "data" / "_info" if timm and timm.origin else Path()
    )
    if count != 1000 or not (folder / "imagenet_synsets.txt").is_file():
        return [""] * count
    lines = (
        (folder / "imagenet_synset_to_lemma.txt")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    lemmas = dict(line.split("\t", 1) for line in lines)
    return [
        lemmas[synset]
        for synset in (folder / "imagenet_synsets.txt").read_text().split()
    ]
