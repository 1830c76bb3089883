"""A recipe from its first step to its last: the model is drawn, or begun from another, and trained (Section 4.1)."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from vitlib.checks import checked
from vitlib.data.dataset import Dataset
from vitlib.device import derive_seed, pick_device
from vitlib.train.loop import Trainer
from vitlib.train.masked import OBJECTIVES
from vitlib.train.parallel import Ranks
from vitlib.train.recipe import Recipe
from vitlib.train.transfer import start_from

__all__ = ["train_model"]


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
    """Train the recipe's model to name images, and return its history, with the model under "model".

    The randomness of step s is seeded by (recipe.seed, s) alone. So a run that was stopped, or killed, goes
    on to the same weights, bit for bit, as one that was not (with the same device and number of threads).
    Ctrl-C finishes the step, saves and raises `Stopped`; a second one interrupts at once.

    Started by `torchrun`, its processes train one model together: each takes its share of every batch, and the
    first one writes; see `Ranks`.

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
        patches are told, it is a `MaskedPatchModel`, and the accuracy is of colours (for pixels it is "r2").

    Raises:
        ValueError: If the data or `start` do not fit the model, or the checkpoint is damaged or of another run.
        FloatingPointError: If the loss is no longer a number.
        Stopped: After Ctrl-C.
        OSError: If a checkpoint cannot be written; the last one stays.

    Source: chapter 09.
    """
    ranks, data, val = Ranks.here(), _as_dataset(data), None if val is None else _as_dataset(val)
    where = ranks.join(pick_device(device))
    objective = OBJECTIVES[recipe.objective](recipe)
    with torch.random.fork_rng(devices=[where] if where.type == "cuda" else []):
        torch.manual_seed(derive_seed(recipe.seed, "init"))
        model = objective.build().to(where)
    begun = {} if start is None else {"start": start_from(model, start)}
    trainer = Trainer(model, objective, objective.recipe, data, val, out, ranks)
    trainer.identity |= begun
    if resume:
        trainer.load()
    return trainer.run(budget_minutes, progress and ranks.rank == 0)


def _as_dataset(data: Dataset | tuple[Tensor, Tensor]) -> Dataset:
    if isinstance(data, Tensor):
        raise ValueError(
            "expected a Dataset or a pair (images, labels), got a tensor; write "
            "train_model(recipe, (images, labels))"
        )
    return data if isinstance(data, Dataset) else Dataset(*data)
