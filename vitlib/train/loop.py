"""The training loop: resumable to the bit, safe to interrupt (Section 4.1 and Appendix B.1)."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from vitlib.data.dataset import Dataset
from vitlib.device import derive_seed, matmul_peak
from vitlib.model.costs import count_parameters
from vitlib.model.patches import PatchDrop
from vitlib.model.vit import MODELS
from vitlib.train.checkpoint import Stopped, checksum, load_checkpoint, polite_interrupt, save_checkpoint
from vitlib.train.history import History
from vitlib.train.objective import Objective
from vitlib.train.optim import EMA, build_optimizer, lr_at
from vitlib.train.parallel import Ranks
from vitlib.train.precision import settle_precision
from vitlib.train.recipe import Recipe, usual_fields

__all__ = ["Trainer"]

CHECKPOINT_SECONDS = 60.0  # the longest time between two checkpoints


class Trainer:
    """One training run: a model, what it is trained for, and all that changes from step to step.

    Args:
        model: Any module; its device is where everything happens.
        objective: Makes batches, computes losses and scores.
        recipe: What to do.
        data: The training images.
        val: Held-out images, or None.
        out: Folder for `checkpoint.pt` and `log.json`, or None.
        ranks: The processes that share the work; None is this one alone.

    Raises:
        ValueError: If the data do not fit the objective, or the batch cannot be divided among the processes.
    """

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        recipe: Recipe,
        data: Dataset,
        val: Dataset | None = None,
        out: str | Path | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        ranks = ranks or Ranks()
        for images in (data, val):
            if images is not None:
                objective.check(images)
        self.model, self.objective, self.recipe, self.val, self.ranks = model, objective, recipe, val, ranks
        self.device = device = next(model.parameters()).device
        self.out = None if out is None else Path(out)
        self.images, self.labels = data.images.to(device), data.labels.to(device)
        self.batch_size = min(recipe.batch_size, len(data))
        ranks.check(self.batch_size)
        self.epoch_steps = len(data) // self.batch_size
        self.total = recipe.epochs * self.epoch_steps
        self.warmup = min(round(recipe.warmup * self.total), self.total - 1)
        self.precision = settle_precision(recipe, device, ranks)
        self.optimizer = build_optimizer(model, recipe)
        self.dropping = [(part, part.rate) for part in model.modules() if isinstance(part, PatchDrop)]
        self.ema = EMA(model, recipe.ema_decay) if recipe.ema_decay else None
        shared = ranks.wrap(model)
        self.forward: Callable[..., Tensor] = torch.compile(shared) if recipe.compile else shared
        self.step = 0
        home = torch.device("cpu") if device.type == "mps" else device  # MPS has no float64
        self.sums = torch.zeros(2, dtype=torch.float64, device=home)  # loss and hits in this epoch
        self.saved = time.monotonic()
        self.history = History(recipe, data, val, device, self.precision, count_parameters(model))
        about = {"label": data.label, "n": len(data), "checksum": checksum(data)}
        plain = {key: value for key, value in self.history.log["recipe"].items() if key != "compile"}
        self.identity: dict = {"recipe": plain, "data": about}

    def run(self, budget_minutes: float | None = None, progress: bool = True) -> dict:
        """Train to the end, or until the time is over or Ctrl-C; see `train_model`.

        Raises:
            Stopped: After Ctrl-C.
        """
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            with polite_interrupt() as interrupted:
                return self._run(interrupted, budget_minutes, progress)

    def _run(self, interrupted: Callable[[], bool], budget_minutes: float | None, progress: bool) -> dict:
        began = self.history.clock = time.monotonic()
        if self.step == 0 and self.out is not None:
            if isinstance(self.model, MODELS):  # whose work can be counted
                peak = matmul_peak(self.device, self.precision)
                self.history.log["peak_flops"] = self.ranks.size * peak
            self.save()  # a folder that cannot be written is found out now
        if progress and self.step == 0 and self.recipe.precision == "auto":
            print(f"in {self.precision}", flush=True)
        while self.step < self.total:
            epoch, done = divmod(self.step, self.epoch_steps)
            order = self.order(epoch)
            with _bar(progress, epoch, self.recipe.epochs, self.epoch_steps, done) as bar:
                for i in range(done, self.epoch_steps):
                    self.train_step(order[i * self.batch_size : (i + 1) * self.batch_size])
                    self.report(bar, i + 1)
                    if i + 1 == self.epoch_steps:
                        bar.close()
                        self.end_epoch(progress)
                    now = time.monotonic()
                    over = budget_minutes is not None and now - began >= budget_minutes * 60
                    stop, over = self.ranks.any(interrupted(), over)
                    self.save_now_and_then(now, stop or over)
                    if stop and self.step < self.total:
                        raise Stopped(self.how_to_resume())
                    if over:
                        return self.result()
        return self.result()

    def order(self, epoch: int) -> Tensor:
        """The order of the images in an epoch: (n,), by the run's seed and the epoch's number alone."""
        generator = torch.Generator().manual_seed(derive_seed(self.recipe.seed, "order", epoch))
        return torch.randperm(len(self.images), generator=generator).to(self.device)

    def train_step(self, index: Tensor) -> None:
        """One step on the images at `index`, (B,)."""
        r, s, seed = self.recipe, self.step, derive_seed(self.recipe.seed, "step", self.step)
        torch.manual_seed(self.ranks.seed(seed))  # for dropout and DropPath
        generator = torch.Generator().manual_seed(seed)  # for the augmentation
        for group in self.optimizer.param_groups:
            group["lr"] = lr_at(s, self.total, r.lr, self.warmup, r.schedule, r.final_lr)
        for module, rate in self.dropping:
            module.rate = rate if s < (1 - r.patch_drop_off) * self.total else 0.0
        inputs, targets = self.objective.draw(
            self.images[index], self.labels[index], generator, s, self.total
        )
        inputs, targets = tuple(map(self.ranks.share, inputs)), self.ranks.share(targets)
        self.model.train()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            outputs = self.forward(*inputs)
        loss, hits = self.objective.loss(outputs, targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if r.clip_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), r.clip_norm)
        self.optimizer.step()
        if self.ema:
            self.ema.update(self.model)
        sums = torch.stack([loss.detach() * len(targets), hits]).to(self.sums)
        self.sums += self.ranks.sum(sums)
        self.step += 1

    def report(self, bar, done: int) -> None:
        """Show the running means, on a GPU only at each 50th step: looking at them makes it wait."""
        if self.device.type == "cpu" or done % 50 == 0:
            means, metric = self.means(done), self.objective.metric
            bar.set_postfix_str(f"loss {means['loss']:.3f}, {metric} {means[metric]:.1%}", refresh=False)
        bar.update(1)

    def means(self, done: int) -> dict[str, float]:
        """Mean loss and metric over the first `done` steps of this epoch.

        Raises:
            FloatingPointError: If the loss is no longer a number.
        """
        loss, score = (self.sums / (done * self.batch_size)).tolist()
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the loss became {loss} by step {self.step} of {self.total} (lr {self.recipe.lr:g}, "
                f"{self.precision}); try a third of the lr, or clip_norm 1, in a new folder"
            )
        return {"loss": loss, self.objective.metric: score}

    def end_epoch(self, progress: bool) -> None:
        """Score the held-out images, and write the epoch's row into the log."""
        train, clock = self.means(self.epoch_steps), self.history.tick()
        self.sums.zero_()
        val = {} if self.val is None else self.objective.score(self.best, self.val)
        lr, images = self.optimizer.param_groups[0]["lr"], self.epoch_steps * self.batch_size
        line = self.history.end_epoch(lr, train, val, images, clock)
        self.history.log["finished"] = self.step == self.total
        if progress:
            print(line, flush=True)

    @property
    def best(self) -> nn.Module:
        """The averaged model, if there is one."""
        return self.ema.model if self.ema else self.model

    def result(self) -> dict:
        """The log, and the model in eval mode."""
        for module, rate in self.dropping:
            module.rate = rate
        return {**self.history.log, "model": self.best.eval()}

    def how_to_resume(self) -> str:
        """Where a stopped run stands."""
        kept = f"all is saved in {self.out}, and the same command or call goes on from there"
        nothing = "nothing was kept, because there is no out folder"
        return f"stopped at step {self.step} of {self.total}; {nothing if self.out is None else kept}"

    def save_now_and_then(self, now: float, stopping: bool) -> None:
        """Save when it is due: at the end of the run and every minute, and sooner where an epoch ends."""
        wait = min(10.0, CHECKPOINT_SECONDS) if self.step % self.epoch_steps == 0 else CHECKPOINT_SECONDS
        if stopping or self.step == self.total or now - self.saved >= wait:
            self.save()

    def save(self) -> None:
        """Write `checkpoint.pt` and `log.json`, if there is a folder."""
        self.saved = time.monotonic()
        if self.out is None or self.ranks.rank > 0:
            return
        if done := self.step % self.epoch_steps:
            self.means(done)  # raises if the loss is no number
        self.history.tick()
        state = {
            "identity": self.identity,
            "step": self.step,
            "sums": self.sums,
            "log": self.history.log,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "ema": self.ema.state_dict() if self.ema else None,
        }
        save_checkpoint(self.out / "checkpoint.pt", state)

    def load(self) -> None:
        """Go on from the folder's checkpoint, if there is one."""
        if self.out is None or not (path := self.out / "checkpoint.pt").exists():
            return
        state = load_checkpoint(path, self.identity, self.device, {"recipe": usual_fields(self.recipe)})
        self.step, self.sums = state["step"], state["sums"].to(self.sums)
        self.history.log = state["log"]
        self.precision = state["log"]["precision"]  # "auto" may mean another one on this machine
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.ema:
            self.ema.load_state_dict(state["ema"])


def _bar(progress: bool, epoch: int, epochs: int, steps: int, done: int):
    from tqdm import tqdm

    hidden = not progress or not (sys.stderr.isatty() or "ipykernel" in sys.modules)
    name = f"epoch {epoch + 1}/{epochs}"
    return tqdm(
        total=steps, initial=done, desc=name, unit="step", leave=False, disable=hidden, mininterval=0.5
    )
