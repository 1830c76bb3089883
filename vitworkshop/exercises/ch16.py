"""The exercises of chapter 16, on transfer."""

from __future__ import annotations

import math

import numpy as np
import torch

import vitlib as vl
from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def moves():
    return {
        "zero_head": True,
        "zero_body": False,
        "random_head": True,
        "random_body": True,
    }


EXERCISES["16.a"] = Exercise(
    moves,
    guess=True,
    mistakes=[
        (
            '"zero_head": True',
            '"zero_head": False',
            "zero weights need not stay zero: the features they are multiplied with are not",
        ),
        (
            '"zero_body": False',
            '"zero_body": True',
            "if a feature changed a little, how would the logits of a zero head change?",
        ),
        (
            '"random_head": True',
            '"random_head": False',
            "the head's weights do change the loss",
        ),
        (
            '"random_body": True',
            '"random_body": False',
            "a random head passes on what changes in the features",
        ),
    ],
    hints=[
        "A gradient says: would the loss change, if this number changed a little?",
        "Do logits of a zero head depend on the features?",
    ],
    others=[
        dict(moves(), zero_head=np.True_),
        ('"random_head": True', '"random_head": torch.tensor(True)'),
    ],
)


def ridge(Z, Y, lam):
    gram = Z.T @ Z + lam * torch.eye(Z.shape[1])
    return torch.linalg.solve(gram, Z.T @ Y)


def features(n, D, K, lam):
    Z, Y = 2 * torch.randn(n, D), torch.randn(n, K)
    return Z - Z.mean(0), Y - Y.mean(0), lam


EXERCISES["16.b"] = Exercise(
    ridge,
    inputs=lambda: [
        features(9, 4, 3, 5.0),
        features(6, 5, 2, 20),
        features(12, 3, 5, 0.5),
    ],
    mistakes=[
        (
            " + lam * torch.eye(Z.shape[1])",
            "",
            "λ is not used: this is least squares without a penalty",
        ),
        (
            "lam * torch.eye(Z.shape[1])",
            "lam",
            "λ is added to every entry; it stands on the diagonal only",
        ),
        ("lam * torch", "lam**2 * torch", "λ is squared"),
        (
            "lam * torch",
            "2 * lam * torch",
            "the factor 2 of the gradient stands before both of its parts",
        ),
        (
            "lam * torch",
            "len(Z) * lam * torch",
            "λ is multiplied by n; the equation has a sum over pictures, not a mean",
        ),
        ("+ lam", "- lam", "λ is subtracted; the penalty adds to the diagonal"),
        (
            "torch.linalg.solve(gram, Z.T @ Y)",
            "gram @ Z.T @ Y",
            "multiplied by the matrix; solve for W instead",
        ),
        (
            "torch.linalg.solve(gram, Z.T @ Y)",
            "Z.T @ Y / gram.diagonal()[:, None]",
            "each feature is fitted alone; features share out what they have in common",
        ),
        (
            "return torch.linalg.solve(gram, Z.T @ Y)",
            "return torch.linalg.solve(gram, Z.T @ Y).T",
            "transposed: (D, K) is asked for",
        ),
        (
            "return torch.linalg.solve(gram, Z.T @ Y)",
            "return Z @ torch.linalg.solve(gram, Z.T @ Y)",
            "these are the predictions; the weights are asked for",
        ),
    ],
    hints=[
        "Both sides of the last equation are a few matrix products; which of them is known?",
        "`torch.linalg.solve(A, B)` gives the X for which A X = B.",
        "The identity has D rows.",
    ],
    others=[
        (
            "torch.linalg.solve(gram, Z.T @ Y)",
            "(torch.linalg.inv(gram) @ Z.T @ Y).numpy()",
        )
    ],
)


def head():
    D, K, breeds = 768, 21843, 37
    return {"old": D * K + K, "new": D * breeds + breeds, "loss": math.log(breeds)}


EXERCISES["16.1"] = Exercise(
    head,
    tol=1e-3,
    mistakes=[
        ("D * K + K", "D * K", "a bias for each class is missing"),
        (
            "D * K + K",
            "D * K + D",
            "there is a bias for each class, not for each feature",
        ),
        ("D * breeds + breeds", "D * breeds", "a bias for each class is missing"),
        (
            "D * breeds + breeds",
            "D * breeds + D",
            "there is a bias for each class, not for each feature",
        ),
        (
            "math.log(breeds)",
            "math.log2(breeds)",
            "this is in bits; the loss takes the natural logarithm",
        ),
        (
            "math.log(breeds)",
            "math.log10(breeds)",
            "the loss takes the natural logarithm",
        ),
        (
            "math.log(breeds)",
            "math.log(K)",
            "the new head knows of the new classes only",
        ),
        (
            "math.log(breeds)",
            "1 / breeds",
            "this is each class's probability; the loss is minus its logarithm",
        ),
        (
            "math.log(breeds)",
            "0 * K",
            "zero logits are no zero loss: how likely is the right class?",
        ),
    ],
    hints=[
        "A row of D weights for each class, and one number more.",
        "All logits alike: what is the probability of the right class, and minus its logarithm?",
    ],
    others=[
        ("math.log(breeds)", "round(math.log(breeds), 2)"),
        {"old": 16797267.0, "new": torch.tensor(28453), "loss": np.log(37)},
    ],
)


def ridge_by_hand():
    z, y = torch.tensor([-1.0, 0, 1]), torch.tensor([-1.0, 1, 1])
    weights = [(z @ y / (z @ z + lam)).item() for lam in (0, 2, 98)]
    leverages = 1 / 3 + z**2 / (z @ z)
    return {"weights": weights, "leverages": leverages, "total": leverages.sum().item()}


EXERCISES["16.2"] = Exercise(
    ridge_by_hand,
    tol=2e-3,
    mistakes=[
        (
            "(z @ z + lam)",
            "(3 + lam)",
            "divided by the number of pictures; by the sum of z² it should be",
        ),
        ("(z @ z + lam)", "(z @ z)", "λ is not used"),
        ("(z @ z + lam)", "(z @ z + lam**2)", "λ is squared"),
        (
            "z @ y / (z @ z + lam)",
            "z @ y / (z @ z) - lam",
            "λ shrinks the weight by making the denominator larger",
        ),
        ("(z @ y /", "(y.sum() /", "each target counts times its z"),
        ("/ (z @ z + lam)", "+ 0 * lam", "this is the sum of z y, not yet divided"),
        ("1 / 3 + z**2", "z**2", "the first part of H, the mean's, is missing"),
        (
            "z**2 / (z @ z)",
            "z / (z @ z)",
            "a leverage has the square of z: it is the picture twice",
        ),
        (
            "z**2 / (z @ z)",
            "z**2 / 3",
            "divided by the number of pictures; by the sum of z² it should be",
        ),
        (
            "leverages.sum().item()",
            "3.0",
            "as many as there are pictures; but how many numbers were fitted?",
        ),
        ("leverages.sum().item()", "1.0", "the mean is fitted, too"),
    ],
    hints=[
        "With one feature ZᵀZ is one number, and so is ZᵀY.",
        "H has 1/n in every place, and z_i z_j divided by something.",
        "(c) How many numbers were fitted to the three targets?",
    ],
    others=[
        {"weights": (1, 0.5, 0.02), "leverages": [0.833, 0.333, 0.833], "total": 2},
        ("torch.tensor([-1.0, 1, 1])", "torch.tensor([-1.0, 1, 1]) - 1 / 3"),
    ],
)


def contrast(images):
    sides = (images[:, :, 0], images[:, :, -1], images[..., 0], images[..., -1])
    border = torch.cat(sides, dim=2)
    middle = border.median(2).values[:, :, None, None]
    return (images - middle).abs().sum(1)


def on_grounds():
    """Even grounds, and a thing that fills more than half and touches one side."""
    made = []
    for n, C, H, W in ((3, 3, 8, 6), (2, 1, 5, 7)):
        images = torch.rand(n, C, 1, 1).expand(n, C, H, W).clone()
        images[:, :, 1:, 1:-1] = torch.rand(n, C, H - 1, W - 2)
        made.append((images,))
    return made


EXERCISES["16.3"] = Exercise(
    contrast,
    inputs=on_grounds,
    mistakes=[
        (
            "border.median(2).values",
            "border.mean(2)",
            "this is the border's mean, which moves with a thing that touches it; take the median",
        ),
        (
            "border.median(2)",
            "images.flatten(2).median(2)",
            "this is the median of the whole picture; only the border's pixels count",
        ),
        (
            "border.median(2).values[:, :, None, None]",
            "border.flatten(1).median(1).values[:, None, None, None]",
            "this is one median for all channels; each channel has its own",
        ),
        (
            "border.median(2).values[:, :, None, None]",
            "border.transpose(0, 1).flatten(1).median(1).values[:, None, None]",
            "this is one median for all pictures; each picture has its own",
        ),
        (
            ".abs()",
            "",
            "darker and lighter cancel: take the absolute value before the sum",
        ),
        (
            ".abs().sum(1)",
            ".square().sum(1).sqrt()",
            "this is the straight distance of two colours; the sum over the channels is asked for",
        ),
        (".sum(1)", ".mean(1)", "this is the mean over the channels; take the sum"),
        (".sum(1)", "", "a number for each channel is left; sum over the channels"),
    ],
    hints=[
        "`images[:, :, 0]` is the first row, (n, C, W); `images[..., 0]` the first column, (n, C, H).",
        "Join the four sides along the last axis, and take the median there.",
        "`[:, :, None, None]` gives the medians, (n, C), two axes to stand beside the pixels.",
    ],
    others=[
        lambda images: vl.controls.border_contrast(images),
        (
            "middle = border.median(2).values[:, :, None, None]",
            "middle = border.sort(2).values[..., border.shape[2] // 2][:, :, None, None]",
        ),
    ],
)
