"""A row of the book run again here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from vitlib.data.dataset import Dataset
from vitlib.evidence import load_results
from vitworkshop.studies.plan import make_plans
from vitworkshop.studies.registry import find


def repeat(
    name: str,
    load: Callable[[str], Dataset],
    variants: list[str] | None = None,
    seed: int = 0,
) -> tuple[list[dict], list[dict]]:
    """The book's rows of some of a study's trials (None: the quickest one), and the same trials' rows run here.

    Raises ValueError for a study, a variant or a seed that the book has not run, and where the data are other ones.
    """
    find(name)
    book = load_results(name)
    rows = [row for row in book["runs"] if row["seed"] == seed]
    known = {row.get("run", row["variant"]): row.get("seconds", 0.0) for row in rows}
    if not known:
        seeds = sorted({row["seed"] for row in book["runs"]})
        raise ValueError(
            f"the book has no run of {name!r} with seed {seed}; choose one of {seeds}"
        )
    variants = variants or [min(known, key=lambda variant: known[variant])]
    if missing := [variant for variant in variants if variant not in known]:
        raise ValueError(
            f"the book has no run {missing[0]!r} of {name!r}; choose one of {', '.join(known)}"
        )
    with TemporaryDirectory() as folder:
        (plan,) = make_plans({name: Path(folder)}, load, seeds=(seed,))
        if plan.header["dataset"] != book["dataset"]:
            raise ValueError(
                f"the book's runs were on {book['dataset']}; here there is {plan.header['dataset']}"
            )
        here = [row for variant in variants for row in plan.run((variant, seed)) or []]
    return [row for row in rows if row.get("run", row["variant"]) in variants], here
