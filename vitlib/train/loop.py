"""The training loop: resumable to the bit, safe to interrupt (Section 4.1 and Appendix B.1)."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor, nn

from vitlib.checks import checked
from vitlib.data.dataset import Dataset
from vitlib.device import derive_seed, pick_device
from vitlib.evidence import provenance
from vitlib.files import is_watched
from vitlib.model.costs import count_parameters
from vitlib.model.patches import PatchDrop
from vitlib.train.checkpoint import (
    Stopped,
    checksum,
    load_checkpoint,
    polite_interrupt,
    save_checkpoint,
)
from vitlib.train.objective import OBJECTIVES, Objective
from vitlib.train.optim import EMA, build_optimizer, lr_at
from vitlib.train.precision import pick_precision
from vitlib.train.recipe import Recipe, default_fields
from vitlib.train.transfer import start_from

__all__ = ["train_model"]

CHECKPOINT_SECONDS = 60.0  # the longest time between two checkpoints
TIMED = 10  # steps after the first, by which the rest of a run is estimated


@checked
def train_model(
    recipe: Recipe,
    data: Dataset | tuple[Tensor, Tensor],
    val: Dataset | tuple[Tensor, Tensor] | None = None,
    *,
    out: str | Path | None = None,
    device: str = "auto",
    resume: bool = True,
    budget_minutes: float | None = None,
    progress: bool = True,
    start: nn.Module | None = None,
) -> dict:
    """Train the recipe's model to name raw images, uint8, and return its history, with the model under "model".

    The randomness of step s is seeded by (recipe.seed, s) alone. So a run that was stopped, or killed, goes
    on to the same weights, bit for bit, as one that was not (with the same device and number of threads).
    Ctrl-C or SIGTERM finishes the step, saves and raises `Stopped`; a second one interrupts at once.

    Args:
        recipe: What to do; see `RECIPES`.
        data: The images, (n, C, H, W) uint8, not normalised, and their labels, (n,) integers in [0, num_classes),
            as a pair or as a `Dataset`, whose label then stands in the log. They are moved to the device whole.
        val: Images and labels held out, evaluated after each epoch (by the averaged model, if there is one).
        out: Folder for `checkpoint.pt` and `log.json`; a checkpoint in it is continued. None keeps nothing.
        device: "auto", "cpu", "cuda" or "mps".
        resume: False starts anew and overwrites what is in `out`.
        budget_minutes: Stop after this time with a checkpoint and "finished": False; call again to go on.
        progress: Whether to show a bar for each epoch and print a line after it.
        start: A model as `recipe.model` says, whose weights are taken where others would be drawn; see `replace_head`.

    Returns:
        What `log.json` holds: "epochs" (a list of dicts: epoch, lr, train_loss, train_accuracy, images_per_s,
        seconds and, with `val`, val_loss and val_accuracy), "seconds", "finished", "config", "recipe",
        "precision", "hardware" and more; and "model", in eval mode (the averaged one, if there is one). Where masked
        patches are predicted, it is a `MaskedPatchModel`, and the accuracy is of colours (for pixels it is "r2").

    Raises:
        ValueError: If the data or `start` do not fit the model, the checkpoint is damaged or of another run.
        FloatingPointError: If the loss is no longer a number.
        Stopped: After Ctrl-C or SIGTERM.
        OSError: If a checkpoint cannot be written; the last one stays.

    Source: chapter 09.
    """
    data = data if isinstance(data, Dataset) else Dataset(*data)
    val = val if val is None or isinstance(val, Dataset) else Dataset(*val)
    where = pick_device(device)
    objective = OBJECTIVES[recipe.objective](recipe)
    with torch.random.fork_rng(devices=[where] if where.type == "cuda" else []):
        torch.manual_seed(derive_seed(recipe.seed, "init"))
        model = objective.build().to(where)
    started = {} if start is None else {"start": start_from(model, start)}
    trainer = Trainer(model, objective, objective.recipe, data, val, out)
    trainer.identity |= started
    if resume:
        trainer.load()
    return trainer.run(budget_minutes, progress)


class Trainer:
    """One run of `train_model`: a model on its device, its objective, and all that changes from step to step."""

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        recipe: Recipe,
        data: Dataset,
        val: Dataset | None = None,
        out: str | Path | None = None,
    ) -> None:
        for images in (data, val):
            if images is not None:
                objective.check(images)
        self.model, self.objective = model, objective
        self.recipe, self.val = recipe, val
        self.device = device = next(model.parameters()).device
        self.out = None if out is None else Path(out)
        self.images, self.labels = data.images.to(device), data.labels.to(device)
        self.batch_size = min(recipe.batch_size, len(data))
        self.epoch_steps = len(data) // self.batch_size
        self.total = recipe.epochs * self.epoch_steps
        self.warmup = min(round(recipe.warmup * self.total), self.total - 1)
        self.precision = recipe.precision
        if self.precision == "auto":
            self.precision = pick_precision(device, recipe.model)
        self.optimizer = build_optimizer(model, recipe)
        self.dropping = [
            (part, part.rate) for part in model.modules() if isinstance(part, PatchDrop)
        ]
        self.ema = EMA(model, recipe.ema_decay) if recipe.ema_decay else None
        self.step = 0
        # MPS has no float64
        home = torch.device("cpu") if device.type == "mps" else device
        # loss and hits in this epoch
        self.sums = torch.zeros(2, dtype=torch.float64, device=home)
        self.clock = self.saved = time.monotonic()
        # as in a file, where tuples are lists
        plain = json.loads(json.dumps(asdict(recipe)))
        self.log: dict = {
            "name": recipe.name,
            **provenance(data.label, device, self.precision),
            "seed": recipe.seed,
            "parameters": count_parameters(model),
            "n_train": len(data),
            "n_val": 0 if val is None else len(val),
            "seconds": 0.0,
            "finished": False,
            "config": plain["model"],
            "recipe": plain,
            "epochs": [],
        }
        self.identity: dict = {
            "recipe": plain,
            "data": {"label": data.label, "n": len(data), "checksum": checksum(data)},
        }

    def train_step(self, index: Tensor) -> None:
        """One step on the images at `index`, (B,)."""
        r, s, seed = (
            self.recipe,
            self.step,
            derive_seed(self.recipe.seed, "step", self.step),
        )
        torch.manual_seed(seed)  # for dropout and DropPath
        draw = torch.Generator().manual_seed(seed)  # for the augmentation
        for group in self.optimizer.param_groups:
            group["lr"] = lr_at(
                s, self.total, r.lr, self.warmup, r.schedule, r.final_lr
            )
        for module, rate in self.dropping:
            module.rate = rate if s < (1 - r.patch_drop_off) * self.total else 0.0
        inputs, targets = self.objective.draw(
            self.images[index], self.labels[index], draw, s, self.total
        )
        self.model.train()
        with torch.autocast(
            self.device.type, torch.bfloat16, enabled=self.precision == "bf16"
        ):
            outputs = self.model(*inputs)
        loss, hits = self.objective.loss(outputs, targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if r.clip_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), r.clip_norm)
        self.optimizer.step()
        if self.ema:
            self.ema.update(self.model)
        self.sums += torch.stack([loss.detach() * len(targets), hits]).to(self.sums)
        self.step += 1

    def order(self, epoch: int) -> Tensor:
        """The order of the images in an epoch: (n,), by the run's seed and the epoch's number alone."""
        generator = torch.Generator().manual_seed(
            derive_seed(self.recipe.seed, "order", epoch)
        )
        return torch.randperm(len(self.images), generator=generator).to(self.device)

    def run(self, budget_minutes: float | None = None, progress: bool = True) -> dict:
        """Train to the end, or until the time is over or a signal comes; see `train_model`."""
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices), polite_interrupt() as interrupted:
            began = self.clock = time.monotonic()
            first, warm = self.step + 1, began
            if self.step == 0 and self.out is not None:
                self.save()  # a folder that cannot be written is found out now
            if progress and self.step == 0 and self.recipe.precision == "auto":
                print(f"in {self.precision}", flush=True)
            while self.step < self.total:
                epoch, done = divmod(self.step, self.epoch_steps)
                order = self.order(epoch)
                with self.bar(progress, epoch, done) as bar:
                    for i in range(done, self.epoch_steps):
                        self.train_step(
                            order[i * self.batch_size : (i + 1) * self.batch_size]
                        )
                        self.report(bar, i + 1)
                        if self.step == first:
                            warm = time.monotonic()
                        if progress and self.step == first + TIMED:
                            self.estimate((time.monotonic() - warm) / TIMED)
                        if i + 1 == self.epoch_steps:
                            bar.close()
                            self.end_epoch(progress)
                        now = time.monotonic()
                        over = (
                            budget_minutes is not None
                            and now - began >= budget_minutes * 60
                        )
                        stop = interrupted()
                        self.save_if_due(now, stop or over)
                        if stop and self.step < self.total:
                            raise Stopped(self.how_to_resume())
                        if over:
                            return self.result()
        return self.result()

    def bar(self, progress: bool, epoch: int, done: int):
        """The progress bar of an epoch of which some steps are done."""
        from tqdm import tqdm

        hidden = not (progress and is_watched())
        how = {"unit": "step", "leave": False, "disable": hidden, "mininterval": 0.5}
        name = f"epoch {epoch + 1}/{self.recipe.epochs}"
        return tqdm(total=self.epoch_steps, initial=done, desc=name, **how)

    def report(self, bar, done: int) -> None:
        """Show the running means, on a GPU only at each 50th step: looking at them makes it wait."""
        if self.device.type == "cpu" or done % 50 == 0:
            means, metric = self.means(done), self.objective.metric
            bar.set_postfix_str(
                f"loss {means['loss']:.3f}, training {metric} {means[metric]:.1%}",
                refresh=False,
            )
        bar.update(1)

    def estimate(self, seconds: float) -> None:
        """Say what an epoch takes, and until when the run will, if a step takes so long and a minute is not enough."""
        epoch, rest = seconds * self.epoch_steps, seconds * (self.total - self.step)
        if rest > 60:
            took = f"{epoch:.0f} s" if epoch < 120 else f"{epoch / 60:.0f} minutes"
            end = time.localtime(time.time() + rest)
            till = time.strftime("%H:%M" if rest < 43_200 else "%A, %H:%M", end)
            said = (
                f"an epoch takes {took} here; {self.recipe.epochs} epochs till {till}"
            )
            print(said, flush=True)

    def means(self, done: int) -> dict[str, float]:
        """Mean loss and metric over the first `done` steps of this epoch, if the loss still is a number."""
        loss, score = (self.sums / (done * self.batch_size)).tolist()
        if not math.isfinite(loss):
            said = f"the loss became {loss} by step {self.step} of {self.total}"
            fix = "try a third of the lr, or clip_norm 1, in a new folder"
            raise FloatingPointError(
                f"{said} (lr {self.recipe.lr:g}, {self.precision}); {fix}"
            )
        return {"loss": loss, self.objective.metric: score}

    def end_epoch(self, progress: bool) -> None:
        """Score the held-out images, and write the epoch's row into the log."""
        train, trained = self.means(self.epoch_steps), self.tick()
        self.sums.zero_()
        val = (
            {}
            if self.val is None
            else self.objective.score(self.scored_model, self.val)
        )
        rows, metric = self.log["epochs"], self.objective.metric
        before = sum(row["seconds"] for row in rows)
        rate = self.epoch_steps * self.batch_size / (trained - before)  # scoring apart
        row: dict = {"epoch": len(rows) + 1, "lr": self.optimizer.param_groups[0]["lr"]}
        for split, scores in (("train", train), ("val", val)):
            row |= {
                f"{split}_{name}": round(value, 5) for name, value in scores.items()
            }
        row |= {
            "images_per_s": round(rate, 1),
            "seconds": round(self.tick() - before, 3),
        }
        rows.append(row)
        self.log["finished"] = self.step == self.total
        if progress:
            line = f"epoch {row['epoch']:3d}/{self.recipe.epochs}"
            line += f"  loss {train['loss']:.3f}  training {metric} {train[metric]:.1%}"
            if val:
                line += f"  held out {val['loss']:.3f} {val[metric]:.1%}"
            print(f"{line}  {rate:.0f} images/s  {row['seconds']:.0f} s", flush=True)

    def tick(self) -> float:
        """Seconds the run has taken; its clock stands still while the run is stopped."""
        now = time.monotonic()
        self.log["seconds"] += now - self.clock
        self.clock = now
        return self.log["seconds"]

    @property
    def scored_model(self) -> nn.Module:
        """The moving average of the weights, if there is one; else the model itself."""
        return self.ema.model if self.ema else self.model

    def result(self) -> dict:
        """The log, and the model in eval mode."""
        for module, rate in self.dropping:
            module.rate = rate
        return {**self.log, "model": self.scored_model.eval()}

    def how_to_resume(self) -> str:
        """Where a stopped run stands."""
        kept = f"all is saved in {self.out}, and the same command or call goes on from there"
        nothing = "nothing was kept, because there is no out folder"
        return f"stopped at step {self.step} of {self.total}; {nothing if self.out is None else kept}"

    def save_if_due(self, now: float, stopping: bool) -> None:
        """Save at the end of the run and every minute, and sooner where an epoch ends."""
        wait = (
            min(10.0, CHECKPOINT_SECONDS)
            if self.step % self.epoch_steps == 0
            else CHECKPOINT_SECONDS
        )
        if stopping or self.step == self.total or now - self.saved >= wait:
            self.save()

    def save(self) -> None:
        """Write `checkpoint.pt` and `log.json`, if there is a folder."""
        self.saved = time.monotonic()
        if self.out is None:
            return
        if done := self.step % self.epoch_steps:
            self.means(done)  # raises if the loss is no number
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
        save_checkpoint(self.out / "checkpoint.pt", state)

    def load(self) -> None:
        """Go on from the folder's checkpoint, if there is one."""
        if self.out is None or not (path := self.out / "checkpoint.pt").exists():
            return
        state = load_checkpoint(
            path, self.identity, self.device, {"recipe": default_fields(self.recipe)}
        )
        self.step, self.sums, self.log = (
            state["step"],
            state["sums"].to(self.sums),
            state["log"],
        )
        # "auto" may mean another one on this machine
        self.precision = self.log["precision"]
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.ema:
            self.ema.load_state_dict(state["ema"])
