"""The whole model: parity with timm, properties of every variant, what it refuses."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from stir import stir
from torch.nn import functional as F

import vitlib as vl
from vitlib.model.encoder import Block

TINY = vl.ViTConfig(
    img_size=16, patch_size=4, embed_dim=24, depth=2, num_heads=2, mlp_ratio=2.0
)
VARIANTS = {
    "default": TINY,
    "linear": replace(TINY, patch_embed="linear"),
    "overlap": replace(TINY, patch_embed="overlap"),
    "stem": replace(TINY, patch_embed="stem"),
    "none": replace(TINY, pos_embed="none"),
    "sincos2d": replace(TINY, pos_embed="sincos2d"),
    "relative": replace(TINY, pos_embed="relative"),
    "post": replace(TINY, norm_order="post"),
    "no head": replace(TINY, num_classes=0),
    "layer scale": replace(TINY, layer_scale=0.1),
    "axial": replace(TINY, attention="axial"),
    "axial, post, rectangle": replace(
        TINY, attention="axial", norm_order="post", img_size=(8, 24)
    ),
}
every_variant = pytest.mark.parametrize(
    "cfg", [pytest.param(c, id=name) for name, c in VARIANTS.items()]
)
CLOSE = dict(rtol=1e-5, atol=1e-5)


def make(
    cfg: vl.ViTConfig, seed: int = 0, lively: bool = False
) -> vl.VisionTransformer:
    """A model in evaluation mode; `lively` weights are large enough for every part to matter."""
    torch.manual_seed(seed)
    model = vl.VisionTransformer(cfg).eval()
    return stir(model, 0.3) if lively else model


def images_for(cfg: vl.ViTConfig, B: int = 3) -> torch.Tensor:
    return torch.randn(
        B, cfg.in_chans, *cfg.image_shape, generator=torch.Generator().manual_seed(1)
    )


# --- timm ------------------------------------------------------------------------------------------------------


def timms(timm, cfg: vl.ViTConfig):
    return timm.models.vision_transformer.VisionTransformer(
        img_size=cfg.img_size,
        patch_size=cfg.patch_size,
        in_chans=cfg.in_chans,
        num_classes=cfg.num_classes,
        embed_dim=cfg.embed_dim,
        depth=cfg.depth,
        num_heads=cfg.num_heads,
        mlp_ratio=cfg.mlp_ratio,
        qkv_bias=cfg.qkv_bias,
        init_values=cfg.layer_scale,
        global_pool=cfg.global_pool,
        fc_norm=False,
    ).eval()


@pytest.mark.parametrize(
    "cfg",
    [
        replace(TINY, img_size=(24, 16), in_chans=1, num_classes=3),
        replace(TINY, qkv_bias=False),
        replace(TINY, layer_scale=0.1),
        replace(TINY, global_pool="avg"),
    ],
)
def test_timms_weights_load_and_give_its_logits(timm, cfg):
    theirs, ours = timms(timm, cfg), make(cfg, seed=1)
    for p in (
        theirs.parameters()
    ):  # biases, CLS and norms as well: a fresh model has zeros and ones there
        torch.nn.init.normal_(p, std=0.1)
    state = theirs.state_dict()
    assert {k: v.shape for k, v in ours.state_dict().items()} == {
        k: v.shape for k, v in state.items()
    }
    ours.load_state_dict(state, strict=True)
    x = images_for(cfg)
    with torch.no_grad():
        torch.testing.assert_close(ours(x), theirs(x), **CLOSE)
        torch.testing.assert_close(
            ours.forward_features(x), theirs.forward_features(x), **CLOSE
        )
    back = timms(timm, cfg)
    back.load_state_dict(ours.state_dict(), strict=True)
    assert all(torch.equal(back.state_dict()[k], state[k]) for k in state)


# --- every variant ----------------------------------------------------------------------------------------------


@every_variant
def test_images_do_not_see_each_other(cfg):
    model, x = make(cfg, lively=True), images_for(cfg, B=4)
    with torch.no_grad():
        together = model(x)
        torch.testing.assert_close(together[2:3], model(x[2:3]), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(
            together.flip(0), model(x.flip(0)), rtol=1e-4, atol=1e-4
        )


@every_variant
def test_gradients_reach_every_parameter(cfg):
    model, x = make(cfg).train(), images_for(cfg)
    names = {n for n, _ in model.named_parameters()}
    model(x).square().sum().backward()
    reached = {
        n
        for n, p in model.named_parameters()
        if p.grad is not None and p.grad.abs().sum() > 0
    }
    # with zero output biases the CLS token's own slot still mixes into the patches; a key's bias shifts every score
    # of a row alike, and the softmax does not see it
    assert names == reached


@every_variant
def test_bfloat16_autocast_and_other_dtypes(cfg):
    model, x = make(cfg), images_for(cfg)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        half = model(x)
    torch.testing.assert_close(half.float(), model(x), rtol=0.1, atol=0.1)
    assert model.double()(x.double()).dtype == torch.float64
    assert model.to(torch.bfloat16)(x.bfloat16()).dtype == torch.bfloat16


@every_variant
def test_attention_maps_are_what_forward_uses(cfg):
    """Each block's attention is replaced by its maps times its values: the logits stay."""
    model, x = make(cfg, lively=True), images_for(cfg)
    maps, expected = model.attention_maps(x), model(x)

    def explicit(attn, weights):
        def forward(tokens, bias=None):
            mixed = weights @ attn.project(tokens)[2]  # (B, h, T, d)
            return attn.proj(mixed.transpose(1, 2).flatten(2))

        return forward

    for block, weights in zip(model.blocks, maps, strict=True):
        block.attn.forward = explicit(block.attn, weights)
    torch.testing.assert_close(model(x), expected, rtol=1e-4, atol=1e-4)


@every_variant
def test_another_image_size(cfg):
    model = make(cfg, lively=True)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    same = model.with_img_size(cfg.img_size)
    assert torch.equal(same(images_for(cfg)), model(images_for(cfg)))
    other = model.with_img_size((32, 24))
    assert other.cfg == replace(cfg, img_size=(32, 24))
    assert other(images_for(other.cfg)).shape == (3, cfg.num_classes or cfg.embed_dim)
    fresh = make(other.cfg)
    fresh.load_state_dict(other.state_dict(), strict=True)
    assert torch.equal(fresh(images_for(other.cfg)), other(images_for(other.cfg)))
    # a copy
    assert all(
        torch.equal(value, before[name]) for name, value in model.state_dict().items()
    )


# --- positions and order ----------------------------------------------------------------------------------------


def shuffle_patches(images: torch.Tensor, order: torch.Tensor, P: int) -> torch.Tensor:
    return vl.unpatchify(vl.patchify(images, P)[:, order], P, tuple(images.shape[2:]))


@settings(max_examples=15)
@given(
    st.permutations(range(16)),
    st.sampled_from(["token", "avg"]),
    st.sampled_from(["pre", "post"]),
)
def test_without_positions_patches_are_a_set(order, pool, norm_order):
    model = make(
        replace(TINY, pos_embed="none", global_pool=pool, norm_order=norm_order),
        lively=True,
    )
    x, order = images_for(TINY), torch.tensor(order)
    shuffled = shuffle_patches(x, order, TINY.patch_size)
    with torch.no_grad():
        # invariant
        torch.testing.assert_close(model(shuffled), model(x), rtol=1e-4, atol=1e-4)
        tokens = model.forward_features(x)[:, 1:]
        torch.testing.assert_close(
            model.forward_features(shuffled)[:, 1:],
            tokens[:, order],
            rtol=1e-4,
            atol=1e-4,
        )


# --- parts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["linear", "mlp", None])
@pytest.mark.parametrize("pool", ["token", "avg"])
def test_pooling_and_head_are_equation_4(pool, head):
    changes = {"head": head} if head else {"num_classes": 0}
    model, x = (
        make(replace(TINY, global_pool=pool, **changes), lively=True),
        images_for(TINY),
    )
    tokens = model.forward_features(x)
    logits = tokens[:, 0] if pool == "token" else tokens[:, 1:].mean(1)
    if head == "mlp":
        logits = torch.tanh(model.head[0](logits))
    if head:
        last = model.head if head == "linear" else model.head[2]
        logits = logits @ last.weight.T + last.bias
    torch.testing.assert_close(model(x), logits, **CLOSE)


@pytest.mark.parametrize("pos_embed", ["learned", "sincos2d", "none"])
def test_dropout_comes_after_the_positions(pos_embed):
    """Whole tokens' channels are 0, their positions, too; CLS as well as patches."""
    model = make(
        replace(TINY, drop_rate=0.4, pos_embed=pos_embed),
        lively=True,
    )
    x = images_for(model.cfg)
    kept = model.embed(x)
    model.train()
    torch.manual_seed(1)
    out = model.embed(x)
    torch.manual_seed(1)
    torch.testing.assert_close(out, F.dropout(kept, 0.4))
    assert (out[:, 0] == 0).any() and (out[:, 1:] == 0).any()


def test_each_rate_and_each_epsilon_reaches_its_place():
    model = make(replace(TINY, drop_rate=0.4, act="relu"))
    assert {
        module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)
    } == {0.4}
    assert all(isinstance(block.mlp.act, torch.nn.ReLU) for block in model.blocks)
    norms = [
        module.eps
        for module in model.modules()
        if isinstance(module, torch.nn.LayerNorm)
    ]
    assert norms == [1e-6] * 5


def test_drop_path_grows_linearly_to_the_last_block():
    model = make(replace(TINY, depth=5, drop_path_rate=0.2))
    assert [block.drop_path.p for block in model.blocks] == pytest.approx(
        [0, 0.05, 0.1, 0.15, 0.2]
    )
    assert make(replace(TINY, depth=1, drop_path_rate=0.2)).blocks[0].drop_path.p == 0
    assert [
        b.drop_path.p for b in make(replace(TINY, depth=2, drop_path_rate=0.2)).blocks
    ] == [0, 0.2]


# --- axial attention --------------------------------------------------------------------------------------------


def test_axial_blocks_are_pairs_of_the_full_model_twice_as_deep():
    axial, full = make(replace(TINY, attention="axial")), make(replace(TINY, depth=4))
    assert [block.attn.axis for block in axial.blocks] == ["row", "column"] * 2
    assert axial.state_dict().keys() == full.state_dict().keys()
    # the same draws
    assert all(
        torch.equal(v, full.state_dict()[k]) for k, v in axial.state_dict().items()
    )
    drop = make(replace(TINY, attention="axial", drop_path_rate=0.3))
    assert [block.drop_path.p for block in drop.blocks] == pytest.approx(
        [0, 0.1, 0.2, 0.3]
    )


@pytest.mark.sampled(4)
@pytest.mark.errors  # torch.compile cannot follow the checks of shapes
def test_torch_compile_takes_the_model_in_one_piece():
    model, x = make(VARIANTS["axial"], lively=True), images_for(TINY)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), model(x), **CLOSE)


def test_a_mask_token_changes_nothing_else():
    plain, other = make(TINY), make(replace(TINY, mask_token=True))
    assert other.state_dict().keys() - plain.state_dict().keys() == {"mask_token"}
    assert all(
        torch.equal(value, other.state_dict()[name])
        for name, value in plain.state_dict().items()
    )
    assert torch.equal(plain(images_for(TINY)), other(images_for(TINY)))


# --- the start of training --------------------------------------------------------------------------------------


@every_variant
def test_the_first_loss_is_log_k(cfg):
    model = make(replace(cfg, num_classes=10))
    loss = F.cross_entropy(model(images_for(cfg, B=32)), torch.arange(32) % 10)
    assert loss.item() == pytest.approx(math.log(10), abs=0.1)


@pytest.mark.parametrize("init_std", [0.02, 0.3])
def test_initial_weights(init_std):
    model = make(
        vl.ViTConfig(
            embed_dim=128, depth=1, num_heads=2, num_classes=40, init_std=init_std
        )
    )
    block: Block = model.blocks[0]
    for layer in (block.attn.qkv, block.attn.proj, block.mlp.fc1, block.mlp.fc2):
        assert (
            layer.weight.std().item() == pytest.approx(init_std, rel=0.1)
            and not layer.bias.any()
        )
    assert (
        model.head.weight.std().item() == pytest.approx(0.02, rel=0.1)
        and not model.head.bias.any()
    )
    assert model.pos_embed.weight.std().item() == pytest.approx(0.02, rel=0.1)
    assert model.patch_embed.proj.weight.std().item() == pytest.approx(
        48**-0.5, rel=0.15
    )
    assert not model.cls_token.any()


# --- what it refuses --------------------------------------------------------------------------------------------


BATCH = torch.zeros(2, 3, 16, 16)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("images", "message"),
    [
        (BATCH[:, :1], r"got \(2, 1, 16, 16\); the model takes 3 channels"),
        (
            BATCH.byte(),
            "expected normalised float images, got torch.uint8; use vl.norm",
        ),
    ],
)
@pytest.mark.parametrize(
    "method", ["forward", "embed", "forward_features", "attention_maps"]
)
def test_wrong_images_are_refused_everywhere(images, message, method):
    with pytest.raises(ValueError, match=message):
        getattr(make(TINY), method)(images)


# --- the model that a config describes --------------------------------------------------------------------------


@pytest.mark.errors  # shapes are checked as plain numbers
def test_torch_export_takes_any_number_of_images():
    model = make(TINY)
    batch = torch.export.Dim("batch")
    program = torch.export.export(
        model, (images_for(TINY, 2),), dynamic_shapes=({0: batch},), strict=False
    )
    images = images_for(TINY, 5)
    torch.testing.assert_close(program.module()(images), model(images), **CLOSE)
