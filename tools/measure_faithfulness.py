"""Measures which explanation is true of a model: deletion and insertion, over 1,000 test images a model.

    python -m tools.measure_faithfulness            # some twenty minutes a model on one core; goes on where it was

Writes vitlib/results/faithfulness.json: for each model and eraser, for each explanation and baseline, the area under
the deletion and the insertion curve of the predicted class's probability (mean and standard deviation over the images)
and the share of answers that stay when the first quarter of the patches is erased. What CIFAR-10's absence leaves out
keeps what was measured before.
"""

from __future__ import annotations

import torch
from tqdm.auto import tqdm

from vitlib.data.cifar10 import find_cifar10
from vitlib.data.dataset import load_dataset, normalize
from vitlib.evidence import RESULTS, load_results, provenance, summarize, write_json
from vitlib.explain.erasing import answer_with
from vitlib.explain.scores import EXPLANATIONS, curve_area, deletion_curve, insertion_curve, patch_scores
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


def measure(name: str, erasers: list[str]) -> dict[str, dict]:
    """Every explanation of one model, by each eraser: areas, and the share of answers that stay."""
    model, _ = load_pretrained(name)
    data = load_dataset(name.split("-")[0], "test", n=IMAGES)
    batches = [normalize(batch) for batch in data.images.split(BATCH)]
    with torch.no_grad():
        answers = [model(images).argmax(1) for images in batches]
    found = {eraser: {"dataset": data.label, "n": len(data), "explanations": {}} for eraser in erasers}
    for explanation in tqdm(EXPLANATIONS, desc=name):
        values = {eraser: {"deletion": [], "insertion": [], "stay": []} for eraser in erasers}
        for i, (images, classes) in enumerate(zip(batches, answers, strict=True)):
            scores = patch_scores(explanation, model, images, classes, seed=i)
            kept = scores.argsort(dim=1, descending=True, stable=True)[:, model.cfg.num_patches // 4 :]
            for eraser, of in values.items():
                for kind, curve in (("deletion", deletion_curve), ("insertion", insertion_curve)):
                    of[kind] += curve_area(curve(model, images, scores, classes, erase=eraser)).tolist()
                stays = answer_with(model, images, kept, eraser).argmax(1) == classes
                of["stay"] += stays.float().tolist()
        for eraser, of in values.items():
            found[eraser]["explanations"][explanation] = {kind: summarize(each) for kind, each in of.items()}
    return found


def main() -> None:
    """Measures what is not in the file yet, model by model, and writes after each."""
    path = RESULTS / "faithfulness.json"
    models = load_results("faithfulness")["models"] if path.is_file() else {}
    for name, erasers in MODELS.items():
        missing = [eraser for eraser in erasers if eraser not in models.get(name, {})]
        if not missing or (name.startswith("cifar10") and find_cifar10() is None):
            continue
        models.setdefault(name, {}).update(measure(name, missing))
        labels = {found["dataset"] for kinds in models.values() for found in kinds.values()}
        header = provenance(" and ".join(sorted(labels)), torch.device("cpu"), "fp32")
        record = {"name": "faithfulness", **header, "command": "python -m tools.measure_faithfulness"}
        write_json(path, {**record, "models": models})


if __name__ == "__main__":
    main()
