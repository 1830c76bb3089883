"""The exercises of chapter 03, on positions."""

from __future__ import annotations

from collections import Counter

import torch
import torch.nn.functional as F

from vitworkshop.exercises.engine import Exercise
from vitworkshop.exercises.language import Said

EXERCISES: dict[str, Exercise] = {}


def row_of_a():
    rows = cols = 2
    return [
        (rows - 1 - key // cols) * (2 * cols - 1) + cols - 1 - key % cols
        for key in range(4)
    ]


EXERCISES["03.a"] = Exercise(
    row_of_a,
    mistakes=[
        ("- key", "+ key", "these are key − query; query − key is asked for"),
        (
            "(2 * cols - 1)",
            "cols",
            "a row of the list has as many places as there are column offsets, negative ones too",
        ),
        (
            "(rows - 1 - key",
            "(0 - key",
            "the row offset must be made to start at 0, too",
        ),
        (
            "+ cols - 1 - key",
            "- key",
            "the column offset must be made to start at 0, too",
        ),
        ("+ cols - 1 - key", "+ cols - key", "the list begins at place 0"),
        (
            "(rows - 1 - key // cols)",
            "(1 - key % 2)",
            "rows count in threes; you did that with the column",
        ),
    ],
    hints=[
        "A is at (0, 0): subtract the place of each key from it, then add 1 to each number.",
        "(0, −1) becomes (1, 0), and then?",
    ],
    others=[("return [", "return *(), *["), ("range(4)", "(0.0, 1.0, 2.0, 3.0)")],
)


def similarity(table):
    unit = table / table.norm(dim=1, keepdim=True)
    return unit @ unit.T


EXERCISES["03.b"] = Exercise(
    similarity,
    inputs=lambda: [(torch.randn(5, 8),), (torch.randn(12, 4),), (torch.randn(3, 3),)],
    mistakes=[
        (
            "dim=1",
            "dim=0",
            "each column has length 1 now; each row, the vector of a place, should",
        ),
        (
            "dim=1, keepdim=True",
            "",
            "all rows are divided by one number; each has a length of its own",
        ),
        (
            "unit = table /",
            "unit = table + 0 *",
            "the lengths are not divided out",
        ),
        (
            "unit @ unit.T",
            "unit.T @ unit",
            "this compares channels, (D, D); places are asked for",
        ),
        (
            "unit @ unit.T",
            "unit @ table.T",
            "divided by the length of one of the two vectors, not of both",
        ),
        (
            ".norm(dim=1, keepdim=True)",
            ".square().sum(1, keepdim=True)",
            "a length is the root of the sum of squares",
        ),
        (
            "return unit @ unit.T",
            "return torch.cdist(unit, unit)",
            "these are distances; their cosine is asked for",
        ),
        (
            "return unit @ unit.T",
            "return (unit @ unit.T).clamp(-1, 1).arccos()",
            "these are the angles, not their cosines",
        ),
        (
            "table / table.norm(",
            "(t := table - table.mean(0)) / t.norm(",
            "the mean is subtracted; here it is not asked for",
        ),
        (
            "table / table.norm(",
            "(t := table - table.mean(1, keepdim=True)) / t.norm(",
            "the mean of each row is subtracted, as in a correlation; here it is not asked for",
        ),
    ],
    hints=[
        "All scalar products of rows at once are one matrix product.",
        "Divide each row by its length first.",
    ],
    others=[lambda t: F.cosine_similarity(t[:, None], t[None], dim=-1).numpy()],
)


def seems_to_move():
    patch, cols = 5, 4
    took = patch - 1
    down, right = took // cols - patch // cols, took % cols - patch % cols
    return {(0, -1): "left", (0, 1): "right"}[down, right]


EXERCISES["03.c"] = Exercise(
    seems_to_move,
    guess=True,
    mistakes=[
        (
            "patch - 1",
            "patch + 1",
            "patch n has the position of patch n − 1, which lies to its left",
        ),
        (
            "return ",
            "return 'up' if 1 else ",
            "a row of the table is one column of the picture, not one row",
        ),
        (
            "return ",
            "return 'down' if 1 else ",
            "a row of the table is one column of the picture, not one row",
        ),
    ],
    hints=[
        "Which place is patch 5 given, in a grid of 4 columns?",
        "Is that place to the left or to the right of its own?",
    ],
    others=["Left", "to the left"],
)


def offsets():
    def place(i, j):
        down, right = i // cols - j // cols, i % cols - j % cols
        return (down + rows - 1) * (2 * cols - 1) + right + cols - 1

    rows, cols, N = 2, 3, 6
    pairs = Counter(place(i, j) for i in range(N) for j in range(N))
    most, least = max(pairs.values()), min(pairs.values())
    return {
        "how_many": len(pairs),
        "row_of_4": [place(4, j) for j in range(N)],
        "commonest": most,
        "rarest": least,
    }


EXERCISES["03.1"] = Exercise(
    offsets,
    mistakes=[
        ("len(pairs)", "N * N", "these are all pairs; many share an offset"),
        (
            "len(pairs)",
            "N",
            "these are the offsets of one query; other queries have others",
        ),
        (
            "len(pairs)",
            "(len(pairs) + 1) // 2",
            "negative offsets count as well: the key may lie below, or to the right",
        ),
        (
            "len(pairs)",
            "2 * rows - 1 + 2 * cols - 1",
            "each offset down goes with each one across: multiply",
        ),
        ("len(pairs)", "(2 * rows - 1) ** 2", "columns can be further apart than rows"),
        ("len(pairs)", "(2 * cols - 1) ** 2", "rows cannot be as far apart as columns"),
        (
            "len(pairs)",
            "N * (N + 1) // 2",
            "it is offsets that count, not pairs: many pairs share one",
        ),
        (
            "place(4, j)",
            "place(j, 4)",
            "these are key − query; query − key is asked for",
        ),
        (
            "return (down + rows - 1) * (2 * cols - 1) + right + cols - 1",
            "return down, right",
            "these are the offsets; now turn each into its place in the list",
        ),
        ("right + cols - 1", "right + cols", "the list begins at place 0"),
        (
            "* (2 * cols - 1) +",
            "* cols +",
            "a row of the list has more than 3 places: columns differ by −2 to 2",
        ),
        (
            "place(4, j)",
            "place(3, j)",
            "this is another patch's row: 4 is the middle one below",
        ),
        (
            "place(4, j)",
            "place(1, j)",
            "this is the row of the patch above it: 0 to 2 are the first row",
        ),
        (
            "for j in range(N)]",
            "for j in range(N)][::-1]",
            "the other way round: the keys run from patch 0 to 5",
        ),
        (
            "most, least = max(pairs.values())",
            "most, least = len(pairs)",
            "these are offsets; how many pairs share one?",
        ),
        (
            "max(pairs.values())",
            "N - 1",
            "how many patches are a pair with themselves?",
        ),
        (
            "max(pairs.values())",
            "4",
            "there is a commoner one: which offset has every patch with itself?",
        ),
        ("min(pairs.values())", "2", "(1, 2) and (−1, −2) are two offsets, not one"),
        ("min(pairs.values())", "0", "an offset that no pair has is not in the list"),
    ],
    hints=[
        "With 2 rows, a query can be one row above the key, level with it, or one below.",
        "Make both offsets start at 0, as on 2 × 2. How many column offsets are there?",
        "Which offset has a patch with itself? How many patches have another at (1, 2)?",
    ],
    others=[
        ("place(4, j) for j in range(N)]", "float(place(4, j)) for j in range(N)]"),
        ("len(pairs)", "float(len(pairs))"),
    ],
)


def sincos_1d(length, D):
    if D % 2:
        raise ValueError
    angles = torch.arange(length)[:, None] * 10000 ** -(torch.arange(D // 2) / (D // 2))
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def on_the_circle(arguments, got, want):
    if (got.unflatten(1, (2, -1)).square().sum(1) - 1).abs().max() > 1e-3:
        return Said(
            "channels k and k + D/2 should be sine and cosine of one angle: their squares do not sum to 1"
        )


EXERCISES["03.2"] = Exercise(
    sincos_1d,
    inputs=lambda: [(10, 16), (7, 6), (5, 7)],
    refused=(2,),
    mistakes=[
        (
            "dim=1)",
            "dim=1).unflatten(1, (2, -1)).mT.flatten(1)",
            "sines and cosines take turns; all sines come first",
        ),
        (
            "[angles.sin(), angles.cos()]",
            "[angles.cos(), angles.sin()]",
            "sines come first, then cosines",
        ),
        ("angles.cos()", "angles.sin()", "there are sines twice, and no cosines"),
        ("** -(", "** (", "the speeds grow with k: the exponent has a minus"),
        (
            "/ (D // 2))",
            "/ D)",
            "k is divided by D, not by D/2: the slowest wave is too fast",
        ),
        (
            "/ (D // 2))",
            "/ (D // 2 - 1))",
            "k is divided by D/2 − 1, not by D/2: the slowest wave is too slow",
        ),
        ("/ (D // 2))", "// (D // 2))", "a whole-number division: all speeds are 1"),
        (
            "torch.arange(D // 2)",
            "(torch.arange(D // 2) + 1)",
            "k starts at 0, so that the first speed is 1",
        ),
        ("torch.arange(length)", "(torch.arange(length) + 1)", "places start at 0"),
        (
            "    if D % 2:\n        raise ValueError\n",
            "",
            "an odd D must be refused: raise an error",
        ),
        ("10000", "1000", "the base is 10000"),
        (
            "* 10000",
            "* 2 * torch.pi * 10000",
            "the angle is place times speed, without 2π",
        ),
        ("* 10000", "/ 10000", "the place is divided by its speed; multiply"),
        (
            "* 10000",
            "* torch.pi / 180 * 10000",
            "the angle is in degrees; sin and cos take it as it is",
        ),
        (
            "dim=1",
            "dim=0",
            "cosines stand below the sines; each place should have both in its row: dim=1",
        ),
        ("dim=1)", "dim=1).T", "places are rows, channels columns: transpose it"),
    ],
    probes=[on_the_circle],
    hints=[
        "Write the D/2 speeds as one tensor first.",
        "All angles: places as a column, times speeds as a row.",
        "Sines of all angles, then cosines of all, side by side.",
    ],
    others=[
        (
            "torch.cat([angles.sin(), angles.cos()], dim=1)",
            "torch.hstack([angles.sin(), angles.cos()])",
        )
    ],
)


def turn(m, D):
    angles = m * 10000 ** -(torch.arange(D // 2) / (D // 2))
    cos, sin = angles.cos().diag(), angles.sin().diag()
    return torch.cat([torch.cat([cos, sin], dim=1), torch.cat([-sin, cos], dim=1)])


def is_rotation(arguments, got, want):
    if (got @ got.T - torch.eye(len(got))).abs().max() > 1e-3:
        return Said(
            "this is no rotation: the matrix times its transpose is not the identity"
        )


EXERCISES["03.3"] = Exercise(
    turn,
    inputs=lambda: [(3, 16), (1, 6), (-2, 8)],
    mistakes=[
        (
            "m * 10000",
            "-m * 10000",
            "it turns backwards, by −m places: the minus belongs to the other sine",
        ),
        ("[-sin, cos]", "[sin, cos]", "no rotation: cos(a + b) has a minus"),
        ("[cos, sin]", "[cos, -sin]", "no rotation: sin(a + b) has a plus"),
        ("m * 10000", "10000", "m is not used: this is one step, whatever m"),
        ("/ (D // 2))", "/ D)", "k is divided by D, not by D/2"),
        ("** -(", "** (", "the speeds grow with k: the exponent has a minus"),
        (
            "cos, sin =",
            "sin, cos =",
            "sine and cosine are exchanged: a step of 0 must change nothing",
        ),
        (
            "dim=1)])",
            "dim=1)])[(i := torch.arange(D).view(2, -1).T.flatten())][:, i]",
            "all sines come first, then all cosines",
        ),
        (
            "m * 10000",
            "m * torch.pi / 180 * 10000",
            "the angle is in degrees; sin and cos take it as it is",
        ),
    ],
    probes=[is_rotation],
    hints=[
        "What is sin(a + b), in sines and cosines of a and of b? Here b = m ω_k.",
        "New sine: the old sine and the old cosine, each times a number. So for the new cosine.",
        "Four blocks of (D/2, D/2), each with numbers on its diagonal only.",
    ],
    others=[("[-sin, cos]", "[sin.neg(), cos]")],
)
