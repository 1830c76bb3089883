"""Speed and memory of vitlib beside other libraries: same shape of model, same data, same optimiser, turn by turn.

python -m tools.bench           (or: make bench ARGS="--threads 1 --clock cpu")
python -m tools.bench study     what the runner of studies costs beside the bare loop
python -m tools.bench paths     the training loop with a ViT, a ResNet, a hybrid, masked patches
python -m tools.bench web       a forward pass, an action and a page in the reader's browser
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import shlex
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

import torch
from torch import nn
from torch.nn import functional as F
from tqdm.auto import tqdm

from tools import bench_paths, bench_study, bench_web
from vitlib.config import ViTConfig
from vitlib.device import pick_device
from vitlib.evidence import provenance, write_json
from vitlib.model.costs import count_macs, count_parameters
from vitlib.model.vit import VisionTransformer
from vitlib.train.precision import pick_precision

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("train", "inference")
TURN = 0.2  # seconds that a turn takes at least
Models = dict[str, tuple[nn.Module, str]]  # name -> (model, precision)
Clock = Callable[[], float]


def import_library(name: str) -> ModuleType:
    """timm or vit_pytorch, with or without torchvision; ImportError if it is not installed.

    Both import torchvision beside their models, which do not use it; its version must match torch's exactly. Where it
    is missing or broken, an empty module stands in for it during the import.
    """
    try:
        importlib.import_module("torchvision")
        return importlib.import_module(name)
    except Exception:  # missing, or built for another torch
        with stand_in("torchvision"), warnings.catch_warnings(action="ignore"):
            return importlib.import_module(name)


@contextlib.contextmanager
def stand_in(package: str):
    """Lets a package be imported that is not there; afterwards it is gone, or the next who asks gets an empty one."""

    class Finder(MetaPathFinder, Loader):
        def find_spec(self, name, path=None, target=None):
            return ModuleSpec(name, self, is_package=True) if name.split(".")[0] == package else None

        def create_module(self, spec):
            return MagicMock(__path__=[])

        def exec_module(self, module):
            pass

    def forget():
        for name in [name for name in sys.modules if name.split(".")[0] == package]:
            del sys.modules[name]

    forget()
    sys.meta_path.insert(0, finder := Finder())
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        forget()


def shape(cfg: ViTConfig, names: str) -> dict[str, int]:
    """The model's shape in a library's own words for image, patch, classes, width, depth and heads."""
    values = (cfg.img_size, cfg.patch_size, cfg.num_classes, cfg.embed_dim, cfg.depth, cfg.num_heads)
    return dict(zip(names.split(), values, strict=True))


def timm(cfg: ViTConfig) -> nn.Module:
    names = "img_size patch_size num_classes embed_dim depth num_heads"
    model = import_library("timm").models.vision_transformer.VisionTransformer
    return model(**shape(cfg, names), mlp_ratio=cfg.mlp_ratio)


def vit_pytorch(cfg: ViTConfig) -> nn.Module:
    names = "image_size patch_size num_classes dim depth heads"
    more = {"mlp_dim": cfg.hidden_dim, "dim_head": cfg.embed_dim // cfg.num_heads}
    return import_library("vit_pytorch").ViT(**shape(cfg, names), **more)


def transformers(cfg: ViTConfig) -> nn.Module:
    from transformers import ViTConfig, ViTForImageClassification

    names = "image_size patch_size num_labels hidden_size num_hidden_layers num_attention_heads"
    return ViTForImageClassification(ViTConfig(**shape(cfg, names), intermediate_size=cfg.hidden_dim))


LIBRARIES: dict[str, Callable[[ViTConfig], nn.Module]] = {
    "vitlib": VisionTransformer,
    "timm": timm,
    "vit-pytorch": vit_pytorch,
    "transformers": transformers,
}


def build_models(cfg: ViTConfig, device: torch.device) -> tuple[Models, dict[str, str]]:
    """The models that can be built here, in fp32, and why others cannot; vitlib's also in its default precision."""
    models, skipped = {}, {}
    for library, build in LIBRARIES.items():
        try:
            torch.manual_seed(0)
            models[f"{library} fp32"] = build(cfg).to(device), "fp32"
        except ModuleNotFoundError as error:
            package = (error.name or library).split(".")[0]
            skipped[library] = f"{package} is not installed; pip install {package}"
        except Exception as error:  # installed for another torch, or changed beyond recognition
            why = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
            skipped[library] = f"it does not import here ({why})"
    if (precision := pick_precision(device, cfg)) != "fp32":
        torch.manual_seed(0)
        models = {f"vitlib {precision}": (VisionTransformer(cfg).to(device), precision), **models}
    return models, skipped


class Bench:
    """One model with its optimiser, ready to take train and inference steps."""

    def __init__(self, model: nn.Module, precision: str, batch_size: int, cfg: ViTConfig, device) -> None:
        self.model, self.precision, self.device = model, precision, device
        generator = torch.Generator().manual_seed(0)  # the same images for every model
        self.images = torch.randn(batch_size, cfg.in_chans, *cfg.image_shape, generator=generator).to(device)
        self.labels = torch.randint(cfg.num_classes, (batch_size,), generator=generator).to(device)
        fused = device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.05, fused=fused)

    def logits(self) -> torch.Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            out = self.model(self.images)
            return getattr(out, "logits", out).float()  # transformers wraps them

    def train(self) -> None:
        self.model.train()
        loss = F.cross_entropy(self.logits(), self.labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    @torch.inference_mode()
    def inference(self) -> None:
        self.model.eval()
        self.logits()

    def seconds(self, kind: str, times: int, clock: Clock) -> float:
        """Seconds per step of this kind."""
        step = getattr(self, kind)
        self.wait()
        began = clock()
        for _ in range(times):
            step()
        self.wait()
        return (clock() - began) / times

    def wait(self) -> None:
        if self.device.type != "cpu":
            getattr(torch, self.device.type).synchronize()


def measure_speed(
    models: Models,
    cfg: ViTConfig,
    batch_size: int,
    rounds: int,
    device: torch.device,
    clock: Clock = time.perf_counter,
    progress: bool = True,
) -> dict[str, dict[str, list[float]]]:
    """Name -> {"train": seconds per step in each round, "inference": the same}; every model has its turn in a round."""
    if batch_size < 1 or rounds < 1:
        raise ValueError(f"batch_size and rounds must be at least 1, got {batch_size} and {rounds}")
    benches = {name: Bench(*model, batch_size, cfg, device) for name, model in models.items()}
    times: dict[tuple[str, str], int] = {}
    result = {name: {kind: [] for kind in KINDS} for name in benches}
    names = list(benches)
    with tqdm(total=(rounds + 1) * len(names), desc="warm-up", disable=not progress, unit="turn") as bar:
        for name in names:
            for kind in KINDS:  # two steps to warm up
                benches[name].seconds(kind, 1, clock)
                times[name, kind] = math.ceil(TURN / max(benches[name].seconds(kind, 1, clock), 1e-4))
            bar.update()
        for turn in range(rounds):
            bar.set_description(f"round {turn + 1} of {rounds}")
            first = turn % len(names)  # each starts once
            for name in names[first:] + names[:first]:
                for kind in KINDS:
                    result[name][kind].append(benches[name].seconds(kind, times[name, kind], clock))
                bar.update()
    return result


def measure_memory(name: str, precision: str, cfg: ViTConfig, batch_size: int, device) -> int | None:
    """Peak bytes of two train steps in a process of their own, on CUDA the device's; None if nothing tells."""
    order = json.dumps([name, precision, vars(cfg), batch_size, str(device), torch.get_num_threads()])
    program = "import sys; from tools import bench; bench.print_memory(sys.argv[1])"
    command = [sys.executable, "-c", program, order]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return int(run.stdout.split()[-1]) if run.returncode == 0 and run.stdout.split() else None


def print_memory(order: str) -> None:
    """The process that `measure_memory` starts."""
    name, precision, fields, batch_size, device, threads = json.loads(order)
    torch.set_num_threads(threads)
    cfg, device = ViTConfig(**fields), torch.device(device)
    bench = Bench(LIBRARIES[name](cfg).to(device), precision, batch_size, cfg, device)
    bench.train(), bench.train()
    print(torch.cuda.max_memory_allocated() if device.type == "cuda" else peak_of_process())


def peak_of_process() -> int:
    """Bytes."""
    status = Path("/proc/self/status")  # Linux: getrusage there counts the parent's memory too
    if status.is_file():
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    import resource  # macOS, in bytes; Windows has no such module

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def configure_parser(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    text = "models: beside other libraries; study: the runner beside the bare loop; paths: what is trained; "
    text += "web: in the reader's browser"
    parser.add_argument(
        "what", nargs="?", default="models", choices=("models", "study", "paths", "web"), help=text
    )
    for name, default, what in (
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
        parser.add_argument(f"--{name}", type=type(default), default=default, metavar="N", help=what)
    add = parser.add_argument
    add("--threads", type=int, metavar="N", help="CPU threads (without it: all cores)")
    add("--device", default="auto", choices=("auto", "cpu", "cuda", "mps"), help="where to compute")
    clock = "cpu counts this process's time alone: for a busy machine, with --threads 1"
    add("--clock", default="wall", choices=("wall", "cpu"), help=clock)
    add("--no-memory", action="store_true", help="leave the peak memory out (a process per library)")
    add("--json", type=Path, metavar="FILE", help="also write everything measured to FILE")


def run(args: argparse.Namespace) -> int:
    """Measures and prints; see `configure_parser`."""
    if args.threads is not None:
        if args.threads < 1:
            raise ValueError(f"--threads must be at least 1, got {args.threads}")
        torch.set_num_threads(args.threads)
    device = pick_device(args.device)
    if args.clock == "cpu" and (device.type != "cpu" or torch.get_num_threads() > 1):
        raise ValueError(
            "--clock cpu adds up all threads and sees no accelerator; use --device cpu --threads 1 with it"
        )
    clock = time.process_time if args.clock == "cpu" else time.perf_counter
    if args.what == "models":
        result = compare(args, device, clock)
        print(table(result))
    elif args.what == "web":
        found = bench_web.measure(args.rounds, clock)
        print(bench_web.table(found))
        result = {"name": "bench-web", **provenance("random images", device, "fp32"), "milliseconds": found}
    else:
        if args.what == "study":
            speeds, precision = bench_study.measure(args.images, args.rounds, args.device, clock), "fp32"
            print(bench_study.table(speeds))
        else:
            speeds = bench_paths.measure(args.images, args.rounds, device, clock, _timm_or_none())
            precision = bench_paths.base_on(device).precision
            print(bench_paths.table(speeds))
        about = provenance("random images", device, precision)
        result = {"name": f"bench-{args.what}", **about, "images_per_s": speeds}
    result["command"] = shlex.join(["python", "-m", "tools.bench", *sys.argv[1:]])
    if args.json:
        print(f"wrote {write_json(args.json, result)}")
    return 0


def _timm_or_none() -> Callable[[ViTConfig], nn.Module] | None:
    try:
        import_library("timm")
    except ImportError as error:
        print(f"left out: timm: {error}")
        return None
    return timm


def compare(args: argparse.Namespace, device: torch.device, clock: Clock) -> dict:
    """Models of all libraries: speed, memory and parameters."""
    cfg = ViTConfig(
        **{
            name: getattr(args, name)
            for name in ("img_size", "patch_size", "embed_dim", "depth", "mlp_ratio")
        },
        num_heads=args.heads,
    )
    models, skipped = build_models(cfg, device)
    speed = measure_speed(models, cfg, args.batch_size, args.rounds, device, clock)
    rows = {}
    for name, (model, precision) in models.items():
        order = name.split()[0], precision, cfg, args.batch_size, device
        memory = None if args.no_memory else measure_memory(*order)
        rows[name] = {"parameters": count_parameters(model), "peak_memory": memory, **speed[name]}
    return {
        "name": "bench",
        **provenance("random images", device, "; ".join(sorted({kind for _, kind in models.values()}))),
        "config": vars(cfg),
        "gmacs": count_macs(cfg) / 1e9,
        "batch_size": args.batch_size,
        "clock": args.clock,
        "base": "timm fp32" if "timm fp32" in rows else "vitlib fp32",
        "skipped": skipped,
        "rows": rows,
    }


def table(result: dict) -> str:
    """What `run` prints of a result: medians over the rounds, and ratios taken round by round."""
    cfg, rows, batch = result["config"], result["rows"], result["batch_size"]
    lines = [
        f"{cfg['embed_dim']} wide, {cfg['depth']} deep, {cfg['num_heads']} heads, MLP x {cfg['mlp_ratio']:g}, "
        f"patch {cfg['patch_size']}, {cfg['img_size']} px, batch {batch}, AdamW",
        f"{result['hardware']}, torch {result['torch_version']}, {result['clock']} time",
        "",
        f"{'':<18}{'train':>16}{'ratio':>7}{'inference':>16}{'ratio':>7}{'peak memory':>13}{'parameters':>12}",
    ]
    for name, row in rows.items():
        line = f"{name:<18}"
        for kind in KINDS:
            ratios = [b / a for a, b in zip(row[kind], rows[result["base"]][kind], strict=True)]
            line += f"{batch / statistics.median(row[kind]):>7,.0f} images/s{statistics.median(ratios):>7.2f}"
        memory = f"{row['peak_memory'] / 1e6:,.0f} MB" if row["peak_memory"] else "-"
        lines.append(f"{line}{memory:>13}{row['parameters']:>12,}")
    rounds = f"median of {len(row['train'])} rounds"
    lines += ["", f"ratio: speed over {result['base']}'s in the same round, {rounds}"]
    return "\n".join(lines + [f"left out: {library}: {why}" for library, why in result["skipped"].items()])


def main(argv: list[str]) -> int:
    """Runs the command line and returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__.splitlines()[0])
    configure_parser(parser)
    try:
        return run(parser.parse_args(argv))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
