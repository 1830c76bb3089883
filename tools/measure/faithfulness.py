"""Measures which explanation is true of a model, beside orders that know less than it claims to know.

    python -m tools.measure.faithfulness     # three to six minutes a model on one core; goes on where it was

Writes vitlib/results/faithfulness.json: for each model and test, the mean area under the curve of the predicted class's
probability, of each explanation and each blind order; and for each explanation beside each control the mean over the
pictures of the difference of the two areas, and its standard error. Controls are four blind orders, and for the
deletion of tokens also borrowed maps: the same explanation of the same class, from each other model of the same data,
and the mean rank of all of these (not of integrated gradients, the slowest). Equal scores stand in an order drawn at
random: thrice where a third of them are equal. A model in the file is not measured again, and what CIFAR-10's absence
leaves out keeps what was measured before.
"""

from __future__ import annotations

from typing import Any

import torch
from tqdm.auto import tqdm

from vitlib.controls import border_contrast, borrowed_scores, break_ties, paired
from vitlib.data.cifar10 import find_cifar10
from vitlib.data.dataset import load_dataset, normalize
from vitlib.evidence import RESULTS, load_results, provenance
from vitlib.explain.scores import (
    BASELINES,
    EXPLANATIONS,
    curve_area,
    deletion_curve,
    insertion_curve,
    patch_scores,
)
from vitlib.files import write_json
from vitlib.model.patches import patchify
from vitlib.weights.pretrained import load_pretrained

DELETION, INSERTION, GREY = "deletion", "insertion", "deletion, grey"
TESTS = {  # a curve, and how patches are erased
    DELETION: (deletion_curve, "remove"),
    INSERTION: (insertion_curve, "remove"),
    GREY: (deletion_curve, "grey"),
}
MODELS = {
    "drawn10-token": (DELETION, INSERTION, GREY),
    "drawn10-token-s1": (DELETION, INSERTION),
    "drawn10-token-s2": (DELETION, INSERTION),
    "cifar10-photo": (DELETION, GREY),
    "cifar10-modern": (DELETION,),
    "cifar10-plain": (DELETION,),
}
NAMES = [name for name in EXPLANATIONS if name not in BASELINES]
IMAGES, STEPS, DRAWS = 200, 8, 3
TIED = ("grad-cam", "centre")  # where many scores are equal


@torch.no_grad()
def measure(name: str, tests: tuple[str, ...]) -> dict[str, Any]:
    """All explanations of one model beside all controls, by each test."""
    model = load_pretrained(name)[0]
    trained_on = name.split("-")[0]
    others = [one for one in MODELS if one.startswith(trained_on) and one != name]
    lenders = {one: load_pretrained(one)[0] for one in others}
    data = load_dataset(trained_on, "test", n=IMAGES)
    images = normalize(data.images)
    classes = model(images).argmax(1)

    def areas(test: str, scores: torch.Tensor, draws: int = 1) -> torch.Tensor:
        """The area of each picture's curve, the mean over orders of what is equal: (B,)."""
        curve, eraser = TESTS[test]
        drawn = [
            curve_area(curve(model, images, ranks, classes, STEPS, eraser))
            for ranks in (break_ties(scores, seed) for seed in range(draws))
        ]
        return torch.stack(drawn).mean(dim=0)

    def own(one: str) -> dict[str, torch.Tensor]:
        scores = patch_scores(one, model, images, classes)
        draws = DRAWS if one in TIED else 1
        return {test: areas(test, scores, draws) for test in tests}

    contrast = border_contrast(images)[:, None]
    border = patchify(contrast, model.cfg.patch_size).mean(dim=-1)
    blind = {one: own(one) for one in BASELINES}
    blind["border"] = {test: areas(test, border) for test in tests}
    found: dict[str, Any] = {"dataset": data.label, "n": len(data)}
    for test in tests:
        of = {one: _rounded(row[test].mean().item()) for one, row in blind.items()}
        found[test] = {"areas": of, "beside": {}}
    for one in tqdm(NAMES, desc=name):
        lent = {}
        if one != "integrated gradients":
            lent = {
                lender: borrowed_scores(one, [of], images, classes)
                for lender, of in lenders.items()
            }
            lent["borrowed"] = torch.stack([*lent.values()]).mean(dim=0)
        for test, mine in own(one).items():
            controls = {control: row[test] for control, row in blind.items()}
            if test == DELETION:
                controls |= {control: areas(test, of) for control, of in lent.items()}
            found[test]["areas"][one] = _rounded(mine.mean().item())
            found[test]["beside"][one] = {
                control: [_rounded(of["difference"]), _rounded(of["se"])]
                for control, values in controls.items()
                for of in [paired(mine, values)]
            }
    return found


def _rounded(number: float) -> float:
    return round(number, 5)


def main() -> None:
    """Measures what is not in the file yet, model by model, and writes after each."""
    path = RESULTS / "faithfulness.json"
    models = load_results("faithfulness")["models"] if path.is_file() else {}
    for name, tests in MODELS.items():
        if name in models or (name.startswith("cifar10") and find_cifar10() is None):
            continue
        models[name] = measure(name, tests)
        labels = {one["dataset"] for one in models.values()}
        header = provenance(" and ".join(sorted(labels)), torch.device("cpu"), "fp32")
        record = {
            "name": "faithfulness",
            **header,
            "command": "python -m tools.measure.faithfulness",
        }
        write_json(path, {**record, "models": models})


if __name__ == "__main__":
    main()
