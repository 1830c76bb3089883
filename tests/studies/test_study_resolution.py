"""The resolution study: every method beside a slow one, patches sampled as they should be, results in the format."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

import vitlib as vl
from vitlib.data.dataset import Dataset, resize_images
from vitlib.data.drawn10 import load_drawn10
from vitworkshop.studies import resolution
from vitworkshop.studies.registry import STUDIES
from vitworkshop.studies.resampling import METHODS, read_at, sample_patches, with_table
from vitworkshop.studies.runner import run_study

OLD = (4, 4)


@pytest.fixture(scope="module")
def model() -> vl.VisionTransformer:
    torch.manual_seed(0)
    cfg = vl.ViTConfig(img_size=16, patch_size=4, embed_dim=12, depth=1, num_heads=3)
    model = vl.VisionTransformer(cfg).eval()
    with torch.no_grad():
        model.pos_embed.weight.mul_(50)
        model.head.weight.mul_(50)
    return model


@pytest.fixture(scope="module")
def pictures() -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = load_drawn10("test", n=30)
    return resize_images(images, (16, 16)), labels


def address(rows: int, cols: int) -> torch.Tensor:
    """Each place holds its row and its column, CLS -1 twice."""
    places = torch.cartesian_prod(torch.arange(rows), torch.arange(cols))
    return torch.cat([torch.full((1, 2), -1), places])[None].float()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("new", [(3, 3), (6, 6), (3, 5), (8, 2)])
def test_every_method_makes_a_table_and_keeps_cls(name, new):
    table = torch.randn(1, 17, 8)
    before = table.clone()
    result = METHODS[name](table, new, OLD)
    assert result.shape == (1, 1 + math.prod(new), 8)
    assert torch.equal(result[:, 0], table[:, 0]) and torch.equal(table, before)


@pytest.mark.parametrize("name", METHODS)
def test_methods_know_their_places_or_not(name):
    got = METHODS[name](address(8, 8), (6, 10), (8, 8))[0, 1:]
    true = torch.cartesian_prod(
        *((torch.arange(m) + 0.5) * 8 / m - 0.5 for m in (6, 10))
    )
    near = (got - true).abs().max() <= 0.5 + 1e-5
    assert near == (name in ("bicubic", "plain bicubic", "bilinear", "ends aligned"))


def test_one_line_swapped_and_first_beside_slow_ones():
    table, new = torch.randn(1, 17, 8), (3, 5)
    line = F.interpolate(
        table[:, 1:].mT[:, :, None], size=(1, 15), mode="bicubic", antialias=True
    )[:, :, 0].mT
    torch.testing.assert_close(METHODS["one line"](table, new, OLD)[:, 1:], line)
    assert torch.equal(
        METHODS["swapped"](table, new, OLD), vl.resample_pos_embed(table, (5, 3), OLD)
    )
    assert torch.equal(
        METHODS["swapped"](table, (6, 6), OLD), METHODS["bicubic"](table, (6, 6), OLD)
    )
    assert torch.equal(METHODS["first N"](table, new, OLD), table[:, :16])
    many = METHODS["first N"](table, (5, 5), OLD)
    assert torch.equal(many[:, 1:17], table[:, 1:]) and torch.equal(
        many[:, 17:], table[:, 1:10]
    )


@pytest.mark.parametrize("grid", [(3, 3), (4, 4), (6, 6), (6, 2)])
def test_sampled_patches_are_patches_of_the_image(pictures, grid):
    images, _ = pictures
    sampled = sample_patches(images, grid, 4)
    assert sampled.shape == (30, 3, 4 * grid[0], 4 * grid[1])
    rows, cols = (
        [min(max(round((i + 0.5) * 16 / n - 2), 0), 12) for i in range(n)] for n in grid
    )
    for i, row in enumerate(rows):
        for j, col in enumerate(cols):
            assert torch.equal(
                sampled[..., 4 * i : 4 * i + 4, 4 * j : 4 * j + 4],
                images[..., row : row + 4, col : col + 4],
            )
    assert grid != (4, 4) or torch.equal(sampled, images)


def test_reading_at_the_trained_size_changes_nothing(model, pictures):
    images, labels = pictures
    expected = vl.evaluate(model, images, labels)["predictions"] == labels
    for method in ("bicubic", "first N"):
        assert torch.equal(read_at(model, images, labels, method), expected)


def test_reading_at_another_size_takes_the_methods_table(model, pictures):
    images, labels = pictures
    wide = resize_images(images, (12, 20))
    found = read_at(model, wide, labels)
    expected = (
        vl.evaluate(model.with_img_size((12, 20)), wide, labels)["predictions"]
        == labels
    )
    assert found.dtype == torch.bool and torch.equal(found, expected)
    table = METHODS["first N"](model.pos_embed.table(), (3, 5), OLD)
    copy = with_table(model, (12, 20), table)
    assert torch.equal(copy.pos_embed.table(), table) and model.cfg.grid == OLD
    right = vl.evaluate(copy, wide, labels)["predictions"] == labels
    assert torch.equal(read_at(model, wide, labels, "first N"), right)


@pytest.fixture
def tiny(model, pictures, monkeypatch) -> None:
    """The study on one small model with two seeds; its 30 test images."""
    images, labels = pictures
    for name, value in {
        "list_pretrained": lambda: ["tiny", "tiny-s1"],
        "load_pretrained": lambda name: (model, {"recipe": {"data": "drawn10"}}),
        "load_dataset": lambda name, split, n: Dataset(
            images[:n], labels[:n], label="Drawn-10"
        ),
        "SIZES": ((12, 12), (12, 20)),
        "MORE_SIZES": ((20, 20),),
        "_TEST": 20,
    }.items():
        monkeypatch.setattr(resolution, name, value)
    monkeypatch.setitem(
        STUDIES,
        "resolution",
        replace(resolution.STUDY, variants={"tiny": {}, "absent": {}}),
    )


def test_run_has_the_format(data, tiny, tmp_path):
    result = run_study(
        "resolution", lambda _: data, tmp_path, device="cpu", progress=False
    )
    assert (
        result["finished"]
        and result["dataset"] == "Drawn-10"
        and "read again" in result["measure"]
    )
    assert (result["n_train"], result["n_val"]) == (0, 0)
    variants = [run["variant"] for run in result["runs"] if run["seed"] == 0]
    assert len(variants) == len(set(variants)) == 1 + 2 * len(METHODS) + 1 + 2 * 2
    assert {run["seed"] for run in result["runs"]} == {0, 1}
    for run in result["runs"]:
        p = run["final"]["accuracy"]
        assert run["variant"].startswith("tiny: ") and run["final"]["n"] == 20
        assert run["final"]["se"] == pytest.approx((p * (1 - p) / 20) ** 0.5, abs=1e-5)
    one = {run["variant"]: run["final"] for run in result["runs"]}
    assert one["tiny: swapped 12x12"] == one["tiny: bicubic 12x12"]
    mean = pytest.approx(one["tiny: first N 12x20"]["accuracy"], abs=1e-5)
    assert result["summary"]["tiny: first N 12x20"] == {"mean": mean, "sd": 0.0, "n": 2}


def test_a_change_is_a_methods_minus_bicubics(model, pictures, monkeypatch):
    monkeypatch.setattr(resolution, "SIZES", ((12, 20),))
    monkeypatch.setattr(resolution, "MORE_SIZES", ())
    right = lambda *_: torch.arange(30) < (16 if len(_) > 3 else 10)
    monkeypatch.setattr(resolution, "read_at", right)
    rows = resolution.read_model(model, Dataset(*pictures), "tiny", 0, False)
    final = {row["method"]: row["final"] for row in rows}
    assert final["bicubic"]["change"] == 0 and final["first N"][
        "change"
    ] == pytest.approx(0.2)
    assert final["first N"]["change_se"] == pytest.approx(
        (0.2 * 0.8 / 30) ** 0.5, abs=1e-6
    )


def test_committed_result_is_what_the_study_asks():
    result = vl.load_results("resolution")
    for rows, cols in resolution.SIZES:
        for method in METHODS:
            assert result["summary"][f"drawn10-token: {method} {rows}x{cols}"]["n"] == 3


@pytest.mark.errors
def test_refusals(model, pictures):
    images, labels = pictures
    with pytest.raises(
        ValueError,
        match="unknown method 'cubic'; choose one of bicubic, plain bicubic, bilinear",
    ):
        read_at(model, images, labels, "cubic")
    with pytest.raises(ValueError, match="14"):
        read_at(model, resize_images(images, (14, 16)), labels)
    bag = vl.VisionTransformer(
        vl.ViTConfig(img_size=16, embed_dim=12, depth=1, pos_embed="none")
    )
    with pytest.raises(
        ValueError, match='expected a model with pos_embed="learned", got "none"'
    ):
        with_table(bag, (12, 12), torch.zeros(1, 10, 12))
    with pytest.raises(
        ValueError, match=r"patch_size 20 is larger than the images, \(16, 16\)"
    ):
        sample_patches(images, (2, 2), 20)
