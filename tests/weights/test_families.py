"""The ViTs of today: each family's model, with noise on every parameter, equals what `load_pretrained` reads of it."""

import pytest
import torch
from safetensors.torch import save_file
from stir import stir

import vitlib as vl

SMALL = dict(depth=2, num_classes=7)
# timm's model, what it is made with, what a reader says that no file tells
OF_TIMM = {
    "DINOv2": ("vit_small_patch14_dinov2", dict(img_size=56), {}),
    "DINOv2 with registers": ("vit_small_patch14_reg4_dinov2", dict(img_size=56), {}),
    "DINOv3 S": ("vit_small_patch16_dinov3", dict(global_pool="token"), {}),
    "DINOv3 S, mean": ("vit_small_patch16_dinov3", {}, dict(global_pool="avg")),
    "DINOv3 S+": ("vit_small_plus_patch16_dinov3", dict(global_pool="token"), {}),
    "DINOv3 with biases": (
        "vit_small_patch16_dinov3_qkvb",
        dict(global_pool="token"),
        {},
    ),
    "SigLIP": ("vit_base_patch16_siglip_224", {}, {}),
    "SigLIP of another size": ("vit_base_patch16_siglip_256", {}, {}),
    "SigLIP gap": ("vit_base_patch16_siglip_gap_224", {}, {}),
    "CLIP": ("vit_base_patch32_clip_224", {}, {}),
    "CLIP of OpenAI": (
        "vit_base_patch32_clip_quickgelu_224",
        {},
        dict(act="quick_gelu"),
    ),
    "MAE": ("vit_base_patch16_224.mae", {}, {}),
    "MAE, fine-tuned": ("vit_base_patch16_224", dict(global_pool="avg"), {}),
    "DeiT": ("deit_tiny_patch16_224", {}, {}),
    "DeiT, distilled": ("deit_tiny_distilled_patch16_224", {}, {}),
    "DeiT III": ("deit3_small_patch16_224", {}, {}),
    "gap": ("vit_medium_patch16_gap_240", {}, {}),
    "one register, no CLS": ("vit_wee_patch16_reg1_gap_256", {}, {}),
    "AugReg": ("vit_tiny_patch16_224", {}, {}),
}


def noisy(model: torch.nn.Module) -> torch.nn.Module:
    torch.manual_seed(0)
    return stir(model, 0.05)


def registers_last(tokens: torch.Tensor, cfg: vl.ViTConfig) -> torch.Tensor:
    """timm's order of tokens, CLS, registers, patches, as ours."""
    first = int(cfg.class_token)
    parts = tokens.tensor_split([first, first + cfg.reg_tokens], dim=1)
    return torch.cat([parts[0], parts[2], parts[1]], dim=1)


@pytest.mark.parametrize("family", OF_TIMM)
def test_timms_model_is_read_from_its_file(family, timm, tmp_path):
    name, made, said = OF_TIMM[family]
    theirs = noisy(timm.create_model(name, **SMALL, **made))
    file = tmp_path / "x.safetensors"
    save_file({k: v.contiguous() for k, v in theirs.state_dict().items()}, file)
    ours, card = vl.load_pretrained(file, mean_std="half", **said)
    draw = torch.Generator().manual_seed(1)
    x = torch.rand(1, 3, *ours.cfg.image_shape, generator=draw) * 2 - 1
    with torch.no_grad():
        wanted = registers_last(theirs.forward_features(x), ours.cfg)
        torch.testing.assert_close(
            ours.forward_features(x), wanted, rtol=1e-5, atol=2e-5
        )
        torch.testing.assert_close(ours(x), theirs(x), rtol=1e-5, atol=2e-5)
    assert not said.keys() & card["assumed"].keys()


HF = dict(
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=1,
    intermediate_size=128,
    image_size=64,
)


def of_transformers(kind: str):
    """A tower of transformers', its tokens, what its head reads or says, and what no file tells."""
    tr = pytest.importorskip("transformers")
    vision = {k: v for k, v in HF.items()}
    text = dict(vocab_size=99, max_position_embeddings=8, hidden_size=64)
    text |= dict(num_hidden_layers=2, num_attention_heads=1, intermediate_size=64)
    made = {
        "DINOv3": lambda: tr.DINOv3ViTModel(
            tr.DINOv3ViTConfig(**HF, patch_size=16, num_register_tokens=4)
        ),
        "DINOv3 with gates": lambda: tr.DINOv3ViTModel(
            tr.DINOv3ViTConfig(
                **HF,
                patch_size=16,
                num_register_tokens=4,
                use_gated_mlp=True,
                hidden_act="silu",
            )
        ),
        "DINOv2 with registers": lambda: tr.Dinov2WithRegistersModel(
            tr.Dinov2WithRegistersConfig(
                **HF | {"image_size": 56}, mlp_ratio=2, patch_size=14
            )
        ),
        "DINOv2 with gates": lambda: tr.Dinov2Model(
            tr.Dinov2Config(
                **HF | {"image_size": 56},
                mlp_ratio=2,
                patch_size=14,
                use_swiglu_ffn=True,
            )
        ),
        "SigLIP": lambda: tr.SiglipVisionModel(
            tr.SiglipVisionConfig(**HF, patch_size=16)
        ),
        "SigLIP, whole": lambda: tr.SiglipModel(
            tr.SiglipConfig(vision_config=vision | {"patch_size": 16}, text_config=text)
        ),
        "CLIP": lambda: tr.CLIPVisionModelWithProjection(
            tr.CLIPVisionConfig(**HF, patch_size=16, projection_dim=32)
        ),
        "CLIP, whole": lambda: tr.CLIPModel(
            tr.CLIPConfig(
                vision_config=vision | {"patch_size": 16},
                text_config=text | {"eos_token_id": 1},
                projection_dim=32,
            )
        ),
        "BLIP": lambda: tr.BlipVisionModel(tr.BlipVisionConfig(**HF, patch_size=16)),
        "two of a kind": lambda: tr.VisionTextDualEncoderModel(
            tr.VisionTextDualEncoderConfig.from_vision_text_configs(
                tr.ViTConfig(**HF, patch_size=16),
                tr.BertConfig(**text),
                projection_dim=32,
            )
        ),
        "DeiT, distilled": lambda: tr.DeiTForImageClassificationWithTeacher(
            tr.DeiTConfig(**HF, patch_size=16, num_labels=5)
        ),
        "DINOv2 that reads two": lambda: tr.Dinov2ForImageClassification(
            tr.Dinov2Config(
                **HF | {"image_size": 56}, mlp_ratio=2, patch_size=14, num_labels=5
            )
        ),
    }
    return noisy(made[kind]())


def answer(theirs: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    """What transformers' model says of pictures: logits, projected, or the vector of its head."""
    if type(theirs).__name__ == "BlipVisionModel":  # which normalises CLS twice
        return theirs(pixel_values=x).last_hidden_state[:, 0]
    if hasattr(theirs, "get_image_features"):
        found = theirs.get_image_features(pixel_values=x)
        return found if isinstance(found, torch.Tensor) else found.pooler_output
    found = theirs(pixel_values=x)
    for name in ("logits", "image_embeds", "pooler_output"):
        if getattr(found, name, None) is not None:
            return getattr(found, name)
    raise AssertionError(found)


@pytest.mark.parametrize(
    "kind",
    [
        *("DINOv3", "DINOv3 with gates", "DINOv2 with registers", "DINOv2 with gates"),
        *("SigLIP", "SigLIP, whole", "CLIP", "CLIP, whole"),
        *("BLIP", "two of a kind", "DeiT, distilled", "DINOv2 that reads two"),
    ],
)
@torch.no_grad()
def test_transformers_model_is_read_from_its_folder(kind, tmp_path):
    theirs = of_transformers(kind)
    theirs.save_pretrained(tmp_path)
    ours, card = vl.load_pretrained(tmp_path, mean_std="half")
    assert card["library"] == "transformers"
    told = {"norm_eps", "num_heads", "img_size"}  # by config.json
    assert not told & card["assumed"].keys()
    x = torch.rand(2, 3, *ours.cfg.image_shape) * 2 - 1
    torch.testing.assert_close(ours(x), answer(theirs, x), rtol=1e-4, atol=2e-5)
    assert card["projects"] == kind.startswith(("CLIP", "two"))


def openais(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """timm's CLIP tower under OpenAI's names, beside a transformer for words under the same ones."""
    pairs = [("patch_embed.proj", "conv1"), ("norm_pre", "ln_pre")]
    pairs += [("blocks.", "transformer.resblocks."), (".norm1", ".ln_1")]
    pairs += [(".norm2", ".ln_2"), ("attn.qkv.", "attn.in_proj_")]
    pairs += [("attn.proj", "attn.out_proj"), ("mlp.fc1", "mlp.c_fc")]
    pairs += [("mlp.fc2", "mlp.c_proj")]
    new = {}
    for key, value in state.items():
        for ours, theirs in pairs:
            key = key.replace(ours, theirs)
        key = key.replace("norm.", "ln_post.") if key.startswith("norm.") else key
        if key == "cls_token":
            key, value = "class_embedding", value[0, 0]
        if key == "pos_embed":
            key, value = "positional_embedding", value[0]
        if key == "head.weight":
            key, value = "proj", value.T
        if key != "head.bias":
            new[f"visual.{key}"] = value
    words = {"transformer.resblocks.0.ln_1.weight": torch.ones(8)}
    words |= {
        "positional_embedding": torch.zeros(7, 8),
        "ln_final.weight": torch.ones(8),
    }
    return new | words | {"text_projection": torch.zeros(8, 8)}


@torch.no_grad()
def test_openais_clip_whole_or_its_tower_alone(timm, tmp_path):
    theirs = noisy(timm.create_model("vit_base_patch32_clip_quickgelu_224", **SMALL))
    theirs.head.bias.zero_()
    whole = openais(theirs.state_dict())
    x = torch.rand(1, 3, 224, 224) * 2 - 1
    for name, state in {
        "whole": whole,
        "tower": {k: v for k, v in whole.items() if k.startswith("visual.")},
    }.items():
        torch.save(state, tmp_path / f"{name}.pt")
        ours, card = vl.load_pretrained(tmp_path / f"{name}.pt", mean_std="half")
        assert (card["family"], card["library"]) == ("CLIP", "OpenAI")
        assert card["projects"] and card["assumed"]["act"] == "quick_gelu"
        torch.testing.assert_close(ours(x), theirs(x), rtol=1e-4, atol=2e-5)
