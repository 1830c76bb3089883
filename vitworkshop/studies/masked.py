"""What is masked pre-training worth, beside training from scratch and beside pre-training with labels? Section 4.6.

The paper's Section 4.6 and Appendix B.1.2 (chapter 17). The images are parted once: one in nine keeps its label, the
other eight are for pre-training, which looks at four times as many images as fine-tuning does. Everything else is
equal: model, augmentation, learning rates tried. "From scratch" has the budget of fine-tuning alone, "whole budget" the
steps of both on the labelled images. Pre-training with the labels of the others is an upper bound: in the paper its
classes were others, here they are the same ten.

Small beside the paper: 32 pixels and patches of 8 (16 an image, not 196), 321k parameters, 40,000 images for 1,900
steps of 128 (not JFT for up to a million of 4,096). There targets and rates of corruption were compared by few-shot
accuracy, here after fine-tuning. 21 runs took 416 minutes on one thread.
"""

from __future__ import annotations

from vitlib.train.objective import OBJECTIVES
from vitlib.train.recipe import recipe
from vitlib.train.transfer import replace_head
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.study import FULL, QUICK, Job, Study, rows_of

PARTS = 9  # one of them keeps its labels
RATES = (0.0005, 0.002)  # of fine-tuning and from scratch; a run is read at the better one of them


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict] | None:
    """Pre-train, if the variant does, and fine-tune at each rate: the row of the better one."""
    own, base = study.variants[variant], recipe(study.base or QUICK, **job.changes)
    others, labelled = job.data.hold_out(len(job.data) // PARTS)
    start, model, before, above, seconds = None, base.model, [], 0.0, 0.0
    if task := own.get("before"):
        one = recipe(base, seed=seed, epochs=max(1, base.epochs // 2), **task)
        log = job.train(f"{variant}, before", one, others, job.val)
        if not log["finished"]:
            return None
        trained, before, seconds = log["model"], log["epochs"], log["seconds"]
        start = replace_head(getattr(trained, "encoder", trained), model.num_classes)
        model, last = start.cfg, before[-1]
        if "val_neighbours" in last:
            score = last[f"val_{OBJECTIVES[one.objective].metric}"]
            above = score - max(last["val_constant"], last["val_neighbours"])
    rows: list[dict] = []
    for rate in own["lr"]:
        one = recipe(base, seed=seed, model=model, lr=rate, epochs=base.epochs * own["times"])
        log = job.train(f"{variant}, lr={rate:g}", one, labelled, job.val, start)
        if not log["finished"]:
            return None
        rows += rows_of(log, variant, own | {"lr": rate}, seed) or []
        seconds += log["seconds"]
    best = max(rows, key=lambda row: row["final"]["val_accuracy"])
    final = best["final"] | {"above_guess": round(above, 5)}
    final |= {f"val_accuracy lr={row['changes']['lr']:g}": row["final"]["val_accuracy"] for row in rows}
    return [best | {"seconds": round(seconds, 1), "before": before, "final": final}]


def _target(says: str, other: str, kind: str = "ahead") -> Claim:
    return Claim(says, "Appendix B.1.2", "mean colour", other, kind=kind)


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
        Claim(
            "masked pre-training is ahead of as much fine-tuning from scratch (the paper: by 2 points)",
            "Section 4.6",
            "mean colour",
            "from scratch",
        ),
        Claim(
            "it is ahead of training from scratch with the whole budget, too",
            "ours",
            "mean colour",
            "from scratch, whole budget",
        ),
        Claim(
            "pre-training with labels is ahead of masked pre-training (the paper: by 4 points)",
            "Section 4.6",
            "labels",
            "mean colour",
        ),
        _target("telling the mean colour or the 4 x 4 colours helps equally", "4 x 4 colours", kind="equal"),
        _target("telling the mean colour is ahead of telling pixels (the paper: slightly)", "pixels"),
        _target("corrupting 50 % is ahead of corrupting 15 % (the paper: slightly)", "mean colour, 15 %"),
        Claim(
            "mean colours are told better than by a guess from the patches that are shown",
            "ours",
            "mean colour",
            "from scratch",  # which tells nothing, and has 0
            metric="above_guess",
        ),
    ),
    base=recipe(QUICK, epochs=12, **{"model.patch_size": 8}),
    full={key: FULL[key] for key in ("precision", "model.embed_dim", "model.depth", "model.mlp_ratio")}
    | {"epochs": 40, "batch_size": 256, "model.patch_size": 4},
    source="Section 4.6, Appendix B.1.2",
    run=_run,
)
