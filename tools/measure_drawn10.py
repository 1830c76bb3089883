"""Measures how hard Drawn-10 is: a ridge classifier on raw pixels, and a small ViT if its card is here.

    python -m tools.measure_drawn10        # about 10 s on two cores

Writes vitlib/results/drawn10-difficulty.json. Pixels alone should not be enough (ridge under 45 %), while a small
ViT should pass 80 % in about two minutes; that second number is in the card of the trained model, drawn10-small.
"""

from __future__ import annotations

import time

import torch
from torch.nn.functional import one_hot

from vitlib.data.dataset import load_dataset, normalize, split_validation
from vitlib.evidence import RESULTS, provenance, write_json

LAMBDAS = (10.0, 100.0, 1e3, 1e4, 1e5)


def ridge(x: torch.Tensor, y: torch.Tensor, strength: float) -> torch.Tensor:
    """The closed form, (X'X + strength I)^-1 X'Y with targets -1 and 1; (n, D) -> (D, 10)."""
    targets = 2.0 * one_hot(y, 10) - 1
    return torch.linalg.solve(x.T @ x + strength * torch.eye(x.shape[1]), x.T @ targets)


def main() -> None:
    """Tunes on a validation split, reads the test split once, writes the record."""
    start = time.process_time()
    train, test = load_dataset("drawn10", "train"), load_dataset("drawn10", "test")
    drawn = time.process_time() - start

    def features(images: torch.Tensor) -> torch.Tensor:
        return torch.cat([normalize(images).flatten(1), torch.ones(len(images), 1)], 1)  # (n, 3072 + 1)

    def accuracy(weights: torch.Tensor, images: torch.Tensor, labels: torch.Tensor) -> float:
        return ((features(images) @ weights).argmax(1) == labels).double().mean().item()

    (x, y), val = split_validation(train.images, train.labels, 1000)
    tried = {strength: accuracy(ridge(features(x), y, strength), *val) for strength in LAMBDAS}
    best = max(tried, key=tried.__getitem__)
    weights = ridge(features(train.images), train.labels, best)
    record = {
        "name": "drawn10-difficulty",
        **provenance(train.label, torch.device("cpu"), "fp32"),
        "command": "python -m tools.measure_drawn10",
        "draw_core_seconds": round(drawn, 2),  # for the 12,000 images of both splits
        "ridge": {
            "strength": best,
            "val_accuracy": {f"{strength:g}": round(score, 4) for strength, score in tried.items()},
            "test_accuracy": round(accuracy(weights, test.images, test.labels), 4),
            "n_test": len(test),
        },
        "seconds": round(time.process_time() - start, 1),  # of one core
    }
    print(
        f"ridge on pixels: {record['ridge']['test_accuracy']:.1%} of {len(test):,} test images; "
        f"wrote {write_json(RESULTS / 'drawn10-difficulty.json', record)}"
    )


if __name__ == "__main__":
    main()
