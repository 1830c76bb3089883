"""The capstone, the best ViT in a fixed budget: checkpoints are evaluated here, whatever their cards say.

Whose training a model is, is asked of what its head reads: how much of it a linear map gives of another model's, on
pictures that the map was not fitted to, without what is common to all pictures of a class. Six honest trainings that
were worth a point, of ten, and the book's four on Drawn-10 are alike by 0.53 at most; 22 copies (a new head, noise, two
to three fifths of the weights away, mirrored, other numbers added) by 0.65 or more, the worst of them barely worth a
point. A model that was trained to imitate another is not found out.
"""

import itertools
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from classroom.answers import digest
from classroom.grade import Graded, Result, Row
from classroom.homework import Homework, Task
from classroom.submissions import Submission, find, pieces
from vitlib import (
    ViTConfig,
    build_model,
    count_macs,
    count_parameters,
    features,
    load_drawn10,
)
from vitlib.train.evaluate import outputs
from vitlib.weights.pretrained import list_pretrained, load_pretrained

PARAMETERS, MACS, BYTES = 400_000, 40_000_000, 1_000_000
FILES = re.compile(r"\.(safetensors|json)$", re.I)
# pictures on which models are compared; from where on a person is asked
PROBES, SAME = 1000, 0.6
# accuracies for no point and for all
POINTS, NONE, ALL = 10, 0.5, 0.95
TASK = f"""# Capstone: the best ViT in a small budget

Train a ViT by `vitlib` on Drawn-10's training pictures (10 classes, 3 × 32 × 32). It has at most {PARAMETERS:,}
parameters and {MACS:,} multiply-accumulates a picture (`vl.count_macs`). Hand in a folder, or a zip of it, with the two
files that `vl.save_pretrained` writes, NAME.safetensors (at most {BYTES:,} bytes) and NAME.json. Your teacher measures
its accuracy on pictures that nobody has seen. Of {POINTS} points you get none up to an accuracy of {NONE:.0%} and all
from {ALL:.0%} on. What the card says of accuracy or training is not read.

Train from a seed of your own, for by one recipe and one seed two of you have one model. Models are compared by what
their heads read, whatever was done to their weights: of one that is like a model of the book, or like another entry,
your teacher wants to hear how it was made before there are points.
"""


MODEL = Task("A model", "", POINTS, 0)
WORK = Homework(
    "capstone",
    "Capstone",
    "the best ViT in a small budget",
    "",
    POINTS,
    {"capstone": MODEL},
)


def grade_capstone(folder: Path, seed: int, people: dict[str, str]) -> Graded:
    """Evaluate each student's checkpoint on pictures drawn with the seed, which only the teacher knows."""
    submissions, left_out = find(folder, people)
    images, labels = load_drawn10("test", seed=seed)
    return Graded(_graded(submissions, images, labels), left_out, [])


def _graded(submissions: list[Submission], images: Tensor, labels: Tensor) -> list[Row]:
    rows: list[Row] = []
    # who; what its head reads
    known: list[tuple[str, Row | None, list[Tensor]]] = []
    for each in tqdm(submissions, "capstone"):
        result = Result(None, "missing")
        name = each.paths[-1].name
        rows.append(
            row := Row(each.key, {"capstone": result}, date=each.date, file=name)
        )
        try:
            model, raw = _model(each.paths)
            logits = outputs(model, images, None, 500)
            if not logits.isfinite().all():
                raise ValueError(
                    "expected finite logits, got others: train with a lower learning rate"
                )
            accuracy = (logits.argmax(1) == labels).double().mean().item()
            share = min(max((accuracy - NONE) / (ALL - NONE), 0), 1)
            parameters = f"{count_parameters(model):,} parameters"
            says = f"accuracy {accuracy:.2%}, {parameters}"
            points, mark = round(POINTS * share, 1), digest(raw.hex())
            result = Result(points, "measured", says, digest=mark)
            row.results["capstone"] = result
            if points:
                known.append(
                    (f"the entry {each.key}", row, _read(model, images, labels))
                )
        except Exception as error:  # one bad submission stops no other
            result.says = row.problem = (
                " ".join(str(error).split())[:300] or type(error).__name__
            )
    for name in list_pretrained() if known else ():
        read = _read(load_pretrained(name)[0], images, labels)
        known.insert(0, (f"the book's {name}", None, read))
    for _, row, (own, _) in known:
        others = [(who, both) for who, other, both in known if other is not row]
        like = [(who, max(_likeness(own, x) for x in both)) for who, both in others]
        if row and (same := [f"{who} ({how:.2f})" for who, how in like if how >= SAME]):
            row.problem = f"its head reads what that of {', '.join(same)} does: is it your own training?"
            result = row.results["capstone"]
            result.says += f", {result.points:g} points by that; {row.problem}"
            result.points = None
    return rows


def _read(model: Any, images: Tensor, labels: Tensor) -> list[Tensor]:
    """What a model's head reads of pictures and of their mirror images, less the mean of each class."""
    found, labels = [], labels[:PROBES]
    for x in (images[:PROBES], images[:PROBES].flip(-1)):
        read = features(model, x).double()
        for k in labels.unique():
            read[labels == k] -= read[labels == k].mean(0)
        found.append(read)
    return found


def _likeness(one: Tensor, other: Tensor) -> float:
    """How much of the one a linear map gives of the other, on the half of the pictures that it was not fitted to.

    The larger of both directions: 1 if the one is a part of the other, about 0 for strangers.
    """
    found = []
    for x, y in ((one, other), (other, one)):
        half = len(x) // 2
        square = x[:half].T @ x[:half]
        small = 1e-3 * square.diagonal().mean() * torch.eye(len(square), dtype=x.dtype)
        guess = x[half:] @ torch.linalg.solve(square + small, x[:half].T @ y[:half])
        left = (y[half:] - guess).square().sum() / y[half:].square().sum()
        found.append(1 - left.item())
    return max(found)


def _model(paths: list[Path]) -> tuple[Any, bytes]:
    """The ViT in what was handed in, once it is known to be within the budget, and its bytes."""
    both = {"safetensors": [], "json": []}
    for name, raw in itertools.chain(*(pieces(path, FILES) for path in paths)):
        if isinstance(raw, str):
            if raw:
                raise ValueError(raw)
            continue
        both[name.rpartition(".")[2].lower()].append(raw)
    for end, found in both.items():
        if len(found) != 1:
            fix = "hand in both files that vl.save_pretrained writes"
            raise ValueError(f"expected one .{end} file, got {len(found)}: {fix}")
    (raw,), (text,) = both.values()
    if len(raw) > BYTES:
        raise ValueError(f"expected at most {BYTES:,} bytes, got {len(raw):,}")
    card = json.loads(text)
    config = _config(card)
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
    if not re.fullmatch(r"\w[\w .-]{0,60}", name := str(card.get("name"))):
        raise ValueError(
            f"expected a plain name in the card, got {name:.60}; save it anew"
        )
    with tempfile.TemporaryDirectory() as copy:  # what was read is what is loaded
        Path(copy, f"{name}.safetensors").write_bytes(raw)
        Path(copy, f"{name}.json").write_bytes(text)
        try:
            return load_pretrained(name, copy)[0], raw
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
