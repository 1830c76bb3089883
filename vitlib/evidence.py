"""Results: where they come from, where they are, and what paired runs say."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path

import torch

from vitlib.checks import checked
from vitlib.device import describe_hardware
from vitlib.files import read_json

__all__ = ["load_results"]

VERSION = "0.1.0"  # of the packages; pyproject.toml reads it here
RESULTS = Path(__file__).parent / "results"
# the command line sets it, for the results
COMMAND: ContextVar[str] = ContextVar("COMMAND", default="")


def provenance(dataset: str, device: torch.device, precision: str) -> dict[str, str]:
    """The header of a results file: what made it, from which data, where."""
    return {
        "command": COMMAND.get(),
        "vitlib_version": VERSION,
        "torch_version": str(torch.__version__),
        "dataset": dataset,
        "hardware": describe_hardware(device),
        "precision": precision,
    }


def summarize(values: Sequence[float]) -> dict:
    """Mean, standard deviation (None for one value) and number of values."""
    spread = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "sd": spread, "n": len(values)}


def paired_difference(
    first: Mapping[int, float], second: Mapping[int, float]
) -> dict | None:
    """What the differences first - second (each seed -> score) say, paired by seed; None of fewer than two.

    "difference" is their mean, "se" its standard error, "interval" of 95 % (Student's t), "n" their number.
    """
    try:
        from scipy.stats import t
    except ImportError as error:
        raise ImportError(
            'an interval needs SciPy: pip install "vitlib[samples]", or scipy alone'
        ) from error
    differences = [
        first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())
    ]
    if (n := len(differences)) < 2:
        return None
    mean, se = statistics.fmean(differences), statistics.stdev(differences) / n**0.5
    reach = float(t.ppf(0.975, n - 1)) * se
    return {
        "difference": mean,
        "se": se,
        "interval": [mean - reach, mean + reach],
        "n": n,
    }


@checked
def load_results(name: str, folder: str | Path | None = None) -> dict:
    """The results of one run or study, by name.

    Args:
        name: Of a file in the folder, without its ending.
        folder: Where to look; None takes the book's own results, inside the package.

    Raises:
        ValueError: If there are no results of that name, or their file is damaged.

    Source: chapter 09.
    """
    path = Path(folder or RESULTS) / f"{name}.json"
    if name not in (
        known := sorted(p.stem for p in Path(folder or RESULTS).glob("*.json"))
    ):
        raise ValueError(
            f"no results called {name!r}; there are: {', '.join(known) or 'none yet'}"
        )
    return read_json(path, "reinstall vitlib, or run the study again")
