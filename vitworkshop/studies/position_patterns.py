"""Does the pattern that positions learn depend on learning rate, weight decay and length of training? Figure 10.

The paper's figure shows patterns from three settings (chapter 15). Here one setting of a base is changed at a time, and
two numbers describe the pattern of a table that is centred over its places (what all places share acts like the bias of
the patch embedding): how likeness, a cosine, falls with distance on the grid, as a correlation over pairs of places;
and the share of the variance that the means of rows and columns explain together. Each stands beside the same for the
table before training and for the trained one with its places shuffled: tables without a pattern have 0, and 0.22 on a
grid of 8 x 8. "norm" is how long the centred vectors are. Decay acts on matrices alone, so that it reaches positions
only by way of them. The base is trained for two epochs on 20,000 photographs. 24 runs took 119 minutes on one thread.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from vitlib.device import derive_seed
from vitlib.model.costs import count_parameters
from vitlib.train.recipe import recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import QUICK, Job, Study, initial_model, train_variant

BEFORE = "before training"


def pattern(table: Tensor, grid: tuple[int, int]) -> dict[str, float]:
    """What the positions (N, D) of a grid look like.

    "distance_correlation" is of the cosine and the distance of two places, over all pairs; "row_column_share" of the
    variance between places, what the means of rows and columns explain together; "norm" of what varies.
    """
    places = torch.cartesian_prod(*(torch.arange(size, dtype=torch.float32) for size in grid))  # (N, 2)
    centred = table - table.mean(dim=0)
    likeness = F.normalize(centred, dim=1) @ F.normalize(centred, dim=1).T  # (N, N)
    first, second = torch.triu_indices(len(table), len(table), offset=1)
    pairs = torch.stack([likeness[first, second], torch.cdist(places, places)[first, second]])
    cells = centred.unflatten(0, grid)  # (rows, columns, D)
    explained = cells.mean(dim=1, keepdim=True) + cells.mean(dim=0, keepdim=True)
    return {
        "distance_correlation": round(torch.corrcoef(pairs)[0, 1].item(), 4),
        "row_column_share": round((explained.square().sum() / centred.square().sum()).item(), 4),
        "norm": round(centred.square().sum(dim=1).mean().sqrt().item(), 4),
    }


def _look(model: Any, seed: int) -> dict[str, float]:
    table = model.pos_embed.table()[0, 1:].detach().float().cpu()
    order = torch.randperm(len(table), generator=torch.Generator().manual_seed(derive_seed(seed, "shuffle")))
    found, shuffled = (pattern(places, model.cfg.grid) for places in (table, table[order]))
    return found | {
        f"shuffled_{name}": shuffled[name] for name in ("distance_correlation", "row_column_share")
    }


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict] | None:
    look = partial(_look, seed=seed)
    if variant != BEFORE:
        return train_variant(study, variant, seed, job, look)
    changes: dict[str, Any] = job.changes
    model = initial_model(recipe(study.base or QUICK, **changes).model, seed)
    row = {"variant": variant, "changes": study.variants[variant], "seed": seed, "seconds": 0.0}
    return [row | {"parameters": count_parameters(model), "final": look(model)}]


_CHANGED = {
    "the learning rate": ("lr=0.0005", "lr=0.004"),
    "weight decay": ("decay 0", "decay 0.5"),
    "the length of training": ("half as long", "twice as long"),
}
_MEASURES = {
    "how likeness falls with distance": "distance_correlation",
    "how far rows and columns explain the positions": "row_column_share",
}

STUDY = Study(
    question="Does the pattern that positions learn depend on learning rate, weight decay and length of training?",
    variants={
        BEFORE: {"times": 0},
        "base": {},
        "lr=0.0005": {"lr": 0.0005},
        "lr=0.004": {"lr": 0.004},
        "decay 0": {"weight_decay": 0.0},
        "decay 0.5": {"weight_decay": 0.5},
        "half as long": {"times": 0.5},
        "twice as long": {"times": 2},
    },
    claims=(
        Claim(
            "training makes near places more alike than far ones",
            "Figure 7, centre",
            BEFORE,
            "base",
            margin=0.1,
            metric="distance_correlation",
        ),
        *(
            Claim(f"{what} changes {says}", "Figure 10", low, high, margin=0.1, kind="apart", metric=metric)
            for what, (low, high) in _CHANGED.items()
            for says, metric in _MEASURES.items()
        ),
    ),
    base=recipe(QUICK, epochs=2),
    n_train=25_000,  # 5,000 of them held out
    source="Figure 10, Appendix D.4",
    metric="distance_correlation",
    measure="correlation of the likeness and the distance of two places",
    run=_run,
)
