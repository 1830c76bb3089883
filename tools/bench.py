"""Speed and memory of vitlib beside other libraries: same shape of model, same data, same optimiser, turn by turn."""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.machinery
import json
import math
import statistics
import subprocess
import sys
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from vitlib.config import ViTConfig
from vitlib.device import describe_hardware, pick_device
from vitlib.evidence import write_json
from vitlib.model.costs import count_macs, count_parameters
from vitlib.model.vit import VisionTransformer
from vitlib.train.loop import pick_precision

__all__ = [
    "LIBRARIES",
    "build_models",
    "configure_parser",
    "import_library",
    "measure_memory",
    "measure_speed",
    "run",
]


def import_library(name: str) -> types.ModuleType:
    """A library that imports torchvision without need, with or without torchvision.

    timm and vit-pytorch import it beside their models, which do not use it; torchvision's version must match torch's
    exactly. Where it is missing or broken, an empty module stands in for it during the import.

    Args:
        name: "timm" or "vit_pytorch".

    Raises:
        ImportError: If the library is not installed.
    """
    try:
        import torchvision  # noqa: F401
    except Exception:  # missing, or built for another torch
        _forget_torchvision()
        sys.meta_path.insert(0, stand_in := _StandIn())
        try:
            with warnings.catch_warnings(action="ignore"):
                return importlib.import_module(name)
        finally:
            sys.meta_path.remove(stand_in)
            _forget_torchvision()  # or the next who asks for it gets an empty one
    return importlib.import_module(name)


class _StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves an empty torchvision whose every attribute is an empty class."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if _is_torchvision(name) else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = _empty_class
        return module

    def exec_module(self, module):
        pass


class _Empty(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{cls.__name__}.{name}"


def _empty_class(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Empty(name, (), {})


def _is_torchvision(name: str) -> bool:
    return name.split(".")[0] == "torchvision"


def _forget_torchvision() -> None:
    for name in [name for name in sys.modules if _is_torchvision(name)]:
        del sys.modules[name]


# --- the same shape of model in each library ---------------------------------------------------------------------


def _timm(cfg: ViTConfig) -> nn.Module:
    return import_library("timm").models.vision_transformer.VisionTransformer(
        img_size=cfg.img_size,
        patch_size=cfg.patch_size,
        num_classes=cfg.num_classes,
        embed_dim=cfg.embed_dim,
        depth=cfg.depth,
        num_heads=cfg.num_heads,
        mlp_ratio=cfg.mlp_ratio,
    )


def _vit_pytorch(cfg: ViTConfig) -> nn.Module:
    return import_library("vit_pytorch").ViT(
        image_size=cfg.img_size,
        patch_size=cfg.patch_size,
        num_classes=cfg.num_classes,
        dim=cfg.embed_dim,
        depth=cfg.depth,
        heads=cfg.num_heads,
        mlp_dim=cfg.hidden_dim,
        dim_head=cfg.embed_dim // cfg.num_heads,
    )


class _Logits(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images):
        return self.model(pixel_values=images).logits


def _transformers(cfg: ViTConfig) -> nn.Module:
    from transformers import ViTConfig as Config
    from transformers import ViTForImageClassification

    return _Logits(
        ViTForImageClassification(
            Config(
                image_size=cfg.img_size,
                patch_size=cfg.patch_size,
                num_labels=cfg.num_classes,
                hidden_size=cfg.embed_dim,
                num_hidden_layers=cfg.depth,
                num_attention_heads=cfg.num_heads,
                intermediate_size=cfg.hidden_dim,
            )
        )
    )


def _torchvision(cfg: ViTConfig) -> nn.Module:
    from torchvision.models import VisionTransformer as TorchvisionViT

    return TorchvisionViT(
        image_size=cfg.img_size,
        patch_size=cfg.patch_size,
        num_layers=cfg.depth,
        num_heads=cfg.num_heads,
        hidden_dim=cfg.embed_dim,
        mlp_dim=cfg.hidden_dim,
        num_classes=cfg.num_classes,
    )


LIBRARIES: dict[str, Callable[[ViTConfig], nn.Module]] = {
    "vitlib": VisionTransformer,
    "timm": _timm,
    "vit-pytorch": _vit_pytorch,
    "transformers": _transformers,
    "torchvision": _torchvision,
}


def build_models(
    cfg: ViTConfig, device: torch.device
) -> tuple[dict[str, tuple[nn.Module, str]], dict[str, str]]:
    """Every library's model that can be built here, in fp32; vitlib's once more if its default precision differs.

    Args:
        cfg: The shape.
        device: Where to put the models.

    Returns:
        Name -> (model, precision), and library -> why it was left out.
    """
    models, skipped = {}, {}
    for library, build in LIBRARIES.items():
        try:
            torch.manual_seed(0)
            models[f"{library} fp32"] = build(cfg).to(device), "fp32"
        except ModuleNotFoundError as error:
            package = (error.name or library).split(".")[0]
            skipped[library] = f"{package} is not installed; pip install {package}"
        except Exception as error:  # installed for another torch, or changed beyond recognition
            skipped[library] = (
                f"it does not import here ({type(error).__name__}: {' '.join(str(error).split())[:120]})"
            )
    if (precision := pick_precision(device, cfg)) != "fp32":
        torch.manual_seed(0)
        models = {f"vitlib {precision}": (VisionTransformer(cfg).to(device), precision), **models}
    return models, skipped


class _Bench:
    """One model with its optimiser, ready to take train and inference steps."""

    def __init__(
        self, model: nn.Module, precision: str, batch_size: int, cfg: ViTConfig, device: torch.device
    ) -> None:
        self.model, self.precision, self.device = model, precision, device
        generator = torch.Generator().manual_seed(0)  # the same images for every model
        self.images = torch.randn(batch_size, cfg.in_chans, *cfg.image_shape, generator=generator).to(device)
        self.labels = torch.randint(cfg.num_classes, (batch_size,), generator=generator).to(device)
        self.optimizer = torch.optim.AdamW(
            model.parameters(), 1e-3, weight_decay=0.05, fused=device.type in ("cpu", "cuda")
        )

    def logits(self) -> torch.Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            return self.model(self.images).float()

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

    def seconds(self, step: Callable[[], None], times: int, clock: Callable[[], float]) -> float:
        """Seconds per step."""
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
    models: dict[str, tuple[nn.Module, str]],
    cfg: ViTConfig,
    batch_size: int,
    rounds: int,
    device: torch.device,
    clock: Callable[[], float] = time.perf_counter,
    progress: bool = True,
) -> dict[str, dict[str, list[float]]]:
    """Train and inference seconds per step, every model taking its turn in each round.

    Args:
        models: As from `build_models`.
        cfg: The shape of the images.
        batch_size: Images per step.
        rounds: Turns of each model.
        device: Where the models are.
        clock: `time.process_time` leaves out what other programs take, with one thread.
        progress: Whether to show a bar.

    Returns:
        Name -> {"train": seconds per step in each round, "inference": the same}.

    Raises:
        ValueError: If `batch_size` or `rounds` is not positive.
    """
    from tqdm.auto import tqdm

    if batch_size < 1 or rounds < 1:
        raise ValueError(f"batch_size and rounds must be at least 1, got {batch_size} and {rounds}")
    benches = {
        name: _Bench(model, precision, batch_size, cfg, device) for name, (model, precision) in models.items()
    }
    times: dict[str, dict[str, int]] = {}
    result = {name: {"train": [], "inference": []} for name in benches}
    with tqdm(total=(rounds + 1) * len(benches), desc="warm-up", disable=not progress, unit="turn") as bar:
        for name, bench in benches.items():
            for kind in result[name]:  # two steps to warm up; a turn then takes a fifth of a second or more
                bench.seconds(getattr(bench, kind), 1, clock)
                times.setdefault(name, {})[kind] = math.ceil(
                    0.2 / max(bench.seconds(getattr(bench, kind), 1, clock), 1e-4)
                )
            bar.update()
        for turn in range(rounds):
            bar.set_description(f"round {turn + 1} of {rounds}")
            names = list(benches)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:  # each starts once
                for kind, seconds in result[name].items():
                    bench = benches[name]
                    seconds.append(bench.seconds(getattr(bench, kind), times[name][kind], clock))
                bar.update()
    return result


def measure_memory(
    name: str, precision: str, cfg: ViTConfig, batch_size: int, device: torch.device
) -> int | None:
    """Peak bytes of two train steps in a process of their own: the device's on CUDA, else the whole process's.

    Args:
        name: A key of `LIBRARIES`.
        precision: "fp32" or "bf16".
        cfg: The shape.
        batch_size: Images per step.
        device: Where to train.

    Returns:
        Bytes, or None where the system does not tell.
    """
    order = json.dumps([name, precision, vars(cfg), batch_size, str(device), torch.get_num_threads()])
    program = "import sys; import bench; bench._memory(sys.argv[1])"
    run = subprocess.run([sys.executable, "-c", program, order], capture_output=True, text=True, check=False)
    return int(run.stdout.split()[-1]) if run.returncode == 0 and run.stdout.split() else None


def _memory(order: str) -> None:
    name, precision, fields, batch_size, device, threads = json.loads(order)
    torch.set_num_threads(threads)
    cfg, device = ViTConfig(**fields), torch.device(device)
    bench = _Bench(LIBRARIES[name](cfg).to(device), precision, batch_size, cfg, device)
    bench.train(), bench.train()
    print(torch.cuda.max_memory_allocated() if device.type == "cuda" else _peak_of_process())


def _peak_of_process() -> int:
    status = Path("/proc/self/status")  # Linux: getrusage there counts the parent's memory too
    if status.is_file():
        return next(
            int(line.split()[1]) * 1024
            for line in status.read_text().splitlines()
            if line.startswith("VmHWM")
        )
    import resource  # macOS, in bytes; Windows has no such module

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# --- the command -------------------------------------------------------------------------------------------------


def configure_parser(parser: argparse.ArgumentParser) -> None:
    """Add the options of `python -m vitlib bench`."""
    for name, default, what in (
        ("embed-dim", 192, "width D"),
        ("depth", 6, "encoder blocks"),
        ("heads", 3, "heads"),
        ("patch-size", 4, "patch side"),
        ("img-size", 32, "image side"),
        ("batch-size", 128, "images per step"),
        ("rounds", 7, "turns of each library"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=what)
    parser.add_argument(
        "--mlp-ratio", type=float, default=2.0, metavar="R", help="hidden width of the MLP over D"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads (without it: all cores)")
    parser.add_argument(
        "--device", default="auto", choices=("auto", "cpu", "cuda", "mps"), help="where to compute"
    )
    parser.add_argument(
        "--clock",
        default="wall",
        choices=("wall", "cpu"),
        help="cpu counts this process's time alone: for a busy machine, with --threads 1",
    )
    parser.add_argument(
        "--no-memory", action="store_true", help="leave the peak memory out (a process per library)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything measured to FILE")


def run(args: argparse.Namespace) -> int:
    """Measure and print; see `configure_parser`."""
    if args.threads is not None and args.threads < 1:
        raise ValueError(f"--threads must be at least 1, got {args.threads}")
    if args.threads:
        torch.set_num_threads(args.threads)
    device = pick_device(args.device)
    if args.clock == "cpu" and (device.type != "cpu" or torch.get_num_threads() > 1):
        raise ValueError(
            "--clock cpu adds up all threads and sees no accelerator; use --device cpu --threads 1 with it"
        )
    cfg = ViTConfig(
        img_size=args.img_size,
        patch_size=args.patch_size,
        embed_dim=args.embed_dim,
        depth=args.depth,
        num_heads=args.heads,
        mlp_ratio=args.mlp_ratio,
    )
    models, skipped = build_models(cfg, device)
    clock = time.process_time if args.clock == "cpu" else time.perf_counter
    speed = measure_speed(models, cfg, args.batch_size, args.rounds, device, clock)
    rows = {}
    for name, (model, precision) in models.items():
        memory = (
            None
            if args.no_memory
            else measure_memory(name.split()[0], precision, cfg, args.batch_size, device)
        )
        rows[name] = {"parameters": count_parameters(model), "peak_memory": memory, **speed[name]}
    base = "timm fp32" if "timm fp32" in rows else "vitlib fp32"
    result = {
        "command": getattr(args, "command_line", ""),
        "torch_version": str(torch.__version__),
        "hardware": describe_hardware(device),
        "config": vars(cfg),
        "gmacs": count_macs(cfg) / 1e9,
        "batch_size": args.batch_size,
        "clock": args.clock,
        "base": base,
        "skipped": skipped,
        "rows": rows,
    }
    print(table(result))
    if args.json:
        print(f"wrote {write_json(args.json, result)}")
    return 0


def table(result: dict) -> str:
    """What `run` prints: medians over the rounds, and ratios taken round by round.

    Args:
        result: What `--json` writes.
    """
    cfg, rows, batch = result["config"], result["rows"], result["batch_size"]
    lines = [
        f"{cfg['embed_dim']} wide, {cfg['depth']} deep, {cfg['num_heads']} heads, MLP x {cfg['mlp_ratio']:g}, "
        f"patch {cfg['patch_size']}, {cfg['img_size']} px, batch {batch}, AdamW",
        f"{result['hardware']}, torch {result['torch_version']}, {result['clock']} time",
        "",
        f"{'':<18}{'train':>16}{'ratio':>7}{'inference':>16}{'ratio':>7}{'peak memory':>13}{'parameters':>12}",
    ]
    for name, row in rows.items():
        cells = []
        for kind in ("train", "inference"):
            ratios = [b / a for a, b in zip(row[kind], rows[result["base"]][kind], strict=True)]
            cells.append(
                f"{batch / statistics.median(row[kind]):>7,.0f} images/s{statistics.median(ratios):>7.2f}"
            )
        memory = f"{row['peak_memory'] / 1e6:,.0f} MB" if row["peak_memory"] else "-"
        lines.append(f"{name:<18}{''.join(cells)}{memory:>13}{row['parameters']:>12,}")
    lines += [
        "",
        f"ratio: speed over {result['base']}'s in the same round, median of {len(row['train'])} rounds",
    ]
    lines += [f"left out: {library}: {why}" for library, why in result["skipped"].items()]
    return "\n".join(lines)
