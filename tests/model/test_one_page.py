"""The whole ViT on one page: the same function as the package's model, and short."""

import ast
import inspect

import pytest
import torch
from stir import stir

import vitlib as vl
from vitlib.model import one_page

TINY = dict(
    img_size=16, patch_size=4, embed_dim=24, depth=2, num_heads=2, mlp_ratio=2.0
)


@pytest.mark.parametrize("pool", ["token", "avg"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        dict(img_size=(8, 24), depth=3),
        dict(
            img_size=24,
            patch_size=8,
            in_chans=1,
            num_classes=3,
            num_heads=3,
            mlp_ratio=2.7,
        ),
        dict(
            img_size=(12, 6),
            patch_size=3,
            in_chans=2,
            embed_dim=10,
            num_heads=1,
            depth=1,
        ),
    ],
)
def test_logits_and_gradients_are_those_of_the_package(pool, changes):
    fields = TINY | dict(global_pool=pool) | changes
    torch.manual_seed(0)
    ours, page = vl.VisionTransformer(vl.ViTConfig(**fields)), one_page.ViT(**fields)
    stir(ours, 0.3)
    page.load_state_dict(ours.state_dict(), strict=True)
    ours.load_state_dict(page.state_dict(), strict=True)
    images = torch.randn(3, ours.cfg.in_chans, *ours.cfg.image_shape)
    logits = [model(images) for model in (ours, page)]
    torch.testing.assert_close(*logits, rtol=1e-5, atol=1e-5)
    assert logits[1].shape == (3, ours.cfg.num_classes)
    for answer in logits:
        answer.square().sum().backward()
    gradients = {name: p.grad for name, p in page.named_parameters()}
    assert len(gradients) == len(list(ours.parameters()))
    for name, p in ours.named_parameters():
        torch.testing.assert_close(
            gradients[name.replace("pos_embed.weight", "pos_embed")],
            p.grad,
            rtol=1e-4,
            atol=1e-4,
        )


def test_it_starts_as_the_packages_model_does():
    torch.manual_seed(0)
    ours, page = (
        vl.VisionTransformer(vl.ViTConfig()).state_dict(),
        one_page.ViT().state_dict(),
    )
    assert {name: value.shape for name, value in page.items()} == {
        name: value.shape for name, value in ours.items()
    }
    for name, value in ours.items():
        assert page[name].mean().item() == pytest.approx(value.mean().item(), abs=0.005)
        assert page[name].std().item() == pytest.approx(value.std().item(), rel=0.05)


def test_it_is_one_page_of_torch_and_einops():
    text = inspect.getsource(one_page)
    imported = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    roots = {
        name.split(".")[0]
        for node in imported
        for name in [getattr(node, "module", "") or node.names[0].name]
    }
    assert roots == {"__future__", "torch", "einops"}
