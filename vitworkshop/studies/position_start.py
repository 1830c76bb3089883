"""Is it what positions are made of, whether they are trained, or how large they start? Chapter 03.

Learned or fixed, quiet or loud, with what varies between places held equal; the paper's Appendix D.4 (chapter 03).
45 runs took 85 minutes on one thread.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import torch
from torch import Tensor

from vitlib.device import derive_seed, pick_device
from vitlib.model.posembed import STD, sincos_2d
from vitlib.model.vit import VisionTransformer
from vitlib.train.loop import Trainer
from vitlib.train.objective import Classification
from vitlib.train.recipe import recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import Job, Study, rows_of

_BASE = recipe("drawn10", precision="fp32", epochs=12, **{"model.patch_size": 8, "model.embed_dim": 48})


def start(kind: str, size: str, grid: tuple[int, int], embed_dim: int) -> Tensor:
    """Positions (N, D), "waves" (sines and cosines) or "noise", whose varying parts are equally long.

    "quiet" ones are as long as a learned table before training, "loud" ones as what varies between places in the waves.
    """
    waves = sincos_2d(grid, embed_dim)
    table = waves if kind == "waves" else torch.randn(waves.shape)
    if size == "as they are":
        return table
    centred = table - table.mean(dim=0)
    return centred * (STD * embed_dim**0.5 if size == "quiet" else length(waves)) / length(centred)


def length(table: Tensor) -> Tensor:
    """Root mean square length of the rows of a table (N, D), after centring."""
    return (table - table.mean(dim=0)).square().sum(dim=1).mean().sqrt()


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict] | None:
    own = study.variants[variant]
    changes: dict[str, Any] = {**job.changes, "seed": seed, "name": f"{variant}-s{seed}"}
    one = recipe(_BASE, **changes)
    cfg: Any = one.model  # a ViTConfig
    torch.manual_seed(derive_seed(seed, "init"))
    model = VisionTransformer(cfg)
    weight = model.get_parameter("pos_embed.weight")
    with torch.no_grad():
        weight[0, 1:] = start(own["kind"], own["size"], cfg.grid, cfg.embed_dim)
    weight.requires_grad_(own["trained"])
    model, out = model.to(pick_device(job.device)), job.folder(variant, seed)
    trainer = Trainer(model, Classification(one), one, job.data, job.val, out)
    trainer.load()
    return rows_of(trainer.run(job.left, job.progress), variant, own, seed)


def _ours(says: str, first: str, second: str, kind: str = "ahead") -> Claim:
    return Claim(says, "ours", first, second, kind=kind)


STUDY = Study(
    question="Is it what positions are made of, whether they are trained, or how large they start?",
    variants={
        f"{kind}, {size}, {how}": {"kind": kind, "size": size, "trained": how == "trained"}
        for kind, size, how in (
            *product(("noise", "waves"), ("quiet", "loud"), ("trained", "fixed")),
            ("waves", "as they are", "fixed"),
        )
    },
    claims=(
        _ours(
            "loud noise is ahead of quiet noise, both trained",
            "noise, loud, trained",
            "noise, quiet, trained",
        ),
        _ours(
            "loud waves are ahead of loud noise, both trained", "waves, loud, trained", "noise, loud, trained"
        ),
        _ours("training the waves brings nothing", "waves, loud, trained", "waves, loud, fixed", "equal"),
    ),
    base=_BASE,
    seeds=(0, 1, 2, 3, 4),
    source="Appendix D.4, the start of positions",
    data="drawn10",
    run=_run,
)
