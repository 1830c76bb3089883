"""Measures what `vl.doctor` finds of bugs that others wrote, and its false alarms on what is right.

    python -m tools.measure.doctor        # five to twelve minutes of one core

Writes vitlib/results/doctor.json. `unseen` are thirty bugs and thirty healthy models, written by somebody who did not
know the checks; the checks were written before the cases were run, and mended once after ("first" keeps what was missed
until then). A bug is found if the doctor says something of it that it does not say of the same model without it.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import torch

import vitlib as vl
from tools.measure.cases import unseen
from vitlib.evidence import RESULTS, load_results, provenance
from vitlib.files import write_json


def examine(case: dict[str, Any]) -> list[str]:
    """The checks that find something in a case, as `cases/unseen.py` describes it."""
    images, labels = case["images"], case["labels"]
    preprocess = case.get("preprocess", vl.normalize)
    test = case.get("test_preprocess", preprocess)
    augment = case.get("augment", lambda images, labels: (images, labels))
    torch.manual_seed(0)
    batch, targets = augment(images[:500], labels[:500])
    if (
        targets.shape != labels[:500].shape or batch.shape != images[:500].shape
    ):  # soft, mixed, say; or cropped
        batch, targets = images[:500], labels[:500]
    with contextlib.redirect_stdout(io.StringIO()):
        found = vl.doctor(
            case["model"],
            preprocess(batch).float(),
            targets,
            recipe=case.get("recipe", unseen.RECIPE),
            evaluate=lambda model: model.eval()(test(images[500:564])),
            augment=lambda images: augment(
                (255 * images).round().to(torch.uint8), labels[: len(images)]
            ),
        )
    return sorted({finding.check for finding in found})


def measure(name: str) -> dict[str, Any]:
    """What the doctor says of one case: "found" of a bug, beyond what it says of the twin without it."""
    if (case := {case.name: case for case in unseen.HEALTHY}.get(name)) is not None:
        return {"kind": "healthy", "says": examine(case.build(0))}
    case = {case.name: case for case in unseen.BUGS}[name]
    says, twin = examine(case.build(0)), examine(case.build(0, wrong=False))
    return {
        "kind": "bug",
        "says": says,
        "twin": twin,
        "found": bool(set(says) - set(twin)),
    }


def main() -> None:
    torch.set_num_threads(1)
    rows = {}
    for case in (*unseen.BUGS, *unseen.HEALTHY):
        rows[case.name] = row = measure(case.name)
        print(f"{case.name:44}{row}", flush=True)
    record = {
        "name": "doctor",
        **provenance("drawn10", torch.device("cpu"), "fp32"),
        "command": "python -m tools.measure.doctor",
        "first": load_results("doctor")["first"],
        "unseen": rows,
    }
    print(f"wrote {write_json(RESULTS / 'doctor.json', record)}")


if __name__ == "__main__":
    main()
