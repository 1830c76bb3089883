"""Parameter groups, schedules, optimisers and the moving average."""

from dataclasses import replace
from types import SimpleNamespace

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


def steps_by_hand(
    name: str, w: torch.Tensor, gradients: list[torch.Tensor], lr: float, decay: float
):
    """The weights after each gradient, by the formulas of the papers."""
    m = v = torch.zeros_like(w)
    for t, g in enumerate(gradients, start=1):
        if name == "adamw":
            w = w - lr * decay * w
        else:
            g = g + decay * w
        if name == "sgd":
            m = 0.9 * m + g
            w = w - lr * m
        else:
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            w = w - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
        yield w


@pytest.mark.parametrize("name", ["adamw", "adam", "sgd"])
def test_each_optimizer_steps_as_its_formula_says(name):
    torch.manual_seed(0)
    model = nn.Linear(8, 3).double()
    # gradients of every size, also so small that Adam's 1e-8 matters
    gradients = {
        p: torch.randn(6, *p.shape, dtype=p.dtype) * 10.0 ** -torch.arange(8)
        for p in [model.weight]
    }
    gradients[model.bias] = torch.randn(6, 3, dtype=torch.float64)
    for g in gradients.values():
        g[3] = 0  # the running mean square falls, too
    expected = [
        list(steps_by_hand(name, p.detach().clone(), list(g), 0.03, decay))
        for (p, g), decay in zip(gradients.items(), (0.2, 0.0), strict=True)
    ]
    optimizer = vl.build_optimizer(
        model, SimpleNamespace(optimizer=name, lr=0.03, weight_decay=0.2)
    )
    for t in range(6):
        for p, g in gradients.items():
            p.grad = g[t].clone()
        optimizer.step()
        for p, theirs in zip(gradients, expected, strict=True):
            torch.testing.assert_close(p.detach(), theirs[t], rtol=1e-9, atol=1e-12)


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


def test_ema_warms_up_and_follows_by_hand_also_when_it_was_stopped():
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 0.0)
    ema, expected = vl.EMA(model, 0.5), 0.0
    for t in range(10):
        nn.init.constant_(model.weight, t + 1.0)
        ema.update(model)
        d = min(0.5, (1 + t) / (10 + t))
        expected = d * expected + (1 - d) * (t + 1)
        assert ema.model.weight.item() == pytest.approx(expected, rel=1e-6)
        state, ema = ema.state_dict(), vl.EMA(model, 0.5)
        ema.load_state_dict(state)
    assert not ema.model.training and not ema.model.weight.requires_grad


def test_ema_copies_buffers_and_keeps_its_state():
    model = nn.BatchNorm1d(2)
    ema = vl.EMA(model, 0.9)
    model(torch.randn(8, 2) + 3)
    ema.update(model)
    assert torch.equal(ema.model.running_mean, model.running_mean)
    other = vl.EMA(nn.BatchNorm1d(2), 0.9)
    other.load_state_dict(ema.state_dict())
    assert other.updates == 1 and torch.equal(other.model.weight, ema.model.weight)


LION = SimpleNamespace(optimizer="lion", lr=1, weight_decay=0)


@pytest.mark.errors
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: parameter_groups(nn.ReLU(), 0.1), "trainable parameters, got none"),
        (
            lambda: vl.build_optimizer(nn.ReLU(), LION),
            "optimizer must be one of adamw, adam, .*; got 'lion'",
        ),
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
