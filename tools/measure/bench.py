"""Speed and memory, all in one process, taking turns.

python -m tools.measure.bench           vitlib beside other libraries (or: make bench ARGS="--threads 1 --clock cpu")
python -m tools.measure.bench study     what the runner of studies costs beside the bare loop
python -m tools.measure.bench paths     the training loop with a ViT, ResNet, hybrid, masked patches; timm beside them
python -m tools.measure.bench web       a forward pass, an action and a page in the reader's browser
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import chain, count, repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.benchmark import Timer
from torch.utils.data import DataLoader
from tqdm.auto import tqdm

from tools.libraries import LIBRARIES, Pictures, timm
from tools.measure import bench_web
from vitlib import viz
from vitlib.config import ViTConfig
from vitlib.data.dataset import Dataset
from vitlib.device import pick_device
from vitlib.evidence import provenance
from vitlib.files import write_json
from vitlib.model.costs import count_macs, count_parameters
from vitlib.model.vit import VisionTransformer
from vitlib.train.loop import Trainer
from vitlib.train.objective import OBJECTIVES
from vitlib.train.precision import pick_precision
from vitlib.train.recipe import Recipe, recipe
from vitworkshop.studies.families import BASE, FAMILIES
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.runner import run_study
from vitworkshop.studies.study import QUICK

TURN = 0.2  # seconds that a turn takes at least
Step = Callable[[], None]
Clock = Callable[[], float]
# the precision, and what a file of results holds besides its header
Measured = tuple[str, dict]


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


# Beside other libraries


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
    model: nn.Module, precision: str, batches: Iterator, device, clip=None
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
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
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


def bench_models(
    args: argparse.Namespace, device: torch.device, clock: Clock
) -> Measured:
    """Models of all libraries: speed, memory and parameters."""
    names = ("img_size", "patch_size", "embed_dim", "depth", "mlp_ratio")
    cfg = ViTConfig(
        **{name: getattr(args, name) for name in names}, num_heads=args.heads
    )
    models, skipped = build_models(cfg, device)
    steps, rows = {}, {}
    for (library, precision), model in models.items():
        name, batches = (
            f"{library} {precision}",
            one_batch(cfg, args.batch_size, device),
        )
        for kind, step in model_steps(model, precision, batches, device).items():
            steps[name, kind] = step
        rows[name] = {"parameters": count_parameters(model), "peak_memory": None}
        if not args.no_memory:
            rows[name]["peak_memory"] = measure_memory(
                library, precision, cfg, args.batch_size, device
            )
    for (name, kind), seconds in take_turns(steps, args.rounds, clock).items():
        rows[name][kind] = seconds
    return "; ".join(sorted({precision for _, precision in models})), {
        "config": vars(cfg),
        "gmacs": count_macs(cfg) / 1e9,
        "batch_size": args.batch_size,
        "clock": args.clock,
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


# The runner of studies

STUDY = "stems"
TINY = {"epochs": 1, "model.patch_size": 8}  # the rest is as in the study


def random_images(n: int) -> Dataset:
    """Images of 32 px with labels, the same each time."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(256, (n, 3, 32, 32), generator=generator, dtype=torch.uint8)
    return Dataset(images, torch.randint(10, (n,), generator=generator))


def study_speeds(
    n: int, rounds: int, device: str, clock: Clock, changes: dict
) -> dict[str, list[float]]:
    """Images per second of the "study" and, by the time spent in its runs alone, of the "loop", in each round.

    Both numbers of a round come from the same images at the same time, so a busy machine changes their ratio little.
    """
    data, study, spent = random_images(n), STUDIES[STUDY], []
    base = recipe(study.base or QUICK, **changes)

    def timed(*args) -> list[dict] | None:
        began = clock()
        rows = study.run(*args)
        spent.append(clock() - began)
        return rows

    speeds: dict[str, list[float]] = {"study": [], "loop": []}
    seen = (n - n // 10) * base.epochs * len(study.variants)  # a tenth is held out
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(STUDIES, {STUDY: replace(study, run=timed, base=base, seeds=(0,))}),
    ):
        for i in tqdm(range(rounds + 1), unit="round"):  # the first warms up
            spent.clear()
            began = clock()
            out = Path(folder) / str(i)
            run_study(STUDY, lambda _: data, out, device=device, progress=False)
            speeds["study"].append(seen / (clock() - began))
            speeds["loop"].append(seen / sum(spent))
    return {name: found[1:] for name, found in speeds.items()}


def bench_study(
    args: argparse.Namespace, device: torch.device, clock: Clock
) -> Measured:
    """What the runner costs: a tiny study, and the part of its time that the bare loop takes."""
    return "fp32", {
        "images_per_s": study_speeds(args.images, args.rounds, args.device, clock, TINY)
    }


# The paths of training

#: What each changes in the base of the studies that compare families: 96 wide, 4 deep, patches of 8 pixels.
PATHS: dict[str, dict[str, Any]] = {
    "ViT": FAMILIES["ViT"],
    "ResNet": FAMILIES["ResNet"],
    "hybrid": FAMILIES["hybrid"],
    "masked": {"objective": "masked-mean"},
}


def our_step(changes: dict, data: Dataset, device: torch.device, base: Recipe) -> Step:
    """A step of the training loop itself, images on the device."""
    one = recipe(base, epochs=10**6, **changes)  # no end to come near
    objective = OBJECTIVES[one.objective](one)
    trainer = Trainer(objective.build().to(device), objective, objective.recipe, data)
    n, size = len(data), trainer.batch_size
    batches = (
        batch
        for _ in count()
        for batch in torch.randperm(n).to(device).split(size)[: n // size]
    )
    return lambda: trainer.train_step(next(batches))


def timms_step(data: Dataset, device: torch.device, base: Recipe) -> Step:
    """A step of timm's model behind a `DataLoader`."""
    # on a CPU they would compete with the training
    workers = 0 if device.type == "cpu" else 8
    how = {
        "shuffle": True,
        "drop_last": True,
        "num_workers": workers,
        "pin_memory": workers > 0,
    }
    batches = chain.from_iterable(
        repeat(DataLoader(Pictures(data), base.batch_size, **how))
    )
    model = timm(base.model).to(device)
    return model_steps(model, base.precision, batches, device, base.clip_norm)["train"]


def bench_paths(
    args: argparse.Namespace, device: torch.device, clock: Clock
) -> Measured:
    """Images per second of each path; bf16 on a GPU, fp32 on a CPU."""
    base = replace(BASE, precision="bf16") if device.type == "cuda" else BASE
    if args.images < base.batch_size:
        raise ValueError(
            f"--images must be at least {base.batch_size}, a batch; got {args.images}"
        )
    data = random_images(args.images)
    steps = {
        name: our_step(changes, data, device, base) for name, changes in PATHS.items()
    }
    try:
        steps["timm, DataLoader"] = timms_step(data, device, base)
    except ImportError as error:
        print(f"left out: timm: {error}")
    seconds = take_turns(steps, args.rounds, clock)
    speeds = {
        name: [base.batch_size / each for each in found]
        for name, found in seconds.items()
    }
    return base.precision, {"images_per_s": speeds}


def speeds_table(result: dict) -> str:
    """Of a study or of paths: medians over the rounds, and ratios to the bare loop or the ViT, taken round by round."""
    speeds = result["images_per_s"]
    base = "loop" if "loop" in speeds else "ViT"
    rows = [
        [
            name,
            f"{statistics.median(found):,.0f} images/s",
            f"{median_ratio(found, speeds[base]):.3f}",
        ]
        for name, found in speeds.items()
    ]
    last = f"ratio: speed over that of {base} in the same round, median of {len(speeds[base])} rounds"
    return f"{viz.table(['', 'train', 'ratio'], rows)}\n\n{last}"


# The command line

MODES = {
    "models": (bench_models, models_table),
    "study": (bench_study, speeds_table),
    "paths": (bench_paths, speeds_table),
    "web": (bench_web.measure, bench_web.table),
}


def parse(argv: list[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.measure.bench", description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add(
        "what",
        nargs="?",
        default="models",
        choices=MODES,
        help="models stand beside other libraries",
    )
    for name, default, text in (
        ("embed-dim", 192, "width D"),
        ("depth", 6, "encoder blocks"),
        ("heads", 3, "heads"),
        ("patch-size", 4, "patch side"),
        ("img-size", 32, "image side"),
        ("batch-size", 128, "images per step"),
        ("rounds", 7, "turns of each"),
        ("images", 4000, "training images of the tiny study and of the paths"),
        ("mlp-ratio", 2.0, "hidden width of the MLP over D"),
    ):
        add(f"--{name}", type=type(default), default=default, metavar="N", help=text)
    add("--threads", type=int, metavar="N", help="CPU threads (without it: all cores)")
    add(
        "--device",
        default="auto",
        choices=("auto", "cpu", "cuda", "mps"),
        help="where to compute",
    )
    text = "cpu counts this process's time alone: for a busy machine, with --threads 1"
    add("--clock", default="wall", choices=("wall", "cpu"), help=text)
    add(
        "--no-memory",
        action="store_true",
        help="leave the peak memory out (a process per library)",
    )
    add(
        "--json",
        type=Path,
        metavar="FILE",
        help="also write everything measured to FILE",
    )
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> dict:
    """Measures, prints, and returns everything measured."""
    for name in ("threads", "rounds", "batch_size", "images"):
        if (value := getattr(args, name)) is not None and value < 1:
            raise ValueError(
                f"--{name.replace('_', '-')} must be at least 1, got {value}"
            )
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    device = pick_device(args.device)
    if args.clock == "cpu" and (device.type != "cpu" or torch.get_num_threads() > 1):
        raise ValueError(
            "--clock cpu adds up all threads and sees no accelerator; use --device cpu --threads 1 with it"
        )

    def wall() -> float:
        if device.type != "cpu":  # what was asked for is done
            getattr(torch, device.type).synchronize()
        return time.perf_counter()

    measure, table = MODES[args.what]
    precision, found = measure(
        args, device, time.process_time if args.clock == "cpu" else wall
    )
    result = {
        "name": "bench" if args.what == "models" else f"bench-{args.what}",
        **provenance("random images", device, precision),
        **found,
        "command": shlex.join(["python", "-m", "tools.measure.bench", *sys.argv[1:]]),
    }
    print(table(result))
    if args.json:
        print(f"wrote {write_json(args.json, result)}")
    return result


def main(argv: list[str]) -> int:
    """Runs the command line and returns its exit status."""
    try:
        run(parse(argv))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
