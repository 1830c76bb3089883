"""The exercises of chapter 09, on training."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def cross_entropy(logits, labels):
    log_p = logits - logits.logsumexp(dim=1, keepdim=True)
    return -log_p[torch.arange(len(labels)), labels].mean()


def batch(B, K, size):
    return size * torch.randn(B, K), torch.randint(K, (B,))


def nan_as_number(x):
    """Nan and inf as a number, which can be compared."""
    return (
        x.double().nan_to_num(-1, posinf=-1)
        if isinstance(x, torch.Tensor)
        else -1.0
        if isinstance(x, float) and not math.isfinite(x)
        else x
    )


EXERCISES["09.a"] = Exercise(
    cross_entropy,
    run=lambda answer, *pair: nan_as_number(answer(*pair)),
    inputs=lambda: [batch(7, 4, 1.0), batch(3, 6, 2.0), batch(5, 3, 300.0)],
    mistakes=[
        (
            "-log_p",
            "log_p",
            "the sign: logarithms of probabilities are negative, a loss is not",
        ),
        (
            "logits.logsumexp(dim=1, keepdim=True)",
            "logits.exp().sum(dim=1, keepdim=True).log()",
            "e to the power of a large logit is infinite: subtract the largest, or let `logsumexp` do it",
        ),
        (".mean()", ".sum()", "the sum over the batch; its mean is asked for"),
        (".mean()", "", "a number for each image; their mean is asked for"),
        (
            "dim=1",
            "dim=0",
            "this softmax runs over the images of the batch; over the classes it should",
        ),
        (
            "logits - logits.logsumexp(dim=1, keepdim=True)",
            "logits",
            "these are the label's logits: without the softmax they are no probabilities",
        ),
        (
            "logits - logits.logsumexp(dim=1, keepdim=True)",
            "logits.softmax(dim=1)",
            "the logarithm is missing",
        ),
        (
            "logits - logits.logsumexp(dim=1, keepdim=True)",
            "logits.softmax(dim=1).log_softmax(dim=1)",
            "a softmax too many",
        ),
        (
            "log_p[torch.arange(len(labels)), labels].mean()",
            "log_p.mean()",
            "this is the mean over all classes; only the right label's counts",
        ),
        (
            "log_p[torch.arange(len(labels)), labels].mean()",
            "log_p.amax(1).mean()",
            "this takes the likeliest class, right or wrong; the label's is asked for",
        ),
        (
            "log_p[torch.arange(len(labels)), labels]",
            "log_p[:, labels]",
            "this takes the columns of all labels for every image: pair each row with its own label",
        ),
        (
            "labels].mean()",
            "labels].mean() / math.log(2)",
            "in bits; the natural logarithm is asked for",
        ),
    ],
    hints=[
        "log p = z − log Σ e^z, for each row.",
        "One entry of each row is wanted: index with rows 0, 1, 2, … and the labels.",
        "`logsumexp` bears large logits, exp by itself does not.",
    ],
    others=[F.cross_entropy],
)


def step(model, optimizer, x, y):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def three_steps(answer, seed, width):
    """The weights of a small model after the student's step was called three times, and before."""
    torch.manual_seed(seed)
    model, x, y = (
        nn.Sequential(nn.Linear(5, width), nn.GELU(), nn.Linear(width, 3)),
        torch.randn(8, 5),
        torch.randint(3, (8,)),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        answer(model, optimizer, x, y)
    return torch.cat([w.detach().flatten() for w in model.parameters()])


EXERCISES["09.b"] = Exercise(
    step,
    inputs=lambda: [(0, 6), (1, 4)],
    run=three_steps,
    mistakes=[
        (
            "    optimizer.zero_grad()\n    loss.backward()\n",
            "    loss.backward()\n    optimizer.zero_grad()\n",
            "no gradient is there when the step is made: nothing is learned",
        ),
        ("    optimizer.zero_grad()\n", "", "the gradients of all steps add up"),
        (
            "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()",
            "    optimizer.step()\n    optimizer.zero_grad()\n    loss.backward()",
            "each step is made with the gradient of the one before",
        ),
        (
            "F.cross_entropy(model(x), y)",
            "-F.cross_entropy(model(x), y)",
            "uphill: the loss should fall",
        ),
        (
            "model(x), y",
            "model(x).softmax(1), y",
            "a softmax too many: cross-entropy has its own",
        ),
        (
            "model(x), y)",
            "model(x), y, reduction='sum')",
            "the sum over the batch: steps as many times as long as there are images",
        ),
    ],
    hints=[
        "Say what each line leaves in `w.grad`.",
        "What does `optimizer.step()` find there?",
    ],
    others=[
        (
            "    optimizer.zero_grad()\n    loss",
            "    model.zero_grad(set_to_none=True)\n    loss",
        )
    ],
)


def first_steps():
    rate, gradients = 0.001, (0.00001, -0.01, 10.0)
    return {
        "tiny": math.copysign(rate, -gradients[0]),
        "small": math.copysign(rate, -gradients[1]),
        "large": math.copysign(rate, -gradients[2]),
    }


EXERCISES["09.c"] = Exercise(
    first_steps,
    guess=True,
    tol=2e-3,
    mistakes=[
        ("-gradients", "gradients", "a step goes against the gradient"),
        (
            "math.copysign(rate, -gradients[0])",
            "-rate * gradients[0]",
            "so gradient descent would; Adam divides by the gradient's size",
        ),
        (
            "math.copysign(rate, -gradients[1])",
            "-rate * gradients[1]",
            "so gradient descent would; Adam divides by the gradient's size",
        ),
        (
            "math.copysign(rate, -gradients[2])",
            "-rate * gradients[2]",
            "so gradient descent would; Adam divides by the gradient's size",
        ),
        (
            "math.copysign(rate, -",
            "(1 - 0.9) / (1 - 0.999) ** 0.5 * math.copysign(rate, -",
            "without the hats; what do they divide by at t = 1?",
        ),
    ],
    hints=[
        "Put t = 1 and m = v = 0 into the equation: what are the hats?",
        "g over the root of g²: what is left of its size?",
    ],
    others=[
        {"tiny": -1e-3, "small": 1e-3, "large": -1e-3},
        ("rate, gradients = 0.001", "rate, gradients = 0.0010001"),
    ],
)


def guesser():
    return {"loss": math.log(100), "share": math.exp(-2.303)}


EXERCISES["09.1"] = Exercise(
    guesser,
    tol=3e-3,
    mistakes=[
        ("math.log(100)", "math.log(10)", "this is for ten classes"),
        (
            "math.log(100)",
            "math.log10(100)",
            "to the base of ten; the loss takes the natural logarithm",
        ),
        (
            "math.log(100)",
            "math.log2(100)",
            "in bits; the loss takes the natural logarithm",
        ),
        (
            "math.log(100)",
            "1 / 100",
            "this is the probability of each class; minus its logarithm is the loss",
        ),
        (
            "math.exp(-2.303)",
            "0 * 1.0",
            "a probability of 0 would cost infinitely much",
        ),
        ("math.exp(-2.303)", "1.0", "a probability of 1 would cost nothing"),
        ("math.exp(-2.303)", "10.0", "in percent; a share of 1 is asked for"),
    ],
    hints=[
        "What does each of a hundred classes get, if nothing is known?",
        "The loss is −log p: solve for p.",
    ],
    others=[{"loss": 4.61, "share": 0.1}, {"loss": 4.605, "share": 1 / 10}],
)


def flips():
    return "sides"


EXERCISES["09.2"] = Exercise(
    flips,
    mistakes=[
        ('"sides"', '"heads"', "look at the accuracy of what stands on its head"),
        ('"sides"', '"both"', "one of the two costs this model many answers"),
        (
            '"sides"',
            '"none"',
            "one of the two leaves the accuracy what it was, and makes pictures new",
        ),
    ],
    hints=[
        "`images.flip(-1)` mirrors left and right, `flip(-2)` turns upside down.",
        "What stands always below in these drawings?",
    ],
    others=["Sides", " sides "],
)


def enough():
    p1, p2 = 0.900, 0.905
    variance = p1 * (1 - p1) + p2 * (1 - p2)
    return {
        "error": 100 * (variance / 1000) ** 0.5,
        "n": variance * (2 / (p2 - p1)) ** 2,
    }


EXERCISES["09.3"] = Exercise(
    enough,
    tol=0.01,
    mistakes=[
        ("+ p2 * (1 - p2)", "", "the error of one score; both of them vary"),
        (
            "+ p2 * (1 - p2)",
            "- p2 * (1 - p2)",
            "variances add up, also those of a difference",
        ),
        ("100 * (variance", "(variance", "a share; in points is asked for"),
        (
            "(variance / 1000) ** 0.5",
            "variance / 1000",
            "this is the variance; its root is the error",
        ),
        (
            "(variance / 1000) ** 0.5",
            "(variance) ** 0.5",
            "of a single image: divide the variance by how many there are",
        ),
        (
            "p1 * (1 - p1) + p2 * (1 - p2)",
            "((p1 * (1 - p1)) ** 0.5 + (p2 * (1 - p2)) ** 0.5) ** 2",
            "errors were added; variances add up",
        ),
        ("(2 / (p2", "(1 / (p2", "the difference should be twice its error"),
        (
            "(2 / (p2 - p1)) ** 2",
            "2 / (p2 - p1)",
            "the error falls with the root of n: a square is missing",
        ),
    ],
    hints=[
        "One image is right or not: variance p(1 − p). And the mean of n of them?",
        "Set twice the error equal to the difference, and solve for n.",
    ],
    others=[
        {"error": 1.33, "n": 28_000},
        ("100 * (variance / 1000) ** 0.5", "round(100 * (variance / 1000) ** 0.5, 2)"),
    ],
)


def shrink(optimizer, noise):
    w = nn.Parameter(torch.ones(2000))
    stepper = optimizer([w], lr=0.001, weight_decay=0.1)
    for _ in range(100):
        w.grad = noise * torch.randn(2000)
        stepper.step()
    return w.mean().item()


def shrink_by_hand(optimizer, noise):
    w, m, v, coupled = torch.ones(3000), 0, 0, optimizer is torch.optim.Adam
    for t in range(1, 101):
        g = noise * torch.randn(3000) + 0.1 * w * coupled
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        w = w - 0.001 * (
            m / (1 - 0.9**t) / (v / (1 - 0.999**t)).sqrt() + 0.1 * w * (not coupled)
        )
    return w.mean()


EXERCISES["09.4"] = Exercise(
    shrink,
    tol=3e-3,
    inputs=lambda: [
        (torch.optim.AdamW, 1.0),
        (torch.optim.Adam, 0.001),
        (torch.optim.Adam, 10.0),
        (torch.optim.AdamW, 0.001),
    ],
    mistakes=[
        ("weight_decay=0.1", "weight_decay=0.01", "a decay of 0.01; 0.1 is asked for"),
        (
            ", weight_decay=0.1",
            "",
            "the decay is not given: Adam has none then, AdamW a small one",
        ),
        ("lr=0.001, ", "lr=0.01, ", "a rate of 0.01; 0.001 is asked for"),
        ("range(100)", "range(10)", "ten steps; a hundred are asked for"),
        (
            "w.mean().item()",
            "1 - w.mean().item()",
            "this is how much was lost; what is left is asked for",
        ),
        (
            "w.mean().item()",
            "w.std().item()",
            "this is how far the weights have come apart; their mean is asked for",
        ),
        (
            "noise * torch.randn(2000)",
            "noise * torch.ones(2000)",
            "these gradients all push one way; noise pushes nowhere",
        ),
        (
            "optimizer([w]",
            "torch.optim.AdamW([w]",
            "it shrinks alike whatever is given: are the class and the size of the noise both used?",
        ),
    ],
    hints=[
        "Set `w.grad` by hand, then let the optimiser step.",
        "Many weights at once, and their mean: then the noise averages out.",
    ],
    others=[shrink_by_hand, ("2000", "2500")],
)
