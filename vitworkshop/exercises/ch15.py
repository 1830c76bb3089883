"""The exercises of chapter 15, on what a ViT learns."""

from __future__ import annotations

import torch
import torch.nn.functional as F

import vitlib as vl
from vitworkshop.exercises.answers import plain
from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def vit(img_size, depth, heads):
    """A small model with random weights, also in the norms and the head."""
    model = vl.VisionTransformer(
        vl.ViTConfig(img_size, 4, 3, 5, 12, depth, heads)
    ).requires_grad_(False)
    for weight in model.parameters():
        weight.normal_(std=0.4)
    return model.eval()


def distance(A, rows, cols, P):
    i = torch.arange(rows * cols)
    down, right = i // cols - (i // cols)[:, None], i % cols - (i % cols)[:, None]
    far = P * (down**2 + right**2).sqrt()
    A = A[1:, 1:] / A[1:, 1:].sum(1, keepdim=True)
    return (A * far).sum(1).mean()


EXERCISES["15.a"] = Exercise(
    distance,
    inputs=lambda: [
        ((2 * torch.randn(1 + r * c, 1 + r * c)).softmax(1), r, c, P)
        for r, c, P in ((3, 4, 8), (5, 2, 4), (1, 6, 16))
    ],
    mistakes=[
        (
            " / A[1:, 1:].sum(1, keepdim=True)",
            "",
            "without CLS a row sums to less than 1: divide it by what is left",
        ),
        (
            "far = P *",
            "far = 1 *",
            "these are distances in patches; pixels are asked for",
        ),
        (
            "(down**2 + right**2).sqrt()",
            "(down.abs() + right.abs())",
            "this goes along rows and columns; distance is the straight line",
        ),
        (".sqrt()", "", "these are squares of distances: the root is missing"),
        (
            "i // cols - (i // cols)[:, None], i % cols - (i % cols)[:, None]",
            "i // rows - (i // rows)[:, None], i % rows - (i % rows)[:, None]",
            "a row of the grid has as many patches as there are columns",
        ),
        (
            "A = A[1:, 1:] / A[1:, 1:]",
            "A = A[:-1, :-1] / A[:-1, :-1]",
            "CLS stands in front: the first row and column go, not the last",
        ),
        (
            ".sum(1, keepdim=True)",
            ".sum(0, keepdim=True)",
            "each column is divided by its sum; a row is what one patch reads",
        ),
        (
            ".sum(1).mean()",
            ".sum(1)",
            "a number for each reader; their mean is asked for",
        ),
        (
            ".sum(1).mean()",
            ".sum()",
            "the readers are added up; their mean is asked for",
        ),
        (
            "(A * far).sum(1)",
            "far.gather(1, A.argmax(1, keepdim=True))",
            "this is how far the most read patch is; every patch counts by its weight",
        ),
    ],
    hints=[
        "Without CLS first: N rows of N numbers, each divided by its sum.",
        "Patch i stands in row i // cols and column i % cols, P pixels apart.",
        "Weights times distances, summed along a row.",
    ],
    others=[
        lambda A, rows, cols, P: vl.attention_distance(
            A[None, None, None],
            vl.ViTConfig(img_size=(rows * P, cols * P), patch_size=P),
        )[0, 0]
    ],
)


def reader():
    return "corner"


EXERCISES["15.b"] = Exercise(
    reader,
    guess=True,
    mistakes=[
        (
            '"corner"',
            '"middle"',
            "from the middle, no patch is further than half of the grid",
        ),
        (
            '"corner"',
            '"alike"',
            "the weights are alike, the distances to the other patches are not",
        ),
        ('"corner"', '"edge"', "the edge's middle has near patches on three sides"),
    ],
    hints=[
        "How far is the farthest patch, from the corner and from the middle?",
        "How many patches are next to the one in the corner?",
    ],
    others=["Corner", " CORNER "],
)


def without(attn, x, m):
    q, k, v = attn.project(x)
    o = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
    o[:, m] = 0
    return attn.proj(o.transpose(1, 2).flatten(2))


def layers():
    made = []
    for D, h, m, T in ((12, 3, 1, 5), (16, 2, 0, 7), (15, 5, 4, 4)):
        layer = vl.Attention(D, h).requires_grad_(False)
        for weight in layer.parameters():
            weight.normal_(std=0.5)
        made.append((layer, torch.randn(2, T, D), m))
    return made


def without_term(attn, x, m):
    q, k, v = attn.project(x)
    o, d = F.scaled_dot_product_attention(q, k, v)[:, m], q.shape[-1]
    return (attn(x) - o @ attn.proj.weight[:, m * d : m * d + d].T).numpy()


EXERCISES["15.c"] = Exercise(
    without,
    inputs=layers,
    mistakes=[
        (
            "    o[:, m] = 0\n    return attn.proj(o.transpose(1, 2).flatten(2))",
            "    out, d = attn.proj(o.transpose(1, 2).flatten(2)), q.shape[-1]\n    out[..., m * d:m * d + d] = 0\n    return out",
            "in the output, numbers m·d to (m+1)·d are made of all heads",
        ),
        ("o[:, m] = 0", "o[:, m - 1] = 0", "another head is off"),
        (
            "o[:, m] = 0",
            "o = o * (torch.arange(len(o[0])) == m)[:, None, None]",
            "the other way round: all heads are off but this one",
        ),
        (
            "o[:, m] = 0",
            "o[:, m] = o[:, m].mean(1, keepdim=True)",
            "the head still hands on a mean; off means zeros",
        ),
        (
            "    o = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v\n    o[:, m] = 0",
            "    q[:, m] = 0\n    o = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v",
            "with queries of zero the head reads all alike; what it hands on is not zero",
        ),
        (
            "o[:, m] = 0",
            "o[:, m], o = 0, o * o.shape[1] / (o.shape[1] - 1)",
            "the other heads became larger; they should stay as they are",
        ),
        (
            "o.transpose(1, 2).flatten(2))",
            "o.transpose(1, 2).flatten(2)) - attn.proj.bias",
            "the bias of the projection belongs to no head, and stays",
        ),
        (
            ".transpose(1, 2).flatten(2)",
            ".flatten(1).view(x.shape)",
            "heads are joined token by token: exchange the axes of heads and tokens first",
        ),
    ],
    hints=[
        "In which numbers does head m still stand by itself, before or after the projection?",
        "`attn.project(x)` gives q, k, v with an axis for the heads.",
        "Zeros for o_m, then join the heads, then project.",
    ],
    others=[
        without_term,
        (
            "(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v",
            "F.scaled_dot_product_attention(q, k, v)",
        ),
    ],
)


def row_of_four():
    far = 10 * (torch.arange(4.0)[:, None] - torch.arange(4.0)).abs()
    return {
        "even": [*far.mean(1)[:2].tolist(), far.mean().item()],
        "first": far[:, 0].mean(),
        "right": far[range(4), [1, 2, 3, 3]].mean(),
        "invented": [3, 3, 1, 4],
    }


def of_readers(x):
    """Of the patches that readers 1 to 4 read: the mean distance; 0 if all read one patch, -1 if there is none such."""
    read = plain(x)
    if not isinstance(read, torch.Tensor) or read.ndim == 0 or len(read) == 3:
        return x
    if read.shape != (4,):
        return "no four patches"
    if not torch.isin(read, torch.arange(1, 5)).all():
        return -1.0
    return (
        10 * (read - torch.arange(1, 5)).abs().double().mean()
        if (read != read[0]).any()
        else 0.0
    )


EXERCISES["15.1"] = Exercise(
    row_of_four,
    run=of_readers,
    mistakes=[
        (
            "far.mean(1)[:2]",
            "(far.sum(1) / 3)[:2]",
            "a patch reads itself as well: four patches share the weight",
        ),
        (
            "far.mean().item()",
            "far.mean(1)[:2].mean().item() + 2.5",
            "the mean over all four readers is asked for",
        ),
        ("10 *", "1 *", "in patches; pixels are asked for"),
        (
            "far[:, 0].mean()",
            "far[:, 0].sum() / 3",
            "reader 1 counts, too: it reads itself",
        ),
        (
            "far[:, 0].mean()",
            "far[:, 0].amax()",
            "this is the farthest reader; their mean is asked for",
        ),
        (
            "far[range(4), [1, 2, 3, 3]].mean()",
            "far[0, 1]",
            "the last patch has no right neighbour: it reads itself",
        ),
        (
            "far[range(4), [1, 2, 3, 3]].mean()",
            "far[range(4), [1, 2, 3, 3]].sum()",
            "this is the sum over readers",
        ),
        (
            "[3, 3, 1, 4]",
            "[1, 1, 1, 1]",
            "all read the same patch, and the distance is (b)'s",
        ),
        ("[3, 3, 1, 4]", "[2, 2, 0, 3]", "the patches are numbered 1 to 4"),
        (
            "[3, 3, 1, 4]",
            "[2, 3, 4, 4]",
            "this is (c)'s head: the four distances must sum to more",
        ),
        ("[3, 3, 1, 4]", "[4, 4, 1, 1]", "this is as far as a head can look: too far"),
    ],
    hints=[
        "(a) From patch 1 the others are 10, 20 and 30 pixels away, and itself?",
        "(d) By how much must the four distances sum to have that mean?",
    ],
    others=[
        {"even": (15, 10, 12.5), "first": 15, "right": 7.5, "invented": [4, 1, 2, 4]},
        ("[3, 3, 1, 4]", "[1, 4, 1, 3]"),
    ],
)


def likeness(z):
    unit = F.normalize(z - z.mean((0, 1)), dim=-1)
    grid = torch.cartesian_prod(torch.arange(8.0), torch.arange(8.0))
    steps = torch.cdist(grid, grid)
    near, far = steps == 1, steps >= 5
    return [(unit @ unit.mT)[:, keep].mean().item() for keep in (near, far)]


EXERCISES["15.2"] = Exercise(
    likeness,
    inputs=lambda: [
        (torch.randn(B, 64, D) + torch.randn(D) + torch.randn(64, D).cumsum(0) / 4,)
        for B, D in ((3, 5), (2, 9))
    ],
    mistakes=[
        (
            "z - z.mean((0, 1))",
            "z",
            "the mean is not subtracted: what all tokens share makes all pairs alike",
        ),
        (
            "z.mean((0, 1))",
            "z.mean(0)",
            "each place's own mean is subtracted; one mean over pictures and places is asked for",
        ),
        (
            "z.mean((0, 1))",
            "z.mean(1, keepdim=True)",
            "each picture's own mean is subtracted; one mean over pictures and places is asked for",
        ),
        (
            "F.normalize(z - z.mean((0, 1)), dim=-1)",
            "z - z.mean((0, 1))",
            "these are scalar products; a cosine divides by the lengths",
        ),
        (
            "F.normalize(z - z.mean((0, 1)), dim=-1)",
            "(n := F.normalize(z, dim=-1)) - n.mean((0, 1))",
            "the mean is subtracted first, then lengths are made 1",
        ),
        ("steps == 1", "steps <= 1", "each patch is compared with itself, too"),
        (
            "steps == 1",
            "(steps > 0) & (steps < 2)",
            "patches that meet in a corner are √2 apart",
        ),
        ("steps >= 5", "steps > 5", "exactly 5 counts as far"),
        (
            "steps >= 5",
            "steps > 1",
            "these are all other pairs; 5 apart or more is asked for",
        ),
        ("(near, far)]", "(far, near)]", "near comes first"),
    ],
    hints=[
        "All cosines of one picture are a matrix (N, N).",
        "The distances of all pairs of places are another: choose by it.",
        "`z.mean((0, 1))` is one vector of D numbers.",
    ],
    others=[
        (
            "(unit @ unit.mT)[:, keep].mean().item()",
            "(unit @ unit.mT).mean(0)[keep].mean()",
        )
    ],
)


def turned_lens(model, z, Q):
    return model.head(model.norm(z @ Q))


EXERCISES["15.3"] = Exercise(
    turned_lens,
    inputs=lambda: [
        (vit((8, 8), 1, 2), torch.randn(n, 12), torch.linalg.qr(torch.randn(12, 12))[0])
        for n in (4, 7)
    ],
    mistakes=[
        (
            "model.norm(z @ Q)",
            "model.norm(z) @ Q",
            "turned after the norm; the tokens are turned, then read",
        ),
        ("model.norm(z @ Q)", "z @ Q", "the last norm is missing"),
        ("z @ Q", "z @ Q.T", "turned backwards, by the transpose"),
        ("z @ Q", "z", "nothing is turned"),
        (
            "model.head(model.norm(z @ Q))",
            "model.norm(z @ Q)",
            "these are tokens still: the head is missing",
        ),
        (
            "model.head(model.norm(z @ Q))",
            "model.head(model.norm(z @ Q)).softmax(-1)",
            "these are probabilities; logits are asked for",
        ),
        (
            "model.head(model.norm(z @ Q))",
            "model.head(model.norm(z @ Q)).argmax(-1)",
            "these are the classes; logits are asked for",
        ),
        (
            "model.norm(z @ Q)",
            "model.norm(model.blocks[-1]((z @ Q)[None])[0])",
            "the last block comes once more; z has left it already",
        ),
    ],
    hints=[
        "The lens is the model's last norm, then its head.",
        "Which of the three comes first?",
    ],
    others=[
        lambda model, z, Q: torch.stack(
            [model.head(model.norm(Q.T @ row)) for row in z]
        ).tolist(),
        (
            "model.head(model.norm(z @ Q))",
            "F.linear(model.norm(z @ Q), model.head.weight, model.head.bias)",
        ),
    ],
)
