"""What overlapping patches and a convolutional stem bring (chapter 02).

What do overlapping patches and a convolutional stem bring?

- a convolutional stem is ahead of one large convolution: agrees, +3.0 ± 0.7 points (standard error, n = 3).
- overlapping patches are ahead of separate ones: differs, -2.7 ± 0.4 points (standard error, n = 3).

9 runs on CIFAR-10 (JPEG q75) with 3 seeds took 55 minutes: `python -m vitlib study run stems --data cifar10
--threads 1`
"""

from __future__ import annotations

from vitworkshop.studies.study import Claim, Study

STUDY = Study(
    question="What do overlapping patches and a convolutional stem bring?",
    variants={kind: {"model.patch_embed": kind} for kind in ("conv", "overlap", "stem")},
    claims=(
        Claim(
            "a convolutional stem is ahead of one large convolution",
            "Xiao et al. 2021",
            ("stem",),
            ("conv",),
            margin=0.01,
        ),
        Claim("overlapping patches are ahead of separate ones", "ours", ("overlap",), ("conv",), margin=0.01),
    ),
    source="not in the paper; Xiao et al. 2021",
)
