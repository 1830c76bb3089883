"""CLS or the mean of the patches, each with its own learning rate? The paper's Figure 9 (chapter 07).

Is the CLS token better than the mean of the patches, once each has its own learning rate?

A second question to the same runs: whether the head has a hidden layer, as in the paper's pre-training, or is linear.

- CLS and GAP do equally well, each at its own learning rate: open, +0.2 ± 0.5 points (standard error, n = 3); about 10
  seeds would decide.
- read from CLS, a head with a hidden layer does as well as a linear one: differs, -3.2 ± 0.4 points (standard error, n
  = 3).
- read from GAP, a head with a hidden layer does as well as a linear one: open, -2.5 ± 0.6 points (standard error, n =
  3); about 18 seeds would decide.

36 runs on CIFAR-10 (JPEG q75) with 3 seeds took 92 minutes: `python -m vitlib study run pooling --data cifar10
--threads 1`
"""

from __future__ import annotations

from vitlib.train.recipe import recipe
from vitworkshop.studies.study import QUICK, Claim, Study

_RATES = (0.00025, 0.001, 0.004, 0.016)
_MLP_RATES = (0.001, 0.004)


def _names(pool: str, rates: tuple[float, ...] = _RATES) -> tuple[str, ...]:
    return tuple(f"{pool} lr={rate:g}" for rate in rates)


def _same_head(pool: str, called: str) -> Claim:
    return Claim(
        f"read from {called}, a head with a hidden layer does as well as a linear one",
        "Section 3.1",
        _names(f"{pool} mlp", _MLP_RATES),
        _names(pool, _MLP_RATES),
        margin=0.01,
        kind="equal",
    )


STUDY = Study(
    question="Is the CLS token better than the mean of the patches, once each has its own learning rate?",
    variants={
        f"{pool} lr={rate:g}": {"model.global_pool": pool, "lr": rate}
        for pool in ("token", "avg")
        for rate in _RATES
    }
    | {
        f"{pool} mlp lr={rate:g}": {"model.global_pool": pool, "model.head": "mlp", "lr": rate}
        for pool in ("token", "avg")
        for rate in _MLP_RATES
    },
    claims=(
        Claim(
            "CLS and GAP do equally well, each at its own learning rate",
            "Figure 9",
            _names("token"),
            _names("avg"),
            margin=0.01,
            kind="equal",
        ),
        _same_head("token", "CLS"),
        _same_head("avg", "GAP"),
    ),
    base=recipe(QUICK, epochs=8, **{"model.patch_size": 8}),
    n_train=25_000,  # 5,000 of them held out
    source="Figure 9",
)
