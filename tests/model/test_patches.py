"""Patchify and its inverse, and the four patch embeddings."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

import vitlib as vl
from vitlib.model.patches import PATCH_EMBEDS

DTYPES = [torch.uint8, torch.int64, torch.bool, torch.float16, torch.bfloat16, torch.float32, torch.float64]
shapes = st.tuples(
    st.integers(0, 3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.integers(1, 5)
)


def numbered(*shape: int) -> torch.Tensor:
    return torch.arange(torch.Size(shape).numel()).reshape(shape)


def naive_patchify(images: torch.Tensor, P: int) -> torch.Tensor:
    """The definition, read aloud: row by row, pixel by pixel, channels side by side."""
    B, C, H, W = images.shape
    return torch.stack(
        [
            torch.stack(
                [images[:, c, top + i, left + j] for i in range(P) for j in range(P) for c in range(C)], dim=1
            )
            for top in range(0, H, P)
            for left in range(0, W, P)
        ],
        dim=1,
    )


def test_patchify_golden():
    patches = vl.patchify(numbered(1, 2, 4, 4), 2)
    assert patches.shape == (1, 4, 8)
    assert patches[0, 0].tolist() == [0, 16, 1, 17, 4, 20, 5, 21]  # (p1 p2 c): both channels of a pixel
    assert patches[0, 1, 0] == 2 and patches[0, 2, 0] == 8  # reading order: to the right first, then down


@settings(deadline=None, max_examples=40)
@given(shapes, st.sampled_from(DTYPES))
def test_patchify_is_its_definition_and_unpatchify_its_inverse(shape, dtype):
    B, C, P, rows, cols = shape
    images = numbered(B, C, rows * P, cols * P).to(dtype)
    patches = vl.patchify(images, P)
    assert patches.shape == (B, rows * cols, P * P * C) and patches.dtype == dtype
    assert torch.equal(patches, naive_patchify(images, P))
    assert torch.equal(vl.unpatchify(patches, P, (rows * P, cols * P)), images)


def test_patchify_takes_views_and_passes_gradients():
    images = torch.randn(2, 8, 8, 3).permute(0, 3, 1, 2).requires_grad_()  # not contiguous
    vl.unpatchify(vl.patchify(images, 4), 4, 8).square().sum().backward()
    assert torch.equal(images.grad, 2 * images.detach())


@settings(deadline=None, max_examples=25)
@given(shapes, st.integers(1, 9))
def test_convolution_is_the_linear_embedding(shape, width):
    B, C, P, rows, cols = shape
    torch.manual_seed(0)
    conv, linear = vl.ConvPatchEmbed(P, C, width), vl.LinearPatchEmbed(P, C, width)
    with torch.no_grad():
        linear.proj.weight.copy_(vl.conv_to_linear(conv.proj.weight))
        linear.proj.bias.copy_(conv.proj.bias.uniform_(-1, 1))
    images = torch.randn(max(B, 1), C, rows * P, cols * P)
    torch.testing.assert_close(conv(images), linear(images), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_conv_embedding_is_torchs_convolution(dtype):
    layer = vl.ConvPatchEmbed(4, 3, 16).to(dtype)
    images = torch.randn(2, 3, 8, 12, dtype=dtype)
    expected = F.conv2d(images, layer.proj.weight, layer.proj.bias, stride=4).flatten(2).transpose(1, 2)
    torch.testing.assert_close(layer(images), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", PATCH_EMBEDS)
@pytest.mark.parametrize("P", [2, 4, 8])
def test_every_embedding_keeps_the_number_of_tokens(kind, P):
    layer = PATCH_EMBEDS[kind](P, 3, 24)
    assert layer(torch.randn(2, 3, 3 * P, 2 * P)).shape == (2, 6, 24)


@pytest.mark.parametrize("P", [1, 3, 5, 7])
def test_odd_patches_keep_the_number_of_tokens(P):
    for kind in ("conv", "linear", "overlap"):
        assert PATCH_EMBEDS[kind](P, 1, 8)(torch.randn(1, 1, 2 * P, 5 * P)).shape == (1, 10, 8)


def reach(layer: torch.nn.Module, token: int, size: int) -> tuple[int, int]:
    """Rows and columns of the pixels that a token depends on."""
    images = torch.randn(1, 1, size, size, requires_grad=True)
    layer(images)[0, token].sum().backward()
    seen = images.grad[0, 0] != 0
    return int(seen.any(1).sum()), int(seen.any(0).sum())


def test_overlapping_patches_share_pixels():
    assert reach(vl.ConvPatchEmbed(4, 1, 8), 5, 16) == (4, 4)
    assert reach(vl.OverlapPatchEmbed(4, 1, 8), 5, 16) == (8, 8)  # 2P
    assert reach(vl.OverlapPatchEmbed(3, 1, 8), 4, 9) == (5, 5)  # 2P - 1


@pytest.mark.parametrize(("P", "margin"), [(4, 2), (3, 1)])
def test_overlapping_patches_see_black_beyond_the_border(P, margin):
    layer, images = vl.OverlapPatchEmbed(P, 3, 8), torch.randn(2, 3, 2 * P, 3 * P)
    framed = torch.zeros(2, 3, 2 * P + 2 * margin, 3 * P + 2 * margin)
    framed[:, :, margin:-margin, margin:-margin] = images
    expected = F.conv2d(framed, layer.proj.weight, layer.proj.bias, stride=P)
    torch.testing.assert_close(layer(images), expected.flatten(2).transpose(1, 2), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("P", "D", "widths"), [(8, 48, (12, 24, 48)), (8, 16, (8, 8, 16)), (4, 24, (12, 24)), (2, 12, (12,))]
)
def test_the_stem_is_small_convolutions_each_with_a_norm_over_the_image_and_relu(P, D, widths):
    stem, x = vl.ConvStem(P, 3, D), torch.randn(2, 3, 2 * P, 3 * P)
    expected, before = {}, 3
    for i, width in enumerate(widths):
        expected |= {f"stem.{3 * i}.weight": (width, before, 3, 3)}
        expected |= {f"stem.{3 * i + 1}.weight": (width,), f"stem.{3 * i + 1}.bias": (width,)}
        before = width
    expected |= {"proj.weight": (D, before, 1, 1), "proj.bias": (D,)}
    assert {name: tuple(p.shape) for name, p in stem.state_dict().items()} == expected
    for p in stem.parameters():  # else the norms multiply by 1 and add 0
        torch.nn.init.normal_(p, std=0.5)
    tokens, weights = stem(x), stem.state_dict()
    for i in range(len(widths)):
        conv, gain, shift = list(weights.values())[3 * i : 3 * i + 3]
        x = F.conv2d(F.pad(x, (1, 1, 1, 1)), conv, stride=2)
        mean, variance = x.mean((1, 2, 3), keepdim=True), x.var((1, 2, 3), correction=0, keepdim=True)
        x = (x - mean) / (variance + 1e-5).sqrt() * gain[:, None, None] + shift[:, None, None]
        x = x.clamp_min(0)
    by_rows = torch.stack([x[:, :, row, col] for row in range(2) for col in range(3)], dim=1)
    by_hand = by_rows @ weights["proj.weight"].flatten(1).T + weights["proj.bias"]
    torch.testing.assert_close(tokens, by_hand, rtol=1e-4, atol=1e-4)


def test_a_dark_image_is_normalised_by_what_little_it_has():
    """The stem's epsilon shows where the pixels hardly differ."""
    stem, x = vl.ConvStem(2, 1, 4), 1e-3 * torch.randn(1, 1, 4, 4)
    seen = F.conv2d(F.pad(x, (1, 1, 1, 1)), stem.stem[0].weight, stride=2)
    spread = (seen.var(correction=0) + 1e-5).sqrt()
    torch.testing.assert_close(stem.stem[:2](x), (seen - seen.mean()) / spread, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", PATCH_EMBEDS)
def test_tokens_start_with_the_pixels_variance(kind):
    torch.manual_seed(0)
    layer = PATCH_EMBEDS[kind](8, 3, 64)
    assert torch.count_nonzero(layer.proj.bias) == 0
    tokens = layer(torch.randn(4, 3, 64, 64))
    assert 0.3 < tokens.std() < 1.3


@pytest.mark.parametrize("kind", PATCH_EMBEDS)
def test_an_images_tokens_do_not_depend_on_the_batch(kind):
    layer, images = PATCH_EMBEDS[kind](4, 3, 16), torch.randn(3, 3, 8, 8)
    torch.testing.assert_close(layer(images)[1:2], layer(images[1:2]), rtol=1e-5, atol=1e-6)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("shape", "P", "message"),
    [
        ((3, 32, 32), 4, r"expected images of shape \(B, C, H, W\), got \(3, 32, 32\); add the batch axis"),
        ((1, 3, 225, 224), 16, "image height 225 is not a multiple of patch_size 16; try 224 or 240"),
        ((1, 3, 224, 225), 16, "image width 225 is not a multiple of patch_size 16; try 224 or 240"),
        ((1, 3, 4, 4), 0, "patch_size must be a positive integer, got 0"),
        ((1, 3, 4, 4), -2, "patch_size must be a positive integer, got -2"),
        ((1, 3, 4, 4), 2.0, "patch_size must be a positive integer, got 2.0"),
    ],
)
def test_patchify_refuses(shape, P, message):
    with pytest.raises(ValueError, match=message):
        vl.patchify(torch.zeros(shape), P)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("shape", "P", "size", "message"),
    [
        ((4, 48), 4, 8, r"expected patches of shape \(B, N, PPC\), got \(4, 48\)"),
        ((1, 4, 47), 4, 8, r"with P = 4, got \(1, 4, 47\)"),
        ((1, 4, 48), 0, 8, "patch_size must be a positive integer, got 0"),
        ((1, 4, 48), 4, 9, "image height 9 is not a multiple of patch_size 4; try 8 or 12"),
        ((1, 4, 48), 4, (8, 10), "image width 10 is not a multiple of patch_size 4; try 8 or 12"),
        ((1, 4, 48), 4, (8, 12), "an image of 8 x 12 has 6 patches of side 4, got 4"),
    ],
)
def test_unpatchify_refuses(shape, P, size, message):
    with pytest.raises(ValueError, match=message):
        vl.unpatchify(torch.zeros(shape), P, size)


@pytest.mark.errors
def test_conv_to_linear_refuses():
    with pytest.raises(ValueError, match=r"expected weight of shape \(D, C, P, P\), got \(8, 48\)"):
        vl.conv_to_linear(torch.zeros(8, 48))


@pytest.mark.errors
@pytest.mark.parametrize("P", [0, 1, 6, 12, 4.0])
def test_stem_refuses_what_it_cannot_halve(P):
    with pytest.raises(ValueError, match=f"patch_size .*got {P}"):
        vl.ConvStem(P, 3, 8)


@pytest.mark.errors
@pytest.mark.parametrize("kind", PATCH_EMBEDS)
def test_embeddings_refuse_images_that_do_not_divide(kind):
    with pytest.raises(ValueError, match="image height 30 is not a multiple of patch_size 4; try 28 or 32"):
        PATCH_EMBEDS[kind](4, 3, 8)(torch.zeros(1, 3, 30, 32))
