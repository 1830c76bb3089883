"""The crossover's drawings: what each question's answer is made of, and that nothing else tells it."""

from __future__ import annotations

import pytest
import torch

import vitlib as vl
from vitlib.train.recipe import recipe
from vitworkshop.studies import crossover
from vitworkshop.studies.crossover import CELLS, KINDS, PATCH, draw, glyphs
from vitworkshop.studies.registry import STUDIES


def read(image: torch.Tensor, shift: int) -> list[tuple[int, int]]:
    """(family, kind) of each glyph of a drawing, found by eye: bright pixels, cell by cell."""
    bright, families, found = (image >= 150).all(dim=0), glyphs().bool(), []
    inside = slice(shift, shift + CELLS * PATCH)
    cells = bright[inside, inside].unfold(0, PATCH, PATCH).unfold(1, PATCH, PATCH)
    for cell in cells.flatten(0, 1):
        for down in range(3):
            for right in range(3):
                same = (families == cell[down : down + 6, right : right + 6]).all(
                    dim=(2, 3)
                )
                if (
                    same.any()
                    and cell.sum() == cell[down : down + 6, right : right + 6].sum()
                ):
                    found.append(tuple(same.nonzero()[0].tolist()))
    return found


@pytest.mark.parametrize("shift", [0, 4])
def test_the_answers_are_what_is_drawn(shift):
    images, answers = draw(200, 3, shift)
    assert images.dtype == torch.uint8 and images.shape == (
        200,
        3,
        24 + 2 * shift,
        24 + 2 * shift,
    )
    for image, family, same in zip(
        images, answers["family"], answers["same"], strict=True
    ):
        one, other = sorted(read(image, shift))
        assert one[0] == other[0] == family and (one == other) == bool(same)


def test_drawings_are_their_seeds_and_nothing_but_the_glyphs_tells():
    images, answers = draw(3000, 0)
    again, _ = draw(1500, 0)
    assert torch.equal(images[:1500], again) and not torch.equal(
        images[:1500], draw(1500, 1)[0]
    )
    family, same = answers["family"].double(), answers["same"].double()
    light = images.double().mean(dim=(1, 2, 3))
    told = torch.corrcoef(torch.stack([family, same, light]))
    assert abs(family.mean() - 0.5) < 0.03 and abs(same.mean() - 0.5) < 0.03
    assert abs(told[0, 1]) < 0.05 and abs(told[1, 2]) < 0.06
    assert abs(told[0, 2]) < 0.2, (
        "one family has some more squares; a ridge regression on the pixels has that, too"
    )
    squares = (glyphs().flatten(2).sum(dim=2) / 4).long()
    assert len(set(map(str, glyphs().flatten(0, 1).tolist()))) == 2 * KINDS and {
        *squares.flatten().tolist()
    } == {4, 5}


@pytest.mark.parametrize("name", ["crossover", "crossover-shifted"])
def test_both_families_do_the_same_work_and_see_as_many_pictures(name):
    study = STUDIES[name]
    macs, seen = {}, set()
    for variant, changes in study.variants.items():
        if "lr" in changes:
            own = {
                key: value
                for key, value in changes.items()
                if key not in ("question", "n_train")
            }
            one = recipe(study.base, **own)
            macs.setdefault(variant.partition(",")[0], set()).add(
                vl.count_macs(one.model)
            )
            n, epochs = changes["n_train"], crossover.SEEN // changes["n_train"]
            seen.add(epochs * (n // one.batch_size) * one.batch_size)
    (vit,), (resnet,) = macs["ViT"], macs["ResNet"]
    assert abs(resnet / vit - 1) < 0.02 and seen == {crossover.SEEN}
