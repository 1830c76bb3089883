"""Is a ViT or a ResNet ahead with few photographs and with many, at equal steps? Figure 3.

The paper's Section 4.3 (chapter 11). What was made small: 500 and 45,000 images of 32 pixels instead of 9 to 300
million, models of 0.3 million parameters with patches of 8 pixels, four passes over the larger set. A smaller set is a
random part of a larger; accuracy is that of the last step. Each model has two learning rates, and a claim reads the
better. "pixels" is a ridge regression on the pixels of the same images. 30 runs took 77 minutes on one thread.
"""

from __future__ import annotations

from dataclasses import replace

from vitworkshop.studies.claim import Claim
from vitworkshop.studies.families import BASE, FAMILIES, run_family
from vitworkshop.studies.study import Study, at_rates

_RATES = (0.001, 0.003)


STUDY = Study(
    question="Is a ViT or a ResNet ahead with few photographs and with many, at equal steps?",
    variants={
        name: changes
        for n in (500, 45_000)
        for family in ("ViT", "ResNet")
        for name, changes in at_rates(
            f"{family}, {n:,} images", {**FAMILIES[family], "n_train": n}, _RATES
        ).items()
    }
    | {f"pixels, {n:,} images": {"n_train": n} for n in (500, 45_000)},
    claims=(
        Claim(
            "with 500 images the ResNet is ahead of the ViT",
            "ResNet, 500 images, lr=*",
            "ViT, 500 images, lr=*",
        ),
        Claim(
            "with 45,000 images the ViT is ahead of the ResNet",
            "ViT, 45,000 images, lr=*",
            "ResNet, 45,000 images, lr=*",
        ),
    ),
    base=replace(BASE, epochs=4),
    data="cifar10",
    run=run_family,
)
