"""ViT, ResNet, hybrid and pixels as studies compare them."""

from __future__ import annotations

import vitlib as vl
from vitlib.train.recipe import recipe
from vitworkshop.studies import families
from vitworkshop.studies.families import FAMILIES


def test_the_families_cost_about_the_same():
    cfgs = [recipe(families.BASE, **changes).model for changes in FAMILIES.values()]
    assert [vl.count_macs(cfg) for cfg in cfgs] == [5_531_328, 7_322_112, 6_525_632]
    assert [vl.count_parameters(vl.build_model(cfg)) for cfg in cfgs] == [
        320_554,
        267_546,
        334_354,
    ]
