"""Measures how hard Drawn-10 is: what colours tell a small network, and what pixels tell a ridge classifier.

    python -m tools.measure.drawn10        # about a minute on two cores

Writes vitlib/results/drawn10-difficulty.json. Colours should tell little, and pixels alone should not be enough (ridge
under 45 %), while a small ViT should pass 80 % in about two minutes; that number is in the card of drawn10-small.
"""

from __future__ import annotations

import time

import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot

from vitlib.data.dataset import load_dataset, normalize, split_validation
from vitlib.evidence import RESULTS, provenance, summarize
from vitlib.files import write_json
from vitlib.train.transfer import ridge_weights

LAMBDAS = (10.0, 100.0, 1e3, 1e4, 1e5)


def ridge(x: torch.Tensor, y: torch.Tensor, strength: float) -> torch.Tensor:
    """The weights for targets -1 and 1, the constant column's shrunk like the others; (n, D) -> (D, 10)."""
    return ridge_weights(x, 2.0 * one_hot(y, 10) - 1, strength)


def pixels(images: torch.Tensor) -> torch.Tensor:
    """All of them, and a 1: (n, 3072 + 1)."""
    return torch.cat([normalize(images).flatten(1), torch.ones(len(images), 1)], 1)


def mean_colour(images: torch.Tensor) -> torch.Tensor:
    """Mean red, green and blue: (n, 3)."""
    return normalize(images).mean(dim=(2, 3))


def grey_histogram(images: torch.Tensor) -> torch.Tensor:
    """The square root of the share of pixels in each of 32 steps of grey: (n, 32)."""
    step = images.float().mean(dim=1).flatten(1).div(8).long()  # (n, 1024)
    return (
        torch.zeros(len(images), 32)
        .scatter_add_(1, step, torch.full(step.shape, 1 / 1024))
        .sqrt()
    )


def network(x: torch.Tensor, y: torch.Tensor, seed: int) -> nn.Module:
    """One hidden layer of 64, trained for 15 epochs; nothing is tuned."""
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.BatchNorm1d(x.shape[1]),
        nn.Linear(x.shape[1], 64),
        nn.GELU(),
        nn.Linear(64, 10),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    for _ in range(15):
        for batch in torch.randperm(len(x)).split(128):
            loss = cross_entropy(model(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.eval()


def accuracy(logits: torch.Tensor, labels: torch.Tensor) -> float:
    return round((logits.argmax(1) == labels).double().mean().item(), 4)


def colours(of, train, test) -> dict:
    """What three such networks reach on the test images from these features alone."""
    x, test_x = of(train.images), of(test.images)
    found = summarize(
        [
            accuracy(network(x, train.labels, seed)(test_x), test.labels)
            for seed in range(3)
        ]
    )
    return {"test_accuracy": found.pop("mean"), **found, "n_test": len(test)}


def main() -> None:
    """Tunes on a validation split, reads the test split once, writes the record."""
    start = time.process_time()
    train, test = load_dataset("drawn10", "train"), load_dataset("drawn10", "test")
    drawn = time.process_time() - start
    (x, y), (val_x, val_y) = split_validation(pixels(train.images), train.labels, 1000)
    tried = {
        strength: accuracy(val_x @ ridge(x, y, strength), val_y) for strength in LAMBDAS
    }
    best = max(tried, key=tried.__getitem__)
    logits = pixels(test.images) @ ridge(pixels(train.images), train.labels, best)
    record = {
        "name": "drawn10-difficulty",
        **provenance(train.label, torch.device("cpu"), "fp32"),
        "command": "python -m tools.measure.drawn10",
        "draw_core_seconds": round(drawn, 2),  # for the 12,000 images of both splits
        "mean_colour": colours(mean_colour, train, test),
        "grey_histogram": colours(grey_histogram, train, test),
        "ridge": {
            "strength": best,
            "val_accuracy": {
                f"{strength:g}": score for strength, score in tried.items()
            },
            "test_accuracy": accuracy(logits, test.labels),
            "n_test": len(test),
        },
        "seconds": round(time.process_time() - start, 1),  # of one core
    }
    print(
        f"mean colour: {record['mean_colour']['test_accuracy']:.1%}, "
        f"greys: {record['grey_histogram']['test_accuracy']:.1%}, "
        f"ridge on pixels: {record['ridge']['test_accuracy']:.1%} of {len(test):,} test images; "
        f"wrote {write_json(RESULTS / 'drawn10-difficulty.json', record)}"
    )


if __name__ == "__main__":
    main()
