"""Seeds, devices, counts, and files that are either whole or absent."""

from __future__ import annotations

import json
import os
import platform
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from vitlib.config import ViTConfig

__all__ = [
    "RESULTS",
    "count_macs",
    "count_parameters",
    "load_results",
    "pick_device",
    "seed_everything",
    "write_atomic",
    "write_json",
]

RESULTS = Path(__file__).parent / "results"


def seed_everything(seed: int) -> None:
    """Seed Python's, NumPy's and PyTorch's random numbers (all devices).

    Args:
        seed: Any integer in [0, 2**32).

    Raises:
        ValueError: If the seed is out of range.
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


def count_parameters(module: nn.Module) -> int:
    """Number of parameters in `module`; works on the meta device too.

    >>> count_parameters(nn.Linear(3, 2))
    8
    """
    return sum(p.numel() for p in module.parameters())


def count_macs(cfg: ViTConfig) -> int:
    """Multiply-accumulates of one forward pass for one image, attention products included.

    Counted: the patch embedding, the four D x D projections, the two T x T products and the MLP of
    each block, and a linear head. Norms, softmax and activations are left out, as is usual. An
    overlapping or stem embedding and an MLP head are counted as the plain ones.

    Source: Section 3.1; the appendix of the book lists the values for Ti/S/B/L/H.

    >>> round(count_macs(ViTConfig.preset("vit-b/16")) / 1e9, 4)
    17.5638
    """
    tokens, width = cfg.num_patches + 1, cfg.embed_dim
    embedding = cfg.num_patches * cfg.patch_size**2 * cfg.in_chans * width
    projections = tokens * 4 * width**2
    attention = 2 * tokens**2 * width  # queries by keys, weights by values
    mlp = tokens * 2 * width * cfg.hidden_dim
    return embedding + cfg.depth * (projections + attention + mlp) + width * cfg.num_classes


def write_atomic(path: str | Path, content: bytes | Callable[[Path], object]) -> Path:
    """Write a file so that a reader finds the old one or the new one, never half of it.

    Args:
        path: Where the file goes; its folder is made if needed.
        content: The bytes, or a function that writes them to the path it is given.

    Returns:
        The path. On any failure, Ctrl-C included, the old file stays and nothing else is left.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    os.close(handle)
    try:
        if callable(content):
            content(Path(name))
        else:
            Path(name).write_bytes(content)
        with open(name, "rb+") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp makes files only the owner can read
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
    return path


def write_json(path: str | Path, value: object) -> Path:
    """Write `value` to `path` as indented JSON, atomically."""
    return write_atomic(path, (json.dumps(value, indent=1) + "\n").encode())


def load_results(name: str) -> dict:
    """The committed results of one run or study, by name.

    Raises:
        ValueError: If there are no results of that name, or their file is damaged.
    """
    path = RESULTS / f"{name}.json"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in RESULTS.glob("*.json"))) or "none yet"
        raise ValueError(f"no results called {name!r}; there are: {known}")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}); reinstall vitlib, or run the study again") from error
