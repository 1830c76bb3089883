"""Speed and memory of a ViT beside other libraries', all in one process, taking turns.

python -m tools.measure.bench           (or: make bench ARGS="--threads 1 --clock cpu")
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.benchmark import Timer
from tqdm.auto import tqdm

from tools.libraries import LIBRARIES
from vitlib import viz
from vitlib.config import ViTConfig
from vitlib.device import pick_device
from vitlib.evidence import provenance
from vitlib.files import write_json
from vitlib.model.costs import count_macs, count_parameters
from vitlib.model.vit import VisionTransformer
from vitlib.train.precision import pick_precision

TURN = 0.2  # seconds that a turn takes at least
Step = Callable[[], None]
Clock = Callable[[], float]
# 192 wide, 6 deep, on images of 32 pixels
CONFIG = ViTConfig(embed_dim=192, depth=6, num_heads=3, mlp_ratio=2.0)
BATCH = 128


def take_turns(
    steps: dict[Any, Step], rounds: int, clock: Clock
) -> dict[Any, list[float]]:
    """Seconds per step in each round. All have a turn in a round, each with its own warm-up; each begins one once."""
    threads = torch.get_num_threads()
    timers = {
        name: Timer("step()", globals={"step": step}, timer=clock, num_threads=threads)
        for name, step in steps.items()
    }
    seconds, names = {name: [] for name in steps}, [*steps]
    with tqdm(total=rounds * len(names), unit="turn") as bar:
        for turn in range(rounds):
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                seconds[name].append(
                    timers[name].blocked_autorange(min_run_time=TURN).median
                )
                bar.update()
    return seconds


def median_ratio(these: list[float], those: list[float]) -> float:
    """The median of the ratios taken round by round."""
    return statistics.median(a / b for a, b in zip(these, those, strict=True))


def build_models(cfg: ViTConfig, device: torch.device) -> tuple[dict, dict[str, str]]:
    """{(library, precision): model} of those that can be built here, and why others cannot."""
    models, skipped = {}, {}
    if (precision := pick_precision(device, cfg)) != "fp32":
        torch.manual_seed(0)
        models["vitlib", precision] = VisionTransformer(cfg).to(device)
    for library, build in LIBRARIES.items():
        try:
            torch.manual_seed(0)
            models[library, "fp32"] = build(cfg).to(device)
        except ModuleNotFoundError as error:
            package = (error.name or library).split(".")[0]
            skipped[library] = f"{package} is not installed; pip install {package}"
        except (
            Exception
        ) as error:  # installed for another torch, or changed beyond recognition
            why = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
            skipped[library] = f"it does not import here ({why})"
    return models, skipped


def model_steps(
    model: nn.Module, precision: str, batches: Iterator, device
) -> dict[str, Step]:
    """A step of training and one of inference."""
    fused = device.type in ("cpu", "cuda")
    optimizer = torch.optim.AdamW(
        model.parameters(), 1e-3, weight_decay=0.05, fused=fused
    )

    def logits_and_labels() -> tuple[Tensor, Tensor]:
        images, labels = (part.to(device, non_blocking=True) for part in next(batches))
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            out = model(images)
            return getattr(
                out, "logits", out
            ).float(), labels  # transformers wraps them

    def train() -> None:
        model.train()
        loss = F.cross_entropy(*logits_and_labels())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    @torch.inference_mode()
    def inference() -> None:
        model.eval()
        logits_and_labels()

    return {"train": train, "inference": inference}


def one_batch(
    cfg: ViTConfig, size: int, device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """The same images and labels at every step, for every model."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(size, cfg.in_chans, *cfg.image_shape, generator=generator)
    labels = torch.randint(cfg.num_classes, (size,), generator=generator)
    return repeat((images.to(device), labels.to(device)))


def measure_memory(*order) -> int | None:
    """`peak_memory` in a process of its own; None if nothing tells."""
    try:
        with ProcessPoolExecutor(1, get_context("forkserver")) as pool:
            return pool.submit(peak_memory, *order, torch.get_num_threads()).result()
    except Exception:  # too little memory, or Windows
        return None


def peak_memory(
    library: str, precision: str, cfg: ViTConfig, batch_size: int, device, threads: int
) -> int:
    """Peak bytes of two train steps, on CUDA the device's."""
    torch.set_num_threads(threads)
    batches, model = (
        one_batch(cfg, batch_size, device),
        LIBRARIES[library](cfg).to(device),
    )
    train = model_steps(model, precision, batches, device)["train"]
    train(), train()
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    import resource  # Windows has no such module

    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(
    rounds: int, clock: str, device: torch.device, seconds: Clock
) -> tuple[str, dict]:
    """The precisions, and of models of all libraries speed, memory and parameters."""
    models, skipped = build_models(CONFIG, device)
    steps, rows = {}, {}
    for (library, precision), model in models.items():
        name, batches = f"{library} {precision}", one_batch(CONFIG, BATCH, device)
        for kind, step in model_steps(model, precision, batches, device).items():
            steps[name, kind] = step
        rows[name] = {
            "parameters": count_parameters(model),
            "peak_memory": measure_memory(library, precision, CONFIG, BATCH, device),
        }
    for (name, kind), found in take_turns(steps, rounds, seconds).items():
        rows[name][kind] = found
    return "; ".join(sorted({precision for _, precision in models})), {
        "config": vars(CONFIG),
        "gmacs": count_macs(CONFIG) / 1e9,
        "batch_size": BATCH,
        "clock": clock,
        "base": "timm fp32" if "timm fp32" in rows else "vitlib fp32",
        "skipped": skipped,
        "rows": rows,
    }


def models_table(result: dict) -> str:
    """Medians over the rounds, and ratios taken round by round."""
    cfg, rows, batch, base = (
        result[key] for key in ("config", "rows", "batch_size", "base")
    )
    cells = []
    for name, row in rows.items():
        memory = f"{row['peak_memory'] / 1e6:,.0f} MB" if row["peak_memory"] else "-"
        cells.append([name, memory, f"{row['parameters']:,}"])
        for kind in ("inference", "train"):
            speed, ratio = (
                batch / statistics.median(row[kind]),
                median_ratio(rows[base][kind], row[kind]),
            )
            cells[-1][1:1] = [f"{speed:,.0f} images/s", f"{ratio:.2f}"]
    heads = ["", "train", "ratio", "inference", "ratio", "peak memory", "parameters"]
    return "\n".join(
        [
            f"{cfg['embed_dim']} wide, {cfg['depth']} deep, {cfg['num_heads']} heads, MLP x {cfg['mlp_ratio']:g}, "
            f"patch {cfg['patch_size']}, {cfg['img_size']} px, batch {batch}, AdamW",
            f"{result['hardware']}, torch {result['torch_version']}, {result['clock']} time\n",
            *viz.table(heads, cells).splitlines(),
            f"\nratio: speed over {base}'s in the same round, median of {len(rows[base]['train'])} rounds",
            *(
                f"left out: {library}: {why}"
                for library, why in result["skipped"].items()
            ),
        ]
    )


def parse(argv: list[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.measure.bench", description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add("--rounds", type=int, default=7, metavar="N", help="turns of each")
    add("--threads", type=int, metavar="N", help="CPU threads (without it: all cores)")
    text = "cpu counts this process's time alone: for a busy machine, with --threads 1"
    add("--clock", default="wall", choices=("wall", "cpu"), help=text)
    add("--json", type=Path, metavar="FILE", help="also write what was measured")
    return parser.parse_args(argv)


def main(argv: list[str]) -> None:
    """Measures and prints."""
    args = parse(argv)
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    device = pick_device("auto")
    if args.clock == "cpu" and (device.type != "cpu" or torch.get_num_threads() > 1):
        raise SystemExit(
            "--clock cpu adds up all threads and sees no accelerator; use --threads 1 with it, on a machine without one"
        )

    def wall() -> float:
        if device.type != "cpu":  # what was asked for is done
            getattr(torch, device.type).synchronize()
        return time.perf_counter()

    seconds = time.process_time if args.clock == "cpu" else wall
    precision, found = measure(args.rounds, args.clock, device, seconds)
    result = {
        "name": "bench",
        **provenance("random images", device, precision),
        **found,
        "command": shlex.join(["python", "-m", "tools.measure.bench", *sys.argv[1:]]),
    }
    print(models_table(result))
    if args.json:
        print(f"wrote {write_json(args.json, result)}")


if __name__ == "__main__":
    main(sys.argv[1:])
