"""Corrupted patches: exact counts, 80/10/10, colours and guesses beside slow loops over pixels."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator

import vitlib as vl
from vitlib.train.masked import guess_patches, take_patches


def seeded(seed: int = 0) -> Generator:
    return Generator().manual_seed(seed)


def pictures(
    n: int, height: int, width: int, channels: int = 3, seed: int = 0
) -> torch.Tensor:
    """Bytes, as floats in [0, 1]; many lie where one colour ends and the next begins."""
    images = torch.randint(
        0, 256, (n, channels, height, width), generator=seeded(seed), dtype=torch.uint8
    )
    images[0] = images[0] // 32 * 32
    return images.float() / 255


# ------------------------------------------------------------------------------------------ which, and how


@given(st.integers(1, 4), st.integers(2, 40), st.floats(0.01, 0.99), st.integers(0, 99))
def test_each_image_has_exactly_as_many_corrupted_patches(n, num_patches, ratio, seed):
    count = round(ratio * num_patches)
    if not 0 < count < num_patches:
        return
    mask, source, corrupted = vl.corrupt_patches(n, num_patches, ratio, seeded(seed))
    assert mask.shape == source.shape == (n, num_patches) and corrupted.shape == (
        n,
        count,
    )
    for i in range(n):
        chosen = set(corrupted[i].tolist())
        assert len(chosen) == count and chosen <= set(range(num_patches))
        hidden = set(mask[i].nonzero().flatten().tolist())
        moved = {
            place for place, patch in enumerate(source[i].tolist()) if patch != place
        }
        assert hidden | moved <= chosen and not hidden & moved
        assert set(source[i].tolist()) <= set(range(num_patches))


def test_of_the_corrupted_80_percent_are_hidden_10_swapped_10_kept():
    n, num_patches = 3000, 16
    mask, source, corrupted = vl.corrupt_patches(n, num_patches, 0.5, seeded())
    total = corrupted.numel()
    moved = source != torch.arange(num_patches)
    for share, found in ((0.8, mask.sum()), (0.1, moved.sum())):
        error = math.sqrt(share * (1 - share) / total)
        assert abs(found.item() / total - share) < 4 * error
    # what happens to a patch is drawn by itself, so these are not all alike
    counts = mask.sum(1)
    assert counts.float().var().item() == pytest.approx(8 * 0.8 * 0.2, rel=0.1)


def test_every_patch_is_corrupted_as_often_and_every_other_one_takes_its_place():
    n, num_patches = 6000, 5
    mask, source, corrupted = vl.corrupt_patches(n, num_patches, 0.4, seeded(1))
    assert (
        torch.bincount(corrupted.flatten()).float().div(n).sub(0.4).abs().max() < 0.03
    )
    moved = source != torch.arange(num_patches)
    pairs = torch.stack([moved.nonzero()[:, 1], source[moved]])
    seen = torch.zeros(num_patches, num_patches).index_put_(
        tuple(pairs), torch.ones(1), accumulate=True
    )
    expected = moved.sum().item() / (num_patches * (num_patches - 1))
    off = ~torch.eye(num_patches, dtype=torch.bool)
    assert not seen.diagonal().any() and (seen[off] / expected - 1).abs().max() < 0.5
    first, second = corrupted[:, 0], corrupted[:, 1]
    assert torch.bincount(first * num_patches + second).gt(0).sum() == num_patches * (
        num_patches - 1
    )


def test_the_generator_decides_and_nothing_else():
    state = torch.get_rng_state()
    first, again = (vl.corrupt_patches(3, 16, 0.5, seeded(4)) for _ in range(2))
    assert torch.equal(state, torch.get_rng_state())
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[2], vl.corrupt_patches(3, 16, 0.5, seeded(5))[2])
    # images have their own
    assert not torch.equal(first[2][0].sort().values, first[2][1].sort().values)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("ratio", "num_patches", "count"),
    [(0.01, 16, 0), (0.99, 16, 16), (0.9995, 1000, 1000), (0.5, 1, 0), (0.2, 2, 0)],
)
def test_a_ratio_that_corrupts_nothing_or_all_is_refused(ratio, num_patches, count):
    with pytest.raises(
        ValueError,
        match=rf"of {num_patches} patches, got {ratio}, which corrupts {count}; ",
    ):
        vl.corrupt_patches(1, num_patches, ratio, seeded())


# ------------------------------------------------------------------------------------------------- targets


def slow_colours(image: torch.Tensor, patch_size: int, side: int) -> list[list[int]]:
    """For each patch the colour of each cell, from the sums of its bytes, as fractions."""
    _, height, width = image.shape
    side = min(side, patch_size)
    pixels = (image * 255).round().int().tolist()
    patches = []
    for top in range(0, height, patch_size):
        for left in range(0, width, patch_size):
            cells = []
            for i in range(side):
                for j in range(side):
                    rows = range(
                        top + i * patch_size // side,
                        top - (-(i + 1) * patch_size // side),
                    )
                    cols = range(
                        left + j * patch_size // side,
                        left - (-(j + 1) * patch_size // side),
                    )
                    colour = 0
                    for channel in pixels:
                        total = sum(channel[row][col] for row in rows for col in cols)
                        colour = 8 * colour + int(
                            Fraction(total, len(rows) * len(cols)) / 32
                        )
                    cells.append(colour)
            patches.append(cells)
    return patches


@pytest.mark.parametrize("side", [1, 4])
@pytest.mark.parametrize(
    ("patch_size", "size"),
    [(1, (2, 3)), (2, (4, 6)), (4, (8, 12)), (6, (12, 6)), (8, (8, 16))],
)
def test_colours_beside_slow_ones(patch_size, size, side):
    images = pictures(2, *size)
    found = vl.patch_colours(images, patch_size, side)
    assert found.dtype == torch.int64 and found.tolist() == [
        slow_colours(x, patch_size, side) for x in images
    ]


def test_a_cell_of_one_pixel_is_the_three_highest_bits_of_its_bytes():
    values = torch.arange(256, dtype=torch.uint8)
    grey = values.view(1, 1, 16, 16).expand(1, 3, 16, 16)
    bits = (values >> 5).long()
    for each in (grey.float() / 255, vl.denormalize(vl.normalize(grey))):
        cells = vl.unpatchify(
            vl.patch_colours(each, 4, 4), 4, 16
        ).flatten()  # of 4 x 4 pixels: each is one
        assert torch.equal(cells, 64 * bits + 8 * bits + bits)


def test_the_mean_colour_of_a_patch_and_the_order_of_channels():
    image = torch.zeros(1, 3, 8, 8)
    image[0, 0], image[0, 2, :, :4] = 1.0, 100 / 255
    assert vl.patch_colours(image, 8).tolist() == [[[7 * 64 + 50 // 32]]]
    # one channel has eight
    assert vl.patch_colours(image[:, :1], 8).tolist() == [[[7]]]


# ------------------------------------------------------------------------------------------------- guesses


def slow_guess(image, mask, source, patch_size):
    _, height, width = image.shape
    rows, cols = height // patch_size, width // patch_size

    def cut(i):
        top, left = i // cols * patch_size, i % cols * patch_size
        return image[:, top : top + patch_size, left : left + patch_size]

    shown = [None if hidden else cut(source[i]) for i, hidden in enumerate(mask)]
    guess = torch.empty_like(image)
    for i in range(rows * cols):
        near = [
            shown[r * cols + c]
            for r in range(max(i // cols - 1, 0), min(i // cols + 2, rows))
            for c in range(max(i % cols - 1, 0), min(i % cols + 2, cols))
        ]
        near = [patch for patch in near if patch is not None] or [
            x for x in shown if x is not None
        ]
        colour = torch.stack([patch.mean(dim=(1, 2)) for patch in near]).mean(0)[
            :, None, None
        ]
        top, left = i // cols * patch_size, i % cols * patch_size
        guess[:, top : top + patch_size, left : left + patch_size] = (
            colour if shown[i] is None else shown[i]
        )
    return guess


@pytest.mark.parametrize(
    ("patch_size", "size"), [(2, (8, 12)), (4, (16, 16)), (4, (4, 24))]
)
def test_guesses_beside_slow_ones(patch_size, size):
    images, num_patches = pictures(6, *size), math.prod(size) // patch_size**2
    mask, source, _ = vl.corrupt_patches(6, num_patches, 0.7, seeded())
    found = guess_patches(images, mask, source, patch_size)
    for i in range(6):
        slow = slow_guess(images[i], mask[i].tolist(), source[i].tolist(), patch_size)
        torch.testing.assert_close(found[i], slow)


def test_where_no_neighbour_is_shown_the_mean_of_all_is_taken():
    images = torch.rand(1, 3, 20, 20, generator=seeded())
    mask = torch.ones(1, 25, dtype=torch.bool)
    mask[0, 0] = False
    guess = guess_patches(images, mask, torch.arange(25)[None], 4)
    colour = images[0, :, :4, :4].mean(dim=(1, 2))
    torch.testing.assert_close(guess[0, :, -1, -1], colour)
    assert torch.equal(guess[0, :, :4, :4], images[0, :, :4, :4])


def test_rows_are_taken_image_by_image():
    values, which = torch.randn(2, 5, 3), torch.tensor([[4, 0], [1, 1]])
    expected = torch.stack([values[0, [4, 0]], values[1, [1, 1]]])
    assert torch.equal(take_patches(values, which), expected)
