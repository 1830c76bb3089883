"""Homework 2, attention and the encoder's block: references, known mistakes, hidden arguments."""

import torch
import torch.nn.functional as F

from classroom.homework import Task
from classroom.homework.h1 import sizes
from vitworkshop.exercises.engine import Exercise

TITLE, CHAPTERS = "Attention and the encoder", "04 to 08"


def masked(q, k, v, real):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(~real[:, None, :], -1e9)
    return scores.softmax(-1) @ v


def split(qkv, h):
    B, N, _ = qkv.shape
    return qkv.reshape(B, N, 3, h, -1).permute(2, 0, 3, 1, 4)


def grouped_norm(x, gamma, beta, groups):
    B, N, D = x.shape
    parts = x.reshape(B, N, groups, D // groups)
    parts = parts - parts.mean(-1, keepdim=True)
    parts = parts / (parts.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    return parts.reshape(B, N, D) * gamma + beta


def mlp_block(x, w1, w2, gain):
    y = F.layer_norm(x, x.shape[-1:], eps=1e-6)
    return x + gain * (F.gelu(y @ w1.T) @ w2.T)


def masked_cases():
    drawn = []
    for N in (4, 6, 7):
        B, d = sizes(3, 6)
        q, k, v = torch.randn(3, B, N, d + 2).mul(1.5).unbind()
        real = torch.arange(N) < torch.randint(1, N, (B, 1))
        drawn.append((q, k, v, real))
    return drawn


def norm_cases():
    shapes = [(2, sizes(5)[0] + 1, D, g) for D, g in ((6, 3), (8, 2), (12, 4))]
    return [
        (3 * torch.randn(B, N, D) + 2, torch.randn(D), torch.randn(D), g)
        for B, N, D, g in shapes
    ]


def block_cases():
    drawn = [(D, 2 * D + sizes(4)[0], sizes(5)[0]) for D in (5, 6, 8)]
    return [
        (
            2 * torch.randn(2, N, D) + 1,
            torch.randn(h, D),
            torch.randn(D, h),
            torch.randn(D),
        )
        for D, h, N in drawn
    ]


TASKS = [
    Task(
        "Attention without the filling",
        """Pictures of different sizes make sequences of different lengths, filled up to N tokens. `masked(q, k, v, real)` is attention,
softmax(q kᵀ / √d) v, of `(B, N, d)`, in which no query looks at a token of filling: `real` `(B, N)` is True for real tokens. Rows of filling may look at real tokens, like all others.""",
        4,
        25,
        Exercise(
            masked,
            inputs=masked_cases,
            mistakes=[
                (" / q.shape[-1] ** 0.5", "", "the scores are not divided by √d"),
                ("** 0.5", "", "the scores are divided by d; by its root is right"),
                (
                    "real[:, None, :]",
                    "real[:, :, None]",
                    "the mask is on the queries; the keys of filling are to be left out",
                ),
                (
                    "scores = scores.masked_fill(~real[:, None, :], -1e9)\n    return scores.softmax(-1)",
                    "return (scores.softmax(-1) * real[:, None, :])",
                    "the weights of a row no longer sum to 1: leave the keys out before the softmax",
                ),
                (
                    "scores = scores.masked_fill(~real[:, None, :], -1e9)",
                    "",
                    "the filling is looked at like all others",
                ),
                (
                    "-1e9",
                    "0.0",
                    "a score of 0 is a score like others; it must have weight 0",
                ),
                (
                    "softmax(-1)",
                    "softmax(-2)",
                    "the softmax runs over queries, not keys",
                ),
            ],
        ),
        [
            "torch.ones(1, 2, 1), torch.ones(1, 2, 1), torch.tensor([[[3.], [9.]]]), torch.tensor([[True, False]])"
        ],
        "05 How do all tokens ask at once?",
    ),
    Task(
        "Three times h heads",
        """One matrix gives queries, keys and values at once: `qkv` `(B, N, 3·h·d)`, where all of the queries come first, then the keys, then
the values, and in each of them one head after the other. `split(qkv, h)` returns `(3, B, h, N, d)`.""",
        3,
        15,
        Exercise(
            split,
            inputs=lambda: [
                (torch.randn(B, sizes(5)[0] + h, 3 * h * d), h)
                for B, h, d in ((2, 2, 3), (3, 3, 2), (1, 4, 5))
            ],
            mistakes=[
                (
                    "reshape(B, N, 3, h, -1).permute(2, 0, 3, 1, 4)",
                    "reshape(B, N, h, 3, -1).permute(3, 0, 2, 1, 4)",
                    "you read q, k, v of each head in turn; all queries come first",
                ),
                (
                    "reshape(B, N, 3, h, -1).permute(2, 0, 3, 1, 4)",
                    "reshape(3, B, h, N, -1)",
                    "right shape, wrong contents: a reshape never changes the order",
                ),
                (
                    "reshape(B, N, 3, h, -1).permute(2, 0, 3, 1, 4)",
                    "reshape(B, N, 3, -1, h).permute(2, 0, 4, 1, 3)",
                    "a head's d numbers lie side by side; yours are h apart",
                ),
                (
                    "permute(2, 0, 3, 1, 4)",
                    "permute(2, 0, 1, 3, 4)",
                    "tokens and heads are still to be exchanged: (3, B, h, N, d)",
                ),
            ],
        ),
        [
            "torch.arange(12.).reshape(1, 2, 6), 1",
            "torch.arange(12.).reshape(1, 1, 12), 2",
        ],
        "05 Why several heads?",
    ),
    Task(
        "A norm in groups",
        """LayerNorm takes mean and variance of all D numbers of a token. `grouped_norm(x, gamma, beta, groups)` takes them of each of `groups` equal,
neighbouring parts of a token by itself (the variance divided by the part's length, and 10⁻⁶ added to it), then scales by `gamma` and shifts by `beta`, both `(D,)`.""",
        4,
        20,
        Exercise(
            grouped_norm,
            inputs=norm_cases,
            tol=1e-5,
            mistakes=[
                (
                    "groups, D // groups)",
                    "1, D)",
                    "all D numbers are normalised together; each part by itself is asked for",
                ),
                (
                    "parts.square().mean(-1, keepdim=True)",
                    "parts.var(-1, keepdim=True)",
                    "`var` divides by n − 1; divide by n",
                ),
                (" * gamma + beta", "", "gamma and beta are missing"),
                (
                    "parts = parts - parts.mean(-1, keepdim=True)",
                    "",
                    "the mean is not taken away",
                ),
                (
                    "parts.square().mean(-1, keepdim=True) + 1e-6).sqrt()",
                    "parts.square().mean(-1, keepdim=True) + 1e-6)",
                    "divided by the variance; by its root is right",
                ),
                (
                    "* gamma + beta",
                    "* (1 + gamma) + beta",
                    "gamma itself scales, not 1 + gamma",
                ),
            ],
        ),
        ["torch.tensor([[[1., 3., 10., 30.]]]), torch.ones(4), torch.zeros(4), 2"],
        "06 What does LayerNorm do to a token?",
    ),
    Task(
        "Half a block",
        """The second half of a pre-norm block, with LayerScale: `mlp_block(x, w1, w2, gain)` normalises x by LayerNorm (without gamma and beta,
ε = 10⁻⁶), multiplies with `w1` `(hidden, D)` and `w2` `(D, hidden)` as `nn.Linear` without bias would, an exact GELU between them, scales each of the D numbers by `gain` and adds x.""",
        4,
        20,
        Exercise(
            mlp_block,
            inputs=block_cases,
            mistakes=[
                ("x + gain", "gain", "the residual is missing: x is to be added"),
                (
                    "x + gain",
                    "y + gain",
                    "the residual adds what was normalised; x itself is to be added",
                ),
                ("F.gelu", "F.relu", "this is ReLU; GELU is asked for"),
                (
                    "y = F.layer_norm(x, x.shape[-1:], eps=1e-6)",
                    "y = x",
                    "x is not normalised before the MLP",
                ),
                ("gain * ", "", "`gain` is not used"),
                (
                    "x + gain * (F.gelu(y @ w1.T) @ w2.T)",
                    "gain * (x + F.gelu(y @ w1.T) @ w2.T)",
                    "`gain` scales what the MLP adds, not x",
                ),
                (
                    "F.gelu(y @ w1.T)",
                    "(y @ w1.T)",
                    "without a nonlinearity two matrices are one",
                ),
            ],
        ),
        [
            "torch.tensor([[[1., -1.]]]), torch.eye(2), torch.eye(2), torch.tensor([1., 0.])"
        ],
        "06 What is in a block?",
    ),
    Task(
        "In words",
        """Somebody trains a ViT and forgets to divide the scores by √d. What happens to the softmax and to the gradients of queries and keys, and why
does it get worse with d? At most 150 words.""",
        3,
        15,
        rubric="1: scores of independent parts with variance 1 have variance d. 1: the softmax comes near to one-hot. "
        "1: its derivative w(1 − w) then is near 0, so hardly any gradient reaches queries and keys.",
        read="05 Why divide by √d?",
    ),
]
