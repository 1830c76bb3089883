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
from vitworkshop.studies.resampling import METHODS, read_at, sample_patches
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


@pytest.mark.parametrize("size", [(16, 16), (12, 20)])
def test_reading_takes_the_methods_table_and_leaves_the_model(model, pictures, size):
    images, labels = pictures
    images = resize_images(images, size)
    other = model.with_img_size(size)
    expected = vl.evaluate(other, images, labels)["predictions"] == labels
    assert torch.equal(read_at(model, images, labels), expected.double())
    table = METHODS["first N"](model.pos_embed.table(), other.cfg.grid, OLD)
    other.pos_embed.weight = torch.nn.Parameter(table.detach())
    right = vl.evaluate(other, images, labels)["predictions"] == labels
    assert torch.equal(read_at(model, images, labels, "first N"), right.double())
    assert model.cfg.grid == OLD and model.pos_embed.table().shape[1] == 17


def test_a_run_reads_every_seed_at_every_size_by_its_methods(
    data, model, pictures, monkeypatch, tmp_path
):
    images, labels = pictures
    sizes = {(12, 12): ("one line",), (12, 20): tuple(METHODS)[1:], (20, 20): ()}
    for name, value in {
        "list_pretrained": lambda: ["tiny", "tiny-s1"],
        "load_pretrained": lambda name: (model, {"recipe": {"data": "drawn10"}}),
        "load_dataset": lambda *_, n: Dataset(images[:n], labels[:n], label="Drawn-10"),
        "SIZES": sizes,
        "_TEST": 20,
    }.items():
        monkeypatch.setattr(resolution, name, value)
    study = replace(resolution.STUDY, variants={"tiny": {}})
    monkeypatch.setitem(STUDIES, "resolution", study)
    result = run_study("resolution", lambda _: data, tmp_path, progress=False)
    assert (result["n_train"], result["n_val"]) == (0, 0) and result["finished"]
    ways = [f"{method} {h}x{w}" for (h, w), each in sizes.items() for method in each]
    ways += [f"bicubic {size}" for size in ("12x12", "12x20", "20x20")]
    ways += [
        f"{part} alone {s}x{s}" for part in ("content", "places") for s in (12, 20)
    ]
    ways.append("as trained 16x16")
    for seed in (0, 1):
        rows = [run for run in result["runs"] if run["seed"] == seed]
        found = {run["variant"]: run["final"] for run in rows}
        assert sorted(found) == sorted(f"tiny: {way}" for way in ways)
        first, bicubic = (found[f"tiny: {way} 12x20"] for way in ("first N", "bicubic"))
        change = first["accuracy"] - bicubic["accuracy"]
        assert first["change"] == pytest.approx(change) and bicubic["change"] == 0
    wide = resize_images(images[:20], (12, 20))
    right = read_at(model, wide, labels[:20], "first N").mean().item()
    assert first["accuracy"] == pytest.approx(right)


def test_committed_result_is_what_the_study_asks():
    summary = vl.load_results("resolution")["summary"]
    for (rows, cols), methods in resolution.SIZES.items():
        for method in ("bicubic", *methods):
            assert summary[f"drawn10-token: {method} {rows}x{cols}"]["n"] == 3
