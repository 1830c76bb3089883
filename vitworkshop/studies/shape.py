"""Which pays most for the compute that it costs: more depth, more width, a wider MLP or smaller patches? Figure 8.

The paper's Appendix D.2 (chapter 12). Its base is 8 deep and 1,024 wide with patches of 32 pixels, judged by 5-shot
accuracy on ImageNet; ours is 4 deep and 96 wide with patches of 8, trained for two epochs on 35,000 photographs of 32 x
32. Depth, width, the MLP's width and the number of patches along a side are doubled, whatever that costs (1.5 to 4.1
times the base's multiply-accumulates), and scaled to equal cost (4.1 times, to within 1 %); once depth, width and the
MLP's width together, at the patches there are. Each is trained at three or four learning rates and speaks through the
best; the base trained four times as long is what as much compute buys without a larger model. Rates were added where
the best of two, and then of three, had been at an edge, or level with it, and with them what is scaled in proportion.
96 runs took 278 minutes on one thread.
"""

from __future__ import annotations

from vitlib.train.recipe import recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import QUICK, Study, at_rates

_RATES = (0.0005, 0.001, 0.002)
_OTHER_RATES = {
    "patch 4": (0.001, 0.002, 0.004),
    "base, longer": (0.001, 0.002, 0.004),
    "237 wide": (0.00025, *_RATES),
    "MLP 1512": (0.00025, *_RATES),
}
_SHAPES = {
    "base": {},
    # twice one thing
    "8 deep": {"model.depth": 8},
    "192 wide": {
        "model.embed_dim": 192,
        "model.mlp_ratio": 1.0,
    },  # its MLP as wide as the base's
    "MLP 384": {"model.mlp_ratio": 4.0},
    # 4.1 times the work; "patch 4" is both
    "17 deep": {"model.depth": 17},
    "237 wide": {"model.embed_dim": 237, "model.mlp_ratio": 0.8102},
    "MLP 1512": {"model.mlp_ratio": 15.75},
    "patch 4": {"model.patch_size": 4},
    "in proportion": {
        "model.depth": 6,
        "model.embed_dim": 162,
        "model.mlp_ratio": 2.03,
    },
    "base, longer": {"epochs": 8},
}


STUDY = Study(
    question="Which pays most for the compute that it costs: more depth, more width, a wider MLP or smaller patches?",
    variants={
        name: run
        for shape, changes in _SHAPES.items()
        for name, run in at_rates(
            shape, changes, _OTHER_RATES.get(shape, _RATES)
        ).items()
    },
    claims=tuple(
        Claim(says, f"{first}, lr=*", f"{second}, lr=*")
        for says, first, second in (
            ("half the patch side helps, with no more parameters", "patch 4", "base"),
            ("twice the depth helps", "8 deep", "base"),
            ("at equal compute depth helps more than width", "17 deep", "237 wide"),
            (
                "at equal compute depth helps more than smaller patches",
                "17 deep",
                "patch 4",
            ),
            (
                "at equal compute depth helps more than longer training",
                "17 deep",
                "base, longer",
            ),
        )
    ),
    base=recipe(QUICK, epochs=2, **{"model.patch_size": 8}),
    n_train=40_000,  # 5,000 of them held out
)
