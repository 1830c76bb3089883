"""What does a trained model keep at another image size, and how must its positions be carried over? Section 3.2.

The paper's fine-tuning (chapter 04). Nothing is trained. The test images are read again here, at sizes nobody trained
for; nothing is chosen by it. 290 runs took 104 minutes on one thread, with 60 more of
two methods since dropped.
"""

from __future__ import annotations

import math
import time

from torch import Tensor

from vitlib.data.cifar10 import find_cifar10
from vitlib.data.dataset import Dataset, load_dataset, resize_images
from vitlib.device import describe_hardware, pick_device
from vitlib.model.vit import VisionTransformer
from vitlib.weights.pretrained import list_pretrained, load_pretrained
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.resampling import METHODS, Grid, read_at, sample_patches
from vitworkshop.studies.study import Job, Study

# (rows, columns) in pixels, by every method
SIZES = ((24, 24), (40, 40), (48, 48), (24, 40), (40, 32), (48, 32))
MORE_SIZES = ((28, 28), (36, 36), (64, 64))  # for the curve: the first method alone
_TEST = 2000  # test images


def read_model(
    model: VisionTransformer, data: Dataset, name: str, seed: int, progress: bool
) -> list[dict]:
    """Read one model at every size by every method: a row for each, with the difference "change" from bicubic.

    "se" is the binomial standard error, "change_se" that of the difference on the same images.
    """
    images, labels, cfg = data.images, data.labels, model.cfg
    rows: list[dict] = []
    clock = time.monotonic()

    def add(method: str, size: Grid, right: Tensor, bicubic: Tensor) -> None:
        nonlocal clock
        n, change = len(right), right.double() - bicubic.double()
        p = right.double().mean().item()
        final = {
            "accuracy": p,
            "se": math.sqrt(p * (1 - p) / n),
            "n": n,
            "change": change.mean().item(),
        }
        final["change_se"] = (change.var(correction=0) / n).sqrt().item()
        row = {
            "variant": f"{name}: {method} {size[0]}x{size[1]}",
            "method": method,
            "size": list(size),
        }
        row |= {
            "seed": seed,
            "dataset": data.label,
            "seconds": round(time.monotonic() - clock, 1),
        }
        rows.append(
            row | {"final": {key: round(value, 6) for key, value in final.items()}}
        )
        clock = time.monotonic()

    here = read_at(model, images, labels)
    add("as trained", cfg.image_shape, here, here)
    for size in (*SIZES, *MORE_SIZES):
        resized = resize_images(images, size)
        bicubic = read_at(model, resized, labels)
        add("bicubic", size, bicubic, bicubic)
        for method in METHODS if size in SIZES else ():
            if method != "bicubic":
                # then there is nothing to swap
                square = method == "swapped" and size[0] == size[1]
                add(
                    method,
                    size,
                    bicubic if square else read_at(model, resized, labels, method),
                    bicubic,
                )
        if (
            size[0] == size[1]
        ):  # what changed apart: what a patch shows, and how many patches there are
            grid = size[0] // cfg.patch_size, size[1] // cfg.patch_size
            content = sample_patches(resized, cfg.grid, cfg.patch_size)
            add("content alone", size, read_at(model, content, labels), bicubic)
            places = sample_patches(images, grid, cfg.patch_size)
            add("places alone", size, read_at(model, places, labels), bicubic)
        if progress:
            score = f"{bicubic.double().mean():.1%} with bicubic positions"
            print(f"{name} at {size[0]} x {size[1]}: {score}", flush=True)
    return rows


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict]:
    """The model of this name and seed; no rows where there is none, or no data for it."""
    name = f"{variant}-s{seed}" if seed else variant
    if name not in list_pretrained():
        return []
    device = pick_device(job.device)
    model, card = load_pretrained(name)
    kind = card["recipe"]["data"]
    if not isinstance(model, VisionTransformer) or (
        kind == "cifar10" and find_cifar10() is None
    ):
        return []
    data = load_dataset(kind, "test", n=_TEST)
    rows = read_model(model.to(device), data, variant, seed, job.progress)
    return [
        row | {"hardware": describe_hardware(device), "precision": "fp32"}
        for row in rows
    ]


STUDY = Study(
    question="What does a trained model keep at another image size, and how must its positions be carried over?",
    variants={
        name: {} for name in ("drawn10-token", "cifar10-plain", "cifar10-modern")
    },
    claims=(
        Claim(
            "positions interpolated in two dimensions are ahead of a sequence interpolated as one line, at 48 x 48",
            "drawn10-token: bicubic 48x48",
            "drawn10-token: one line 48x48",
            metric="accuracy",
        ),
    ),
    source="Section 3.2",
    base=None,
    data="drawn10",
    n_train=0,
    holdout=False,
    metric="accuracy",
    measure="accuracy on test images, read again here for another question; nothing was chosen by it",
    run=_run,
)
