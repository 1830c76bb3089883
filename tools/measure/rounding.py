"""Asks which verdicts turn when the first weights of one seed's runs move by a rounding error.

    python -m tools.measure.rounding            # a quarter of an hour on one core; goes on where it was

Writes vitlib/results/rounding.json: of each study whose runs with one seed take minutes, those runs again, with every
weight multiplied by 1 + 1e-7 times a normal number. `vitworkshop.studies.report` judges each claim with them in place
of the book's, and marks a verdict that turns.
"""

from __future__ import annotations

from functools import partial

import torch

from vitlib.data.dataset import load_dataset
from vitlib.evidence import RESULTS, load_results, provenance
from vitlib.files import write_json
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.repeat import NUDGE, nudged, repeat

MINUTES, SEED = 10, 0


def is_quick(name: str) -> bool:
    """Whether a study trains, and its runs with one seed took minutes."""
    rows = [row for row in load_results(name)["runs"] if row["seed"] == SEED]
    return STUDIES[name].n_train != 0 and sum(row["seconds"] for row in rows) < 60 * MINUTES


def main() -> None:
    """Runs what is not in the file yet, study by study, and writes after each."""
    torch.set_num_threads(1)
    path = RESULTS / "rounding.json"
    studies = load_results("rounding")["studies"] if path.is_file() else {}
    for name in filter(is_quick, STUDIES):
        if name in studies:
            continue
        print(name, flush=True)
        variants = [
            row.get("run", row["variant"]) for row in load_results(name)["runs"] if row["seed"] == SEED
        ]
        with nudged():
            _, rows = repeat(name, partial(load_dataset, split="train"), list(dict.fromkeys(variants)), SEED)
        studies[name] = [{key: row[key] for key in ("variant", "seed", "final")} for row in rows]
        header = provenance("as in each study", torch.device("cpu"), "fp32")
        record = {"name": "rounding", **header, "command": "python -m tools.measure.rounding", "size": NUDGE}
        write_json(path, {**record, "studies": studies})


if __name__ == "__main__":
    main()
