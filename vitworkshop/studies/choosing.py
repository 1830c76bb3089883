"""Learning rates chosen on a seed that judges nothing: tried until those on both sides are worse by more than noise."""

from __future__ import annotations

from vitworkshop.studies.claim import chosen_by, way_of
from vitworkshop.studies.study import Study, Turn

# rates that are tried in any case: those in the middle of the ones that may be
FIRST = 3


def ways(study: Study) -> dict[str, list[str]]:
    """Each way to train, and its variants, at the lowest rate first; what has no rate has one variant."""
    found = {}
    for name in study.variants:
        found.setdefault(way_of(name), []).append(name)
    return found


def level_with_best(
    names: list[str], scores: dict[str, float], noise: float
) -> list[str]:
    """Of a way's variants that were tried those that are no more than noise below the best: a plateau, or one peak."""
    tried = [name for name in names if name in scores]
    best = max(scores[name] for name in tried)
    return [name for name in tried if scores[name] >= best - noise]


def to_try(names: list[str], scores: dict[str, float], noise: float = 0.0) -> list[str]:
    """Of a way's variants those that are to be tried next, by the scores of those that were: none when it is enough.

    First the three in the middle; then the next one beyond each end of those that are level with the best.
    """
    middle = max(0, (len(names) - FIRST) // 2)
    first = [name for name in names[middle : middle + FIRST] if name not in scores]
    if first:
        return first
    level = level_with_best(names, scores, noise)
    low, high = names.index(level[0]), names.index(level[-1])
    return [name for name in names[max(0, low - 1) : high + 2] if name not in scores]


def choice(names: list[str], scores: dict[str, float], noise: float = 0.0) -> str:
    """The variant that stands for a way: the middle of its plateau, of two in the middle the better."""
    level = level_with_best(names, scores, noise)
    middle = level[(len(level) - 1) // 2 : len(level) // 2 + 1]
    return max(middle, key=scores.__getitem__)


def trials(study: Study, runs: list[dict]) -> list[tuple[str, int]]:
    """Each variant and seed to be run, in order, as far as these runs tell.

    Where a seed chooses, one way has its turn after another: its rates, then the chosen one's seeds; of the next way
    nothing before all of it is done.
    """
    if study.choosing is None:
        return [(name, seed) for seed in study.seeds for name in study.variants]
    every = ways(study)
    chosen = {}
    tried = chosen_by(runs, study.metric, study.choosing)
    scores = {name: of[study.choosing] for name, of in tried.items()}
    done = {(run["variant"], run["seed"]) for run in runs}
    found: dict[tuple[str, int], None] = {}
    for turn in study.turns or [Turn(way, study.seeds) for way in every]:
        names = every[turn.way]
        if turn.rate_from:  # the same place in the row of rates
            place = every[turn.rate_from].index(chosen[turn.rate_from])
            chosen[turn.way] = names[place]
        elif len(names) == 1:  # nothing to choose
            chosen[turn.way] = names[0]
        else:
            more = to_try(names, scores, study.noise)
            search = [name for name in names if name in scores or name in more]
            found |= dict.fromkeys((name, study.choosing) for name in search)
            if more:
                break
            chosen[turn.way] = choice(names, scores, study.noise)
        found |= dict.fromkeys((chosen[turn.way], seed) for seed in turn.seeds)
        if not found.keys() <= done:
            break
    return list(found)
