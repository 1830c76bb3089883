"""Where it computes, and from which seed."""

from __future__ import annotations

import os
import platform
import random
from pathlib import Path

import numpy as np
import torch

__all__ = ["cpuinfo", "describe_hardware", "pick_device", "seed_everything"]


def seed_everything(seed: int) -> None:
    """Seed Python's, NumPy's and PyTorch's random numbers (all devices).

    Args:
        seed: Any integer in [0, 2**32).

    Raises:
        ValueError: If the seed is out of range.

    Source: chapter 09.
    """
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ValueError(f"seed must be an integer in [0, 2**32), got {seed!r}")
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - seeds the readers' own use of it too
    torch.manual_seed(seed)


def pick_device(name: str = "auto") -> torch.device:
    """The device to compute on.

    Args:
        name: "auto" takes CUDA, then Apple's MPS, then the CPU; or one of "cpu", "cuda", "mps".

    Raises:
        ValueError: If the name is unknown or this machine has no such device.

    Source: chapter 09.
    """
    here = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(kind for kind, available in here.items() if available)
    kind = name.split(":")[0]
    if kind not in here:
        raise ValueError(f"unknown device {name!r}; choose auto, cpu, cuda or mps")
    if not here[kind]:
        raise ValueError(f"device {name!r} is not available on this machine; use auto or cpu")
    return torch.device(name)


def cpuinfo() -> str:
    """What Linux tells of its processors, "" elsewhere."""
    path = Path("/proc/cpuinfo")
    return path.read_text() if path.exists() else ""


def describe_hardware(device: torch.device) -> str:
    """The GPU's name, or the processor's with the threads that PyTorch uses, as it stands in results."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    names = [line.split(":")[1].strip() for line in cpuinfo().splitlines() if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {torch.get_num_threads()} of {os.cpu_count()} cores"
