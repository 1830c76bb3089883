"""Explanations against autograd, a hand computation or a slow obvious version; deletion on a model that is known."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import vitlib as vl
from vitlib.explain.scores import BASELINES

CLOSE = dict(rtol=1e-4, atol=1e-5)
POOLS = pytest.mark.parametrize("pool", ["token", "avg"])
KINDS = [{}, {"norm_order": "post"}, {"pos_embed": "sincos2d"}, {"head": "mlp"}, {"layer_scale": 0.5}]


def tiny_model(pool: str = "token", **changes) -> vl.VisionTransformer:
    """Two layers, random weights large enough that each matters."""
    options = dict(img_size=(16, 24), patch_size=8, embed_dim=12, depth=2, num_heads=3, num_classes=4)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = vl.VisionTransformer(vl.ViTConfig(**(options | {"global_pool": pool} | changes))).eval()
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.4)
    return model


def tiny_images(n: int = 3) -> torch.Tensor:
    return torch.randn(n, 3, 16, 24, generator=torch.Generator().manual_seed(1))


# Erasing


@POOLS
@pytest.mark.parametrize("changes", KINDS)
def test_a_kept_patch_is_a_kept_token(pool, changes):
    """Each image keeps its own; all of them, in any order, are the model."""
    model, images = tiny_model(pool, **changes), tiny_images()
    every = torch.stack([torch.randperm(6) for _ in images])
    torch.testing.assert_close(vl.answer_with(model, images, every), model(images), **CLOSE)
    kept = torch.tensor([[0, 1], [5, 2], [3, 4]])
    found = vl.answer_with(model, images, kept)
    assert not found.requires_grad
    for i, places in enumerate(kept.tolist()):
        x = model.embed(images[i : i + 1])[:, [0, *(1 + n for n in places)]]
        for block in model.blocks:
            x = block(x)
        torch.testing.assert_close(found[i : i + 1], model.head(model.pool(model.norm(x))), **CLOSE)


@POOLS
def test_kept_patches_are_the_others_of_those_removed(pool):
    model, images = tiny_model(pool), tiny_images()
    wanted = vl.intervene(model, images, remove=[1, 4])
    kept = torch.tensor([[0, 2, 3, 5]]).expand(3, -1)
    torch.testing.assert_close(vl.answer_with(model, images, kept), wanted, **CLOSE)
    nothing = torch.empty(3, 0, dtype=torch.int64)
    torch.testing.assert_close(
        vl.answer_with(model, images, nothing), vl.intervene(model, images, remove=range(6)), **CLOSE
    )


def test_grey_is_painted_on_the_image():
    model, images = tiny_model(), tiny_images()
    painted = images.clone()
    painted[0, :, :8, 8:16] = 0  # patch 1 of the first
    painted[1:, :, 8:, 16:] = 0  # patch 5 of the others
    kept = torch.tensor([[0, 2, 3, 4, 5], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]])
    torch.testing.assert_close(vl.answer_with(model, images, kept, "grey"), model(painted), **CLOSE)


# Deletion and insertion


def known_model() -> tuple[vl.VisionTransformer, torch.Tensor]:
    """Blocks that add nothing, and what each patch of `tiny_images` then says by itself, (B, N, K)."""
    model = tiny_model("avg")
    for block in model.blocks:
        for layer in (block.attn.proj, block.mlp.fc2):
            torch.nn.init.zeros_(layer.weight)
            torch.nn.init.zeros_(layer.bias)
    with torch.no_grad():
        return model, model.head(model.norm(model.embed(tiny_images())))[:, 1:]


def test_curves_of_a_known_model():
    """Its logits are the mean of what its patches say, so both curves can be written down."""
    model, says = known_model()
    scores = torch.tensor([[6.0, 5, 4, 3, 2, 1], [1, 2, 3, 4, 5, 6], [1, 9, 1, 9, 1, 9]])
    orders = [
        [0, 1, 2, 3, 4, 5],
        [5, 4, 3, 2, 1, 0],
        [1, 3, 5, 0, 2, 4],
    ]  # of equal scores the first is higher
    target = torch.tensor([2, 0, 3])
    deletion = vl.deletion_curve(model, tiny_images(), scores, target, steps=3)
    insertion = vl.insertion_curve(model, tiny_images(), scores, target, steps=3)
    assert not deletion.requires_grad and not insertion.requires_grad
    for i, order in enumerate(orders):
        for step in range(4):
            gone, back = order[: 2 * step], order[2 * step :]
            for curve, kept in ((deletion, back), (insertion, gone)):
                logits = says[i, kept].mean(0) if kept else model.head.bias
                torch.testing.assert_close(curve[i, step], logits.softmax(-1)[target[i]], **CLOSE)
    assert torch.equal(insertion[:, -1], deletion[:, 0])


def test_the_best_ranking_of_a_known_model_beats_the_worst():
    """Where patches add up, their own logits are the truth: no other order falls sooner or rises sooner."""
    model, says = known_model()
    images, target = tiny_images(), torch.tensor([1, 1, 1])
    margin = says[..., 1] - says[..., [0, 2, 3]].logsumexp(-1)
    areas = {}
    for name, scores in (("best", margin), ("worst", -margin)):
        areas[name] = [
            vl.curve_area(curve(model, images, scores, target, steps=6)).mean()
            for curve in (vl.deletion_curve, vl.insertion_curve)
        ]
    assert areas["best"][0] < areas["worst"][0] and areas["best"][1] > areas["worst"][1]


def test_area_is_a_mean_height():
    assert vl.curve_area(torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0]])).item() == pytest.approx(0.125)
    assert vl.curve_area(torch.full((2, 9), 0.3)).tolist() == pytest.approx([0.3, 0.3])


# Explanations


@POOLS
@pytest.mark.parametrize("erase", ["remove", "grey"])
def test_occlusion_asks_for_each_patch(pool, erase):
    model, images, target = tiny_model(pool), tiny_images(), [0, 3, 1]
    found = vl.occlusion(model, images, target, erase)
    assert found.shape == (3, 6)
    for n in range(6):
        if erase == "remove":
            without = vl.intervene(model, images, remove=[n])
        else:
            painted, (row, col) = images.clone(), divmod(n, 3)
            painted[:, :, 8 * row : 8 * row + 8, 8 * col : 8 * col + 8] = 0
            without = model(painted)
        falls = (model(images) - without)[range(3), target]
        torch.testing.assert_close(found[:, n], falls, **CLOSE)


@POOLS
@pytest.mark.parametrize("changes", [{}, {"norm_order": "post"}, {"pos_embed": "relative"}])
def test_relevance_is_gradient_times_attention_rolled(pool, changes):
    """Two layers by hand: maps as free variables, autograd, heads averaged, R + A R."""
    model, images, target = tiny_model(pool, **changes), tiny_images(), torch.tensor([0, 3, 1])
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
    first, second = ((m * g).clamp(min=0).mean(1) for m, g in zip(maps, grads, strict=True))
    eye = torch.eye(7)
    wanted = eye + first + second @ (eye + first)
    found = vl.attention_relevance(model, images, target)
    torch.testing.assert_close(found, wanted.detach(), **CLOSE)
    assert (found >= 0).all() and not found.requires_grad


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
    torch.testing.assert_close(vl.integrated_gradients(model, images, target, 1), images * grad, **CLOSE)


@POOLS
def test_the_lens_ends_with_the_answer(pool):
    model, images = tiny_model(pool), tiny_images()
    found = vl.logit_lens(model, images)
    assert found.shape == (3, 3, 7, 4)
    answer = found[-1, :, 0] if pool == "token" else found[-1, :, 1:].mean(1)
    torch.testing.assert_close(answer, model(images), **CLOSE)
    x = model.embed(images)
    torch.testing.assert_close(found[0], model.head(model.norm(x)), **CLOSE)
    torch.testing.assert_close(found[1], model.head(model.norm(model.blocks[0](x))), **CLOSE)


def test_heads_cost_what_they_cost():
    model, images, labels = tiny_model(), tiny_images(), torch.tensor([0, 3, 1])
    found = vl.head_importance(model, images, labels)
    whole = F.cross_entropy(model(images), labels)
    for layer in range(2):
        for head in range(3):
            loss = F.cross_entropy(vl.intervene(model, images, heads=[(layer, head)]), labels)
            torch.testing.assert_close(found[layer, head], (loss - whole).detach(), **CLOSE)
    assert found.abs().max() > 1e-3


def test_rollout_fuses_and_discards():
    """By hand: two heads of three tokens."""
    maps = torch.tensor(
        [
            [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]],
            [[0.2, 0.2, 0.6], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]],
        ]
    )[None, None]  # (L, B, h, T, T)
    most = torch.tensor([[0.6, 0.3, 0.6], [0.2, 0.8, 0.3], [0.3, 0.3, 0.8]]) + torch.eye(3)
    torch.testing.assert_close(vl.attention_rollout(maps, "max")[0], most / most.sum(-1, keepdim=True))
    least = torch.tensor([[0.2, 0.2, 0.1], [0.1, 0.5, 0.1], [0.1, 0.1, 0.4]]) + torch.eye(3)
    torch.testing.assert_close(vl.attention_rollout(maps, "min")[0], least / least.sum(-1, keepdim=True))
    kept = torch.tensor([[0.4, 0.25, 0.35], [0, 0.65, 0], [0, 0, 0.6]]) + torch.eye(3)  # 4 of 9 are gone
    found = vl.attention_rollout(maps, discard=0.45)[0]
    torch.testing.assert_close(found, kept / kept.sum(-1, keepdim=True))


@POOLS
@pytest.mark.parametrize("name", vl.EXPLANATIONS)
def test_every_explanation_scores_every_patch(pool, name):
    """(B, N), finite, without traces on the model, of the predicted class unless told another."""
    model, images = tiny_model(pool).train(), tiny_images()
    model.eval()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    scores = vl.patch_scores(name, model, images)
    assert scores.shape == (3, 6) and scores.isfinite().all() and not scores.requires_grad
    torch.testing.assert_close(scores, vl.patch_scores(name, model, images, model(images).argmax(1)))
    other = vl.patch_scores(name, model, images, (model(images).argmax(1) + 1) % 4)
    assert torch.equal(scores, other) == (name in (*BASELINES, "attention", "rollout"))
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert all(weight.grad is None for weight in model.parameters())
    assert not any("_mix" in vars(block.attn) for block in model.blocks)
    alone = vl.patch_scores(name, model, images[1:2])
    if name != "random":
        torch.testing.assert_close(alone[0], scores[1], **CLOSE)


def test_baselines_know_nothing_of_the_model():
    images = tiny_images(2)
    images[0, :, :8, :8] = 0.5
    scores = {name: vl.patch_scores(name, tiny_model(), images) for name in BASELINES}
    assert scores["variance"][0, 0] == 0 and scores["variance"][0, 1:].min() > 0.5
    assert scores["variance"][1, 2].item() == pytest.approx(
        images[1, :, :8, 16:].var(correction=0).item(), rel=1e-5
    )
    assert scores["centre"][0].tolist() == pytest.approx([-(1.25**0.5), -0.5, -(1.25**0.5)] * 2)
    again = vl.patch_scores("random", tiny_model("avg"), images)
    assert torch.equal(scores["random"], again)
    assert not torch.equal(again, vl.patch_scores("random", tiny_model(), images, seed=1))


# Bad input


@pytest.mark.errors
def test_what_does_not_fit_is_refused_in_a_sentence():
    model, images = tiny_model(), tiny_images()
    scores = torch.zeros(3, 6)
    with pytest.raises(ValueError, match="did you mean 'rollout'"):
        vl.patch_scores("rolout", model, images)
    for explain in (vl.occlusion, vl.attention_relevance, vl.integrated_gradients):
        with pytest.raises(ValueError, match="classes from 0 to 3"):
            explain(model, images, 4)
        with pytest.raises(ValueError, match="24"):
            explain(model, images[..., :16])
    with pytest.raises(ValueError, match=r"scores \(3, 6\)"):
        vl.deletion_curve(model, images, scores[:, :5])
    with pytest.raises(ValueError, match="finite"):
        vl.insertion_curve(model, images, scores * torch.nan)
    with pytest.raises(ValueError, match="steps from 1 to 6"):
        vl.deletion_curve(model, images, scores, steps=7)
    with pytest.raises(ValueError, match="eraser must be one of"):
        vl.deletion_curve(model, images, scores, erase="blur")
    with pytest.raises(ValueError, match="places from 0 to 5"):
        vl.answer_with(model, images, torch.full((3, 1), 6))
    with pytest.raises(ValueError, match="erase by grey"):
        vl.occlusion(tiny_model(pos_embed="relative"), images)
    with pytest.raises(ValueError, match="erase by grey"):
        vl.occlusion(tiny_model(pos_at="every"), images)
    with pytest.raises(ValueError, match="full attention"):
        vl.attention_relevance(tiny_model(attention="axial"), images)
    with pytest.raises(ValueError, match="steps"):
        vl.integrated_gradients(model, images, steps=0)
    with pytest.raises(ValueError, match="pre-norm model with a head"):
        vl.logit_lens(tiny_model(norm_order="post"), images)
    with pytest.raises(ValueError, match=r"labels of shape \(B\), B = 3, got \(2,\)"):
        vl.head_importance(model, images, torch.zeros(2, dtype=torch.int64))
    maps = model.attention_maps(images)
    with pytest.raises(ValueError, match="fusion must be one of"):
        vl.attention_rollout(maps, "median")
    with pytest.raises(ValueError, match="discard"):
        vl.attention_rollout(maps, discard=1.0)


@pytest.mark.errors
def test_a_model_without_a_head_has_no_class_to_explain():
    model, images = tiny_model(num_classes=0), tiny_images()
    for explain in (vl.grad_cam, vl.occlusion, vl.attention_relevance, vl.integrated_gradients):
        with pytest.raises(ValueError, match="head"):
            explain(model, images)
    with pytest.raises(ValueError, match="head"):
        vl.patch_scores("attention", model, images)


def test_erasing_keeps_no_graph_anywhere():
    model, graphs = tiny_model(), []
    model.register_forward_hook(lambda module, args, logits: graphs.append(logits.requires_grad))
    vl.deletion_curve(model, tiny_images(), torch.rand(3, 6), steps=2)
    assert graphs and not any(graphs)
