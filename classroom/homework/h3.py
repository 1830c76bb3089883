"""Homework 3, training: references, known mistakes, hidden arguments."""

import torch
import torch.nn.functional as F

from classroom.homework import Task
from classroom.homework.h1 import sizes
from vitworkshop.exercises.engine import Exercise

TITLE, CHAPTERS = "Training", "09 and 10"


def smoothed(logits, labels, eps):
    B, K = logits.shape
    target = F.one_hot(labels, K) * (1 - eps) + eps / K
    return -(target * logits.log_softmax(1)).sum(1).mean()


def adamw(p, g, m, v, t, lr, decay):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    step = m / (1 - 0.9**t) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    return p - lr * step - lr * decay * p, m, v


def clip(gradients, most):
    norm = torch.stack([g.square().sum() for g in gradients]).sum().sqrt()
    factor = min(1.0, most / norm)
    return [factor * g for g in gradients]


def pasted(images, labels, order, box, K):
    top, left, bottom, right = box
    mixed = images.clone()
    mixed[:, :, top:bottom, left:right] = images[order, :, top:bottom, left:right]
    share = (bottom - top) * (right - left) / (images.shape[2] * images.shape[3])
    hot = F.one_hot(labels, K).float()
    return mixed, (1 - share) * hot + share * hot[order]


def loss_cases():
    drawn = [(sizes(7)[0] + 2, sizes(6)[0] + 1, eps) for eps in (0.1, 0.3, 0.0)]
    return [(4 * torch.randn(B, K), torch.randint(K, (B,)), eps) for B, K, eps in drawn]


def step_cases():
    drawn = [(t, *torch.randn(3, sizes(4)[0], 3)) for t in (1, 3, 40)]
    return [
        (
            p,
            g,
            m * (t > 1),
            torch.rand(p.shape) * (t > 1),
            t,
            0.1,
            0.3,
        )
        for t, p, g, m in drawn
    ]


def clip_cases():
    return [
        (
            [torch.randn(sizes(5)[0], 2), 3 * torch.randn(4), torch.randn(sizes(3)[0])],
            most,
        )
        for most in (1.0, 0.5, 1000.0)
    ]


def pasted_cases():
    drawn = []
    for H, W in ((8, 10), (9, 7), (6, 12)):
        B, K = sizes(5)[0] + 1, 4
        box = (2, 1, H - 2, sizes(W - 3)[0] + 1)
        drawn.append(
            (
                torch.rand(B, 2, H, W),
                torch.arange(B) % K,
                torch.arange(B).roll(1),
                box,
                K,
            )
        )
    return drawn


TASKS = [
    Task(
        "Cross-entropy, smoothed",
        """`smoothed(logits, labels, eps)`: the mean cross-entropy of a batch, `logits` `(B, K)`, whose targets are one-hot vectors times
1 − eps, plus eps/K for each class. Logits may be hundreds large. Use neither `F.cross_entropy` nor its class.""",
        3,
        15,
        Exercise(
            smoothed,
            inputs=lambda: [
                *loss_cases(),
                (300 * torch.randn(4, 5), torch.randint(5, (4,)), 0.1),
            ],
            mistakes=[
                (
                    "eps / K",
                    "eps / (K - 1)",
                    "eps is shared by all K classes, the right one among them",
                ),
                (" * (1 - eps)", "", "the one-hot vectors are to be scaled by 1 − eps"),
                (
                    ".sum(1).mean()",
                    ".mean()",
                    "the mean is over pictures only; over classes it is a sum",
                ),
                (
                    ".sum(1).mean()",
                    ".sum()",
                    "the sum over the batch; its mean is asked for",
                ),
                (
                    "logits.log_softmax(1)",
                    "logits.softmax(1).log()",
                    "large logits give inf or nan: take log_softmax",
                ),
                ("return -", "return ", "the sign is the other way round"),
                ("+ eps / K", "", "the share of the other classes is missing"),
            ],
        ),
        ["torch.tensor([[2.0, 0.0]]), torch.tensor([0]), 0.2"],
        "10 And what if the label changes, too?",
        forbidden="cross_entropy|CrossEntropy|label_smoothing",
    ),
    Task(
        "A step of AdamW",
        """`adamw(p, g, m, v, t, lr, decay)` returns the new weights, first and second moments `(p, m, v)` after step t = 1, 2, … with gradient `g`,
β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁸ beside the root, and decoupled weight decay lr · decay · p. Change none of the arguments, and use nothing of `torch.optim`.""",
        4,
        25,
        Exercise(
            adamw,
            inputs=step_cases,
            mistakes=[
                (
                    "m / (1 - 0.9**t) / ((v / (1 - 0.999**t))",
                    "m / ((v)",
                    "the bias correction is missing: the first steps are too small or too large",
                ),
                (
                    "m = 0.9 * m + 0.1 * g\n",
                    "g = g + decay * p\n    m = 0.9 * m + 0.1 * g\n",
                    "the decay goes through the gradient as well: that is Adam with L2, and here twice",
                ),
                (" - lr * decay * p", "", "the weight decay is missing"),
                (
                    "lr * decay * p",
                    "decay * p",
                    "the decay is to be scaled by the learning rate",
                ),
                (
                    ").sqrt() + 1e-8",
                    ") + 1e-8",
                    "divided by the second moment; by its root is right",
                ),
                ("p - lr * step", "p + lr * step", "it goes up the loss"),
                ("0.1 * g", "g", "the new gradient's share of m is 1 − β₁"),
                ("m / (1 - 0.9**t)", "m", "m is not corrected, v is"),
            ],
        ),
        [
            "torch.tensor([1.0]), torch.tensor([0.5]), torch.tensor([0.0]), torch.tensor([0.0]), 1, 0.1, 0.0"
        ],
        "10 What does the W in AdamW change?",
        parts=("the weights", "the first moment", "the second moment"),
        forbidden=r"\boptim\b|build_optimizer|_fused_adamw|_single_tensor",
    ),
    Task(
        "All gradients together",
        """`clip(gradients, most)` takes a list of tensors and returns one: if the length of all their numbers together, as one vector, is more than
`most`, all are scaled by one factor so that it is `most`; else they stay. Change none of the arguments.""",
        3,
        15,
        Exercise(
            clip,
            inputs=clip_cases,
            mistakes=[
                (
                    "[factor * g for g in gradients]",
                    "[min(1.0, most / g.norm()) * g for g in gradients]",
                    "each tensor is clipped by itself; one factor for all is asked for",
                ),
                (
                    "min(1.0, most / norm)",
                    "most / norm",
                    "short gradients are made longer; they are to stay",
                ),
                (
                    "[factor * g for g in gradients]",
                    "[g.clamp(-most, most) for g in gradients]",
                    "each number is clipped: that changes the direction",
                ),
                (".sqrt()", "", "this is the squared length"),
                (
                    "min(1.0",
                    "max(1.0",
                    "long gradients stay and short ones grow: min, not max",
                ),
            ],
        ),
        [
            "[torch.tensor([3.0]), torch.tensor([4.0])], 1.0",
            "[torch.tensor([0.3]), torch.tensor([0.4])], 1.0",
        ],
        "09 What stands around the four lines?",
    ),
    Task(
        "A piece of another picture",
        """`pasted(images, labels, order, box, K)`: into picture i the piece `box = (top, left, bottom, right)` (bottom and right are not in it) of
picture order[i] is pasted, at the same place. Return the new pictures and soft labels `(B, K)`, shared by area. Change none of the arguments.""",
        3,
        20,
        Exercise(
            pasted,
            inputs=pasted_cases,
            mistakes=[
                (
                    "(1 - share) * hot + share * hot[order]",
                    "share * hot + (1 - share) * hot[order]",
                    "the shares are exchanged: the pasted piece is the other's",
                ),
                (
                    "images.shape[2] * images.shape[3]",
                    "images.shape[2] ** 2",
                    "the picture is not square: its area is H · W",
                ),
                (
                    "mixed[:, :, top:bottom, left:right] =",
                    "mixed[:, :, left:right, top:bottom] =",
                    "rows and columns are exchanged",
                ),
                ("hot[order]", "hot", "the labels of the pasted pieces are missing"),
                (
                    "(1 - share) * hot + share * hot[order]",
                    "(hot + hot[order]) / 2",
                    "half and half; the shares are those of the areas",
                ),
                (
                    "(bottom - top) * (right - left)",
                    "(bottom - top + 1) * (right - left + 1)",
                    "bottom and right do not belong to the piece",
                ),
                (
                    "images[order, :, top:bottom, left:right]",
                    "images[order.argsort(), :, top:bottom, left:right]",
                    "picture order[i] is pasted into picture i, not the reverse",
                ),
            ],
        ),
        [
            "torch.arange(8.).reshape(2, 1, 2, 2), torch.tensor([0, 1]), torch.tensor([1, 0]), (0, 0, 1, 1), 2"
        ],
        "10 And what if the label changes, too?",
        parts=("the pictures", "the labels"),
    ),
    Task(
        "In words",
        """Somebody tries 40 settings, takes the one with the best accuracy on the test set, and reports that accuracy. What is wrong with the number,
in which direction, and what should have been done? At most 150 words.""",
        3,
        15,
        rubric="1: the best of many noisy numbers is above its expectation, so it is too high on average. "
        "1: choose on validation pictures. 1: read the test set once, for the choice, and say the spread over seeds.",
        read="09 Which pictures may choose?",
    ),
]
