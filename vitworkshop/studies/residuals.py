"""Can twelve blocks learn without residual connections, given a lower rate or more steps? Chapter 06.

Section 3.1 of the paper and He et al. 2016. 12 runs took 17 minutes on one thread.
"""

from __future__ import annotations

import time

from torch import Tensor, nn

from vitlib.data.dataset import normalize
from vitlib.model.encoder import Block
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.norm_order import IMAGES, SHAPE, learn_by_heart, make_model
from vitworkshop.studies.study import Job, Study, make_row

LENGTHS = (100, 300, 1000)  # steps
_RATES = (0.002, 0.0003)


class NoResidualBlock(Block):
    """A block whose branches replace the stream instead of adding to it; arguments as for `Block`."""

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        return self.mlp(self.norm2(self.attn(self.norm1(x), bias)))


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict]:
    own, began = study.variants[variant], time.monotonic()
    images, labels = normalize(job.data.images), job.data.labels
    model = make_model(seed=seed)
    if not own["residuals"]:
        bare = [
            NoResidualBlock(SHAPE.embed_dim, SHAPE.num_heads, SHAPE.hidden_dim)
            for _ in range(SHAPE.depth)
        ]
        for old, new in zip(model.blocks, bare, strict=True):
            new.load_state_dict(old.state_dict())
        model.blocks = nn.ModuleList(bare)
    losses = learn_by_heart(model, images, labels, own["lr"], steps=LENGTHS[-1])
    final = {
        f"train_loss_{steps}": round(sum(losses[steps - 20 : steps]) / 20, 4)
        for steps in LENGTHS
    }
    return [
        make_row(variant, own, seed, final, time.monotonic() - began, images.device)
    ]


def _name(residuals: bool, lr: float) -> str:
    return f"{'with' if residuals else 'without'} lr={lr:g}"


STUDY = Study(
    question="Can twelve blocks learn without residual connections, given a lower rate or more steps?",
    variants={
        _name(on, lr): {"residuals": on, "lr": lr}
        for lr in _RATES
        for on in (True, False)
    },
    claims=tuple(
        Claim(
            f"at {lr:g}, a model without residuals has more loss left after {steps:,} steps",
            _name(False, lr),
            _name(True, lr),
            margin=0.1,
            metric=f"train_loss_{steps}",
        )
        for lr in _RATES
        for steps in LENGTHS
    ),
    source="Section 3.1",
    base=None,
    data="drawn10",
    n_train=IMAGES,
    holdout=False,
    metric=f"train_loss_{LENGTHS[-1]}",
    measure="train_loss: mean loss of the last 20 steps, each on 32 of 64 training images; "
    "nothing is held out and no test image is read",
    run=_run,
)
