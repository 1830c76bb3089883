"""What a ridge regression on the pixels has, on the pictures that each study trains on and is judged by.

    python -m tools.measure.ridge

Writes vitlib/results/ridge.json: study -> {pattern of variants: accuracy}, the more special pattern first. Where the
models see pictures mirrored, so does the regression. A study whose seed chooses runs its own. Under "models" stands
what it has on all training and test pictures of a data set, beside the models that come with the book.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import torch
from tqdm import tqdm

from vitlib.controls import PixelRidge
from vitlib.data.dataset import Dataset, load_dataset, split_validation
from vitlib.evidence import RESULTS, provenance
from vitlib.files import write_json
from vitlib.train.evaluate import evaluate
from vitworkshop.studies.clinic import KINDS
from vitworkshop.studies.masked import PARTS
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.runner import prepare
from vitworkshop.studies.study import Job, draw_images
from vitworkshop.studies.transfer import KNOWN, PICTURES, of_classes

SEEDS = (0, 1, 2)
# a pattern, and what is learned and judged with each seed
Parts = Iterator[tuple[str, list[tuple[Dataset, Dataset]]]]


def plain(name: str, job: Job) -> Parts:
    """The study's pictures, and of variants that see fewer, those."""
    if job.val is None:
        return
    sizes = {
        changes["n_train"]
        for changes in STUDIES[name].variants.values()
        if "n_train" in changes
    }
    for n in sorted(sizes):
        drawn = [draw_images(job.data, n, seed) for seed in SEEDS]
        yield (
            f"*, {n:,} images*",
            [(Dataset(one.images[:n], one.labels[:n]), job.val) for one in drawn],
        )
    if not sizes:
        yield "*", [(job.data, job.val)]


def transfer(_name: str, job: Job) -> Parts:
    """The task's pictures, those of each seed."""
    task, val = (of_classes(one, KNOWN) for one in (job.data, job.val) if one)
    few = [
        Dataset(*split_validation(task.images, task.labels, PICTURES, seed)[1])
        for seed in SEEDS
    ]
    yield "*", [(one, val) for one in few]


def masked(_name: str, job: Job) -> Parts:
    """The pictures that keep their labels."""
    if job.val:
        yield "*", [(job.data.hold_out(len(job.data) // PARTS)[1], job.val)]


def clinic(_name: str, job: Job) -> Parts:
    """The drawings of four kinds; the last quarter is judged."""
    mine = of_classes(job.data, 10 - KINDS)
    n = len(mine) * 3 // 4
    learned, judged = (
        Dataset(mine.images[part], mine.labels[part])
        for part in (slice(n), slice(n, None))
    )
    yield "*", [(learned, judged)]


def resolution(_name: str, _job: Job) -> Parts:
    """All training pictures of either data set, and the test pictures that are read."""
    for kind in ("drawn10", "cifar10"):
        yield f"{kind}*", [(load_dataset(kind), load_dataset(kind, "test", n=2000))]


def mirrored(data: Dataset) -> Dataset:
    """The pictures, and each of them mirrored left to right."""
    return Dataset(
        torch.cat([data.images, data.images.flip(-1)]), data.labels.repeat(2)
    )


def models() -> Parts:
    """All training pictures of either data set, mirrored as the book's models saw them, and all test pictures."""
    for kind in ("drawn10", "cifar10"):
        yield f"{kind}*", [(mirrored(load_dataset(kind)), load_dataset(kind, "test"))]


OWN = {
    "transfer": transfer,
    "masked": masked,
    "clinic": clinic,
    "resolution": resolution,
}


def score(pairs: list[tuple[Dataset, Dataset]]) -> float:
    """The mean accuracy over pairs of what is learned and what is judged."""
    scores = (
        evaluate(
            PixelRidge(data.images, data.labels, 1 + int(data.labels.max())),
            val.images,
            val.labels,
        )
        for data, val in pairs
    )
    return round(fmean(one["accuracy"] for one in scores), 4)


def main() -> None:
    """Measures every study, and the models' data, and writes the file."""
    torch.set_num_threads(1)
    found: dict[str, dict[str, float]] = {}
    with TemporaryDirectory() as folder:
        for name, study in tqdm(STUDIES.items()):
            if study.choosing is not None:
                continue
            _, job = prepare(name, study, load_dataset, Path(folder))
            for pattern, pairs in OWN.get(name, plain)(name, job):
                flips = study.base is not None and study.base.flip
                seen = [(mirrored(data) if flips else data, val) for data, val in pairs]
                found.setdefault(name, {})[pattern] = score(seen)
    found["models"] = {pattern: score(pairs) for pattern, pairs in models()}
    header = provenance("as in each study", torch.device("cpu"), "fp32") | {
        "command": "python -m tools.measure.ridge"
    }
    write_json(RESULTS / "ridge.json", {"name": "ridge", **header, "accuracy": found})


if __name__ == "__main__":
    main()
