"""CLS or the mean of the patches, each at its own learning rate? Figure 9 (chapter 07), on models that have learned.

96 wide, 4 deep, Muon, four passes over 20,000 photographs. The rate of each is chosen on a seed of its own, and five
others judge. 22 runs took 76 minutes on one thread, beside other work.
"""

from __future__ import annotations

from vitlib.train.recipe import recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.families import run_family
from vitworkshop.studies.study import Study, at_muon_rates

STUDY = Study(
    question="CLS or the mean of the patches, each at its own learning rate?",
    variants={
        **at_muon_rates("CLS", {"model.global_pool": "token"}),
        **at_muon_rates("GAP", {"model.global_pool": "avg"}),
        "pixels": {},  # a ridge regression on the same pictures
    },
    claims=(
        # 2 points would matter: five seeds' half-width is at most 1.7
        Claim(
            "CLS and GAP do equally well, each at its own learning rate, once both have learned",
            "CLS, lr=*",
            "GAP, lr=*",
            margin=0.02,
            kind="equal",
        ),
    ),
    base=recipe("laptop", epochs=4, precision="fp32", **{"model.patch_drop_rate": 0.0}),
    n_train=25_000,  # 5,000 of them held out
    seeds=(0, 1, 2, 3, 4),
    choosing=100,
    run=run_family,
)
