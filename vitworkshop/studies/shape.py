"""Which dimension of a ViT is best made larger? The paper's Figure 8.

Which pays most for the compute that it costs: more depth, more width, a wider MLP or smaller patches?

The paper's base is 8 deep and 1,024 wide with patches of 32 pixels, trained on ImageNet; ours is 4 deep and 96 wide
with patches of 8, trained for two epochs on 35,000 photographs of 32 x 32. Depth, width, the MLP's width and the number
of patches along a side are doubled, whatever that costs (1.5 to 4.1 times the base's multiply-accumulates), and scaled
to equal cost (4.1 times, to within 1 %). Each is trained at two learning rates and speaks through the better one; the
base trained four times as long is what as much compute buys without a larger model.

- twice the depth helps: differs, -0.4 ± 0.2 points (standard error, n = 3).
- half the patch side helps, with no more parameters: agrees, +3.9 ± 0.3 points (standard error, n = 3).
- twice the depth helps more than twice the width, which costs more: differs, -3.1 ± 0.1 points (standard error, n = 3).
- at equal compute depth helps more than width: differs, -3.7 ± 0.6 points (standard error, n = 3).
- at equal compute depth helps more than a wider MLP: open, +0.1 ± 0.2 points (standard error, n = 3); about 3 seeds
  would decide.
- at equal compute depth helps more than smaller patches: differs, -5.1 ± 0.7 points (standard error, n = 3).
- at equal compute a wider MLP helps more than width: differs, -3.8 ± 0.5 points (standard error, n = 3).
- at equal compute smaller patches help more than width: agrees, +1.4 ± 0.2 points (standard error, n = 3).
- at equal compute depth helps more than longer training: differs, -16.6 ± 0.6 points (standard error, n = 3).

54 runs on CIFAR-10 (JPEG q75) with 3 seeds took 177 minutes: `python -m vitlib study run shape --data cifar10 --threads
1`
"""

from __future__ import annotations

from functools import partial

from vitlib.model.costs import count_macs
from vitlib.model.vit import VisionTransformer
from vitlib.train.recipe import recipe
from vitworkshop.studies.study import FULL, QUICK, Claim, Study, train_longer

_RATES = (0.001, 0.002)
_SHAPES = {
    "base": {},
    # twice one thing
    "8 deep": {"model.depth": 8},
    "192 wide": {"model.embed_dim": 192, "model.mlp_ratio": 1.0},  # its MLP as wide as the base's
    "MLP 384": {"model.mlp_ratio": 4.0},
    # 4.1 times the work; "patch 4" is both
    "17 deep": {"model.depth": 17},
    "237 wide": {"model.embed_dim": 237, "model.mlp_ratio": 0.8102},
    "MLP 1512": {"model.mlp_ratio": 15.75},
    "patch 4": {"model.patch_size": 4},
    "base, longer": {"times": 4},
}
#: The scale "full" with the shapes of "quick", where shapes are matched.
LONGER = {key: value for key, value in FULL.items() if not key.startswith("model.")}


def cost(model: VisionTransformer) -> dict[str, float]:
    """What a forward pass of one image costs, in millions of multiply-accumulates."""
    return {"million_macs": round(count_macs(model.cfg) / 1e6, 3)}


def _rates(shape: str) -> tuple[str, ...]:
    return tuple(f"{shape}, lr={rate:g}" for rate in _RATES)


def _ahead(says: str, first: str, second: str, source: str = "Figure 8") -> Claim:
    return Claim(says, source, _rates(first), _rates(second), margin=0.01)


STUDY = Study(
    question="Which pays most for the compute that it costs: more depth, more width, a wider MLP or smaller patches?",
    variants={
        f"{name}, lr={rate:g}": {**changes, "lr": rate}
        for name, changes in _SHAPES.items()
        for rate in _RATES
    },
    claims=(
        _ahead("twice the depth helps", "8 deep", "base"),
        _ahead("half the patch side helps, with no more parameters", "patch 4", "base"),
        _ahead("twice the depth helps more than twice the width, which costs more", "8 deep", "192 wide"),
        _ahead("at equal compute depth helps more than width", "17 deep", "237 wide"),
        _ahead("at equal compute depth helps more than a wider MLP", "17 deep", "MLP 1512"),
        _ahead("at equal compute depth helps more than smaller patches", "17 deep", "patch 4"),
        _ahead("at equal compute a wider MLP helps more than width", "MLP 1512", "237 wide"),
        _ahead("at equal compute smaller patches help more than width", "patch 4", "237 wide"),
        _ahead("at equal compute depth helps more than longer training", "17 deep", "base, longer", "ours"),
    ),
    base=recipe(QUICK, epochs=2, **{"model.patch_size": 8}),
    full=LONGER,
    n_train=40_000,  # 5,000 of them held out
    source="Figure 8",
    run=partial(train_longer, look=cost),
)
