"""What one run of each way of the plan's studies costs on this machine, from some steps of each.

    python -m tools.measure.prices

Writes vitlib/results/prices.json: study -> {way: core-seconds of a run}, by the processor's clock, on one thread.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from tqdm import tqdm

from vitlib.data.dataset import load_dataset
from vitlib.device import derive_seed
from vitlib.evidence import RESULTS, provenance
from vitlib.files import write_json
from vitlib.train.loop import Trainer
from vitlib.train.objective import OBJECTIVES
from vitworkshop.studies.choosing import ways
from vitworkshop.studies.plan import make_plans
from vitworkshop.studies.registry import PLAN
from vitworkshop.studies.study import Job, Study

WARM, STEPS = 3, 12


def cost(study: Study, variant: str, job: Job) -> float:
    """Core-seconds of one run: of its steps, and of scoring what is held out after each epoch."""
    if "lr" not in study.variants[variant]:  # solved in closed form
        return 1.0
    one, data, val = study.prepare(study, variant, 0, job)
    objective = OBJECTIVES[one.objective](one)
    torch.manual_seed(derive_seed(0, "init"))
    trainer = Trainer(objective.build(), objective, objective.recipe, data, val)
    order = trainer.order(0).repeat(
        1 + (WARM + STEPS) * trainer.batch_size // len(data)
    )
    batches = order.split(trainer.batch_size)
    for index in batches[:WARM]:
        trainer.train_step(index)
    began = time.process_time()
    for index in batches[WARM : WARM + STEPS]:
        trainer.train_step(index)
    seconds = (time.process_time() - began) / STEPS * trainer.total
    if val is not None:
        began = time.process_time()
        objective.score(trainer.model, val)
        seconds += (time.process_time() - began) * one.epochs
    return seconds


def main() -> None:
    """Measures every way of every study, and writes the file."""
    torch.set_num_threads(1)
    found: dict[str, dict[str, float]] = {}
    with TemporaryDirectory() as folder:
        places = {name: Path(folder) / name for name in PLAN}
        for plan in make_plans(
            places, partial(load_dataset, split="train"), device="cpu"
        ):
            every = tqdm(ways(plan.study).items(), desc=plan.name)
            found[plan.name] = {
                way: round(cost(plan.study, names[0], plan.job), 1)
                for way, names in every
            }
    header = provenance("as in each study", torch.device("cpu"), "fp32") | {
        "command": "python -m tools.measure.prices"
    }
    write_json(
        RESULTS / "prices.json", {"name": "prices", **header, "core_seconds": found}
    )


if __name__ == "__main__":
    main()
