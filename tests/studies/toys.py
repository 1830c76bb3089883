"""Studies that train nothing, for the tests of the runner."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest.mock import patch

import torch

from vitlib.data.dataset import Dataset
from vitworkshop.studies import registry
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.study import Study

DATA = Dataset(
    torch.zeros(20, 3, 32, 32, dtype=torch.uint8), torch.arange(20) % 10, label="toys"
)
VARIANTS = ("a", "b")


def row(variant: str, seed: int, score: float | None = None) -> dict:
    """A finished run, as `Study.run` returns it."""
    final = {
        "val_accuracy": ord(variant[0]) / 1000 + seed / 100 if score is None else score
    }
    return {
        "variant": variant,
        "changes": {},
        "seed": seed,
        "seconds": 1.0,
        "final": final,
    }


def run_toy(study, variant, seed, job):
    """A run: leaves a line in the file `calls` of the study's folder."""
    with open(job.out / "calls", "a") as calls:
        calls.write(f"{variant} {seed}\n")
    return [row(variant, seed) | {"changes": study.variants[variant]}]


def calls(folder) -> list[tuple[str, int]]:
    """Which runs were done there, in their order."""
    path = folder / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(line.split()[0], int(line.split()[1])) for line in lines]


def toy(**more) -> Study:
    """Two variants, a and b, whose accuracies are 0.097 and 0.098 and a hundredth more with each seed."""
    claim = Claim("b is ahead", "Table 1", ("b",), ("a",), margin=0.0005)
    usual = {
        "variants": {name: {} for name in VARIANTS},
        "claims": (claim,),
        "base": None,
        "run": run_toy,
    }
    return Study(
        **{"question": "Which?", "source": "Table 1", "holdout": False, **usual, **more}
    )


@contextlib.contextmanager
def only(**studies: Study) -> Iterator[None]:
    """These are all studies there are, and the plan, inside a `with`."""
    with (
        patch.dict(STUDIES, studies, clear=True),
        patch.object(registry, "PLAN", tuple(studies)),
    ):
        yield
