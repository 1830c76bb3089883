"""Studies that train nothing, for the tests of the runner."""

from __future__ import annotations

import torch

from vitlib.data.dataset import Dataset
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import Study

DATA = Dataset(
    torch.zeros(20, 3, 32, 32, dtype=torch.uint8), torch.arange(20) % 10, label="toys"
)


def run_toy(study, variant, seed, job):
    """A run: leaves a line in the file `calls` of the study's folder."""
    with open(job.out / "calls", "a") as calls:
        calls.write(f"{variant} {seed}\n")
    return [{"final": {"val_accuracy": ord(variant[0]) / 1000 + seed / 100}}]


def calls(folder) -> list[tuple[str, int]]:
    """Which runs were done there, in their order."""
    lines = (folder / "calls").read_text().splitlines()
    return [(line.split()[0], int(line.split()[1])) for line in lines]


def toy(**more) -> Study:
    """Two variants, a and b, whose accuracies are 0.097 and 0.098 and a hundredth more with each seed."""
    usual = {
        "variants": {"a": {}, "b": {}},
        "claims": (Claim("b is ahead", "b", "a", margin=0.0005),),
        "base": None,
        "seeds": (0, 1),
        "run": run_toy,
    }
    return Study(**{"question": "Which?", **usual, **more})
