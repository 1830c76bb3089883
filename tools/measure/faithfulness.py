"""Measures which explanation is true of a model: deletion and insertion, over 1,000 test images a model.

    python -m tools.measure.faithfulness            # some twenty minutes a model on one core; goes on where it was

Writes vitlib/results/faithfulness.json: for each model and eraser, for each explanation and baseline and for two more,
the area under the deletion and the insertion curve of the predicted class's probability (mean and standard deviation
over the images) and the share of answers that stay when the first quarter of the patches is erased. What is in the file
is not measured again, and what CIFAR-10's absence leaves out keeps what was measured before.
"""

from __future__ import annotations

import torch
from tqdm.auto import tqdm

from vitlib.data.cifar10 import find_cifar10
from vitlib.data.dataset import load_dataset, normalize
from vitlib.evidence import RESULTS, load_results, provenance, summarize
from vitlib.explain.erasing import answer_with
from vitlib.explain.gradients import grad_cam_patches
from vitlib.explain.scores import (
    EXPLANATIONS,
    Scores,
    curve_area,
    deletion_curve,
    insertion_curve,
)
from vitlib.files import write_json
from vitlib.model.patches import patchify
from vitlib.weights.pretrained import load_pretrained

MODELS = {  # and how their patches are erased
    "cifar10-photo": ("remove", "grey"),
    "cifar10-modern": ("remove", "grey"),
    "cifar10-plain": ("remove", "grey"),
    "drawn10-token": ("remove", "grey"),
    "drawn10-token-s1": ("remove",),
    "drawn10-token-s2": ("remove",),
}
IMAGES, BATCH = 1000, 250


def _gradient(model, images, classes, _seed) -> torch.Tensor:
    """The size of the pixels' gradient, added up over a patch: one backward pass (Simonyan et al. 2014)."""
    with torch.enable_grad():
        pixels = images.clone().requires_grad_()
        (grad,) = torch.autograd.grad(
            model(pixels).gather(1, classes[:, None]).sum(), pixels
        )
    return patchify(grad.abs(), model.cfg.patch_size).sum(dim=-1)


def _ties_at_random(model, images, classes, seed) -> torch.Tensor:
    """Grad-CAM whose zeros, a third of its patches and more, do not come in the order of the page."""
    scores = grad_cam_patches(model, images, classes)
    drawn = torch.rand(scores.shape, generator=torch.Generator().manual_seed(seed))
    return torch.where(scores > 0, scores, -drawn)


SCORES: dict[str, Scores] = {
    **EXPLANATIONS,
    "gradient": _gradient,
    "grad-cam, ties at random": _ties_at_random,
}


@torch.no_grad()
def measure(name: str, erasers: tuple[str, ...], wanted: list[str]) -> dict[str, dict]:
    """Some explanations of one model, by each eraser: areas, and the share of answers that stay."""
    model, _ = load_pretrained(name)
    data = load_dataset(name.split("-")[0], "test", n=IMAGES)
    batches = [normalize(batch) for batch in data.images.split(BATCH)]
    answers = [model(images).argmax(1) for images in batches]
    found = {
        eraser: {"dataset": data.label, "n": len(data), "explanations": {}}
        for eraser in erasers
    }
    for explanation in tqdm(wanted, desc=name):
        values = {
            eraser: {"deletion": [], "insertion": [], "stay": []} for eraser in erasers
        }
        for i, (images, classes) in enumerate(zip(batches, answers, strict=True)):
            scores = SCORES[explanation](model, images, classes, i)
            kept = scores.argsort(dim=1, descending=True, stable=True)[
                :, model.cfg.num_patches // 4 :
            ]
            for eraser, of in values.items():
                for kind, curve in (
                    ("deletion", deletion_curve),
                    ("insertion", insertion_curve),
                ):
                    of[kind] += curve_area(
                        curve(model, images, scores, classes, erase=eraser)
                    ).tolist()
                stays = answer_with(model, images, kept, eraser).argmax(1) == classes
                of["stay"] += stays.float().tolist()
        for eraser, of in values.items():
            found[eraser]["explanations"][explanation] = {
                kind: summarize(each) for kind, each in of.items()
            }
    return found


def main() -> None:
    """Measures what is not in the file yet, model by model, and writes after each."""
    path = RESULTS / "faithfulness.json"
    models = load_results("faithfulness")["models"] if path.is_file() else {}
    for name, erasers in MODELS.items():
        kinds = models.setdefault(name, {})
        had = [kinds.get(eraser, {}).get("explanations", {}) for eraser in erasers]
        wanted = [one for one in SCORES if not all(one in rows for rows in had)]
        if not wanted or (name.startswith("cifar10") and find_cifar10() is None):
            continue
        for eraser, found in measure(name, erasers, wanted).items():
            rows = kinds.get(eraser, {}).get("explanations", {})
            kinds[eraser] = {**found, "explanations": rows | found["explanations"]}
        labels = {
            found["dataset"] for kinds in models.values() for found in kinds.values()
        }
        header = provenance(" and ".join(sorted(labels)), torch.device("cpu"), "fp32")
        record = {
            "name": "faithfulness",
            **header,
            "command": "python -m tools.measure.faithfulness",
        }
        write_json(path, {**record, "models": models})


if __name__ == "__main__":
    main()
