"""The exercises of chapter 16, on transfer."""

from __future__ import annotations

import math

import numpy as np
import torch

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


def by_momentum(gradients, lr, mu):
    theta, v, path = 0.0, 0.0, []
    for g in gradients:
        v = mu * v + g
        theta -= lr * v
        path.append(theta)
    return path


EXERCISES["16.c"] = Exercise(
    by_momentum,
    inputs=lambda: [
        ([1.0, -2.0, 0.5, 3.0], 0.1, 0.9),
        ([2.0, 1.0, -1.0], 1.0, 0.5),
        ([1.0] * 9, 0.03, 0.99),
    ],
    mistakes=[
        (
            "mu * v + g",
            "mu * v + (1 - mu) * g",
            "a running mean still: look at what the equation does with the new gradient",
        ),
        ("mu * v + g", "v + g", "μ is not used: what was is never forgotten"),
        ("mu * v + g", "mu * (v + g)", "the new gradient counts in full, without μ"),
        ("mu * v + g", "g", "there is no memory left: this is SGD without momentum"),
        (
            "mu * v + g",
            "(1 - mu) * v + g",
            "μ is the share that stays, not the one that is forgotten",
        ),
        (
            "lr * v",
            "lr * (g + mu * v)",
            "this looks ahead (Nesterov); the equation takes v itself",
        ),
        (
            "theta -=",
            "theta +=",
            "the step goes uphill: against the gradient it should",
        ),
        ("lr * v", "v", "the learning rate is missing"),
        (
            "v = mu * v + g\n        theta -= lr * v",
            "theta -= lr * v\n        v = mu * v + g",
            "the weight moves before v has the new gradient",
        ),
        (
            "path.append(theta)",
            "path.append(v)",
            "these are the v; where the weight stands is asked for",
        ),
        (
            "theta, v, path = 0.0, 0.0, []",
            "theta, v, path = 0.0, 0.0, [0.0]",
            "the place before the first step is in it",
        ),
    ],
    hints=[
        "If the gradient is always 1, where does v go by the equation, and where in this code?",
        "Which factor is there in the code and not in the equation?",
    ],
    others=[("theta -= lr * v", "theta = theta - v * lr")],
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


def under_way():
    def passed(mu):
        return math.ceil(math.log(0.01) / math.log(mu))

    return {"a": passed(0.9), "b": passed(0.99), "rate": 0.03 / (1 - 0.9) * (1 - 0.99)}


EXERCISES["16.2"] = Exercise(
    under_way,
    mistakes=[
        ("math.ceil(", "math.floor(", "at this step it is just short of 99 %"),
        ("math.log(0.01)", "math.log(0.1)", "this is 90 %; 99 % are asked for"),
        ("math.log(0.01)", "math.log(0.001)", "this is 99.9 %; 99 % are asked for"),
        (
            "math.log(0.01) / math.log(mu)",
            "0.99 / (1 - mu)",
            "v grows by less at each step: what is missing shrinks by the factor μ",
        ),
        ("math.ceil(", "1 + math.ceil(", "one step too many: v is 1 after the first"),
        (
            "0.03 / (1 - 0.9) * (1 - 0.99)",
            "0.03 * (1 - 0.9) / (1 - 0.99)",
            "a longer memory makes longer steps, so the rate must be smaller",
        ),
        (
            "0.03 / (1 - 0.9) * (1 - 0.99)",
            "0.03 / (1 - 0.9)",
            "this is the length of the steps; which rate gives it?",
        ),
        (
            "0.03 / (1 - 0.9) * (1 - 0.99)",
            "0.03 / 0.9 * 0.99",
            "the steps grow by 1/(1 − μ), not by μ",
        ),
        (
            "0.03 / (1 - 0.9) * (1 - 0.99)",
            "0.03",
            "the same rate gives longer steps now",
        ),
    ],
    hints=[
        "After t steps v is 1 + μ + … + μᵗ⁻¹. What is missing at the end?",
        "μᵗ must fall to a hundredth: take logarithms.",
        "(c) η/(1 − μ) is to stay what it was.",
    ],
    others=[
        {"a": 44.0, "b": torch.tensor(459), "rate": 0.003},
        ("math.ceil(", "float(1) * math.ceil("),
    ],
)


def forgets():
    share = 0.9999**10_000
    beta = 0.01 ** (1 / 32)
    return {"share": share, "beta": beta}


EXERCISES["16.3"] = Exercise(
    forgets,
    tol=1e-3,
    mistakes=[
        ("share = 0.9999", "share = 1 - 0.9999", "this is what is no longer the start"),
        (
            "10_000",
            "20_000",
            "this is the run on ImageNet; on CIFAR-10 it has half the steps",
        ),
        (
            "0.9999**10_000",
            "1 - 0.0001 * 10_000",
            "the share shrinks by a factor at each step, not by an amount",
        ),
        ("0.9999", "0.999", "this is for β = 0.999"),
        ("beta = 0.01", "beta = 1 - 0.01", "this is 1 − β"),
        (
            "beta = 0.01 **",
            "beta = 0.99 **",
            "this leaves 99 per cent; one per cent is asked for",
        ),
        ("(1 / 32)", "(1 / 8)", "this counts passes; it is steps that count"),
        (
            "0.01 ** (1 / 32)",
            "1 - 1 / 32",
            "then about a third of the start is left after 32 steps",
        ),
        (
            "0.01 ** (1 / 32)",
            "(1 - 0.01 / 32)",
            "the share shrinks by a factor at each step, not by an amount",
        ),
    ],
    hints=[
        "At each step the average keeps β of what it was.",
        "Whatever is there at the start counts β · β · β … at the end.",
        "(b) Which number, taken 32 times as a factor, gives one hundredth?",
    ],
    others=[
        ("0.9999**10_000", "math.exp(10_000 * math.log(0.9999))"),
        {"share": 0.368, "beta": 0.866},
    ],
)


def ridge_by_hand():
    z, y = torch.tensor([-1.0, 0, 1]), torch.tensor([-1.0, 1, 1])
    weights = [(z @ y / (z @ z + lam)).item() for lam in (0, 2, 98)]
    leverages = 1 / 3 + z**2 / (z @ z)
    return {"weights": weights, "leverages": leverages, "total": leverages.sum().item()}


EXERCISES["16.4"] = Exercise(
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
