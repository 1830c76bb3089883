"""What a part of today's ViTs is worth, by leaving it out; and how far four ways of resampling positions differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

import vitlib as vl
from page.words import t

SIZES: dict[str, Any] = dict(
    img_size=96, patch_size=16, embed_dim=96, depth=6, num_heads=3, num_classes=64
)
DINOV3 = dict(reg_tokens=4, pos_embed="rope_unit", norm_eps=1e-5, layer_scale=1.0)
CLIP = dict(pre_norm=True, act="quick_gelu", norm_eps=1e-5)
COUNTED = "places between -2 pi and 2 pi: 0, 1, 2, ... instead"  # is no field
# family, its fields, what is left out or exchanged, the fields without it
PARTS: list[tuple[str, dict, str, dict]] = [
    ("DINOv3", DINOV3, "registers", dict(reg_tokens=0)),
    ("DINOv3", DINOV3, "positions", dict(pos_embed="none")),
    ("DINOv3", DINOV3, COUNTED, {}),
    ("DINOv3", DINOV3, "LayerScale", dict(layer_scale=None)),
    ("DINOv3", DINOV3, "epsilon 1e-5: 1e-6 instead", dict(norm_eps=1e-6)),
    ("CLIP", CLIP, "the norm before the first block", dict(pre_norm=False)),
    ("CLIP", CLIP, "quick GELU: GELU instead", dict(act="gelu")),
    (
        "SigLIP",
        dict(class_token=False, global_pool="map"),
        "the question: the mean instead",
        dict(global_pool="avg"),
    ),
    (
        "MAE, fine-tuned",
        dict(global_pool="avg", fc_norm=True),
        "the norm behind the mean: before it instead",
        dict(fc_norm=False),
    ),
]


def worth() -> str:
    """For each part, how far the logits move without it, over their deviation."""
    rows = []
    for family, fields, part, changes in PARTS:
        model = _lively(vl.ViTConfig(**SIZES | fields))
        other = vl.VisionTransformer(replace(model.cfg, **changes)).eval()
        state = model.state_dict()
        if model.cfg.fc_norm != other.cfg.fc_norm:
            state |= {f"norm.{k}": state[f"fc_norm.{k}"] for k in ("weight", "bias")}
        other.load_state_dict(state, strict=False)
        if part == COUNTED:
            for turning in (m for m in other.modules() if hasattr(m, "line")):
                turning.line = torch.arange
                turning.resample(other.cfg.grid)
        rows.append([t(family), t(part), f"{100 * _moved(model, other):.1f} %"])
    return vl.viz.table([t("Family"), t("Left out"), t("The logits move by")], rows)


def resampled() -> str:
    """Ways of reading positions of 37 x 37 at 16 x 16: how far they are from vitlib's, on tables made for it."""
    draw = torch.Generator().manual_seed(0)
    smooth = F.interpolate(
        torch.randn(1, 64, 8, 8, generator=draw), (37, 37), mode="bicubic"
    )
    noise = torch.randn(smooth.shape, generator=draw)
    rows = []
    for way, read in WAYS.items():
        told = []
        for share in (0.0, 0.1, 0.3):
            table = smooth + share * noise
            flat = table.flatten(2).mT  # (1, D, 37, 37) -> (1, N, D)
            ours = vl.resample_pos_embed(flat, (16, 16), num_prefix_tokens=0)
            theirs = read(table).flatten(2).mT
            told.append(f"{100 * ((theirs - ours).norm() / ours.norm()).item():.1f} %")
        rows.append([t(way), *told])
    heads = [t("Way"), t("smooth table"), t("10 % of noise"), t("30 % of noise")]
    return vl.viz.table(heads, rows)


def _lively(cfg: vl.ViTConfig) -> vl.VisionTransformer:
    """A model in which every number matters."""
    torch.manual_seed(0)
    model = vl.VisionTransformer(cfg).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p), alpha=0.05)
    return model


@torch.no_grad()
def _moved(model: vl.VisionTransformer, other: vl.VisionTransformer) -> float:
    x = torch.rand(4, 3, 96, 96, generator=torch.Generator().manual_seed(1)) * 2 - 1
    logits = model(x)
    return ((other(x) - logits).square().mean().sqrt() / logits.std()).item()


def _timm(table: Tensor) -> Tensor:
    return F.interpolate(table, (16, 16), mode="bicubic", antialias=True)


def _plain(table: Tensor) -> Tensor:
    return F.interpolate(table, (16, 16), mode="bicubic")


def _meta(table: Tensor) -> Tensor:
    return F.interpolate(table, scale_factor=(16 + 0.1) / 37, mode="bicubic")


# how others read a table, and the function
WAYS = {
    "timm's; Meta's and transformers' for models with registers": _timm,
    "transformers' for DINOv2, SigLIP, CLIP: not smoothed": _plain,
    "Meta's for DINOv2: not smoothed, shifted by 0.1": _meta,
}


def said() -> Iterator[str]:
    """What the tables say."""
    for family, _, part, _ in PARTS:
        yield from (family, part)
    yield from WAYS
