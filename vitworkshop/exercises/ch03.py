"""The exercises of chapter 03, on positions."""

from __future__ import annotations

import math
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn

import vitlib as vl
from vitlib.model.posembed import POS_EMBEDS, LearnedPosEmbed
from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def row_of_a():
    rows = cols = 2
    return [(rows - 1 - key // cols) * (2 * cols - 1) + cols - 1 - key % cols for key in range(4)]


EXERCISES["03.a"] = Exercise(
    row_of_a,
    mistakes=[
        ("- key", "+ key", "these are key − query; the table has query − key"),
        ("(2 * cols - 1)", "cols", "a row of the list has as many places as there are column offsets, negative ones too"),
        ("(rows - 1 - key", "(0 - key", "the row offset must be made to start at 0, too"),
        ("+ cols - 1 - key", "- key", "the column offset must be made to start at 0, too"),
        ("+ cols - 1 - key", "+ cols - key", "the list begins at place 0"),
        ("(rows - 1 - key // cols)", "(1 - key % 2)", "rows count in threes; you did that with the column"),
    ],
    hints=["Take A's row of the table above, and add 1 to each number.", "(0, −1) becomes (1, 0), and 3 · 1 + 0."],
    others=[("return [", "return *[0] * 0, *["), ("range(4)", "(0.0, 1.0, 2.0, 3.0)")],
)


def similarity(table):
    unit = table / table.norm(dim=1, keepdim=True)
    return unit @ unit.T


def similarity_loops(table):
    return [[float(a @ b) / math.sqrt(float(a @ a) * float(b @ b)) for b in table] for a in table]


EXERCISES["03.b"] = Exercise(
    similarity,
    inputs=lambda: [(torch.randn(5, 8),), (torch.randn(12, 4),), (torch.randn(3, 3),)],
    mistakes=[
        ("dim=1", "dim=0", "each column has length 1 now; each row, the vector of a place, should"),
        ("dim=1, keepdim=True", "", "all rows are divided by one number; each has a length of its own"),
        ("unit = table /", "unit = table + 0 *", "these are scalar products: the lengths are not divided out"),
        ("unit @ unit.T", "unit.T @ unit", "this compares channels, (D, D); places are asked for"),
        ("unit @ unit.T", "unit @ table.T", "divided by the length of one of the two vectors, not of both"),
        (".norm(dim=1, keepdim=True)", ".square().sum(1, keepdim=True)", "a length is the root of the sum of squares"),
        ("return unit @ unit.T", "return torch.cdist(unit, unit)", "these are distances; their cosine is asked for"),
        ("return unit @ unit.T", "return (unit @ unit.T).clamp(-1, 1).arccos()", "these are the angles; their cosine is asked for"),
        ("return", "table = table - table.mean(0)\n    unit = table / table.norm(dim=1, keepdim=True)\n    return",
         "the mean is subtracted first; here it is not asked for"),
    ],
    hints=["All scalar products of rows at once are one matrix product.", "Divide each row by its length first."],
    others=[similarity_loops, lambda t: F.cosine_similarity(t[:, None], t[None], dim=-1).numpy()],
)


def offsets():
    rows, cols = 2, 3
    N = rows * cols

    def place(i, j):
        down, right = i // cols - j // cols, i % cols - j % cols
        return (down + rows - 1) * (2 * cols - 1) + right + cols - 1

    pairs = Counter(place(i, j) for i in range(N) for j in range(N))
    most, least = max(pairs.values()), min(pairs.values())
    return {"how_many": len(pairs), "row_of_4": [place(4, j) for j in range(N)], "commonest": most, "rarest": least}


EXERCISES["03.1"] = Exercise(
    offsets,
    mistakes=[
        ("len(pairs)", "N * N", "these are all pairs; many share an offset"),
        ("len(pairs)", "N", "these are the offsets of one query; other queries have others"),
        ("len(pairs)", "(len(pairs) + 1) // 2", "negative offsets count as well: the key may lie below, or to the right"),
        ("len(pairs)", "(2 * rows - 1) ** 2", "columns can be further apart than rows"),
        ("len(pairs)", "(2 * cols - 1) ** 2", "rows cannot be as far apart as columns"),
        ("len(pairs)", "N * (N + 1) // 2", "it is offsets that count, not pairs: many pairs share one"),
        ("place(4, j)", "place(j, 4)", "these are key − query; query − key is asked for"),
        ("right + cols - 1", "right + cols", "the list begins at place 0"),
        ("* (2 * cols - 1) +", "* cols +", "a row of the list has more than 3 places: columns differ by −2 to 2"),
        ("place(4, j)", "place(3, j)", "this is another patch's row: 4 is the middle one below"),
        ("place(4, j)", "place(1, j)", "this is the row of the patch above it: patches 0 to 2 are in the first row"),
        ("place(4, j) for j in range(N)", "place(4, j) for j in range(N - 1, -1, -1)", "the keys run from patch 0 to 5"),
        ("most, least = max(pairs.values())", "most, least = len(pairs)", "these are offsets; how many pairs share one?"),
        ("most, least = max(pairs.values())", "most, least = N - 1", "how many patches are a pair with themselves?"),
        ("max(pairs.values())", "4", "there is a commoner one: which offset has every patch with itself?"),
        ("min(pairs.values())", "2", "(1, 2) and (−1, −2) are two offsets, not one"),
        ("min(pairs.values())", "0", "an offset that no pair has is not in the list"),
    ],
    hints=[
        "With 2 rows, a query can be one row above the key, level with it, or one below.",
        "Make both offsets start at 0, as on 2 × 2. How many column offsets are there?",
        "Which offset has a patch with itself? How many patches can be upper left of another by (1, 2)?",
    ],
    others=[("[place(4, j) for j in range(N)]", "tuple(place(4, j) for j in range(N))"), ("len(pairs)", "float(len(pairs))")],
)


def sincos_1d(length, D):
    if D % 2:
        raise ValueError
    speeds = 10000 ** -(torch.arange(D // 2) / (D // 2))
    angles = torch.arange(length)[:, None] * speeds
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def sincos_loops(length, D):
    assert D % 2 == 0
    K = D // 2
    return [[wave(p / 10000 ** (k / K)) for wave in (math.sin, math.cos) for k in range(K)] for p in range(length)]


def on_the_circle(arguments, got, want):
    if (got.unflatten(1, (2, -1)).square().sum(1) - 1).abs().max() > 1e-3:
        return "channels k and k + D/2 should be sine and cosine of one angle: their squares do not sum to 1"


EXERCISES["03.2"] = Exercise(
    sincos_1d,
    inputs=lambda: [(10, 16), (7, 6), (5, 7)],
    mistakes=[
        ("torch.cat([angles.sin(), angles.cos()], dim=1)", "torch.stack([angles.sin(), angles.cos()], 2).flatten(1)",
         "sines and cosines take turns; all sines come first here, then all cosines"),
        ("[angles.sin(), angles.cos()]", "[angles.cos(), angles.sin()]", "sines come first, then cosines"),
        ("angles.cos()", "angles.sin()", "there are sines twice, and no cosines"),
        ("** -(", "** (", "the speeds grow with k: the exponent has a minus"),
        ("/ (D // 2))", "/ D)", "k is divided by D, not by D/2: the slowest wave is too fast"),
        ("/ (D // 2))", "/ (D // 2 - 1))", "k is divided by D/2 − 1, not by D/2: the slowest wave is too slow"),
        ("/ (D // 2))", "// (D // 2))", "a whole-number division: all speeds are 1"),
        ("torch.arange(D // 2) /", "(torch.arange(D // 2) + 1) /", "k starts at 0, so that the first speed is 1"),
        ("torch.arange(length)", "(torch.arange(length) + 1)", "places start at 0"),
        ("    if D % 2:\n        raise ValueError\n", "", "an odd D must be refused: raise an error"),
        ("10000", "1000", "the base is 10000"),
        ("* speeds", "* speeds * 2 * torch.pi", "the angle is place times speed, without 2π"),
        ("* speeds", "/ speeds", "the place is divided by its speed; multiply"),
        ("* speeds", "* speeds * torch.pi / 180", "the angle is in degrees; sin and cos take it as it is"),
        ("dim=1", "dim=0", "cosines are below the sines; each place should have both in its row: dim=1"),
        ("dim=1)", "dim=1).T", "places are rows, channels columns: transpose it"),
    ],
    probes=[on_the_circle],
    hints=["Write the D/2 speeds as one tensor first.", "All angles: places as a column, times speeds as a row.",
           "Sines of all angles, then cosines of all, side by side."],
    others=[sincos_loops, ("torch.cat([angles.sin(), angles.cos()], dim=1)", "torch.hstack([angles.sin(), angles.cos()])")],
)


def turn(m, D):
    angles = m * 10000 ** -(torch.arange(D // 2) / (D // 2))
    cos, sin = angles.cos().diag(), angles.sin().diag()
    return torch.cat([torch.cat([cos, sin], dim=1), torch.cat([-sin, cos], dim=1)])


def turn_loops(m, D):
    M, K = torch.zeros(D, D), D // 2
    for k in range(K):
        a = m * 10000 ** (-k / K)
        M[k, k] = M[K + k, K + k] = math.cos(a)
        M[k, K + k], M[K + k, k] = math.sin(a), -math.sin(a)
    return M.numpy()


def is_rotation(arguments, got, want):
    if (got @ got.T - torch.eye(len(got))).abs().max() > 1e-3:
        return "this is no rotation: the matrix times its transpose is not the identity"


EXERCISES["03.3"] = Exercise(
    turn,
    inputs=lambda: [(3, 16), (1, 6), (-2, 8)],
    mistakes=[
        ("m * 10000", "-m * 10000", "it turns backwards, by −m places: the minus belongs to the other sine"),
        ("[-sin, cos]", "[sin, cos]", "no rotation: cos(a + b) has a minus"),
        ("[cos, sin]", "[cos, -sin]", "no rotation: sin(a + b) has a plus"),
        ("m * 10000", "10000", "m is not used: this is one step, whatever m"),
        ("/ (D // 2))", "/ D)", "k is divided by D, not by D/2"),
        ("** -(", "** (", "the speeds grow with k: the exponent has a minus"),
        ("cos, sin = angles.cos().diag(), angles", "sin, cos = angles.cos().diag(), angles",
         "sine and cosine are exchanged: a step of 0 must change nothing"),
        ("dim=1)])", "dim=1)])[torch.arange(D).view(2, -1).T.flatten()][:, torch.arange(D).view(2, -1).T.flatten()]",
         "sine and cosine of a speed are neighbours here; all sines come first, then all cosines"),
        ("m * 10000", "m * torch.pi / 180 * 10000", "the angle is in degrees; sin and cos take it as it is"),
    ],
    probes=[is_rotation],
    hints=["What is sin(a + b), in sines and cosines of a and of b? Here b = m ω_k.",
           "New sine: the old sine and the old cosine, each times a number. So for the new cosine.",
           "Four blocks of (D/2, D/2), each with numbers on its diagonal only."],
    others=[turn_loops, ("torch.cat([torch.cat([cos, sin], dim=1), torch.cat([-sin, cos], dim=1)])",
                         "torch.stack([torch.hstack([cos, sin]), torch.hstack([-sin, cos])]).flatten(0, 1)")],
)


def survives(kind, rows=4, cols=5):
    """Whether K is the same for every pair of places and its neighbour pair."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        pos = POS_EMBEDS[kind]((rows, cols), 16, 2).requires_grad_(False)
    bias, table = pos.attention_bias(), pos.table()[0, 1:]
    K = (table @ table.T if bias is None else bias[0, 0, 1:, 1:]).reshape(rows, cols, rows, cols)
    across = torch.allclose(K[:, 1:, :, 1:], K[:, :-1, :, :-1], atol=1e-5)
    return across and torch.allclose(K[1:, :, 1:], K[:-1, :, :-1], atol=1e-5)


def survivors():
    found = {kind for kind in POS_EMBEDS if survives(kind)}
    return found


EXERCISES["03.4"] = Exercise(
    survivors,
    mistakes=[
        ("return found", "found.discard('none')\n    return found", "without positions K is 0 for every pair: does a shift change it?"),
        ("return found", "found.add('learned')\n    return found", "a learned table may come to it, but need not"),
        ("return found", "found.add('learned2d')\n    return found", "vectors of rows and of columns are free numbers, too"),
        ("return found", "found.discard('sincos2d')\n    return found", "what does the product of two waves depend on?"),
        ("return found", "found.discard('relative')\n    return found", "by what is the relative bias looked up?"),
        ("if survives", "if not survives", "these are the kinds that do not survive a shift"),
    ],
    hints=["Which kinds are free numbers, so that parameters exist for which K changes?",
           "In which kinds does K depend on the offset only? And is 0 always equal to 0?"],
    others=[["relative", "NONE", "Sincos2d"], "none, sincos2d and relative".replace(" and", ",")],
)


class BatchPos(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(4, 1, 48))

    def forward(self, x):
        return x + self.weight


class ClsPos(BatchPos):
    def forward(self, x):
        return torch.cat([x[:, :1] + self.weight[:1], x[:, 1:]], dim=1)


class Twins(LearnedPosEmbed):
    def forward(self, x):
        z = super().forward(x)
        return torch.cat([z[:, :-1], z[:, 3:4] - x[:, 3:4] + x[:, -1:]], dim=1)


WHO = {LearnedPosEmbed: "right", BatchPos: "sized by the batch", ClsPos: "for CLS only", Twins: "the same for two patches"}


def finder(pos):
    got = pos(torch.zeros(4, 17, 48)).detach()
    same_for_all = torch.equal(got, got[:1].expand_as(got))
    apart = torch.cdist(got[0], got[0]) + torch.eye(17)
    return not (same_for_all and bool((apart > 1e-6).all()))


def finder_unique(pos):
    got = pos(torch.zeros(4, 17, 48))
    return bool((got != got[:1]).any()) or len({tuple(row.tolist()) for row in got[0]}) < 17


EXERCISES["03.5"] = Exercise(
    finder,
    inputs=lambda: [(LearnedPosEmbed((4, 4), 48, 2),), (BatchPos(),), (ClsPos(),), (Twins((4, 4), 48, 2),)],
    mistakes=[
        ("return not (", "return (", "True and False are exchanged: True means faulty"),
        ("same_for_all and bool((apart > 1e-6).all())", "same_for_all", "the same for all images can still be the same for all patches"),
        ("same_for_all and ", "", "it compares the tokens of one image only; compare the images as well"),
        ("torch.zeros(4, 17, 48)", "torch.randn(4, 17, 48)", "random tokens hide the positions: feed zeros"),
        (" + torch.eye(17)", "", "it calls all faulty: each token is at distance 0 from itself"),
        ("apart > 1e-6", "apart.diagonal(1)[1:] > 1e-6", "two patches that are no neighbours may have one position: compare all pairs"),
    ],
    probes=[lambda arguments, got, want: f"a position embedding that is {WHO[type(arguments[0])]} is "
            f"{'called faulty' if got else 'not found'}" if got.dtype == torch.bool else None],
    hints=["What comes out if all tokens are zero?", "Compare the images with each other, then tokens within an image.",
           "Compare every token with every other one: CLS with the patches, too."],
    others=[finder_unique, ("return not (", "return not bool(")],
)


def my_table():
    table = torch.eye(16, 48)
    varies = vl.sincos_2d((4, 4), 48)
    varies, mine = varies - varies.mean(0), table - table.mean(0)
    return table * varies.norm() / mine.norm()


def judged(function):
    """Of any table: its shape, whether its rows differ, and how long what varies is beside the waves'."""
    if (table := function()) is None:
        return None
    table, waves = torch.as_tensor(table, dtype=torch.float64), vl.sincos_2d((4, 4), 48).double()
    if table.shape != waves.shape or not table.isfinite().all():
        return table
    long, wanted = ((t - t.mean(0)).norm() for t in (table, waves))
    whole = "whole" if abs(table.norm() / waves.norm() - 1) < 1e-3 else "long" if long > wanted else "short"
    return len(table.unique(dim=0)), "as the waves" if abs(long / wanted - 1) < 1e-3 else whole


EXERCISES["03.6"] = Exercise(
    my_table,
    inputs=lambda: [()],
    run=judged,
    mistakes=[
        ("* varies.norm() / mine.norm()", "* 1e-3", "what varies is shorter than in the waves: scale it"),
        ("* varies.norm() / mine.norm()", "* 1e3", "what varies is longer than in the waves: scale it"),
        ("varies - varies.mean(0), table - table.mean(0)", "varies, table",
         "the whole length is that of the waves; what varies should be, with the mean of all places taken out"),
        ("torch.eye(16, 48)", "torch.eye(16, 48).roll(1, 0).index_fill(0, torch.tensor([0]), 0).index_fill(0, torch.tensor([1]), 0)",
         "two places have the same vector: the model cannot tell them apart"),
    ],
    hints=["`parts` gives the length of what varies, of your table and of the waves.", "A factor for the whole table will do."],
    others=[lambda: scaled(torch.arange(16.0)[:, None] * torch.ones(48)), lambda: scaled(torch.randn(16, 48)).numpy()],
)


def scaled(table):
    waves = vl.sincos_2d((4, 4), 48)
    return table * (waves - waves.mean(0)).norm() / (table - table.mean(0)).norm()
