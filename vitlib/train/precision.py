"""float32 or bfloat16: whichever trains a model faster here, measured (not in the paper)."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cache

import torch

from vitlib.config import ResNetConfig, ViTConfig
from vitlib.device import cpuinfo
from vitlib.model.vit import build_model

SECONDS = 0.25  # for each of the two


def pick_precision(device: torch.device, model: ViTConfig | ResNetConfig) -> str:
    """The faster of "bf16" and "fp32" for training a model on a device.

    bfloat16 wins on GPUs that have it. On CPUs that have it, as Linux tells, both are measured for ViTs at least 64
    wide: with AMX it took 0.6 to 0.9 of float32's time (the wider, the less), without it 0.7 on one machine and 1.3 on
    another.
    """
    if device.type == "cuda":
        return (
            "bf16"
            if torch.cuda.is_bf16_supported(including_emulation=False)
            else "fp32"
        )
    wide = isinstance(model, ViTConfig) and model.embed_dim >= 64
    if device.type != "cpu" or not wide or "bf16" not in cpuinfo():
        return "fp32"
    return "bf16" if time_bf16(model, torch.get_num_threads()) < 1 else "fp32"


@cache
def time_bf16(model: ViTConfig, threads: int) -> float:
    """The time of a block's forward and backward pass in bfloat16, as a share of float32's with as many threads."""
    with torch.random.fork_rng(devices=[]):
        block = build_model(replace(model, depth=1))
        images = torch.randn(64, model.in_chans, *model.image_shape)
        best = {False: math.inf, True: math.inf}
        end = time.monotonic() + 2 * SECONDS
        while math.inf in best.values() or time.monotonic() < end:
            for bf16 in best:  # in turn, so that other work on the machine slows both
                start = time.perf_counter()
                with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                    loss = block(images).float().square().mean()
                loss.backward()
                best[bf16] = min(best[bf16], time.perf_counter() - start)
    return best[True] / best[False]
