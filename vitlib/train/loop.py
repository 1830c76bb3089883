"""The training loop: resumable to the bit, safe to interrupt (Section 4.1 and Appendix B.1)."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import signal
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Integer, UInt8
from torch import Tensor, nn

import vitlib
from vitlib.config import ViTConfig
from vitlib.data.dataset import normalize
from vitlib.device import cpuinfo, describe_hardware, pick_device
from vitlib.evidence import write_atomic, write_json
from vitlib.model.costs import count_macs, count_parameters
from vitlib.model.vit import VisionTransformer
from vitlib.train.augment import augment_batch
from vitlib.train.evaluate import evaluate
from vitlib.train.optim import EMA, build_optimizer, lr_at
from vitlib.train.recipe import Recipe

__all__ = ["Stopped", "pick_precision", "train_model"]


class Stopped(KeyboardInterrupt):
    """Ctrl-C during training, after the run's state was saved; its text tells how to go on."""


def train_model(
    recipe: Recipe,
    images: UInt8[Tensor, "n C H W"],
    labels: Integer[Tensor, " n"],
    *,
    val: tuple[Tensor, Tensor] | None = None,
    out: str | Path | None = None,
    label: str = "",
    device: str = "auto",
    resume: bool = True,
    progress: bool = True,
    budget_minutes: float | None = None,
    checkpoint_seconds: float = 60.0,
    compile: bool = False,
    command: str = "",
) -> dict:
    """Train a `VisionTransformer` and return its history, with the model under "model".

    The randomness of step s is seeded by (recipe.seed, s) alone. So a run that was stopped, or killed, goes
    on to the same weights, bit for bit, as one that was not (with the same device and number of threads).
    Ctrl-C finishes the step, saves and raises `Stopped`; a second one interrupts at once.

    Args:
        recipe: What to do; see `RECIPES`.
        images: (n, C, H, W) uint8, not normalised; they are moved to the device whole.
        labels: (n,) integers in [0, num_classes).
        val: Images and labels held out, evaluated after each epoch (by the averaged model, if there is one).
        out: Folder for `checkpoint.pt` and `log.json`; a checkpoint in it is continued. None keeps nothing.
        label: The data's name, as it is to stand in the log.
        device: "auto", "cpu", "cuda" or "mps".
        resume: False starts anew and overwrites what is in `out`.
        progress: Whether to show a bar for each epoch and print a line after it.
        budget_minutes: Stop after this time with a checkpoint and "finished": False; call again to go on.
        checkpoint_seconds: Longest time between two checkpoints.
        compile: Whether to use `torch.compile`: a minute or more of waiting, then faster steps.
        command: The command line, for the log.

    Returns:
        What `log.json` holds: "epochs" (a list of dicts: epoch, lr, train_loss, train_accuracy, images_per_s,
        seconds and, with `val`, val_loss and val_accuracy), "seconds", "finished", "config", "recipe",
        "precision", "hardware" and more; and "model", in eval mode (the averaged one, if there is one).

    Raises:
        ValueError: If the data do not fit the model, or the checkpoint is damaged or of another run.
        FloatingPointError: If the loss is no longer a number.
        Stopped: After Ctrl-C.
        OSError: If a checkpoint cannot be written; the last one stays.

    Source: chapter 09.
    """
    where = pick_device(device)
    with torch.random.fork_rng(devices=[where] if where.type == "cuda" else []), _polite_interrupt() as asked:
        run = _Run(recipe, images, labels, val, out, label, where, compile, command)
        if resume:
            run.load()
        return run.fit(progress, budget_minutes, checkpoint_seconds, asked)


class _Run:
    """One training run: what changes from step to step, and how it is saved."""

    def __init__(self, recipe, images, labels, val, out, label, device, compile, command) -> None:
        for data in ((images, labels), val):
            if data is not None:
                _check_data(recipe.model, *data)
        self.recipe, self.device, self.val = recipe, device, val
        self.out = None if out is None else Path(out)
        self.batch_size = min(recipe.batch_size, len(images))
        self.epoch_steps = len(images) // self.batch_size
        self.total = recipe.epochs * self.epoch_steps
        self.warmup = min(round(recipe.warmup * self.total), self.total - 1)
        auto = recipe.precision == "auto"
        self.precision = pick_precision(device, recipe.model) if auto else recipe.precision
        torch.manual_seed(_seed(recipe.seed, "init"))
        self.model = VisionTransformer(recipe.model).to(device)
        self.optimizer = build_optimizer(self.model, recipe)
        self.ema = EMA(self.model, recipe.ema_decay) if recipe.ema_decay else None
        self.forward = torch.compile(self.model) if compile else self.model
        self.images, self.labels = images.to(device), labels.to(device)
        self.step = 0
        home = torch.device("cpu") if device.type == "mps" else device  # MPS has no float64
        self.sums = torch.zeros(2, dtype=torch.float64, device=home)  # loss and hits in this epoch
        plain = json.loads(json.dumps(dataclasses.asdict(recipe)))  # tuples become lists, as in a file
        self.identity = {
            "recipe": plain,
            "data": {"label": label, "n": len(images), "checksum": _checksum(images, labels)},
        }
        self.log = {
            "name": recipe.name,
            "command": command,
            "vitlib_version": vitlib.__version__,
            "torch_version": str(torch.__version__),
            "dataset": label,
            "hardware": describe_hardware(device),
            "precision": self.precision,
            "seed": recipe.seed,
            "parameters": count_parameters(self.model),
            "n_train": len(images),
            "n_val": 0 if val is None else len(val[0]),
            "seconds": 0.0,
            "finished": False,
            "config": plain["model"],
            "recipe": plain,
            "epochs": [],
        }
        lr_at(0, self.total, recipe.lr, self.warmup, recipe.schedule)  # reports an unknown schedule now

    def fit(self, progress: bool, budget_minutes: float | None, checkpoint_seconds: float, asked) -> dict:
        began = self.clock = time.monotonic()
        if self.step == 0 and self.out is not None:
            self.log["peak_flops"] = _matmul_peak(self.device, self.precision)
            self.save()  # a folder that cannot be written is found out now
        self.saved = time.monotonic()
        while self.step < self.total:
            epoch, done = divmod(self.step, self.epoch_steps)
            generator = torch.Generator().manual_seed(_seed(self.recipe.seed, "order", epoch))
            order = torch.randperm(len(self.images), generator=generator).to(self.device)
            bar = _bar(progress, epoch, self.recipe.epochs, self.epoch_steps, done)
            for i in range(done, self.epoch_steps):
                self.train_step(order[i * self.batch_size : (i + 1) * self.batch_size])
                self.report(bar, i + 1)
                ended = i + 1 == self.epoch_steps
                if ended:
                    bar.close()
                    self.end_epoch(epoch, progress)
                stop, now = asked(), time.monotonic()
                over = budget_minutes is not None and now - began >= budget_minutes * 60
                wait = min(10.0, checkpoint_seconds) if ended else checkpoint_seconds
                if stop or over or self.step == self.total or now - self.saved >= wait:
                    self.save()
                if (stop or over) and self.step < self.total:
                    bar.close()
                    if stop:
                        raise Stopped(self.how_to_resume())
                    return self.result()
        return self.result()

    def train_step(self, index: Tensor) -> None:
        r, s = self.recipe, self.step
        seed = _seed(r.seed, "step", s)
        torch.manual_seed(seed)  # for dropout and DropPath
        generator = torch.Generator().manual_seed(seed)  # for the augmentation
        for group in self.optimizer.param_groups:
            group["lr"] = lr_at(s, self.total, r.lr, self.warmup, r.schedule, r.final_lr)
        images, targets = augment_batch(
            self.images[index],
            self.labels[index],
            r,
            r.model.num_classes,
            generator,
            mix=s < (1 - r.mix_off) * self.total,
        )
        self.forward.train()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            logits = self.forward(normalize(images))
        loss = F.cross_entropy(logits.float(), targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if r.clip_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), r.clip_norm)
        self.optimizer.step()
        if self.ema:
            self.ema.update(self.model)
        hits = (logits.argmax(1) == targets.argmax(1)).sum()
        self.sums += torch.stack([loss.detach() * len(index), hits]).to(self.sums)
        self.step += 1

    def report(self, bar, done: int) -> None:
        """Show the running means, on a GPU only at each 50th step: looking at them makes it wait."""
        if self.device.type == "cpu" or done % 50 == 0:
            loss, accuracy = self.means(done)
            bar.set_postfix_str(f"loss {loss:.3f}, accuracy {accuracy:.1%}", refresh=False)
        bar.update(1)

    def means(self, done: int) -> tuple[float, float]:
        """Mean loss and accuracy over the first `done` steps of this epoch."""
        loss, accuracy = (self.sums / (done * self.batch_size)).tolist()
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the loss became {loss} by step {self.step} of {self.total} (lr {self.recipe.lr:g}, "
                f"{self.precision}); try a third of the lr, or clip_norm 1, in a new folder"
            )
        return loss, accuracy

    def end_epoch(self, epoch: int, progress: bool) -> None:
        loss, accuracy = self.means(self.epoch_steps)
        self.sums.zero_()
        before = sum(row["seconds"] for row in self.log["epochs"])
        rate = self.epoch_steps * self.batch_size / (self.tick() - before)
        row = {
            "epoch": epoch + 1,
            "lr": self.optimizer.param_groups[0]["lr"],
            "train_loss": round(loss, 5),
            "train_accuracy": round(accuracy, 5),
        }
        line = f"epoch {epoch + 1:3d}/{self.recipe.epochs}  loss {loss:.3f}  accuracy {accuracy:.1%}"
        if self.val is not None:
            scores = evaluate(self.best, *self.val)
            row |= {"val_loss": round(scores["loss"], 5), "val_accuracy": round(scores["accuracy"], 5)}
            line += f"  held out {scores['loss']:.3f} {scores['accuracy']:.1%}"
        row |= {"images_per_s": round(rate, 1), "seconds": round(self.tick() - before, 3)}
        self.log["epochs"].append(row)
        self.log["finished"] = self.step == self.total
        if "peak_flops" in self.log:  # 2 FLOPs per MAC, and a backward pass costs two forward passes
            share = 6 * count_macs(self.recipe.model) * rate / self.log["peak_flops"]
            self.log["share_of_peak"] = round(share, 3)
        if progress:
            print(f"{line}  {rate:.0f} images/s  {row['seconds']:.0f} s", flush=True)

    def tick(self) -> float:
        """Seconds the run has taken; its clock stands still while the run is stopped."""
        now = time.monotonic()
        self.log["seconds"] += now - self.clock
        self.clock = now
        return self.log["seconds"]

    @property
    def best(self) -> nn.Module:
        return self.ema.model if self.ema else self.model

    def result(self) -> dict:
        return {**self.log, "model": self.best.eval()}

    def how_to_resume(self) -> str:
        kept = f"all is saved in {self.out}, and the same command or call goes on from there"
        return (
            f"stopped at step {self.step} of {self.total}; "
            f"{kept if self.out is not None else 'nothing was kept, because there is no out folder'}"
        )

    def save(self) -> None:
        self.saved = time.monotonic()
        if self.out is None:
            return
        if done := self.step % self.epoch_steps:
            self.means(done)  # a loss that is not a number is not worth saving
        self.tick()
        state = {
            "identity": self.identity,
            "step": self.step,
            "sums": self.sums,
            "log": self.log,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "ema": self.ema.state_dict() if self.ema else None,
        }
        buffer = io.BytesIO()
        torch.save(state, buffer)
        path = self.out / "checkpoint.pt"
        try:
            write_atomic(path, buffer.getvalue())
            write_json(self.out / "log.json", self.log)
        except OSError as error:
            size = len(buffer.getvalue()) / 1e6
            raise OSError(
                f"cannot write {path}, {size:.0f} MB ({error.strerror or error}); mend that and "
                "repeat the command or call: it goes on from the last checkpoint"
            ) from error

    def load(self) -> None:
        path = None if self.out is None else self.out / "checkpoint.pt"
        if path is None or not path.exists():
            return
        anew = "start anew with resume=False (--no-resume)"
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            theirs = state["identity"]
        except Exception as error:
            raise ValueError(f"{path} is not a whole checkpoint ({type(error).__name__}); {anew}") from error
        if differs := list(_differences(theirs, self.identity)):
            raise ValueError(
                f"{path} is of another run ({'; '.join(differs)}); take another folder, or {anew}"
            )
        for stale in self.out.glob(".*.partial"):  # left by a run that was killed while it wrote
            stale.unlink(missing_ok=True)
        self.step, self.sums, self.log = state["step"], state["sums"].to(self.sums), state["log"]
        self.precision = self.log["precision"]  # "auto" may mean another one on this machine
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.ema:
            self.ema.load_state_dict(state["ema"])


def pick_precision(device: torch.device, model: ViTConfig) -> str:
    """The faster of "bf16" and "fp32" for training a model on a device.

    bfloat16 wins on GPUs that have it, and on CPUs with AMX for models at least 64 wide (1.1 times as fast; 1.3 at
    96, 1.6 at 192). With AVX512-BF16 alone its casts cost more than its products save (0.75 times as fast at 192).
    """
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    pays = device.type == "cpu" and model.embed_dim >= 64 and "amx_bf16" in cpuinfo()
    return "bf16" if pays else "fp32"


@contextmanager
def _polite_interrupt() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag to be asked for between steps; the second interrupts as always."""
    hits = []

    def note(signum, frame):
        hits.append(signum)
        if len(hits) > 1:
            raise KeyboardInterrupt
        print("\nstopping after this step (Ctrl-C again: at once)", file=sys.stderr, flush=True)

    if threading.current_thread() is not threading.main_thread():  # only there can signals be handled
        yield lambda: False
        return
    old = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(hits)
    finally:
        signal.signal(signal.SIGINT, old)


def _bar(progress: bool, epoch: int, epochs: int, steps: int, done: int):
    from tqdm import tqdm

    hidden = not progress or not (sys.stderr.isatty() or "ipykernel" in sys.modules)
    return tqdm(
        total=steps,
        initial=done,
        desc=f"epoch {epoch + 1}/{epochs}",
        unit="step",
        leave=False,
        disable=hidden,
        mininterval=0.5,
    )


def _seed(*parts: int | str) -> int:
    """A 63-bit seed from any parts, so that no two steps, epochs or runs share one."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "big") >> 1


def _check_data(model: ViTConfig, images: Tensor, labels: Tensor) -> None:
    want = (model.in_chans, *model.image_shape)
    if images.ndim != 4 or tuple(images.shape[1:]) != want or images.dtype != torch.uint8:
        raise ValueError(
            f"expected uint8 images (n, {', '.join(map(str, want))}), got {images.dtype} "
            f"{tuple(images.shape)}; give them as loaded, or change the recipe's model"
        )
    if len(images) == 0 or labels.shape != (len(images),) or labels.is_floating_point():
        raise ValueError(
            f"expected at least one image and an integer label for each, got {len(images)} images "
            f"and {labels.dtype} labels {tuple(labels.shape)}"
        )
    low, high = labels.min().item(), labels.max().item()
    if low < 0 or high >= model.num_classes:
        raise ValueError(
            f"expected labels in [0, {model.num_classes}), got {low} to {high}; "
            "set num_classes of the recipe's model"
        )


def _checksum(images: Tensor, labels: Tensor) -> int:
    labels = labels.to("cpu", torch.int64).contiguous().numpy()
    return zlib.crc32(labels, zlib.crc32(images.cpu().contiguous().numpy()))


def _differences(theirs: dict, ours: dict, path: str = "") -> Iterator[str]:
    for key in sorted(theirs.keys() | ours.keys()):
        a, b = theirs.get(key), ours.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            yield from _differences(a, b, f"{path}{key}.")
        elif a != b:
            yield f"{path}{key} was {a!r}, now {b!r}"


def _matmul_peak(device: torch.device, precision: str) -> float:
    """FLOP/s of a large matrix product at this precision: the best of a quarter of a second."""
    size = 4096 if device.type == "cuda" else 1024
    x = torch.randn(size, size, device=device, dtype=torch.bfloat16 if precision == "bf16" else torch.float32)
    best, end = math.inf, time.monotonic() + 0.25
    while time.monotonic() < end:
        start = time.perf_counter()
        (x @ x)[0, 0].item()  # waits for the GPU
        best = min(best, time.perf_counter() - start)
    return round(2 * size**3 / best, -6)
