"""The ViTs of today: each family's model, with noise on every parameter, equals what `load_pretrained` reads of it."""

import pytest
import torch
from safetensors.torch import save_file

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
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p += 0.05 * torch.randn(p.shape, generator=draw)
    return model.eval()


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
