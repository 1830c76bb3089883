"""The exercises of chapter 18, on axial attention and what came after."""

from __future__ import annotations

import torch

from vitworkshop.exercises.engine import Exercise

EXERCISES: dict[str, Exercise] = {}


def reach():
    rows, cols = 4, 6
    return {"one": 100 * cols / (rows * cols), "two": 100, "paths": 1}


EXERCISES["18.a"] = Exercise(
    reach,
    guess=True,
    tol=0.01,
    mistakes=[
        ("100 * cols /", "100 * rows /", "this is along the columns"),
        ("100 * cols /", "100 /", "this is one patch; a row has more of them"),
        (
            '"two": 100',
            '"two": 100 * (rows + cols - 1) / (rows * cols)',
            "this is a row and a column together; from each patch of the row, go down the column",
        ),
        (
            '"two": 100',
            '"two": 100 / rows + 100 / cols',
            "each patch of the row brings news of its whole column",
        ),
        (
            '"paths": 1',
            '"paths": 2',
            "columns come after rows: the other corner would need them before",
        ),
        (
            '"paths": 1',
            '"paths": rows',
            "it must leave its row in the one column where the other patch stands",
        ),
        (
            '"paths": 1',
            '"paths": cols',
            "it must leave its row in the one column where the other patch stands",
        ),
    ],
    hints=[
        "A patch's row has 6 of the 24 patches.",
        "Whom do these 6 hear of in the next layer? And by which corner does each piece of news come?",
    ],
    others=[
        {"one": 25, "two": 100.0, "paths": 1},
        ("100 * cols / (rows * cols)", "100 / rows"),
    ],
)


def mean_iou(answers, target, K):
    scores = []
    for k in range(K):
        a, b = answers == k, target == k
        if (a | b).any():
            scores.append((a & b).sum() / (a | b).sum())
    return sum(scores) / len(scores)


def labels(n, rows, cols, K):
    """Answers and targets; the last class is nowhere, the first of them is named and never there."""
    target = torch.randint(0, K - 2, (n, rows, cols))
    other = torch.randint(0, K - 1, (n, rows, cols))
    return torch.where(torch.rand(n, rows, cols) < 0.6, target, other), target, K


EXERCISES["18.b"] = Exercise(
    mean_iou,
    inputs=lambda: [labels(2, 6, 7, 5), labels(4, 5, 3, 4), labels(3, 8, 5, 7)],
    mistakes=[
        (
            "if (a | b).any():\n            scores.append((a & b).sum() / (a | b).sum())",
            "scores.append(((a & b).sum() + 1e-6) / ((a | b).sum() + 1e-6))",
            "a class that is neither there nor named still counts, as a perfect one",
        ),
        (
            "/ len(scores)",
            "/ K",
            "a class that is neither there nor named still counts, as a missed one",
        ),
        (
            "if (a | b).any()",
            "if b.any()",
            "a class that is named and never there is left out; its IoU is 0",
        ),
        ("range(K)", "range(1, K)", "background is a class like the others"),
        (
            "/ (a | b).sum()",
            "/ b.sum().clamp_min(1)",
            "this is the share of a class that was found; wrong calls do not count",
        ),
        (
            "/ (a | b).sum()",
            "/ a.sum().clamp_min(1)",
            "this is the share of calls that are right; what was missed does not count",
        ),
        (
            "/ (a | b).sum()",
            "/ (a.sum() + b.sum())",
            "pixels that are both are counted twice in the union",
        ),
        (
            "(a & b).sum() / (a | b).sum()",
            "2 * (a & b).sum() / (a.sum() + b.sum())",
            "this is Dice's coefficient: twice what is common, over both",
        ),
        (
            "sum(scores) / len(scores)",
            "(answers == target).float().mean()",
            "this is the share of right pixels",
        ),
        (
            "sum(scores) / len(scores)",
            "sum(scores)",
            "this is the sum; the mean is asked for",
        ),
        (
            "return sum(scores) / len(scores)",
            "return sum(mean_iou(*pair, K) for pair in zip(answers, target)) / len(target) if target.ndim > 2 else sum(scores) / len(scores)",
            "this is counted in each picture by itself; count over all pictures together",
        ),
    ],
    hints=[
        "What does the small number give for a class with no pixel at all?",
        "0/0 is to be left out of the mean: of the sum, and of the number of classes.",
    ],
    others=[
        (
            "(a & b).sum() / (a | b).sum()",
            "(a * b).sum() / (a.sum() + b.sum() - (a * b).sum())",
        )
    ],
)


def rook():
    side, layers = 8, 3
    squares = 2 * side - 1
    return {
        "squares": squares,
        "shares": [squares / side**2, 16 / side**2],
        "moves": [2, layers],
    }


EXERCISES["18.1"] = Exercise(
    rook,
    tol=3e-3,
    mistakes=[
        (
            "2 * side - 1",
            "2 * side",
            "its own square stands in its row and in its column, and counts once",
        ),
        ("2 * side - 1", "2 * side - 2", "its own square counts as well"),
        ("2 * side - 1", "side", "this is its row; it moves along the column, too"),
        ("16 / side**2", "4 / side**2", "this is one side of the window"),
        ("16 / side**2", "1 / 16", "how many squares of 64 has the window?"),
        ("[2, layers]", "[1, layers]", "one move reaches its own row and column only"),
        ("[2, layers]", "[2, 2]", "the shifted window ends before the far edge"),
        (
            "[2, layers]",
            "[2, 4]",
            "follow the farthest row that has heard of row 0, layer by layer",
        ),
        ("[2, layers]", "[2, 1]", "windows at rest do not touch"),
    ],
    hints=[
        "(a) A row and a column cross in one square.",
        "(b) As many from every square, so that many of 64.",
        "(d) After the first layer the corner's news is in rows 0 to 3. Which windows, shifted by 2, does row 3 lie in?",
    ],
    others=[
        {"squares": 15.0, "shares": [0.234, 0.25], "moves": (2, 3)},
        ("[2, layers]", "torch.tensor([2, layers])"),
    ],
)


def worth():
    def full(s):
        return s**2 * (4 * D**2 + 2 * D * M) + 2 * s**4 * D

    def two(s):
        return 2 * s**2 * (4 * D**2 + 2 * D * M) + 2 * (2 * s**3 * D)

    D, M = 768, 3072
    return next(s for s in range(2, 9999) if two(s) < full(s))


EXERCISES["18.2"] = Exercise(
    worth,
    mistakes=[
        (
            "return 2 * s**2 * (",
            "return s**2 * (",
            "an axial block has its projections and its MLP twice",
        ),
        (" + 2 * D * M)", ")", "the MLPs are left out"),
        (
            " + 2 * (2 * s**3 * D)",
            "",
            "products along rows and columns cost something as well",
        ),
        (
            "return next(s ",
            "return -1 + next(s ",
            "at this side it is still a little dearer",
        ),
        (
            "return next(s for",
            "return next(s * s for",
            "these are the patches; s is how many lie along a side",
        ),
        (
            "return next(s for",
            "return next(16 * s for",
            "these are pixels; s counts patches",
        ),
        (
            "2 * s**4 * D",
            "s**4 * D",
            "two products have a number for each pair: queries with keys, weights with values",
        ),
        (
            "range(2, 9999) if two(s) < full(s)",
            "[0]",
            "from some side on it is: the products grow fastest",
        ),
    ],
    hints=[
        "Full: N(4D² + 2DM) + 2N²D. What comes twice in the axial block, and what gets smaller?",
        "Divide both by N: an inequality in s and s².",
        "Try whole numbers on both sides of the root.",
    ],
    others=[69.0, ("next(s for", "next(int(s) for")],
)


def ious():
    n, there, called, both = 100, 10, 14, 8
    rest = n - there - called + both
    boat, background = both / (there + called - both), rest / (n - both)
    return {
        "right": (both + rest) / n,
        "ious": [boat, background, (boat + background) / 2],
        "lazy": [0, 1 - there / n, (1 - there / n) / 2],
    }


EXERCISES["18.3"] = Exercise(
    ious,
    tol=1e-3,
    mistakes=[
        (
            "(there + called - both)",
            "(there + called)",
            "pixels that are both are counted twice in the union",
        ),
        (
            "(there + called - both)",
            "there",
            "this is the share of the boat that was found; wrong calls belong to the union",
        ),
        (
            "(there + called - both)",
            "called",
            "this is the share of calls that are right; missed pixels belong to the union",
        ),
        (
            "both / (there + called - both)",
            "2 * both / (there + called)",
            "this is Dice's coefficient: twice what is common, over both",
        ),
        (
            "rest / (n - both)",
            "2 * rest / (2 * n - there - called)",
            "this is Dice's coefficient: twice what is common, over both",
        ),
        (
            "rest / (n - both)",
            "rest / (n - there)",
            "this is the share of the background that was found; pixels wrongly called so belong to the union",
        ),
        (
            "rest / (n - both)",
            "rest / (n - called)",
            "this is the share of calls that are right; missed pixels belong to the union",
        ),
        (
            "rest / (n - both)",
            "rest / (2 * n - there - called)",
            "pixels that are both are counted twice in the union",
        ),
        (
            "rest / (n - both)",
            "rest / n",
            "the union is without the pixels that are boat and are called so",
        ),
        (
            "n - there - called + both",
            "n - called",
            "of those called background, some are boat",
        ),
        (
            "(both + rest) / n",
            "both / there",
            "this is of the boat's pixels; all are asked for",
        ),
        ("(both + rest) / n", "rest / n", "the boat's right pixels count as well"),
        (
            "(1 - there / n) / 2]",
            "1 - there / n]",
            "the boat's IoU belongs to the mean: it is there, and was never named",
        ),
        (
            "[0, 1 - there / n, (1 - there / n) / 2]",
            "[0, 1, 1 / 2]",
            "the boat's pixels are called background, so they lie in its union",
        ),
    ],
    hints=[
        "A table of two by two: is boat or not, is called boat or not.",
        "How many are called boat wrongly, how many are missed?",
        "The union: all that are it or are called it, once each.",
    ],
    others=[
        {"right": 0.92, "ious": (0.5, 0.913, 0.707), "lazy": [0, 0.9, 0.45]},
        ("[boat, background,", "[8 / 16, background,"),
    ],
)
