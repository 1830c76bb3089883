"""Does telling what masked patches show help, when few images have labels? The paper's Section 4.6 (chapter 17).

What is masked pre-training worth, beside training from scratch and beside pre-training with labels?

The images are parted once: one in nine keeps its label, the other eight are for pre-training, which looks at four
times as many images as fine-tuning does. Everything else is equal: model, augmentation, learning rates tried. "From
scratch" has the budget of fine-tuning alone, "whole budget" the steps of both on the labelled images. Pre-training with
the labels of the others is an upper bound: in the paper its classes were others, here they are the same ten.

Small beside the paper: 32 pixels and patches of 8 (16 an image, not 196), 321k parameters, 40,000 images for 1,900
steps of 128 (not JFT for up to a million of 4,096). There targets and rates of corruption were compared by few-shot
accuracy, here after fine-tuning.

- masked pre-training is ahead of as much fine-tuning from scratch (the paper: by 2 points): agrees, +7.2 ± 0.3 points
  (standard error, n = 3).
- it is ahead of training from scratch with the whole budget, too: differs, -7.3 ± 0.4 points (standard error, n = 3).
- pre-training with labels is ahead of masked pre-training (the paper: by 4 points): agrees, +7.0 ± 0.1 points (standard
  error, n = 3).
- telling the mean colour or the 4 x 4 colours helps equally: open, -1.5 ± 0.5 points (standard error, n = 3); about 11
  seeds would decide.
- telling the mean colour is ahead of telling pixels (the paper: slightly): agrees, +4.0 ± 0.3 points (standard error, n
  = 3).
- corrupting 50 % is ahead of corrupting 15 % (the paper: slightly): agrees, +3.0 ± 0.1 points (standard error, n = 3).
- mean colours are told better than by a guess from the patches that are shown: agrees, +0.10 ± 0.01 (standard error, n
  = 3).

21 runs on CIFAR-10 (JPEG q75) with 3 seeds took 416 minutes: `python -m vitlib study run masked --data cifar10
--threads 1`
"""

from __future__ import annotations

import time
from typing import Any

from torch import nn

from vitlib.data.dataset import Dataset
from vitlib.train.loop import train_model
from vitlib.train.objective import OBJECTIVES
from vitlib.train.recipe import recipe
from vitlib.train.transfer import replace_head
from vitworkshop.studies.study import FULL, QUICK, Claim, Job, Study, rows_of

__all__ = ["STUDY"]

PARTS = 9  # one of them keeps its labels
RATES = (0.0005, 0.002)  # of fine-tuning and from scratch; a run is read at the better one of them


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict] | None:
    """Pre-train, if the variant does, and fine-tune at each rate: the row of the better one."""
    began, own, base = time.monotonic(), study.variants[variant], recipe(study.base or QUICK, **job.changes)
    others, labelled = job.data.hold_out(len(job.data) // PARTS)
    logs: list[dict] = []

    def train(what: str, data: Dataset, start: nn.Module | None = None, **changes: Any) -> bool:
        """Whether it came to its end in time."""
        left = None if job.left is None else job.left - (time.monotonic() - began) / 60
        one = recipe(base, **changes, seed=seed, name=f"{variant}, {what}-s{seed}")
        more = {"out": job.folder(f"{variant}, {what}", seed), "device": job.device, "start": start}
        logs.append(train_model(one, data, job.val, budget_minutes=left, progress=job.progress, **more))
        return logs[-1]["finished"]

    start, model, before, above = None, base.model, [], 0.0
    if task := own.get("before"):
        if not train("before", others, epochs=max(1, base.epochs // 2), **task):
            return None
        trained, before = logs[0]["model"], logs[0]["epochs"]
        start = replace_head(getattr(trained, "encoder", trained), model.num_classes)
        model, last = start.cfg, before[-1]
        if "val_neighbours" in last:
            score = last[f"val_{OBJECTIVES[task['objective']].metric}"]
            above = score - max(last["val_constant"], last["val_neighbours"])
    rows: list[dict] = []
    for rate in own["lr"]:
        if not train(
            f"lr={rate:g}", labelled, start, model=model, lr=rate, epochs=base.epochs * own["times"]
        ):
            return None
        rows += rows_of(logs[-1], variant, own | {"lr": rate}, seed) or []
    best = max(rows, key=lambda row: row["final"]["val_accuracy"])
    final = best["final"] | {"above_guess": round(above, 5)}
    final |= {f"val_accuracy lr={row['changes']['lr']:g}": row["final"]["val_accuracy"] for row in rows}
    seconds = round(sum(log["seconds"] for log in logs), 1)
    return [best | {"seconds": seconds, "before": before, "final": final}]


def _ahead(says: str, first: str, second: str, source: str = "Section 4.6") -> Claim:
    return Claim(says, source, (first,), (second,), margin=0.01)


_BEFORE = {
    "mean colour": {"objective": "masked-mean"},
    "4 x 4 colours": {"objective": "masked-grid"},
    "pixels": {"objective": "masked-pixels"},
    "mean colour, 15 %": {"objective": "masked-mean", "mask_ratio": 0.15},
    "labels": {"objective": "classification"},
}

STUDY = Study(
    question="What is masked pre-training worth, beside training from scratch and beside pre-training with labels?",
    variants={
        "from scratch": {"lr": RATES, "times": 1},
        "from scratch, whole budget": {"lr": RATES, "times": 5},
        **{name: {"lr": RATES, "times": 1, "before": task} for name, task in _BEFORE.items()},
    },
    claims=(
        _ahead(
            "masked pre-training is ahead of as much fine-tuning from scratch (the paper: by 2 points)",
            "mean colour",
            "from scratch",
        ),
        _ahead(
            "it is ahead of training from scratch with the whole budget, too",
            "mean colour",
            "from scratch, whole budget",
            "ours",
        ),
        _ahead(
            "pre-training with labels is ahead of masked pre-training (the paper: by 4 points)",
            "labels",
            "mean colour",
        ),
        Claim(
            "telling the mean colour or the 4 x 4 colours helps equally",
            "Appendix B.1.2",
            ("mean colour",),
            ("4 x 4 colours",),
            margin=0.01,
            kind="equal",
        ),
        _ahead(
            "telling the mean colour is ahead of telling pixels (the paper: slightly)",
            "mean colour",
            "pixels",
            "Appendix B.1.2",
        ),
        _ahead(
            "corrupting 50 % is ahead of corrupting 15 % (the paper: slightly)",
            "mean colour",
            "mean colour, 15 %",
            "Appendix B.1.2",
        ),
        Claim(
            "mean colours are told better than by a guess from the patches that are shown",
            "ours",
            ("mean colour",),
            ("from scratch",),  # which tells nothing, and has 0
            margin=0.01,
            metric="above_guess",
        ),
    ),
    base=recipe(QUICK, epochs=12, **{"model.patch_size": 8}),
    full={key: FULL[key] for key in ("precision", "model.embed_dim", "model.depth", "model.mlp_ratio")}
    | {"epochs": 40, "batch_size": 256, "model.patch_size": 4},
    source="Section 4.6, Appendix B.1.2",
    run=_run,
)
