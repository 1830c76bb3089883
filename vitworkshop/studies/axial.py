"""Is axial attention worth what it costs, at equal depth and at equal compute? The paper's Figure 13 (chapter 18).

A model L deep has L blocks with full attention, or 2 L with attention along the rows and along the columns in turn. The
models are matched in depth (4 and 4), in the number of attentions (4 and 2 x 2; the axial one multiplies 12 % less) and
in multiply-accumulates (7 and 4, to within 0.3 %). They are trained for two epochs on 30,000 photographs cut into 8 x 8
patches; on so small a grid full attention's products are only a seventh of a block's work, so that little can be saved.
12 runs took 72 minutes on one thread.
"""

from __future__ import annotations

from functools import partial

from vitlib.train.recipe import recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.shape import LONGER, cost
from vitworkshop.studies.study import QUICK, Study, train_variant

STUDY = Study(
    question="Is axial attention worth what it costs, at equal depth and at equal compute?",
    variants={
        f"{attention}, {depth} deep": {"model.attention": attention, "model.depth": depth}
        for attention, depth in (("full", 4), ("axial", 2), ("axial", 4), ("full", 7))
    },
    claims=(
        Claim(
            "at equal depth axial attention is ahead of full (as Axial-ViT-B/32 and B/16 are)",
            "Figure 13",
            "axial, 4 deep",
            "full, 4 deep",
        ),
        Claim(
            "at equal depth it costs more, for there is a second MLP (in million multiply-accumulates)",
            "Appendix D.6",
            "axial, 4 deep",
            "full, 4 deep",
            margin=1.0,
            metric="million_macs",
        ),
        Claim("at equal compute axial attention is ahead of full", "ours", "axial, 4 deep", "full, 7 deep"),
        Claim(
            "as many attentions do as well along one axis as in full",
            "ours",
            "axial, 2 deep",
            "full, 4 deep",
            margin=0.02,
            kind="equal",
        ),
    ),
    base=recipe(QUICK, epochs=2),
    full=LONGER,
    n_train=35_000,  # 5,000 of them held out
    source="Appendix D.6, Figure 13",
    run=partial(train_variant, look=cost),
)
