"""What do overlapping patches and a convolutional stem bring? Chapter 02.

Not in the paper; Xiao et al. 2021. 9 runs took 55 minutes on one thread.
"""

from __future__ import annotations

from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import Study

STUDY = Study(
    question="What do overlapping patches and a convolutional stem bring?",
    variants={
        kind: {"model.patch_embed": kind} for kind in ("conv", "overlap", "stem")
    },
    claims=(
        Claim(
            "a convolutional stem is ahead of one large convolution",
            "stem",
            "conv",
        ),
        Claim("overlapping patches are ahead of separate ones", "overlap", "conv"),
    ),
)
