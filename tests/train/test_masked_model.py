"""The model of masked patch prediction: what it puts in the places of patches, and what it refuses."""

import pytest
import torch
from stir import stir

import vitlib as vl

IMAGES = torch.randn(3, 3, 16, 16, generator=torch.Generator().manual_seed(1))
MASK = torch.rand(3, 16, generator=torch.Generator().manual_seed(2)) < 0.5
OWN = torch.arange(16).expand(3, 16)


def masked(**changes) -> vl.MaskedPatchModel:
    """A small model in evaluation mode, its weights large enough for every part to matter."""
    torch.manual_seed(0)
    fields = dict(
        img_size=16,
        embed_dim=24,
        depth=2,
        num_heads=2,
        mlp_ratio=2.0,
        num_classes=0,
        mask_token=True,
    )
    return stir(vl.MaskedPatchModel(vl.ViTConfig(**fields | changes), 5), 0.3)


def encoded(
    model: vl.MaskedPatchModel, images: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    return model.encoder.encode(model.embed(images, mask, OWN))


@pytest.mark.parametrize("kind", ["none", "learned", "relative"])
def test_masked_patches_have_no_influence(kind):
    model, patches = masked(pos_embed=kind), vl.patchify(IMAGES, 4)
    other = vl.unpatchify(
        torch.where(MASK[:, :, None], torch.randn_like(patches), patches), 4, 16
    )
    assert torch.equal(encoded(model, IMAGES, MASK), encoded(model, other, MASK))
    assert not torch.allclose(
        encoded(model, IMAGES, ~MASK), encoded(model, other, ~MASK)
    )


def test_a_source_moves_tokens_as_moving_pixels_would():
    model, patches = masked(), vl.patchify(IMAGES, 4)
    source = torch.randint(16, MASK.shape, generator=torch.Generator().manual_seed(3))
    moved = torch.stack([patches[b, source[b]] for b in range(3)])
    expected = model.embed(vl.unpatchify(moved, 4, 16), MASK, OWN)
    torch.testing.assert_close(
        model.embed(IMAGES, MASK, source), expected, rtol=1e-5, atol=1e-5
    )
    assert not torch.allclose(model.embed(IMAGES, MASK, OWN), expected)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("mask", "source", "message"),
    [
        (
            MASK[:, :9],
            OWN,
            r"expected a mask of torch.bool \(3, 16\), .* got torch.bool \(3, 9\)",
        ),
        (
            MASK.float(),
            OWN,
            r"expected a mask of torch.bool \(3, 16\), .* got torch.float32 \(3, 16\)",
        ),
        (
            MASK,
            OWN[:, :9],
            r"expected a source of torch.int64 \(3, 16\), .* got torch.int64 \(3, 9\)",
        ),
    ],
)
def test_masks_that_do_not_fit_are_refused(mask, source, message):
    with pytest.raises(ValueError, match=message):
        masked().embed(IMAGES, mask, source)


@pytest.mark.errors
def test_a_model_without_a_mask_token_is_refused():
    with pytest.raises(
        ValueError, match="the model has no mask token; make it with mask_token=True"
    ):
        masked(mask_token=False)
