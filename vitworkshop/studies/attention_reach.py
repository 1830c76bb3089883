"""What does training make of the heads: how far do they look, and how evenly do they spread, in each layer? Figure 7.

The paper's Figure 7 (right) and Appendix D.7 (chapter 13). Every trained model stands beside itself before training, on
the same held-out images. "entropy" is that of a row of attention, the mean over heads, queries and images, as a share
of what rows that read all tokens alike have; "distance" is `vl.attention_distance` in pixels, of a layer or of one
head. "rise" is the last layer's distance minus the first's; "spread" is the widest head's distance minus the
narrowest's, and "near" the narrowest's, both in the first layer. The models are 96 wide and 4 deep, trained for two
epochs on 20,000 photographs: enough to tell classes apart, far from the paper's schedules. 30 runs took 97 minutes on
one thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

from vitlib.data.dataset import Dataset, normalize
from vitlib.explain.attention import attention_distance, attention_entropy
from vitlib.train.recipe import recipe
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import QUICK, Job, Study, initial_model, train_variant

UNTRAINED = ", untrained"
IMAGES, BATCH = 500, 50


@torch.no_grad()
def reach(model: Any, data: Dataset) -> dict[str, float]:
    """Entropy and distance of a ViT's heads over the first images of `data`; the keys are the module's words."""
    device, cfg, entropies, distances = next(model.parameters()).device, model.cfg, [], []
    for batch in data.images[:IMAGES].split(BATCH):
        maps = model.attention_maps(normalize(batch.to(device))).float()
        entropies += [attention_entropy(maps)] * len(batch)
        distances += [attention_distance(maps, cfg.grid, cfg.patch_size)] * len(batch)
    shares = torch.stack(entropies).mean(dim=0) / math.log2(cfg.num_patches + 1)  # (L, h)
    pixels = torch.stack(distances).mean(dim=0)  # (L, h)
    layers, first = pixels.mean(dim=1), pixels[0]
    found = {"entropy": shares.mean(), "rise": layers[-1] - layers[0], "spread": first.max() - first.min()}
    found["near"] = first.min()
    for layer in range(len(pixels)):
        found |= {f"entropy_{layer}": shares[layer].mean(), f"distance_{layer}": layers[layer]}
        found |= {f"distance_{layer}_{head}": value for head, value in enumerate(pixels[layer])}
    return {name: round(value.item(), 4) for name, value in found.items()}


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict] | None:
    seen = job.val or job.data
    if not variant.endswith(UNTRAINED):
        return train_variant(study, variant, seed, job, lambda model: reach(model, seen))
    own = study.variants[variant]
    changes: dict[str, Any] = {**job.changes, **own}
    model = initial_model(recipe(study.base or QUICK, **changes).model, seed)
    row = {"variant": variant, "changes": own, "seed": seed, "seconds": 0.0}
    return [row | {"final": reach(model.eval(), seen)}]


_MODELS: dict[str, dict[str, Any]] = {
    "patch 4": {},
    "patch 8": {"model.patch_size": 8},
    "hybrid": {"model.patch_embed": "hybrid"},  # 64 places, as many as patches of 4
    "patch 2": {"model.patch_size": 2},
}


def _before(says: str, margin: float, metric: str, but: str = "") -> Iterator[Claim]:
    """A claim on each model beside itself before training: its entropy falls, all else rises."""
    for name in (name for name in _MODELS if name != but):
        of = f"{says} ({name})"
        if metric == "entropy":
            yield Claim(of, "ours", name + UNTRAINED, name, margin, metric=metric)
        else:
            yield Claim(of, "ours, after Section 4.5", name, name + UNTRAINED, margin, metric=metric)


def _hybrid(says: str, source: str, metric: str) -> Claim:
    return Claim(says, source, "hybrid", "patch 4", margin=1.0, metric=metric)


def _more_even(says: str, first: str, second: str, margin: float = 0.02) -> Claim:
    return Claim(says, "ours", first, second, margin, metric="entropy")


STUDY = Study(
    question="What does training make of the heads: how far do they look, and how evenly do they spread, in each "
    "layer?",
    variants={
        "patch 4": {},
        **{name + UNTRAINED: changes for name, changes in _MODELS.items()},
        "patch 8": _MODELS["patch 8"],
        "hybrid": _MODELS["hybrid"],
        "patch 4, twice as long": {"times": 2},
        "patch 4, lr=0.0005": {"lr": 0.0005},
        "patch 2": _MODELS["patch 2"],  # takes as long as all others together
    },
    claims=(
        *_before("training makes attention less even", 0.05, "entropy"),
        *_before("the last layer looks farther than the first, by more than untrained", 1.0, "rise"),
        *_before("heads of the first layer differ in how far they look", 1.0, "spread", "hybrid"),
        _hybrid(
            "the first layer looks farther in hybrids, the mean of its heads",
            "ours, after Section 4.5",
            "distance_0",
        ),
        _hybrid(
            "the nearest head of the first layer looks farther in hybrids",
            "Section 4.5; Figure 11",
            "near",
        ),
        _more_even("more patches, more even attention", "patch 2", "patch 8", margin=0.05),
        _more_even("longer training makes attention less even", "patch 4", "patch 4, twice as long"),
        _more_even(
            "a quarter of the learning rate leaves attention more even", "patch 4, lr=0.0005", "patch 4"
        ),
    ),
    base=recipe(QUICK, epochs=2),
    n_train=25_000,  # 5,000 of them held out
    source="Figure 7 (right), Figure 11, Section 4.5, Appendix D.7",
    metric="entropy",
    measure="entropy of attention as a share of the even row's",
    run=_run,
)
