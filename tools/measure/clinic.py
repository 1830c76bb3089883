"""Measures the symptoms that the page `clinic` shows: ten short runs with one bug each, beside two healthy ones.

    python -m tools.measure.clinic        # two minutes of one core

Writes vitlib/results/clinic-symptoms.json: of each run of 160 steps the share of held-out pictures named rightly, the
first loss and the mean of the last ten, the lengths of the gradients by part (before clipping, mean of the last ten
steps), the entropy of the attention in each block and the smallest and largest sum of its rows; and which checks of
`vl.doctor` find something in the fresh model and the parts of its run.
"""

from __future__ import annotations

import contextlib
import io
import math

import torch
from torch import nn

import vitlib as vl
from vitlib.evidence import RESULTS, provenance
from vitlib.files import write_json
from vitworkshop.studies.clinic import BUGS, HEALTHY, Case, of_four_kinds

STEPS, TRAIN, HELD_OUT = 160, 1600, 500
PARTS = ("patch_embed", "pos_embed", "blocks.0", "blocks.1", "head")


def pictures() -> tuple[tuple, tuple]:
    """Images and labels to learn from, and to hold out."""
    images, labels = of_four_kinds(*vl.load_drawn10("train", n=5300))
    end = TRAIN + HELD_OUT
    return (images[:TRAIN], labels[:TRAIN]), (images[TRAIN:end], labels[TRAIN:end])


def gradient_norms(model: nn.Module) -> dict[str, float]:
    """Length of the loss's gradient in each part of the model; 0 where there is none."""
    grads = {
        part: [
            p.grad
            for name, p in model.named_parameters()
            if name.startswith(part) and p.grad is not None
        ]
        for part in PARTS
    }
    return {
        part: math.hypot(*(g.norm().item() for g in gs)) for part, gs in grads.items()
    }


def examine(case: Case, seed: int = 0) -> dict:
    """The symptoms of one run."""
    (x, y), (held_x, held_y) = pictures()
    parts = dict.fromkeys(PARTS, 0.0)

    def watch(step: int, model: nn.Module) -> None:
        for part, size in gradient_norms(model).items() if step >= STEPS - 10 else ():
            parts[part] += size / 10

    model, losses = case.train(x, y, STEPS, seed, watch)
    right = (case.answers(model, held_x) == held_y).double().mean().item()
    with torch.no_grad():
        maps = model.eval().attention_maps(vl.normalize(held_x[:64]))  # (L, B, h, T, T)
    bits = torch.special.entr(maps).sum(-1).mean((1, 2, 3)) / math.log(2)  # (L,)
    rows = maps.sum(-1)
    return {
        "right": right,
        "first": losses[0],
        "last": sum(losses[-10:]) / 10,
        "parts": parts,
        "bits": bits.tolist(),
        "rows": [rows.min().item(), rows.max().item()],
        "doctor": [finding.check for finding in ask_doctor(case, seed)],
    }


def ask_doctor(case: Case, seed: int = 0) -> list:
    """What `vl.doctor` finds in a fresh model and the parts of its run; prints nothing."""
    (x, y), (held_x, _) = pictures()
    with contextlib.redirect_stdout(io.StringIO()):
        return vl.doctor(
            case.build(seed),
            vl.normalize(x[:64]),
            y[:64],
            recipe=case.recipe,
            augment=case.augment,
            evaluate=lambda model: case.answers(model, held_x),
        )


def main() -> None:
    torch.set_num_threads(1)
    runs = {}
    for name, case, seed in (
        ("healthy", HEALTHY, 0),
        ("healthy, another seed", HEALTHY, 1),
        *((letter, case, 0) for letter, case in BUGS.items()),
    ):
        runs[name] = examine(case, seed)
        print(name, runs[name], flush=True)
    record = {
        "name": "clinic-symptoms",
        **provenance("Drawn-10", torch.device("cpu"), "fp32"),
        "command": "python -m tools.measure.clinic",
        "steps": STEPS,
        "symptoms": runs,
    }
    print(f"wrote {write_json(RESULTS / 'clinic-symptoms.json', record)}")


if __name__ == "__main__":
    main()
