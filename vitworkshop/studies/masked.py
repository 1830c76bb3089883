"""What is masked pre-training worth, beside training from scratch? The paper's Section 4.6.

Chapter 17. The images are parted once: one in nine keeps its label, the other eight are for pre-training, which looks
at four times as many images as fine-tuning does and tells mean colours. Everything else is equal: model, augmentation,
learning rates tried. "From scratch" has the budget of fine-tuning alone, "whole budget" the steps of both on the
labelled images.

Small beside the paper: 32 pixels and patches of 8 (16 an image, not 196), 321k parameters, 40,000 images for 1,900
steps of 128 (not JFT for up to a million of 4,096). 9 runs took 246 minutes on one thread.
"""

from __future__ import annotations

from vitlib.train.recipe import recipe
from vitlib.train.transfer import replace_head
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import QUICK, Job, Study, row_of

PARTS = 9  # one of them keeps its labels
# of fine-tuning and from scratch; a run is read at the better one of them
RATES = (0.0005, 0.002)


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict]:
    """Pre-train, if the variant does, and fine-tune at each rate: the row of the better one."""
    own, base = study.variants[variant], job.base
    others, labelled = job.data.hold_out(len(job.data) // PARTS)
    start, model, before, seconds = None, base.model, 0, 0.0
    if task := own.get("before"):
        one = recipe(base, seed=seed, epochs=base.epochs // 2, **task)
        log = job.train(f"{variant}, before", one, others, job.val)
        before, seconds = len(log["epochs"]), log["seconds"]
        start = replace_head(log["model"].encoder, model.num_classes)
        model = start.cfg
    rows = []
    for rate in RATES:
        epochs = base.epochs * own["times"]
        one = recipe(base, seed=seed, model=model, lr=rate, epochs=epochs)
        log = job.train(f"{variant}, lr={rate:g}", one, labelled, job.val, start)
        rows.append(row_of(log) | {"changes": own | {"lr": rate}})
        seconds += log["seconds"]
    best = max(rows, key=lambda row: row["final"]["val_accuracy"])
    final = best["final"] | {
        f"val_accuracy lr={row['changes']['lr']:g}": row["final"]["val_accuracy"]
        for row in rows
    }
    return [best | {"seconds": round(seconds, 1), "before": before, "final": final}]


STUDY = Study(
    question="What is masked pre-training worth, beside training from scratch?",
    variants={
        "from scratch": {"times": 1},
        "from scratch, whole budget": {"times": 5},
        "mean colour": {"times": 1, "before": {"objective": "masked-mean"}},
    },
    claims=(
        Claim(
            "masked pre-training is ahead of as much fine-tuning from scratch (the paper: by 2 points)",
            "mean colour",
            "from scratch",
        ),
        Claim(
            "it is ahead of training from scratch with the whole budget, too",
            "mean colour",
            "from scratch, whole budget",
        ),
    ),
    base=recipe(QUICK, epochs=12, **{"model.patch_size": 8}),
    run=_run,
)
