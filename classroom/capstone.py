"""The capstone, the best ViT in a fixed budget: checkpoints are evaluated here, whatever their cards say.

Whose training a model is, is asked of what its head reads: how much of it a linear map gives of another model's, on
pictures that the map was not fitted to, without what is common to all pictures of a class. Six honest trainings that
were worth a point, of ten, and the book's four on Drawn-10 are alike by 0.53 at most; 22 copies (a new head, noise, two
to three fifths of the weights away, mirrored, other numbers added) by 0.65 or more, the worst of them barely worth a
point. A model that was trained to imitate another is not found out.
"""

import json
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from classroom.grade import Graded, Result, Row, told
from classroom.homework import Homework, Task
from classroom.names import digest
from classroom.submissions import File, Submission, find, pieces
from vitlib import (
    ViTConfig,
    build_model,
    count_macs,
    count_parameters,
    features,
    load_drawn10,
)
from vitlib.config import fields_now
from vitlib.files import write_json
from vitlib.train.evaluate import outputs
from vitlib.weights.pretrained import list_pretrained, load_pretrained
from vitworkshop.exercises.language import Said, say

PARAMETERS, MACS = 400_000, 40_000_000
FILES = re.compile(r"\.(safetensors|json)$", re.I)
# pictures on which models are compared; from where on a person is asked
PROBES, SAME = 1000, 0.6
# accuracies for no point and for all
POINTS, NONE, ALL = 10, 0.5, 0.95
TASK = Said(
    """# Capstone: the best ViT in a small budget

Train a ViT by `vitlib` on Drawn-10's training pictures (10 classes, 3 × 32 × 32). It has at most {parameters}
parameters and {macs} multiply-accumulates a picture (`vl.count_macs`). Hand in a folder, or a zip of it, with the two
files that `vl.save_pretrained` writes, NAME.safetensors and NAME.json. Your teacher measures its accuracy on pictures
that nobody has seen. Of {points} points you get none up to an accuracy of {none} and all
from {all} on. What the card says of accuracy or training is not read.

Train from a seed of your own, for by one recipe and one seed two of you have one model. Models are compared by what
their heads read, whatever was done to their weights: of one that is like a model of the book, or like another entry,
your teacher wants to hear how it was made before there are points.
""",
    parameters=f"{PARAMETERS:,}",
    macs=f"{MACS:,}",
    points=POINTS,
    none=f"{NONE:.0%}",
    all=f"{ALL:.0%}",
)


TASKS = {"capstone": Task(Said("A model"), "", POINTS, 0)}
WORK = Homework(0, Said("Capstone"), Said("a small ViT"), "", POINTS, TASKS)


def grade_capstone(files: list[File], seed: int, people: Iterable[str]) -> Graded:
    """Evaluate each student's checkpoint on pictures drawn with the seed, which only the teacher knows."""
    submissions = find(files, people)
    pictures = load_drawn10("test", seed=seed)
    return Graded(_graded(submissions, *pictures), [])


def _graded(submissions: list[Submission], images: Tensor, labels: Tensor) -> list[Row]:
    rows: list[Row] = []
    # what is called so; its head's reading
    known: dict[str, list[Tensor]] = {}
    for each in tqdm(submissions, "capstone"):
        result = Result(None, "missing", digest=digest(each.digest))
        row = Row(each.key, {"capstone": result}, file=each.files[-1].top)
        rows.append(row)
        try:
            model, raw = _model(each.files)
            logits = outputs(model, images)
            accuracy = (logits.argmax(1) == labels).double().mean().item()
            share = min(max((accuracy - NONE) / (ALL - NONE), 0), 1)
            n = f"{count_parameters(model):,}"
            result.says = say(
                "accuracy {accuracy}, {n} parameters", accuracy=f"{accuracy:.2%}", n=n
            )
            result.points, result.kind = round(POINTS * share, 1), "measured"
            result.digest = digest(raw.hex())
            if result.points:
                known[f"the entry {each.key}"] = _read(model, images, labels)
        except Exception as error:  # one bad submission stops no other
            why = " ".join(str(error).split())[:300] or type(error).__name__
            result.says = row.problem = told(why)
    book = {
        f"the book's {name}": _read(load_pretrained(name)[0], images, labels)
        for name in (list_pretrained() if known else ())
    }
    for row in rows:
        result, me = row.results["capstone"], f"the entry {row.key}"
        like = [
            f"{who} ({how:.2f})"
            for who, both in (book | known).items()
            if me in known and who != me
            if (how := max(_likeness(known[me][0], one) for one in both)) >= SAME
        ]
        if like:
            row.problem = f"its head reads what that of {', '.join(like)} does: is it your own training?"
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


def _model(files: list[File]) -> tuple[Any, bytes]:
    """The ViT in what was handed in, once it is known to be within the budget, and its bytes."""
    both = []
    for end in (".safetensors", ".json"):
        some = [x for x in pieces(files, FILES) if x.name.lower().endswith(end)]
        if len(some) != 1:
            fix = "hand in both files that vl.save_pretrained writes"
            raise ValueError(f"expected one {end} file, got {len(some)}: {fix}")
        both.append(some[0].read())
    raw, text = both
    card = json.loads(text)
    config = _config(card)
    with torch.device("meta"):  # shapes alone: a card costs no memory
        parameters = count_parameters(build_model(config))
    for name, most, value in (
        ("parameters", PARAMETERS, parameters),
        ("multiply-accumulates a picture", MACS, count_macs(config)),
    ):
        if value > most:
            raise ValueError(
                f"expected at most {most:,} {name}, got {value:,}: it is out of the budget"
            )
    with tempfile.TemporaryDirectory(
        prefix="task-"
    ) as copy:  # what was read is what is loaded
        Path(copy, "model.safetensors").write_bytes(raw)
        write_json(Path(copy, "model.json"), card | {"name": "model"})
        return load_pretrained("model", copy)[0], raw


def _config(card: Any) -> ViTConfig:
    """The model's shape; numbers that no model here has are refused before anything is made of them."""
    if not isinstance(card, dict) or card.get("kind", "vit") != "vit":
        raise ValueError(
            "expected the card of a ViT, got another: train a ViT by vitlib"
        )
    for name, value in card["config"].items():
        if isinstance(value, int) and value > 1024:
            raise ValueError(
                f"expected at most 1024 for {name}, got {value}: it is out of the budget"
            )
    cfg = ViTConfig(**fields_now("ViTConfig", card["config"]))
    if (cfg.image_shape, cfg.in_chans, cfg.num_classes) != ((32, 32), 3, 10):
        raise ValueError(
            "expected a ViT for pictures of 3 × 32 × 32 and 10 classes, got another"
        )
    return cfg
