"""Other libraries' weights: every name known, the same logits, what does not fit refused, no code run."""

import argparse
import json
import os
import random
import re
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from stir import stir

import vitlib as vl

FOREIGN = vl.ViTConfig(
    img_size=16,
    patch_size=4,
    embed_dim=24,
    depth=2,
    num_heads=3,
    mlp_ratio=2.0,
    num_classes=5,
)


def lively(cfg=FOREIGN, seed=0) -> vl.VisionTransformer:
    """A model in which every weight matters: a fresh one has zeros for biases and ones for norms."""
    torch.manual_seed(seed)
    return stir(vl.VisionTransformer(cfg), 0.2)


def renamed(
    model, names: dict[str, str], split=True, change=lambda key, value: value
) -> dict[str, torch.Tensor]:
    """A model's weights under other names, a regular expression for each part; `change` lays a value out anew."""
    state = {}
    for key, value in model.state_dict().items():
        letters = "qkv" if split and ".qkv." in key else [".qkv."]
        for letter, piece in zip(letters, value.chunk(len(letters)), strict=True):
            own = key.replace("qkv", letter) if letter in "qkv" else key
            piece = change(own, piece).clone()
            for pattern, name in names.items():
                own = re.sub(pattern, name, own)
            state[own] = piece
    return state


def torchvisions(model, mlp=("mlp.0", "mlp.3"), head="heads.head"):
    names = {"cls_token": "class_token", "pos_embed": "encoder.pos_embedding"}
    names |= {"patch_embed.proj": "conv_proj", "^norm": "encoder.ln", "^head": head}
    names |= {
        r"blocks\.(\d+)": r"encoder.layers.encoder_layer_\1",
        "norm1": "ln_1",
        "norm2": "ln_2",
    }
    names |= {
        r"attn\.qkv\.": "self_attention.in_proj_",
        r"attn\.proj": "self_attention.out_proj",
    }
    return renamed(
        model, names | {r"mlp\.fc1": mlp[0], r"mlp\.fc2": mlp[1]}, split=False
    )


def transformers_names(model, version=4, prefix="vit."):
    names = {
        "cls_token": "embeddings.cls_token",
        "pos_embed": "embeddings.position_embeddings",
    }
    names |= {
        r"patch_embed\.proj": "embeddings.patch_embeddings.projection",
        "^norm": "layernorm",
    }
    names |= {
        r"norm1": "layernorm_before",
        "norm2": "layernorm_after",
        "^head": "classifier",
    }
    if version == 4:
        names |= {
            r"attn\.q\.": "attention.attention.query.",
            r"attn\.k\.": "attention.attention.key.",
        }
        names |= {
            r"attn\.v\.": "attention.attention.value.",
            r"attn\.proj": "attention.output.dense",
        }
        names |= {
            r"mlp\.fc1": "intermediate.dense",
            r"mlp\.fc2": "output.dense",
            "blocks": "encoder.layer",
        }
    else:
        names |= {
            r"attn\.([qkv])\.": r"attention.\1_proj.",
            r"attn\.proj": "attention.o_proj",
        }
        names |= {"blocks": "layers"}
    state = renamed(model, names)
    return {
        key if key.startswith("classifier") else prefix + key: value
        for key, value in state.items()
    }


def googles(model, kind="paper"):
    """NumPy arrays as Flax lays them out: inputs before outputs, heads on an axis of their own."""
    h, paper = model.cfg.num_heads, kind == "paper"

    def flax(key, value):
        if key == "patch_embed.proj.weight":
            return value.permute(2, 3, 1, 0)
        if re.search(r"attn\.[qkv]\.", key):
            return (
                value.T.unflatten(1, (h, -1))
                if value.ndim == 2
                else value.unflatten(0, (h, -1))
            )
        if key.endswith("attn.proj.weight"):
            return value.T.unflatten(0, (h, -1))
        return value.T if value.ndim == 2 else value

    names = {
        "cls_token": "cls",
        r"patch_embed\.proj": "embedding",
        "^norm": "Transformer/encoder_norm",
    }
    names |= {
        "pos_embed": "Transformer/posembed_input/pos_embedding"
        if paper
        else "pos_embedding"
    }
    names |= {
        r"norm\.weight": "norm/scale",
        r"norm1\.weight": "norm1/scale",
        r"norm2\.weight": "norm2/scale",
    }
    names |= {
        "norm1": "LayerNorm_0",
        "norm2": "LayerNorm_2" if paper else "LayerNorm_1",
    }
    names |= {
        r"attn\.q": "attn.query",
        r"attn\.k": "attn.key",
        r"attn\.v": "attn.value",
    }
    names |= {r"attn\.proj": "attn.out"}
    names |= {
        "attn": f"MultiHeadDotProductAttention_{int(paper)}",
        r"mlp\.fc(\d)": r"mlp/Dense_\1",
    }
    names |= {
        "Dense_1": "Dense_0",
        "Dense_2": "Dense_1",
        "mlp": f"MlpBlock_{3 if paper else 0}",
    }
    names |= {
        r"blocks\.": "Transformer/encoderblock_",
        r"\.weight": "/kernel",
        r"\.": "/",
    }
    state = renamed(model, names, change=flax)
    if kind == "scanned":
        parts = {
            key.split("encoderblock_0")[1] for key in state if "encoderblock_0" in key
        }
        apart = "Transformer/encoderblock_{}{}".format
        for part in parts:
            layers = [state.pop(apart(i, part)) for i in range(model.cfg.depth)]
            state[f"Transformer/encoderblock{part}"] = torch.stack(layers)
    return {
        ("" if paper else "params/") + key: value.numpy().copy()
        for key, value in state.items()
    }


def dinos(model):
    body = {
        key: value
        for key, value in model.state_dict().items()
        if not key.startswith("head.")
    }
    return body | {
        "head.mlp.0.weight": torch.zeros(4, 24),
        "head.last_layer.weight_g": torch.ones(9, 1),
    }


def behind(prefix: str, head: str = ""):
    """timm's names behind a prefix, or the head under another name without one."""
    return lambda m: {
        head + key[5:] if head and key.startswith("head.") else prefix + key: value
        for key, value in m.state_dict().items()
    }


def lightnings(model):
    """A LightningModule around transformers' model, with what trains it."""
    state = {f"net.{key}": value for key, value in transformers_names(model).items()}
    state |= {
        "loss.weight": torch.ones(5),
        "metric.total": torch.tensor(3.0),
        "teach.weight": torch.eye(2),
    }
    return {
        "state_dict": state,
        "hyper_parameters": {"lr": 0.1},
        "optimizer_states": [{"state": {}}],
    }


def trainers(model):
    """What timm's trainer saves, its average beside the last weights."""
    last = {key: value + 1 for key, value in model.state_dict().items()}
    return {
        "epoch": 3,
        "state_dict": last,
        "state_dict_ema": model.state_dict(),
        "metric": 71.0,
    }


MAKERS = {
    "timm": ("timm", lambda m: m.state_dict()),
    "torchvision": ("torchvision", torchvisions),
    "torchvision, old": (
        "torchvision",
        lambda m: torchvisions(m, ("mlp.linear_1", "mlp.linear_2")),
    ),
    "torchvision, another head": (
        "torchvision",
        lambda m: torchvisions(m, head="heads"),
    ),
    "torchvision, a head in a sequence": (
        "torchvision",
        lambda m: torchvisions(m, head="heads.1"),
    ),
    "transformers 4": ("transformers", transformers_names),
    "transformers 5": ("transformers", lambda m: transformers_names(m, 5)),
    "transformers, bare": (
        "transformers",
        lambda m: transformers_names(m, 5, prefix=""),
    ),
    "transformers, DeiT": (
        "transformers",
        lambda m: transformers_names(m, prefix="deit."),
    ),
    "Google": ("Google", googles),
    "big_vision": ("Google", lambda m: googles(m, "big_vision")),
    "big_vision, scanned": ("Google", lambda m: googles(m, "scanned")),
    "compiled": ("timm", behind("module._orig_mod.")),
    "compiled blocks": (
        "timm",
        lambda m: renamed(m, {r"\.attn\.": ".attn._orig_mod."}, split=False),
    ),
    "PEFT": ("timm", behind("base_model.model.")),
    "an encoder": ("timm", behind("encoder.", head="classifier.")),
    "a sequence": ("timm", behind("1.")),
    "two models": (
        "timm",
        lambda m: behind("student.")(lively(m.cfg, seed=5)) | behind("teacher.")(m),
    ),
    "MoCo v3": (
        "timm",
        lambda m: (
            behind("module.base_encoder.")(lively(m.cfg, seed=5))
            | behind("module.momentum_encoder.")(m)
            | {"head.weight": torch.zeros(9, 9)}
        ),
    ),
    "open_clip's SigLIP": (
        "timm",
        lambda m: (
            behind("visual.trunk.")(m)
            | {"text.transformer.resblocks.0.ln_1.weight": torch.ones(3)}
        ),
    ),
    "big_vision's trainer": (
        "Google",
        lambda m: {
            f"{place}/{key}": value + i
            for i, place in enumerate(("params", "opt/mu"))
            for key, value in googles(m, "big_vision").items()
        },
    ),
    "a training checkpoint": (
        "timm",
        lambda m: {"epoch": 3, "weights": m.state_dict(), "optimizer": {}},
    ),
    "Lightning": ("transformers", lightnings),
    "timm's trainer": ("timm", trainers),
}
every_library = pytest.mark.parametrize(
    ("library", "make"), MAKERS.values(), ids=MAKERS
)


@every_library
def test_every_librarys_names_load_and_give_the_same_model(library, make):
    cfg = replace(FOREIGN, img_size=(8, 24), in_chans=1, depth=11)
    theirs, ours = lively(cfg), lively(cfg, seed=1)
    assert vl.load_weights(ours, make(theirs)) == library
    assert all(
        torch.equal(value, theirs.state_dict()[key])
        for key, value in ours.state_dict().items()
    )
    x = torch.randn(2, cfg.in_chans, *cfg.image_shape)
    assert torch.equal(ours(x), theirs(x))


def shaken(model: torch.nn.Module, std: float = 0.1) -> torch.nn.Module:
    """Another library's model, with weights that all matter."""
    for p in model.parameters():
        torch.nn.init.normal_(p, std=std)
    return model.eval()


@pytest.mark.parametrize(
    "more",
    [
        {"no_embed_class": True, "init_values": 0.1},  # as in DeiT III: CLS gets zeros
        {"qkv_bias": False, "num_classes": 0},
        {
            "patch_size": 8,
            "depth": 11,
            "embed_dim": 88,
            "num_heads": 4,
            "mlp_ratio": 61.5 / 88,
        },
    ],
)
def test_real_timm_whose_sizes_are_read_from_the_file(timm, more, tmp_path):
    sizes = dict(
        img_size=16,
        patch_size=4,
        num_classes=5,
        embed_dim=24,
        depth=2,
        num_heads=3,
        mlp_ratio=2.0,
    )
    theirs = shaken(timm.models.vision_transformer.VisionTransformer(**sizes | more))
    torch.save({"model": theirs.state_dict()}, tmp_path / "x.ckpt")
    told = dict(num_heads=more.get("num_heads", 3), mean_std="half")
    x = torch.randn(2, 3, 16, 16).clamp(-1, 1)
    ours, _ = vl.load_pretrained(tmp_path / "x.ckpt", **told)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-5, atol=1e-5)


MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@pytest.mark.parametrize(
    ("mean", "std"), [(MEAN, STD), (0.5, 0.25), ([0.1, 0.5, 0.9], 0.5), (0, 1)]
)
def test_a_normalisation_goes_into_the_patch_embedding(mean, std):
    theirs, ours, pixels = (
        lively().double(),
        lively(seed=1).double(),
        torch.rand(2, 3, 16, 16).double(),
    )
    vl.load_weights(ours, theirs.state_dict(), mean=mean, std=std)
    expected = theirs(vl.normalize(pixels, mean, std))
    torch.testing.assert_close(
        ours(vl.normalize(pixels)), expected, rtol=1e-10, atol=1e-10
    )


@pytest.mark.errors
@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"mean": [124, 116, 104]},
            r"mean must be of pixels in \[0, 1\], got .*; divide mean and std by",
        ),
        (
            {"mean": 0.4},
            'mean and std need patch_embed "conv", got .linear.; leave them out',
        ),
    ],
)
def test_a_normalisation_that_cannot_be(how, message):
    model = lively(
        replace(FOREIGN, patch_embed="linear" if how == {"mean": 0.4} else "conv")
    )
    with pytest.raises(ValueError, match=message):
        vl.load_weights(model, model.state_dict(), **how)


def test_layer_scale_goes_into_the_layers_before_it():
    theirs, ours = (
        lively(replace(FOREIGN, layer_scale=0.1)).double(),
        lively(seed=1).double(),
    )
    vl.load_weights(ours, theirs.state_dict())
    x = torch.randn(2, 3, 16, 16).double()
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match="left over: blocks.1.ls2.gamma"):
        vl.load_weights(
            ours, theirs.state_dict() | {"blocks.1.ls2.gamma": torch.ones(7)}
        )


@pytest.mark.parametrize("kind", ["ViT", "Dinov2"])
def test_real_transformers(kind, tmp_path):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = dict(
        image_size=16,
        patch_size=4,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
    )
    cfg = getattr(transformers, f"{kind}Config")(
        **sizes, intermediate_size=48, mlp_ratio=2
    )
    theirs = shaken(getattr(transformers, f"{kind}Model")(cfg))
    theirs.save_pretrained(tmp_path)
    x = torch.randn(2, 3, 16, 16)
    wanted = theirs(pixel_values=x).last_hidden_state
    for source in (theirs.state_dict(), tmp_path / "model.safetensors"):
        scale = None if kind == "ViT" else 0.1
        ours = lively(replace(FOREIGN, layer_scale=scale, norm_eps=cfg.layer_norm_eps))
        assert vl.load_weights(ours, source, load_head=False) == "transformers"
        torch.testing.assert_close(
            ours.forward_features(x), wanted, rtol=1e-5, atol=1e-5
        )


@every_library
def test_another_number_of_classes_keeps_the_models_head_when_told(library, make):
    theirs, ours = lively(), lively(replace(FOREIGN, num_classes=7), seed=1)
    head = ours.head.weight.clone()
    vl.load_weights(ours, make(theirs), load_head=False)
    x = torch.randn(2, 3, 16, 16)
    assert torch.equal(ours.head.weight, head)
    assert torch.equal(ours.forward_features(x), theirs.forward_features(x))


def test_positions_are_resampled_to_the_models_grid():
    theirs, ours = lively(), lively(replace(FOREIGN, img_size=(24, 32)), seed=1)
    vl.load_weights(ours, torchvisions(theirs))
    assert torch.equal(
        ours.state_dict()["pos_embed"],
        vl.resample_pos_embed(theirs.state_dict()["pos_embed"], (6, 8)),
    )
    x = torch.randn(1, 3, 24, 32)
    assert torch.equal(ours(x), theirs.with_img_size((24, 32))(x))


def test_a_rectangles_positions_need_their_grid():
    theirs, ours = (
        lively(replace(FOREIGN, img_size=size)) for size in ((8, 24), (24, 8))
    )
    # as many places, in another order
    vl.load_weights(ours, theirs.state_dict(), old_grid=(2, 6))
    expected = vl.resample_pos_embed(theirs.state_dict()["pos_embed"], (6, 2), (2, 6))
    assert torch.equal(ours.state_dict()["pos_embed"], expected)


def test_loading_converts_to_the_models_dtype_and_leaves_the_source_alone():
    theirs, ours = lively(), lively(seed=1)
    state = {key: value.half() for key, value in torchvisions(theirs).items()}
    before = {key: value.clone() for key, value in state.items()}
    vl.load_weights(ours, state)
    assert all(p.dtype == torch.float32 for p in ours.parameters())
    assert state.keys() == before.keys() and all(
        torch.equal(state[k], before[k]) for k in state
    )
    ours.cls_token.data.fill_(9)
    assert torch.equal(state["class_token"], before["class_token"])


def without(key):
    return lambda state: {k: v for k, v in state.items() if k != key}


def plus(**more):
    return lambda state: state | more


HEADS = "to keep the model's own head"


@pytest.mark.errors
@pytest.mark.parametrize(
    ("change", "model", "message"),
    [
        (
            without("norm.bias"),
            {},
            r"weights \(timm\) do not fit the model: missing: norm.bias; make the",
        ),
        (
            plus(x=torch.zeros(1)),
            {},
            "left over: x; .* weights, rename what only has another name$",
        ),
        (
            without("head.weight"),
            {},
            f"missing: head.weight; .* pass load_head=False {HEADS}",
        ),
        (
            plus(),
            {"num_classes": 7},
            "num_classes 5, the model has 7; .*, or pass load_head=False",
        ),
        (
            plus(),
            {"depth": 3},
            "depth 2, the model has 3; make the model with the sizes of the weights$",
        ),
        (plus(), {"mlp_ratio": 4.0}, "hidden_dim 48, the model has 96"),
        (
            lambda s: {"weights": list(s)},
            {},
            r"got no tensors \(weights\); rename the parts if",
        ),
        (
            plus(**{"norm.bias": torch.ones(24).to_sparse()}),
            {},
            r"expected numbers in rows, norm.bias is sparse or empty; .* \.to_dense",
        ),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(change, model, message):
    ours = lively(replace(FOREIGN, **model), seed=1)
    before = {key: value.clone() for key, value in ours.state_dict().items()}
    with pytest.raises(ValueError, match=message):
        vl.load_weights(ours, change(lively().state_dict()))
    assert all(
        torch.equal(value, before[key]) for key, value in ours.state_dict().items()
    )


PARTS = {
    "relative positions of another kind": "blocks.0.attn.relative_position_bias_table blocks.0.attn.rel_pos_h",
    "rotary positions of another kind": "blocks.0.attn.rope.freqs_cos",
    "norms inside attention or MLP": "blocks.0.attn.q_norm.weight blocks.0.mlp.norm.weight",
    "a norm behind the patches": "patch_embed.norm.weight",
    "a ResNet before the patches": "patch_embed.backbone.conv1.weight",
    "low-rank additions": "blocks.0.attn.qkv.lora_A.default.weight",
    "weights rounded to 8 or 4 bits": "blocks.0.mlp.fc1.weight_scale_inv blocks.0.mlp.fc1.scale_weight",
    "weights that are cut or made anew": "blocks.0.mlp.fc1.weight_orig head.parametrizations.weight.original0",
    "attention that subtracts": "blocks.0.attn.lambda_q1",
    "places that gate attention": "blocks.0.attn.gating_param blocks.0.attn.pos_proj.weight",
    "parts side by side": "blocks.0.attns.1.norm.weight blocks.0.in_proj.weight",
    "patches of any size": "embeds.proj.weight",
    "words among the patches": "text_embeddings.word_embeddings.weight",
    "tokens that find boxes": "embeddings.detection_tokens",
    "messages between the pictures": "blocks.0.message_fc.weight",
}
TOGETHER = {
    "scales or biases as BEiT, EVA": {"blocks.0.gamma_1": 1},
    "scales or biases as BEiT": {"blocks.0.attn.q_bias": 1, "reg_token": 1},
    "a question behind CLIP's norms": {"norm_pre.weight": 1, "attn_pool.latent": 1},
    "norms without a bias": {"blocks.0.norm1.bias": 0},
    "norms behind attention and MLP": {
        "cls_token": 0,
        "blocks.0.attn.qkv.bias": 0,
        "fc_norm.weight": 1,
    },
}


@pytest.mark.errors
@pytest.mark.parametrize(
    ("part", "name"), [(part, name) for part in PARTS for name in PARTS[part].split()]
)
def test_parts_that_no_model_here_has_are_named(part, name):
    words = rf"{part}.*: {name}; .* python -m vitlib look lists what is read$"
    for beside in (
        {},
        {"head.weight": torch.zeros(7, 24)},
    ):  # no advice for the head in place of that
        with pytest.raises(ValueError, match=rf"\(timm\) are of a model with {words}"):
            vl.load_weights(
                lively(), lively().state_dict() | {name: torch.zeros(1, 4, 24)} | beside
            )


@pytest.mark.errors
@pytest.mark.parametrize("part", TOGETHER)
def test_parts_that_only_several_names_tell(part):
    state = lively().state_dict()
    for name, is_there in TOGETHER[part].items():
        state.pop(name, None)
        state |= {name: torch.zeros(24)} if is_there else {}
    with pytest.raises(ValueError, match=f"are of a model with {part}"):
        vl.load_weights(lively(), state)


@pytest.mark.errors
@pytest.mark.parametrize(
    "name", ["reg_token", "storage_tokens", "norm_pre.weight", "fc_norm.weight"]
)
def test_parts_that_this_model_has_not_are_left_over(name):
    with pytest.raises(ValueError, match="left over: |reg_tokens 4, the model has"):
        vl.load_weights(lively(), lively().state_dict() | {name: torch.zeros(1, 4, 24)})


@pytest.mark.errors
def test_a_model_on_the_meta_device_has_nowhere_to_load():
    with torch.device("meta"):
        model = vl.VisionTransformer(FOREIGN)
    with pytest.raises(
        ValueError, match="expected a model with numbers, got one on the meta device"
    ):
        vl.load_weights(model, lively().state_dict())


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


class Call:
    def __reduce__(self):
        return print, ("exploded",)


@pytest.mark.errors
@pytest.mark.parametrize("suffix", [".pt", ".npz", ".safetensors"])
def test_a_file_never_runs_code(tmp_path, monkeypatch, suffix):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"bomb{suffix}"
    if suffix == ".npz":
        np.savez(path, np.array([Bomb()], dtype=object))
    else:
        torch.save({"model": Bomb()}, path)
    with pytest.raises(
        ValueError,
        match="cannot be read without running code that it holds, or is damaged",
    ):
        vl.load_weights(lively(), path)
    assert not (tmp_path / "exploded").exists()


def test_what_lies_beside_the_weights_is_left_there(tmp_path, capsys):
    theirs, ours = lively(), lively(seed=1)
    odd = {"loss": np.float64(0.3), "when": datetime(2026, 1, 1), "to": tmp_path}
    odd["args"] = argparse.Namespace(a=Call())
    torch.save(
        {"model": theirs.state_dict() | {"best": np.float32(1)}, **odd},
        tmp_path / "w.pth.tar",
    )
    vl.load_weights(ours, tmp_path / "w.pth.tar")
    assert (
        torch.equal(ours.head.weight, theirs.head.weight)
        and "exploded" not in capsys.readouterr().out
    )
    torch.save(theirs, tmp_path / "whole")
    with pytest.raises(
        ValueError,
        match="expected names and tensors, got a VisionTransformer of vitlib; take its state",
    ):
        vl.load_weights(ours, tmp_path / "whole")


@pytest.mark.errors
@pytest.mark.parametrize("told", ["by Google's axes", "by a config.json"])
def test_another_number_of_heads_is_refused(tmp_path, told):
    np.savez(tmp_path / "weights.npz", **googles(lively()))
    save_file(lively().state_dict(), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(
        '{"num_attention_heads": 3, "hidden_size": 24}'
    )
    model = vl.VisionTransformer(replace(FOREIGN, num_heads=6))
    with pytest.raises(
        ValueError, match="num_heads 3, the model has 6; make the model with the sizes"
    ):
        vl.load_weights(
            model, tmp_path / ("weights.npz" if "axes" in told else "model.safetensors")
        )
    # of another model
    (tmp_path / "config.json").write_text(
        '{"num_attention_heads": 3, "hidden_size": 48}'
    )
    vl.load_weights(model, tmp_path / "model.safetensors")


@pytest.mark.errors
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "a file of weights, got .*weights.ckpt, which is not there"),
        (
            b"version https://git-lfs.github.com/spec/v1",
            "is a pointer of Git LFS; git lfs pull fetches",
        ),
        (b"<!DOCTYPE html>", "is a web page; fetch the file itself"),
        (
            b"Entry not found",
            r"is text \('Entry not found' ...\); fetch the file itself",
        ),
        (b"\x80\x02}q\x00", "is a pickle, which can run anything as it is read"),
        (b"\x08\0\0\0\0\0\0\0{}", "begins as a safetensors file and is damaged"),
    ],
)
def test_a_file_of_no_use(tmp_path, content, message):
    if content is not None:
        (tmp_path / "weights.ckpt").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        vl.load_weights(lively(), tmp_path / "weights.ckpt")


@pytest.mark.parametrize("suffix", [".safetensors", ".bin", ".npz", ""])
def test_a_file_is_told_by_its_first_bytes_not_by_its_ending(tmp_path, suffix):
    theirs, file = lively(), tmp_path / f"weights{suffix}"
    for write in (
        lambda: torch.save(theirs.state_dict(), file),
        lambda: torch.save(
            theirs.state_dict(), file, _use_new_zipfile_serialization=False
        ),
        lambda: save_file(theirs.state_dict(), file),
    ):
        write()
        ours = lively(seed=1)
        vl.load_weights(ours, file)
        assert torch.equal(ours.head.weight, theirs.head.weight)


def test_weights_in_several_files_are_read_by_their_index_or_their_names(tmp_path):
    theirs = lively()
    state = list(theirs.state_dict().items())
    names = [f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]
    where = {}
    for i, name in enumerate(names):
        part = dict(state[i::3])
        save_file(part, tmp_path / name)
        where |= dict.fromkeys(part, name)
    for source in (tmp_path, tmp_path / names[1]):
        ours = lively(seed=1)
        assert vl.load_weights(ours, source) == "timm"
        assert all(map(torch.equal, ours.state_dict().values(), dict(state).values()))
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": where}))
    for source in (tmp_path, index):
        assert vl.load_weights(lively(seed=1), source) == "timm"
    (tmp_path / names[2]).unlink()
    for source in (tmp_path, index, tmp_path / names[0]):
        with pytest.raises(ValueError, match=f"lie in 3 files, {names[2]} of them not"):
            vl.load_weights(lively(), source)
    index.write_text(json.dumps({"weight_map": {"a": "../other"}}))
    with pytest.raises(ValueError, match="lists no files of weights; fetch it again"):
        vl.load_weights(lively(), index)


@pytest.mark.errors
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("suffix", [".safetensors", ".npz", ".pt", "old.pt"])
def test_damaged_files_are_refused_or_load_whatever_byte_is_wrong(tmp_path, suffix):
    cfg = vl.ViTConfig(img_size=8, embed_dim=8, depth=1, num_heads=2, num_classes=2)
    model, path, state = (
        lively(cfg),
        tmp_path / f"weights{suffix}",
        lively(cfg).state_dict(),
    )
    if suffix == ".safetensors":
        save_file(state, path)
    elif suffix == ".npz":
        np.savez_compressed(path, **googles(model))
    else:
        torch.save(
            {"model": state}, path, _use_new_zipfile_serialization=suffix == ".pt"
        )
    whole, dice, refused = path.read_bytes(), random.Random(0), 0
    spoilt = [b"", b"x", bytes(1000), b"PK\x03\x04" + bytes(50)]
    spoilt += [whole[:n] for n in (9, 500, len(whole) - 9)]
    for at in [
        *dice.sample(range(700), 80),
        *(len(whole) - 1 - n for n in dice.sample(range(700), 40)),
    ]:
        spoilt.append(whole[:at] + bytes([dice.randrange(256)]) + whole[at + 1 :])
        spoilt.append(whole[:at] + whole[at + dice.randrange(20) :])
    for content in spoilt:
        path.write_bytes(content)
        try:
            vl.load_weights(model, path)
        except ValueError:
            refused += 1
    assert refused > 50


@pytest.mark.errors
def test_weights_that_are_no_numbers_change_nothing():
    model, state = lively().half(), lively(seed=1).state_dict()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    state["norm.bias"] += 1e6
    with pytest.raises(
        ValueError, match="norm.bias holds numbers beyond float16's 65504"
    ):
        vl.load_weights(model, state)
    assert all(
        torch.equal(value, before[key]) for key, value in model.state_dict().items()
    )


@pytest.mark.errors
def test_a_model_in_place_of_its_weights_is_told_so():
    model = lively(FOREIGN)
    says = r"got a VisionTransformer of vitlib; pass its state_dict\(\)$"
    with pytest.raises(ValueError, match=rf"^source must be .*, {says}"):
        vl.load_weights(model, model)
    with pytest.raises(ValueError, match=rf"^state must be a Mapping, {says}"):
        vl.convert_state_dict(model)


@pytest.mark.errors
def test_another_librarys_model_is_named_by_its_library(timm):
    theirs = timm.create_model("vit_tiny_patch16_224", depth=1)
    says = r"model must be .*, got a VisionTransformer of timm; vl.load_weights\(model"
    for call in (vl.grad_cam, vl.trace, vl.deletion_curve):
        with pytest.raises(ValueError, match=says):
            call(
                theirs,
                *[torch.zeros(1, 3, 224, 224)] * (1 + (call is vl.deletion_curve)),
            )
