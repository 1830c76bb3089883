"""What does a trained model keep at another image size, and how must its positions be carried over? Section 3.2.

The paper's fine-tuning (chapter 04). Nothing is trained. The test images are read again here, at sizes nobody trained
for; nothing is chosen by it. 230 runs took 104 minutes on one thread, with 120 more of methods and sizes since dropped.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from vitlib.data.dataset import Dataset, load_dataset, resize_images
from vitlib.weights.pretrained import list_pretrained, load_pretrained
from vitworkshop.studies.claim import Claim
from vitworkshop.studies.resampling import METHODS, Grid, read_at, sample_patches
from vitworkshop.studies.study import Job, Study

# (rows, columns) in pixels, and the methods beside bicubic; the last three are for a curve
SIZES = {
    **dict.fromkeys(((24, 24), (40, 40), (48, 48)), ("plain bicubic", "one line")),
    **dict.fromkeys(((24, 40), (40, 32), (48, 32)), tuple(METHODS)[1:]),
    **dict.fromkeys(((28, 28), (36, 36), (64, 64)), ()),
}
_TEST = 2000  # test images


def read_model(model: Any, data: Dataset, name: str) -> list[dict]:
    """Read one model at every size: a row for each method, with the difference "change" from bicubic."""
    images, labels, cfg = data.images, data.labels, model.cfg
    rows = []

    def add(method: str, size: Grid, right: Tensor, bicubic: Tensor) -> None:
        parts = {"accuracy": right, "change": right - bicubic}
        variant = f"{name}: {method} {size[0]}x{size[1]}"
        row = {"variant": variant, "run": name, "method": method}
        final = {key: round(part.mean().item(), 6) for key, part in parts.items()}
        rows.append(row | {"dataset": data.label, "final": final})

    here = read_at(model, images, labels)
    add("as trained", cfg.image_shape, here, here)
    for size, methods in SIZES.items():
        resized = resize_images(images, size)
        bicubic = read_at(model, resized, labels)
        add("bicubic", size, bicubic, bicubic)
        for method in methods:
            add(method, size, read_at(model, resized, labels, method), bicubic)
        if size[0] == size[1]:
            # what changed apart: what a patch shows, and how many patches there are
            grid = size[0] // cfg.patch_size, size[1] // cfg.patch_size
            content = sample_patches(resized, cfg.grid, cfg.patch_size)
            add("content alone", size, read_at(model, content, labels), bicubic)
            places = sample_patches(images, grid, cfg.patch_size)
            add("places alone", size, read_at(model, places, labels), bicubic)
    return rows


def _run(study: Study, variant: str, seed: int, job: Job) -> list[dict]:
    """The rows of this model, with every seed that there is."""
    rows = []
    for seed, name in enumerate((variant, f"{variant}-s1", f"{variant}-s2")):
        if name in list_pretrained():
            model, card = load_pretrained(name)
            data = load_dataset(card["recipe"]["data"], "test", n=_TEST)
            read = read_model(model, data, variant)
            rows += [{**row, "seed": seed} for row in read]
    return rows


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
    base=None,
    seeds=(0,),
    data="drawn10",
    n_train=0,
    metric="accuracy",
    measure="accuracy on test images, read again here for another question; nothing was chosen by it",
    run=_run,
)
