"""Can twelve blocks learn without residual connections, given a lower rate or more steps? Chapter 06.

Section 3.1 of the paper and He et al. 2016. 24 runs took 104 minutes on one thread,
half of them beside other work: those from weights of 0.02, as vitlib begins, came later, on another machine.
"""

from __future__ import annotations

from torch import Tensor

from vitlib.model.encoder import Block
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.norm_order import IMAGES, learn_by_heart, make_model
from vitworkshop.studies.study import Job, Study

LENGTHS = (100, 300, 1000)  # steps
_RATES = (0.002, 0.0003)
# of Xavier's weights, and of those that vitlib begins with
_STARTS = {"": {}, " init=0.02": {"init": "0.02"}}


class NoResidualBlock(Block):
    """A block whose branches replace the stream instead of adding to it."""

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        return self.mlp(self.norm2(self.attn(self.norm1(x), bias)))


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict]:
    own = study.variants[variant]
    model = make_model(seed=seed, init=own.get("init", "xavier"))
    if not own["residuals"]:
        for block in model.blocks:
            block.__class__ = NoResidualBlock
    losses = learn_by_heart(model, job.data, own["lr"], steps=LENGTHS[-1])
    final = {
        f"train_loss_{steps}": round(sum(losses[steps - 20 : steps]) / 20, 4)
        for steps in LENGTHS
    }
    return [{"final": final}]


STUDY = Study(
    question="Can twelve blocks learn without residual connections, given a lower rate or more steps?",
    variants={
        f"{how} lr={lr:g}{start}": {"residuals": how == "with", "lr": lr} | init
        for start, init in _STARTS.items()
        for lr in _RATES
        for how in ("with", "without")
    },
    claims=tuple(
        Claim(
            f"{'from weights of 0.02, ' * bool(start)}at {lr:g}, a model without residuals has more loss left "
            f"after {steps:,} steps",
            f"without lr={lr:g}{start}",
            f"with lr={lr:g}{start}",
            margin=0.1,
            metric=f"train_loss_{steps}",
        )
        for start in _STARTS
        for lr in _RATES
        for steps in LENGTHS
    ),
    base=None,
    data="drawn10",
    n_train=IMAGES,
    metric=f"train_loss_{LENGTHS[-1]}",
    measure="train_loss: mean loss of the last 20 steps, each on 32 of 64 training images; "
    "nothing is held out and no test image is read",
    run=_run,
)
