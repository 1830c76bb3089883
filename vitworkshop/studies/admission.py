"""What a row needs to be on the board: models that have learned, rates that are bracketed, seeds, a second setting."""

from __future__ import annotations

import statistics
from fnmatch import fnmatchcase

from vitworkshop.studies.claim import (
    LEARNED,
    SEEDS,
    SEEDS_APART,
    Claim,
    bracketed,
    rates_of,
)
from vitworkshop.studies.study import Study


def why_not(
    claim: Claim, found: dict, study: Study, runs: list[dict], ridge: dict[str, float]
) -> list[str]:
    """What a row lacks to be admitted, in words; an empty list for one that is. The same for every row.

    Args:
        claim: The claim.
        found: What `claim.judge` says.
        study: Its study.
        runs: All of its runs.
        ridge: Pattern of variants -> accuracy of a ridge regression on the pixels of the pictures that they saw.
    """
    lacks = []
    least = SEEDS_APART if study.choosing else SEEDS
    if (seeds := found.get("n", 0)) < least:
        lacks.append(f"{seeds} seed{'s' * (seeds != 1)}, {least} are needed")
    lacks += learned(found, study, runs, ridge)
    for name in (
        trained(found) if study.n_train != 0 else ()
    ):  # what trains nothing has no rate to choose
        rates = rates_of(name, runs, claim.metric, study.choosing)
        if len(rates) < 2:
            lacks.append(f"one learning rate was tried of “{name}”")
        elif not bracketed(rates):
            lacks.append(
                f"the best learning rate of “{name}” is the last on its side of those tried"
            )
    return lacks


def learned(
    found: dict, study: Study, runs: list[dict], ridge: dict[str, float]
) -> list[str]:
    """Whether both sides are far enough above a ridge regression on the pixels of the same pictures."""
    lacks = []
    for name in trained(found):
        share, below = accuracy(name, study, runs), pixels(name, study, runs, ridge)
        if share is None:
            return ["no accuracy on pictures held out"]
        if below is None:
            return ["no ridge regression on the pixels of the same pictures"]
        if share - below < LEARNED:
            lacks.append(
                f"“{name}” has {share:.1%}, less than {100 * LEARNED:g} points above a ridge regression on the pixels "
                f"of the same pictures ({below:.1%})"
            )
    return lacks


def trained(found: dict) -> list[str]:
    """The sides of a claim, without those that are solved in closed form."""
    sides = (found.get(side, "") for side in ("first", "second"))
    return [name for name in sides if not name.startswith("pixels")]


def accuracy(variant: str, study: Study, runs: list[dict]) -> float | None:
    """The mean accuracy of a variant over the seeds that judge; None where it has none."""
    finals = [
        run["final"]
        for run in runs
        if run["variant"] == variant and run["seed"] not in study.choosing
    ]
    key = next(
        (key for key in ("val_accuracy", "accuracy") if finals and key in finals[0]),
        None,
    )
    return statistics.fmean(final[key] for final in finals) if key else None


def pixels(
    variant: str, study: Study, runs: list[dict], ridge: dict[str, float]
) -> float | None:
    """What a ridge regression on the pixels of a variant's pictures has: a run of the study, or what was measured."""
    own = study.variants.get(variant, {})
    same = {key: own[key] for key in ("question", "n_train") if key in own}
    if study.choosing:  # such a study runs it itself, on the pictures of each seed
        alike = (
            name
            for name, changes in study.variants.items()
            if "lr" not in changes and changes == same
        )
        return accuracy(next(alike, ""), study, runs)
    return next(
        (value for pattern, value in ridge.items() if fnmatchcase(variant, pattern)),
        None,
    )
