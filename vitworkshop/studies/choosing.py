"""Learning rates chosen on seeds that judge nothing: which are tried, until the best lies between others."""

from __future__ import annotations

from vitworkshop.studies.claim import best_of, bracketed, rate_of, rates_of, scores_of
from vitworkshop.studies.study import Study

FIRST = 3  # rates that are tried in any case: those in the middle of the ones that may be


def ways(study: Study) -> dict[str, list[str]]:
    """Each way to train, and its variants from the lowest rate to the highest; what has no rate has one variant."""
    found: dict[str, list[str]] = {}
    for name in study.variants:
        found.setdefault(name.rpartition(", lr=")[0] or name, []).append(name)
    return {way: sorted(names, key=rate_of) if len(names) > 1 else names for way, names in found.items()}


def to_try(names: list[str], scores: dict[str, float]) -> list[str]:
    """Of a way's variants those that are to be tried next, by the scores of those that were: none when it is enough.

    First the three in the middle; then the next one beyond the best, as long as the best is the last on that side.
    """
    middle = max(0, (len(names) - FIRST) // 2)
    first = [name for name in names[middle : middle + FIRST] if name not in scores]
    if first or len(names) == 1:
        return first
    best = names.index(choice(names, scores))
    return [name for name in names[max(0, best - 1) : best + 2] if name not in scores]


def choice(names: list[str], scores: dict[str, float]) -> str:
    """The best of those that were tried; of several that are level, the one in the middle."""
    level = best_of({name: scores[name] for name in names if name in scores})
    return level[len(level) // 2] if level else names[0]


def trials(study: Study, seeds: tuple[int, ...], runs: list[dict]) -> list[tuple[str, int]]:
    """What is to be run as far as these runs tell: the seeds that choose first, then of each way the best rate."""
    if not study.choosing:
        return [(variant, seed) for seed in seeds for variant in study.variants]
    scores, _ = scores_of(runs, study.metric, study.choosing)
    wanted, best = [], []
    whole = {
        name: sum(found.values()) / len(found)
        for name, found in scores.items()
        if len(found) == len(study.choosing)
    }
    for names in ways(study).values():
        tried = {name: whole[name] for name in names if name in whole}
        if len(names) > 1:
            wanted += [name for name in names if name in tried or name in to_try(names, tried)]
        best.append(choice(names, tried))
    choosing = [(name, seed) for seed in study.choosing for name in wanted]
    if any(name not in whole for name in wanted):
        return choosing
    return choosing + [(name, seed) for seed in seeds for name in best]


def at_edge(study: Study, runs: list[dict]) -> list[str]:
    """The variants that were chosen although no rate beyond them was left to try."""
    chosen = {run["variant"] for run in runs if run["seed"] not in study.choosing and "lr=" in run["variant"]}
    rates = {name: rates_of(name, runs, study.metric, study.choosing) for name in sorted(chosen)}
    return [name for name, tried in rates.items() if study.choosing and not bracketed(tried)]
