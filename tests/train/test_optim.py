"""Parameter groups, schedules, optimisers and the moving average."""

from dataclasses import replace

import pytest
import torch
from torch import nn

import vitlib as vl
from vitlib.train.optim import parameter_groups

TINY = vl.ViTConfig(img_size=8, embed_dim=12, depth=2, num_heads=2, layer_scale=0.1)


def names_of(model, group):
    ids = {id(p) for p in group["params"]}
    return {name for name, p in model.named_parameters() if id(p) in ids}


@pytest.mark.parametrize("pos_embed", ["learned", "learned2d", "relative"])
def test_only_matrices_decay(pos_embed):
    model = vl.VisionTransformer(replace(TINY, pos_embed=pos_embed, mask_token=True))
    decay, rest = parameter_groups(model, 0.3)
    assert decay["weight_decay"] == 0.3 and rest["weight_decay"] == 0.0
    block = ("attn.qkv.weight", "attn.proj.weight", "mlp.fc1.weight", "mlp.fc2.weight")
    assert names_of(model, decay) == {
        "patch_embed.proj.weight",
        "head.weight",
        *(f"blocks.{i}.{name}" for i in range(2) for name in block),
    }
    assert names_of(model, decay) | names_of(model, rest) == {
        name for name, _ in model.named_parameters()
    }


def test_a_resnets_convolutions_decay_and_its_norms_and_biases_do_not():
    model = vl.ResNet(vl.ResNetConfig(widths=(32,), depths=(2,)))
    decay, rest = (names_of(model, group) for group in parameter_groups(model, 0.3))
    assert {name for name in rest if "norm" not in name} == {"head.bias"} and len(
        rest
    ) == 15
    assert decay == {
        "stem.conv.weight",
        "head.weight",
        "stages.0.blocks.0.downsample.conv.weight",
        *(f"stages.0.blocks.{i}.conv{k}.weight" for i in (0, 1) for k in (1, 2, 3)),
    }


def test_frozen_parameters_are_left_out():
    model = vl.VisionTransformer(TINY)
    model.patch_embed.requires_grad_(False)
    decay, rest = parameter_groups(model, 0.1)
    assert not any(
        "patch_embed" in name for name in names_of(model, decay) | names_of(model, rest)
    )


@pytest.mark.parametrize(
    ("schedule", "golden"),
    [
        ("constant", [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("linear", [0.5, 1.0, 1.0, 0.775, 0.55, 0.325, 0.1]),
        ("cosine", [0.5, 1.0, 1.0, 0.868198, 0.55, 0.231802, 0.1]),
    ],
)
def test_schedules_golden(schedule, golden):
    rates = [
        vl.lr_at(s, 6, 1.0, warmup=2, schedule=schedule, final_lr=0.1) for s in range(7)
    ]
    assert rates == pytest.approx(golden, abs=1e-6)
    assert vl.lr_at(0, 10, 0.3, schedule=schedule) == 0.3  # no warm-up
    end = vl.lr_at(10, 10, 0.3, schedule=schedule, final_lr=0.01)
    assert vl.lr_at(25, 10, 0.3, schedule=schedule, final_lr=0.01) == end


def test_ema_copies_buffers_and_keeps_its_state():
    model = nn.BatchNorm1d(2)
    ema = vl.EMA(model, 0.9)
    model(torch.randn(8, 2) + 3)
    ema.update(model)
    assert torch.equal(ema.model.running_mean, model.running_mean)
    other = vl.EMA(nn.BatchNorm1d(2), 0.9)
    other.load_state_dict(ema.state_dict())
    assert other.updates == 1 and torch.equal(other.model.weight, ema.model.weight)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: parameter_groups(nn.ReLU(), 0.1), "trainable parameters, got none"),
        (
            lambda: vl.lr_at(0, 10, 1.0, schedule="step"),
            "schedule must be one of cosine, .*; got 'step'",
        ),
        (lambda: vl.lr_at(0, 10, 1.0, warmup=10), "got 10 of 10 steps"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
