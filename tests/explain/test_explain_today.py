"""Every tool of explanation on a model with registers, and on one without CLS: right, or refused in words."""

import pytest
import torch
from stir import stir

import vitlib as vl
from vitlib.explain.scores import EXPLANATIONS, read_by_head

SIZES = dict(
    img_size=16, patch_size=4, embed_dim=24, depth=2, num_heads=2, num_classes=5
)
KINDS = {
    "registers": dict(reg_tokens=3),
    "a question, no CLS": dict(class_token=False, global_pool="map"),
    "no CLS, a register": dict(class_token=False, reg_tokens=1, global_pool="avg"),
    "CLS and the mean": dict(global_pool="token_avg", reg_tokens=2),
    "DINOv3": dict(reg_tokens=2, pos_embed="rope_unit", mlp="gated", act="silu"),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def lively(kind: str, **more) -> vl.VisionTransformer:
    torch.manual_seed(0)
    return stir(vl.VisionTransformer(vl.ViTConfig(**SIZES | KINDS[kind] | more)), 0.3)


def images(n: int = 2) -> torch.Tensor:
    return torch.rand(n, 3, 16, 16, generator=torch.Generator().manual_seed(1)) * 2 - 1


@every_kind
def test_registers_stand_behind_the_patches_and_change_the_answer(kind):
    model, x = lively(kind), images()
    cfg = model.cfg
    tokens = model.embed(x)
    assert tokens.shape[1] == cfg.num_tokens
    patches = model.embed_patches(x) + model.pos_embed.table()[:, -16:]
    torch.testing.assert_close(tokens[:, cfg.patches], patches)
    if cfg.reg_tokens:
        registers = tokens[:, -cfg.reg_tokens :]
        assert torch.equal(registers, model.reg_token.expand_as(registers))
        before = model(x)
        with torch.no_grad():
            model.reg_token.mul_(-1.0)
        assert (model(x) - before).abs().max() > 1e-3


@every_kind
@torch.no_grad()
def test_a_patch_left_out_is_that_patch(kind):
    model, x = lively(kind), images()
    if not model.cfg.adds_positions_once:
        with pytest.raises(ValueError, match="erase by grey"):
            vl.occlusion(model, x)
        return
    tokens = model.embed(x)
    places = [n for n in range(16) if n != 5]
    first = model.cfg.patches.start
    rest = [t for t in range(tokens.shape[1]) if t != first + 5]
    by_hand = model.head(model.pool(model.encode(tokens[:, rest])))
    kept = torch.tensor([places, places])
    torch.testing.assert_close(vl.answer_with(model, x, kept), by_hand)
    torch.testing.assert_close(vl.intervene(model, x, remove=[5]), by_hand)
    fall = (model(x) - by_hand)[:, 2]
    torch.testing.assert_close(vl.occlusion(model, x, target=2)[:, 5], fall)
    none = vl.answer_with(model, x, torch.empty(2, 0, dtype=torch.long))
    assert none.isfinite().all()


@every_kind
@torch.no_grad()
def test_a_trace_is_the_forward_pass(kind):
    model, x = lively(kind), images()
    found = vl.trace(model, x)
    torch.testing.assert_close(found["head"], model(x))
    maps = model.attention_maps(x)
    for block in (0, 1):
        torch.testing.assert_close(found[f"blocks.{block}.attn.weights"], maps[block])
    torch.testing.assert_close(vl.intervene(model, x), model(x))
    order = list(reversed(range(16)))
    turned = found["patches"][:, order]
    assert torch.equal(vl.trace(model, x, order=order)["patches"], turned)


@every_kind
@torch.no_grad()
def test_what_the_head_reads_is_a_sum_over_patches_tokens(kind):
    model, x = lively(kind), images()
    cfg = model.cfg
    own = torch.eye(cfg.num_tokens).expand(2, -1, -1)  # each token is its input
    read = read_by_head(model, x, own)
    if cfg.global_pool == "token":
        assert not read.any()  # CLS is no patch
    elif cfg.global_pool == "map":
        tokens = model.forward_features(x)[:, cfg.patches]
        question = model.attn_pool.attention_weights(tokens).mean(1)[:, 0]
        torch.testing.assert_close(read, question)
        torch.testing.assert_close(read.sum(1), torch.ones(2))
    else:
        share = 1.0 if cfg.global_pool == "avg" else 0.5
        torch.testing.assert_close(read, torch.full((2, 16), share / 16))


@every_kind
@pytest.mark.parametrize("name", [name for name in EXPLANATIONS if name != "random"])
def test_every_explanation_has_a_number_for_each_patch_or_says_why_not(kind, name):
    model = lively(kind)
    try:
        scores = vl.patch_scores(name, model, images(), target=1)
    except ValueError as error:
        turns = name == "occlusion" and model.cfg.turns
        unread = model.cfg.global_pool not in ("token", "avg")
        assert turns or unread and name in ("relevance", "logit lens"), error
        return
    assert scores.shape == (2, 16) and scores.isfinite().all()
