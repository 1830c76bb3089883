"""The ladder of a recipe's ingredients: each step adds one."""

from __future__ import annotations

from dataclasses import asdict

from vitlib.train.recipe import Recipe, recipe
from vitworkshop.studies.recipe_ladder import INGREDIENTS, STUDY


def differ(a: Recipe, b: Recipe) -> set[str]:
    """Fields in which two recipes differ, the model's as "model.FIELD"."""
    one, two = asdict(a), asdict(b)
    models = {
        f"model.{name}"
        for name in one["model"]
        if one["model"][name] != two["model"][name]
    }
    return models | {name for name in one if name != "model" and one[name] != two[name]}


LADDER = [
    (name, recipe(STUDY.base, **changes)) for name, changes in STUDY.variants.items()
]


def test_each_step_of_the_ladder_adds_one_ingredient():
    steps = zip(LADDER, LADDER[1:], INGREDIENTS.items(), strict=False)
    for (_, before), (name, after), (ingredient, changes) in steps:
        assert name == f"up to {ingredient}" and differ(before, after) == set(changes)
