"""Is the CLS token better than the mean of the patches, once each has its own learning rate? Figure 9.

The paper's Appendix D.3 (chapter 07). A second question to the same runs: whether the head has a hidden layer, as in
the paper's pre-training, or is linear. 42 runs took 114 minutes on one thread; the lowest rate of the heads with a
hidden layer was added later, because the better of two had been at the edge.
"""

from __future__ import annotations

from vitlib.train.recipe import recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import QUICK, Study

_RATES = (0.00025, 0.001, 0.004, 0.016)
_MLP_RATES = (0.00025, 0.001, 0.004)


STUDY = Study(
    question="Is the CLS token better than the mean of the patches, once each has its own learning rate?",
    variants={
        f"{pool}{mlp} lr={rate:g}": {"model.global_pool": pool, **head, "lr": rate}
        for mlp, head, rates in (
            ("", {}, _RATES),
            (" mlp", {"model.head": "mlp"}, _MLP_RATES),
        )
        for pool in ("token", "avg")
        for rate in rates
    },
    claims=(
        Claim(
            "CLS and GAP do equally well, each at its own learning rate",
            "token lr=*",
            "avg lr=*",
            kind="equal",
        ),
        *(
            Claim(
                f"read from {called}, a head with a hidden layer does as well as a linear one",
                f"{pool} mlp lr=*",
                f"{pool} lr=*",
                kind="equal",
            )
            for pool, called in (("token", "CLS"), ("avg", "GAP"))
        ),
    ),
    base=recipe(QUICK, epochs=8, **{"model.patch_size": 8}),
    n_train=25_000,  # 5,000 of them held out
)
