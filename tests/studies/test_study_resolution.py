"""The resolution study: every method beside a slow one, patches sampled as they should be."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import vitlib as vl
from vitlib.data.dataset import resize_images
from vitlib.data.drawn10 import load_drawn10
from vitworkshop.studies.resampling import METHODS, read_at, sample_patches

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
