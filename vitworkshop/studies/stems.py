"""What do overlapping patches and a convolutional stem bring? Chapter 02.

Not in the paper; Xiao et al. 2021. 12 runs took 77 minutes on one thread. The last variant was run later, on another
machine, where the first one's seed 0 reached 60.8 % in place of 60.9 %.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import nn
from torch.nn import functional as F

from vitlib.config import ViTConfig
from vitlib.train.recipe import recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import QUICK, Job, Study, initial_model, rows_of, train_variant

_KERNEL = "patch_embed.proj.weight"


def framed(cfg: ViTConfig, seed: int) -> nn.Module:
    """Overlapping patches that start as separate ones do: their kernel in a frame of zeros, all else equal."""
    model = initial_model(cfg, seed)
    weights = initial_model(replace(cfg, patch_embed="conv"), seed).state_dict()
    weights[_KERNEL] = F.pad(weights[_KERNEL], [cfg.patch_size // 2] * 4)
    model.load_state_dict(weights)
    return model


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict] | None:
    if variant != "framed":
        return train_variant(study, variant, seed, job)
    own = study.variants[variant]
    changes: dict[str, Any] = {**job.changes, "model.patch_embed": "overlap", "seed": seed}
    one = recipe(study.base or QUICK, **changes)
    cfg: Any = one.model  # a ViTConfig
    return rows_of(job.train(variant, one, job.data, job.val, framed(cfg, seed)), variant, own, seed)


STUDY = Study(
    question="What do overlapping patches and a convolutional stem bring?",
    variants={
        **{kind: {"model.patch_embed": kind} for kind in ("conv", "overlap", "stem")},
        "framed": {"model.patch_embed": "overlap", "start": "conv"},
    },
    claims=(
        Claim("a convolutional stem is ahead of one large convolution", "Xiao et al. 2021", "stem", "conv"),
        Claim("overlapping patches are ahead of separate ones", "ours", "overlap", "conv"),
        Claim(
            "overlapping patches that start as separate ones, in a frame of zeros, are ahead of them",
            "ours",
            "framed",
            "conv",
        ),
    ),
    source="not in the paper; Xiao et al. 2021",
    run=_run,
)
