"""What is erased, moved or switched off, against the same done another way; scores of patches, and their curves."""

import pytest
import torch
from test_explain import CLOSE, POOLS, tiny_images, tiny_model
from torch.nn import functional as F

import vitlib as vl
from vitlib.explain.scores import BASELINES

KINDS = [
    {},
    {"norm_order": "post"},
    {"pos_embed": "sincos2d"},
    {"head": "mlp"},
    {"layer_scale": 0.5},
]
ORDER = [4, 0, 5, 2, 1, 3]
TARGET = torch.tensor([0, 3, 1])


@pytest.fixture(params=["token", "avg"])
def model(request):
    return tiny_model(request.param)


@pytest.fixture
def images():
    return tiny_images()


def same(found: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found, wanted.detach(), **CLOSE)


# Interventions


def test_order_moves_pixels(model, images):
    same(vl.intervene(model, images), model(images))
    moved = vl.unpatchify(vl.patchify(images, 8)[:, ORDER], 8, (16, 24))
    same(vl.intervene(model, images, order=ORDER), model(moved))
    assert not torch.allclose(model(moved), model(images), atol=1e-3)
    same(vl.intervene(model, images, order=ORDER, positions=ORDER), model(images))


def test_what_is_removed_is_not_read(model, images):
    """Whatever stands in removed patches is no matter; in others it is."""
    other = images.clone()
    other[:, :, :8, :8], other[:, :, 8:, 16:] = 9, -9
    same(
        vl.intervene(model, other, remove=[0, 5]),
        vl.intervene(model, images, remove=[0, 5]),
    )
    assert not torch.allclose(
        vl.intervene(model, other), vl.intervene(model, images), atol=1e-3
    )


def test_heads_off_is_their_columns_zero(model, images):
    edited = vl.VisionTransformer(model.cfg).eval()
    edited.load_state_dict(model.state_dict())
    with torch.no_grad():
        for layer, head in (off := [(0, 1), (1, 2)]):
            edited.blocks[layer].attn.proj.weight[:, 4 * head : 4 * (head + 1)] = 0
    same(vl.intervene(model, images, heads=off), edited(images))
    assert not model.blocks[0].attn.proj._forward_pre_hooks


def test_a_trace_ends_with_the_answer(model, images):
    """Its weights are the maps, and no hook stays."""
    what = {"order": ORDER, "positions": "none", "remove": [0, 5], "heads": [(1, 2)]}
    for options in ({}, what, {"remove": range(6)}):
        same(
            vl.trace(model, images, **options)["head"],
            vl.intervene(model, images, **options),
        )
    same(
        vl.trace(model, images)["blocks.1.attn.weights"],
        model.attention_maps(images)[1],
    )
    assert not any(
        part._forward_hooks or part._forward_pre_hooks for part in model.modules()
    )


def test_heads_cost_what_they_cost(images):
    model = tiny_model()
    found, whole = (
        vl.head_importance(model, images, TARGET),
        F.cross_entropy(model(images), TARGET),
    )
    for layer, head in torch.cartesian_prod(torch.arange(2), torch.arange(3)).tolist():
        loss = F.cross_entropy(
            vl.intervene(model, images, heads=[(layer, head)]), TARGET
        )
        same(found[layer, head], loss - whole)
    assert found.abs().max() > 1e-3


# Erasing


@POOLS
@pytest.mark.parametrize("changes", KINDS)
def test_a_kept_patch_is_a_kept_token(pool, changes, images):
    """Each image keeps its own; all of them, in any order, are the model."""
    model = tiny_model(pool, **changes)
    every = torch.stack([torch.randperm(6) for _ in images])
    same(vl.answer_with(model, images, every), model(images))
    kept = torch.tensor([[0, 1], [5, 2], [3, 4]])
    found = vl.answer_with(model, images, kept)
    assert not found.requires_grad
    for i, places in enumerate(kept.tolist()):
        x = model.embed(images[i : i + 1])[:, [0, *(1 + n for n in places)]]
        for block in model.blocks:
            x = block(x)
        same(found[i : i + 1], model.head(model.pool(model.norm(x))))


def test_grey_is_painted_on_the_image(model, images):
    painted = images.clone()
    painted[0, :, :8, 8:16] = 0  # patch 1 of the first
    painted[1:, :, 8:, 16:] = 0  # patch 5 of the others
    kept = torch.tensor([[0, 2, 3, 4, 5], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]])
    same(vl.answer_with(model, images, kept, "grey"), model(painted))


@pytest.mark.parametrize("erase", ["remove", "grey"])
def test_occlusion_asks_for_each_patch(model, images, erase):
    found = vl.occlusion(model, images, TARGET, erase)
    assert found.shape == (3, 6)
    for n in range(6):
        kept = torch.tensor([[k for k in range(6) if k != n]]).expand(3, -1)
        falls = model(images) - vl.answer_with(model, images, kept, erase)
        same(found[:, n], falls[range(3), TARGET])


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


def test_curves_of_a_known_model(images):
    """Its logits are the mean of what its patches say, so both curves can be written down."""
    model, says = known_model()
    scores = torch.tensor(
        [[6.0, 5, 4, 3, 2, 1], [1, 2, 3, 4, 5, 6], [1, 9, 1, 9, 1, 9]]
    )
    # the first of equals is higher
    orders = [
        [0, 1, 2, 3, 4, 5],
        [5, 4, 3, 2, 1, 0],
        [1, 3, 5, 0, 2, 4],
    ]
    deletion = vl.deletion_curve(model, images, scores, TARGET, steps=3)
    insertion = vl.insertion_curve(model, images, scores, TARGET, steps=3)
    assert not deletion.requires_grad and not insertion.requires_grad
    for i, order in enumerate(orders):
        for step in range(4):
            gone, back = order[: 2 * step], order[2 * step :]
            for curve, kept in ((deletion, back), (insertion, gone)):
                logits = says[i, kept].mean(0) if kept else model.head.bias
                same(curve[i, step], logits.softmax(-1)[TARGET[i]])
    assert torch.equal(insertion[:, -1], deletion[:, 0])


def test_area_is_a_mean_height():
    assert vl.curve_area(
        torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0]])
    ).item() == pytest.approx(0.125)
    assert vl.curve_area(torch.full((2, 9), 0.3)).tolist() == pytest.approx([0.3, 0.3])


# Scores


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", vl.EXPLANATIONS)
def test_every_explanation_scores_every_patch(model, images, name):
    """(B, N), finite, without traces on the model, of the predicted class unless told another."""
    before = {key: value.clone() for key, value in model.state_dict().items()}
    scores = vl.patch_scores(name, model, images)
    assert (
        scores.shape == (3, 6) and scores.isfinite().all() and not scores.requires_grad
    )
    same(scores, vl.patch_scores(name, model, images, model(images).argmax(1)))
    other = vl.patch_scores(name, model, images, (model(images).argmax(1) + 1) % 4)
    assert torch.equal(scores, other) == (name in (*BASELINES, "attention", "rollout"))
    assert all(
        torch.equal(value, before[key]) for key, value in model.state_dict().items()
    )
    assert all(weight.grad is None for weight in model.parameters())
    assert not any("_mix" in vars(block.attn) for block in model.blocks)
    if name != "random":
        same(vl.patch_scores(name, model, images[1:2])[0], scores[1])


def test_scores_are_read_where_the_head_reads(model, images):
    lens = vl.logit_lens(model, images)[-1]
    same(
        vl.patch_scores("logit lens", model, images, TARGET), lens[range(3), 1:, TARGET]
    )
    relation = vl.attention_relevance(model, images, TARGET)[:, :, 1:]
    wanted = (
        relation[:, 0]
        if model.cfg.global_pool == "token"
        else relation[:, 1:].mean(dim=1)
    )
    same(vl.patch_scores("relevance", model, images, TARGET), wanted)


def test_baselines_know_nothing_of_the_model():
    images = tiny_images(2)
    images[0, :, :8, :8] = 0.5
    scores = {name: vl.patch_scores(name, tiny_model(), images) for name in BASELINES}
    assert scores["variance"][0, 0] == 0 and scores["variance"][0, 1:].min() > 0.5
    variance = images[1, :, :8, 16:].var(correction=0).item()
    assert scores["variance"][1, 2].item() == pytest.approx(variance, rel=1e-5)
    assert scores["centre"][0].tolist() == pytest.approx(
        [-(1.25**0.5), -0.5, -(1.25**0.5)] * 2
    )
    again = vl.patch_scores("random", tiny_model("avg"), images)
    assert torch.equal(scores["random"], again)
    assert not torch.equal(
        again, vl.patch_scores("random", tiny_model(), images, seed=1)
    )


# Bad input


CLASSED = (vl.occlusion, vl.attention_relevance, vl.integrated_gradients)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("call", "message", "changes"),
    [
        (lambda m, x: vl.patch_scores("rolout", m, x), "did you mean 'rollout'", {}),
        *((lambda m, x, f=f: f(m, x, 4), "classes from 0 to 3", {}) for f in CLASSED),
        *(
            (lambda m, x, f=f: f(m, x), "head", {"num_classes": 0})
            for f in (*CLASSED, vl.grad_cam)
        ),
        (
            lambda m, x: vl.answer_with(m, x, torch.full((3, 1), 6)),
            "places from 0 to 5",
            {},
        ),
        (vl.occlusion, "erase by grey", {"pos_embed": "relative"}),
        (
            lambda m, x: vl.intervene(m, x, order=[0, 1]),
            "expected order to be 6 places from 0 to 5",
            {},
        ),
        (
            lambda m, x: vl.intervene(m, x, positions="zero"),
            'positions "none" or 6 places, got .zero',
            {},
        ),
        (vl.intervene, "table of positions", {"pos_embed": "relative"}),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(images, call, message, changes):
    with pytest.raises(ValueError, match=message):
        call(tiny_model(**changes), images)
