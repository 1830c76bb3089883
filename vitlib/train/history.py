"""The log of a run, as `log.json` holds it: a row for each epoch, and a clock that stops while the run is stopped."""

from __future__ import annotations

import dataclasses
import json
import time

import torch

from vitlib.data.dataset import Dataset
from vitlib.evidence import provenance
from vitlib.model.costs import count_macs
from vitlib.train.recipe import Recipe

__all__ = ["History"]


class History:
    """What a run has done so far.

    Args:
        recipe: What it does.
        data: The training images.
        val: The held-out images, or None.
        device: Where it computes.
        precision: "fp32" or "bf16".
        parameters: Of the model.
    """

    def __init__(
        self,
        recipe: Recipe,
        data: Dataset,
        val: Dataset | None,
        device: torch.device,
        precision: str,
        parameters: int,
    ) -> None:
        plain = json.loads(json.dumps(dataclasses.asdict(recipe)))  # tuples become lists, as in a file
        self.recipe, self.clock = recipe, time.monotonic()
        self.log: dict = {
            "name": recipe.name,
            **provenance(data.label, device, precision),
            "seed": recipe.seed,
            "parameters": parameters,
            "n_train": len(data),
            "n_val": 0 if val is None else len(val),
            "seconds": 0.0,
            "finished": False,
            "config": plain["model"],
            "recipe": plain,
            "epochs": [],
        }

    def tick(self) -> float:
        """Seconds the run has taken; its clock stands still while the run is stopped."""
        now = time.monotonic()
        self.log["seconds"] += now - self.clock
        self.clock = now
        return self.log["seconds"]

    def end_epoch(
        self, lr: float, train: dict[str, float], val: dict[str, float], images: int, clock: float
    ) -> str:
        """Append an epoch's row.

        Args:
            lr: The last step's learning rate.
            train: "loss" and the objective's metric on the training images, as they were augmented.
            val: The same, and more, on the held-out images; empty where there are none.
            images: Seen in this epoch.
            clock: What `tick` gave when its last step ended, before the held-out images were scored.

        Returns:
            The row in words.
        """
        before = sum(row["seconds"] for row in self.log["epochs"])
        rate = images / (clock - before)
        row: dict = {"epoch": len(self.log["epochs"]) + 1, "lr": lr}
        for split, scores in (("train", train), ("val", val)):
            row |= {f"{split}_{name}": round(value, 5) for name, value in scores.items()}
        row |= {"images_per_s": round(rate, 1), "seconds": round(self.tick() - before, 3)}
        self.log["epochs"].append(row)
        if "peak_flops" in self.log and not getattr(
            self.recipe.model, "patch_drop_rate", 0
        ):  # 2 FLOPs per MAC, and a backward pass costs two forward passes
            share = 6 * count_macs(self.recipe.model) * rate / self.log["peak_flops"]
            if share < 1:  # else the peak was measured while the machine did other work
                self.log["share_of_peak"] = float(f"{share:.3g}")
        line = f"epoch {row['epoch']:3d}/{self.recipe.epochs}"
        _, metric = train
        line += f"  loss {train['loss']:.3f}  {metric} {train[metric]:.1%}"
        if val:
            line += f"  held out {val['loss']:.3f} {val[metric]:.1%}"
        return f"{line}  {rate:.0f} images/s  {row['seconds']:.0f} s"
