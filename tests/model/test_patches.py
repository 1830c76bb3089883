"""Patchify and its inverse, every patch embedding, and patches left out in training."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import nn
from torch.nn import functional as F

import vitlib as vl
from vitlib.model.patches import (
    PATCH_EMBEDS,
    ConvStem,
    HybridPatchEmbed,
    OverlapPatchEmbed,
    PatchDrop,
    conv_to_linear,
    init_projection,
)

DTYPES = [
    torch.uint8,
    torch.int64,
    torch.bool,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]
shapes = st.tuples(
    st.integers(0, 3),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 5),
)


def numbered(*shape: int) -> torch.Tensor:
    return torch.arange(torch.Size(shape).numel()).reshape(shape)


def naive_patchify(images: torch.Tensor, P: int) -> torch.Tensor:
    """The definition, read aloud: row by row, pixel by pixel, channels side by side."""
    B, C, H, W = images.shape
    return torch.stack(
        [
            torch.stack(
                [
                    images[:, c, top + i, left + j]
                    for i in range(P)
                    for j in range(P)
                    for c in range(C)
                ],
                dim=1,
            )
            for top in range(0, H, P)
            for left in range(0, W, P)
        ],
        dim=1,
    )


@given(shapes, st.sampled_from(DTYPES))
def test_patchify_is_its_definition_and_unpatchify_its_inverse(shape, dtype):
    B, C, P, rows, cols = shape
    images = numbered(B, C, rows * P, cols * P).to(dtype)
    patches = vl.patchify(images, P)
    assert patches.shape == (B, rows * cols, P * P * C) and patches.dtype == dtype
    assert torch.equal(patches, naive_patchify(images, P))
    assert torch.equal(vl.unpatchify(patches, P, (rows * P, cols * P)), images)


@given(shapes, st.integers(1, 9))
def test_convolution_is_the_linear_embedding(shape, width):
    B, C, P, rows, cols = shape
    torch.manual_seed(0)
    conv, linear = vl.ConvPatchEmbed(P, C, width), vl.LinearPatchEmbed(P, C, width)
    with torch.no_grad():
        linear.proj.weight.copy_(conv_to_linear(conv.proj.weight))
        linear.proj.bias.copy_(conv.proj.bias.uniform_(-1, 1))
    images = torch.randn(max(B, 1), C, rows * P, cols * P)
    torch.testing.assert_close(conv(images), linear(images), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("P", "margin"), [(4, 2), (3, 1)])
def test_overlapping_patches_see_black_beyond_the_border(P, margin):
    layer, images = OverlapPatchEmbed(P, 3, 8), torch.randn(2, 3, 2 * P, 3 * P)
    framed = torch.zeros(2, 3, 2 * P + 2 * margin, 3 * P + 2 * margin)
    framed[:, :, margin:-margin, margin:-margin] = images
    expected = F.conv2d(framed, layer.proj.weight, layer.proj.bias, stride=P)
    torch.testing.assert_close(
        layer(images), expected.flatten(2).transpose(1, 2), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(
    ("P", "D", "widths"),
    [(8, 48, (12, 24, 48)), (4, 24, (12, 24))],
)
def test_the_stem_is_small_convolutions_each_with_a_norm_over_the_image_and_relu(
    P, D, widths
):
    stem, x = ConvStem(P, 3, D), torch.randn(2, 3, 2 * P, 3 * P)
    for p in stem.parameters():  # else the norms multiply by 1 and add 0
        torch.nn.init.normal_(p, std=0.5)
    tokens, weights = stem(x), stem.state_dict()
    for i in range(len(widths)):
        conv, gain, shift = list(weights.values())[3 * i : 3 * i + 3]
        x = F.conv2d(F.pad(x, (1, 1, 1, 1)), conv, stride=2)
        mean, variance = (
            x.mean((1, 2, 3), keepdim=True),
            x.var((1, 2, 3), correction=0, keepdim=True),
        )
        x = (x - mean) / (variance + 1e-5).sqrt() * gain[:, None, None] + shift[
            :, None, None
        ]
        x = x.clamp_min(0)
    by_rows = torch.stack(
        [x[:, :, row, col] for row in range(2) for col in range(3)], dim=1
    )
    by_hand = by_rows @ weights["proj.weight"].flatten(1).T + weights["proj.bias"]
    torch.testing.assert_close(tokens, by_hand, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("P", "D", "widths"),
    [(4, 96, (64, 96)), (16, 20, (32, 32, 32, 32))],
)
def test_the_hybrids_patches_are_the_places_of_its_feature_map(P, D, widths):
    layer = HybridPatchEmbed(P, 3, D)
    assert layer.backbone.cfg.widths == widths
    images = torch.randn(2, 3, 3 * P, 2 * P)
    features = layer.backbone.forward_features(images)
    assert features.shape == (2, widths[-1], 3, 2)
    slow = torch.stack(
        [layer.proj(features)[:, :, row, col] for row in range(3) for col in range(2)],
        dim=1,
    )
    torch.testing.assert_close(layer(images), slow)


@pytest.mark.parametrize("layer", [nn.Conv2d(3, 256, 4), nn.Linear(48, 256)], ids=str)
def test_a_projection_starts_as_a_normal_of_one_over_the_root_of_its_inputs(layer):
    torch.manual_seed(0)
    assert init_projection(layer) is layer and not layer.bias.any()
    weights = layer.weight.detach().flatten().numpy()
    assert stats.kstest(weights, stats.norm(0, 48**-0.5).cdf).pvalue > 1e-5
    assert (
        weights.std() == pytest.approx(48**-0.5, rel=0.03)
        and abs(weights.mean()) < 0.007
    )


@pytest.mark.errors
@pytest.mark.parametrize(
    ("shape", "P", "size", "message"),
    [
        ((1, 4, 47), 4, 8, r"with P = 4, got \(1, 4, 47\)"),
        ((1, 4, 48), 4, (8, 12), "an image of 8 x 12 has 6 patches of side 4, got 4"),
    ],
)
def test_unpatchify_refuses(shape, P, size, message):
    with pytest.raises(ValueError, match=message):
        vl.unpatchify(torch.zeros(shape), P, size)


@pytest.mark.errors
@pytest.mark.parametrize("layer", [ConvStem, HybridPatchEmbed])
def test_stem_and_hybrid_refuse_what_they_cannot_halve(layer):
    with pytest.raises(ValueError, match="patch_size .*got 6"):
        layer(6, 3, 8)


@pytest.mark.errors
@pytest.mark.parametrize("kind", PATCH_EMBEDS)
def test_embeddings_refuse_images_that_do_not_divide(kind):
    with pytest.raises(
        ValueError,
        match="image height 30 is not a multiple of patch_size 4; try 28 or 32",
    ):
        PATCH_EMBEDS[kind](4, 3, 8)(torch.zeros(1, 3, 30, 32))


def test_patch_drop_leaves_out_other_patches_of_each_image_and_keeps_cls():
    x = torch.arange(5 * 17, dtype=torch.float32).view(5, 17, 1).expand(-1, -1, 3)
    torch.manual_seed(1)
    out = PatchDrop(0.75)(x)
    assert out.shape == (5, 5, 3) and torch.equal(out[:, 0], x[:, 0])
    places = (out[:, 1:, 0] - x[:, :1, 0]).long()  # (B, n)
    assert all(len(set(row)) == 4 and min(row) >= 1 for row in places.tolist())
    assert len({tuple(sorted(row)) for row in places.tolist()}) == 5
    assert torch.equal(out[:, :, 0], out[:, :, 2])


@pytest.mark.parametrize("layer", [PatchDrop(0.0), PatchDrop(0.5).eval(), PatchDrop()])
def test_patch_drop_is_the_identity_otherwise(layer):
    x = torch.randn(2, 5, 3)
    assert layer(x) is x


def test_one_patch_always_stays_and_is_counted_by_rounding():
    assert PatchDrop(0.99)(torch.zeros(2, 5, 3)).shape == (2, 2, 3)
    assert PatchDrop(0.4)(torch.zeros(2, 65, 3)).shape == (2, 39, 3)
