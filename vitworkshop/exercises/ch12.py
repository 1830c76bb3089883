"""The exercises of chapter 12, on scaling."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

import vitlib as vl
from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def prices():
    def macs(L=12, D=768, M=3072, P=16):
        N = (224 / P) ** 2
        return (
            N * P**2 * 3 * D
            + L * ((N + 1) * (4 * D**2 + 2 * D * M) + 2 * (N + 1) ** 2 * D)
            + D * 1000
        )

    dearer = {
        "depth": macs(L=12.12),
        "width": macs(D=768 * 1.01, M=3072 * 1.01),
        "patch": macs(P=16 / 1.01),
    }
    return {name: 100 * (more / macs() - 1) for name, more in dearer.items()}


EXERCISES["12.a"] = Exercise(
    prices,
    guess=True,
    tol=0.25,
    mistakes=[
        (
            "L=12.12",
            "L=12 * 1.01**2",
            "twice as many blocks cost twice as much, and no more",
        ),
        ("L=12.12", "L=12.0", "every block has its price"),
        (
            "D=768 * 1.01, M=3072 * 1.01",
            "D=768 * 1.005, M=3072 * 1.005",
            "most matrices are D × D or D × M: both of their sides grow",
        ),
        (
            "D=768 * 1.01, M=3072 * 1.01",
            "D=768 * 1.015, M=3072 * 1.015",
            "a matrix has two sides that grow",
        ),
        (
            "D=768 * 1.01, M=3072 * 1.01",
            "D=768 * 1.02, M=3072 * 1.02",
            "four is the factor for twice the width; here it is one per cent",
        ),
        (
            "P=16 / 1.01",
            "P=16 * 1.01",
            "smaller patches are more patches: the price rises",
        ),
        ("P=16 / 1.01", "P=16 / 1.005", "patches become smaller along both sides"),
        (
            "P=16 / 1.01",
            "P=16 / 1.02",
            "so it is once attention's T² outweighs all else; here it does not",
        ),
    ],
    hints=[
        "Which of L, D, M and T stand in the formula once, which twice?",
        "Patches one per cent smaller: by how many per cent does their number grow?",
    ],
    others=[
        {"depth": 1.0, "width": torch.tensor(2), "patch": 2.1},
        ("L=12.12", "L=12 * 1.01"),
    ],
)


def frontier(points):
    kept, best = [], -1.0
    for point in points:
        if point[1] > best:
            kept.append(point)
            best = point[1]
    return kept


EXERCISES["12.b"] = Exercise(
    frontier,
    inputs=lambda: [
        ([(1, 0.3), (2, 0.5), (3, 0.4), (4, 0.45), (5, 0.5), (6, 0.7)],),
        ([(1.5, 0.2), (2, 0.1), (4, 0.3)],),
        ([(1, 0.4), (3, 0.6), (7, 0.5), (8, 0.55)],),
    ],
    mistakes=[
        (
            "point[1] > best",
            "point[1] >= best",
            "one that is only as good as a cheaper one is not kept",
        ),
        (
            "    best = point[1]",
            "best = point[1]",
            "compared with the one before; no cheaper one of all may be as good",
        ),
        ("            best = point[1]\n", "", "all are kept: what is the best so far?"),
        (
            "in points:",
            "in points[::-1]:",
            "walked from dear to cheap; it goes from cheap to dear",
        ),
        (
            "return kept",
            "return kept[1:]",
            "nothing is cheaper than the cheapest: it stays",
        ),
        (
            "return kept",
            "return kept[-1:]",
            "this is the best alone; the cheaper ones that lead to it are kept, too",
        ),
        (
            "kept.append(point)",
            "kept.append(point[1])",
            "the compute belongs to a point as well",
        ),
        ("return kept", "return kept[::-1]", "from cheap to dear, please"),
    ],
    hints=[
        "Remember the best accuracy so far.",
        "Keep a point only if it is above that; what is the best so far then?",
    ],
    others=[
        lambda points: [
            p for i, p in enumerate(points) if all(p[1] > q[1] for q in points[:i])
        ],
        lambda points: np.array(
            [
                p
                for p, top in zip(
                    points,
                    np.maximum.accumulate([-1, *(p[1] for p in points)]),
                    strict=False,
                )
                if p[1] > top
            ]
        ),
    ],
)


def gradient(model, x, y, parts):
    model.zero_grad()
    for a, b in zip(x.chunk(parts), y.chunk(parts), strict=True):
        (F.cross_entropy(model(a), b) / parts).backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def batches(*sizes):
    made = []
    for D, B, n in sizes:
        model = vl.VisionTransformer(
            vl.ViTConfig(
                img_size=8,
                patch_size=4,
                embed_dim=D,
                depth=1,
                num_heads=2,
                num_classes=5,
                init_std=0.3,
            )
        )
        made.append((model, torch.rand(B, 3, 8, 8), torch.arange(B) % 5, n))
    return made


def dirty(answer, model, *arguments):
    """Calls it with a model that has a gradient already."""
    model(arguments[0][:1]).sum().backward()
    return answer(model, *arguments)


EXERCISES["12.c"] = Exercise(
    gradient,
    inputs=lambda: batches((12, 8, 4), (8, 6, 2)),
    run=dirty,
    mistakes=[
        (
            "    model.zero_grad()\n    for a, b in zip(x.chunk(parts), y.chunk(parts), strict=True):\n",
            "    for a, b in zip(x.chunk(parts), y.chunk(parts), strict=True):\n        model.zero_grad()\n",
            "each part erases what those before it have added: the last one's gradient is left",
        ),
        (
            "    model.zero_grad()\n",
            "",
            "the gradient of an earlier call is still in it",
        ),
        (
            "model(a), b) / parts)",
            "model(a), b))",
            "the gradients are added up; the mean divides by the number of parts",
        ),
        (
            "model(a), b) / parts)",
            "model(a), b) / len(x))",
            "each part's loss is a mean already: divide by the number of parts, not of pictures",
        ),
        (
            "model(a), b) / parts)",
            "model(a), b, reduction='sum') / parts)",
            "the losses of a part are summed, not averaged",
        ),
        (
            "model(a), b) / parts)",
            "model(a), b) * parts)",
            "multiplied by the number of parts; divide",
        ),
        (
            "x.chunk(parts), y.chunk(parts)",
            "x.chunk(parts)[1:], y.chunk(parts)[1:]",
            "the first part is left out",
        ),
    ],
    hints=[
        "`backward` adds to `.grad`. Who sets it to zero, and when?",
        "Go through the loop with two parts: what is in `.grad` after each line?",
    ],
    others=[
        lambda model, x, y, parts: torch.cat(
            [
                g.flatten()
                for g in torch.autograd.grad(
                    F.cross_entropy(model(x), y), [*model.parameters()]
                )
            ]
        ),
        (
            "(F.cross_entropy(model(a), b) / parts)",
            "(F.cross_entropy(model(a), b, reduction='sum') / len(x))",
        ),
    ],
)


def bill():
    T, D, M = 197, 768, 3072
    products, matrices = 2 * T**2 * D, T * (4 * D**2 + 2 * D * M)
    return {"share": products / (products + matrices), "tokens": 2 * D + M}


EXERCISES["12.1"] = Exercise(
    bill,
    tol=0.01,
    mistakes=[
        (
            "2 * T**2 * D",
            "T**2 * D",
            "there are two products: queries with keys, weights with values",
        ),
        (
            "/ (products + matrices)",
            "/ matrices",
            "in parts of the rest; the share is of the whole block",
        ),
        ("(4 * D**2 + 2 * D * M)", "4 * D**2", "the MLP belongs to the block, too"),
        (
            "(4 * D**2 + 2 * D * M)",
            "(3 * D**2 + 2 * D * M)",
            "attention's output projection is missing",
        ),
        (
            "(4 * D**2 + 2 * D * M)",
            "(4 * D**2 + D * M)",
            "an MLP has two matrices, up and down",
        ),
        (
            "products / (products",
            "100 * products / (products",
            "in percent; a share lies between 0 and 1",
        ),
        (
            '"tokens": 2 * D + M',
            '"tokens": 2 * D',
            "so it is in attention alone; now the MLP pays too",
        ),
        (
            '"tokens": 2 * D + M',
            '"tokens": D + M',
            "4D² and 2DM, divided by 2D: how many D does the first give?",
        ),
        (
            '"tokens": 2 * D + M',
            '"tokens": 4 * D + 2 * M',
            "there are two products inside attention: 2T²D",
        ),
        (
            '"tokens": 2 * D + M',
            '"tokens": D + M // 2',
            "half of it is where T²D is as much as the matrices; there are two such products",
        ),
    ],
    hints=[
        "Write out a block's MACs, and divide all by 2TD.",
        "(b) A half: both sides are equally large. For which T?",
    ],
    others=[
        ('"tokens": 2 * D + M', '"tokens": 2.0 * D + M'),
        (
            "products / (products + matrices)",
            "round(products / (products + matrices), 3)",
        ),
    ],
)


def ring():
    def around(K):
        return [2 * (K - 1), 2 * (K - 1)]

    def star(K):
        return 2 * (K - 1) * K

    return {"ring": around(4), "busiest": star(4), "eight": [*around(8), star(8)]}


EXERCISES["12.2"] = Exercise(
    ring,
    mistakes=[
        (
            "[2 * (K - 1), 2 * (K - 1)]",
            "[K - 1, K - 1]",
            "by then each sum is complete in one place; it must go around once more",
        ),
        (
            "[2 * (K - 1), 2 * (K - 1)]",
            "[2 * K, 2 * K]",
            "the last one to add a number keeps it: one round fewer, each time",
        ),
        (
            "[2 * (K - 1), 2 * (K - 1)]",
            "[2 * (K - 1), 2 * (K - 1) * K]",
            "each hands over one number a round, not a row",
        ),
        (
            "[2 * (K - 1), 2 * (K - 1)]",
            "[2 * (K - 1), K]",
            "rounds and numbers: how many does each hand over in a round?",
        ),
        (
            "return 2 * (K - 1) * K",
            "return (K - 1) * K",
            "the sums must be handed back, too",
        ),
        (
            "return 2 * (K - 1) * K",
            "return 2 * (K - 1)",
            "each of the others has a row of numbers, not one",
        ),
        (
            "return 2 * (K - 1) * K",
            "return 2 * K * K",
            "the one in the middle hands nothing to himself",
        ),
        ("[*around(8), star(8)]", "[*around(4), star(4)]", "this is for four students"),
        (
            "[*around(8), star(8)]",
            "[*around(8), 2 * 7 * 4]",
            "the rows of eight students have eight numbers",
        ),
        (
            "[*around(8), star(8)]",
            "[star(8), *around(8)]",
            "rounds, numbers, and then the busiest",
        ),
    ],
    hints=[
        "First every number is added up around the circle. How many rounds until the first sum is complete?",
        "Then the sums travel around: how many rounds more?",
        "(b) The fourth takes rows from three, and gives rows to three.",
    ],
    others=[
        ('"ring": around(4)', '"ring": torch.tensor(around(4))'),
        ("return 2 * (K - 1) * K", "return 2.0 * (K - 1) * K"),
    ],
)


def pictures():
    left = 80e9 - 16 * 304e6
    block = 4 * 577 * (8 * 1024 + 2 * 4096 + 16 + 4)
    again = 24 * 4 * 577 * 1024 + block
    return {"kept": left // (24 * block), "checkpoints": left // again}


EXERCISES["12.3"] = Exercise(
    pictures,
    tol=0.003,
    mistakes=[
        (" - 16 * 304e6", "", "the parameters take their room first, 16 bytes each"),
        ("16 * 304e6", "4 * 304e6", "gradients and Adam's two averages need room, too"),
        ("80e9", "80 * 2**30", "80 GB are 80 · 10⁹ bytes here"),
        ("4 * 577 * (8", "577 * (8", "a float has four bytes"),
        ("4 * 577 * (8", "2 * 577 * (8", "in float32 a number has four bytes"),
        (
            "+ 16 + 4)",
            "+ 16 + 4 + 2 * 16 * 577)",
            "the fused attention keeps no tables of weights, T × T for each head: take the equation as it is",
        ),
        ("8 * 1024 + 2 * 4096", "8 * 1024", "the MLP keeps twice its width, too"),
        (
            "left // (24 * block)",
            "left // block",
            "this is for one block; there are 24",
        ),
        (
            "left // (24 * block)",
            "left // (24 * block) + 1",
            "one more does not fit: round down",
        ),
        (
            "1024 + block\n",
            "1024\n",
            "while a block is computed again, all that it keeps is there",
        ),
        ("24 * 4 * 577 * 1024", "4 * 577 * 1024", "each of 24 blocks has a checkpoint"),
        (
            "1024 + block\n",
            "1024 + 24 * block\n",
            "only one block at a time is computed again",
        ),
        (
            "24 * 4 * 577 * 1024",
            "24 * 577 * 1024",
            "a checkpoint's floats have four bytes each, too",
        ),
    ],
    hints=[
        "What do the parameters leave of the 80 GB?",
        "What does one picture keep in one block, and in all?",
        "With checkpoints: D floats for each token and block, and one block's whole.",
    ],
    others=[
        ("left // again", "int(left / again)"),
        ("left // (24 * block)", "float(left // (24 * block))"),
    ],
)


def uneven(model, x, y, size):
    model.zero_grad()
    for a, b in zip(x.split(size), y.split(size), strict=True):
        (F.cross_entropy(model(a), b, reduction="sum") / len(x)).backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


SUM, LOOP = (
    ', reduction="sum") / len(x))',
    "    model.zero_grad()\n    for a, b in zip(x.split(size), y.split(size), strict=True):\n",
)
EXERCISES["12.4"] = Exercise(
    uneven,
    inputs=lambda: batches((12, 7, 3), (8, 11, 4)),
    run=dirty,
    mistakes=[
        (
            SUM,
            ") / len(x.split(size)))",
            "every part counts alike, though the last has fewer pictures",
        ),
        (
            SUM,
            ") * size / len(x))",
            "the last part has fewer pictures than the others, and should count less",
        ),
        (SUM, "))", "the parts' means are added up: divide, and weigh by pictures"),
        (
            SUM,
            ") / len(x))",
            "the mean loss of a part is divided by all pictures: it lost its own number of pictures",
        ),
        (
            SUM,
            ', reduction="sum"))',
            "this is the gradient of the sum; the mean is asked for",
        ),
        (
            SUM,
            ', reduction="sum") / size)',
            "the sum is divided by one part's size, not by all pictures",
        ),
        (
            "    model.zero_grad()\n",
            "",
            "the gradient of an earlier call is still in it",
        ),
        (
            LOOP,
            LOOP[22:] + "    " + LOOP[:22],
            "each part erases what those before it have added",
        ),
        (
            "x.split(size), y.split(size)",
            "x.split(size)[:-1], y.split(size)[:-1]",
            "the last part is left out",
        ),
    ],
    hints=[
        "How much should each picture count in the mean over all?",
        "A part's mean loss times its number of pictures is its sum of losses.",
    ],
    others=[
        (SUM, ") * len(a) / len(x))"),
        lambda model, x, y, size: torch.cat(
            [
                g.flatten()
                for g in torch.autograd.grad(
                    F.cross_entropy(model(x), y), [*model.parameters()]
                )
            ]
        ),
    ],
)
