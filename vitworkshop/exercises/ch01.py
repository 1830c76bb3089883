"""The exercises of chapter 01, on patches."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from einops import rearrange

from vitworkshop.exercises.engine import Exercise
from vitworkshop.exercises.language import Said

EXERCISES: dict[str, Exercise] = {}


def four_tokens():
    tiny = torch.arange(16).reshape(1, 1, 4, 4)
    return rearrange(tiny, "b c (h p1) (w p2) -> (b h w) (p1 p2 c)", p1=2, p2=2)


EXERCISES["01.a"] = Exercise(
    four_tokens,
    guess=True,
    mistakes=[
        (
            "return rearrange(tiny, ",
            "return tiny[0, 0] + 0 * rearrange(tiny, ",
            "these are the rows of the picture: a patch goes down a row after two numbers",
        ),
        (
            "(b h w)",
            "(b w h)",
            "the patches are read column by column; the second is the upper right one",
        ),
        (
            "(p1 p2 c)",
            "(p2 p1 c)",
            "each patch is read column by column; its row comes first",
        ),
        (
            "(h p1) (w p2)",
            "(p1 h) (p2 w)",
            "these four do not lie side by side: a patch is a square",
        ),
        ("torch.arange(16)", "torch.arange(1, 17)", "the first number is 0"),
    ],
    hints=[
        "The first patch is the upper left square of 2 × 2.",
        "Within it, go as you read: two numbers, then the row below.",
    ],
    others=[
        ("return rearrange", "return 1.0 * rearrange"),
        [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]],
    ],
)


def patchify(images, P):
    B, C, H, W = images.shape
    x = images.reshape(B, C, H // P, P, W // P, P)
    x = x.permute(0, 2, 4, 3, 5, 1)
    return x.reshape(B, -1, P * P * C)


EXERCISES["01.b"] = Exercise(
    patchify,
    inputs=lambda: [
        (torch.rand(2, 3, 6, 8), 2),
        (torch.rand(1, 2, 6, 15), 3),
        (torch.rand(3, 1, 8, 2), 2),
    ],
    mistakes=[
        (
            "permute(0, 2, 4, 3, 5, 1)",
            "reshape(B, C, H // P, P, W // P, P)",
            "right shape, wrong contents: a reshape never changes the order; permute between split and join",
        ),
        (
            "0, 2, 4, 3, 5, 1",
            "0, 2, 4, 1, 3, 5",
            "within a token the channels come first; they are innermost",
        ),
        (
            "0, 2, 4, 3, 5, 1",
            "0, 4, 2, 3, 5, 1",
            "the patches are read column by column: i, the grid's row, is the slower one",
        ),
        (
            "0, 2, 4, 3, 5, 1",
            "0, 2, 4, 5, 3, 1",
            "each patch is read column by column: its row is the slower one",
        ),
        (
            "0, 2, 4, 3, 5, 1",
            "0, 2, 3, 4, 5, 1",
            "the order is (i, p1, j, p2): these are rows of pixels; j comes before p1",
        ),
        (
            "H // P, P, W // P, P",
            "P, H // P, P, W // P",
            "split the other way round: a token holds pixels that are H/P apart. H is (H/P, P)",
        ),
        (
            "H // P, P, W // P, P",
            "W // P, P, H // P, P",
            "height and width are exchanged",
        ),
        (
            "B, C, H // P, P, W // P, P)",
            "B, H // P, P, W // P, P, C).permute(0, 5, 1, 2, 3, 4)",
            "the channels are axis 1 in memory: the split must leave them there",
        ),
        (
            "return x.reshape(B, -1, P * P * C)",
            "return x.permute(0, 5, 1, 2, 3, 4).reshape(B, -1, P * P)",
            "each channel makes tokens of its own; one token holds all channels",
        ),
        (
            "return x.reshape(B, -1, P * P * C)",
            "return x",
            "split and ordered, not yet joined: (B, N, P*P*C)",
        ),
        (
            "(B, -1, P * P * C)",
            "(-1, P * P * C)",
            "the tokens of all images are in one row: keep the batch axis",
        ),
    ],
    hints=[
        "H becomes (H // P, P), W likewise: six axes.",
        "Which number of the six is i, which j, p1, p2, C? Give `permute` their numbers, slowest first.",
        "Join i and j, then p1, p2 and C: `reshape(B, -1, P * P * C)`.",
    ],
    others=[
        lambda x, P: (
            F.unfold(x.double(), P, stride=P)
            .unflatten(1, (-1, P * P))
            .permute(0, 3, 2, 1)
            .flatten(2)
            .tolist()
        )
    ],
)


def counts():
    return {
        "a": (384 // 16) ** 2,
        "b": (480 // 32) * (640 // 32),
        "c": 8 * 8 * 3,
        "d": 4 * 4 * 196,
    }


EXERCISES["01.1"] = Exercise(
    counts,
    mistakes=[
        ("(384 // 16) ** 2", "384 // 16", "these lie along one side of the grid"),
        ("(384 // 16) ** 2", "384**2 // 16", "a patch is 16 wide and 16 high"),
        (
            "(384 // 16) ** 2",
            "((384 // 16) ** 2 + 1)",
            "patches only: there is no other token yet",
        ),
        ("384", "224", "this is for 224 pixels"),
        (
            "(480 // 32) * (640 // 32)",
            "480 // 32 + 640 // 32",
            "rows and columns are added",
        ),
        (
            "(480 // 32) * (640 // 32)",
            "480 * 640 // 32",
            "a patch is 32 wide and 32 high",
        ),
        ("32", "16", "this is for patches of 16"),
        ("8 * 8 * 3", "8 * 8", "each pixel has three numbers, its colours"),
        ("8 * 8 * 3", "8 * 3", "a patch has 8 rows as well"),
        (
            "4 * 4 * 196",
            "4 * 196",
            "two things change, and each of them makes four times as many",
        ),
        (
            "4 * 4 * 196",
            "2 * 2 * 196",
            "both sides double: each change counts four times, not twice",
        ),
        (
            "4 * 4 * 196",
            "196",
            "they do not cancel: a larger picture has more patches, and so has a smaller patch",
        ),
        ("4 * 4 * 196", "8 * 196", "one change was counted four times, and one twice"),
    ],
    hints=[
        "Patches along one side: the side divided by P.",
        "In (d), do one change after the other: how many times as many tokens does each make?",
    ],
    others=[("8 * 8 * 3", "192.0"), ("4 * 4 * 196", "(448 // 8) ** 2")],
)


def scissors():
    paper = torch.arange(24).reshape(1, 1, 4, 6)
    tokens = rearrange(paper, "b c (h p1) (w p2) -> (b h w) (p1 p2 c)", p1=2, p2=2)
    return {"tokens": tokens, "where_15": [15 // 6, 15 % 6]}


EXERCISES["01.2"] = Exercise(
    scissors,
    mistakes=[
        ("(b h w)", "(b w h)", "the patches are read column by column"),
        ("(p1 p2 c)", "(p2 p1 c)", "each patch is read column by column"),
        (
            "tokens,",
            "paper.reshape(6, 4),",
            "fours of one row: a patch goes down a row after two squares",
        ),
        (
            "(1, 1, 4, 6)",
            "(1, 1, 6, 4)",
            "your sheet is 6 high and 4 wide; it should be 4 high and 6 wide",
        ),
        ("arange(24)", "arange(1, 25)", "the first square has the number 0"),
        ("[15 // 6, 15 % 6]", "[15 % 6, 15 // 6]", "row first, then column"),
        (
            "[15 // 6, 15 % 6]",
            "[15 // 6 + 1, 15 % 6 + 1]",
            "rows and columns are counted from 0, too",
        ),
        (
            "[15 // 6, 15 % 6]",
            "[4, 1]",
            "these are its token and its place there; row and column of the sheet are asked for",
        ),
        (
            "15 // 6, 15 % 6",
            "15 // 4, 15 % 4",
            "the sheet is 6 wide: a row begins with 0, 6, 12",
        ),
    ],
    hints=[
        "Three patches lie side by side. What are the four numbers of the first?",
        "Which row of the sheet begins with 12?",
    ],
    others=[
        ('"tokens": tokens', '"tokens": tokens.tolist()'),
        ("[15 // 6, 15 % 6]", "divmod(15, 6)"),
    ],
)


def address(row, col, c, P, W, C):
    n = (row // P) * (W // P) + col // P
    k = (row % P * P + col % P) * C + c
    return n, k


EXERCISES["01.3"] = Exercise(
    address,
    inputs=lambda: [
        (3, 4, 1, 2, 6, 3),
        (9, 17, 2, 5, 20, 3),
        (7, 13, 0, 3, 15, 4),
        (2, 1, 0, 4, 8, 1),
    ],
    mistakes=[
        ("(W // P)", "W", "a row of the grid has W/P patches, not W"),
        (
            "(W // P)",
            "P",
            "P is a patch's side; how many patches lie in a row of the grid?",
        ),
        (
            "(row // P) * (W // P) + col // P",
            "(col // P) * (W // P) + row // P",
            "n runs column by column: a step down skips W/P patches, a step right one",
        ),
        (
            "row % P * P + col % P",
            "col % P * P + row % P",
            "k runs column by column: a step down in a patch skips P pixels",
        ),
        (
            " * C + c",
            " + c",
            "each pixel takes C places: the pixels before this one count C times",
        ),
        (
            "(row % P * P + col % P) * C + c",
            "c * P * P + row % P * P + col % P",
            "channels are outermost here; in the equation c is innermost",
        ),
        ("row % P * P", "row % P * W", "a row of a patch has P pixels, not W"),
        (
            "row % P * P + col % P",
            "row * P + col",
            "p₁ and p₂ are places within the patch: the rest of a division",
        ),
        ("return n, k", "return k, n", "n and k are exchanged"),
        (
            "(row // P) * (W // P) + col // P",
            "(row % P) * (W // P) + col % P",
            "n says which patch, and that is //; % says where in it",
        ),
        (
            "row % P * P + col % P",
            "row // P * P + col // P",
            "k says where in the patch, and that is %; // says which patch",
        ),
        ("//", "/", "whole numbers: // instead of /"),
        ("* C + c", "* C + c + 1", "k counts from 0"),
    ],
    probes=[
        lambda arguments, got, want: next(
            (
                Said("{right} is right; look at {wrong}", right=right, wrong=wrong)
                for right, wrong, i in (("n", "k", 0), ("k", "n", 1))
                if got.shape == (2,) and got[i] == want[i]
            ),
            None,
        )
    ],
    hints=[
        "`row // P` is i. What is p₁?",
        "Put i, j, p₁ and p₂ into the two lines of the equation.",
    ],
    others=[
        lambda row, col, c, P, W, C: torch.tensor(
            [row // P * (W // P) + col // P, row % P * P * C + col % P * C + c]
        ),
        ("return n, k", "return [float(n), k]"),
    ],
)


def other_order():
    x, P = torch.arange(2 * 3 * 32 * 48.0).reshape(2, 3, 32, 48), 16
    tokens = rearrange(x, "b c (h p1) (w p2) -> b (h w) (c p1 p2)", p1=P, p2=P)
    here, there = 1, P * P
    return {"tokens": tokens, "here": here, "there": there}


EXERCISES["01.4"] = Exercise(
    other_order,
    mistakes=[
        (
            "(c p1 p2)",
            "(p1 p2 c)",
            "this is our order; in the other one a token begins with one colour alone",
        ),
        ("(c p1 p2)", "(c p2 p1)", "each patch is read column by column"),
        (
            "(c p1 p2)",
            "(p1 c p2)",
            "c is outermost: all rows of red come before the first of green",
        ),
        ("(h w)", "(w h)", "the patches are read column by column"),
        (
            "b (h w) (c p1 p2)",
            "b (c p1 p2) (h w)",
            "this is what F.unfold returns; its last two axes are still to be exchanged",
        ),
        ("here, there = 1", "here, there = 0", "place 0 is the red value"),
        ("here, there = 1", "here, there = 2", "places are counted from 0"),
        ("P * P\n", "P * P + 1\n", "places are counted from 0"),
        ("P * P\n", "2 * P * P\n", "this is the blue value's place"),
        (
            "P * P\n",
            "P\n",
            "P reds are one row of the patch; all of its reds come first",
        ),
        (
            "here, there = 1, P * P",
            "here, there = P * P, 1",
            "the two orders are exchanged",
        ),
    ],
    hints=[
        "P²C: which letter stands for what moves slowest?",
        "How many numbers stand before the first green one, in each order?",
    ],
    others=[
        ('tokens, "here"', 'tokens.numpy(), "here"'),
        ('"there": there', '"there": 256.0'),
    ],
)


def lineup():
    order = torch.randperm(3, generator=torch.Generator().manual_seed(3))
    return "".join("ABC"[i] for i in order)


EXERCISES["01.5"] = Exercise(
    lineup,
    mistakes=[
        (
            '"ABC"[i]',
            '"BAC"[i]',
            "A and B are exchanged: who mirrors the grid, and who each patch in itself?",
        ),
        (
            '"ABC"[i]',
            '"CBA"[i]',
            "A and C are exchanged: whose tokens are small copies of the whole picture?",
        ),
        (
            '"ABC"[i]',
            '"ACB"[i]',
            "B and C are exchanged: whose patches stay whole, each mirrored in itself?",
        ),
        (
            '"ABC"[i]',
            '"BCA"[i]',
            "none is in its place: take first the one whose patches are all upright",
        ),
        (
            '"ABC"[i]',
            '"CAB"[i]',
            "none is in its place: take first the one whose neighbours in a token lie 8 pixels apart",
        ),
    ],
    hints=[
        "In whose tokens are four neighbours no neighbours in the picture?",
        "`(w h)` moves whole patches; `(p2 p1 c)` moves pixels within them.",
    ],
    others=["bac", " BAC"],
)
