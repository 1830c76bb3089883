"""The exercises of chapter 02, on the patch embedding."""

from __future__ import annotations

import torch
from einops import rearrange

import vitlib as vl
from vitworkshop.exercises.engine import Exercise
from vitworkshop.exercises.language import Said

EXERCISES: dict[str, Exercise] = {}


def embed(patches, E, b):
    return patches @ E + b


EXERCISES["02.a"] = Exercise(
    embed,
    inputs=lambda: [
        (torch.randn(6, 12), torch.randn(12, 5), torch.randn(5)),
        (torch.randn(4, 3), torch.randn(3, 7), torch.randn(7)),
    ],
    mistakes=[
        (" + b", "", "b is missing"),
        (
            "patches @ E + b",
            "(patches @ E + b).T",
            "it is transposed: a token is a row",
        ),
        (
            "patches @ E + b",
            "patches @ E + len(patches) * b",
            "b is added N times; each token gets it once",
        ),
        (
            "patches @ E + b",
            "patches @ (E + b)",
            "b is added to each weight; it belongs to the sum, once",
        ),
        ("patches @ E + b", "patches @ E - b", "b is added, not subtracted"),
        (
            "patches @ E + b",
            "patches @ E.T + b",
            "E is (PPC, D): its columns are the filters, so it is not transposed here",
        ),
        (
            "patches @ E + b",
            "E @ patches + b",
            "patches first: a row of patches with a column of E",
        ),
        (
            "patches @ E",
            "patches * E",
            "this multiplies number by number and adds nothing up: * where @ belongs",
        ),
    ],
    hints=[
        "The sum over k is a row of `patches` times a column of E.",
        "A product of (N, PPC) and (PPC, D) is (N, D); b is added to each row.",
    ],
    others=[
        lambda patches, E, b: [
            [sum(p[k] * E[k, j] for k in range(len(E))) + b[j] for j in range(len(b))]
            for p in patches
        ]
    ],
)


def patch_order():
    W = torch.arange(8).reshape(2, 2, 2)
    return rearrange(W, "c p1 p2 -> (p1 p2 c)")


EXERCISES["02.b"] = Exercise(
    patch_order,
    guess=True,
    mistakes=[
        ("(p1 p2 c)", "(c p1 p2)", "this is the kernel's own order, channels outside"),
        ("(p1 p2 c)", "(p2 p1 c)", "the pixel to the right comes before the one below"),
        ("(p1 p2 c)", "(p1 c p2)", "the two channels of a pixel stand side by side"),
        ("(2, 2, 2)", "(2, 2, 2).flip(0)", "channel 0 comes first in each pixel"),
        ("arange(8)", "arange(1, 9)", "the first number is 0"),
    ],
    hints=[
        "Which two numbers belong to the upper left pixel?",
        "Both channels of one pixel, then the pixel to its right.",
    ],
    others=[
        [0.0, 4.0, 1.0, 5.0, 2.0, 6.0, 3.0, 7.0],
        ("return rearrange", "return 1.0 * rearrange"),
    ],
)


def trained_row():
    return "A"


EXERCISES["02.c"] = Exercise(
    trained_row,
    guess=True,
    mistakes=[
        (
            '"A"',
            '"B"',
            "this row is the random start; what in it looked learned to you?",
        ),
        ('"A"', '"neither"', "one of them is trained, and hardly shows it: choose"),
    ],
    hints=[
        "Which row would you call noise, and why?",
        "If you cannot tell, say so to yourself, and guess: that is the lesson.",
    ],
    others=["a", " A "],
)


def from_flax(kernel):
    D = kernel.shape[-1]
    return kernel.permute(3, 0, 1, 2).reshape(D, -1)


EXERCISES["02.d"] = Exercise(
    from_flax,
    inputs=lambda: [
        (torch.randn(4, 4, 3, 5),),
        (torch.randn(2, 2, 3, 7),),
        (torch.randn(3, 3, 2, 4),),
    ],
    mistakes=[
        (
            "3, 0, 1, 2",
            "3, 2, 0, 1",
            "the bug is still there: a row begins with all reds, (c p1 p2); patchify makes (p1 p2 c)",
        ),
        ("3, 0, 1, 2", "3, 1, 0, 2", "rows and columns of each filter are exchanged"),
        (
            "3, 0, 1, 2",
            "3, 2, 1, 0",
            "channels come first, and rows and columns are exchanged",
        ),
        (
            "kernel.permute(3, 0, 1, 2).reshape(D, -1)",
            "kernel.reshape(D, -1)",
            "D must be brought to the front by `permute`: a reshape leaves the order as it is",
        ),
        (
            "kernel.permute(3, 0, 1, 2).reshape(D, -1)",
            "kernel.reshape(-1, D)",
            "this is E itself; `nn.Linear` keeps it transposed",
        ),
        (".reshape(D, -1)", "", "three axes are not joined yet: (D, P*P*C)"),
        (
            "2).reshape(D, -1)",
            "2).flip(3).reshape(D, -1)",
            "red and blue are exchanged: Flax reads RGB as well",
        ),
    ],
    hints=[
        "In which order has a row of the result its numbers: which axis moves fastest?",
        "(P, P, C, D): three of the four axes are already in patchify's order.",
    ],
    others=[
        lambda kernel: rearrange(kernel.double(), "p1 p2 c d -> d (p1 p2 c)").tolist(),
        ("kernel.permute(3, 0, 1, 2).reshape(D, -1)", "kernel.flatten(0, 2).T"),
    ],
)


def counts():
    def parameters(P, D):
        return (P * P * C + 1) * D

    C, small, large = 3, (224 // 16) ** 2, (224 // 32) ** 2
    d, e = small * 16 * 16 * C * 768, large * 32 * 32 * C * 768
    return {
        "a": parameters(16, 768),
        "b": parameters(32, 768),
        "c": parameters(14, 1280),
        "d": d,
        "e": e,
    }


EXERCISES["02.1"] = Exercise(
    counts,
    mistakes=[
        (" + 1", "", "the bias is missing: a number for each of the D"),
        ("C, small, large = 3", "C, small, large = 1", "a pixel has three colours"),
        (
            "(P * P * C + 1) * D",
            "P * P * C * D + 1",
            "each of the D numbers has a bias of its own",
        ),
        (
            "(P * P * C + 1) * D",
            "P * P * C * D + P * P * C",
            "the bias has D numbers, as a token has",
        ),
        ("(P * P * C + 1)", "(P * C + 1)", "a patch has P rows and P columns"),
        ("(14, 1280)", "(16, 1280)", "ViT-H/14 has patches of 14"),
        ("(14, 1280)", "(14, 768)", "768 is the width of ViT-B"),
        (
            "* 768, large",
            "* 768 * 2, large",
            "a multiplication with its addition is one MAC",
        ),
        (
            "* 32 * C * 768",
            "* 32 * C * 768 * 2",
            "a multiplication with its addition is one MAC",
        ),
        ("small * 16", "16", "these are for one token; there are N"),
        ("large * 32", "32", "these are for one token; there are N"),
        (
            "small * 16",
            "(small + 1) * 16",
            "CLS is no patch: nothing is embedded for it",
        ),
        (
            "large * 32",
            "(large + 1) * 32",
            "CLS is no patch: nothing is embedded for it",
        ),
        ("large * 32", "small * 32", "with patches of 32 there are fewer tokens"),
        (
            "* 768, large",
            "* 768 + small * 768, large",
            "the bias is an addition, and not counted here",
        ),
    ],
    hints=[
        "Each number of a token has P² C weights and one bias.",
        "Each token costs one multiplication for each number in E. How many tokens are there?",
    ],
    others=[('"d": d', '"d": float(d)'), ('"e": e', '"e": 150_528 * 768')],
)


def on_paper():
    paper = torch.tensor([[1, 3, 0, 0], [1, 3, 0, 4], [2, 2, 5, 1], [2, 2, 5, 1.0]])
    mean, left = torch.full((4,), 1 / 4), torch.tensor([1, -1, 1, -1.0])
    E = torch.stack([mean, left], dim=1)
    tokens = vl.patchify(paper[None, None], 2)[0] @ E
    return {"E": E, "tokens": tokens, "came_back": {0, 2, 3}}


EXERCISES["02.2"] = Exercise(
    on_paper,
    mistakes=[
        (
            "(4,), 1 / 4",
            "(4,), 1.0",
            "this filter takes the sum; a mean is a quarter of it",
        ),
        (
            "[1, -1, 1, -1.0]",
            "[1, 1, -1, -1.0]",
            "upper row less lower row; left column less right column is asked for",
        ),
        (
            "[1, -1, 1, -1.0]",
            "[-1, 1, -1, 1.0]",
            "right less left; left less right is asked for",
        ),
        (
            "[1, -1, 1, -1.0]",
            "[0.5, -0.5, 0.5, -0.5]",
            "the columns' means; their sums are asked for",
        ),
        ("[mean, left]", "[left, mean]", "the two filters are exchanged"),
        ('"E": E', '"E": E.T', "a filter is a column of E, so E is (4, 2)"),
        (
            '"tokens": tokens',
            '"tokens": tokens.T',
            "a token is a row: one for each patch",
        ),
        (
            '"tokens": tokens',
            '"tokens": tokens[[0, 2, 1, 3]]',
            "the patches are read row by row: the second is the upper right one",
        ),
        (
            "{0, 2, 3}",
            "{0, 1, 2, 3}",
            "put together what the tokens say of the upper right patch, and look at its zeros",
        ),
        ("{0, 2, 3}", "{1}", "this is the one that does not come back"),
        ("{0, 2, 3}", "{0, 2}", "patch 3 has even columns as well"),
        (
            "{0, 2, 3}",
            "{2}",
            "a patch need not be all one grey: even columns are enough",
        ),
        ("{0, 2, 3}", "{1, 3, 4}", "patches are counted from 0"),
    ],
    hints=[
        "A patch is read as upper left, upper right, lower left, lower right: four rows of E.",
        "Mean and difference give the sums of the two columns; of a column's sum, give half to each pixel.",
    ],
    others=[('"E": E', '"E": E.tolist()'), ("{0, 2, 3}", "torch.tensor([3, 0, 2])")],
)


def second_matrix(E, perm):
    return E[perm]


EXERCISES["02.3"] = Exercise(
    second_matrix,
    inputs=lambda: [
        (torch.randn(48, 5), torch.randperm(48)),
        (torch.randn(12, 7), torch.randperm(12)),
        (torch.randn(6, 9), torch.tensor([1, 2, 3, 4, 5, 0])),
    ],
    mistakes=[
        ("E[perm]", "E", "each number meets another weight now: E must follow"),
        (
            "E[perm]",
            "E[perm.argsort()]",
            "this is the inverse: place k of the shuffled patch holds what was in place perm[k]",
        ),
        ("E[perm]", "E[perm][perm]", "shuffled twice"),
        ("E[perm]", "E[perm].T", "it is transposed: E is (PPC, D)"),
        (
            "E[perm]",
            "E[:, perm[perm < E.shape[1]]]",
            "the columns are shuffled: they are the numbers of a token. Its rows are the places",
        ),
        ("E[perm]", "E.flip(0)", "the rows are turned round; perm says where they go"),
    ],
    probes=[
        lambda arguments, got, want: (
            Said(
                "the right rows, in another order: what does place 0 of a shuffled patch hold?"
            )
            if torch.equal(got.sort(0)[0], want.sort(0)[0])
            and all(any(torch.equal(g, w) for w in want) for g in got)
            else None
        )
    ],
    hints=[
        "Write down what place 0 of a shuffled patch holds.",
        "Which row of E belongs to that number?",
    ],
    others=[
        lambda E, perm: torch.eye(len(E))[perm] @ E,
        lambda E, perm: [E[k].tolist() for k in perm],
    ],
)


def linear_to_conv(weight, P):
    split = weight.reshape(len(weight), P, P, -1)
    return split.permute(0, 3, 1, 2)


EXERCISES["02.4"] = Exercise(
    linear_to_conv,
    inputs=lambda: [
        (torch.rand(2, 75), 5),
        (torch.rand(5, 12), 2),
        (torch.rand(4, 9), 3),
    ],
    mistakes=[
        (
            "weight.reshape(len(weight), P, P, -1)",
            "weight.reshape(len(weight), -1, P, P).permute(0, 2, 3, 1)",
            "reshape(D, C, P, P) alone is the chapter's bug: the flat axis is (p1 p2 c)",
        ),
        ("0, 3, 1, 2", "0, 3, 2, 1", "rows and columns of each filter are exchanged"),
        (
            "0, 3, 1, 2",
            "0, 1, 2, 3",
            "split, and not ordered: bring the channels behind D",
        ),
        (
            "0, 3, 1, 2",
            "3, 0, 1, 2",
            "D is the first axis of a convolution's weight, C the second",
        ),
        (
            "P, P, -1)",
            "P, -1, P).transpose(2, 3)",
            "the flat axis was split as (p1 c p2); it is (p1 p2 c)",
        ),
        (
            "return split.permute(0, 3, 1, 2)",
            "return split.permute(0, 3, 1, 2).flip(1)",
            "the channels are turned round",
        ),
        (
            "return split.permute(0, 3, 1, 2)",
            "return split.permute(3, 1, 2, 0).transpose(0, 3).permute(0, 3, 1, 2).mT.flip(2)",
            "the filters are turned by a quarter",
        ),
    ],
    hints=[
        "Split the flat axis in the order in which it was joined.",
        "(D, p1, p2, C): which axis comes second in a convolution?",
    ],
    others=[
        lambda weight, P: rearrange(
            weight.double(), "d (p q c) -> d c p q", p=P, q=P
        ).numpy(),
        ("weight.reshape(len(weight), P, P, -1)", "weight.unflatten(1, (P, P, -1))"),
    ],
)


def fold(weight, bias):
    folded = weight.flip(1) / 127.5
    return folded, bias - weight.sum(dim=(1, 2, 3))


EXERCISES["02.5"] = Exercise(
    fold,
    inputs=lambda: [
        (torch.randn(6, 3, 4, 4), torch.randn(6)),
        (torch.randn(5, 3, 2, 2), torch.randn(5)),
    ],
    mistakes=[
        (".flip(1)", "", "the weights' channels are still RGB"),
        (
            ".flip(1)",
            ".flip(3)",
            "this turns the filters left and right; the channels are axis 1",
        ),
        ("/ 127.5", "/ 255", "(x/255 − 0.5)/0.5: is the division by 0.5 in?"),
        ("/ 127.5", "* 127.5", "bytes are large, so the weights must become small"),
        (
            "weight.flip(1) / 127.5",
            "weight.flip(1)",
            "the scale is missing: bytes go up to 255",
        ),
        (
            "bias - weight.sum(dim=(1, 2, 3))",
            "bias",
            "the −1 of x/127.5 − 1 is missing: what does it add to a token?",
        ),
        (
            "weight.sum(dim=(1, 2, 3))",
            "1",
            "each −1 meets a weight of its own: what comes together?",
        ),
        ("bias - weight", "bias + weight", "the shift has the wrong sign"),
        (
            "- weight.sum",
            "- 0.5 * weight.sum",
            "0.5 is subtracted before the division by 0.5",
        ),
        (
            "- weight.sum",
            "- folded.sum",
            "the shift is that of the normalised picture, so the sum is of the weights as they were",
        ),
        (
            "weight.sum(dim=(1, 2, 3))",
            "weight.sum(dim=(2, 3)).mean(1)",
            "all three channels count in the sum",
        ),
        (
            "weight.sum(dim=(1, 2, 3))",
            "weight.sum()",
            "each number of a token has a sum of its own",
        ),
        (
            "bias - weight",
            "bias / 127.5 - weight",
            "the bias is no pixel: it is not scaled",
        ),
    ],
    hints=[
        "Normalising is x/127.5 − 1. Which of the two goes into the weights?",
        "A picture of all −1 gives a token minus the sum of its weights.",
        "BGR: which axis of (D, C, P, P) is turned round?",
    ],
    others=[
        lambda weight, bias: [
            weight[:, [2, 1, 0]] / 255 / 0.5,
            bias - weight.flatten(1).sum(1),
        ],
        ("bias - weight.sum(dim=(1, 2, 3))", "bias - 127.5 * folded.sum((1, 2, 3))"),
    ],
)
