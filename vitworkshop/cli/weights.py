"""What the commands that take others' weights share: what is assumed of them, and what is said of them."""

from __future__ import annotations

import argparse
from typing import Any

from vitlib.config import ViTConfig
from vitlib.files import printable
from vitlib.weights.families import ASSUMABLE, MEAN_STD
from vitworkshop.cli.options import value_of


def add_assume(p: argparse.ArgumentParser) -> None:
    """The option for what a file of weights does not tell."""
    p.add_argument(
        "--assume",
        nargs="*",
        action="extend",
        default=[],
        metavar="FIELD=VALUE",
        help=f"of others' weights, what no file tells: {', '.join(ASSUMABLE)} ({', '.join(MEAN_STD)})",
    )


def assumed(args: argparse.Namespace) -> dict[str, Any]:
    """The FIELD=VALUE words of --assume."""
    told: dict[str, Any] = {}
    for word in args.assume:
        field, equals, text = word.partition("=")
        if not equals or field not in ASSUMABLE:
            wanted = " or ".join(f"{name}=VALUE" for name in ASSUMABLE)
            raise ValueError(f"--assume takes {wanted}, got {word!r}")
        told[field] = value_of(text)
    return told


def assuming(told: dict[str, Any]) -> str:
    """The FIELD=VALUE words that `assumed` reads, of several numbers with commas."""
    return " ".join(
        f"{key}={','.join(map(str, value)) if isinstance(value, tuple | list) else value}"
        for key, value in told.items()
    )


def described(card: dict) -> list[str]:
    """What was made of others' weights, in a few lines, by the card that `load_pretrained` gives of them."""
    cfg = ViTConfig(**card["config"])
    shape = [f"{cfg.embed_dim} wide", f"{cfg.depth} deep", f"{cfg.num_heads} heads"]
    shape.append(f"patches of {cfg.patch_size}")
    shape += [f"{cfg.in_chans} channels"] if cfg.in_chans != 3 else []
    shape.append(f"{cfg.image_shape[0]} x {cfg.image_shape[1]} pixels")
    is_distilled = card["family"].startswith("distilled")
    more = "a distillation token" if is_distilled else f"registers: {cfg.reg_tokens}"
    shape += [more] if cfg.reg_tokens else []
    shape += [] if cfg.class_token else ["no CLS"]
    words = "numbers shared with words" if card["projects"] else "classes"
    some = "one number" if cfg.num_classes == 1 else f"{cfg.num_classes:,} {words}"
    shape.append(some if cfg.num_classes else "no head")
    name = f"{printable(card['name'])}: {card['family']}, by the names of {card['library']}"
    name += f", {card['called']}" if card.get("called") else ""
    run = f"read at {READS[cfg.global_pool]}; run with {cfg.act}, epsilon {cfg.norm_eps:g}"
    way = f"mean {_numbers(card['mean'])}, deviation {_numbers(card['std'])}"
    lines = [f"{name}: {', '.join(shape)}", f"{run}, {way}", assumptions(card)]
    return lines + ([f"taken: {printable(card['taken'])}"] if card.get("taken") else [])


def assumptions(card: dict) -> str:
    """What neither the file nor JSON beside it tells, and how to say it."""
    if not card["assumed"]:
        return "assumed: nothing, the JSON beside it tells all"
    return f"assumed, as nothing tells it: {assuming(card['assumed'])} (--assume FIELD=VALUE says other)"


def _numbers(value: Any) -> str:
    numbers = value if isinstance(value, list | tuple) else [value]
    return ", ".join(f"{number:.3g}" for number in numbers)


READS = {
    "token": "CLS",
    "avg": "the mean of the patches",
    "map": "a question's answer (attention pooling)",
    "token_avg": "CLS and the mean of the patches",
    "token_reg": "CLS and the distillation token",
}
