"""ViT, ResNet, hybrid and pixels as studies compare them, and the study of the size of the training set."""

from __future__ import annotations

from dataclasses import replace

import pytest

import vitlib as vl
from vitlib.train.recipe import recipe
from vitworkshop.studies import data_size, families
from vitworkshop.studies.families import FAMILIES
from vitworkshop.studies.registry import STUDIES

# what makes each family tiny
TINY = {
    "ViT": {"model.embed_dim": 12, "model.depth": 1},
    "ResNet": {"model.widths": [32, 32], "model.depths": [1, 1]},
}


def test_the_families_cost_about_the_same():
    cfgs = [recipe(families.BASE, **changes).model for changes in FAMILIES.values()]
    assert [vl.count_macs(cfg) for cfg in cfgs] == [5_531_328, 7_322_112, 6_525_632]
    assert [vl.count_parameters(vl.build_model(cfg)) for cfg in cfgs] == [
        320_554,
        267_546,
        334_354,
    ]


@pytest.mark.sampled(4)
@pytest.mark.slow
def test_the_study_of_sizes_runs(run, monkeypatch):
    sizes = {500: 10, 45_000: 40}
    variants = {
        name: own
        | {"n_train": sizes[own["n_train"]]}
        | TINY.get(name.split(",")[0], {})
        for name, own in data_size.STUDY.variants.items()
        if own.get("lr") != 0.003
    }
    base = recipe(families.BASE, epochs=1, batch_size=16)
    study = replace(data_size.STUDY, variants=variants, base=base)
    monkeypatch.setitem(STUDIES, "data-size", study)
    rows = run("data-size")["runs"]
    assert {row["variant"]: row["changes"] for row in rows} == variants
    for row in rows:
        assert row["final"].keys() == {"val_accuracy", "val_loss"}
