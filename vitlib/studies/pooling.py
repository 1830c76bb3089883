"""CLS or the mean of the patches, each with its own learning rate? The paper's Figure 9 (chapter 07).

Is the CLS token better than the mean of the patches, once each has its own learning rate?

- CLS and GAP do equally well, each at its own learning rate: open, +4.0 ± 2.0 points (standard error, n =
  2); about 123 seeds would decide.

16 runs on CIFAR-10 (JPEG q75) with 2 seeds took 50 minutes: `python -m vitlib study run pooling --data
cifar10 --threads 1`
They were run before the study became what it is now: epochs was 2, now 6; precision was 'auto', now 'fp32'.
"""

from __future__ import annotations

from dataclasses import replace

from vitlib.studies.study import QUICK, Claim, Study

_RATES = (0.00025, 0.001, 0.004, 0.016)


def _names(pool: str) -> tuple[str, ...]:
    return tuple(f"{pool} lr={rate:g}" for rate in _RATES)


STUDY = Study(
    question="Is the CLS token better than the mean of the patches, once each has its own learning rate?",
    variants={
        f"{pool} lr={rate:g}": {"model.global_pool": pool, "lr": rate}
        for pool in ("token", "avg")
        for rate in _RATES
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
    ),
    base=replace(QUICK, epochs=6),
    source="Figure 9",
)
