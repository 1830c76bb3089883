"""Attention and gradients read: golden values, autograd by hand, properties, no traces left on the model."""

import math

import pytest
import torch
from torch.nn import functional as F

import vitlib as vl

CLOSE = dict(rtol=1e-4, atol=1e-5)


def gridded(rows: int, cols: int, patch_size: int) -> vl.ViTConfig:
    return vl.ViTConfig(
        img_size=(rows * patch_size, cols * patch_size), patch_size=patch_size
    )


POOLS = pytest.mark.parametrize("pool", ["token", "avg"])
PROBES = [
    vl.attention_rollout,
    vl.attention_entropy,
    lambda maps: vl.attention_distance(maps, gridded(2, 2, 4)),
]


def random_maps(L=3, B=2, h=2, T=5, seed=0) -> torch.Tensor:
    return torch.randn(
        L, B, h, T, T, generator=torch.Generator().manual_seed(seed)
    ).softmax(dim=-1)


def tiny_model(pool: str = "token", **changes) -> vl.VisionTransformer:
    """Two layers, random weights large enough that each matters."""
    options = dict(
        img_size=(16, 24),
        patch_size=8,
        embed_dim=12,
        depth=2,
        num_heads=3,
        num_classes=4,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = vl.VisionTransformer(
            vl.ViTConfig(**(options | {"global_pool": pool} | changes))
        ).eval()
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.4)
    return model


def tiny_images(n: int = 3) -> torch.Tensor:
    return torch.randn(n, 3, 16, 24, generator=torch.Generator().manual_seed(1))


# Rollout


def test_rollout_multiplies_later_layers_on_the_left():
    maps = random_maps(L=2)
    first, second = (vl.attention_rollout(maps[i : i + 1]) for i in range(2))
    torch.testing.assert_close(vl.attention_rollout(maps), second @ first, **CLOSE)
    assert not torch.allclose(vl.attention_rollout(maps), first @ second)


def test_rollout_fuses_and_discards():
    """By hand: two heads of three tokens."""
    maps = torch.tensor(
        [
            [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]],
            [[0.2, 0.2, 0.6], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]],
        ]
    )[None, None]  # (L, B, h, T, T)
    torch.testing.assert_close(
        vl.attention_rollout(maps), maps[0].mean(dim=1) / 2 + torch.eye(3) / 2
    )
    most = torch.tensor(
        [[0.6, 0.3, 0.6], [0.2, 0.8, 0.3], [0.3, 0.3, 0.8]]
    ) + torch.eye(3)
    torch.testing.assert_close(
        vl.attention_rollout(maps, "max")[0], most / most.sum(-1, keepdim=True)
    )
    # 4 of 9 are gone
    kept = torch.tensor([[0.4, 0.25, 0.35], [0, 0.65, 0], [0, 0, 0.6]]) + torch.eye(3)
    found = vl.attention_rollout(maps, discard=0.45)[0]
    torch.testing.assert_close(found, kept / kept.sum(-1, keepdim=True))


# Gradients


def reference_cam(model, images, classes):
    """The last block by hand: the gradient at norm1's output with autograd alone."""
    x = model.embed(images)
    for block in model.blocks[:-1]:
        x = block(x, model.pos_embed.attention_bias())
    last = model.blocks[-1]
    tokens = last.norm1(x)
    x = x + last.attn(tokens, model.pos_embed.attention_bias())
    x = model.norm(x + last.mlp(last.norm2(x)))
    logits = model.head(model.pool(x))
    (grads,) = torch.autograd.grad(logits[range(len(images)), classes].sum(), tokens)
    cam = (tokens * grads[:, 1:].mean(1, keepdim=True))[:, 1:].sum(-1).relu()
    cam = F.interpolate(
        cam.reshape(-1, 1, *model.cfg.grid), images.shape[2:], mode="bilinear"
    )[:, 0]
    return (cam / cam.amax((1, 2), keepdim=True).clamp_min(1e-30)).detach()


@pytest.mark.parametrize("pos_embed", ["learned", "relative"])
@POOLS
def test_grad_cam_equals_autograd_by_hand(pool, pos_embed):
    model, images = tiny_model(pool, pos_embed=pos_embed), tiny_images()
    cam = vl.grad_cam(model, images, [0, 3, 2])
    torch.testing.assert_close(cam, reference_cam(model, images, [0, 3, 2]), **CLOSE)
    assert cam.shape == (3, 16, 24) and 0 <= cam.min() and cam.max() <= 1
    assert cam.flatten(1).any(dim=1).any()


STATES = {  # what a model may be when it is explained, and how far off its numbers may then be
    "training": (lambda m: m.train(), 1e-5),
    "frozen": (lambda m: m.requires_grad_(False), 1e-5),
    "end frozen": (lambda m: (m, m.blocks[1].requires_grad_(False))[0], 1e-5),
    "bfloat16": (lambda m: m.bfloat16(), 0.1),

}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "context", [torch.enable_grad, torch.no_grad, torch.inference_mode]
)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    "explain", [vl.grad_cam, vl.attention_relevance, vl.integrated_gradients]
)
def test_gradients_are_those_of_any_state_of_a_model_and_leave_no_trace(
    explain, state, context
):
    expected, (change, off) = explain(tiny_model(), tiny_images(), 0), STATES[state]
    model = change(tiny_model(drop_rate=0.5))
    model.blocks[0].eval()  # a part that its owner keeps so
    traces = [(part, part.training, {*vars(part)}) for part in model.modules()]
    weights = [
        (weight, weight.clone(), weight.requires_grad) for weight in model.parameters()
    ]
    with context():
        images = tiny_images().to(weights[0][0].dtype)
        if context is torch.enable_grad:
            images.requires_grad_()
        found = explain(model, images, 0)
    assert traces == [(part, part.training, {*vars(part)}) for part in model.modules()]
    assert not any(
        module._forward_hooks or module._forward_pre_hooks for module in model.modules()
    )
    for weight, before, wanted in weights:
        assert (
            weight.grad is None
            and weight.requires_grad == wanted
            and weight.equal(before)
        )
    assert images.grad is None and not found.requires_grad
    assert (
        found - expected
    ).abs().max() < off * expected.abs().max()  # dropout was off


@pytest.mark.errors
@pytest.mark.parametrize(
    "target, message",
    [(4, "from 0 to 3, got"), ([0, 1], "3 classes")],
)
def test_grad_cam_refuses_targets(target, message):
    model = tiny_model().train()
    with pytest.raises(ValueError, match=message):
        vl.grad_cam(model, tiny_images(), target)
    assert model.training and not model.blocks[-1].attn._forward_pre_hooks


@POOLS
@pytest.mark.parametrize(
    "changes", [{}, {"norm_order": "post"}, {"pos_embed": "relative"}]
)
def test_relevance_is_gradient_times_attention_rolled(pool, changes):
    """Two layers by hand: maps as free variables, autograd, heads averaged, R + A R."""
    model, images, target = (
        tiny_model(pool, **changes),
        tiny_images(),
        torch.tensor([0, 3, 1]),
    )
    bias, maps = model.pos_embed.attention_bias(), []

    def attend(attn, x):
        q, k, v = attn.project(x)
        scores = q @ k.transpose(-2, -1) / 4**0.5
        maps.append((scores if bias is None else scores + bias).softmax(-1))
        return attn.proj((maps[-1] @ v).transpose(1, 2).flatten(2))

    x = model.embed(images)
    for block in model.blocks:
        if model.cfg.norm_order == "pre":
            x = x + attend(block.attn, block.norm1(x))
            x = x + block.mlp(block.norm2(x))
        else:
            x = block.norm1(x + attend(block.attn, x))
            x = block.norm2(x + block.mlp(x))
    logits = model.head(model.pool(model.norm(x)))
    grads = torch.autograd.grad(logits[range(3), target].sum(), maps)
    first, second = (
        (m * g).clamp(min=0).mean(1) for m, g in zip(maps, grads, strict=True)
    )
    eye = torch.eye(7)
    wanted = eye + first + second @ (eye + first)
    found = vl.attention_relevance(model, images, target)
    torch.testing.assert_close(found, wanted.detach(), **CLOSE)
    assert (found >= 0).all() and not found.requires_grad


@pytest.mark.sampled(3)
@POOLS
def test_integrated_gradients_add_up(pool):
    """To the logit of the image minus that of grey; one step is the gradient at the middle, times the image."""
    model, images, target = tiny_model(pool), tiny_images(), torch.tensor([0, 3, 1])
    found = vl.integrated_gradients(model, images, target, steps=256)
    with torch.no_grad():
        gained = (model(images) - model(torch.zeros_like(images)))[range(3), target]
    torch.testing.assert_close(found.sum((1, 2, 3)), gained, rtol=0.02, atol=0.02)
    middle = (images / 2).requires_grad_()
    (grad,) = torch.autograd.grad(model(middle)[range(3), target].sum(), middle)
    torch.testing.assert_close(
        vl.integrated_gradients(model, images, target, 1), images * grad, **CLOSE
    )


@POOLS
def test_the_lens_ends_with_the_answer(pool):
    model, images = tiny_model(pool), tiny_images()
    found = vl.logit_lens(model, images)
    assert found.shape == (3, 3, 7, 4)
    answer = found[-1, :, 0] if pool == "token" else found[-1, :, 1:].mean(1)
    torch.testing.assert_close(answer, model(images), **CLOSE)
    x = model.embed(images)
    torch.testing.assert_close(found[0], model.head(model.norm(x)), **CLOSE)
    torch.testing.assert_close(
        found[1], model.head(model.norm(model.blocks[0](x))), **CLOSE
    )


# Attention distance and entropy


@pytest.mark.parametrize(
    "side, patch_size, pixels", [(8, 4, 16.546), (14, 16, 116.492)]
)
def test_distance_of_uniform_attention(side, patch_size, pixels):
    T = side * side + 1
    distance = vl.attention_distance(
        torch.full((2, 1, 3, T, T), 1 / T), gridded(side, side, patch_size)
    )
    torch.testing.assert_close(distance, torch.full((2, 3), pixels), rtol=0, atol=1e-3)


def test_distance_knows_rows_from_columns():
    maps = torch.zeros(1, 1, 1, 7, 7)
    maps[..., 0] = 0.5  # half of everyone's attention goes to CLS, and is left out
    maps[..., 3] += 0.5  # the other half to patch 2: of 2 x 3 the upper right one
    away = torch.tensor(
        [[row, col] for row in range(2) for col in range(3)]
    ) - torch.tensor([0, 2])
    expected = 4 * away.float().norm(dim=1).mean()
    torch.testing.assert_close(
        vl.attention_distance(maps, gridded(2, 3, 4)), expected.reshape(1, 1)
    )
    assert not torch.allclose(vl.attention_distance(maps, gridded(3, 2, 4)), expected)


def test_entropy_lies_between_one_token_and_all():
    assert vl.attention_entropy(torch.eye(5).expand(2, 1, 3, 5, 5)).equal(
        torch.zeros(2, 3)
    )
    even = vl.attention_entropy(torch.full((1, 2, 1, 5, 5), 0.2))
    torch.testing.assert_close(even, torch.full((1, 1), math.log2(5)))
    entropy = vl.attention_entropy(random_maps())
    assert (
        entropy.shape == (3, 2)
        and (entropy > 0).all()
        and (entropy < math.log2(5)).all()
    )


@pytest.mark.errors
@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize(
    "maps, message",
    [
        (
            (None, None),
            r"\(B, h, T, T\), all alike, got NoneType; transformers .*eager",
        ),
        (random_maps()[..., 1:, 1:], "sum to 1"),
        # CLS left out: less than half precision rounds
        (
            random_maps() - 0.2 * torch.eye(5) + 0.2 * torch.eye(5).roll(1, 1),
            "the smallest weight -",
        ),
    ],
)
def test_probes_refuse_what_are_not_attention_maps(probe, maps, message):
    with pytest.raises(ValueError, match=message):
        probe(maps)


@pytest.mark.errors
def test_distance_refuses_grids():
    with pytest.raises(
        ValueError, match="2 x 3 patches has 7 tokens here, got maps .* of T = 5"
    ):
        vl.attention_distance(random_maps(), gridded(2, 3, 4))
