"""Plants one fault at a time in what draws and explains, and asks nbval whether a chapter notices.

    python -m tools.measure.planted         (all, some minutes; a number runs that one)

Each chapter runs first as it is, and must pass; then with each fault, in a kernel of its own, until the first cell that
fails. "GREEN": nothing noticed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

from page.address import ROOT
from tools.build import kernel_environment

NBVAL = "pytest -q -x -p no:cacheprovider --nbval-lax --nbval-current-env".split()
ATTENTION, SCORES = "vitlib/viz/attention.py", "vitlib/explain/scores.py"
FAULTS = [  # what is wrong, where, what stands there, what is put there, the chapter
    (
        "maps are transposed",
        ATTENTION,
        "weights.reshape(-1, 1, rows, cols)",
        "weights.reshape(-1, 1, cols, rows).mT",
        "13",
    ),
    (
        "pictures are upside down",
        "vitlib/viz/card.py",
        '        interpolation="nearest" if',
        '        origin="lower", interpolation="nearest" if',
        "13",
    ),
    (
        "the row of the patch before",
        ATTENTION,
        "maps[..., 1 + patch, 1:]",
        "maps[..., patch, 1:]",
        "13",
    ),
    (
        "who reads the patch, not what it reads",
        ATTENTION,
        "maps[..., 1 + patch, 1:]",
        "maps[..., 1:, 1 + patch]",
        "05",
    ),
    (
        "the largest weight is blue",
        ATTENTION,
        "COLOURS(one)",
        "COLOURS(1 - one)",
        "05",
    ),
    (
        "who reads CLS, not what it reads",
        ATTENTION,
        "maps[:, :, 0, 1:]",
        "maps[:, :, 1:, 0]",
        "09",
    ),
    (
        "layers stand for heads",
        ATTENTION,
        "maps[:, :, 0, 1:].transpose(0, 1)",
        "maps[:, :, 0, 1:]",
        "09",
    ),
    (
        "each place has the map of another",
        "vitlib/viz/matrices.py",
        "(unit @ unit.T)",
        "(unit.roll(1, 0) @ unit.T)",
        "03",
    ),
    (
        "rows of a matrix are columns",
        "vitlib/viz/matrices.py",
        "            array, cmap=",
        "            array.T, cmap=",
        "15",
    ),
    (
        "attention of the last layer but one",
        SCORES,
        "model.attention_maps(images, [-1])",
        "model.attention_maps(images, [-2])",
        "14",
    ),
    (
        "the lens one block too early",
        SCORES,
        "logit_lens(model, images)[-1, :, 1:]",
        "logit_lens(model, images)[-2, :, 1:]",
        "14",
    ),
    (
        "rollout in the wrong order",
        "vitlib/explain/attention.py",
        "step / step.sum(dim=-1, keepdim=True) @ rollout",
        "rollout @ (step / step.sum(dim=-1, keepdim=True))",
        "14",
    ),
]


def first_red(chapter: str) -> str:
    """The first cell of a chapter at which nbval fails, run in a kernel of its own; "" for none."""
    notebook = next((ROOT / "book").glob(f"{chapter}-*.ipynb"))
    environment = os.environ | kernel_environment(1) | {"TQDM_DISABLE": "1"}
    command = [sys.executable, "-m", *NBVAL, str(notebook)]
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    cell = re.search(r"^FAILED .*::(Cell \d+)", run.stdout, re.M)
    if run.returncode not in (0, 1) or bool(cell) != bool(run.returncode):
        raise RuntimeError(run.stdout[-2000:])
    return cell[1] if cell else ""


def noticed(file: str, old: str, new: str, chapter: str) -> str:
    """The first cell that fails with `new` in place of `old`; the file is put back."""
    path = ROOT / file
    text = path.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise ValueError(f"expected {old!r} once in {file}, found {text.count(old)}")
    try:
        path.write_text(text.replace(old, new), encoding="utf-8", newline="\n")
        return first_red(chapter)
    finally:
        path.write_text(text, encoding="utf-8", newline="\n")


def main(wanted: list[str]) -> None:
    """Prints a line for each fault."""
    chosen = {
        number: fault
        for number, fault in enumerate(FAULTS, 1)
        if not wanted or str(number) in wanted
    }
    for chapter in sorted({fault[-1] for fault in chosen.values()}):
        if cell := first_red(chapter):  # what is red anyway tells nothing
            raise SystemExit(f"chapter {chapter} fails without a fault, at {cell}")
    for number, (what, *fault) in chosen.items():
        cell = noticed(*fault)
        verdict = f"red at {cell}" if cell else "GREEN"
        print(f"{number:2d} chapter {fault[-1]}: {what}: {verdict}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
