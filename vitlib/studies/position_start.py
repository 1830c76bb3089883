"""Learned or fixed, quiet or loud: how positions start, with what varies between places held equal (chapter 03).

Is it what positions are made of, whether they are trained, or how large they start?

Not run yet: `python -m vitlib study run position-start`
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from vitlib.device import derive_seed, pick_device
from vitlib.model.posembed import STD, sincos_2d
from vitlib.model.vit import VisionTransformer
from vitlib.studies.study import Claim, Job, Study, rows_of
from vitlib.train.loop import Trainer
from vitlib.train.objective import Classification
from vitlib.train.recipe import recipe

_BASE = recipe("drawn10", precision="fp32", epochs=12, **{"model.patch_size": 8, "model.embed_dim": 48})


def start(kind: str, length: float | None, grid: tuple[int, int], embed_dim: int) -> Tensor:
    """Positions (N, D): "waves" or "noise", centred over places, each of this length on average.

    Args:
        kind: "waves" (sines and cosines) or "noise".
        length: Root mean square length of the rows after centring; None leaves the waves as they are.
        grid: Rows and columns.
        embed_dim: Width D.
    """
    table = sincos_2d(grid, embed_dim) if kind == "waves" else torch.randn(grid[0] * grid[1], embed_dim)
    if length is None:
        return table
    table = table - table.mean(dim=0)
    return table * length / table.square().sum(dim=1).mean().sqrt()


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict] | None:
    own = study.variants[variant]
    changes: dict[str, Any] = {**job.changes, "seed": seed, "name": f"{variant}-s{seed}"}
    one = recipe(study.base, **changes)
    cfg = one.model
    torch.manual_seed(derive_seed(seed, "init"))
    model = VisionTransformer(cfg)
    weight = model.get_parameter("pos_embed.weight")
    with torch.no_grad():
        weight[0, 1:] = start(own["kind"], own["length"], cfg.grid, cfg.embed_dim)
    weight.requires_grad_(own["trained"])
    out = job.out / one.name.replace(" ", "-").replace(",", "")
    trainer = Trainer(model.to(pick_device(job.device)), Classification(one), one, job.data, job.val, out)
    trainer.load()
    return rows_of(trainer.run(job.left, job.progress), variant, own, seed)


_QUIET = STD * _BASE.model.embed_dim**0.5  # of a learned table before training
_WAVES = sincos_2d(_BASE.model.grid, _BASE.model.embed_dim)
_LOUD = (_WAVES - _WAVES.mean(dim=0)).square().sum(dim=1).mean().sqrt().item()  # what varies in the waves

STUDY = Study(
    question="Is it what positions are made of, whether they are trained, or how large they start?",
    variants={
        f"{kind}, {name}, {'trained' if trained else 'fixed'}": {
            "kind": kind,
            "length": length,
            "trained": trained,
        }
        for kind in ("noise", "waves")
        for name, length in (("quiet", _QUIET), ("loud", _LOUD))
        for trained in (True, False)
    }
    | {"waves, as they are, fixed": {"kind": "waves", "length": None, "trained": False}},
    claims=(
        Claim(
            "loud noise is ahead of quiet noise, both trained",
            "ours",
            ("noise, loud, trained",),
            ("noise, quiet, trained",),
            margin=0.01,
        ),
        Claim(
            "loud waves are ahead of loud noise, both trained",
            "ours",
            ("waves, loud, trained",),
            ("noise, loud, trained",),
            margin=0.01,
        ),
        Claim(
            "training the waves brings nothing",
            "ours",
            ("waves, loud, trained",),
            ("waves, loud, fixed",),
            margin=0.01,
            kind="equal",
        ),
    ),
    base=_BASE,
    seeds=(0, 1, 2, 3, 4),
    source="Appendix D.4, the start of positions",
    data="drawn10",
    run=_run,
)
