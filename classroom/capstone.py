"""The capstone, the best ViT in a fixed budget: checkpoints are evaluated here, whatever their cards say.

Two models are one if they answer alike, whatever was done to their weights. On Drawn-10 such copies are alike by 0.94
or more (1: the same), after 300 steps at a rate of 0.0003 by 0.9, of 0.001 by 0.8; models of one recipe and other seeds
by 0.62 at most, if they are worth a point; on CIFAR-10 different ones by up to 0.78. A copy that was trained on for
long, or a model that was trained to imitate, is not found out.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from classroom.grade import Graded, Result, Row, digest
from classroom.homework import Homework, Task
from classroom.submissions import HIDDEN, Submission, find, read_plain
from vitlib import (
    ViTConfig,
    build_model,
    count_macs,
    count_parameters,
    load_cifar10,
    load_drawn10,
)
from vitlib.data.cifar10 import find_cifar10
from vitlib.train.evaluate import outputs
from vitlib.weights.pretrained import list_pretrained, load_pretrained

PARAMETERS, MACS, BYTES, CARD = 400_000, 40_000_000, 1_000_000, 1_000_000
# pictures on which answers are compared; from where on two models are one
PROBES, SAME = (
    500,
    0.9,
)
# accuracies for no point and for all
POINTS, LEVELS = (
    10,
    {"drawn10": (0.5, 0.95), "cifar10": (0.4, 0.8)},
)
TASK = """# Capstone: the best ViT in a small budget

Train a ViT by `vitlib` on Drawn-10's training pictures (10 classes, 3 × 32 × 32), or on CIFAR-10's if your teacher
says so. It has at most {0:,} parameters and {1:,} multiply-accumulates a picture (`vl.count_macs`). Hand in a
folder with the two files that `vl.save_pretrained` writes, NAME.safetensors (at most {2:,} bytes) and NAME.json.
Your teacher measures its accuracy; on Drawn-10, on pictures that nobody has seen. Of {3} points you get none up to an
accuracy of {4[0]:.0%} (CIFAR-10: {5[0]:.0%}) and all from {4[1]:.0%} ({5[1]:.0%}) on. What the card says of accuracy or
training is not read.

Train from a seed of your own, for by one recipe and one seed two of you have one model. Models are compared by what
they answer, whatever was done to their weights: one that answers as a model of the book, or as another entry, gets no
points, nor does the other, until your teacher has heard you.
""".format(PARAMETERS, MACS, BYTES, POINTS, *LEVELS.values())


MODEL = Task("A model", "", POINTS, 0)
WORK = Homework(
    "capstone",
    "Capstone",
    "the best ViT in a small budget",
    "",
    POINTS,
    {"capstone": MODEL},
)


def grade_capstone(folder: Path, data: str, seed: int) -> Graded:
    """Evaluate the checkpoint in each student's folder on pictures that were held back.

    Those of Drawn-10 are drawn with the seed, which only the teacher knows; of CIFAR-10 they are the public test's.
    """
    if data == "cifar10" and find_cifar10() is None:
        raise ValueError(
            "expected CIFAR-10 on this machine, found none; run  python -m vitlib data cifar10"
        )
    submissions, left_out = find(folder)
    images, labels = (
        load_cifar10("test") if data == "cifar10" else load_drawn10("test", seed=seed)
    )
    return Graded(_graded(submissions, images, labels, *LEVELS[data]), left_out, [])


def _graded(
    submissions: list[Submission],
    images: Tensor,
    labels: Tensor,
    none: float,
    all_: float,
) -> list[Row]:
    rows: list[Row] = []
    known: list[tuple[str, Row | None, list[Tensor]]] = []  # who; their manners
    for each in tqdm(submissions, "capstone"):
        result = Result(0.0, "stopped")
        rows.append(row := Row(each.key, {"capstone": result}, date=each.date))
        try:
            model, raw = _model(each.path)
            logits = outputs(model, images, None, 500)
            if not logits.isfinite().all():
                raise ValueError(
                    "expected finite logits, got others: train with a lower learning rate"
                )
            accuracy = (logits.argmax(1) == labels).double().mean().item()
            result.kind, result.digest = "measured", digest(raw.hex())
            result.says = (
                f"accuracy {accuracy:.2%}, {count_parameters(model):,} parameters"
            )
            result.points = round(
                POINTS * min(max((accuracy - none) / (all_ - none), 0), 1), 1
            )
            if result.points:
                known.append(
                    (f"the entry {each.key}", row, _manners(model, images, labels))
                )
        except Exception as error:  # one bad submission stops no other
            result.says = row.problem = (
                " ".join(str(error).split())[:300] or type(error).__name__
            )
    for name in list_pretrained() if known else ():
        known.insert(
            0,
            (
                f"the book's {name}",
                None,
                _manners(load_pretrained(name)[0], images, labels),
            ),
        )
    for _, row, (own, _) in known:
        others = [(who, both) for who, other, both in known if other is not row]
        like = [
            (who, max((own * x).sum(1).median().item() for x in both))
            for who, both in others
        ]
        if row and (same := [f"{who} ({how:.2f})" for who, how in like if how >= SAME]):
            row.problem = (
                f"it answers as {', '.join(same)} does: is it your own training?"
            )
            result = row.results["capstone"]
            result.points, result.says = 0.0, f"{result.says}; {row.problem}"
    return rows


def _manners(model: torch.nn.Module, images: Tensor, labels: Tensor) -> list[Tensor]:
    """A model's answers to pictures and to their mirror images, without what is common to all pictures of a class.

    Their product is 1 for the same function, up to scale, and about 0 for strangers.
    """
    found, labels = [], labels[:PROBES]
    for x in (images[:PROBES], images[:PROBES].flip(-1)):
        logits = outputs(model, x, None, 500).double()
        logits -= logits.mean(1, keepdim=True)
        for k in (
            labels.unique()
        ):  # medians, and below one of cosines: a few wild answers change nothing
            logits[labels == k] -= logits[labels == k].median(0).values
        found.append(torch.nn.functional.normalize(logits))
    return found


def _model(folder: Path) -> tuple[torch.nn.Module, bytes]:
    """The ViT in a folder, once it is known to be within the budget, and its bytes."""
    if folder.is_symlink() or not folder.is_dir():
        raise ValueError(
            "expected a folder with both files of vl.save_pretrained, got none: unpack it"
        )
    found = [
        p
        for p in folder.rglob("*.safetensors")
        if not HIDDEN.search(str(p.relative_to(folder)))
    ]
    if len(found) != 1:
        fix = "hand in what vl.save_pretrained writes"
        raise ValueError(f"expected one .safetensors file, got {len(found)}: {fix}")
    (path,), card = found, found[0].with_suffix(".json")
    if not card.exists():
        raise ValueError(
            f"expected {card.name} beside the weights, got none: hand in both files"
        )
    raw, text = read_plain(path, BYTES), read_plain(card, CARD)
    config = _config(json.loads(text))
    with torch.device("meta"):  # shapes alone: a card costs no memory
        parameters = count_parameters(build_model(config))
    budget = {"parameters": PARAMETERS, "multiply-accumulates a picture": MACS}
    for (name, most), value in zip(
        budget.items(), (parameters, count_macs(config)), strict=True
    ):
        if value > most:
            raise ValueError(
                f"expected at most {most:,} {name}, got {value:,}: it is out of the budget"
            )
    with tempfile.TemporaryDirectory() as copy:  # what was read is what is loaded
        Path(copy, path.name).write_bytes(raw)
        Path(copy, card.name).write_bytes(text)
        try:
            return load_pretrained(path.stem, copy)[0], raw
        except ValueError as error:
            raise ValueError(str(error).replace(f" in {copy}", "")) from None


def _config(card: Any) -> ViTConfig:
    """The model's shape; numbers that no model here has are refused before anything is made of them."""
    config = card.get("config") if isinstance(card, dict) else None
    if not isinstance(config, dict) or card.get("kind", "vit") != "vit":
        raise ValueError(
            "expected the card of a ViT, got another: train a ViT by vitlib"
        )
    for name, value in config.items():
        if isinstance(value, int) and value > 1024:
            raise ValueError(
                f"expected at most 1024 for {name}, got {value}: it is out of the budget"
            )
    cfg = ViTConfig(**config)
    if (cfg.image_shape, cfg.in_chans, cfg.num_classes) != ((32, 32), 3, 10):
        raise ValueError(
            "expected a ViT for pictures of 3 × 32 × 32 and 10 classes, got another"
        )
    return cfg
