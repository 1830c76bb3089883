"""What the training loop does: a slow loop, written out here, reaches the same weights and the same log."""

import copy
import hashlib
import math
import time

import pytest
import torch
import torch.nn.functional as F

import vitlib as vl
from vitlib.evidence import COMMAND
from vitlib.files import read_json
from vitlib.train import loop
from vitlib.train.augment import rand_augment, random_crop, random_flip
from vitlib.train.objective import OBJECTIVES

TINY = vl.ViTConfig(
    img_size=8, num_classes=4, embed_dim=12, depth=2, num_heads=2, mlp_ratio=2.0
)
# what can be off is off; two epochs of six steps, each leaving out four of the forty images
OFF = {
    "schedule": "constant",
    "warmup": 0.0,
    "clip_norm": 0.0,
    "crop": 0,
    "flip": False,
}
BASE = vl.Recipe("base", TINY, epochs=2, batch_size=6, lr=3e-3, precision="fp32", **OFF)
DROPS = {
    "model.drop_rate": 0.2,
    "model.drop_path_rate": 0.3,
}
SGD = {"optimizer": "sgd", "lr": 0.05}
MIXED = {"mixup": 0.8, "cutmix": 1.0, **SGD}
ALL = dict(
    MIXED, **DROPS, crop=2, flip=True, randaugment=1, mix_off=0.3, label_smoothing=0.1
)
ALL |= dict(
    ema_decay=0.9, clip_norm=0.5, schedule="linear", warmup=0.2, weight_decay=0.5
)


def trained(recipe, images, labels, val=None, label="", command="", **options) -> dict:
    """The one call of the training loop in this file."""
    COMMAND.set(command)
    data = vl.Dataset(images, labels, label=label)
    return vl.train_model(
        recipe, data, val, progress=False, **{"device": "cpu"} | options
    )


@pytest.fixture(autouse=True)
def own_random_numbers(one_thread):
    with torch.random.fork_rng(devices=[]):
        yield


def toy(n: int = 40, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Images, all different, whose brightest quarter is mostly their class."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 140, (n, 3, 8, 8), dtype=torch.uint8, generator=generator)
    labels = torch.randint(0, 4, (n,), generator=generator)
    for image, label in zip(images, labels.tolist(), strict=True):
        row, col = divmod(label, 2)
        image[:, 4 * row : 4 * row + 4, 4 * col : 4 * col + 4] += 100
    labels[::5] = 0
    return images, labels


HELD_OUT = toy(11, seed=1)

# -------------------------------------------------------------------------------------- the loop, written out


def seed(*parts) -> int:
    return (
        int.from_bytes(
            hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "big"
        )
        >> 1
    )


def rate(r, step: int, total: int) -> float:
    warmup = min(round(r.warmup * total), total - 1)
    if step < warmup:
        return r.lr * (step + 1) / warmup
    t = (step - warmup) / (total - warmup)
    if r.schedule == "cosine":
        return r.final_lr + (r.lr - r.final_lr) * 0.5 * (1 + math.cos(math.pi * t))
    return r.lr + (r.final_lr - r.lr) * t if r.schedule == "linear" else r.lr


def decays(name: str) -> bool:
    matrices = "patch_embed.proj attn.qkv attn.proj mlp.fc1 mlp.fc2 head head.0 head.2 predict".split()
    return name.endswith(tuple(f"{matrix}.weight" for matrix in matrices))


def build(r, model) -> torch.optim.Optimizer:
    """PyTorch's, fused as in the loop: the same kernels give the same bits."""
    groups = [
        {
            "params": [
                p for name, p in model.named_parameters() if decays(name) == wanted
            ],
            "weight_decay": r.weight_decay if wanted else 0.0,
        }
        for wanted in (True, False)
    ]
    if r.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=1.0, momentum=0.9, fused=True)
    if r.optimizer == "muon":
        matrices = {
            name: p
            for name, p in model.named_parameters()
            if decays(name) and "blocks." in name
        }
        groups[0]["params"] = [
            p for p in groups[0]["params"] if all(p is not m for m in matrices.values())
        ]
        for parts in (3, 1):
            mine = [
                p
                for name, p in matrices.items()
                if name.endswith("qkv.weight") == (parts == 3)
            ]
            scaled = {"weight_decay": r.weight_decay, "lr_scale": r.muon_lr / r.lr}
            groups.append({"params": mine, "parts": parts, **scaled})
        return vl.Muon(groups, lr=1.0, fused=True)
    kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[r.optimizer]
    return kind(groups, lr=1.0, betas=(0.9, 0.999), eps=1e-8, fused=True)


def augmented(r, images, labels, generator, mix: bool):
    if r.crop:
        images = random_crop(images, r.crop, generator)
    if r.flip:
        images = random_flip(images, generator)
    images = images.float() / 255
    if r.randaugment:
        images = rand_augment(images, generator, r.randaugment, r.magnitude)
    targets = torch.full(
        (len(labels), r.model.num_classes), r.label_smoothing / r.model.num_classes
    )
    for target, label in zip(targets, labels.tolist(), strict=True):
        target[label] += 1 - r.label_smoothing
    ways = [("mixup", r.mixup)] * (r.mixup > 0) + [("cutmix", r.cutmix)] * (
        r.cutmix > 0
    )
    if mix and ways:
        way, alpha = ways[torch.randint(len(ways), (1,), generator=generator).item()]
        images, targets = mixed(way, alpha, images, targets, generator)
    return images, targets


def blend(share: float, own, other):
    """share * own + (1 - share) * other, rounded as in the loop."""
    return torch.lerp(other, own, torch.tensor(share))


def mixed(way: str, alpha: float, images, targets, generator):
    """Mixup or CutMix, one image after the other, each with a share of its own."""
    n, _, H, W = images.shape
    a, b = torch._standard_gamma(
        torch.full((2, n), alpha, dtype=torch.float64), generator=generator
    ).tolist()
    centres = (
        torch.rand(2, n, generator=generator).tolist() if way == "cutmix" else None
    )
    other = torch.randperm(n, generator=generator).tolist()
    new_images, new_targets = images.clone(), targets.clone()
    for i, j in enumerate(other):
        share = a[i] / (a[i] + b[i])
        if way == "mixup":
            new_images[i] = blend(share, images[i], images[j])
        else:
            side, cy, cx = math.sqrt(1 - share), centres[0][i] * H, centres[1][i] * W
            box = [
                (row, col)
                for row in range(H)
                for col in range(W)
                if abs(row + 0.5 - cy) < side * H / 2
                and abs(col + 0.5 - cx) < side * W / 2
            ]
            for row, col in box:
                new_images[i, :, row, col] = images[j, :, row, col]
            share = 1 - len(box) / (H * W)
        new_targets[i] = blend(share, targets[i], targets[j])
    return new_images, new_targets


def clip(parameters, largest: float) -> None:
    norm = torch.stack([p.grad.norm() for p in parameters]).norm()
    for p in parameters:
        p.grad *= torch.clamp(largest / (norm + 1e-6), max=1.0)


def score(model, images, labels) -> tuple[float, float]:
    with torch.no_grad():
        logits = model.eval()(images.float() / 127.5 - 1)
    return F.cross_entropy(logits, labels).item(), (
        logits.argmax(1) == labels
    ).float().mean().item()


class Naming:
    """What a run by hand is for: to name images, written out."""

    metric = "accuracy"

    def __init__(self, r) -> None:
        self.r = r

    def build(self):
        return vl.VisionTransformer(self.r.model)

    def draw(self, images, labels, generator, step, total):
        x, targets = augmented(
            self.r, images, labels, generator, step < (1 - self.r.mix_off) * total
        )
        return ((x - 0.5) / 0.5,), targets

    def loss(self, logits, targets):
        return F.cross_entropy(logits.float(), targets), (
            logits.argmax(1) == targets.argmax(1)
        ).sum()

    def score(self, model, held_out):
        loss, accuracy = score(model, held_out.images, held_out.labels)
        return {"loss": loss, "accuracy": accuracy}


def by_hand(r, task=None) -> tuple[torch.nn.Module, list[dict]]:
    """The run of a recipe on `toy()`: the model to be returned, and a row for each epoch.

    Precision "auto" is fp32 for models this small.
    """
    task = task or Naming(r)
    images, labels = toy()
    torch.manual_seed(seed(r.seed, "init"))
    model = task.build()
    average, optimizer = copy.deepcopy(model), build(r, model)
    size = min(r.batch_size, len(images))
    steps = len(images) // size
    step, rows = 0, []
    for epoch in range(r.epochs):
        generator = torch.Generator().manual_seed(seed(r.seed, "order", epoch))
        order = torch.randperm(len(images), generator=generator)
        losses, hits = [], []
        for index in order[: steps * size].split(size):
            torch.manual_seed(seed(r.seed, "step", step))
            generator = torch.Generator().manual_seed(seed(r.seed, "step", step))
            inputs, targets = task.draw(
                images[index], labels[index], generator, step, r.epochs * steps
            )
            model.train()
            if hasattr(model, "patch_drop"):
                early = step < (1 - r.patch_drop_off) * r.epochs * steps
                model.patch_drop.rate = r.model.patch_drop_rate if early else 0.0
            with torch.autocast("cpu", torch.bfloat16, enabled=r.precision == "bf16"):
                outputs = model(*inputs)
            loss, hit = task.loss(outputs, targets)
            for p in model.parameters():
                p.grad = None
            loss.backward()
            if r.clip_norm:
                clip([p for p in model.parameters() if p.grad is not None], r.clip_norm)
            lr = rate(r, step, r.epochs * steps)
            for group in optimizer.param_groups:
                group["lr"] = lr
            optimizer.step()
            decay = min(r.ema_decay, (1 + step) / (10 + step))
            for mine, theirs in zip(
                average.parameters(), model.parameters(), strict=True
            ):
                mine.data.lerp_(theirs.data, 1 - decay)
            losses.append(loss.item())
            hits.append(hit.item())
            step += 1
        best = average if r.ema_decay else model
        rows.append(
            {
                "epoch": epoch + 1,
                "lr": lr,
                "train_loss": sum(losses) / steps,
                f"train_{task.metric}": sum(hits) / (steps * size),
                **{
                    f"val_{key}": value
                    for key, value in task.score(best, vl.Dataset(*HELD_OUT)).items()
                },
            }
        )
    return best, rows


def assert_same_weights(result: dict, model) -> None:
    theirs, ours = result["model"].state_dict(), model.state_dict()
    assert theirs.keys() == ours.keys() and not result["model"].training
    for name in ours:
        assert torch.equal(theirs[name], ours[name]), (
            f"{name}: {theirs[name]} is not {ours[name]}"
        )


def assert_same_run(result: dict, model, rows) -> None:
    assert_same_weights(result, model)
    assert len(result["epochs"]) == len(rows)
    for logged, row in zip(result["epochs"], rows, strict=True):
        assert logged.keys() == row.keys() | {"seconds", "images_per_s"}
        assert (logged["epoch"], logged["lr"]) == (
            row["epoch"],
            pytest.approx(row["lr"], rel=1e-12),
        )
        for name in row.keys() - {"epoch", "lr"}:
            assert (
                logged[name]
                == round(logged[name], 5)
                == pytest.approx(row[name], abs=1.5e-5)
            ), name


# ---------------------------------------------------------------------------------- one feature after another


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "changes",
    [
        dict(seed=7, **DROPS),
        dict(lr=0.02, weight_decay=2.0),
        dict(weight_decay=1.0, **SGD),
        dict(schedule="cosine", final_lr=1e-3),
        dict(schedule="linear", final_lr=1e-3),
        ALL,
        dict(precision="bf16", ema_decay=0.5, **DROPS),
        dict(batch_size=100),
        dict(
            optimizer="muon",
            muon_lr=0.1,
            weight_decay=2.0,
            schedule="linear",
            warmup=0.3,
            ema_decay=0.5,
        ),
        {
            "model.patch_drop_rate": 0.25,
            "patch_drop_off": 0.5,
            "model.global_pool": "avg",
            **DROPS,
        },
    ],
    ids=str,
)
def test_each_feature_to_the_bit(changes):
    recipe = vl.recipe(BASE, **changes)
    assert_same_run(trained(recipe, *toy(), HELD_OUT), *by_hand(recipe))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "objective", [name for name in OBJECTIVES if name != "classification"]
)
@pytest.mark.parametrize(
    "changes",
    [{}, dict(ema_decay=0.9, crop=2, flip=True, clip_norm=0.5, **DROPS), SGD],
    ids=str,
)
def test_each_other_objective_to_the_bit(objective, changes):
    """The loop, that is; what they draw and how they score has its slow twin in `test_masked`."""
    recipe = vl.recipe(BASE, objective=objective, **changes)
    assert_same_run(
        trained(recipe, *toy(), HELD_OUT),
        *by_hand(recipe, OBJECTIVES[objective](recipe)),
    )


# ---------------------------------------------------------------------------------- the log and a second call


def test_the_log_says_what_was_done(tmp_path):
    recipe, began = vl.recipe(BASE, seed=3, epochs=4, ema_decay=0.9), time.monotonic()
    result = trained(
        recipe, *toy(), HELD_OUT, out=tmp_path, label="toy", command="pytest"
    )
    took = time.monotonic() - began
    log = read_json(tmp_path / "log.json", "")
    assert log == {key: value for key, value in result.items() if key != "model"}
    expected = {
        "name": "base",
        "command": "pytest",
        "dataset": "toy",
        "seed": 3,
        "precision": "fp32",
    }
    expected |= {
        "n_train": 40,
        "n_val": 11,
        "finished": True,
        "vitlib_version": vl.__version__,
    }
    expected |= {
        "torch_version": str(torch.__version__),
        "parameters": vl.count_parameters(result["model"]),
    }
    assert {key: log[key] for key in expected} == expected
    assert (
        vl.ViTConfig(**log["config"]) == TINY
        and log["recipe"]["model"] == log["config"]
    )
    assert vl.Recipe(**{**log["recipe"], "model": TINY}) == recipe
    assert sum(row["seconds"] for row in log["epochs"]) - 0.01 <= log["seconds"] <= took
    scores = vl.evaluate(result["model"], *HELD_OUT)
    assert log["epochs"][-1]["val_loss"] == round(scores["loss"], 5)
    assert log["epochs"][-1]["val_accuracy"] == round(scores["accuracy"], 5)


def test_a_second_call_reads_the_finished_run_and_trains_nothing(tmp_path, monkeypatch):
    recipe = vl.recipe(BASE, ema_decay=0.9, **DROPS)
    first = trained(recipe, *toy(), HELD_OUT, out=tmp_path)
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(loop.Trainer, "train_step", lambda *_: pytest.fail("trained"))
    again = trained(recipe, *toy(), HELD_OUT, out=tmp_path)
    assert kept.keys() == {"checkpoint.pt", "log.json"}
    assert kept == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {**first, "model": None} == {**again, "model": None}
