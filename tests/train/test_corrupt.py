"""Corrupted patches: exact counts, 80/10/10, colours and guesses beside slow loops over pixels."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator

from vitlib.train.masked import corrupt_patches, guess_patches, patch_colours


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
    mask, source, corrupted = corrupt_patches(n, num_patches, ratio, seeded(seed))
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
    mask, source, corrupted = corrupt_patches(n, num_patches, 0.5, seeded())
    total = corrupted.numel()
    moved = source != torch.arange(num_patches)
    for share, found in ((0.8, mask.sum()), (0.1, moved.sum())):
        error = math.sqrt(share * (1 - share) / total)
        assert abs(found.item() / total - share) < 4 * error
    # what happens to a patch is drawn by itself, so these are not all alike
    counts = mask.sum(1)
    assert counts.float().var().item() == pytest.approx(8 * 0.8 * 0.2, rel=0.1)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("ratio", "num_patches", "count"),
    [(0.01, 16, 0), (0.99, 16, 16)],
)
def test_a_ratio_that_corrupts_nothing_or_all_is_refused(ratio, num_patches, count):
    with pytest.raises(
        ValueError,
        match=rf"of {num_patches} patches, got {ratio}, which corrupts {count}; ",
    ):
        corrupt_patches(1, num_patches, ratio, seeded())


# ------------------------------------------------------------------------------------------------- targets


def slow_colours(image: torch.Tensor, patch_size: int) -> list[list[int]]:
    """For each patch its mean colour, from the sums of its bytes, as fractions."""
    _, height, width = image.shape
    pixels = (image * 255).round().int().tolist()
    patches = []
    for top in range(0, height, patch_size):
        for left in range(0, width, patch_size):
            rows = range(top, top + patch_size)
            cols = range(left, left + patch_size)
            colour = 0
            for channel in pixels:
                total = sum(channel[row][col] for row in rows for col in cols)
                colour = 8 * colour + int(Fraction(total, patch_size**2) / 32)
            patches.append([colour])
    return patches


@pytest.mark.parametrize(
    ("patch_size", "size"),
    [(1, (2, 3)), (4, (8, 12)), (6, (12, 6))],
)
def test_colours_beside_slow_ones(patch_size, size):
    images = pictures(2, *size)
    found = patch_colours(images, patch_size)
    assert found.dtype == torch.int64 and found.tolist() == [
        slow_colours(x, patch_size) for x in images
    ]


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


@pytest.mark.parametrize(("patch_size", "size"), [(2, (8, 12)), (4, (4, 24))])
def test_guesses_beside_slow_ones(patch_size, size):
    images, num_patches = pictures(6, *size), math.prod(size) // patch_size**2
    mask, source, _ = corrupt_patches(6, num_patches, 0.7, seeded())
    found = guess_patches(images, mask, source, patch_size)
    for i in range(6):
        slow = slow_guess(images[i], mask[i].tolist(), source[i].tolist(), patch_size)
        torch.testing.assert_close(found[i], slow)
