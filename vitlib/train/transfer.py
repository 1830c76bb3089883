"""From one task to another: a new head to fine-tune, and ridge regression on frozen features (Sections 3.2, 4.1).

Fine-tuning is training that does not begin at random: `replace_head`, for another size of image
`model.with_img_size`, then `train_model(recipe, data, start=model)` with a recipe like "finetune".
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64, Integer, Shaped
from torch import Tensor, nn

from vitlib.checks import Classes, Count, Natural, checked, is_number
from vitlib.model.resnet import ResNet
from vitlib.model.vit import VisionTransformer
from vitlib.tensors import check_labels
from vitlib.train.evaluate import outputs

__all__ = ["features", "few_shot", "replace_head", "sample_shots"]

RIDGES = tuple(2.0**power for power in range(-10, 21, 2))


@checked
def replace_head(
    model: VisionTransformer | ResNet, num_classes: Classes, zero: bool = True
) -> VisionTransformer | ResNet:
    """A copy of the model with another head, one linear layer, that leaves out no patches in training.

    Args:
        model: A `VisionTransformer` or a `ResNet`, trained on any classes.
        num_classes: Outputs K of the new head; 0 drops the head, and the copy returns the D pooled features.
        zero: Whether the head starts at zero: all classes begin equally likely, and the first gradient reaches
            nothing but the head. False draws it as a new model's.

    Source: Section 3.2; chapter 16.

    >>> from vitlib.config import ViTConfig
    >>> replace_head(VisionTransformer(ViTConfig(depth=1)), 37).head
    Linear(in_features=192, out_features=37, bias=True)
    """
    plain: dict[str, Any] = (
        {"head": "linear", "patch_drop_rate": 0.0} if hasattr(model.cfg, "head") else {}
    )
    # a ResNet has neither
    cfg: Any = replace(model.cfg, num_classes=num_classes, **plain)
    with torch.device("meta" if zero else "cpu"):  # on "meta" nothing is drawn
        head = type(model)(cfg).head
    new: Any = copy.deepcopy(model)
    new.cfg, new.head = cfg, head.to_empty(device="cpu") if zero else head
    if zero:
        for parameter in new.head.parameters():
            nn.init.zeros_(parameter)
    if plain:
        new.patch_drop.rate = 0.0
    return new.to(next(model.parameters()))


def start_from(model: nn.Module, start: nn.Module) -> int:
    """Give a `model` the weights of `start`, made alike but for rates of dropping, and return their CRC-32."""
    configs: list[Any] = [getattr(m, "cfg", None) for m in (start, model)]
    theirs, ours = ({} if cfg is None else asdict(cfg) for cfg in configs)
    # rates shape no weight
    shape = [name for name in {**ours, **theirs} if not name.endswith("_rate")]
    if differs := [name for name in shape if theirs.get(name) != ours.get(name)]:
        words = ", ".join(
            f"{name} {theirs.get(name)!r} instead of {ours.get(name)!r}"
            for name in differs
        )
        fix = (
            f"take model=start.cfg (--set model.{differs[0]}={theirs.get(differs[0])})"
        )
        raise ValueError(
            f"expected start to be made as recipe.model says, got {words}; {fix}"
        )
    model.load_state_dict(start.state_dict())
    crc = 0
    for value in model.state_dict().values():
        crc = zlib.crc32(value.cpu().contiguous().numpy().data, crc)
    return crc


@checked
def features(
    model: VisionTransformer | ResNet,
    images: Shaped[Tensor, "n C H W"],
    batch_size: Count = 500,
) -> Float[Tensor, "n D"]:
    """What the head would read of raw images (normalised here): their pooled vectors, the model frozen, in eval mode.

    Args:
        model: Its head is left out.
        images: (n, C, H, W), uint8 or float in [0, 1]; normalised here.
        batch_size: Images at a time.

    Returns:
        (n, D) float32 on the CPU.

    Source: Equation 4 and Section 4.1; chapter 16.
    """
    return outputs(replace_head(model, 0), images, batch_size)


@checked
def sample_shots(
    labels: Integer[Tensor, " n"], shots: Count, seed: Natural = 0
) -> Int64[Tensor, " m"]:
    """Indices of a few images of each class, drawn at random.

    Args:
        labels: (n,) integers from 0.
        shots: Images of each class.
        seed: The same seed draws the same images, on every machine.

    Returns:
        (K * shots,), class by class.

    Raises:
        ValueError: If a class has too few images.

    Source: Section 4.1; chapter 16.

    >>> sample_shots(torch.tensor([1, 0, 1, 0, 0]), 2).shape
    torch.Size([4])
    """
    # else a class has no image
    check_labels(labels.cpu(), len(labels), fix="label the classes from 0 on")
    numbers, dice = labels.cpu().numpy(), np.random.default_rng(seed)
    each = [
        np.flatnonzero(numbers == label) for label in range(numbers.max(initial=0) + 1)
    ]
    drawn = [dice.permutation(members)[:shots] for members in each]
    for label, members in enumerate(drawn):
        if len(members) < shots:
            got = f"{len(members)} of class {label}; take fewer shots, or label the classes from 0 on"
            raise ValueError(f"expected {shots} images of each class, got {got}")
    return torch.from_numpy(np.concatenate(drawn))


@checked
def few_shot(
    train_x: Float[Tensor, "n D"],
    train_y: Integer[Tensor, " n"],
    test_x: Float[Tensor, "m D"],
    test_y: Integer[Tensor, " m"],
    ridge: float | Sequence[float] = RIDGES,
) -> dict:
    """Ridge regression of frozen features to {-1, 1}^K targets, solved exactly: few-shot accuracy or a linear probe.

        W = argmin sum((Z W + b - Y)^2) + ridge sum(W^2)

    Z holds the features, each with mean 0 and standard deviation 1 over the n.

    With a few images of each class this is the paper's few-shot accuracy, with all of them a linear probe. The
    intercept b has no penalty. (The authors' code has the same Z, a constant column of 100 in place of b, and one
    fixed ridge.)

    Args:
        train_x: (n, D), see `features`; flattened pixels make a baseline.
        train_y: (n,) integers from 0; K is the largest and 1.
        test_x: (m, D).
        test_y: (m,).
        ridge: Above 0. Of several, the one is taken whose squared error is smallest when each of the n images is
            left out in turn; the test images are not looked at for that.

    Returns:
        "accuracy" on the m test images, in [0, 1], "ridge", and "predictions", (m,) integers.

    Raises:
        ValueError: If there are fewer than two classes, a feature is not a number or `ridge` is not above 0.

    Source: Section 4.1, Metrics; chapter 16.

    >>> x, y = torch.tensor([[0.0], [0.1], [1.0], [0.9]]), torch.tensor([0, 0, 1, 1])
    >>> few_shot(x, y, torch.tensor([[0.3], [0.7]]), torch.tensor([0, 1]))["accuracy"]
    1.0
    """
    ridges = tuple(ridge) if isinstance(ridge, Sequence) else (ridge,)
    for x in (train_x, test_x):
        if len(x) == 0 or not x.isfinite().all():
            raise ValueError(
                "expected finite features, got none, NaN or infinity; has the model diverged?"
            )
    # classes without an image get no column
    classes, train_y = train_y.cpu().long().unique(return_inverse=True)
    test_y = test_y.cpu()
    if len(classes) < 2:
        raise ValueError("expected images of two classes or more, got one class")
    if (least := min(classes.min(), test_y.min())) < 0:
        raise ValueError(f"expected labels of 0 or more, got {least}; count from 0")
    if not ridges or not all(
        is_number(value) and 0 < value < np.inf for value in ridges
    ):
        raise ValueError(f"ridge must be above 0, got {ridges}; 1 is a fair start")
    x, z = train_x.to("cpu", torch.float64), test_x.to("cpu", torch.float64)
    mean, std = x.mean(0), x.std(0, correction=0)
    # what never changes is 0 once centred
    std = torch.where(std > 1e-9 * x.abs().max(), std, 1.0)
    x, z = (x - mean) / std, (z - mean) / std
    targets = 2 * F.one_hot(train_y).double() - 1  # (n, K)
    b = targets.mean(0)  # as x is centred
    U, S, Vt = torch.linalg.svd(x, full_matrices=False)  # one for every ridge
    turned = U.mT @ (targets - b)  # (r, K)

    def error_left_out(ridge: float) -> float:
        kept = S**2 / (S**2 + ridge)  # (r,)
        # (n, 1): of an image on its own prediction
        leverage = 1 / len(x) + (U**2 @ kept)[:, None]
        return (
            ((targets - b - U @ (kept[:, None] * turned)) / (1 - leverage))
            .square()
            .sum()
            .item()
        )

    best = min(ridges, key=error_left_out)
    W = Vt.mT @ ((S / (S**2 + best))[:, None] * turned)  # (D, K)
    predictions = classes[(z @ W + b).argmax(1)]
    accuracy = (predictions == test_y).double().mean().item()
    return {"accuracy": accuracy, "ridge": best, "predictions": predictions}


def ridge_weights(x: Tensor, targets: Tensor, ridge: float) -> Tensor:
    """argmin sum((x W - targets)^2) + ridge sum(W^2) in closed form, for more rows than columns: (D, K)."""
    scatter = (x.T @ x).double()  # (D, D)
    scatter.diagonal().add_(ridge)
    return torch.linalg.solve(scatter, (x.T @ targets).double()).to(x.dtype)
