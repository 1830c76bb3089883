"""The exercises of chapter 04, on other image sizes."""

from __future__ import annotations

import torch
import torch.nn.functional as F

import vitlib as vl
from vitworkshop.exercises.engine import Exercise
from vitworkshop.exercises.language import Said

EXERCISES: dict[str, Exercise] = {}


def centres(old, new):
    return (torch.arange(new) + 0.5) * old / new - 0.5


EXERCISES["04.a"] = Exercise(
    centres,
    inputs=lambda: [(4, 8), (5, 3), (8, 12), (7, 2)],
    mistakes=[
        (
            " - 0.5",
            "",
            "old place 0 has its centre at ½, too: subtract a half at the end",
        ),
        (
            "+ 0.5",
            "+ 0.0",
            "these are left edges of the new places: their centres lie half a place further",
        ),
        (
            "(torch.arange(new) + 0.5) * old / new - 0.5",
            "torch.arange(new) * old / new",
            "the halves are missing, or cancel: it is centres that lie at one spot, not left edges",
        ),
        (
            "* old / new",
            "* new / old",
            "upside down: with more new places each step is shorter than an old place",
        ),
        (
            "(torch.arange(new) + 0.5) * old / new - 0.5",
            "torch.arange(new) * (old - 1) / (new - 1)",
            "these are aligned ends, the other convention: the picture would have to shrink",
        ),
        (
            " * old / new - 0.5",
            " / new",
            "in parts of the picture: count in old places",
        ),
        (
            "torch.arange(new)",
            "torch.arange(old)",
            "there should be one for each new place",
        ),
        ("torch.arange(new)", "torch.arange(1, new + 1)", "i counts from 0"),
        (
            "(torch.arange(new) + 0.5) * old / new - 0.5",
            "((torch.arange(new) + 0.5) * old / new - 0.5).round()",
            "rounded to whole places: they may lie between",
        ),
        (
            "(torch.arange(new) + 0.5) * old / new - 0.5",
            "((torch.arange(new) + 0.5) * old / new - 0.5).clamp(0, old - 1)",
            "pushed inside: a centre may lie beyond the first or the last old one",
        ),
    ],
    hints=[
        "The equation's second line, for all i at once: `torch.arange(new)`.",
        "Two halves: one to find a new centre, one because old centres have a half as well.",
    ],
    others=[
        lambda old, new: [(i + 0.5) * old / new - 0.5 for i in range(new)],
        (
            "(torch.arange(new) + 0.5) * old / new - 0.5",
            "torch.linspace(old / new / 2, old - old / new / 2, new).double() - 0.5",
        ),
    ],
)


def what_costs():
    means = {
        name: s["mean"]
        for name, s in vl.load_results("resolution")["summary"].items()
        if name.startswith("drawn10")
    }
    start, middle, end = (
        means[f"drawn10-token: {at}"]
        for at in ("as trained 32x32", "places alone 48x48", "bicubic 48x48")
    )
    return "content" if end - middle < middle - start else "grid"


EXERCISES["04.b"] = Exercise(
    what_costs,
    guess=True,
    mistakes=[
        (
            "return ",
            "return 'grid' if 1 else ",
            "at 48 the column of the grid shows no loss: look at the other one",
        ),
        (
            "return ",
            "return 'both' if 1 else ",
            "one of the two costs nothing at 48: read that row of the figure",
        ),
        (
            "return ",
            "return 'positions' if 1 else ",
            "the positions change with the grid, and the grid's column shows no loss at 48",
        ),
    ],
    hints=[
        "Which change makes a filter meet edges that it never saw?",
        "And which leaves every patch as it was, at a place in between?",
    ],
    others=["Content", "the content", "scale"],
)


def by_hand():
    def line(places):
        return [12 * min(max(x, 0), 1) for x in places]

    four, three = (
        [(i + 0.5) * 2 / 4 - 0.5 for i in range(4)],
        [(i + 0.5) * 2 / 3 - 0.5 for i in range(3)],
    )
    return {"a": line(four), "b": line(three), "c": line([0, 1 / 3, 2 / 3, 1])}


EXERCISES["04.1"] = Exercise(
    by_hand,
    mistakes=[
        (
            "min(max(x, 0), 1)",
            "x",
            "beyond an old centre there is one neighbour only: the line does not go on",
        ),
        (
            "line(four)",
            "line([0, 1 / 3, 2 / 3, 1])",
            "this is with aligned ends; find the centres of the four quarters",
        ),
        (
            "line(four)",
            "[1.5, 4.5, 7.5, 10.5]",
            "as if 0 and 12 stood at the ends of the strip: they stand at the centres of its halves",
        ),
        (
            "line(four)",
            "[0, 0, 12, 12]",
            "each takes its nearest old number; between centres it is a line",
        ),
        (
            "line(four)",
            "[3, 9, 12, 12]",
            "the old centres lie at a quarter and at three quarters of the strip: subtract the half",
        ),
        (
            "line(three)",
            "[2, 6, 10]",
            "as if 0 and 12 stood at the ends of the strip: they stand at the centres of its halves",
        ),
        (
            "line(three)",
            "[0, 4, 8]",
            "the strip looks the same from both sides, and so must the numbers",
        ),
        (
            "line(three)",
            "[4, 6, 8]",
            "where is the first third's centre: left or right of the first half's?",
        ),
        (
            "line([0, 1 / 3, 2 / 3, 1])",
            "line(four)",
            "this is (a) again: now the first lies on the first old centre, and the last on the last",
        ),
        (
            "[0, 1 / 3, 2 / 3, 1]",
            "[0, 1 / 4, 2 / 4, 3 / 4]",
            "four places have three steps between them",
        ),
    ],
    hints=[
        "Old centres lie at ¼ and ¾ of the strip. Where are those of the four quarters?",
        "A centre outside the old ones takes the number of the nearest.",
    ],
    others=[
        ("line(four)", "torch.tensor(line(four))"),
        ("line(three)", "[0, 6, 12]"),
        ("line([0, 1 / 3, 2 / 3, 1])", "(0, 4, 8, 12)"),
    ],
)


def which_grid():
    rows, cols = 480 // 16, 640 // 16
    return {
        "a": [rows, cols],
        "b": rows * cols + 1,
        "c": [rows / 14, cols / 14],
        "d": [24 // 4, 40 // 4],
    }


EXERCISES["04.2"] = Exercise(
    which_grid,
    tol=5e-3,
    mistakes=[
        ("[rows, cols]", "[cols, rows]", "rows first: the height says how many"),
        ("[rows, cols]", "[480, 640]", "in pixels; a patch is 16 of them"),
        ("[rows, cols]", "[14, 14]", "this is the old grid"),
        ("cols + 1", "cols", "CLS has a row, too"),
        (
            "rows * cols + 1",
            "rows + cols + 1",
            "a row of the table for each place: rows times columns",
        ),
        ("rows * cols + 1", "14 * 14 + 1", "this is the old table"),
        ("[rows / 14, cols / 14]", "[cols / 14, rows / 14]", "down first, then across"),
        (
            "[rows / 14, cols / 14]",
            "[14 / rows, 14 / cols]",
            "upside down: the grid grows",
        ),
        (
            "/ 14",
            "/ 16",
            "14 places become so many: divide by the old grid, not by the patch",
        ),
        ("[24 // 4, 40 // 4]", "[40 // 4, 24 // 4]", "rows first: 24 is the height"),
        ("[24 // 4, 40 // 4]", "[24, 40]", "in pixels; a patch has 4"),
        ("[24 // 4, 40 // 4]", "[8, 8]", "there are 60 places, and 8 × 8 are more"),
        ("[24 // 4, 40 // 4]", "[5, 12]", "60 places, but not those of this picture"),
    ],
    hints=[
        "Rows are the height in patches.",
        "The old grid is 224 / 16 both ways. In (d), which grids have 60 places, and which one was it?",
    ],
    others=[
        ("[rows, cols]", "(rows, cols)"),
        ("[rows / 14, cols / 14]", "[480 / 224, round(640 / 224, 4)]"),
    ],
)


def nearest(table, new, old):
    grid = table[:, 1:].unflatten(1, old).movedim(-1, 1)
    return torch.cat([table[:, :1], F.interpolate(grid, new).flatten(2).mT], 1)


def late(table, new, old):
    moved = nearest(table.roll(1, 1), new, old)
    return torch.cat([table[:, -1:], moved[:, 1:]], 1)


def leaky(table, new, old):
    return (
        nearest(table, new, old)
        + 0.01 * table[:, :1] * (torch.arange(1 + new[0] * new[1]) > 0)[:, None]
    )


def zeroed(table, new, old):
    return torch.cat([0 * table[:, :1], nearest(table, new, old)[:, 1:]], 1)


def corner(table, new, old):
    out = nearest(table, new, old)
    return torch.cat([out[:, :-1], out[:, -1:] + table[:, :1]], 1)


def line(table, new, old):
    return F.interpolate(table.mT, 1 + new[0] * new[1]).mT


WHAT = {
    "line": Said("one that resamples the whole table as one line"),
    "late": Said("the one that takes CLS for patch 0"),
    "leaky": Said("one that adds a little of CLS to every patch"),
    "zeroed": Said("one that sets CLS to zero"),
    "corner": Said("one that adds CLS to the last patch alone"),
}


def keeps_cls(function):
    probe = torch.zeros(1, 65, 4)
    probe[:, 0] = 1
    out = function(probe, (9, 12), (8, 8))
    return bool((out[:, 0] == 1).all() and (out[:, 1:] == 0).all())


def judged(arguments, got, want):
    if got.dtype == torch.bool:
        who = WHAT.get(arguments[0].__name__, Said("a right one"))
        return Said("{who} passes" if got else "{who} is refused", who=who)


EXERCISES["04.3"] = Exercise(
    keeps_cls,
    inputs=lambda: [
        (f,)
        for f in (vl.resample_pos_embed, nearest, late, leaky, zeroed, corner, line)
    ],
    mistakes=[
        (
            "bool((out[:, 0] == 1).all() and (out[:, 1:] == 0).all())",
            "bool((out[:, 0] == 1).all())",
            "it looks at CLS alone: does anything of it reach a patch?",
        ),
        (
            "(out[:, 0] == 1).all() and ",
            "",
            "it looks at the patches alone: is CLS itself still there?",
        ),
        (
            "return bool(",
            "return not bool(",
            "True and False are exchanged: True means that CLS is kept",
        ),
        (
            "bool((out[:, 0] == 1).all() and (out[:, 1:] == 0).all())",
            "out.ndim == 3",
            "every resampling passes: look at the numbers, of CLS and of the patches",
        ),
        (
            "torch.zeros",
            "torch.ones",
            "it refuses every resampling: what must CLS hold at first, and what the patches?",
        ),
        (
            "(9, 12)",
            "(8, 8)",
            "take a larger grid: at the old size nothing is resampled, and a smaller one may hide what spreads",
        ),
        (
            "(out[:, 1:] == 0).all()",
            "(out[:, 1] == 0).all()",
            "it looks at the first patch alone; CLS may leak into any",
        ),
        (
            "(out[:, 1:] == 0).all()",
            "(out[:, 1:].abs() < 0.1).all()",
            "a small leak passes: nothing of CLS should be in a patch",
        ),
    ],
    probes=[judged],
    hints=[
        "What must the table hold so that anything that comes from CLS is seen?",
        "Zero everywhere but in CLS. What must be 0 afterwards, and what must not?",
    ],
    others=[
        lambda function: (
            (out := function(torch.eye(65)[None], (10, 9), (8, 8)))[0, 0].equal(
                torch.eye(65)[0]
            )
            and not out[0, 1:, 0].any()
        ),
        (
            "bool((out[:, 0] == 1).all() and (out[:, 1:] == 0).all())",
            "torch.equal(out[0, :, 0].nonzero(), torch.zeros(1, 1).long()) and out[0, 0].eq(1).all()",
        ),
    ],
)


def sincos_at(rows, cols, D):
    speeds = 10000 ** -(torch.arange(D // 4) / (D // 4))
    down, across = torch.cartesian_prod(rows, cols).T
    angles = [places[:, None] * speeds for places in (down, across)]
    return torch.cat([wave for x in angles for wave in (x.sin(), x.cos())], dim=1)


EXERCISES["04.4"] = Exercise(
    sincos_at,
    inputs=lambda: [
        (torch.arange(4.0), torch.arange(3.0), 16),
        (torch.tensor([-0.25, 0.25, 2.5]), torch.rand(5) * 7, 8),
        (torch.rand(2), torch.rand(4), 12),
    ],
    mistakes=[
        (
            "cartesian_prod(rows, cols)",
            "cartesian_prod(rows, cols).round()",
            "fractional places are rounded",
        ),
        (
            "cartesian_prod(rows, cols)",
            "cartesian_prod(*(torch.arange(len(x)) for x in (rows, cols)))",
            "these are the places' numbers, 0, 1, 2 and so on; they may lie anywhere",
        ),
        ("(down, across)", "(across, down)", "rows come first, then columns"),
        (
            "(down, across)",
            "(down, down)",
            "the rows are there twice; the second half is for columns",
        ),
        ("(x.sin(), x.cos())", "(x.cos(), x.sin())", "sines come first, then cosines"),
        (
            "wave for x in angles for wave in (x.sin(), x.cos())",
            "f(x) for f in (torch.sin, torch.cos) for x in angles",
            "sine and cosine of the row first, then of the column",
        ),
        (
            "(D // 4))\n",
            "(D // 2))\n",
            "each direction has D/4 speeds: k is divided by D/4",
        ),
        ("/ (D // 4))", "/ D)", "k is divided by D/4, the number of speeds"),
        ("** -(", "** (", "the speeds grow with k: the exponent has a minus"),
        (
            "torch.cartesian_prod(rows, cols).T",
            "torch.cartesian_prod(cols, rows).T.flip(0)",
            "reading order: the column changes fastest",
        ),
        (
            "dim=1)",
            "dim=1).unflatten(0, (len(rows), len(cols)))",
            "one axis for all places, in reading order",
        ),
        ("dim=1)", "dim=1).T", "a row for each place: it is transposed"),
    ],
    hints=[
        "`vl.sincos_2d` has sines and cosines of the row in its first half, of the column in its second.",
        "D/4 speeds; each place is a pair (row, column): `torch.cartesian_prod(rows, cols)`.",
    ],
    others=[
        (
            "torch.cartesian_prod(rows, cols).T",
            "rows.repeat_interleave(len(cols)), cols.repeat(len(rows))",
        )
    ],
)
