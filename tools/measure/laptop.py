"""Asks how many core-minutes the preset `laptop` takes here, in float32 and bfloat16, with and without AVX-512.

    python -m tools.measure.laptop            # some minutes on one core; prints
    python -m tools.measure.laptop --save     # and puts this machine's rows into vitlib/results/laptop-times.json

A run with 1,280 pictures is timed on one thread by the processor's clock, and multiplied up to CIFAR-10's 50,000; all
else is the preset's, its twelve epochs and its halved pictures. "AVX2" holds PyTorch's kernels to what a processor
without AVX-512 has.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from unittest.mock import patch

import torch

from vitlib.data.drawn10 import load_drawn10
from vitlib.evidence import RESULTS, load_results, provenance
from vitlib.files import write_json
from vitlib.train.loop import train_model
from vitlib.train.recipe import recipe

N, ALL = 1280, 50_000
AVX2 = {
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
}
KERNELS = {"its own": {}, "AVX2": AVX2}


def core_minutes(precision: str) -> float:
    """Of the whole run, on one thread."""
    torch.set_num_threads(1)
    data, one = load_drawn10("train", n=N), recipe("laptop", precision=precision)
    train_model(recipe(one, epochs=1), data, device="cpu", progress=False)  # to warm up
    began = time.process_time()
    train_model(one, data, device="cpu", progress=False)
    return (time.process_time() - began) * ALL / N / 60


def measured(machine: str) -> list[dict]:
    """The rows of this machine."""
    rows = []
    for kernels, precision in product(KERNELS, ("fp32", "bf16")):
        held = patch.dict(os.environ, KERNELS[kernels])
        with held, ProcessPoolExecutor(1, get_context("spawn")) as pool:
            took = round(pool.submit(core_minutes, precision).result(), 1)
        row = {"machine": machine, "kernels": kernels, "precision": precision}
        rows.append({**row, "core_minutes": took})
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Times this machine; with --save, its rows stand beside those of others."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], allow_abbrev=False
    )
    parser.add_argument("--save", action="store_true", help="write the results file")
    save = parser.parse_args().save
    header = provenance("CIFAR-10", torch.device("cpu"), "as in each row")
    machine = header["hardware"].rpartition(",")[0]
    rows = measured(machine)
    if save:
        path = RESULTS / "laptop-times.json"
        old = load_results("laptop-times")["rows"] if path.is_file() else []
        others = [row for row in old if row["machine"] != machine]
        command = "python -m tools.measure.laptop --save"
        about = {"name": "laptop-times", **header, "command": command}
        print(f"wrote {write_json(path, {**about, 'rows': [*others, *rows]})}")


if __name__ == "__main__":
    main()
