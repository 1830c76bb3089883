"""What mirrored training pictures do to the learned positions (chapter 03).

    python -m tools.measure.flips     # ten minutes of one core; goes on where it was

Writes vitlib/results/flips.json: of the preset "laptop" with a smaller model, with and without `flip`, with each of
three seeds, the mean cosine of the vectors of two places, by how they lie to each other, and the accuracy on held-out
pictures: as trained, and after both places of each mirror pair got their mean.
"""

from __future__ import annotations

import copy
from dataclasses import asdict, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm import tqdm

from vitlib.data.dataset import Dataset, load_dataset
from vitlib.evidence import RESULTS, load_results, provenance, summarize
from vitlib.files import write_json
from vitlib.model.vit import VisionTransformer
from vitlib.train.evaluate import evaluate
from vitlib.train.loop import train_model
from vitlib.train.recipe import recipe

SEEDS, TRAINED, HELD, FAR = (0, 1, 2), 24_000, 2_000, 3
SMALL = {"model.depth": 2, "model.embed_dim": 64, "model.num_heads": 2}
BASE = recipe("laptop", epochs=2, batch_size=64, precision="fp32", **SMALL)
# of a table of places, (rows, columns, D)
AXES = {"left = right": 1, "top = bottom": 0}


def pairs(side: int) -> dict[str, Tensor]:
    """Which two of side * side places, (N, N), lie so; those that are compared with mirror places, as far or nearer."""
    n = torch.arange(side * side)
    row, column = n // side, n % side
    down, right = row - row[:, None], column - column[:, None]
    found = {
        "the place below": (down == 1) & (right == 0),
        "the place to the right": (down == 0) & (right == 1),
    }
    for kind, other, same, away, along in (
        ("mirrored", "far", down == 0, right, column),
        ("upside down", "far below", right == 0, down, row),
    ):
        away, mirror = same & (away.abs() >= FAR), along + along[:, None] == side - 1
        found |= {kind: away & mirror, other: away & ~mirror}
    return found


def merged(model: VisionTransformer, axis: int) -> VisionTransformer:
    """A copy in which each place has the mean of its vector and its mirror place's."""
    twin: Any = copy.deepcopy(model)
    with torch.no_grad():
        patches = twin.pos_embed.weight[0, 1:]  # (N, D), a view
        places = patches.unflatten(0, model.cfg.grid)
        patches.copy_(((places + places.flip(axis)) / 2).flatten(0, 1))
    return twin


def measure(flip: bool, seed: int, data: Dataset, held: Dataset) -> dict:
    """One run, and what it ended with."""
    one = replace(BASE, flip=flip, seed=seed)
    log = train_model(one, data, device="cpu", progress=False)
    model = log["model"]
    unit = F.normalize(model.pos_embed.table()[0, 1:].detach(), dim=1)
    alike = unit @ unit.T
    scored = {"as trained": model} | {
        name: merged(model, axis) for name, axis in AXES.items()
    }
    return {
        "flip": flip,
        "seed": seed,
        "seconds": round(log["seconds"], 1),
        "cosine": {
            name: round(alike[which].mean().item(), 4)
            for name, which in pairs(model.cfg.grid[1]).items()
        },
        "accuracy": {
            name: evaluate(of, held.images, held.labels)["accuracy"]
            for name, of in scored.items()
        },
    }


def summary(runs: list[dict]) -> dict[str, dict]:
    """Over the seeds, with flips and without: each cosine and accuracy."""
    found: dict[str, dict] = {}
    for name, flip in (("with", True), ("without", False)):
        ours = [run for run in runs if run["flip"] == flip]
        found[name] = {
            kind: {key: summarize([run[kind][key] for run in ours]) for key in of}
            for kind in ("cosine", "accuracy")
            for of in [runs[0][kind]]
            if ours
        }
    return found


def main() -> None:
    """Runs what is not in the file yet, pair by pair, and writes after each run."""
    torch.set_num_threads(1)
    path = RESULTS / "flips.json"
    runs = load_results("flips")["runs"] if path.is_file() else []
    data, held = load_dataset("cifar10", n=TRAINED + HELD).hold_out(HELD)
    todo = [(flip, seed) for seed in SEEDS for flip in (True, False)]
    done = {(run["flip"], run["seed"]) for run in runs}
    for flip, seed in tqdm([one for one in todo if one not in done]):
        runs.append(measure(flip, seed, data, held))
        record = {
            "name": "flips",
            **provenance(data.label, torch.device("cpu"), "fp32"),
            "command": "python -m tools.measure.flips",
        }
        sizes = {"n_train": len(data), "n_val": len(held), "base": asdict(BASE)}
        write_json(path, record | sizes | {"runs": runs, "summary": summary(runs)})


if __name__ == "__main__":
    main()
