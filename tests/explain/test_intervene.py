"""Interventions against what they should be equal to, done another way."""

from __future__ import annotations

import pytest
import torch

import vitlib as vl


@pytest.fixture(scope="module", params=["token", "avg"])
def model(request):
    torch.manual_seed(0)
    cfg = vl.ViTConfig(
        img_size=16, patch_size=4, embed_dim=24, depth=2, num_heads=3, global_pool=request.param
    )
    model = vl.VisionTransformer(cfg).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.2)
    return model


@pytest.fixture(scope="module")
def images():
    return torch.randn(3, 3, 16, 16, generator=torch.Generator().manual_seed(1))


ORDER = torch.randperm(16, generator=torch.Generator().manual_seed(2)).tolist()


def test_nothing_done_is_the_model(model, images):
    torch.testing.assert_close(vl.intervene(model, images), model(images))


def test_order_moves_pixels(model, images):
    moved = vl.unpatchify(vl.patchify(images, 4)[:, ORDER], 4, (16, 16))
    torch.testing.assert_close(vl.intervene(model, images, order=ORDER), model(moved))
    assert not torch.allclose(model(moved), model(images), atol=1e-3)


def test_without_positions_the_order_is_no_matter(model, images):
    bare = vl.intervene(model, images, positions="none")
    torch.testing.assert_close(vl.intervene(model, images, positions="none", order=ORDER), bare)
    assert not torch.allclose(bare, model(images), atol=1e-3)


def test_moving_patches_with_their_positions_changes_nothing(model, images):
    torch.testing.assert_close(vl.intervene(model, images, order=ORDER, positions=ORDER), model(images))


def test_what_is_removed_is_not_read(model, images):
    """Whatever stands in removed patches is no matter; in others it is."""
    remove = [0, 5, 15]
    other = images.clone()
    other[:, :, :4, :4], other[:, :, 12:, 12:] = 9, -9
    left = vl.intervene(model, images, remove=remove)
    torch.testing.assert_close(vl.intervene(model, other, remove=remove), left)
    assert not torch.allclose(vl.intervene(model, other), vl.intervene(model, images), atol=1e-3)
    assert vl.intervene(model, images, remove=range(16)).isfinite().all()


def test_heads_off_is_their_columns_zero(model, images):
    off = [(0, 1), (1, 2)]
    edited = vl.VisionTransformer(model.cfg).eval()
    edited.load_state_dict(model.state_dict())
    with torch.no_grad():
        for layer, head in off:
            edited.blocks[layer].attn.proj.weight[:, 8 * head : 8 * (head + 1)] = 0
        torch.testing.assert_close(vl.intervene(model, images, heads=off), edited(images))
    assert not model.blocks[0].attn.proj._forward_pre_hooks


@pytest.mark.errors
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"order": [0, 1]}, "expected order to be 16 places from 0 to 15"),
        ({"remove": [16]}, "expected remove to be places from 0 to 15"),
        ({"positions": "zero"}, 'expected positions "none" or 16 places'),
        ({"heads": [(2, 0)]}, r"below \(2, 3\), got \(2, 0\)"),
    ],
)
def test_wrong_places_are_refused(model, images, wrong, says):
    with pytest.raises(ValueError, match=says):
        vl.intervene(model, images, **wrong)


@pytest.mark.errors
def test_other_positions_are_refused(images):
    model = vl.VisionTransformer(vl.ViTConfig(img_size=16, depth=1, pos_embed="relative"))
    with pytest.raises(ValueError, match="table of positions"):
        vl.intervene(model, images)
