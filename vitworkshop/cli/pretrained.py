"""`python -m vitlib check-pretrained`: what a ViT that others trained names in a photograph, and where it looks."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor

from vitlib.config import PRESETS, ViTConfig
from vitlib.data.dataset import normalize
from vitlib.data.photos import load_image, sample_image
from vitlib.evidence import provenance
from vitlib.files import printable, write_atomic, write_json
from vitlib.model.vit import VisionTransformer
from vitlib.weights.foreign import convert_state_dict, load_weights, read_weights
from vitworkshop.cli.options import check_out

_TOP = 5
_MEAN_STD = {"half": (0.5, 0.5), "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))}
_TIMM = re.compile(r"(?:vit|deit)[-_](ti|s|b|l|h)(?:ny|mall|ase|arge|uge)[-_]patch(\d+)")
# parts of models that the paper's is not: registers, DeiT's distillation, a mean over patches, attention as pooling
_OTHERS = re.compile(r"reg\w*_tokens?|dist\w*_token|fc_norm|attn_pool")


def configure(commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "check-pretrained",
        help="run a ViT from timm, Hugging Face or Google on a photograph",
        description=f"Load a ViT that others trained, name the {_TOP} likeliest classes of a photograph, and draw\n"
        "what the CLS token attends to in the last block (mean over heads). Nothing is downloaded. The\n"
        "middle of the photograph, nine tenths of its shorter side, is taken in the size that the model wants.",
        epilog="example: python -m vitlib check-pretrained vit-b/16 model.safetensors --image cat.jpg",
    )
    p.add_argument("name", metavar="NAME", help=f"{', '.join(PRESETS)}; or as in vit_base_patch16_224")
    text = "weights of timm, transformers, torchvision, DINO, DeiT or Google: .safetensors, .npz, .bin, .pt or .pth"
    p.add_argument("file", type=Path, metavar="FILE", help=text)
    p.add_argument("--image", type=Path, metavar="PHOTO", help="a photograph (default: the bundled cat)")
    text = "half, 0.5: Google's weights, also in timm (augreg) and transformers; imagenet: DeiT, DINO, MAE, torchvision"
    p.add_argument("--mean-std", default="half", choices=tuple(_MEAN_STD), help=text)
    text = "a file of class names, one a line (default: ImageNet's for 1,000 classes, if timm is installed)"
    p.add_argument("--classes", type=Path, metavar="NAMES", help=text)
    text = "the folder for attention.png and answers.json (default: runs/check-<name>)"
    p.add_argument("--out", type=Path, metavar="FOLDER", help=text)
    p.set_defaults(run=_check)


def _check(args: argparse.Namespace) -> None:
    check_out(args.out)
    name = "vit-{}/{}".format(*found.groups()) if (found := _TIMM.search(args.name)) else args.name
    cfg = ViTConfig.preset(name)
    raw = read_weights(args.file)
    state, library = convert_state_dict(raw)
    cfg = replace(_shaped_by(cfg, state), act="gelu_tanh" if library == "Google" else "gelu")
    names, (side, _) = _class_names(args.classes, cfg.num_classes), cfg.image_shape
    whole = int(side / 0.9)  # a square whose rim is cut off, as is usual on ImageNet
    rim = (whole - side) // 2
    image = sample_image("cat", whole) if args.image is None else load_image(args.image, whole)
    image = image[:, rim : rim + side, rim : rim + side]
    model, eps = VisionTransformer(cfg).eval(), 1e-12 if library == "transformers" else 1e-6
    load_weights(model, raw, load_head=cfg.num_classes > 0, norm_eps=eps)
    x = normalize(image[None], *_MEAN_STD[args.mean_std])
    with torch.inference_mode():
        best = model(x).softmax(1)[0].topk(min(_TOP, cfg.num_classes))
        weights = model.attention_maps(x, [-1])[0, 0, :, 0, 1:].mean(0)  # (h, N) -> (N,)

    likely = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    answers = [{"class": i, "name": names[i], "probability": p} for i, p in likely]
    size = f"{side} x {side} pixels, {cfg.num_classes:,} classes"
    print(f"{args.file.name}: a {name} by the names of {library}, {size}")
    print(
        f"run with {cfg.act}, LayerNorm's epsilon {eps:g}, mean and deviation by --mean-std {args.mean_std}"
    )
    photo = "the sample image cat" if args.image is None else args.image.name
    print(f"{photo}:" if answers else f"{photo}: no answers, the file has no head")
    for answer in answers:
        print(f"{answer['probability']:8.2%}  class {answer['class']}  {printable(answer['name'])}".rstrip())
    out = args.out or Path("runs", f"check-{name.replace('/', '-')}")
    from vitlib.viz import attention_overlay  # brings matplotlib, for which no other command waits

    figure = attention_overlay(image, weights, cfg.grid, titles=["CLS in the last block"])
    picture = write_atomic(out / "attention.png", lambda path: figure.savefig(path, format="png"))
    record = provenance(photo, torch.device("cpu"), "fp32")
    record |= {"model": name, "file": args.file.name, "library": library, "img_size": side, "act": cfg.act}
    record |= {"num_classes": cfg.num_classes, "norm_eps": eps, "mean_std": args.mean_std, "answers": answers}
    print(f"wrote {picture} and {write_json(out / 'answers.json', record)}")


def _shaped_by(cfg: ViTConfig, state: Mapping[str, Tensor]) -> ViTConfig:
    """What weights say of the image size, head and LayerScale; refuses a model that CLS does not speak for."""
    positions = state.get("pos_embed")
    other = next(filter(_OTHERS.search, state), None if "cls_token" in state else "none")
    if other or positions is None or positions.ndim != 3:
        raise ValueError(
            f"expected learned positions and a CLS token that the head reads, got {other or 'no positions'}; take "
            "weights of a model without registers, distillation or a mean over patches (GAP)"
        )
    head = state.get("head.2.weight", state.get("head.weight"))
    return replace(
        cfg,
        # n + 1 positions, or n: in DeiT III CLS has none
        img_size=cfg.patch_size * math.isqrt(positions.shape[1]),
        num_classes=0 if head is None else len(head),
        head="mlp" if "head.2.weight" in state else "linear",
        layer_scale=1.0 if "blocks.0.ls1.gamma" in state else None,
    )


def _class_names(path: Path | None, count: int) -> list[str]:
    """What the classes are called, by the reader's file or by timm's; "" where neither says it."""
    if path is not None:
        names = path.expanduser().read_text(encoding="utf-8").splitlines()
        if len(names) != count:
            raise ValueError(f"expected {count:,} names in {path}, got {len(names):,}; write one a line")
        return names
    timm = find_spec("timm")  # finds its folder without the seconds that an import takes
    folder = Path(timm.origin).parent / "data" / "_info" if timm and timm.origin else Path()
    if count != 1000 or not (folder / "imagenet_synsets.txt").is_file():
        return [""] * count
    lines = (folder / "imagenet_synset_to_lemma.txt").read_text(encoding="utf-8").splitlines()
    lemmas = dict(line.split("\t", 1) for line in lines)
    return [lemmas[synset] for synset in (folder / "imagenet_synsets.txt").read_text().split()]
