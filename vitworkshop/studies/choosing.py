"""Learning rates chosen on seeds that judge nothing: tried until those on both sides are worse by more than noise."""

from __future__ import annotations

from vitworkshop.studies.claim import bracketed, rate_of, rates_of, scores_of
from vitworkshop.studies.study import Study

FIRST = (
    3  # rates that are tried in any case: those in the middle of the ones that may be
)


def ways(study: Study) -> dict[str, list[str]]:
    """Each way to train, and its variants from the lowest rate to the highest; what has no rate has one variant."""
    found: dict[str, list[str]] = {}
    for name in study.variants:
        found.setdefault(name.rpartition(", lr=")[0] or name, []).append(name)
    return {
        way: sorted(names, key=rate_of) if len(names) > 1 else names
        for way, names in found.items()
    }


def level_with_best(
    names: list[str], scores: dict[str, float], noise: float
) -> list[str]:
    """Of a way's variants that were tried those that are no more than noise below the best: a plateau, or one peak."""
    tried = [name for name in names if name in scores]
    best = max((scores[name] for name in tried), default=0.0)
    return [name for name in tried if scores[name] >= best - noise]


def to_try(names: list[str], scores: dict[str, float], noise: float = 0.0) -> list[str]:
    """Of a way's variants those that are to be tried next, by the scores of those that were: none when it is enough.

    First the three in the middle; then the next one beyond each end of those that are level with the best.
    """
    middle = max(0, (len(names) - FIRST) // 2)
    first = [name for name in names[middle : middle + FIRST] if name not in scores]
    if first or len(names) == 1:
        return first
    level = level_with_best(names, scores, noise)
    low, high = names.index(level[0]), names.index(level[-1])
    return [name for name in names[max(0, low - 1) : high + 2] if name not in scores]


def choice(names: list[str], scores: dict[str, float], noise: float = 0.0) -> str:
    """Of those that are level with the best the one in the middle, of two in the middle the better."""
    level = level_with_best(names, scores, noise)
    if not level:
        return names[0]
    return max(
        level[(len(level) - 1) // 2 : len(level) // 2 + 1], key=scores.__getitem__
    )


def trials(
    study: Study, seeds: tuple[int, ...], runs: list[dict]
) -> list[tuple[str, int]]:
    """What is to be run as far as these runs tell: the seeds that choose first, then of each way the chosen rate."""
    if not study.choosing:
        return [(variant, seed) for seed in seeds for variant in study.variants]
    scores, _ = scores_of(runs, study.metric, study.choosing)
    n = len(study.choosing)
    whole = {
        name: sum(found.values()) / n
        for name, found in scores.items()
        if len(found) == n
    }
    if study.turns:
        return _in_turn(
            study, seeds, whole, {(run["variant"], run["seed"]) for run in runs}
        )
    wanted, best = [], []
    for names in ways(study).values():
        more, chosen = _search(study, names, whole)
        wanted += more
        best.append(chosen)
    choosing = [(name, seed) for seed in study.choosing for name in wanted]
    if any(name not in whole for name in wanted):
        return choosing
    return choosing + [(name, seed) for seed in seeds for name in best]


def _search(
    study: Study, names: list[str], whole: dict[str, float]
) -> tuple[list[str], str]:
    """Of a way the variants that choose, tried or to be tried, and the one that is chosen as far as they tell."""
    tried = {name: whole[name] for name in names if name in whole}
    next_ones = to_try(names, tried, study.noise) if len(names) > 1 else []
    wanted = [name for name in names if name in tried or name in next_ones]
    return wanted, choice(names, tried, study.noise)


def _in_turn(
    study: Study, seeds: tuple[int, ...], whole: dict[str, float], done: set
) -> list[tuple[str, int]]:
    """One turn after another: the way's rates, then its seeds; of the next one nothing before all of it is done."""
    found: dict[tuple[str, int], None] = {}
    every, chosen = ways(study), {}
    for turn in study.turns:
        names = every[turn.way]
        if turn.rate_from:  # the same place in the row of rates
            chosen[turn.way] = names[
                every[turn.rate_from].index(chosen[turn.rate_from])
            ]
        else:
            wanted, chosen[turn.way] = _search(study, names, whole)
            found |= dict.fromkeys(
                (name, seed) for seed in study.choosing for name in wanted
            )
        if found.keys() <= done:
            found |= dict.fromkeys(
                (chosen[turn.way], seed) for seed in turn.seeds if seed in seeds
            )
        if not found.keys() <= done:
            break
    return list(found)


def at_edge(study: Study, runs: list[dict]) -> list[str]:
    """The variants that were chosen although no rate beyond them was left to try."""
    chosen = {
        run["variant"]
        for run in runs
        if run["seed"] not in study.choosing and "lr=" in run["variant"]
    }
    rates = {
        name: rates_of(name, runs, study.metric, study.choosing)
        for name in sorted(chosen)
    }
    return [
        name for name, tried in rates.items() if study.choosing and not bracketed(tried)
    ]
