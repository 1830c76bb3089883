"""Homework 1, from patches to the encoder's input: references, known mistakes, hidden arguments."""

import torch
from einops import rearrange

from classroom.homework import Task
from vitworkshop.exercises.engine import Exercise

TITLE, CHAPTERS = "From patchify to embedding", "01 to 03"


def sizes(*most):
    """A random whole number from 1 to each of these; from 2 for the first."""
    return [int(torch.randint(1 + (i == 0), n + 1, ())) for i, n in enumerate(most)]


def pictures(P):
    B, C, rows, cols = sizes(3, 2, 2, 2)
    return torch.rand(B, 1 + C, (rows + 2) * P, (cols + 3) * P)


def snake(images, P):
    B, C, H, W = images.shape
    x = images.reshape(B, C, H // P, P, W // P, P).permute(0, 2, 4, 3, 5, 1)
    x = torch.stack(
        [row.flip(1) if i % 2 else row for i, row in enumerate(x.unbind(1))], 1
    )
    return x.reshape(B, -1, P * P * C)


def overlapping(images, P, S):
    x = images.unfold(2, P, S).unfold(3, P, S)
    return rearrange(x, "b c i j p q -> b (i j) (p q c)")


def embed(images, kernel, bias):
    P = kernel.shape[2]
    tokens = rearrange(images, "b c (i p) (j q) -> b (i j) (c p q)", p=P, q=P)
    return tokens @ kernel.flatten(1).T + bias


def sequence(tokens, cls, positions, keep):
    tokens = tokens + positions[1:]
    first = (cls + positions[0]).expand(len(tokens), 1, -1)
    return torch.cat([first, tokens[:, keep]], 1)


def embed_cases():
    drawn = [(pictures(P), sizes(9)[0] + 3, P) for P in (2, 3, 4)]
    return [(x, torch.randn(D, x.shape[1], P, P), torch.randn(D)) for x, D, P in drawn]


def sequence_cases():
    drawn = [(N, sizes(8)[0] + 1, torch.randperm(N)[: N // 2]) for N in (6, 9, 12)]
    return [
        (torch.randn(3, N, D), torch.randn(1, 1, D), torch.randn(N + 1, D), keep)
        for N, D, keep in drawn
    ]


TASKS = [
    Task(
        "A snake through the picture",
        """`snake(images, P)` cuts pictures `(B, C, H, W)` into tokens `(B, N, P²C)` as `vl.patchify` does
(within a token: row, column, channel), but in a snake's order: the first row of patches from left to right, the second from right to left,
and so on. Each patch itself stays as it is.""",
        3,
        20,
        Exercise(
            snake,
            inputs=lambda: [(pictures(P), P) for P in (2, 3, 4)],
            mistakes=[
                (
                    "row.flip(1) if i % 2",
                    "row.flip(1) if i % 2 == 0",
                    "the first row is to go from left to right",
                ),
                (
                    "row.flip(1) if i % 2 else row",
                    "row",
                    "every row goes from left to right: each second one is to be turned round",
                ),
                (
                    "row.flip(1)",
                    "row.flip(1, 3)",
                    "the patches themselves are mirrored, too: only their order turns round",
                ),
                (
                    "0, 2, 4, 3, 5, 1",
                    "0, 4, 2, 3, 5, 1",
                    "the snake goes down the columns; it is to go along the rows",
                ),
                (
                    "row.flip(1) if i % 2 else row",
                    "row.flip(1)",
                    "every row is turned round; only each second one is",
                ),
                (
                    "x.reshape(B, -1, P * P * C)",
                    "x.permute(0, 1, 2, 5, 3, 4).reshape(B, -1, P * P * C)",
                    "within a token the channels come first; they are innermost",
                ),
            ],
        ),
        ["torch.arange(16.).reshape(1, 1, 4, 4), 2"],
        "01 How can all numbers move at once?",
    ),
    Task(
        "Patches that overlap",
        """`overlapping(images, P, S)`: patches of side P begin every S pixels, downwards and to the right, as long as they fit into the
picture whole. Return `(B, N, P²C)`, patches row by row, within a token row, column, channel.""",
        3,
        20,
        Exercise(
            overlapping,
            inputs=lambda: [
                (pictures(4)[..., :-1], 4, 2),
                (pictures(3), 3, 1),
                (pictures(5), 5, 3),
            ],
            mistakes=[
                (
                    "(p q c)",
                    "(c p q)",
                    "the channels come first, as F.unfold has them; they are innermost",
                ),
                ("(i j)", "(j i)", "the patches are read column by column"),
                (
                    "unfold(2, P, S).unfold(3, P, S)",
                    "unfold(2, P, P).unfold(3, P, P)",
                    "the patches do not overlap: they begin every S pixels",
                ),
                ("(p q c)", "(q p c)", "each patch is read column by column"),
                (
                    "images.unfold",
                    "torch.nn.functional.pad(images, (0, S, 0, S)).unfold",
                    "patches beyond the edge are among them: only whole ones count",
                ),
            ],
        ),
        ["torch.arange(9.).reshape(1, 1, 3, 3), 2, 1"],
        "02 Must patches be separate?",
    ),
    Task(
        "A convolution's weights, without a convolution",
        """A convolution with `kernel` `(D, C, P, P)` and `bias` `(D,)` and stride P embeds patches. `embed(images, kernel, bias)` gives
the same tokens `(B, N, D)`, patches row by row, with one matrix product and without any convolution.""",
        4,
        25,
        Exercise(
            embed,
            inputs=embed_cases,
            mistakes=[
                (
                    "(c p q)",
                    "(p q c)",
                    "the kernel's numbers lie in the order C, P, P; your tokens have the channels last",
                ),
                (" + bias", "", "the bias is missing"),
                ("(i j)", "(j i)", "the patches are read column by column"),
                (
                    "(c p q)",
                    "(c q p)",
                    "each patch is read column by column, the kernel row by row",
                ),
                (
                    "kernel.flatten(1)",
                    "kernel.flip(2, 3).flatten(1)",
                    "the kernel is turned round; what is called a convolution here does not do that",
                ),
            ],
        ),
        [
            "torch.arange(8.).reshape(1, 1, 2, 4), torch.tensor([[[[1., 0.], [0., 2.]]]]), torch.tensor([0.5])"
        ],
        "02 Is it a matrix or a convolution?",
        forbidden=r"[Cc]onv\w{0,20}\dd|convolution(?=\()|[Pp]atch_?[Ee]mbed|VisionTransformer",
    ),
    Task(
        "What the encoder gets",
        """`sequence(tokens, cls, positions, keep)`: to `tokens` `(B, N, D)` their positions are added, the rows 1 to N of `positions`
`(N + 1, D)`; then only the patches with the numbers in `keep` stay, in this order; `cls` `(1, 1, D)` with row 0 of `positions` goes before them. Return `(B, 1 + len(keep), D)`.""",
        3,
        15,
        Exercise(
            sequence,
            inputs=sequence_cases,
            mistakes=[
                ("(cls + positions[0])", "cls", "CLS has a position, too"),
                (
                    "positions[1:]",
                    "positions[:-1]",
                    "the rows are off by one: row 0 belongs to CLS",
                ),
                (
                    "tokens = tokens + positions[1:]\n    first = (cls + positions[0]).expand(len(tokens), 1, -1)\n    return torch.cat([first, tokens[:, keep]], 1)",
                    "first = (cls + positions[0]).expand(len(tokens), 1, -1)\n    return torch.cat([first, tokens[:, keep] + positions[1 : len(keep) + 1]], 1)",
                    "the patches get the positions of the first places, not their own: add before you choose",
                ),
                (
                    "[first, tokens[:, keep]]",
                    "[tokens[:, keep], first]",
                    "CLS is at the end",
                ),
                (
                    "tokens[:, keep]",
                    "tokens[:, keep.sort()[0]]",
                    "the patches are sorted again; the order of `keep` is asked for",
                ),
                ("tokens[:, keep]", "tokens", "all patches stay"),
            ],
        ),
        [
            "torch.zeros(1, 2, 2), torch.ones(1, 1, 2), torch.tensor([[1., 2.], [3., 4.], [5., 6.]]), torch.tensor([1])"
        ],
        "03 Learned: a vector for each place",
    ),
    Task(
        "In words",
        """Without position embeddings, two pictures get the same class probabilities from a ViT that reads CLS. Which two pictures, and why?
Give the step of the proof for one layer of attention. At most 150 words.""",
        3,
        15,
        rubric="1: pictures whose patches are the same in another order. "
        "1: keys and values are permuted together, so each query's weighted sum stays. 1: CLS's query is the same, and MLP and norm act on each token alone, so it holds for every block.",
        read="03 Does a Transformer notice that its patches are shuffled?",
    ),
]
