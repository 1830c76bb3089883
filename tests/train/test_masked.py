"""Masked patch prediction: its loss beside a slow one, no label read, scores that repeat, an encoder that is kept."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Generator

import vitlib as vl
from vitlib.device import derive_seed
from vitlib.train.masked import (
    corrupt_patches,
    guess_patches,
    take_patches,
)
from vitlib.train.objective import OBJECTIVES

SHAPE = {
    "img_size": 8,
    "patch_size": 2,
    "embed_dim": 12,
    "depth": 2,
    "num_heads": 2,
    "mlp_ratio": 2.0,
}
TINY = vl.ViTConfig(**SHAPE, num_classes=4, global_pool="avg")
STEPS = {"epochs": 3, "batch_size": 16, "lr": 3e-3, "precision": "fp32"}
BASE = vl.Recipe(
    "masked", TINY, **STEPS, crop=2, randaugment=1, objective="masked-mean"
)
TASKS = [name for name in OBJECTIVES if name != "classification"]


pytestmark = pytest.mark.usefixtures("one_thread")


def toy(n: int = 40, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = Generator().manual_seed(seed)
    images = torch.randint(0, 256, (n, 3, 8, 8), dtype=torch.uint8, generator=generator)
    return images, torch.arange(n) % 4


def train(task="masked-mean", data=None, **options) -> dict:
    changes = {
        key: options.pop(key)
        for key in list(options)
        if key in vars(BASE) or "." in key
    }
    return vl.train_model(
        vl.recipe(BASE, objective=task, **changes),
        data or toy(),
        progress=False,
        **options,
    )


def weights(log: dict) -> dict:
    return {name: value.clone() for name, value in log["model"].state_dict().items()}


def assert_same(a: dict, b: dict) -> None:
    assert weights(a).keys() == weights(b).keys()
    assert all(
        torch.equal(value, weights(b)[name]) for name, value in weights(a).items()
    )
    times = ("seconds", "images_per_s")
    rows = [
        [{k: v for k, v in row.items() if k not in times} for row in log["epochs"]]
        for log in (a, b)
    ]
    assert rows[0] == rows[1]


def drawn(task: str, n: int = 6, **changes):
    """The objective, its model, and one step's arguments and targets."""
    objective = OBJECTIVES[task](vl.recipe(BASE, objective=task, **changes))
    torch.manual_seed(0)
    model = objective.build()
    inputs, targets = objective.draw(*toy(n), Generator().manual_seed(3), 0, 1)
    return objective, model, inputs, targets


# ------------------------------------------------------------------------------------------ the model, a batch


@pytest.mark.parametrize("task", TASKS)
def test_the_encoder_is_the_recipes_without_classes_and_with_a_mask_token(task):
    objective, model, inputs, targets = drawn(task)
    outputs = {"masked-mean": 512, "masked-grid": 4 * 512, "masked-pixels": 12}[task]
    assert (
        model.encoder.cfg
        == objective.recipe.model
        == replace(TINY, num_classes=0, mask_token=True)
    )
    assert model(*inputs).shape == (6, 8, outputs)
    assert (
        vl.count_parameters(model) == vl.count_parameters(model.encoder) + 13 * outputs
    )
    loss, hits = objective.loss(model(*inputs), targets)
    first = targets.square().mean().item() if task == "masked-pixels" else math.log(512)
    assert loss.item() == pytest.approx(first, rel=0.05) and hits.item() < 0.05 * 6


@pytest.mark.parametrize("task", TASKS)
def test_the_loss_reaches_corrupted_patches_only(task):
    objective, model, inputs, targets = drawn(task)
    tokens = []

    def keep(module, args, out):
        out.retain_grad()
        tokens.append(out)

    model.encoder.norm.register_forward_hook(keep)
    objective.loss(model(*inputs), targets)[0].backward()
    reached = tokens[0].grad.abs().sum(2) > 0  # (B, 1+N)
    expected = torch.zeros_like(reached).scatter(1, 1 + inputs[3], True)
    assert torch.equal(reached, expected)
    assert model.encoder.mask_token.grad.abs().sum() > 0


# ------------------------------------------------------------------------------------------------- training


@pytest.mark.parametrize("task", TASKS)
def test_no_label_is_read(task):
    images, labels = toy()
    val = images[:10], labels[:10]
    first = train(task, (images, labels), val=val)
    other = train(task, (images, labels.flip(0) + 95), val=(val[0], val[1] + 7))
    assert_same(first, other)


# -------------------------------------------------------------------------------------------------- the score


def test_scores_repeat_whatever_was_drawn_and_whoever_asks():
    data = vl.Dataset(*toy(30, seed=2))
    objective, model, _, _ = drawn("masked-grid", **{"model.drop_rate": 0.5})
    model.train()
    torch.manual_seed(1)
    first = objective.score(model, data)
    torch.manual_seed(2)
    assert objective.score(model, data) == first and model.training
    other = OBJECTIVES["masked-grid"](
        replace(objective.recipe, seed=9, crop=0, randaugment=0)
    )
    assert other.score(model, data) == first


@pytest.mark.parametrize("task", TASKS)
def test_scores_beside_slow_ones(task, monkeypatch):
    """All images at once, from the masks' seed; in the objective they come a hundred at a time."""
    data = vl.Dataset(*toy(130, seed=2))
    objective, model, _, _ = drawn(task)
    scores = objective.score(model, data)
    mask, source, corrupted = corrupt_patches(
        130, 16, 0.5, Generator().manual_seed(derive_seed("held-out masks"))
    )
    pixels = data.images.float() / 255
    guess = guess_patches(pixels, mask, source, 2)
    with torch.no_grad():
        outputs = model.eval()(vl.normalize(pixels), mask, source, corrupted)
    right, guessed = (
        take_patches(objective.targets(x), corrupted) for x in (pixels, guess)
    )
    if task == "masked-pixels":
        spread = (right - right.mean((0, 1))).square().mean()
        expected = {
            "loss": (outputs - right).square().mean(),
            "r2": 1 - (outputs - right).square().mean() / spread,
            "constant": 0.0,
            "neighbours": 1 - (guessed - right).square().mean() / spread,
        }
    else:
        logits = outputs.unflatten(2, (-1, 512))
        common = right.flatten().bincount().max()
        expected = {
            "loss": F.cross_entropy(logits.flatten(0, 2), right.flatten()),
            "accuracy": (logits.argmax(3) == right).float().mean(),
            "constant": common / right.numel(),
            "neighbours": (guessed == right).float().mean(),
        }
    assert scores == pytest.approx(
        {key: float(value) for key, value in expected.items()}, abs=1e-5
    )
    assert list(scores)[:2] == ["loss", objective.metric]
    loss, hits = objective.loss(outputs, right)
    torch.testing.assert_close(loss, expected["loss"])
    torch.testing.assert_close(
        hits, 130 * expected[objective.metric], rtol=1e-4, atol=0
    )


# -------------------------------------------------------------------------------------------- what comes after


def test_the_encoder_is_kept_and_read_again(tmp_path):
    log = train(epochs=1)
    vl.save_pretrained(
        log["model"], {key: log[key] for key in log if key != "model"}, tmp_path
    )
    encoder, card = vl.load_pretrained("masked", tmp_path)
    assert (
        encoder.cfg == log["model"].encoder.cfg
        and card["recipe"]["objective"] == "masked-mean"
    )
    for name, value in log["model"].encoder.state_dict().items():
        assert torch.equal(encoder.state_dict()[name], value.half().float())
    assert encoder(torch.zeros(2, 3, 8, 8)).shape == (2, 12)


# ---------------------------------------------------------------------------------------------------- refusals


@pytest.mark.errors
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            dict(mask_ratio=0.02),
            r"corrupts 1 to 15 of 16 patches, got 0.02, which corrupts 0",
        ),
        (
            dict(mixup=0.8),
            "expected mixup 0 with objective 'masked-mean', got 0.8; no label is read",
        ),
    ],
)
def test_recipes_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        vl.train_model(replace(BASE, **changes), toy(), progress=False)
