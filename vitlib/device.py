"""Where it computes, how precisely, how fast, and from which seed."""

from __future__ import annotations

import hashlib
import os
import platform
import random
from pathlib import Path

import numpy as np
import torch

from vitlib.checks import Natural, checked

__all__ = ["pick_device", "seed_everything"]


@checked
def seed_everything(seed: Natural) -> None:
    """Seed Python's, NumPy's and PyTorch's random numbers (all devices).

    Source: chapter 09.
    """
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - seeds the readers' own use of it too
    torch.manual_seed(seed)


def pick_device(name: str | torch.device = "auto") -> torch.device:
    """The device to compute on.

    Args:
        name: "auto" takes CUDA, then Apple's MPS, then the CPU; or one of "cpu", "cuda", "mps" (or as "cuda:1").

    Raises:
        ValueError: If the name is unknown or this machine has no such device.

    Source: chapter 09.
    """
    here = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(kind for kind, available in here.items() if available)
    name = str(name)
    kind, _, index = name.partition(":")
    if kind not in here or not (index.isdecimal() or name == kind):
        raise ValueError(f"unknown device {name!r}; choose auto, cpu, cuda or mps")
    if not here[kind] or int(index or 0) >= (
        torch.cuda.device_count() if kind == "cuda" else 1
    ):
        raise ValueError(
            f"device {name!r} is not available on this machine; use auto or cpu"
        )
    return torch.device(name)


def cpuinfo() -> str:
    """What Linux tells of its processors, "" elsewhere."""
    path = Path("/proc/cpuinfo")
    return path.read_text() if path.exists() else ""


def describe_hardware(device: torch.device) -> str:
    """The GPU's name, or the processor's with its model and the threads that PyTorch uses, as it stands in results."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    lines = (
        line.partition(":") for line in cpuinfo().partition("\n\n")[0].splitlines()
    )
    facts = {key.strip(): value.strip() for key, _, value in lines}
    name = facts.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in facts:  # virtual machines' names often leave the model out
        name += f" (family {facts['cpu family']}, model {facts['model']})"
    return f"{name}, {torch.get_num_threads()} of {os.cpu_count()} cores"


def derive_seed(*parts: int | str) -> int:
    """A 63-bit seed from any parts, so that no two steps, epochs or runs share one."""
    return (
        int.from_bytes(
            hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "big"
        )
        >> 1
    )
