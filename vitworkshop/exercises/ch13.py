"""The exercises of chapter 13, on attention maps."""

from __future__ import annotations

import copy
import math

import torch

import vitlib as vl
from vitworkshop.exercises.answers import plain
from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def in_effect(table):
    bits = -(table * torch.where(table > 0, table, 1).log2()).sum(-1)
    return 2 ** bits.mean()


def gaps(rows, cols):
    """Rows that sum to 1, the last with zeros."""
    table = (3 * torch.randn(rows, cols)).softmax(-1)
    table[-1] = torch.arange(cols) < 2
    return (table / table.sum(-1, keepdim=True),)


def number(answer, table):
    """What the answer gives; nan as a number, which can be compared."""
    found = answer(table)
    return (
        torch.as_tensor(found, dtype=torch.float64).nan_to_num(-1)
        if isinstance(found, torch.Tensor | float)
        else found
    )


EXERCISES["13.a"] = Exercise(
    in_effect,
    inputs=lambda: [gaps(3, 7), gaps(5, 9), gaps(4, 4)],
    run=number,
    mistakes=[
        (
            "torch.where(table > 0, table, 1)",
            "table",
            "0 · log 0 comes out as nan: a weight of zero adds nothing to the entropy",
        ),
        (
            "log2()",
            "log()",
            "entropy in nats, and then a power of 2: take one base for both",
        ),
        (
            "bits = -(",
            "bits = (",
            "the minus is missing: logarithms of weights are negative",
        ),
        (
            "2 ** bits.mean()",
            "bits.mean()",
            "these are the bits; how many tokens is that?",
        ),
        (
            "2 ** bits.mean()",
            "(2**bits).mean()",
            "this is the mean of each row's tokens; take the mean of the bits first",
        ),
        (
            "2 ** bits.mean()",
            "2**bits",
            "a number for each row; one for the table is asked for",
        ),
        (
            "2 ** bits.mean()",
            "2 ** bits.sum()",
            "the rows' bits are added; their mean is asked for",
        ),
        ("(-1)", "(0)", "this sums down the columns; the entropy is a row's"),
        (
            "2 ** bits.mean()",
            "1 / table.square().sum(-1).mean()",
            "this is another count, one over the sum of squares",
        ),
        (
            "2 ** bits.mean()",
            "1 / table.amax(-1).mean()",
            "the largest weight knows of one token only",
        ),
    ],
    hints=[
        "The entropy of each row first, then their mean, then a power of 2.",
        "Which weights have no logarithm, and what do they add?",
    ],
    others=[
        ("torch.where(table > 0, table, 1).log2()", "table.clamp_min(1e-30).log2()")
    ],
)


def planted():
    N, side = 64, 8
    return {"right": N, "shifted": 0, "columns": side}


EXERCISES["13.b"] = Exercise(
    planted,
    guess=True,
    mistakes=[
        (
            '"shifted": 0',
            '"shifted": 64 - 1',
            "every patch moved, the ones within a line as well",
        ),
        (
            '"shifted": 0',
            '"shifted": 8',
            "the last of a line comes at the start of the next: it is not at its place either",
        ),
        ('"shifted": 0', '"shifted": 64 - 8', "those within a line moved, too"),
        ('"columns": side', '"columns": 0', "some places lie on the mirror's own line"),
        (
            '"columns": side',
            '"columns": 2 * side',
            "only one of the two diagonals stays where it is",
        ),
        (
            '"columns": side',
            '"columns": 1',
            "the first corner stays; so does all that it is mirrored along",
        ),
        (
            '"columns": side',
            '"columns": N',
            "then the map would be its own mirror image",
        ),
        (
            "N, side = 64",
            "N, side = 65",
            "CLS is no patch: nothing can be planted there",
        ),
    ],
    hints=[
        "Where is patch p drawn by each reader?",
        "Reading column by column exchanges i and j. Where is that no change?",
    ],
    others=[
        {"right": 64.0, "shifted": 0.0, "columns": 8.0},
        ('"columns": side', '"columns": side * 1.0'),
    ],
)


def on_paper():
    A = torch.tensor([[2, 1, 1], [0, 4, 0], [1, 2, 1.0]]) / 4
    v, bits = torch.tensor([0, 2, 4.0]), torch.special.entr(A).sum(1) / math.log(2)
    rows = [[5 / 8, 0, 3 / 8], [1 / 4, 3 / 4, 0]]
    return {
        "read": A.mean(0),
        "bits": bits,
        "tokens": 2**bits,
        "back": A[0] @ v,
        "rows": rows,
        "middle": True,
        "edge": False,
    }


def of_rows(x):
    """Of two rows: whether they sum to 1, have no weight below 0, differ from each other and the map's, take back 1.5."""
    rows = plain(x)
    if not isinstance(rows, torch.Tensor) or rows.shape in ((), (3,)):
        return x
    if rows.shape != (2, 3):
        return "no two rows of three"
    rows, known = rows.double(), torch.tensor([0.5, 0.25, 0.25])
    news = min((rows[0] - rows[1]).abs().max(), *(rows - known).abs().amax(1)) > 0.005
    back = rows @ torch.tensor([0, 2, 4.0], dtype=rows.dtype)
    off = [
        abs(rows.sum(1) - 1).max() < 0.01,
        rows.min() >= 0,
        news,
        abs(back - 1.5).max() < 0.02,
    ]
    return torch.tensor([int(x) for x in off])


EXERCISES["13.1"] = Exercise(
    on_paper,
    run=of_rows,
    tol=4e-3,
    mistakes=[
        (
            "A.mean(0)",
            "A.sum(0)",
            "the columns' sums; on average over three readers is asked for",
        ),
        (
            "A.mean(0)",
            "A.mean(1)",
            "the mean of each row: these are the readers; who is read?",
        ),
        ("/ math.log(2)", "/ 1.0", "in nats; bits are asked for"),
        (
            "2**bits",
            "2**bits.round()",
            "between one bit and two lie tokens that are no whole number",
        ),
        (
            "2**bits",
            "torch.count_nonzero(A, 1)",
            "these are the weights above zero; uneven ones count for less",
        ),
        (
            "A[0] @ v",
            "v.mean()",
            "this is the plain mean of the values; take the row's weights",
        ),
        ("A[0] @ v", "A[0] @ v / 3", "weights sum to 1 already: nothing is divided"),
        (
            "[[5 / 8, 0, 3 / 8], [1 / 4, 3 / 4, 0]]",
            "[[2 / 3, 0, 3 / 8], [1 / 4, 3 / 4, -1 / 100]]",
            "a row does not sum to one, and a weight is negative",
        ),
        (
            "[[5 / 8, 0, 3 / 8], [1 / 4, 3 / 4, 0]]",
            "[[0, 5 / 8, 1 / 16], [1 / 4, 3 / 4, 0]]",
            "a row does not sum to one",
        ),
        ("[1 / 4, 3 / 4, 0]", "[0, 5 / 4, -1 / 4]", "a weight is negative"),
        (
            "[1 / 4, 3 / 4, 0]",
            "[5 / 8, 0, 3 / 8]",
            "two different rows are asked for, and not the one of the table",
        ),
        (
            "[1 / 4, 3 / 4, 0]",
            "[1 / 3, 1 / 3, 1 / 3]",
            "with these rows token 1 takes back something else",
        ),
        (
            '"middle": True',
            '"middle": False',
            "half of the least value and half of the largest, what is that?",
        ),
        (
            '"edge": False',
            '"edge": True',
            "a mean reaches the largest value only if all weight is there",
        ),
    ],
    hints=[
        "(a) Columns say who is read.",
        "(b) A half gives 1 bit times a half, a quarter gives 2 bits times a quarter.",
        "(c) The values are evenly spaced: move weight from the middle to both sides alike.",
    ],
    others=[
        {
            "read": [0.25, 0.583, 0.167],
            "bits": (1.5, 0, 1.5),
            "tokens": [2.83, 1, 2.83],
            "back": 1.5,
            "rows": [[0.4, 0.45, 0.15], [0.45, 0.35, 0.2]],
            "middle": True,
            "edge": False,
        },
        ("[5 / 8, 0, 3 / 8]", "[0.55, 0.15, 0.3]"),
    ],
)


def reorder(model, block, order):
    new = copy.deepcopy(model)
    attn = new.blocks[block].attn
    qkv, proj, h = attn.qkv, attn.proj, attn.num_heads
    qkv.weight.data = qkv.weight.data.unflatten(0, (3, h, -1))[:, order].flatten(0, 2)
    qkv.bias.data = qkv.bias.data.unflatten(0, (3, h, -1))[:, order].flatten()
    proj.weight.data = proj.weight.data.unflatten(1, (h, -1))[:, order].flatten(1)
    return new


def moved(answer, model, block, order):
    """What the reordered model answers, and its maps in that block; None waits."""
    new, x = (
        answer(model, block, order),
        torch.linspace(-2, 2, 2 * 3 * 8 * 12).sin().view(2, 3, 8, 12),
    )
    if not isinstance(new, vl.VisionTransformer):
        return new
    with torch.no_grad():
        return new(x), new.attention_maps(x, [block])[0]


def models():
    made = []
    for block, order in ((0, [2, 0, 1]), (1, [1, 2, 0]), (1, [0, 2, 1])):
        model = (
            vl.VisionTransformer(vl.ViTConfig((8, 12), 4, 3, 5, 12, 2, 3))
            .requires_grad_(False)
            .eval()
        )
        for weight in model.parameters():
            weight.normal_(std=0.4)
        made.append((model, block, order))
    return made


EXERCISES["13.2"] = Exercise(
    reorder,
    inputs=models,
    run=moved,
    mistakes=[
        (
            "    proj.weight.data = proj.weight.data.unflatten(1, (h, -1))[:, order].flatten(1)\n",
            "",
            "`proj` still expects the heads in their old order",
        ),
        (
            "    qkv.bias.data = qkv.bias.data.unflatten(0, (3, h, -1))[:, order].flatten()\n",
            "",
            "the biases of `qkv` stayed where they were",
        ),
        (
            "    qkv, proj",
            "    order = torch.tensor(order).argsort()\n    qkv, proj",
            "the other way round: new head i is old head order[i]",
        ),
        (
            "unflatten(1, (h, -1))[:, order].flatten(1)",
            "unflatten(0, (h, -1))[order].flatten(0, 1)",
            "the rows of `proj` are what it gives; heads stand in its columns",
        ),
        (
            "(3, h, -1))[:, order]",
            "(h, 3, -1))[order]",
            "`qkv` is ordered as (q, k, v) first, then by heads, not the reverse",
        ),
        (
            "(3, h, -1))[:, order]",
            "(3, -1, h))[:, :, order]",
            "a head's numbers stand side by side: (3, heads, d)",
        ),
        (
            "new.blocks[block]",
            "new.blocks[block - 1]",
            "the heads of this block stand where they were",
        ),
        (
            "copy.deepcopy(model)",
            "vl.VisionTransformer(model.cfg).requires_grad_(False).eval()",
            "this is a new model with weights of its own; copy the old one",
        ),
    ],
    hints=[
        "The rows of `qkv` can be seen as (3, heads, d). And its bias?",
        "The columns of `proj` can be seen as (heads, d): which rows of numbers do they meet?",
    ],
    others=[
        (
            "proj.weight.data.unflatten(1, (h, -1))[:, order].flatten(1)",
            "proj.weight.data.T.unflatten(0, (h, -1))[order].flatten(0, 1).T",
        ),
        ("(3, h, -1))[:, order]", "(3, h, -1)).index_select(1, torch.tensor(order))"),
    ],
)


def coarser(w):
    return w.unflatten(-1, (4, 2, 4, 2)).sum((-1, -3)).flatten(-2)


EXERCISES["13.3"] = Exercise(
    coarser,
    inputs=lambda: [
        ((2 * torch.randn(*shape, 64)).softmax(-1),) for shape in ((3,), (2, 5), ())
    ],
    mistakes=[
        (
            ".sum((-1, -3))",
            ".mean((-1, -3))",
            "these are means; each place should have the sum, so that a row still sums to 1",
        ),
        (
            ".sum((-1, -3))",
            ".amax((-1, -3))",
            "this is the largest of four; their sum is asked for",
        ),
        (
            "w.unflatten(-1, (4, 2, 4, 2)).sum((-1, -3)).flatten(-2)",
            "w.unflatten(-1, (16, 4)).sum(-1)",
            "four neighbours of one line are joined; two lines of two it should be",
        ),
        (
            ".sum((-1, -3))",
            ".sum((-2, -4))",
            "this joins patches that lie two lines apart: which axes are inside a square?",
        ),
        (
            "(4, 2, 4, 2)).sum((-1, -3))",
            "(4, 2, 4, 2))[..., 0, :, 0]",
            "every second patch is taken and the others are lost",
        ),
        (".flatten(-2)", "", "4 × 4 places, which should stand in one row of 16"),
        (
            ".sum((-1, -3)).flatten(-2)",
            ".sum((-1, -3)).transpose(-1, -2).flatten(-2)",
            "the places are numbered down the columns; read them line by line",
        ),
    ],
    hints=[
        "The 64 places are 8 lines of 8. Split each 8 into 4 pairs.",
        "Which two of the four axes run within a square?",
    ],
    others=[
        lambda w: (
            torch.nn.functional.avg_pool2d(w.reshape(-1, 1, 8, 8), 2)
            .mul(4)
            .reshape(*w.shape[:-1], 16)
        ),
        lambda w: torch.stack(
            [
                w[..., [i, i + 1, i + 8, i + 9]].sum(-1)
                for i in range(64)
                if i % 2 == i // 8 % 2 == 0
            ],
            -1,
        ),
    ],
)
